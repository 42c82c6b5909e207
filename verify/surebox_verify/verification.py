"""Whether a release is what its certificate says: signature, files, revocation, and every range computed again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from surebox_verify.certificate import (
    STATISTICS,
    Certificate,
    Revocations,
    read_certificate,
    read_revocations,
    statistics_digest,
)
from surebox_verify.core.errors import UndefinedStatisticError
from surebox_verify.core.steps import finished
from surebox_verify.core.types import BoolArray
from surebox_verify.envelope import Envelope, UnreadableError, read_envelope
from surebox_verify.findings import CORE, Finding, StatisticFinding, about_core, judged, problem
from surebox_verify.keys import KeyStatus, PublicKey, Signed, overall_status, signed_by
from surebox_verify.questions import KINDS, computing, question, with_values
from surebox_verify.released.boxes import ReleasedBoxes, boxes_of, has_means, meaning_of, taking_rows, weight_of
from surebox_verify.released.codebooks import codebooks_of
from surebox_verify.released.files import format_of, numbers
from surebox_verify.timestamps import Given, Timestamp, TimestampStatus, check

#: What reading and computing answer a damaged file with.
_UNREAD = (ValueError, ArithmeticError, LookupError, MemoryError, OSError)
_NUMBERS = ("integer", "number")
#: What is published of a statistic, and what became of it.
Judged: TypeAlias = tuple[Mapping[str, Any], StatisticFinding]
_SINCE = "since"
NO_TIMESTAMP = Given()


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes
    ----------
    release : its id; None where there is no certificate to say so.
    signature, signed_by : what the signatures are worth together, and each.
    files : by name, whether it is what was certified.
    timestamp : when an authority saw the certificate, and what that is worth.
    revocation : `unknown` without a list, `not revoked` (by a list from a bundle: by when), or since when it is.
    statistics : one a published statistic; of marked releases those about the core after all others.
    problems : all that is wrong, in words.
    unchecked : all that could not be checked.
    """

    release: str | None
    signature: KeyStatus
    signed_by: Sequence[Signed]
    files: Mapping[str, bool]
    timestamp: Timestamp
    revocation: str
    statistics: Sequence[StatisticFinding]
    problems: Sequence[str]
    unchecked: Sequence[str]

    @property
    def exit_code(self) -> int:
        """0: all that is claimed holds; 1: something does not; 2: something could not be checked."""
        return 1 if self.problems else 2 if self.unchecked else 0

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        at = self.timestamp.at
        stamp = asdict(self.timestamp) | {"at": None if at is None else at.isoformat().replace("+00:00", "Z")}
        return asdict(self) | {"timestamp": stamp, "verdict": ("holds", "refuted", "unchecked")[self.exit_code]}


def verify(
    files: Mapping[str, bytes],
    envelope: bytes,
    keys: Mapping[str, PublicKey],
    *,
    revocations: bytes | None = None,
    bundled: bool = False,
    timestamp: Given = NO_TIMESTAMP,
    recompute: bool = True,
) -> Report:
    """Verify files of one release against its certificate.

    Parameters
    ----------
    files : data files by name; `statistics.json` may be among them.
    envelope : the certificate as it is served.
    keys : the service's.
    revocations : the service's list as it is served; None where there is none.
    bundled : whether the list came with the files: it is as old as they are.
    timestamp : what there is of one.
    recompute : whether ranges are computed again.

    Raises
    ------
    UnreadableError
        The certificate cannot be read.
    """
    signed = read_envelope(envelope)
    certificate = read_certificate(signed)
    listed, unchecked = _listed(revocations, keys)
    keys = _trusted(keys, listed)
    signatures = signed_by(signed, keys, at=certificate.issued_at)
    signature = overall_status(signatures)
    same = {name: _is_certified(name, data, certificate) for name, data in files.items()}
    problems = [] if signature is KeyStatus.VALID else [f"signature: {signature}"]
    problems += [f"{name}: not what was certified" for name, right in same.items() if not right]
    if certificate.digests.get(STATISTICS) != statistics_digest(certificate.statistics):
        problems.append("statistics: not those whose digest was certified")
    stamp = check(timestamp, envelope, issued_at=certificate.issued_at)
    if stamp.status is TimestampStatus.WRONG:
        problems.append(f"timestamp: {stamp.why}")
    elif stamp.status is not TimestampStatus.VERIFIED and timestamp.asked:
        unchecked.append(f"timestamp: {stamp.why}")
    revocation = _revocation(listed, signed, bundled=bundled)
    if revocation.startswith(_SINCE):
        problems.append(f"revoked: {revocation}")
    data = {name: raw for name, raw in files.items() if name != STATISTICS}
    statistics: list[Judged] = []
    if recompute and data:
        try:
            with np.errstate(all="ignore"):  # what is not as certified may overflow anything
                statistics = _recomputed(*_easiest(data), certificate)
        except (UndefinedStatisticError, *_UNREAD) as error:
            unchecked.append(f"statistics: {error}")
    for published, each in statistics:
        if each.finding is Finding.CONTRADICTED:
            problems.append(f"{each.name}: {problem(published, each)} follows from the data file")
        elif each.finding is Finding.NOT_CHECKED:
            unchecked.append(f"{each.name}: this version cannot compute it")
    return Report(
        release=certificate.release, signature=signature, signed_by=signatures, files=same, timestamp=stamp,
        revocation=revocation, statistics=[each for _, each in statistics], problems=problems, unchecked=unchecked,
    )  # fmt: skip


