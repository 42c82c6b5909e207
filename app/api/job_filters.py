"""Which jobs a list holds, from the query."""

from typing import Annotated

from fastapi import Depends, Query

from app.api.instants import CreatedAfter
from app.api.tag_filters import TagPairs, tags_of
from app.contracts.jobs import JobKind, JobState
from app.db.repositories.jobs import JobFilter

_TEXT = r"^[^\x00]{1,200}$"


async def get_job_filter(
    state: Annotated[list[JobState] | None, Query(description="Any of these states.")] = None,
    method: Annotated[str | None, Query(pattern=_TEXT, description="Of this method.")] = None,
    kind: Annotated[JobKind | None, Query(description="Asked of this endpoint.")] = None,
    dataset_id: Annotated[str | None, Query(pattern=_TEXT, description="That work on this dataset.")] = None,
    created_after: CreatedAfter = None,
    tag: TagPairs = None,
) -> JobFilter:
    """Which jobs the list holds."""
    return JobFilter(
        states=tuple(state or ()),
        method=method,
        kind=kind,
        dataset_id=dataset_id,
        created_after=created_after,
        tags=tags_of(tag),
    )


JobFilterDep = Annotated[JobFilter, Depends(get_job_filter)]
