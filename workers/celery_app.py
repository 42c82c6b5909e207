"""Entry point of a worker: `celery --app workers.celery_app:app worker`.

The main process only talks to the broker and watches its children; a job runs in a forked child, which opens its
connections after the fork, and imports there what begins threads. Instructed to stop (SIGTERM, Celery's warm shutdown),
the main process takes no more ids and signals its children; each gives its job back within a second or two and the
worker ends.
"""

import os
import resource
import signal
import sys
from typing import Any

import psutil
from celery import signals

from app.observability.logs import configure_logging
from app.processes.cores import threads_each, usable_cores
from app.processes.memory import HELD, LEAST, be_ended_first, bytes_each
from app.queue import make_celery
from app.settings import get_settings
from workers.engine.context import seal_anew_where_asked
from workers.engine.resources import STOP_SIGNAL, open_resources
from workers.engine.warming import make_ready_in_background, note_compilations
from workers.engine.worker_heartbeat import Presence
from workers.preloading import WithoutPandas, before_fork
from workers.tasks import run_job  # noqa: F401 - registers the task

settings = get_settings()
app = make_celery(settings)
app.conf.update(
    # The heartbeat's thread enforces the limit; Celery's own are above it, for kernels that keep the GIL.
    task_soft_time_limit=settings.task_limit_seconds + 30,
    task_time_limit=settings.task_limit_seconds + 60,
    worker_lost_wait=0.5,  # a child that leaves has left no result to wait for, and its place is wanted
    worker_proc_alive_timeout=60,  # importing the numeric stack on a busy machine takes more than the default of 4 s
    worker_soft_shutdown_timeout=5,  # for SIGQUIT; SIGTERM stops warmly
    worker_cancel_long_running_tasks_on_connection_loss=False,  # a broker that restarts does not stop jobs
    worker_max_memory_per_child=HELD // 1024,  # kB at its peak; looked at between jobs: admission counts on no more
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    broker_connection_max_retries=None,  # a worker outlives any outage of its broker
    broker_transport_options=app.conf.broker_transport_options
    | {"socket_timeout": 10, "socket_connect_timeout": 5, "health_check_interval": 5},
)

#: Blocked before any fork, so that children inherit the mask: pending, it is a flag (see `WorkerResources.stopping`).
signal.pthread_sigmask(signal.SIG_BLOCK, {STOP_SIGNAL})

_presences: list[Presence] = []
_threads = 1
_memory_bytes = settings.worker_memory_bytes or LEAST


@signals.setup_logging.connect
def _log(**_: Any) -> None:
    configure_logging(settings)


@signals.celeryd_after_setup.connect
def _note_concurrency(instance: Any, **_: Any) -> None:
    global _threads, _memory_bytes  # noqa: PLW0603 - inherited by children; Celery hands the concurrency to no one else
    if settings.warm_kernels:
        before_fork()
    queues, concurrency = ",".join(sorted(app.amqp.queues.consume_from)), int(instance.concurrency)
    _threads = threads_each(queue=queues, concurrency=concurrency, cores=usable_cores())
    _memory_bytes = bytes_each(setting=settings.worker_memory_bytes, concurrency=concurrency, queue=queues)
    _presences.append(Presence(settings, queues=queues, concurrency=concurrency, memory_bytes=_memory_bytes - HELD))


@signals.worker_ready.connect
def _be_seen(**_: Any) -> None:
    for presence in _presences:
        presence.start()


@signals.worker_process_init.connect
def _begin_child(**_: Any) -> None:
    for presence in _presences:
        presence.abandon()
    # RLIMIT_AS would count address space that thread pools only reserve.
    resource.setrlimit(resource.RLIMIT_DATA, (_memory_bytes, _memory_bytes))
    be_ended_first()
    queues = frozenset(app.amqp.queues.consume_from)
    open_resources(settings, threads=_threads, queues=queues)
    seal_anew_where_asked()
    sys.meta_path.insert(0, WithoutPandas())
    if settings.warm_kernels:
        note_compilations()
        make_ready_in_background(settings, queues)


@signals.worker_shutting_down.connect
def _tell_children(**_: Any) -> None:
    for child in psutil.Process().children():
        try:
            os.kill(child.pid, STOP_SIGNAL)
        except ProcessLookupError:
            continue


@signals.worker_shutdown.connect
def _be_forgotten(**_: Any) -> None:
    for presence in _presences:
        presence.stop()
