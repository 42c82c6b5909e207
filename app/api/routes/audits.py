"""Asking for an audit. None is built yet: each is refused by name, and the route is not in the OpenAPI document."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Response

from app.api.deps import require
from app.auth.principal import Principal
from app.contracts.jobs import JobKind
from app.errors import FieldError, InvalidError, SureboxError
from app.jobs.lookup import find_method

router = APIRouter(tags=["jobs"])


@router.post("/audits", operation_id="create_audit", include_in_schema=False)
def create_audit(
    body: Annotated[Any, Body()],
    _: Annotated[Principal, Depends(require("jobs:write"))],
) -> Response:
    """Audit a dataset or a release."""
    if not isinstance(body, dict):
        detail = "the body must be a JSON object with a `method`"
        raise InvalidError(detail, errors=[FieldError("", detail)])
    method = find_method(body.get("method"), kind=JobKind.AUDIT)
    raise SureboxError(f"the audit {method.name} has no route yet")
