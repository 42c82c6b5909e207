"""Publication is decided here, and nowhere else.

One transaction: the family is locked, so that two releases of the same data are always composed with each other; the
state, the ledger and the log are written together. A job ends through `decide`, a keeper publishes through `publish`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from app.contracts.findings import Finding, FindingSeverity, Review
from app.contracts.flags import Flag
from app.contracts.log import LogAction
from app.contracts.releases import PublicationMode, PublishRequest, ReleaseChanges, ReleaseReaders, ReleaseState
from app.db.repositories import families, log, releases
from app.db.repositories.installation import is_publishing_held
from app.db.repositories.releases import ReleaseRow
from app.db.session import Connection, Database
from app.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    PublishedMeanwhileError,
    UnresolvedFindingsError,
)
from app.releases import permission
from app.releases.people import RECOGNITION, answered_flags

#: The audit of what all releases of the same data reveal together: always run, accepted by `accept_findings`.
COMPOSITION: Final = "composition"
_SINCE: Final = "the published releases of the same data have changed since this one was composed"
#: Gives a release its certificate, in the transaction that publishes it (app.certificates.issue).
Certifier: TypeAlias = Callable[[Connection, str], object]
#: Flag of a release that was published although the composition falls below k.
COMPOSITION_ACCEPTED: Final = Flag.COMPOSITION_ACCEPTED.value
#: Flag of a release that was published although its method called the protection failed.
PROTECTION_FAILED: Final = Flag.PROTECTION_FAILED.value


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the release of a job that ends."""

    state: ReleaseState
    flags: tuple[str, ...]


def decide(
    connection: Connection,
    *,
    review: Review,
    mode: PublicationMode,
    accepts_composition: bool,
    four_eyes: bool,
    may_publish: bool,
) -> Decision:
    """Whether the release of a job is published as the job ends; its family stays locked until the transaction ends.

    Raises
    ------
    PublishedMeanwhileError
        If something of the family was published since it was composed: compose it again.
    """
    _lock(connection, family_id=review.family_id, composed_after=review.composed_after)
    accepted = {COMPOSITION} if accepts_composition else set()
    repeated = accepts_composition and any(one.audit == COMPOSITION for one in standing(review.findings, accepted=()))
    flags = (COMPOSITION_ACCEPTED,) if repeated else ()
    held = is_publishing_held(connection) is not None or not may_publish
    if held or mode is PublicationMode.DRAFT or four_eyes or standing(review.findings, accepted=accepted):
        return Decision(ReleaseState.DRAFT, flags)
    return Decision(ReleaseState.PUBLISHED, flags)


def record_published(
    connection: Connection,
    *,
    release: ReleaseRow,
    key_id: str | None,
    accepted: Collection[str],
    readers: ReleaseReaders | None = None,
    by_job: bool = False,
) -> None:
    """The entry of every publication, in the transaction that publishes: ledger first, the log last."""
    if release.family_id is not None:
        families.count(
            connection,
            family_id=release.family_id,
            release_id=release.id,
            owner=release.owner,
            method=release.method,
            base_release_id=release.base_release_id,
            previous_release_id=release.previous_release_id,
            composed=release.composed,
        )
    facts: dict[str, Any] = {"job_id": release.job_id} if by_job else {}
    if accepted:
        facts["accepted"] = sorted(accepted)
        facts["findings"] = [one.model_dump(mode="json") for one in release.findings if one.audit in accepted]
    if readers is not None:
        facts["readers"] = _logged_readers(readers)
    log.append(
        connection,
        owner=release.owner,
        action=LogAction.PUBLISHED,
        subject=release.id,
        key_id=None if by_job else key_id,
        facts=facts,
    )


def standing(findings: Sequence[Finding], *, accepted: Collection[str]) -> list[Finding]:
    """Findings that keep a release from being published."""
    known = set(accepted) - {RECOGNITION}
    return [one for one in findings if one.severity is FindingSeverity.HIGH and one.audit not in known]


