"""Filters in the query of a list: points in time, tags (`tag=name:value`, as often as there are), and those of jobs."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

from fastapi import Depends, Query
from pydantic import AwareDatetime, BeforeValidator

from app.contracts.base import in_normal_form
from app.contracts.jobs import JobKind, JobState
from app.db.repositories.jobs import JobFilter

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_TAG = r"^[^\x00:]{1,200}:[^\x00]{0,200}$"
TagPairs = Annotated[
    list[Annotated[str, Query(pattern=_TAG)]] | None,
    Query(description="Only objects with all of these tags, as `name:value`."),
]
#: Of an id or a name in a query; Postgres takes no NUL.
TEXT: Final = r"^[^\x00]{1,200}$"


def _written_out(value: Any) -> Any:
    """Refuse what would pass for a time only because it is a number of seconds."""
    if isinstance(value, str) and not _RFC3339.fullmatch(value):
        msg = "must be a time of RFC 3339 with a time zone, such as 2026-11-21T09:30:00Z (a plus sign is %2B)"
        raise ValueError(msg)
    return value


CreatedAfter = Annotated[
    Annotated[AwareDatetime, BeforeValidator(_written_out)] | None,
    Query(description="RFC 3339, with a time zone: only objects made later."),
]
CreatedBefore = Annotated[
    Annotated[AwareDatetime, BeforeValidator(_written_out)] | None,
    Query(description="RFC 3339, with a time zone: only objects made earlier."),
]


def tags_of(pairs: Iterable[str] | None) -> dict[str, str]:
    """The tags that the pairs of a query name."""
    return {name: value for name, _, value in (in_normal_form(text).partition(":") for text in pairs or ())}


async def get_job_filter(
    state: Annotated[list[JobState] | None, Query(description="Only objects in one of these states.")] = None,
    method: Annotated[str | None, Query(pattern=TEXT, description="Only jobs of this method.")] = None,
    kind: Annotated[JobKind | None, Query(description="Only jobs that this endpoint created.")] = None,
    dataset_id: Annotated[str | None, Query(pattern=TEXT, description="Only jobs that work on this dataset.")] = None,
    created_after: CreatedAfter = None,
    tag: TagPairs = None,
) -> JobFilter:
    """Which jobs the list contains."""
    return JobFilter(
        states=tuple(state or ()),
        method=method,
        kind=kind,
        dataset_id=dataset_id,
        created_after=created_after,
        tags=tags_of(tag),
    )


JobFilterDep = Annotated[JobFilter, Depends(get_job_filter)]
