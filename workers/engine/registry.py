"""Which runner serves which method.

Runners are named, not imported: their modules pull in the numeric stack, and a process imports it only once it has
been forked (thread pools do not survive a fork).
"""

from importlib import import_module
from typing import Final

from app.methods.catalogue import SPECS
from workers.methods.protocol import AnyRunner

#: Methods that share a runner's module with others, or have a name of their own.
_ELSEWHERE: Final[dict[str, str]] = {
    "classify": "workers.methods.queries.runner:ClassifyRunner",
    "count": "workers.methods.queries.runner:CountRunner",
    "job_report": "workers.methods.report.runner:JobReportRunner",
    "release_report": "workers.methods.report.runner:ReleaseReportRunner",
    "statistics": "workers.methods.queries.statistics:StatisticsRunner",
}


def _usual(method: str) -> str:
    """Where the runner of a method is that has a folder of its own."""
    return f"workers.methods.{method}.runner:{method.title().replace('_', '')}Runner"


#: method -> "module:attribute" of its runner, an instance or a class without arguments.
RUNNERS: dict[str, str] = {method: _usual(method) for method in SPECS} | _ELSEWHERE

#: Versions of specifications that a method added from outside understands.
_versions: dict[str, range] = {}
_loaded: dict[str, AnyRunner] = {}


def register(method: str, target: str, *, versions: range = range(1, 2)) -> None:
    """Add a method from outside this package, before the first job."""
    if method in RUNNERS:
        msg = f"method {method} already has the runner {RUNNERS[method]}"
        raise ValueError(msg)
    RUNNERS[method] = target
    _versions[method] = versions


def known() -> frozenset[tuple[str, int]]:
    """The (method, version of its specification) that this worker claims; it leaves the rest to others."""
    return frozenset((method, version) for method in RUNNERS for version in _understood(method))


def _understood(method: str) -> range:
    if method in _versions:
        return _versions[method]
    spec = SPECS[method]
    return range(spec.oldest, spec.version + 1)


def runner_for(method: str) -> AnyRunner:
    """The runner of a method, imported at its first use.

    Raises
    ------
    LookupError
        When no runner serves the method.
    """
    if method not in _loaded:
        if method not in RUNNERS:
            msg = f"no runner serves the method {method}; known: {', '.join(sorted(RUNNERS))}"
            raise LookupError(msg)
        module, _, attribute = RUNNERS[method].partition(":")
        runner = getattr(import_module(module), attribute)
        _loaded[method] = runner() if isinstance(runner, type) else runner
    return _loaded[method]


def preload() -> None:
    """Import every runner that is there, so that the first job does not pay for it."""
    for method in RUNNERS:
        try:
            runner_for(method)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("workers.methods"):
                raise
