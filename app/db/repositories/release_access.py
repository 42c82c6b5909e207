"""Who sees which releases: the one place that says so, as a condition on their rows."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, or_

from app.contracts.releases import ReleaseState
from app.db.models.release import release


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks for releases.

    Attributes
    ----------
    owner
        Whose key it is; None: there is none.
    keeper
        Whether the key sees drafts and withdrawn releases of its owner, and who reads and what was found.
    families
        Whether it sees which data are the same.
    """

    owner: str | None
    keeper: bool = False
    families: bool = False


def keeper_of(owner: str) -> Viewer:
    """An owner's keeper, as the service's own processes are."""
    return Viewer(owner, keeper=True, families=True)


def visible(viewer: Viewer) -> Any:
    """Releases that are there for somebody."""
    published = release.c.state == ReleaseState.PUBLISHED
    ways = [and_(published, release.c.public)]
    if viewer.owner is not None:
        mine = release.c.owner == viewer.owner
        ways += [mine if viewer.keeper else and_(mine, published)]
        ways += [and_(published, release.c.readers.contains([viewer.owner]))]
    return and_(release.c.deleted_at.is_(None), or_(*ways))
