"""What a worker imports before it forks its children, so that they have it at once and share its memory."""

import sys
from importlib.abc import MetaPathFinder
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


class WithoutPandas(MetaPathFinder):
    """Says that pandas is not installed.

    Where it is, pyarrow imports it to see whether what it is given is pandas's: for a quarter of a second, and in vain.
    """

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse it.

        Raises
        ------
        ModuleNotFoundError
            It is pandas.
        """
        if name == "pandas":
            raise ModuleNotFoundError("Workers do not use pandas.", name=name)


def before_fork() -> None:
    """Import it; again costs nothing. Only on Linux: elsewhere the system's algebra may not be used across a fork."""
    if sys.platform == "linux":
        import_all(_WITHOUT_THREADS)
        _load_compiler()


def _load_compiler() -> None:
    """Load what numba knows of types and functions, which it would do for the first kernel of each process."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
