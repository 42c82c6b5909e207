"""What every method fills in and refuses before one of its jobs is accepted.

Rules are found by the method's name, as its runner is on the other side: `check`, and `fill` where there is one, of
`app/methods/<method>/check.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from app.contracts.inputs import Given
from app.contracts.jobs import JobKind, JobSpec, ReleasingSpec
from app.errors import FieldError, pointer
from app.methods.catalogue import FOR_ALL, METHODS, answering
from app.methods.composition import check as attacks
from app.methods.group import check as groups
from app.methods.group_profile import check as group_audits
from app.methods.influence import check as influence
from app.methods.linkage import linkable
from app.methods.method import Method
from app.methods.queries import check as queries
from app.methods.table import check as tables


def as_asked(spec: Any, given: Given) -> Any:  # noqa: ARG001 - other methods' defaults hang on what is given
    """The specification itself: none of its defaults hangs on what it names."""
    return spec


def nothing_wrong(spec: Any, given: Given) -> list[FieldError]:  # noqa: ARG001 - other methods look
    """No errors: the service itself has written the specification."""
    return []


@dataclass(frozen=True, slots=True)
class Rules:
    """What is filled in and checked of one method's specifications.

    `fill` sees what was named; ids that it fills in are looked up before `check`, which sees everything and returns
    all that can be told without computing.
    """

    check: Callable[[Any, Given], list[FieldError]]
    fill: Callable[[Any, Given], Any] = as_asked


#: Rules that stand in a module with those of other methods or under another name, or that there are none of.
NAMED: Final[dict[str, Rules]] = {
    "group": Rules(groups.check, groups.fill),
    "group_profile": Rules(group_audits.check_profile, group_audits.fill_profile),
    "swap_detection": Rules(group_audits.check_detection, group_audits.fill_detection),
    "table": Rules(tables.check),
    "composition": Rules(attacks.check_composition, attacks.fill_composition),
    "determination": Rules(attacks.check_determination),
    "influence": Rules(influence.check_influence, influence.fill_influence),
    "frontier": Rules(influence.check_frontier, influence.fill_frontier),
    "publication": Rules(nothing_wrong),
    "count": Rules(queries.check_count),
    "classify": Rules(queries.check_classify),
    "statistics": Rules(queries.check_statistics),
    "release_report": Rules(nothing_wrong),
    "job_report": Rules(nothing_wrong),
}


def _usual(method: str) -> Rules:
    """`check` of the module that has the method's name, and its `fill` where it has one."""
    module = import_module(f"app.methods.{method}.check")
    return Rules(module.check, getattr(module, "fill", as_asked))


#: method -> its rules.
RULES: Final[dict[str, Rules]] = {method: NAMED.get(method) or _usual(method) for method in METHODS}


def wrong_releases(method: Method, given: Given) -> Iterator[FieldError]:
    """Releases that cannot be put to this audit or question, as their methods say."""
    if method.name in FOR_ALL or method.kind is JobKind.ANONYMIZATION:  # the base of a series: its own rules look
        return
    able = ", ".join(f"`{one.name}`" for one in answering(method.name))
    for role, release in given.releases.items():
        made_by = METHODS.get(release.method)
        if made_by is not None and method.name not in made_by.answers:
            verb = "answer" if method.kind is JobKind.QUERY else "be put to the audit"
            # the release of a question stands in its address, not in its body
            where = "" if method.kind is JobKind.QUERY else f"/{role}"
            detail = f"a release of `{release.method}` cannot {verb} `{method.name}`; releases of {able} can"
            yield FieldError(where, detail)


def wrong_gate(method: Method, spec: JobSpec) -> Iterator[FieldError]:
    """Audits of a gate that the release which is asked for cannot be put to."""
    if not isinstance(spec, ReleasingSpec):
        return
    for index, demand in enumerate(spec.gate):
        where = pointer("gate", index, "method")
        if demand.method not in method.answers:
            able = ", ".join(f"`{one.name}`" for one in answering(demand.method))
            yield FieldError(where, f"a release of `{method.name}` cannot be put to it; releases of {able} can")
        elif demand.method == "linkage" and (why := linkable.unlinked(*_continued(spec))) is not None:
            yield FieldError(where, f"a release like this cannot be put to it: {why}")


def _continued(spec: ReleasingSpec) -> tuple[str | None, str | None]:
    """The base of the series of a release that is asked for, and the version before it."""
    return getattr(spec, "base_release_id", None), getattr(spec, "previous_release_id", None)
