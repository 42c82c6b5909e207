"""When a service that commands have started ends by itself: no command has used it for a while, and no job runs.

A command keeps the file of uses locked (shared) for as long as it needs the service, and touches it at its beginning
and its end. The service that ends locks it alone: a command that comes meanwhile waits until the folder is free, and
starts another one.
"""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

#: Seconds after which it is looked again whether jobs have ended.
LOOK_AGAIN: Final = 10.0


class IdleWatch:
    """Looks whether a folder's service is used.

    Parameters
    ----------
    uses
        The file that commands lock.
    seconds
        How long no one may use it.
    busy
        States whether a job waits or runs; requested only when no command has used the service for so long.
    """

    def __init__(self, uses: Path, *, seconds: float, busy: Callable[[], bool]) -> None:
        self._uses, self._seconds, self._busy = uses, seconds, busy
        self._not_before = time.time() + seconds
        self._descriptor: int | None = None

    def is_over(self) -> bool:
        """Whether it is time to end; from a yes on, commands wait until `release`."""
        if self._descriptor is not None:
            return True
        now = time.time()
        if now < self._not_before or now < self._last_use() + self._seconds:
            return False
        descriptor = os.open(self._uses, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        if self._last_use() + self._seconds > now or self._busy():
            self._not_before = now + LOOK_AGAIN
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let commands go on: the folder is free."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _last_use(self) -> float:
        try:
            return self._uses.stat().st_mtime
        except FileNotFoundError:
            return 0.0
