"""The broker: routes, and sending an id. Only ids travel; the row in Postgres is the truth."""

import os
from functools import cached_property
from typing import cast
from urllib.parse import urlsplit, urlunsplit

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from redis import Redis, RedisError
from redis.connection import parse_url

from app.contracts.jobs import Queue
from app.errors import NotTrustedError, UnavailableError
from app.processes.tls import certificate_fault
from app.settings import Settings

RUN_JOB = "surebox.run_job"
#: The name of a sent id in Celery's own tools: the method of its job.
NAMED = "surebox.{method}"

log = structlog.get_logger(__name__)


def broker_url(redis_url: str) -> str:
    """Return the address as Celery spells it: redis-py states `unix://` to a socket, kombu `redis+socket://`."""
    if redis_url.startswith("rediss://"):
        return urlunsplit(urlsplit(redis_url)._replace(query=""))
    if not redis_url.startswith("unix://"):
        return redis_url
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=", 1)


def tls_options(redis_url: str) -> dict[str, object] | None:
    """Return how a `rediss://` address is to be trusted, as Celery takes it; None where there is no TLS.

    kombu takes options of TLS from the address only in part, and none where it has none: the default is redis-py's,
    which trusts no certificate that it cannot check.
    """
    if not redis_url.startswith("rediss://"):
        return None
    options = parse_url(redis_url)  # type: ignore[no-untyped-call] # it states what redis-py itself would do
    given = {name: value for name, value in options.items() if name.startswith("ssl_")}
    return {"ssl_cert_reqs": "required", "ssl_check_hostname": True, **given}


def make_celery(settings: Settings) -> Celery:
    """The Celery object that both sides share; nothing here depends on what the tasks do."""
    celery = Celery("surebox", broker=broker_url(settings.redis_url))
    celery.conf.update(
        task_default_queue=Queue.BATCH.value,
        task_ignore_result=True,
        task_acks_late=True,  # a killed worker's message comes back
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,  # a waiting id stays visible to every idle worker
        task_serializer="json",
        accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_use_ssl=tls_options(settings.redis_url),
        broker_connection_timeout=1,
        broker_transport_options={
            "visibility_timeout": int(settings.visibility_timeout.total_seconds()),
            "unacked_restore_interval": 2,
            "unacked_restore_throttle": 1,
            "socket_timeout": 1,
            "socket_connect_timeout": 1,
            "max_retries": 0,
        },
        task_publish_retry=False,  # housekeeping sends again what could not be sent
        worker_send_task_events=settings.celery_events,
        task_send_sent_event=settings.celery_events,
        event_queue_expires=60,
    )
    return celery


class JobQueue:
    """Sends ids of committed jobs; a broker that is down costs a second and loses nothing."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def celery(self) -> Celery:
        """The producer's own Celery object."""
        return make_celery(self._settings)

    def enqueue(self, job_id: str, *, method: str, queue: str) -> bool:
        """Send the id to a queue; False when the broker cannot be reached (housekeeping will send it)."""
        name = NAMED.format(method=method)
        try:
            self.celery.send_task(RUN_JOB, kwargs={"job_id": job_id}, queue=queue, shadow=name)
        except (OperationalError, OSError) as error:
            log.warning("enqueue.failed", job_id=job_id, method=method, error=type(error).__name__)
            return False
        return True

    def check(self) -> None:
        """Ask the broker for a sign of life.

        Raises
        ------
        NotTrustedError
            When its certificate is not trusted, or there is no telling.
        UnavailableError
            When it gives none within a second.
        """
        authorities = (tls_options(self._settings.redis_url) or {}).get("ssl_ca_certs")
        if authorities is not None and not os.access(str(authorities), os.R_OK):
            raise NotTrustedError("the file of authorities of REDIS_URL (`ssl_ca_certs`) cannot be read")
        try:
            with Redis.from_url(self._settings.redis_url, socket_timeout=1, socket_connect_timeout=1) as client:
                client.ping()
        except (RedisError, OSError) as error:
            if fault := certificate_fault(error):
                raise NotTrustedError(f"the broker's server {fault}", retry_after=5) from error
            raise UnavailableError("the broker cannot be reached; try again in a moment", retry_after=2) from error

    def depth(self, queue: str) -> int | None:
        """How many ids wait at the broker, sent twice or not; None when it cannot be reached."""
        try:
            with Redis.from_url(self._settings.redis_url, socket_timeout=1, socket_connect_timeout=1) as client:
                return cast("int", client.llen(queue))
        except (RedisError, OSError) as error:
            log.warning("depth.failed", queue=queue, error=type(error).__name__)
            return None
