"""All routes of the service in one place: what is served and what the OpenAPI document describes are the same."""

from typing import Final

from fastapi import FastAPI

from app.api.routes import (
    anonymizations,
    audits,
    bundles,
    certificates,
    datasets,
    families,
    jobs,
    log,
    owners,
    publishing,
    questions,
    releases,
    reports,
    service,
)

PREFIX: Final = "/v1"


def include_routes(app: FastAPI) -> None:
    """Add every router, the one that is asked most first: routes are tried one after the other."""
    for routes in (
        jobs,
        questions,
        datasets,
        anonymizations,
        audits,
        releases,
        reports,
        publishing,
        families,
        owners,
        log,
        certificates,
        bundles,
    ):
        app.include_router(routes.router, prefix=PREFIX)
    app.include_router(service.router)
    app.include_router(certificates.open_router)
