"""All routes of the service in one place: what is served and what the OpenAPI document describes are the same."""

from typing import Final

from fastapi import FastAPI

from app.api.routes import anonymizations, audits, datasets, jobs, releases, service

PREFIX: Final = "/v1"


def include_routes(app: FastAPI) -> None:
    """Add every router."""
    for routes in (datasets, anonymizations, audits, jobs, releases):
        app.include_router(routes.router, prefix=PREFIX)
    app.include_router(service.router)
