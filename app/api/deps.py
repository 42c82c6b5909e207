"""What routes depend on. All of it is async and waits for nothing: no thread is spent before the route itself."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final

from fastapi import Depends, Request

from app.api.rates import Allowance, Rates, Slots
from app.api.tally import Tally
from app.auth.authenticator import Authenticator
from app.auth.principal import Principal, Scope
from app.db.notifications import Notifications
from app.db.session import Database
from app.errors import ForbiddenError, UnauthorizedError
from app.queue import JobQueue
from app.settings import Settings
from app.storage.protocol import Storage

#: Where the authentication middleware leaves a Principal, or the error that reveals why there is none.
PRINCIPAL: Final = "surebox.principal"
#: Where a request that was counted leaves its Allowance, which the answer states.
ALLOWANCE: Final = "surebox.allowance"


@dataclass(frozen=True, slots=True)
class Resources:
    """What one API process owns, from start to stop."""

    settings: Settings
    database: Database
    storage: Storage
    queue: JobQueue
    notifications: Notifications
    limiter: Rates
    authenticator: Authenticator
    clock: Callable[[], datetime]
    tally: Tally
    streams: Slots = field(default_factory=Slots)


async def get_resources(request: Request) -> Resources:
    """The resources of this process."""
    resources: Resources = request.app.state.resources
    return resources


#: Whoever asks without a key, where that is allowed: the owner of nothing.
ANYBODY: Final = Principal(owner="", key_id="", scopes=frozenset())

ResourcesDep = Annotated[Resources, Depends(get_resources)]


class Require:
    """The dependency `require` returns; routes are walked for it by the OpenAPI document and by tests."""

    def __init__(
        self,
        scopes: frozenset[str],
        *,
        limited: bool,
        instead: frozenset[str] = frozenset(),
        public: bool = False,
        any_of_instead: bool = False,
    ) -> None:
        self.scopes = scopes
        self.public = public
        self.instead = instead
        self.limited = limited
        self.any_of_instead = any_of_instead

    @property
    def ways(self) -> list[frozenset[str]]:
        """Sets of scopes each of which lets a request through."""
        if self.any_of_instead:
            return [self.scopes, *(frozenset({scope}) for scope in sorted(self.instead))]
        return [self.scopes, self.instead] if self.instead else [self.scopes]

    async def __call__(self, request: Request) -> Principal:
        """The principal, if it has the scopes and is within its rate."""
        principal = request.scope.get(PRINCIPAL)
        if self.public and await self._is_anybody(request):
            return ANYBODY
        if isinstance(principal, Exception):
            raise principal
        if not isinstance(principal, Principal):
            raise UnauthorizedError("send your API key as `Authorization: Bearer <key>`")
        missing = principal.missing(self.scopes)
        if all(principal.missing(way) for way in self.ways):
            names = ", ".join(sorted(missing))
            raise ForbiddenError(f"this key lacks the scope {names}: ask for a key that has it")
        if self.limited:
            resources: Resources = request.app.state.resources
            _keep_within(request, await resources.limiter.spend(principal.owner))
        return principal

    @staticmethod
    async def _is_anybody(request: Request) -> bool:
        """Whether a request without a key is let through, within the rate of its address."""
        resources: Resources = request.app.state.resources
        if not resources.settings.public_releases or "authorization" in request.headers:
            return False
        address = "" if request.client is None else request.client.host
        _keep_within(request, await resources.limiter.spend_address(address))
        return True


def _keep_within(request: Request, allowance: Allowance) -> None:
    """Have the answer state what is left, and refuse one request too many."""
    request.scope[ALLOWANCE] = allowance
    allowance.check()


def require(
    *scopes: str,
    limited: bool = True,
    instead: Sequence[str] = (),
    public: bool = False,
    any_of_instead: bool = False,
) -> Callable[[Request], Awaitable[Principal]]:
    """A dependency that gives the Principal: `Annotated[Principal, Depends(require("jobs:read"))]`.

    Parameters
    ----------
    scopes
        What the key must carry, all of them; a key with `admin` carries everything.
    limited
        Whether the request counts against the owner's rate. False for reads of a job's state only.
    instead
        Scopes that let a request through as well; the route itself has to see what such a key may not.
    any_of_instead
        Whether one of these suffices.
    public
        Whether, where the operator allows it, a request without a key is let through: the route shows public data.
    """
    wanted, other = frozenset(scopes), frozenset(instead)
    if not wanted or (wanted | other).difference(scope.value for scope in Scope):
        msg = f"a route requires scopes of app.auth.principal.Scope, not {sorted(wanted | other)}"
        raise ValueError(msg)
    return Require(wanted, limited=limited, instead=other, public=public, any_of_instead=any_of_instead)
