"""All routes of the service in one place: those that are served and those in the OpenAPI document."""

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
    """Add every router, the one that is requested most first: routes are tried one after the other."""
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
