"""`surebox-verify` and `surebox-certify`: files in, a verdict or ranges out. No network, no service."""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surebox_verify.bundle import ENVELOPE, REVOCATIONS, TIMESTAMP, unpacked
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
_STAMP = ".tsr"


def verify(arguments: Sequence[str] | None = None) -> None:
    """Run `surebox-verify`; the exit code states the result (docs/certificates.md)."""
    _run(_verify, arguments)


def certify(arguments: Sequence[str] | None = None) -> None:
    """Run `surebox-certify`."""
    _run(_certify, arguments)


def _run(command: Any, arguments: Sequence[str] | None) -> None:
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        sys.exit(command(given))
    except UnreadableError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except ModuleNotFoundError as error:
        if not is_lacking(error):
            raise
        message = f"{error.name} is not installed, and ranges take it: {INSTALL}"
    sys.stderr.write(f"{message}\n")
    if "--json" in given:
        _print_json({"problems": [], "unchecked": [message], "verdict": "unchecked"})
    sys.exit(2)


def _version() -> str:
    return f"%(prog)s {version('surebox-verify')}"


def _verify(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="surebox-verify", description="Verify a release against its certificate, offline.",
        epilog="Exit code 0: every claim that can be checked is right. 1: one is not. 2: something could not "
        "be checked. 3: a range is narrower than the one computed again: another version found it, or it is wrong.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=_version())
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

    files, envelope = _files(given.file, given.certificate)
    bundled = files.pop(REVOCATIONS, None)
    revocations = given.revocations.read_bytes() if given.revocations else bundled
    keys = read_keys(given.keys.read_bytes())
    stamp = _timestamp(given, files.pop(TIMESTAMP, None))
    report = verification.verify(files, envelope, keys, revocations=revocations, timestamp=stamp)
    _print_json(report.as_json()) if given.json else _print(report)
    return report.exit_code


def _certify(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="surebox-certify", description="Certain ranges of statistics from a release of boxes alone, as JSON."
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
    given = parser.parse_args(arguments)
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
    _print_json({"statistics": statistics})
    return 0


def _columns_of(envelope: bytes, data: bytes, path: Path) -> Mapping[str, str]:
    """The types of a file's columns as its certificate states; refuses that of another file."""
    import hashlib

    from surebox_verify.certificate import read_certificate
    from surebox_verify.envelope import read_envelope

    certificate = read_certificate(read_envelope(envelope))
    if hashlib.sha256(data).hexdigest() not in certificate.digests.values():
        raise UnreadableError(
            f"{path} is the certificate of other files: without it no more is known than the file states"
        )
    return certificate.columns


def _files(path: Path, certificate: Path | None) -> tuple[dict[str, bytes], bytes]:
    """The data files by name, and the envelope."""
    if path.suffix.lower() == ".zip":
        files = unpacked(path)
        inside = files.pop(ENVELOPE, None)
        if certificate is None and inside is None:
            raise UnreadableError(f"{path} has no {ENVELOPE}, and no --certificate is given")
        return files, certificate.read_bytes() if certificate else inside or b""
    beside = certificate or path.with_name(path.name + _ENDING)
    if not beside.exists():
        raise UnreadableError(f"no certificate: give --certificate, or put it next to the file as {beside.name}")
    return {path.name: path.read_bytes()}, beside.read_bytes()


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
        sys.stdout.write(f"{each.finding:<11} {each.name}{_of_the_domain(each)}\n")
    for line in report.beyond_the_file:
        sys.stdout.write(f"- not to be seen in the file: {line}\n")
    for line in (*report.problems, *report.unchecked, *report.doubtful):
        sys.stdout.write(f"! {line}\n")
    sys.stdout.write(_VERDICTS[report.exit_code] + "\n")


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