def publish(
    *,
    database: Database,
    owner: str,
    key_id: str,
    release_id: str,
    request: PublishRequest,
    four_eyes: bool,
    certify: Certifier,
    keeper: bool = True,
) -> None:
    """Publish a draft; one that is published already stays as it is. Only a keeper learns what findings state.

    Raises
    ------
    NotFoundError
        If there is no such release.
    ConflictError
        If it was withdrawn, no keeper has confirmed its data, or a version of before has made it with other numbers.
    ForbiddenError
        If, under four eyes, the same key has made it.
    UnresolvedFindingsError
        If there are findings that are not accepted.
    PublishingHeldError
        While nothing is published.
    PublishedMeanwhileError
        If something of its family was published since it was composed.
    """
    with database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=owner)
        release = _locked(unit.connection, owner=owner, release_id=release_id)
        if release.state is ReleaseState.PUBLISHED:
            return
        if (why := permission.unconfirmed(unit.connection, family_id=release.family_id)) is not None:
            raise ConflictError(why if keeper else permission.UNCONFIRMED)
        _check(release, key_id=key_id, accepted=request.accept_findings, four_eyes=four_eyes, keeper=keeper)
        permission.refuse_held(unit.connection)
        permission.refuse_earlier_numbers(unit.connection, release_id=release.id)
        _lock(unit.connection, family_id=release.family_id, composed_after=release.composed_after)
        publish_locked(unit.connection, release=release, key_id=key_id, request=request, certify=certify)


def publish_reviewed(
    connection: Connection,
    *,
    owner: str,
    key_id: str | None,
    release_id: str,
    review: Review,
    request: PublishRequest,
    certify: Certifier,
) -> None:
    """Publish a draft that a job has composed again, if nothing stands against it that was not accepted.

    Raises
    ------
    PublishedMeanwhileError
        If something of its family was published since.
    ConflictError
        If a version of before has made it with other numbers.
    """
    families.lock_joining(connection, owner=owner)
    release = _locked(connection, owner=owner, release_id=release_id)
    _lock(connection, family_id=review.family_id, composed_after=review.composed_after)
    if release.state is not ReleaseState.DRAFT:
        return
    permission.refuse_earlier_numbers(connection, release_id=release.id)
    kept = [one for one in release.findings if one.audit not in {COMPOSITION, RECOGNITION}]
    release = release.reviewed(replace(review, findings=(*kept, *review.findings)))
    releases.set_reviewed(connection, reviewed=release)
    accepted = {*request.accept_findings, COMPOSITION} if release.accepts_composition else set(request.accept_findings)
    withheld = permission.unconfirmed(connection, family_id=release.family_id) or is_publishing_held(connection)
    if withheld is None and not standing(release.findings, accepted=accepted):
        publish_locked(connection, release=release, key_id=key_id, request=request, certify=certify)


def draft_to_compose(*, database: Database, owner: str, release_id: str) -> ReleaseRow:
    """A draft that has to be composed again.

    Raises
    ------
    NotFoundError
        If there is no such release.
    """
    with database.unit_of_work() as unit:
        return _locked(unit.connection, owner=owner, release_id=release_id)


def publish_locked(
    connection: Connection,
    *,
    release: ReleaseRow,
    key_id: str | None,
    request: PublishRequest,
    certify: Certifier,
) -> None:
    """Publish a draft whose family is locked and that was composed with all that is published of it."""
    refuse_standing(release.findings, accepted=request.accept_findings, accepts_composition=release.accepts_composition)
    stood = {one.audit for one in standing(release.findings, accepted=())}
    releases.set_published(
        connection,
        release_id=release.id,
        readers=request.readers,
        flags=[*_accepted_flags(release, stood), *answered_flags(connection, family_id=release.family_id)],
    )
    record_published(connection, release=release, key_id=key_id, accepted=stood, readers=request.readers)
    certify(connection, release.id)


def _accepted_flags(release: ReleaseRow, stood: Collection[str]) -> list[str]:
    """List the flags of findings that were accepted: of the composition, and of the method itself."""
    return [
        flag
        for audit, flag in ((COMPOSITION, COMPOSITION_ACCEPTED), (release.method, PROTECTION_FAILED))
        if audit in stood
    ]


def refuse_standing(
    findings: Sequence[Finding], *, accepted: Collection[str], accepts_composition: bool, keeper: bool = True
) -> None:
    """End a publication whose findings are not accepted; only owners see what they state, and what would help.

    Raises
    ------
    UnresolvedFindingsError
        With the findings and their remedies.
    """
    known = {*accepted, COMPOSITION} if accepts_composition else set(accepted)
    left = standing(findings, accepted=known)
    if left:
        named = ", ".join(dict.fromkeys(one.audit for one in left)) + ". Keys with the scope jobs:read see them."
        stated = " ".join(part for one in left for part in (f"`{one.audit}`: {one.detail}", *one.remedies))
        raise UnresolvedFindingsError(
            f"Unresolved findings block publication{f'. {stated}' if keeper else f': {named}'}"
        )


