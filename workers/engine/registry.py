"""Which runner serves which method.

Runners are named, not imported: their modules pull in polars and pyarrow, and a process imports those only once it has
been forked (their threads do not survive a fork).
"""

from importlib import import_module
from threading import Lock

from app.contracts.jobs import JobSpec
from app.methods.catalogue import SPECS, folder_of
from workers.methods.protocol import AnyRunner


def _runner_of(method: str, spec: type[JobSpec]) -> str:
    """Where the runner of a method is: in the folder that its specification has in front, called by its name."""
    return f"workers.methods.{folder_of(spec)}.runner:{method.title().replace('_', '')}Runner"


#: method -> "module:attribute" of its runner.
RUNNERS: dict[str, str] = {method: _runner_of(method, spec) for method, spec in SPECS.items()}

_loaded: dict[str, AnyRunner] = {}
#: A job and what is made ready ahead of it import one after the other.
_importing = Lock()


def known() -> frozenset[tuple[str, int]]:
    """The (method, version of its specification) that this worker claims; it leaves the rest to others."""
    return frozenset(
        (method, version) for method in RUNNERS for version in range(SPECS[method].oldest, SPECS[method].version + 1)
    )


def runner_for(method: str) -> AnyRunner:
    """The runner of a method, imported at its first use.

    Raises
    ------
    LookupError
        When no runner serves the method.
    """
    if method not in RUNNERS:
        msg = f"no runner serves the method {method}; known: {', '.join(sorted(RUNNERS))}"
        raise LookupError(msg)
    with _importing:
        if method not in _loaded:
            module, _, attribute = RUNNERS[method].partition(":")
            _loaded[method] = getattr(import_module(module), attribute)()
        return _loaded[method]
