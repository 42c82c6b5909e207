"""The API process: lifespan, routers, error handlers and middleware, nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import anyio.to_thread
from fastapi import FastAPI

from app.api import problems
from app.api.deps import Resources
from app.api.middleware.authenticate import Authenticate
from app.api.middleware.body_limit import BodyLimit
from app.api.middleware.observe import Observe, Templates
from app.api.rates import Rates
from app.auth.authenticator import Authenticator
from app.auth.keys import check_secret
from app.db.notifications import Notifications
from app.db.session import Database
from app.observability.metrics import Metrics
from app.queue import JobQueue
from app.settings import Settings, get_settings
from app.storage.factory import open_storage

_ROUTERS: Final = ("datasets", "anonymizations", "audits", "jobs", "releases")


def create_app(settings: Settings | None = None) -> FastAPI:
    """The ASGI application of one API process.

    Raises
    ------
    CannotStartError
        When the settings do not suffice to serve.
    """
    settings = settings or get_settings()
    secret = check_secret(settings.server_secret)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.api_threads
        async with _resources(settings, secret) as resources:
            app.state.resources = resources
            yield

    app = FastAPI(title="Surebox", lifespan=lifespan, redirect_slashes=False)
    app.state.metrics = Metrics()
    problems.install(app)
    for name in _ROUTERS:
        if find_spec(f"app.api.routes.{name}"):
            app.include_router(import_module(f"app.api.routes.{name}").router, prefix="/v1")
    app.add_middleware(Authenticate)  # the last added is the outermost
    app.add_middleware(BodyLimit, max_bytes=settings.max_json_bytes)
    app.add_middleware(Observe, templates=Templates(app), metrics=app.state.metrics)
    return app


@asynccontextmanager
async def _resources(settings: Settings, secret: bytes) -> AsyncIterator[Resources]:
    database = Database(settings.database_url, pool_size=settings.database_pool_size)
    try:
        async with Notifications(database, max_waiters=settings.max_waiters) as notifications:
            yield Resources(
                settings=settings,
                database=database,
                storage=open_storage(settings),
                queue=JobQueue(settings),
                notifications=notifications,
                limiter=Rates(settings),
                authenticator=Authenticator(database=database, secret=secret),
                clock=lambda: datetime.now(UTC),
            )
    finally:
        database.close()