def withdraw(*, database: Database, owner: str, key_id: str, release_id: str, reason: str | None) -> None:
    """Take back a release: readers find it no more; what it reported counts for its family for ever.

    One that is withdrawn already gets the reason that is given now; without one it keeps its own.

    Raises
    ------
    NotFoundError
        If there is no such release.
    ConflictError
        If it is a draft.
    """
    with database.unit_of_work() as unit:
        state = _locked_state(unit.connection, owner=owner, release_id=release_id)
        if state is ReleaseState.DRAFT:
            raise ConflictError("This release is a draft, which only its owner reads. Delete it.")
        if state is ReleaseState.PUBLISHED:
            withdraw_locked(unit.connection, owner=owner, key_id=key_id, release_id=release_id, reason=reason)
        elif reason is not None and releases.set_withdrawal_reason(
            unit.connection, release_id=release_id, reason=reason
        ):
            _log_withdrawn(unit.connection, owner=owner, key_id=key_id, release_id=release_id, reason=reason)


def withdraw_locked(
    connection: Connection, *, owner: str, key_id: str | None, release_id: str, reason: str | None
) -> None:
    """Withdraw a published release that is locked."""
    releases.set_withdrawn(connection, release_id=release_id, reason=reason)
    _log_withdrawn(connection, owner=owner, key_id=key_id, release_id=release_id, reason=reason)


def _log_withdrawn(
    connection: Connection, *, owner: str, key_id: str | None, release_id: str, reason: str | None
) -> None:
    facts = {"reason": reason}
    log.append(connection, owner=owner, action=LogAction.WITHDRAWN, subject=release_id, key_id=key_id, facts=facts)


def describe(*, database: Database, owner: str, key_id: str, release_id: str, patch: ReleaseChanges) -> None:
    """Change what a release is called, and who reads it besides its owner: all of it or nothing.

    Raises
    ------
    NotFoundError
        If there is no such release.
    """
    changes = patch.changes()
    shared = changes.pop("readers", None) is not None
    with database.unit_of_work() as unit:
        _locked_state(unit.connection, owner=owner, release_id=release_id)
        if changes:
            releases.describe(unit.connection, release_id=release_id, changes=changes)
        if shared:
            releases.set_readers(unit.connection, release_id=release_id, readers=patch.readers)
            facts = {"readers": _logged_readers(patch.readers)}
            log.append(
                unit.connection, owner=owner, action=LogAction.SHARED, subject=release_id, key_id=key_id, facts=facts
            )


def _locked(connection: Connection, *, owner: str, release_id: str) -> ReleaseRow:
    release = releases.lock(connection, owner=owner, release_id=release_id)
    if release is None:
        raise NotFoundError("there is no release with this id")
    return release


def _locked_state(connection: Connection, *, owner: str, release_id: str) -> ReleaseState:
    state = releases.lock_state(connection, owner=owner, release_id=release_id)
    if state is None:
        raise NotFoundError("there is no release with this id")
    return state


def _check(release: ReleaseRow, *, key_id: str, accepted: Collection[str], four_eyes: bool, keeper: bool) -> None:
    if release.state is ReleaseState.WITHDRAWN:
        raise ConflictError("This release was withdrawn, which is final. Create a new one.")
    if four_eyes and release.made_by in {None, key_id}:
        raise ForbiddenError("Four-eyes mode: publish this release with a different key than the one that created it.")
    refuse_standing(release.findings, accepted=accepted, accepts_composition=release.accepts_composition, keeper=keeper)


def _logged_readers(readers: ReleaseReaders) -> Any:
    return readers if readers == "public" else sorted(set(readers))


def _lock(connection: Connection, *, family_id: str | None, composed_after: int | None) -> None:
    """Lock the family of a release, which is as it was when they were composed: neither erased nor another one's.

    Nor was it confirmed meanwhile: before that it was composed with nothing.
    """
    if family_id is None:
        if composed_after is None:
            return
        raise PublishedMeanwhileError(_SINCE)
    published = families.lock_composed(connection, family_id=family_id)
    if published is None or published != composed_after or families.awaits_comparison(connection, family_id=family_id):
        raise PublishedMeanwhileError(_SINCE)
