"""From who asks to the objects visible to them."""

from app.auth.principal import Principal, Scope
from app.contracts.releases import EVERYBODY, ReleaseReaders
from app.db.repositories.release_access import Viewer
from app.errors import InvalidError
from app.settings import Settings

_KEEPER = frozenset({Scope.JOBS_READ})
_FAMILIES = frozenset({Scope.JOBS_READ, Scope.DATASETS_READ})


def check_readers(readers: ReleaseReaders | None, *, settings: Settings) -> None:
    """Refuse to give a release to everyone where the service lets no one read without a key.

    Raises
    ------
    InvalidError
        With what would work.
    """
    if readers == EVERYBODY and not settings.public_releases:
        detail = (
            "this service lets no one read without a key: name owners in a list, or ask its operator to set "
            "SUREBOX_PUBLIC_RELEASES"
        )
        raise InvalidError.at("/readers", detail)


def viewer_of(principal: Principal) -> Viewer:
    """What the holder of a key sees; without a key, public data."""
    if not principal.owner:
        return Viewer(None)
    return Viewer(principal.owner, keeper=not principal.missing(_KEEPER), families=not principal.missing(_FAMILIES))
