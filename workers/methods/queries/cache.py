"""Releases made ready for questions, kept by a worker process: most questions are about few releases.

The stored data are the published data, under the checksum of its file; whether the release is still there is looked up
in the database before every question, never of the content of this cache.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, cast


class Sized(Protocol):
    """Something that knows how much memory it takes."""

    @property
    def nbytes(self) -> int:
        """Bytes."""


T = TypeVar("T", bound=Sized)

#: What no one has requested this long is let go when something else is requested.
IDLE_SECONDS: Final = 600.0


@dataclass(slots=True)
class _Kept:
    value: Any
    used_at: float


class ReleaseCache:
    """Values by key, least recently used first to go; one larger than all the room is made but not kept."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: OrderedDict[tuple[str, ...], _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._clock = clock

    def get(self, key: tuple[str, ...], make: Callable[[], T], *, room: int) -> T:
        """The value of a key, made if it is not there.

        Parameters
        ----------
        key
            Checksum of a release's file, and what the value is of it.
        make
            Makes the value.
        room
            Bytes that all values together may take.
        """
        with self._lock:
            now = self._clock()
            self._forget(now)
            entry = self._kept.get(key)
            if entry is not None:
                entry.used_at = now
                self._kept.move_to_end(key)
                return cast("T", entry.value)
        made = make()
        if made.nbytes > room:
            return made
        with self._lock:
            self._kept[key] = _Kept(made, self._clock())
            self._kept.move_to_end(key)
            while self.nbytes > room:
                self._kept.popitem(last=False)
        return made

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        return sum(kept.value.nbytes for kept in self._kept.values())

    def empty(self) -> None:
        """Let all go."""
        with self._lock:
            self._kept.clear()

    def _forget(self, now: float) -> None:
        for key in [key for key, kept in self._kept.items() if now - kept.used_at > IDLE_SECONDS]:
            del self._kept[key]


#: Of this process.
CACHE: Final = ReleaseCache()
