"""The log of an owner."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from app.api.bodies import JsonRoute
from app.api.deps import ResourcesDep, require
from app.api.filters import TEXT, CreatedAfter, CreatedBefore
from app.api.pagination import After, PageDep, page
from app.api.problems import responses
from app.auth.principal import Principal, Scope
from app.contracts.log import LogAction, LogList
from app.db.repositories.audit import LogFilter
from app.releases import log

router = APIRouter(route_class=JsonRoute, tags=["administration"])

#: Any key may see the work with it.
_ANY = tuple(scope.value for scope in Scope if scope is not Scope.ADMIN)
Reader = Annotated[Principal, Depends(require("admin", instead=_ANY, any_of_instead=True))]


def _is_admin(principal: Principal) -> bool:
    return not principal.missing(frozenset({Scope.ADMIN}))


async def get_log_filter(
    principal: Reader,
    action: Annotated[list[LogAction] | None, Query(description="Only entries with one of these actions.")] = None,
    subject: Annotated[str | None, Query(pattern=TEXT, description="Id of what it was done to.")] = None,
    key_id: Annotated[str | None, Query(pattern=TEXT, description="Id of the key that did it.")] = None,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
) -> LogFilter:
    """Which entries the list contains, of those that the key may see."""
    own = None if _is_admin(principal) else principal.key_id
    return LogFilter(
        owner=principal.owner,
        key_ids=tuple(each for each in (own, key_id) if each is not None),
        actions=tuple(action or ()),
        subject=subject,
        after=created_after,
        before=created_before,
    )


@router.get(
    "/log",
    operation_id="list_log_entries",
    summary="List log entries",
    response_model=LogList,
    responses=responses(422, 429),
)
def list_log_entries(
    resources: ResourcesDep,
    principal: Reader,
    paging: PageDep,
    only: Annotated[LogFilter, Depends(get_log_filter)],
) -> Any:
    """Who did what, newest first: everything of the owner with `admin`, else the work with the key that asks.

    Entries about publishing, and about reading restricted data, form a chain of hashes; all others are kept for a
    time. Downloads and refusals are counted by key and minute (`facts.count`). What findings said, and hashes, are for
    keys with `admin` or `jobs:read`.
    """
    resources.tally.flush()
    before = None if paging.after is None else (paging.after.created_at, paging.after.id)
    findings = _is_admin(principal) or principal.is_keeper
    rows = log.read_log(database=resources.database, only=only, before=before, limit=paging.fetch, findings=findings)
    return page(
        rows, paging=paging, item=lambda row: row.entry, place=lambda row: After(row.entry.created_at, row.place)
    )
