"""`surebox-verify` and `surebox-certify`: files in, a verdict or ranges out. No network, no service."""

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from surebox_verify.bundle import ENVELOPE, Bundle, others_of, unpacked
from surebox_verify.envelope import UnreadableError
from surebox_verify.extra import INSTALL, is_lacking

if TYPE_CHECKING:
    from surebox_verify.report import Report, StatisticFinding
    from surebox_verify.timestamps import Given

_VERDICTS = (
    "All that is claimed and can be checked holds.",
    "REFUTED.",
    "Not all could be checked.",
    "IN DOUBT: ranges were found by another version of the search, or are wrong.",
)
_ENDING = ".dsse.json"
_HEADS = ("statistic", "certain range", "estimate")
_STAMP = ".tsr"


def verify(arguments: Sequence[str] | None = None) -> None:
    """Run `surebox-verify`; the exit code states the result (docs/how-to/certificates.md)."""
    _run(_verify, arguments, lambda message: {"problems": [], "unchecked": [message], "verdict": "unchecked"})


def certify(arguments: Sequence[str] | None = None) -> None:
    """Run `surebox-certify`."""
    _run(_certify, arguments, lambda message: {"statistics": [], "error": message})


def _sentence(message: str) -> str:
    """Return a message with a stop, and with a capital unless it begins with a file or a statistic."""
    word = re.match(r"[a-z]+(?=[ :,])", message)
    text = message if word is None else message[0].upper() + message[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _run(
    command: Callable[[list[str]], int], arguments: Sequence[str] | None, failed: Callable[[str], Mapping[str, Any]]
) -> None:
    """Run a command; what it could not do goes to the errors and, where JSON is expected, to the output too."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _leave(command(given), alone=arguments is None)
    except UnreadableError as error:
        message = _sentence(str(error))
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except ModuleNotFoundError as error:
        if not is_lacking(error):
            raise
        message = f"{error.name} is not installed, and ranges take it: {INSTALL}"
    sys.stderr.write(f"{message}\n")
    if "--json" in given:
        _print_json(failed(message))
    _leave(2, alone=arguments is None)


def _leave(code: int, *, alone: bool) -> NoReturn:
    """End with the exit code, which is the answer.

    Threads of pyarrow sometimes abort a process that tidies up at its end (apache/arrow issue 34314): a program of its
    own ends at once.
    """
    if alone:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


class _Schema(argparse.Action):
    """Print the schema of certificates in the place of a verification."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        """Print it, and end."""
        from surebox_verify.members import schema_text

        sys.stdout.write(schema_text())
        parser.exit()


def _version() -> str:
    return f"%(prog)s {version('surebox-verify')}"


def _verify(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="surebox-verify", description="Verify a release against its certificate, offline.",
        epilog="Exit code 0: every claim that can be checked is right. 1: one is not. 2: something could not "
        "be checked. 3: a range is narrower than the one computed again: another version found it, or it is wrong.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=_version())
    parser.add_argument("--schema", action=_Schema, nargs=0, help="print the JSON Schema of certificates, and exit")
    parser.add_argument("file", type=Path, help="a data file of the release, or its bundle.zip")
    parser.add_argument("--keys", type=Path, required=True, help="the service's key set, /.well-known/jwks.json")
    parser.add_argument("--certificate", type=Path, help="the envelope; by default FILE.dsse.json, or in the bundle")
    parser.add_argument("--revocations", type=Path, help="the service's list, /v1/revocations; by default a bundle's")
    parser.add_argument("--timestamp", type=Path, help="an authority's answer; by default FILE.tsr, or in the bundle")
    parser.add_argument("--tsa-certificate", type=Path, help="the authority's root in PEM, with certificates between")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args(arguments)
    from surebox_verify import verification
    from surebox_verify.keys import read_keys

    bundle = _given(given.file, given.certificate)
    revocations = given.revocations.read_bytes() if given.revocations else bundle.revocations
    keys, stamp = read_keys(given.keys.read_bytes()), _timestamp(given, bundle.timestamp)
    report = verification.verify(
        bundle.files, bundle.envelope or b"", keys,
        revocations=revocations, timestamp=stamp, others=others_of(given.file, bundle),
    )  # fmt: skip
    _print_json(report.as_json()) if given.json else _print(report)
    return report.exit_code


def _certifying() -> argparse.ArgumentParser:
    """The command line of `surebox-certify`."""
    parser = argparse.ArgumentParser(
        prog="surebox-certify", description="Certain ranges of statistics from a release of boxes alone."
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.add_argument("file", type=Path, help="a data file of the release")
    parser.add_argument("--statistic", action="append", required=True, help="such as 'mean(age)'; may be repeated")
    parser.add_argument("--ddof", type=int, choices=(0, 1), default=0, help="1 for sample forms, divisor N - 1")
    weighed = parser.add_mutually_exclusive_group()
    weighed.add_argument("--weighed", action="store_true", help="`weight`, or `weight_mean_lo` and `_hi`, have weights")
    weighed.add_argument("--not-weighed", action="store_true", help="these columns were kept")
    parser.add_argument("--means", action="store_true", help="`…_mean_lo`, `…_mean_hi` contain the means of the boxes")
    parser.add_argument("--certificate", type=Path, help="the release's envelope; by default FILE.dsse.json")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _certify(arguments: list[str]) -> int:
    given = _certifying().parse_args(arguments)
    from surebox_core.errors import UndefinedStatisticError
    from surebox_verify.certify import certify, weights_in
    from surebox_verify.released.files import format_of, rows

    data, file_format = given.file.read_bytes(), format_of(given.file.name)
    beside = given.certificate or given.file.with_name(given.file.name + _ENDING)
    envelope = beside.read_bytes() if given.certificate or beside.exists() else None
    table = rows(data, file_format, None if envelope is None else _columns_of(envelope, data, beside))
    weights = weights_in(table.column_names)
    named = {weights} if isinstance(weights, str) else set(weights)
    there = bool(named & set(table.column_names)) and not given.not_weighed
    if envelope is None and there and not given.weighed:
        raise UnreadableError(
            f"{min(named & set(table.column_names))!r} may have the weights of the rows, or be a column that was "
            "kept. Give the certificate (--certificate), or state which: --weighed or --not-weighed."
        )
    try:
        statistics = certify(
            table,
            given.statistic,
            weight=given.weighed or (None if there else False),
            means=given.means,
            ddof=given.ddof,
            certificate=envelope,
        )
    except UndefinedStatisticError as error:
        raise UnreadableError(f"{given.statistic[error.index]}: {error.reason}") from None
    _print_json({"statistics": statistics}) if given.json else _print_ranges(statistics)
    return 0


def _columns_of(envelope: bytes, data: bytes, path: Path) -> Mapping[str, str]:
    """The types of a file's columns as its certificate states; refuses that of another file."""
    import hashlib

    from surebox_verify.certificate import read_certificate
    from surebox_verify.envelope import read_envelope

    certificate = read_certificate(read_envelope(envelope))
    certificate.refuse_unread()
    if hashlib.sha256(data).hexdigest() not in certificate.digests.values():
        raise UnreadableError(
            f"{path} is the certificate of other files: without it no more is known than the file states"
        )
    return certificate.columns


def _given(path: Path, certificate: Path | None) -> Bundle:
    """A bundle, or a data file with the certificate next to it."""
    if path.suffix.lower() == ".zip":
        bundle = unpacked(path)
        if certificate is None and bundle.envelope is None:
            raise UnreadableError(f"{path} has no {ENVELOPE}, and no --certificate is given")
        return replace(bundle, envelope=certificate.read_bytes()) if certificate else bundle
    beside = certificate or path.with_name(path.name + _ENDING)
    if not beside.exists():
        raise UnreadableError(f"no certificate: give --certificate, or put it next to the file as {beside.name}")
    return Bundle({path.name: path.read_bytes()}, beside.read_bytes())


def _timestamp(given: argparse.Namespace, bundled: bytes | None) -> "Given":
    """What there is of a timestamp; one that is present is checked too, but is no fault of a verdict."""
    from surebox_verify.timestamps import Given, read_authority

    beside = given.file.with_name(given.file.name + _STAMP)
    named = given.timestamp or (beside if bundled is None and beside.exists() else None)
    authority = given.tsa_certificate and read_authority(given.tsa_certificate.read_bytes())
    return Given(named.read_bytes() if named else bundled, authority, required=bool(given.timestamp or authority))


def _print(report: "Report") -> None:
    sys.stdout.write(f"release     {report.release}\n")
    sys.stdout.write(f"signature   {report.signature}\n")
    for name, same in report.files.items():
        sys.stdout.write(f"file        {name}: {'as certified' if same else 'NOT as certified'}\n")
    stamp = report.timestamp
    when = "" if stamp.at is None else f", {stamp.at:%Y-%m-%d %H:%M:%S} UTC"
    sys.stdout.write(f"timestamp   {stamp.status}{when}\n")
    sys.stdout.write(f"revocation  {report.revocation}\n")
    for each in report.statistics:
        range_shown = "" if each.published is None else f"  {_shown(each.published)}"
        sys.stdout.write(f"{each.finding:<11} {each.name}{range_shown}{_of_records(each)}{_of_the_domain(each)}\n")
    for line in report.beyond_the_file:
        sys.stdout.write(f"- cannot be checked from the file: {line}\n")
    for line in (*report.problems, *report.unchecked, *report.doubtful):
        sys.stdout.write(f"! {line}\n")
    for name in report.not_covered:
        sys.stdout.write(f"not covered {name}: the certificate does not state it, so anyone may have changed it\n")
    for name in report.not_checked:
        sys.stdout.write(f"not checked {name}: signed by the service, and this version does not read it\n")
    verdict = _VERDICTS[report.exit_code]
    if report.not_checked:
        verdict += f" Not checked: {', '.join(report.not_checked)}."
    if report.not_covered:
        verdict += f" Not covered by the certificate: {', '.join(report.not_covered)}."
    sys.stdout.write(verdict + "\n")


def _of_records(statistic: "StatisticFinding") -> str:
    """Name the records that a statistic counts."""
    from surebox_verify.bases import counted_in_words

    words = counted_in_words(statistic.base, statistic.n)
    return f" of {words}" if words else ""


def _print_ranges(statistics: Sequence[Mapping[str, Any]]) -> None:
    """A line a statistic: its name, its certain range, and the estimate within it."""
    from surebox_verify.questions import name_of

    names = [name_of(each) for each in statistics]
    ranges = [_shown(each["guaranteed"]) for each in statistics]
    estimates = [_estimated(each.get("estimate")) for each in statistics]
    left, middle = (max(map(len, column)) for column in ((_HEADS[0], *names), (_HEADS[1], *ranges)))
    for name, certain, about in (_HEADS, *zip(names, ranges, estimates, strict=True)):
        sys.stdout.write(f"{name:<{left}}  {certain:<{middle}}  {about}".rstrip() + "\n")


def _estimated(estimate: Any) -> str:
    """An estimate as people read it; of a regression one a predictor."""
    if isinstance(estimate, list | tuple):
        return ", ".join("none" if each is None else _end(each) for each in estimate)
    return "" if estimate is None else _end(estimate)


def _shown(guaranteed: Any) -> str:
    """A range as people read it; of a statistic with several, each of them."""
    if guaranteed is None:
        return "no range"
    if not isinstance(guaranteed, Mapping | list | tuple):
        return _end(guaranteed)
    if isinstance(guaranteed, Mapping):
        return ", ".join(f"{name} {_shown(each)}" for name, each in guaranteed.items())
    if guaranteed and all(each is None or isinstance(each, list | tuple) for each in guaranteed):
        return ", ".join(_shown(each) for each in guaranteed)
    return f"[{', '.join(_end(each) for each in guaranteed)}]"


def _end(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "unbounded" if value is None else str(value)


def _of_the_domain(statistic: "StatisticFinding") -> str:
    """What a mean within values is about."""
    if not statistic.domain_may_be_empty:
        return ""
    if statistic.recomputed is None:
        return ": no box can contain a record with it"
    return ": the mean if there is one, for there may be no record with it"


def _print_json(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    """The same with null where there is no number that JSON has."""
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
