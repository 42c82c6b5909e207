"""Who sees which releases: the one place that states it, as a condition on their rows."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, false, or_

from app.contracts.releases import ReleaseState
from app.db.tables.releases import release


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks for releases.

    Attributes
    ----------
    owner
        Whose key it is; None: there is none.
    keeper
        Whether the key sees drafts and withdrawn releases of its owner, and who reads and the findings.
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
    """Releases that are there for someone."""
    return and_(release.c.deleted_at.is_(None), or_(_PUBLIC, _named(viewer)))


def listed(viewer: Viewer) -> Any:
    """Releases in someone's lists: those of public ones that are for them, all of them for who has no key."""
    return and_(release.c.deleted_at.is_(None), _PUBLIC if viewer.owner is None else _named(viewer))


_PUBLISHED = release.c.state == ReleaseState.PUBLISHED
_PUBLIC = and_(_PUBLISHED, release.c.public)


def _named(viewer: Viewer) -> Any:
    """Own releases, and those that the owner was made a reader of."""
    if viewer.owner is None:
        return false()
    mine = release.c.owner == viewer.owner
    return or_(
        mine if viewer.keeper else and_(mine, _PUBLISHED), and_(_PUBLISHED, release.c.readers.contains([viewer.owner]))
    )
