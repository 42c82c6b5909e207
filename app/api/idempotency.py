"""`Idempotency-Key`: the same request twice is done once.

A request first takes its key in a transaction of its own, with a lease; what it has made is remembered in the
transaction that makes it, so that there is never one without the other. A request that fails gives the key back; one
that crashed loses it when the lease ends, and its late writes are refused by the token.

No answer is stored: a replay has the status of the first answer and shows the object as it is by then, to whom may
see it. So nothing outlives its object here.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import Header

from app.api.deps import Resources
from app.auth.principal import Principal
from app.db.repositories import idempotency as rows
from app.db.repositories.idempotency import KeyState
from app.db.session import Connection, Database
from app.errors import IdempotencyMismatchError, RequestInFlightError, UnavailableError
from app.settings import Settings

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Repeat a request safely: for 24 hours the same key and body make nothing new and answer with what "
        "they have made.",
    ),
]

#: Header of an answer that made nothing new.
REPLAYED: Final = {"Idempotent-Replayed": "true"}
_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Reservation:
    """The right to do what a key represents."""

    owner: str
    key: str
    token: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What the first request with a key has made, and the status it was answered with.

    `answered` is false while the first answer is still to come: `status` is then what it would be at once.
    """

    resource_id: str
    status: int
    answered: bool


def named_by(principal: Principal, key: str) -> str:
    """The name under which a key is kept: keepers have theirs together, every other API key has its own.

    Whether a key was used for the same request is an answer about that request: from a shared `upload-march` of a
    keeper, any other API key of the owner would learn whether a table that it guesses is the keeper's. No key has a
    blank.
    """
    return key if principal.is_keeper else f"{principal.key_id} {key}"


def fingerprint(*parts: object) -> str:
    """SHA-256 of what makes two requests the same: JSON values, in canonical form, so that blanks do not matter."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def take(resources: Resources, principal: Principal, key: str | None, *request: object) -> Reservation | Replay | None:
    """Take the key of a request, if it has one, or find what it has made; errors as of `reserve`.

    Parameters
    ----------
    resources, principal, key
        Of the request; None where no key was sent.
    request
        What makes two requests the same: JSON values.
    """
    if key is None:
        return None
    return reserve(
        database=resources.database,
        settings=resources.settings,
        owner=principal.owner,
        key=named_by(principal, key),
        fingerprint=fingerprint(*request),
        now=resources.clock(),
    )


def reserve(
    *, database: Database, settings: Settings, owner: str, key: str, fingerprint: str, now: datetime
) -> Reservation | Replay:
    """Take a key, or find what it has made.

    Raises
    ------
    IdempotencyMismatchError
        The key represents another request.
    RequestInFlightError
        The first request with this key has no answer yet.
    """
    token = secrets.token_hex(16)
    lease = timedelta(seconds=settings.idempotency_lease_seconds)
    forgotten = timedelta(hours=settings.idempotency_hours)
    for _ in range(_ROUNDS):  # a key may be given back between the two questions
        with database.unit_of_work() as unit:
            if rows.take(
                unit.connection,
                owner=owner, key=key, fingerprint=fingerprint, token=token, now=now, lease=lease, forgotten=forgotten,
            ):  # fmt: skip
                return Reservation(owner=owner, key=key, token=token)
            record = rows.held(unit.connection, owner=owner, key=key)
        if record is not None:
            return _answer(record, fingerprint=fingerprint, now=now)
    raise RequestInFlightError("several requests with this Idempotency-Key come and go; try again", retry_after=1)


def _answer(record: rows.Guarded, *, fingerprint: str, now: datetime) -> Replay:
    if record.fingerprint != fingerprint:
        detail = "this Idempotency-Key was used for a request with another body or query: use a new key"
        raise IdempotencyMismatchError(detail)
    if record.resource_id is None or record.status is None:
        wait = max(1.0, (record.leased_until - now).total_seconds())
        detail = "the first request with this Idempotency-Key has no answer yet; try again in a moment"
        raise RequestInFlightError(detail, retry_after=min(wait, 5.0))
    return Replay(record.resource_id, record.status, answered=record.state is KeyState.ANSWERED)


def complete(
    connection: Connection, reservation: Reservation, *, status: int, resource_id: str, answered: bool = True
) -> None:
    """Remember what the key has made, in the transaction that makes it. May be called again with a later answer.

    Parameters
    ----------
    connection
        Of the transaction that creates the object.
    reservation
        What `reserve` gave.
    status
        Of the answer.
    resource_id
        The created object.
    answered
        False when the answer follows later.

    Raises
    ------
    RequestInFlightError
        The lease ended and another request took the key: this transaction must not commit.
    """
    kept = rows.complete(
        connection,
        owner=reservation.owner,
        key=reservation.key,
        token=reservation.token,
        state=KeyState.ANSWERED if answered else KeyState.ACCEPTED,
        status=status,
        resource_id=resource_id,
    )
    if not kept:
        raise RequestInFlightError("this request took too long and another one with its Idempotency-Key took over")


def withdraw(connection: Connection, reservation: Reservation) -> None:
    """Forget a key whose object was taken back in the same transaction, before there was an answer."""
    rows.withdraw(connection, owner=reservation.owner, key=reservation.key, token=reservation.token)


@contextmanager
def given_back(database: Database, reservation: Reservation | None) -> Iterator[None]:
    """Give the key back when the block raises, so that the request can be sent again."""
    try:
        yield
    except BaseException:
        if reservation is not None:
            with suppress(UnavailableError), database.unit_of_work() as unit:  # without a database the lease ends it
                rows.release(unit.connection, owner=reservation.owner, key=reservation.key, token=reservation.token)
        raise
