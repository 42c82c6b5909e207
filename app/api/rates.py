"""Requests per owner and minute, without a key per address, and event streams that an owner has open at once.

Requests are counted in the broker's server, so that all API processes share one count; while it cannot be reached each
process counts for itself, and asks again some seconds later. A request never fails because the counter does.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from redis.asyncio import ConnectionPool

from app.errors import TooManyRequestsError
from app.settings import Settings

RETRY_SHARED_SECONDS: Final = 5.0
_SOCKET_SECONDS: Final = 0.25

log = structlog.get_logger(__name__)


class Rates:
    """One sliding window per owner, and per address of those without a key."""

    def __init__(self, settings: Settings) -> None:
        self._rate = RateLimitItemPerMinute(settings.requests_per_minute, namespace="surebox")
        self._public_rate = RateLimitItemPerMinute(settings.public_requests_per_minute, namespace="surebox-public")
        self._local = SlidingWindowCounterRateLimiter(MemoryStorage())
        pool = ConnectionPool.from_url(
            settings.redis_url, socket_timeout=_SOCKET_SECONDS, socket_connect_timeout=_SOCKET_SECONDS
        )
        self._client_pool = pool  # made here because it understands every address that redis-py does, sockets too
        self._shared = SlidingWindowCounterRateLimiter(
            RedisStorage(
                "async+redis://",
                implementation="redispy",
                wrap_exceptions=True,
                connection_pool=pool,  # type: ignore[arg-type] # documented, but not in its annotation
            )
        )
        self._shared_from = 0.0

    async def spend(self, owner: str) -> None:
        """Count one request.

        Raises
        ------
        TooManyRequestsError
            When the owner's minute is used up; states when to come again.
        """
        await self._count(self._rate, owner, "for this owner")

    async def spend_address(self, address: str) -> None:
        """Count one request without a key; errors as of `spend`."""
        await self._count(self._public_rate, address, "without a key")

    async def close(self) -> None:
        """Close the connections to the shared count."""
        await self._client_pool.disconnect()

    async def _count(self, rate: RateLimitItem, who: str, whose: str) -> None:
        if time.monotonic() >= self._shared_from:
            try:
                return await _spend(self._shared, rate, who, whose)
            except StorageError as error:
                self._shared_from = time.monotonic() + RETRY_SHARED_SECONDS
                log.warning("rates.local", error=type(error.storage_error).__name__)
        return await _spend(self._local, rate, who, whose)


async def _spend(limiter: SlidingWindowCounterRateLimiter, rate: RateLimitItem, who: str, whose: str) -> None:
    if not await limiter.hit(rate, who):
        window = await limiter.get_window_stats(rate, who)
        wait = max(1.0, window.reset_time - time.time())
        detail = f"{rate.amount} requests a minute are allowed {whose}; try again in {wait:.0f} s"
        raise TooManyRequestsError(detail, retry_after=wait)


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