def _is_certified(name: str, data: bytes, certificate: Certificate) -> bool:
    """By its bytes: a file may have been given another name, but it is one of the release's."""
    digest = hashlib.sha256(data).hexdigest()
    return digest in certificate.digests.values() and certificate.digests.get(name, digest) == digest


def _listed(raw: bytes | None, keys: Mapping[str, PublicKey]) -> tuple[Revocations | None, list[str]]:
    """What is revoked, if a key that is not revoked itself says so; and why it cannot be told."""
    if raw is None:
        return None, []
    try:
        envelope = read_envelope(raw)
        found: Revocations = read_revocations(envelope)
    except UnreadableError as error:
        return None, [f"revocations: {error}"]
    status = overall_status(signed_by(envelope, _trusted(keys, found), at=found.issued_at))
    return (found, []) if status is KeyStatus.VALID else (None, [f"revocations: {status}"])


def _trusted(keys: Mapping[str, PublicKey], listed: Revocations | None) -> Mapping[str, PublicKey]:
    """The keys as a list of revocations leaves them: it may be younger than the key set."""
    named = {} if listed is None else listed.keys
    return {name: replace(key, revoked=key.revoked or name in named) for name, key in keys.items()}


def _revocation(listed: Revocations | None, signed: Envelope, *, bundled: bool) -> str:
    if listed is None:
        return "unknown"
    since = listed.revoked.get(signed.sha256)
    if since is not None:
        return f"{_SINCE} {since}"
    return f"not revoked by {listed.issued_at:%Y-%m-%d %H:%M} UTC" if bundled else "not revoked"


def _easiest(data: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Parquet, where there is one."""
    return min(data.items(), key=lambda item: not item[0].endswith(".parquet"))


def _recomputed(name: str, data: bytes, certificate: Certificate) -> list[Judged]:
    """All that is published again, from the data file and what the certificate says of its columns; the core last."""
    published, of_core = certificate.statistics, [about_core(each) for each in certificate.statistics]
    again: dict[int, Mapping[str, Any]] = {}
    if certificate.parameters.get("method") == "boxes" and any(
        _to_be_read(each, name) for each in (*published, *of_core) if each is not None and each.get("kind") in KINDS
    ):
        boxes, core = _boxes(name, data, certificate)
        again = _again(boxes, published, certificate)
        if core is not None:
            again |= _again(taking_rows(boxes, core), of_core, certificate)
    return [(each, judged(each, again.get(id(each)))) for each in (*published, *of_core) if each is not None]


def _again(
    boxes: ReleasedBoxes, published: Sequence[Mapping[str, Any] | None], certificate: Certificate
) -> dict[int, Mapping[str, Any]]:
    """Statistics of some boxes, by the identity of what is published of them."""
    # all that were asked together, known or not claimed, decide how far each is searched for
    asked = [each for each in published if each is not None and each.get("kind") in KINDS]
    questions = [question(each, ddof=int(each.get("ddof") or 0)) for each in asked]
    meaning = meaning_of(certificate.parameters, certificate.columns)
    books = codebooks_of(boxes, certificate.parameters, verbatim=True)
    found = finished(computing(boxes, questions, meaning, books))
    return {id(each): one for each, one in zip(asked, found, strict=True)}


def _to_be_read(published: Mapping[str, Any], name: str) -> bool:
    """Whether a statistic says anything that the data file is read for; one from before may lack what it could say."""
    said = published.get("guaranteed"), published.get("domain_may_be_empty")
    return said != (None, None) or (published["kind"] == "domain_mean" and format_of(name) == "parquet")


def _boxes(name: str, data: bytes, certificate: Certificate) -> tuple[ReleasedBoxes, BoolArray | None]:
    """The boxes of the data file, and which rows are of the core.

    Sets, days and orders are read back from Parquet, which has their types.
    """
    columns, parameters = certificate.columns, certificate.parameters
    names = [str(each) for each in parameters["columns"]]
    weight, means = weight_of(parameters), has_means(parameters)
    ends = ("lo", "hi", "set", *(("mean_lo", "mean_hi") if means else ()))
    sides = [side for each in names for end in ends if (side := f"{each}_{end}") in columns]
    file_format = format_of(name)
    if file_format != "parquet" and not all(columns[side] in _NUMBERS for side in sides):
        msg = "sets, days and orders are read back from the Parquet file only"
        raise UnreadableError(msg)
    marks = [CORE] if parameters.get("rare_records") == "mark" and columns.get(CORE) == "boolean" else []
    table = numbers(data, file_format, ["box", *sides, *([weight] if weight else [])], flags=marks)
    boxes = boxes_of(table, names, weight=weight, orders=parameters.get("ordinal"), means=means)
    core = np.asarray(table.column(CORE).to_numpy(), dtype=np.bool_) if marks else None
    return with_values(boxes, [question(each) for each in certificate.statistics if each.get("kind") in KINDS]), core
