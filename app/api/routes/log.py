"""The log of an owner."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from app.api.deps import ResourcesDep, require
from app.api.pagination import After, PageDep, page
from app.api.problems import responses
from app.auth.principal import Principal
from app.contracts.log import LogList
from app.errors import InvalidError
from app.releases import log

router = APIRouter(tags=["releases"])


@router.get(
    "/log",
    operation_id="read_log",
    summary="Read the log",
    response_model=LogList,
    responses=responses(422, 429),
)
def read_log(
    resources: ResourcesDep, principal: Annotated[Principal, Depends(require("admin"))], asked: PageDep
) -> Any:
    """Who published, withdrew, accepted, shared and read what was restricted, newest first; a chain of hashes."""
    rows = log.read_log(
        database=resources.database, owner=principal.owner, before=_before(asked.after), limit=asked.fetch
    )
    return page(rows, asked=asked, item=lambda row: row, place=lambda row: After(row.at, str(row.number)))


def _before(after: After | None) -> int | None:
    if after is None:
        return None
    if not after.id.isdecimal():
        detail = "this is no `next_cursor` of the log"
        raise InvalidError.at("?cursor", detail)
    return int(after.id)
