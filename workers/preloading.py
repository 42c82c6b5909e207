"""What a worker imports before it forks its children, so that they have it at once and share its memory."""

import sys
from typing import Final

from app.processes.importing import import_all

#: What begins no thread when it is imported: polars and pyarrow do, and are left to the children.
_WITHOUT_THREADS: Final = (
    "celery.apps.worker",
    "celery.concurrency.prefork",
    "kombu.transport.redis",
    "numba",
    "numpy",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.spatial",
    "scipy.special",
    "workers.tasks.run_job",  # with all of the engine
)


def before_fork() -> None:
    """Import it; again costs nothing. Only on Linux: elsewhere the system's algebra may not be used across a fork."""
    if sys.platform == "linux":
        import_all(_WITHOUT_THREADS)
