"""The log: who published and read restricted data, and who did what else."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from app.contracts.base import Contract, Instant


class LogAction(StrEnum):
    """Logged actions."""

    PUBLISHED = "published"
    ACCEPTED = "accepted"
    WITHDRAWN = "withdrawn"
    SHARED = "shared"
    READ = "read"
    ERASED = "erased"
    DECLARED = "declared"
    CONFIRMED = "confirmed"
    CONFIGURED = "configured"
    # Those below are not chained: they are kept for a time.
    UPLOADED = "uploaded"
    SUBMITTED = "submitted"
    CANCELLED = "cancelled"
    ENDED = "ended"
    DELETED = "deleted"
    DOWNLOADED = "downloaded"
    REFUSED = "refused"
    KEY_CREATED = "key_created"
    KEY_RENEWED = "key_renewed"
    KEY_REVOKED = "key_revoked"
    SIGNING_KEY_ROTATED = "signing_key_rotated"
    SIGNING_KEY_REVOKED = "signing_key_revoked"
    SECRET_ROTATED = "secret_rotated"  # noqa: S105 - what was done
    QUOTA_CHANGED = "quota_changed"


class LogEntry(Contract):
    """One entry. `hash` is SHA-256 of the others, with the owner, as JSON with sorted keys and without blanks.

    Entries about publishing, and about reading restricted data, form a chain and stay for ever. All others have null
    for `sequence`, `previous` and `hash`, and are removed after a time. Keys with neither `admin` nor `jobs:read` see
    no hashes.
    """

    sequence: int | None = Field(description="In the chain: from 1, without gaps. Null: not chained.")
    created_at: Instant = Field(description="When; of the counts by the minute, when it was first done in that minute.")
    key_id: str | None = Field(description="The key that did it; null: the service, the operator, or no key at all.")
    action: LogAction = Field(description="Action that was logged.")
    subject: str = Field(description="Id of what it was done to; empty where it was nothing that has one.")
    facts: dict[str, Any] = Field(description="Further facts; never a cell of data.")
    previous: str | None = Field(description="`hash` of the entry before; zeros before the first. Null: not chained.")
    hash: str | None = Field(description="Of this entry: a chain that shows if one is changed or missing.")


class LogList(Contract):
    """One page of the log, newest first."""

    items: tuple[LogEntry, ...] = Field(description="Objects of this page, newest first.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null: this is the last.")
