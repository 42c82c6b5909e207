"""What an owner decides for all of its keys."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends

from app.api.bodies import JsonRoute
from app.api.deps import ResourcesDep, require
from app.api.problems import responses
from app.api.schemas.examples import OWNER_CHANGES
from app.auth.principal import Principal
from app.contracts.owners import OwnerChanges, OwnerSettings, Usage
from app.jobs.quotas import read_usage
from app.releases import owners

router = APIRouter(route_class=JsonRoute, tags=["administration"])

Reader = Annotated[Principal, Depends(require("jobs:read"))]
Admin = Annotated[Principal, Depends(require("admin"))]


@router.get("/owner", operation_id="get_owner", summary="Get the owner's settings", responses=responses(429))
def get_owner(resources: ResourcesDep, principal: Reader) -> OwnerSettings:
    """Get the settings that apply to all keys of the owner."""
    return owners.read_owner(database=resources.database, owner=principal.owner)


@router.patch(
    "/owner",
    operation_id="update_owner",
    summary="Update the owner's settings",
    responses=responses(400, 413, 415, 422, 429),
)
def update_owner(
    resources: ResourcesDep,
    principal: Admin,
    changes: Annotated[OwnerChanges, Body(openapi_examples=OWNER_CHANGES)],
) -> OwnerSettings:
    """Set whether jobs publish their releases, for all keys of the owner. The change is logged."""
    mine: dict[str, Any] = {"database": resources.database, "owner": principal.owner}
    owners.change_owner(**mine, key_id=principal.key_id, changes=changes)
    return owners.read_owner(**mine)


@router.get(
    "/usage",
    operation_id="get_usage",
    summary="Get usage and quotas",
    responses=responses(429),
)
def get_usage(resources: ResourcesDep, principal: Reader) -> Usage:
    """Get the owner's rows, bytes, datasets, releases, jobs and CPU seconds, each with its limit."""
    return read_usage(database=resources.database, owner=principal.owner, settings=resources.settings)
