"""From who asks to what is there for them."""

from app.auth.principal import Principal, Scope
from app.db.repositories.release_access import Viewer

_KEEPER = frozenset({Scope.JOBS_READ})
_FAMILIES = frozenset({Scope.JOBS_READ, Scope.DATASETS_READ})


def viewer_of(principal: Principal) -> Viewer:
    """What the holder of a key sees; without a key, what is public."""
    if not principal.owner:
        return Viewer(None)
    return Viewer(principal.owner, keeper=not principal.missing(_KEEPER), families=not principal.missing(_FAMILIES))
