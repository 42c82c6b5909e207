"""Counting for the audit log: downloads, and requests that were refused.

A thousand requests of one key in a minute are one entry, and an outsider who tries addresses and keys makes no more
than so many entries a minute. Requests wait for no write, but for the first download of a minute.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import Final

import structlog

from app.contracts.log import LogAction
from app.db.repositories import audit
from app.db.repositories.audit import NO_OWNER, Counted
from app.db.session import Database
from app.errors import StorageFullError, UnavailableError
from app.observability.logs import described

#: Addresses that a process distinguishes in a minute; all others are counted together.
MOST_ADDRESSES: Final = 64
OTHERS: Final = "others"
FLUSH_SECONDS: Final = 1.0
#: What waits to be written at most; a database that takes nothing must not take our memory.
_MOST_WAITING: Final = 10_000
#: Of an IPv6 address its holder has all of the last 64 bits.
_PREFIX: Final = 64

log = structlog.get_logger(__name__)


class Tally:
    """Counts of one API process; `flush` adds them to the log."""

    def __init__(self, *, database: Database, clock: Callable[[], datetime]) -> None:
        self._database, self._clock = database, clock
        self._waiting: OrderedDict[str, tuple[Counted, int]] = OrderedDict()
        self._minute = ""
        self._seen: set[str] = set()
        self._addresses: set[str] = set()
        self._lock = Lock()

    def refused(
        self, *, status: int, owner: str | None, key_id: str | None, address: str, route: str, subject: str
    ) -> None:
        """Count a request that was answered 401 or 403."""
        facts = {"status": status}
        with self._lock:
            minute = self._begin_minute()
            if key_id is None or owner is None:
                who = self._distinguished(_network(address))
                self._add(Counted(
                    bucket=f"{minute} refused {status} {who}", owner=NO_OWNER, key_id=None, action=LogAction.REFUSED,
                    subject="", facts={**facts, "address": who},
                ))  # fmt: skip
                return
            self._add(Counted(
                bucket=f"{minute} refused {status} {key_id} {route}", owner=owner, key_id=key_id,
                action=LogAction.REFUSED, subject=subject, facts={**facts, "route": route},
            ))  # fmt: skip

    def downloaded(self, *, release_id: str, of_owner: str, what: str, reader: str | None, key_id: str | None) -> None:
        """Count a download of the published data: in the log of the release's owner, and of the reader's.

        The first of a minute is written before its bytes are sent.
        """
        logs = dict.fromkeys((of_owner, of_owner if reader is None else reader))
        with self._lock:
            minute = self._begin_minute()
            for owner in logs:
                facts = {"what": what} if reader == of_owner else {"what": what, "reader": reader}
                self._add(Counted(
                    bucket=f"{minute} downloaded {owner} {key_id or ''} {release_id} {what}", owner=owner,
                    key_id=key_id if owner == reader else None, action=LogAction.DOWNLOADED, subject=release_id,
                    facts=facts,
                ))  # fmt: skip
            first = f"{key_id} {release_id} {what}"
            is_first = first not in self._seen
            if len(self._seen) < _MOST_WAITING:
                self._seen.add(first)
        if is_first:
            self.flush()

    def flush(self) -> None:
        """Write the counts; what cannot be written now waits for the next time."""
        with self._lock:
            counts, self._waiting = list(self._waiting.values()), OrderedDict()
        if not counts:
            return
        try:
            with self._database.unit_of_work() as unit:
                audit.count_up(unit.connection, counts=counts)
        except (UnavailableError, StorageFullError):
            with self._lock:
                for counted, count in counts:
                    self._add(counted, count)
        except Exception as error:  # noqa: BLE001 - what counts goes on, whatever this entry was
            log.warning("audit.not_written", entries=len(counts), **described(error))

    def _begin_minute(self) -> str:
        minute = self._clock().strftime("%Y-%m-%dT%H:%M")
        if minute != self._minute:
            self._minute = minute
            self._seen.clear()
            self._addresses.clear()
        return minute

    def _distinguished(self, address: str) -> str:
        if address not in self._addresses and len(self._addresses) >= MOST_ADDRESSES:
            return OTHERS
        self._addresses.add(address)
        return address

    def _add(self, counted: Counted, count: int = 1) -> None:
        before = self._waiting.get(counted.bucket)
        if before is None and len(self._waiting) >= _MOST_WAITING:
            self._waiting.popitem(last=False)
        self._waiting[counted.bucket] = (counted, count + (0 if before is None else before[1]))


def _network(address: str) -> str:
    """An address; of one of IPv6 the network that its holder has."""
    with suppress(ValueError):
        read = ipaddress.ip_address(address)
        if read.version == 6:
            return str(ipaddress.ip_network(f"{address.partition('%')[0]}/{_PREFIX}", strict=False))
        return str(read)
    return OTHERS
