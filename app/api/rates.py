"""Requests per owner and minute, without a key per address, and event streams that an owner has open at once.

Requests are counted in the broker's server, so that all API processes share one count; while it cannot be reached each
process counts for itself, and tries the server again some seconds later. No request fails because the counter does.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import ConnectionPool, Redis
from redis.exceptions import RedisError

from app.errors import TooManyRequestsError
from app.settings import Settings

RETRY_SHARED_SECONDS: Final = 5.0
_SOCKET_SECONDS: Final = 0.25
#: Count a request of one who has a request left, and say what the window holds by then: of `limits` the two take two
#: round trips, each of which costs as much as the count. Windows begin with the minutes of the server's clock, and of
#: the window before counts the share that a minute back from now still covers.
_COUNT: Final = """
local quota, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local number, rest = math.floor(now / window), window - now % window
local kept = redis.call('HMGET', KEYS[1], 'number', 'current', 'previous')
local age = number - (tonumber(kept[1]) or 0)
local current, previous = 0, 0
if age == 0 then
  current, previous = tonumber(kept[2]), tonumber(kept[3])
elseif age == 1 then
  previous = tonumber(kept[2])
end
if math.floor(previous * rest / window) + current >= quota then
  return {0, previous, current, rest}
end
redis.call('HSET', KEYS[1], 'number', number, 'current', current + 1, 'previous', previous)
redis.call('PEXPIRE', KEYS[1], 2 * window)
return {1, previous, current + 1, rest}
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Window:
    """State of a window after a request.

    Attributes
    ----------
    counted
        Whether the request was let through, and is among the current ones.
    previous, current
        Requests of the window before, and of this one.
    rest
        Milliseconds until this window ends.
    """

    counted: bool
    previous: int
    current: int
    rest: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """Requests that an owner or an address has left, as `RateLimit-Policy` and `RateLimit` state it."""

    policy: str
    quota: int
    seconds: int
    window: Window

    @property
    def left(self) -> int:
        """Requests that are left."""
        return max(0, self.quota - self._weighted(self.window.rest) - self.window.current)

    @property
    def wait(self) -> int:
        """Whole seconds within which no more than `left` are let through. At least 1."""
        share = self._weighted(self.window.rest)
        least = -(-share * self.seconds * 1000 // self.window.previous) if share else 0
        return max(1, math.ceil((self.window.rest - least) / 1000))

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The fields of draft-ietf-httpapi-ratelimit-headers-11."""
        return [
            (b"ratelimit-policy", f'"{self.policy}";q={self.quota};w={self.seconds}'.encode()),
            (b"ratelimit", f'"{self.policy}";r={self.left};t={self.wait}'.encode()),
        ]

    def check(self) -> None:
        """Refuse a request that was one too many.

        Raises
        ------
        TooManyRequestsError
            When the minute is used up; states when to come again.
        """
        if not self.window.counted:
            whose = "for this owner" if self.policy == _OWNER else "without a key"
            detail = f"{self.quota} requests a minute are allowed {whose}; try again in {self.wait} s"
            raise TooManyRequestsError(detail, retry_after=self.wait)

    def _weighted(self, rest: int) -> int:
        """Requests of the window before that still count, when so many milliseconds of this one are left."""
        return self.window.previous * rest // (self.seconds * 1000)


_OWNER: Final = "owner"
_ADDRESS: Final = "address"


class Rates:
    """One sliding window per owner, and per address of those without a key."""

    def __init__(self, settings: Settings) -> None:
        self._rates = {
            _OWNER: RateLimitItemPerMinute(settings.requests_per_minute, namespace="surebox"),
            _ADDRESS: RateLimitItemPerMinute(settings.public_requests_per_minute, namespace="surebox-public"),
        }
        self._memory = MemoryStorage()
        self._local = SlidingWindowCounterRateLimiter(self._memory)
        self._pool = ConnectionPool.from_url(
            settings.redis_url, socket_timeout=_SOCKET_SECONDS, socket_connect_timeout=_SOCKET_SECONDS
        )
        self._shared = Redis(connection_pool=self._pool).register_script(_COUNT)
        self._shared_from = 0.0

    async def spend(self, owner: str) -> Allowance:
        """Count one request of an owner, unless it is one too many."""
        return await self._count(_OWNER, owner)

    async def spend_address(self, address: str) -> Allowance:
        """Count one request without a key, unless it is one too many."""
        return await self._count(_ADDRESS, address)

    async def close(self) -> None:
        """Close the connections to the shared count."""
        await self._pool.disconnect()

    async def _count(self, policy: str, who: str) -> Allowance:
        rate = self._rates[policy]
        return Allowance(policy, rate.amount, rate.get_expiry(), await self._window(rate, who))

    async def _window(self, rate: RateLimitItem, who: str) -> Window:
        if time.monotonic() >= self._shared_from:
            try:
                counted, previous, current, rest = await self._shared(
                    keys=[f"{rate.namespace}/requests/{who}"], args=[rate.amount, rate.get_expiry()]
                )
                return Window(bool(counted), previous, current, rest)
            except RedisError as error:
                self._shared_from = time.monotonic() + RETRY_SHARED_SECONDS
                log.warning("rates.local", error=type(error).__name__)
        counted = await self._local.hit(rate, who)
        previous, _, current, expires = await self._memory.get_sliding_window(rate.key_for(who), rate.get_expiry())
        return Window(counted, previous, current, math.ceil((expires - rate.get_expiry()) * 1000))


class Slots:
    """Counts event streams by owner; lives on the event loop."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def held(self, owner: str) -> int:
        """How many this owner holds."""
        return self._held[owner]

    @contextmanager
    def hold(self, owner: str, *, at_most: int) -> Iterator[None]:
        """Hold one.

        Raises
        ------
        TooManyRequestsError
            If the owner has that many already.
        """
        if self._held[owner] >= at_most:
            detail = f"{at_most} event streams of this owner are open, which is the limit: close one"
            raise TooManyRequestsError(detail, retry_after=5)
        self._held[owner] += 1
        try:
            yield
        finally:
            self._held[owner] -= 1
            if not self._held[owner]:
                del self._held[owner]
