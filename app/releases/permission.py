"""What keeps a release a draft although nothing is wrong with it.

Who may publish for the first time are keys with `releases:publish`, and jobs where their owner has said so.

Data that came by a key without `jobs:read` are not published until a keeper has confirmed them: what becomes of them
must not state whether they are the same as others.

While it is not certain that all that was published is known here, nothing more is: an operator confirms it.
"""

from collections.abc import Sequence
from typing import Final

from app.auth.principal import Scope
from app.contracts.findings import Finding, FindingSeverity
from app.db.repositories import api_keys, families, owner_settings, releases
from app.db.repositories.installation import is_publishing_held
from app.db.session import Connection
from app.errors import ConflictError, PublishingHeldError

#: By which a finding names what keeps a release a draft although nothing is wrong with it.
PUBLICATION = "publication"
#: By which it names that nothing is published at the moment.
HELD: Final = "publishing"
#: The same for keys that may not know which family data are of.
UNCONFIRMED = "the data came by a key without the scope jobs:read: a keeper confirms them before they are published"
_PUBLISHERS = frozenset({Scope.ADMIN.value, Scope.RELEASES_PUBLISH.value})


def withheld(connection: Connection, *, owner: str, key_id: str | None, family_id: str | None) -> str | None:
    """Why a job's release is not published as the job ends; None where it may be.

    Parameters
    ----------
    connection
        Where keys, owners and families are.
    owner, key_id
        Who requested the job; no key is the service itself.
    family_id
        Of the data.
    """
    if (why := unconfirmed(connection, family_id=family_id)) is not None:
        return why
    scopes = None if key_id is None else api_keys.scopes_of(connection, key_id=key_id)
    if scopes is None or scopes & _PUBLISHERS or owner_settings.jobs_may_publish(connection, owner=owner):
        return None
    return (
        "the key that requested the job lacks the scope releases:publish: publish the draft with one that has it "
        "(`POST /v1/releases/{id}/publish`), or let the owner's jobs publish (`PATCH /v1/owner`)"
    )


def unconfirmed(connection: Connection, *, family_id: str | None) -> str | None:
    """Why nothing of a family is published before a keeper states it; None where one has."""
    standing = None if family_id is None else families.standing(connection, family_id=family_id)
    if standing is None or standing.confirmed:
        return None
    return (
        "the data came by a key without the scope jobs:read, and were compared with no others: look at them, and "
        f"confirm them with `POST /v1/families/{family_id}/confirm` (scopes jobs:read and datasets:read)"
    )


def as_findings(why: str | None) -> tuple[Finding, ...]:
    """The reason as a finding, which needs no acceptance."""
    if why is None:
        return ()
    return (Finding(audit=PUBLICATION, severity=FindingSeverity.LOW, detail=why, measured=None, required=None),)


def refuse_earlier_numbers(connection: Connection, *, release_id: str) -> None:
    """End the publication of a draft that an unreleased version has made with other numbers.

    Raises
    ------
    ConflictError
        Its statistics count ordinal values from 0; no certificate states such numbers.
    """
    if releases.counts_from_zero(connection, release_id=release_id):
        raise ConflictError(
            "an unreleased version of Surebox made this draft, and its statistics count the values of ordinal columns "
            "from 0, where they count from 1 now. Run its job again, publish that release, and delete this draft"
        )


def refuse_held(connection: Connection) -> None:
    """End a publication while publishing is held.

    Raises
    ------
    PublishingHeldError
        With the reason, and who can end it.
    """
    because = is_publishing_held(connection)
    if because is not None:
        raise PublishingHeldError(
            f"nothing is published at the moment: {because}. Publish this draft again once the operator of the service "
            "has run `surebox publishing confirm`"
        )


def with_held(connection: Connection, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of a release that is made now, and why it is not published; that one weighs nothing later."""
    because = is_publishing_held(connection)
    if because is None:
        return tuple(findings)
    detail = f"not published, since nothing is at the moment: {because}. Publish the draft once the operator confirms"
    return (*findings, Finding(audit=HELD, severity=FindingSeverity.LOW, detail=detail, measured=None, required=None))
