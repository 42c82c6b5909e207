"""A runner gets inputs, never handles."""

import dataclasses
import typing
from collections.abc import Iterator

from pydantic import BaseModel

from workers.methods.context import JobContext

#: Where the only ways to the outside are: one input's bytes, and a report of progress.
CALLABLES = {"fetch", "on_tick"}


def kinds_within(annotation: object, seen: set[object]) -> Iterator[type]:
    """Every class that can be reached by fields and type arguments."""
    for part in (annotation, *typing.get_args(annotation)):
        if part is not annotation:
            yield from kinds_within(part, seen)
        if not isinstance(part, type) or part in seen:
            continue
        seen.add(part)
        yield part
        if dataclasses.is_dataclass(part):
            for hint in typing.get_type_hints(part).values():
                yield from kinds_within(hint, seen)


def test_nothing_that_a_runner_is_given_leads_to_the_database_the_storage_or_the_settings() -> None:
    hints = {name: hint for name, hint in typing.get_type_hints(JobContext).items() if name not in CALLABLES}
    seen: set[object] = set()
    kinds = [kind for hint in hints.values() for kind in kinds_within(hint, seen)]
    ours = {kind for kind in kinds if kind.__module__.startswith(("app.", "workers."))}
    assert {kind.__name__ for kind in ours} >= {"Inputs", "DatasetInput", "ReleaseInput", "JobInput", "Limits"}
    assert all(kind.__module__.startswith(("app.contracts.", "workers.methods.")) for kind in ours), ours
    assert all(issubclass(kind, BaseModel | str) or dataclasses.is_dataclass(kind) for kind in ours)


def test_no_limit_is_a_secret_or_an_address() -> None:
    limits = typing.get_type_hints(JobContext)["limits"]
    assert all(issubclass(kind, int | float) for kind in typing.get_type_hints(limits).values())
