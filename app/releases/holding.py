"""While it is not certain that all that was published is known here, nothing more is: an operator confirms it."""

from collections.abc import Sequence
from typing import Final

from app.contracts.findings import Finding, FindingSeverity
from app.db.repositories.installation import is_publishing_held
from app.db.session import Connection
from app.errors import PublishingHeldError

#: Name of the finding that reveals why a job has left a draft.
HELD: Final = "publishing"


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
