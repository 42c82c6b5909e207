"""The API process: lifespan, routers, error handlers and middleware, nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

import anyio
import anyio.to_thread
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from app.api import problems
from app.api.deps import Resources
from app.api.docs import include_docs
from app.api.guide import include_guide
from app.api.middleware.authenticate import Authenticate
from app.api.middleware.body_limit import BodyLimit
from app.api.middleware.header_rules import HeaderRules
from app.api.middleware.observe import Observe, Templates
from app.api.middleware.operations import Operations
from app.api.openapi import TITLE, VERSION, DescribedApi
from app.api.rates import Rates
from app.api.start import include_start
from app.api.surface import include_routes
from app.api.tally import FLUSH_SECONDS, Tally
from app.auth.authenticator import Authenticator
from app.auth.keys import secrets_of
from app.db.digests import DatabaseDigests
from app.db.notifications import Notifications
from app.db.session import Database
from app.observability.job_metrics import JobMetrics
from app.observability.metrics import Metrics
from app.queue import JobQueue
from app.settings import Settings, get_settings
from app.storage.factory import open_storage

#: FastAPI's own spans carry `url.query`, its log records what was not valid: names of datasets and columns.
NO_TELEMETRY: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(settings: Settings | None = None) -> FastAPI:
    """The ASGI application of one API process.

    Raises
    ------
    CannotStartError
        When the settings do not suffice to serve.
    """
    settings = settings or get_settings()
    secrets = secrets_of(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.api_threads
        async with _resources(settings, secrets) as resources:
            app.state.resources = resources
            app.state.metrics.registry.register(jobs := JobMetrics(resources.database))
            yield
            app.state.metrics.registry.unregister(jobs)

    app = DescribedApi(
        title=TITLE,
        version=VERSION,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        telemetry=NO_TELEMETRY,
    )
    app.state.metrics = Metrics()
    problems.install(app)
    include_routes(app)
    include_docs(app)
    include_guide(app)
    include_start(app, health=settings.operations_address is None)
    app.add_middleware(Authenticate)  # the last added is the outermost
    app.add_middleware(BodyLimit, max_bytes=settings.max_json_bytes)
    app.add_middleware(HeaderRules)
    if settings.operations_address is not None:
        app.add_middleware(Operations, port=settings.operations_address[1])
    app.add_middleware(Observe, templates=Templates(app), metrics=app.state.metrics)
    return app


@asynccontextmanager
async def _resources(settings: Settings, secrets: tuple[bytes, ...]) -> AsyncIterator[Resources]:
    database = Database(
        settings.database_url, pool_size=settings.database_pool_size, timeout=settings.database_timeout_seconds
    )
    rates = Rates(settings)

    def clock() -> datetime:
        return datetime.now(UTC)

    try:
        async with (
            Notifications(database, max_waiters=settings.max_waiters) as notifications,
            _counting(Tally(database=database, clock=clock)) as tally,
        ):
            yield Resources(
                settings=settings,
                database=database,
                storage=open_storage(settings, DatabaseDigests(database)),
                queue=JobQueue(settings),
                notifications=notifications,
                limiter=rates,
                authenticator=Authenticator(database=database, secrets=secrets),
                clock=clock,
                tally=tally,
            )
    finally:
        await rates.close()
        database.close()


@asynccontextmanager
async def _counting(tally: Tally) -> AsyncIterator[Tally]:
    """The counts are written every second, and at the end."""

    async def write() -> None:
        while True:
            await anyio.sleep(FLUSH_SECONDS)
            await anyio.to_thread.run_sync(tally.flush)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            yield tally
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(tally.flush)
