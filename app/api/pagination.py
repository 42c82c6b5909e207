"""Lists: newest first, in pages, with a cursor that reveals nothing but where the last page ended."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Query

from app.api.known_fields import refuse_unknown_query
from app.contracts.base import rfc3339
from app.errors import FieldError, InvalidError

DEFAULT_LIMIT: Final = 50
LARGEST_LIMIT: Final = 200

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class After:
    """The last object of a page: the next page contains older entries."""

    created_at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Page:
    """The requested page; ask a repository for `fetch` rows older than `after`."""

    limit: int
    after: After | None

    @property
    def fetch(self) -> int:
        """One more than the page holds: that row reveals whether there is another page."""
        return self.limit + 1


async def get_page(
    _known: Annotated[None, Depends(refuse_unknown_query)],
    limit: Annotated[int, Query(ge=1, le=LARGEST_LIMIT, description="Number of objects per page.")] = DEFAULT_LIMIT,
    cursor: Annotated[
        str | None, Query(max_length=500, description="`next_cursor` of the page before; opaque.")
    ] = None,
) -> Page:
    """The page requested in the query."""
    return Page(limit=limit, after=None if cursor is None else _decoded(cursor))


PageDep = Annotated[Page, Depends(get_page)]


def page(
    rows: Sequence[Row], *, paging: Page, item: Callable[[Row], Any], place: Callable[[Row], After]
) -> dict[str, Any]:
    """`{"items", "next_cursor"}` of up to `paging.limit` rows, newest first.

    Parameters
    ----------
    rows
        What the repository has, newest first, at most `paging.fetch`.
    paging
        The page that was requested.
    item
        From a row to the shown part of it.
    place
        From a row to its place in the order.
    """
    shown = rows[: paging.limit]
    more = len(rows) > paging.limit
    return {"items": [item(row) for row in shown], "next_cursor": _encoded(place(shown[-1])) if more else None}


def _encoded(after: After) -> str:
    text = json.dumps([rfc3339(after.created_at), after.id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(cursor: str) -> After:
    try:
        at, last = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        after: After | None = After(created_at=datetime.fromisoformat(at), id=str(last))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        after = None
    if after is None or after.created_at.tzinfo is None or not after.id.isprintable():
        detail = "not a cursor of this list: take `next_cursor` as it was given, or leave it out to begin anew"
        raise InvalidError(f"cursor: {detail}", errors=[FieldError(pointer="?cursor", detail=detail)])
    return after
