"""Whether a release is what its certificate says: signature, files, revocation, and every range computed again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from surebox_core.errors import UndefinedStatisticError
from surebox_core.steps import finished
from surebox_core.types import BoolArray
from surebox_verify.answering import answering
from surebox_verify.boxes import Meaning
from surebox_verify.certificate import (
    STATISTICS,
    Certificate,
    Revocations,
    read_certificate,
    read_revocations,
    statistics_digest,
)
from surebox_verify.claims import Claims, Held, claims, kind_of
from surebox_verify.envelope import Envelope, UnreadableError, read_envelope
from surebox_verify.findings import CORE, Finding, StatisticFinding, about_core, judged
from surebox_verify.keys import KeyStatus, PublicKey, Signed, overall_status, signed_by
from surebox_verify.questions import KINDS, question, with_values
from surebox_verify.released.boxes import (
    ReleasedBoxes,
    boxes_of,
    has_means,
    meaning_of,
    taking_rows,
    weight_columns,
    weight_of,
)
from surebox_verify.released.codebooks import Codebook, codebooks_of
from surebox_verify.released.files import format_of, numbers, rows, whole
from surebox_verify.released.formats import difference
from surebox_verify.timestamps import Given, Timestamp, TimestampStatus, check

#: What reading and computing answer a damaged file with.
_UNREAD = (ValueError, ArithmeticError, LookupError, MemoryError, OSError)
_NUMBERS = ("integer", "number")
_SINCE = "since"
_VERDICTS = ("holds", "refuted", "unchecked", "in doubt")
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
    revocation : `unknown` without a list or with one older than the certificate, `not revoked` by when the list was
        made, or since when it is.
    statistics : one a published statistic; of marked releases those about the core after all others.
    problems : all that is wrong, in words.
    unchecked : all that could not be checked.
    doubtful : ranges narrower than those computed again: another version of the search found them, or they are wrong.
    beyond_the_file : what is claimed that no data file can show.
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
    doubtful: Sequence[str] = ()
    beyond_the_file: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        """0: what is claimed and can be checked holds; 1: something does not; 2: unchecked; 3: in doubt."""
        return 1 if self.problems else 3 if self.doubtful else 2 if self.unchecked else 0

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        at = self.timestamp.at
        stamp = asdict(self.timestamp) | {"at": None if at is None else at.isoformat().replace("+00:00", "Z")}
        return asdict(self) | {"timestamp": stamp, "verdict": _VERDICTS[self.exit_code]}


def verify(
    files: Mapping[str, bytes],
    envelope: bytes,
    keys: Mapping[str, PublicKey],
    *,
    revocations: bytes | None = None,
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
    elif stamp.status is not TimestampStatus.VERIFIED and timestamp.required:
        unchecked.append(f"timestamp: {stamp.why}")
    revocation = _revocation(listed, signed, certificate.issued_at)
    if revocation.startswith(_SINCE):
        problems.append(f"revoked: {revocation}")
    data = {name: raw for name, raw in files.items() if name != STATISTICS}
    if not data:
        unchecked.append("no data file of the release: nothing could be computed again")
    checked = _Checked()
    if recompute and data:
        try:
            with np.errstate(all="ignore"):  # what is not as certified may overflow anything
                checked = _recomputed(data, certificate)
        except (UndefinedStatisticError, *_UNREAD) as error:
            unchecked.append(f"statistics: {error}")
    by_finding = {each: [one for one in checked.statistics if one.finding is each] for each in Finding}
    unchecked += checked.unread
    problems += checked.claims.problems
    problems += [f"{one.name}: {one.reason} follows from the data file" for one in by_finding[Finding.CONTRADICTED]]
    unchecked += [f"{one.name}: this version cannot compute it" for one in by_finding[Finding.NOT_CHECKED]]
    return Report(
        release=certificate.release, signature=signature, signed_by=signatures, files=same, timestamp=stamp,
        revocation=revocation, statistics=checked.statistics, problems=problems, unchecked=unchecked,
        doubtful=[f"{one.name}: {one.reason} follows from the data file" for one in by_finding[Finding.CONSISTENT]],
        beyond_the_file=checked.claims.beyond_the_file,
    )  # fmt: skip


@dataclass(frozen=True)
class _Checked:
    """What follows from a data file."""

    statistics: Sequence[StatisticFinding] = field(default_factory=list)
    claims: Claims = field(default_factory=Claims)
    unread: Sequence[str] = ()


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
        revocations: Revocations = read_revocations(envelope)
    except UnreadableError as error:
        return None, [f"revocations: {error}"]
    status = overall_status(signed_by(envelope, _trusted(keys, revocations), at=revocations.issued_at))
    return (revocations, []) if status is KeyStatus.VALID else (None, [f"revocations: {status}"])


def _trusted(keys: Mapping[str, PublicKey], listed: Revocations | None) -> Mapping[str, PublicKey]:
    """The keys as a list of revocations leaves them: it may be younger than the key set."""
    named = {} if listed is None else listed.keys
    return {name: replace(key, revoked=key.revoked or name in named) for name, key in keys.items()}


def _revocation(listed: Revocations | None, signed: Envelope, issued_at: datetime) -> str:
    """What the list says of the certificate; one from before there was the certificate says nothing."""
    if listed is None:
        return "unknown"
    since, by = listed.revoked.get(signed.sha256), f"{listed.issued_at:%Y-%m-%d %H:%M} UTC"
    if since is not None:
        return f"{_SINCE} {since}, by the list of {by}"
    if listed.issued_at < issued_at:
        return f"unknown, the list of {by} is older than the certificate"
    return f"not revoked by {by}"


def _easiest(data: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Parquet, where there is one."""
    return min(data.items(), key=lambda item: not item[0].endswith(".parquet"))


