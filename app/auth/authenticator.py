"""From an Authorization header to a Principal, with a short cache: most requests touch neither database nor thread."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Final, Generic, TypeVar

import anyio
import anyio.to_thread

from app.auth.keys import PREFIX, digest_of, name_of
from app.auth.principal import Principal
from app.db.repositories import api_keys
from app.db.session import Database
from app.errors import StorageFullError, UnauthorizedError, UnavailableError

TTL_SECONDS: Final = 5.0
_LONGEST_KEY: Final = 200
_LOOKUPS: Final = 4
V = TypeVar("V")


class TtlCache(Generic[V]):
    """At most `size` values, each for `ttl` seconds; the oldest goes first. Safe to use from several threads."""

    def __init__(self, *, size: int, ttl: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._ttl = ttl
        self._monotonic = monotonic
        self._values: OrderedDict[bytes, tuple[float, V]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> V | None:
        """The value, if it is fresh."""
        entry = self._values.get(key)
        return entry[1] if entry is not None and entry[0] > self._monotonic() else None

    def put(self, key: bytes, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self._values.pop(key, None)
            while len(self._values) >= self._size:
                self._values.popitem(last=False)
            self._values[key] = (self._monotonic() + self._ttl, value)

    def __len__(self) -> int:
        return len(self._values)


class Authenticator:
    """Finds the holder of a key; known and unknown keys are remembered apart, so that guesses evict no one."""

    def __init__(self, *, database: Database, secrets: Sequence[bytes], size: int = 10_000) -> None:
        self._database = database
        self._secrets = tuple(secrets)
        self._known: TtlCache[Principal] = TtlCache(size=size, ttl=TTL_SECONDS)
        self._unknown: TtlCache[bool] = TtlCache(size=size, ttl=TTL_SECONDS)
        self._limiter = anyio.CapacityLimiter(_LOOKUPS)  # its own threads: long uploads must not delay a lookup

    async def principal(self, authorization: str | None) -> Principal:
        """The holder of the key in an Authorization header.

        Raises
        ------
        UnauthorizedError
            No header, another scheme, or a key that is unknown or revoked.
        UnavailableError
            The key is not cached and the database cannot be reached.
        """
        key = _bearer(authorization)
        digest = digest_of(key, secret=self._secrets[0])
        known = self._known.get(digest)
        if known is not None:
            return known
        if self._unknown.get(digest) is None:
            digests = [digest, *(digest_of(key, secret=former) for former in self._secrets[1:])]
            holder = await anyio.to_thread.run_sync(self._look_up, digests, limiter=self._limiter)
            if holder is not None:
                self._known.put(digest, holder)
                return holder
            self._unknown.put(digest, True)
        raise UnauthorizedError("the API key is unknown, revoked or expired")

    def _look_up(self, digests: list[bytes]) -> Principal | None:
        """Who holds the key; under a former secret of the service it is stored under the present one from now on."""
        with self._database.read() as connection:
            holder = api_keys.by_digest(connection, digests=digests)
        if holder is not None and (holder.unnoted or holder.digest != digests[0]):
            self._note_use(holder.id, digests[0])
        return None if holder is None else Principal(owner=holder.owner, key_id=holder.id, scopes=holder.scopes)

    def _note_use(self, key_id: str, digest: bytes) -> None:
        """A key also works where the database cannot be written: its next use is noted."""
        with suppress(UnavailableError, StorageFullError), self._database.read() as connection:
            api_keys.note_use(connection, key_id=key_id, digest=digest, hashed_under=name_of(self._secrets[0]))


def _bearer(authorization: str | None) -> str:
    if authorization is None:
        raise UnauthorizedError("send your API key as `Authorization: Bearer <key>`")
    scheme, _, key = authorization.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key.startswith(PREFIX) or len(key) > _LONGEST_KEY:
        raise UnauthorizedError(f"send your API key as `Authorization: Bearer <key>`; keys begin with {PREFIX}")
    return key
