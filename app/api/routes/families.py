"""Families: sameness of data, and all publications of them."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Response

from app.api.bodies import JsonRoute
from app.api.deps import ResourcesDep, require
from app.api.problems import responses
from app.api.schemas.examples import FAMILY_ANSWERS
from app.auth.principal import Principal
from app.contracts.families import Family, FamilyAnswer, FamilyList
from app.releases import families

router = APIRouter(route_class=JsonRoute, tags=["administration"])

Keeper = Annotated[Principal, Depends(require("jobs:read", "datasets:read"))]
FamilyId = Annotated[str, Path(description="Id of a family.")]


@router.get("/families/{family_id}", operation_id="get_family", summary="Get a family", responses=responses(404, 429))
def get_family(
    family_id: FamilyId,
    resources: ResourcesDep,
    principal: Keeper,
) -> Family:
    """Get the datasets that are the same data, every release of them, and the `k` that these leave together."""
    return families.read_family(database=resources.database, owner=principal.owner, family_id=family_id)


@router.get("/families", operation_id="list_families", summary="List families", responses=responses(429))
def list_families(resources: ResourcesDep, principal: Keeper) -> FamilyList:
    """List your families, newest first, at most 1,000, with their datasets and releases."""
    return FamilyList(items=tuple(families.list_families(database=resources.database, owner=principal.owner)))


@router.post(
    "/families/{family_id}/confirm",
    operation_id="confirm_family",
    summary="Confirm a family",
    responses=responses(404, 429),
)
def confirm_family(family_id: FamilyId, resources: ResourcesDep, principal: Keeper) -> Family:
    """Vouch for data that came by a key without `jobs:read`: they are compared with others, and may be published.

    Look at them first. A key that may upload but not read what comes of it could else learn from a published release
    whether a table that it has made up is yours.
    """
    mine: dict[str, Any] = {"database": resources.database, "owner": principal.owner, "family_id": family_id}
    families.confirm_family(**mine, key_id=principal.key_id)
    return families.read_family(**mine)


@router.post(
    "/families/{family_id}/answer",
    operation_id="answer_family",
    summary="Answer whether data are of the same people",
    responses=responses(404, 409, 429),
)
def answer_family(
    family_id: FamilyId,
    resources: ResourcesDep,
    principal: Annotated[Principal, Depends(require("releases:publish", "jobs:read", "datasets:read"))],
    answer: Annotated[FamilyAnswer, Body(openapi_examples=FAMILY_ANSWERS)],
) -> Family:
    """State whether the data of two families are of the same people, where a question of the family asks for it.

    The log records the answer, and later releases have the flag `declared-data`. Get the family that both are from now
    on, or this one. A later answer replaces an earlier one while both families are there.
    """
    mine: dict[str, Any] = {"database": resources.database, "owner": principal.owner}
    now = families.answer_family(**mine, key_id=principal.key_id, family_id=family_id, answer=answer)
    return families.read_family(**mine, family_id=now)


@router.delete(
    "/families/{family_id}",
    operation_id="erase_family",
    summary="Erase a family",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "The family is erased; the log records it."}, **responses(404, 409, 429)},
)
def erase_family(
    family_id: FamilyId, resources: ResourcesDep, principal: Annotated[Principal, Depends(require("admin"))]
) -> Response:
    """Erase the fingerprints and publications of a family. Later releases are checked as if these were the first.

    While releases of the family are published the answer is 409: withdraw them first.
    """
    families.erase_family(
        database=resources.database, owner=principal.owner, key_id=principal.key_id, family_id=family_id
    )
    return Response(status_code=204)