def _other_rows(data: Mapping[str, bytes], certificate: Certificate) -> Claims:
    """Files that do not hold the rows of the one that is computed from, and files that cannot be read."""
    wrong, unread = [], []
    if len(data) > 1 and certificate.rows is not None:
        first, raw = _easiest(data)
        for name, other in data.items():
            try:
                unlike = difference((raw, format_of(first)), (other, format_of(name)), certificate.columns)
            except UnreadableError as error:
                unread.append(f"{name}: {error}")
                continue
            if unlike is not None:
                wrong.append(f"{name}: {unlike} than {first}")
    return Claims(tuple(wrong), tuple(unread))


def _recomputed(data: Mapping[str, bytes], certificate: Certificate) -> _Checked:
    """All that is published again, from a data file and what the certificate says of its columns; the core last."""
    name, raw = _easiest(data)
    others = _other_rows(data, certificate)
    boxes, core, fault, unread = None, None, None, others.beyond_the_file
    file_format = format_of(name)
    try:
        if certificate.parameters.get("method") == "boxes":
            boxes, core = _boxes(name, raw, certificate)
    except _UNREAD as error:  # the rest can be checked all the same
        fault = f"statistics: {error}"
    table = whole(raw, file_format)
    checked = claims(Held(table, certificate, typed=file_format == "parquet", boxes=boxes))
    checked = replace(checked, problems=(*checked.problems, *others.problems))
    if fault is not None:
        return _Checked(claims=checked, unread=[*unread, fault])
    try:
        return _Checked(_judged(boxes, core, certificate, _beside(raw, file_format, certificate)), checked, unread)
    except (UndefinedStatisticError, *_UNREAD) as error:
        return _Checked(claims=checked, unread=[*unread, f"statistics: {error}"])


def _beside(data: bytes, file_format: str, certificate: Certificate) -> pa.Table:
    """Columns beside the boxes that statistics are about, those whose values the file has as they are."""
    named = {str(name) for one in certificate.statistics for name in one.get("of") or ()}
    kept = [name for name in certificate.parameters.get("keep") or () if name in named]
    if not kept:
        return pa.table({})
    table = rows(data, file_format, certificate.columns)
    there = [name for name in kept if name in table.column_names]
    right = [name for name in there if kind_of(table.schema.field(name).type) == certificate.columns.get(name)]
    escaped = file_format == "csv.excel"  # texts that would be formulas
    return table.select([name for name in right if not (escaped and certificate.columns[name] == "string")])


