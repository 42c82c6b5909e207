"""What an owner decides for all of its keys."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends

from app.api.bodies import JsonRoute
from app.api.deps import Resources, ResourcesDep, require
from app.api.problems import responses
from app.api.schemas.examples import OWNER_CHANGES
from app.auth.principal import Principal, Scope
from app.auth.renewal import read_key, renew_key
from app.contracts.owners import OwnerChanges, OwnerSettings, RenewedKey, Usage
from app.jobs.quotas import read_usage
from app.releases import owners

router = APIRouter(route_class=JsonRoute, tags=["administration"])

Reader = Annotated[Principal, Depends(require("jobs:read"))]
#: Any key may learn when it ends, and renew itself.
_ANY = tuple(scope.value for scope in Scope if scope not in {Scope.ADMIN, Scope.JOBS_READ})
Holder = Annotated[Principal, Depends(require("jobs:read", instead=_ANY, any_of_instead=True))]
Admin = Annotated[Principal, Depends(require("admin"))]


@router.get("/owner", operation_id="get_owner", summary="Get the owner's settings", responses=responses(429))
def get_owner(resources: ResourcesDep, principal: Holder) -> OwnerSettings:
    """Get the settings that apply to all keys of the owner, and until when this key works."""
    return _settings(resources, principal)


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
    return _settings(resources, principal)


@router.post(
    "/owner/key/renew",
    operation_id="renew_key",
    summary="Renew the key of the request",
    status_code=201,
    responses={201: {"description": "The new key, which is shown this once."}, **responses(429)},
)
def renew_owner_key(resources: ResourcesDep, principal: Holder) -> RenewedKey:
    """Exchange the key of this request for a new one with the same scopes. The old one ends within an hour.

    The key must have been made with renewals (`surebox keys create --renewable-days`). The new key lasts as long as
    the old one did, up to `renewable_until`. Until it is used, another renewal takes it back, so a lost answer locks
    nobody out; after that the answer is 403. The log records each renewal and each refusal.
    """
    return renew_key(
        database=resources.database,
        secret=resources.settings.server_secret,
        key_id=principal.key_id,
        now=resources.clock(),
    )


@router.get(
    "/usage",
    operation_id="get_usage",
    summary="Get usage and quotas",
    responses=responses(429),
)
def get_usage(resources: ResourcesDep, principal: Reader) -> Usage:
    """Get the owner's rows, bytes, datasets, releases, jobs and CPU seconds, each with its limit."""
    return read_usage(database=resources.database, owner=principal.owner, settings=resources.settings)


def _settings(resources: Resources, principal: Principal) -> OwnerSettings:
    mine: dict[str, Any] = {"database": resources.database, "owner": principal.owner}
    return OwnerSettings(
        owner=principal.owner,
        jobs_may_publish=owners.jobs_may_publish(**mine),
        key=read_key(**mine, key_id=principal.key_id),
    )
