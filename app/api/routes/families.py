"""Families: what is the same data, and what was ever published of them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from app.api.deps import ResourcesDep, require
from app.api.problems import responses
from app.auth.principal import Principal
from app.contracts.families import Family
from app.releases import families

router = APIRouter(tags=["releases"])

FamilyId = Annotated[str, Path(description="Id of a family.")]


@router.get("/families/{family_id}", operation_id="get_family", summary="Read a family", responses=responses(404, 429))
def get_family(
    family_id: FamilyId,
    resources: ResourcesDep,
    principal: Annotated[Principal, Depends(require("jobs:read", "datasets:read"))],
) -> Family:
    """One's own: datasets that are the same data, what was ever published of them, and what that leaves together."""
    return families.read_family(database=resources.database, owner=principal.owner, family_id=family_id)


@router.delete(
    "/families/{family_id}",
    operation_id="erase_family",
    summary="Erase a family",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "It is forgotten; the log says so."}, **responses(404, 429)},
)
def erase_family(
    family_id: FamilyId, resources: ResourcesDep, principal: Annotated[Principal, Depends(require("admin"))]
) -> Response:
    """Forget by what the data are recognised and what was published of them: later releases are composed with none."""
    families.erase_family(
        database=resources.database, owner=principal.owner, key_id=principal.key_id, family_id=family_id
    )
    return Response(status_code=204)
