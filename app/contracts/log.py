"""The log: who published, withdrew, accepted and read what was restricted."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from app.contracts.base import Contract, Instant


class LogAction(StrEnum):
    """What is logged."""

    PUBLISHED = "published"
    ACCEPTED = "accepted"
    WITHDREW = "withdrew"
    SHARED = "shared"
    READ = "read"
    ERASED = "erased"
    DECLARED = "declared"
    CONFIRMED = "confirmed"
    CONFIGURED = "configured"


class LogEntry(Contract):
    """One entry. `hash` is SHA-256 of the others, with the owner, as JSON with sorted keys and without blanks."""

    number: int = Field(description="From 1, without gaps.")
    at: Instant = Field(description="When.")
    key_id: str | None = Field(description="The key that did it; null: the service, for the job that `facts` names.")
    action: LogAction = Field(description="What was done.")
    subject: str = Field(description="Id of what it was done to.")
    facts: dict[str, Any] = Field(description="What else there is to know; never a cell of data.")
    previous: str = Field(description="`hash` of the entry before; zeros before the first.")
    hash: str = Field(description="Of this entry: a chain that shows if one is changed or missing.")


class LogList(Contract):
    """One page of the log, newest first."""

    items: tuple[LogEntry, ...] = Field(description="Newest first.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null: this is the last.")
