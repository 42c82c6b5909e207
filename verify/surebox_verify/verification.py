"""Whether a release is what its certificate states: signature, files, revocation, and every range computed again.

Ranges need the extra `ranges`; without it all else is checked, and the report names ranges as unchecked.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from surebox_verify.certificate import (
    STATISTICS,
    Certificate,
    Revocations,
    read_certificate,
    read_revocations,
    statistics_digest,
)
from surebox_verify.envelope import Envelope, UnreadableError, read_envelope
from surebox_verify.extra import INSTALL, is_lacking
from surebox_verify.keys import KeyStatus, PublicKey, overall_status, signed_by
from surebox_verify.report import Finding, Recomputed, Report
from surebox_verify.timestamps import Given, TimestampStatus, check

_SINCE = "since"
NO_TIMESTAMP = Given()
_NO_OTHERS: Mapping[str, str | None] = MappingProxyType({})


def verify(
    files: Mapping[str, bytes],
    envelope: bytes,
    keys: Mapping[str, PublicKey],
    *,
    revocations: bytes | None = None,
    timestamp: Given = NO_TIMESTAMP,
    recompute: bool = True,
    others: Mapping[str, str | None] = _NO_OTHERS,
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
    others : further entries of a bundle by name, each with its SHA-256 where the certificate names it.

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
    covered = {name: digest for name, digest in others.items() if name in certificate.digests}
    same |= {name: certificate.digests[name] == digest for name, digest in covered.items()}
    problems = [] if signature is KeyStatus.VALID else [f"signature: {signature}"]
    problems += [f"{name}: not as certified" for name, right in same.items() if not right]
    stated = statistics_digest(certificate.parameters.get("method"), certificate.statistics)
    if certificate.digests.get(STATISTICS) != stated:
        problems.append("statistics: not those whose digest was certified")
    stamp = check(timestamp, envelope, issued_at=certificate.issued_at)
    if stamp.status is TimestampStatus.WRONG:
        problems.append(f"timestamp: {stamp.why}")
    elif stamp.status is not TimestampStatus.VERIFIED and timestamp.required:
        unchecked.append(f"timestamp: {stamp.why}")
    revocation = _revocation(listed, signed, certificate.issued_at)
    if revocation.startswith(_SINCE):
        problems.append(f"revoked: {revocation}")
    checked, unread = _content(files, certificate, recompute=recompute)
    by_finding = {each: [one for one in checked.statistics if one.finding is each] for each in Finding}
    unchecked += [*unread, *checked.unread]
    problems += checked.problems
    problems += [f"{one.name}: {one.reason} follows from the data file" for one in by_finding[Finding.CONTRADICTED]]
    unchecked += [f"{one.name}: this version cannot compute it" for one in by_finding[Finding.NOT_CHECKED]]
    return Report(
        release=certificate.release, signature=signature, signed_by=signatures, files=same, timestamp=stamp,
        revocation=revocation, statistics=checked.statistics, problems=problems, unchecked=unchecked,
        doubtful=[f"{one.name}: {one.reason} follows from the data file" for one in by_finding[Finding.CONSISTENT]],
        beyond_the_file=checked.beyond_the_file,
        not_covered=[name for name in others if name not in covered],
        not_checked=[*certificate.members.not_checked, *covered],
    )  # fmt: skip


def _content(files: Mapping[str, bytes], certificate: Certificate, *, recompute: bool) -> tuple[Recomputed, list[str]]:
    """Compute what follows from the data files, and list what this version cannot read or does not know."""
    members = certificate.members
    data = {name: raw for name, raw in files.items() if name != STATISTICS}
    unread = [*members.unread, *members.unknown]
    for name in [name for name, raw in data.items() if _is_of_a_later_kind(raw, certificate)]:
        unread.append(f"{name}: certified as a kind of file that this version does not read")
        del data[name]
    if not data:
        unread.append("no data file of the release: nothing could be computed again")
    readable = recompute and data and not members.unread
    return _recomputed(data, certificate) if readable else Recomputed(), unread


def _is_of_a_later_kind(data: bytes, certificate: Certificate) -> bool:
    """Return whether a file is certified, but neither as statistics nor as a data file that this version reads."""
    digest = hashlib.sha256(data).hexdigest()
    return digest in certificate.digests.values() and digest not in certificate.data_digests


def _recomputed(data: Mapping[str, bytes], certificate: Certificate) -> Recomputed:
    """What follows from the data files, as far as there is what computes it."""
    try:
        from surebox_verify.recomputation import recomputed
    except ModuleNotFoundError as error:
        if not is_lacking(error):
            raise
        reason = f"{error.name} is not installed: ranges, and other claims about the data file, are not checked"
        return Recomputed(unread=[f"{reason}; {INSTALL} has them checked"])
    return recomputed(data, certificate)


def _is_certified(name: str, data: bytes, certificate: Certificate) -> bool:
    """By its bytes: a file may have been given another name, but it is one of the release's."""
    digest = hashlib.sha256(data).hexdigest()
    return digest in certificate.digests.values() and certificate.digests.get(name, digest) == digest


def _listed(raw: bytes | None, keys: Mapping[str, PublicKey]) -> tuple[Revocations | None, list[str]]:
    """The revocations, if a key that is not revoked itself states it; and why it cannot be determined."""
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
    """What the list states about the certificate; one from before there was the certificate reveals nothing."""
    if listed is None:
        return "unknown"
    since, by = listed.revoked.get(signed.sha256), f"{listed.issued_at:%Y-%m-%d %H:%M} UTC"
    if since is not None:
        return f"{_SINCE} {since}, by the list of {by}"
    if listed.issued_at < issued_at:
        return f"unknown, the list of {by} is older than the certificate"
    return f"not revoked by {by}"