def _judged(
    boxes: ReleasedBoxes | None, core: BoolArray | None, certificate: Certificate, kept: pa.Table
) -> Sequence[StatisticFinding]:
    """Every statistic of a certificate, held against boxes and columns beside them; those of the core last."""
    published, of_core = certificate.statistics, [about_core(each) for each in certificate.statistics]
    both = [each for each in (*published, *of_core) if each is not None]
    if boxes is None:
        return [judged(each, None) for each in both]
    meaning = meaning_of(certificate.parameters, certificate.columns)
    own = boxes, core, certificate, of_core
    again = _all_again(*own, meaning, kept)
    statistics = [judged(each, again.get(id(each))) for each in both]
    if meaning.attained and any(each.finding is Finding.CONSISTENT for each in statistics):
        without = _all_again(*own, replace(meaning, attained=False), kept)
        statistics = [judged(each, again.get(id(each)), without.get(id(each))) for each in both]
    return statistics


def _all_again(
    boxes: ReleasedBoxes,
    core: BoolArray | None,
    certificate: Certificate,
    of_core: Sequence[Mapping[str, Any] | None],
    meaning: Meaning,
    kept: pa.Table,
) -> dict[int, Mapping[str, Any]]:
    """Statistics of all boxes and of the core, by the identity of what is published of them."""
    parameters, published = certificate.parameters, certificate.statistics
    again = _again(boxes, kept, published, meaning, parameters)
    if core is None:
        return again
    rows = kept.filter(pa.array(core)) if kept.column_names else kept
    return again | _again(taking_rows(boxes, core), rows, of_core, meaning, parameters)


def _again(
    boxes: ReleasedBoxes,
    kept: pa.Table,
    published: Sequence[Mapping[str, Any] | None],
    meaning: Meaning,
    parameters: Mapping[str, Any],
) -> dict[int, Mapping[str, Any]]:
    """Statistics of some boxes, by the identity of what is published of them."""
    # all statistics of the release, known or not claimed, decide how far each is searched for
    entries = [each for each in published if each is not None and each.get("kind") in KINDS]
    if not entries:
        return {}
    questions = [question(each, ddof=int(each.get("ddof") or 0)) for each in entries]

    def books(parts: ReleasedBoxes, names: Sequence[str]) -> Mapping[str, Codebook]:
        return codebooks_of(parts, parameters, beside=names, verbatim=True)

    computed = finished(answering(boxes, kept, questions, meaning, books, by_value=False, refuse=False))
    return {id(each): one for each, (one,) in zip(entries, computed, strict=True)}


def _boxes(name: str, data: bytes, certificate: Certificate) -> tuple[ReleasedBoxes, BoolArray | None]:
    """The boxes of the data file, and which rows are of the core.

    Sets, days and orders are read back from Parquet, which has their types.
    """
    columns, parameters = certificate.columns, certificate.parameters
    names = [str(each) for each in parameters["quasi_identifiers"]]
    weight, means = weight_of(parameters, columns), has_means(parameters)
    ends = ("lo", "hi", "set", *(("mean_lo", "mean_hi") if means else ()))
    sides = [side for each in names for end in ends if (side := f"{each}_{end}") in columns]
    file_format = format_of(name)
    if file_format != "parquet" and not all(columns[side] in _NUMBERS for side in sides):
        msg = "sets, days and orders are read back from the Parquet file only"
        raise UnreadableError(msg)
    marks = [CORE] if parameters.get("rare_records") == "mark" and columns.get(CORE) == "boolean" else []
    table = numbers(data, file_format, ["box", *sides, *weight_columns(parameters, columns)], flags=marks)
    boxes = boxes_of(table, names, weight=weight, orders=parameters.get("ordinal"), means=means)
    core = np.asarray(table.column(CORE).to_numpy(), dtype=np.bool_) if marks else None
    return with_values(boxes, [question(each) for each in certificate.statistics if each.get("kind") in KINDS]), core
