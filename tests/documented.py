"""The OpenAPI document, made once a test process: making it takes seconds. Do not change it."""

from functools import cache
from typing import Any

from app.api.openapi import document


@cache
def the_document() -> dict[str, Any]:
    """Return the document of the service."""
    return document()
