"""What every method fills in and refuses before one of its jobs is accepted.

The rules of a method are found by its folder, as its runner is on the other side: `check_<method>` of `check.py`, and
`fill_<method>` where a default hangs on the named inputs. A folder without them has specifications that the service
itself writes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from app.contracts.inputs import BASE, PREVIOUS, Given
from app.contracts.jobs import JobKind, JobSpec, ReleasingSpec
from app.contracts.warnings import JobWarning
from app.errors import FieldError, pointer
from app.methods.catalogue import FOR_ALL, METHODS, Method, answering
from app.methods.frequencies import FREQUENCIES, counted, wrong_frequencies
from app.methods.linkage.check import unlinked

Check = Callable[[Any, Given], list[FieldError]]


def as_sent(spec: Any, given: Given) -> Any:  # noqa: ARG001 - other methods' defaults hang on the given data
    """The specification itself: none of its defaults hangs on what it names."""
    return spec


def nothing_foreseen(spec: Any) -> tuple[JobWarning, ...]:  # noqa: ARG001 - other methods look
    """Return no warning: of most methods only the result has some."""
    return ()


def nothing_wrong(spec: Any, given: Given) -> list[FieldError]:  # noqa: ARG001 - other methods look
    """No errors: the service itself has written the specification."""
    return []


@dataclass(frozen=True, slots=True)
class Rules:
    """Defaults and checks of one method's specifications.

    `fill` sees the named inputs; ids that it fills in are looked up before `check`, which sees everything and returns
    all that can be determined without computing. `foreseen` is what a job will disappoint in, by its specification.
    """

    check: Check = nothing_wrong
    fill: Callable[[Any, Given], Any] = as_sent
    foreseen: Callable[[Any], tuple[JobWarning, ...]] = nothing_foreseen


def _in_persons(check: Check) -> Check:
    """The check of a method on the table with a row for each person, where a frequency column counts them."""

    def checked(spec: JobSpec, given: Given) -> list[FieldError]:
        fields = dict(spec)
        wrong = wrong_frequencies(fields, given)
        places = {one.pointer for one in wrong}
        if pointer(FREQUENCIES) in places:  # how many persons there are is not known
            return wrong
        return [*wrong, *(one for one in check(spec, counted(given, fields)) if one.pointer not in places)]

    return checked


def _rules_of(method: Method) -> Rules:
    name = f"app.methods.{method.folder}.check"
    if find_spec(name) is None:
        return Rules()
    module = import_module(name)
    return Rules(
        _in_persons(getattr(module, f"check_{method.name}")),
        getattr(module, f"fill_{method.name}", as_sent),
        getattr(module, f"foreseen_{method.name}", nothing_foreseen),
    )


#: method -> its rules.
RULES: Final[dict[str, Rules]] = {name: _rules_of(method) for name, method in METHODS.items()}


def wrong_releases(method: Method, given: Given) -> Iterator[FieldError]:
    """Releases that cannot be put to this audit or question, as their methods state."""
    if method.name in FOR_ALL or method.kind is JobKind.ANONYMIZATION:  # the base of a series: its own rules look
        return
    able = ", ".join(f"`{one.name}`" for one in answering(method.name))
    for role, release in given.releases.items():
        made_by = METHODS.get(release.method)
        if made_by is not None and method.name not in made_by.answers:
            verb = "answer" if method.kind is JobKind.QUERY else "be put to the audit"
            # the release of a question is in its address, not in its body
            where = "" if method.kind is JobKind.QUERY else f"/{role}"
            detail = f"a release of `{release.method}` cannot {verb} `{method.name}`; releases of {able} can"
            yield FieldError(where, detail)


def wrong_gate(method: Method, spec: JobSpec) -> Iterator[FieldError]:
    """Audits of a gate that the release which is requested cannot be put to."""
    if not isinstance(spec, ReleasingSpec):
        return
    for index, demand in enumerate(spec.gate):
        where = pointer("gate", index, "method")
        if demand.method not in method.answers:
            able = ", ".join(f"`{one.name}`" for one in answering(demand.method))
            yield FieldError(where, f"a release of `{method.name}` cannot be put to it; releases of {able} can")
        elif demand.method == "linkage" and (why := unlinked(*_continued(spec))) is not None:
            yield FieldError(where, f"a release like this cannot be put to it: {why}")


def _continued(spec: ReleasingSpec) -> tuple[str | None, str | None]:
    """The base of the series of a requested release, and the version before it."""
    return getattr(spec, BASE, None), getattr(spec, PREVIOUS, None)
