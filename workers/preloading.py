"""What a worker imports before it forks its children, so that they have it at once and share its memory."""

import importlib
import sys
from typing import Final

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
)


def before_fork() -> None:
    """Import it; again costs nothing. Only on Linux: elsewhere the system's algebra may not be used across a fork."""
    if sys.platform == "linux":
        from workers.tasks import run_job  # noqa: F401 - with all of the engine

        for name in _WITHOUT_THREADS:
            importlib.import_module(name)
