"""Log files that are kept for a time: renamed when they are large or a day is over, never cut.

A renamed file goes on to take the lines of who has it open. Our processes and Valkey look at the name before each line
and make a new file under it. Postgres makes its files itself, in a folder of its own: its `postgres.log` here has what
it states before it can, and is renamed before it starts. No line is lost on the way.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 50_000_000
#: Written by a server that keeps its file open, once it has started only.
HELD_OPEN: Final = "postgres.log"
_RENAMED: Final = re.compile(r"[^.]+\.\d{8}T\d{12}\.log")


class LogFiles:
    """The log files of a folder.

    Parameters
    ----------
    folder
        Where they are.
    days, total_bytes
        How long renamed ones are kept, and how much of them: the oldest go first.
    max_bytes
        A larger file is renamed before its day is over.
    collected
        Folder of a server that makes its dated files itself: kept like ours, but for the newest, which it writes.
    """

    def __init__(
        self,
        folder: Path,
        *,
        days: float,
        total_bytes: int,
        max_bytes: int = MAX_BYTES,
        collected: Path | None = None,
    ) -> None:
        self._folder, self._days, self._total_bytes, self._max_bytes = folder, days, total_bytes, max_bytes
        self._collected = collected
        self._day: str | None = None

    def rotate(self, now: datetime) -> None:
        """Rename the due files; the first call, before anything is started, renames all."""
        day, first = f"{now.astimezone(UTC):%Y%m%d}", self._day is None
        for log in sorted(self._folder.glob("*.log")):
            if _RENAMED.fullmatch(log.name) or (log.name == HELD_OPEN and not first):
                continue
            size = log.stat().st_size
            if size > self._max_bytes or (size and day != self._day):
                self._rename(log, now)
        self._day = day
        self._remove_old(now)

    def _rename(self, log: Path, now: datetime) -> None:
        stamp = now.astimezone(UTC)
        while (target := log.with_name(f"{log.stem}.{stamp:%Y%m%dT%H%M%S%f}.log")).exists():
            stamp += timedelta(microseconds=1)
        log.rename(target)

    def _remove_old(self, now: datetime) -> None:
        """By when they were last written: who still writes to a renamed file keeps it."""
        renamed = [path for path in self._folder.glob("*.log") if _RENAMED.fullmatch(path.name)]
        if self._collected is not None:
            dated = sorted(path for path in self._collected.glob("*.log") if _RENAMED.fullmatch(path.name))
            renamed += dated[:-1]
        newest_first = sorted(((path.stat(), path) for path in renamed), key=lambda each: -each[0].st_mtime)
        total = 0
        for stat, path in newest_first:
            total += stat.st_size
            if stat.st_mtime < now.timestamp() - self._days * 86_400 or total > self._total_bytes:
                path.unlink(missing_ok=True)
