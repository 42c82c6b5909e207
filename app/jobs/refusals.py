"""What a refusal states to whom: figures of the data are for keepers (`jobs:read`) only.

No list of refusals is here. Faults are looked for three times: in the data, in data of the same columns of which
nothing is known, and of the data with their limits moved out. What is said word for word of data of which nothing is
known follows from the request and the names and types of columns alone, and everyone learns it. Of all else a key
that is not a keeper's learns the place, and that it is for the data. Limits that could be found by asking again and
again (where a column ends, how many records there are) are reported with room: halving finds the room's end. Demands
that only computing finds too strict (how far apart values of a box are, a share of the records) are taken from such
keys in two digits or whole percents, whatever the data: halving ends there.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import date
from math import ceil, floor, log10
from typing import Any, Final

from app.contracts.datasets import ColumnType, DatasetColumn, NumericSummary, Profile
from app.contracts.inputs import DatasetInput, Given, ReleaseInput
from app.contracts.jobs import JobSpec
from app.errors import FieldError, InvalidError, pointer

#: Replaces a detail that would reveal more.
WITHHELD: Final = "The request does not fit these data. A key with the scope jobs:read learns why."
#: Of problems with this status the details follow from data, once a job has begun.
_REFUSED: Final = InvalidError.status
_UNKNOWN_ROWS: Final = 10**9
_DIGITS: Final = 2
#: Fields of a request, and lists of them, that are refused where there are not as many records, rows or values.
_COUNTED: Final = frozenset({"k", "l", "cell_size", "neighbours", "records"})
#: Those of them that a job may still find too large, for it counts the records that lack no value.
_GROUP_SIZES: Final = ("k", "cell_size")
#: Demands in the columns' units, and shares of records or of values: refused where the data cannot meet them.
_DISTANCES: Final = ("min_separation", "min_width", "min_scale")
_SHARES: Final = ("t", "alpha", "max_suppressed", "max_suppressed_classes", "suppress_share")

Check = Callable[[Any, Given], list[FieldError]]


def refusals(check: Check, spec: JobSpec, given: Given, *, keeper: bool) -> list[FieldError]:
    """Everything wrong with a specification, as far as it is for the key that asks.

    Parameters
    ----------
    check
        The method's rule.
    spec, given
        The request, and what it names.
    keeper
        Whether the key learns figures of the data.
    """
    exact = check(spec, given)
    if keeper:
        return exact
    roomy = [one for one in check(spec, _replaced(given, _with_room)) if _is_limit(one)]
    plain = set(_of_unknown_data(check, spec, given))
    errors = [*exact, *roomy, *_days(spec, given), *_too_exact(spec)]
    errors += _ends(spec, given, apart_from={one.pointer for one in errors})
    plain.update(_too_exact(spec))
    visible = [one if one in plain else FieldError(one.pointer, WITHHELD) for one in errors]
    return list(dict.fromkeys(visible))


def withheld(error: InvalidError) -> InvalidError:
    """A refusal that may state figures, without them."""
    errors = [FieldError(one.pointer, WITHHELD) for one in error.errors]
    return type(error)(WITHHELD, errors=list(dict.fromkeys(errors)))


def problem_without_figures(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The problem of a job that has failed, or of a file that could not be read, for keys without figures."""
    if "quota" in problem:
        counted = {name: value for name, value in problem["quota"].items() if name != "requested"}
        return {**problem, "detail": counted["freed_by"], "quota": {**counted, "used": None}}
    if problem.get("status") != _REFUSED:
        return dict(problem)
    shown = {**problem, "detail": WITHHELD}
    if "errors" in problem:
        places = dict.fromkeys(one["pointer"] for one in problem["errors"])
        shown["errors"] = [{"pointer": one, "detail": WITHHELD} for one in places]
    return shown


def _of_unknown_data(check: Check, spec: JobSpec, given: Given) -> list[FieldError]:
    try:
        return check(spec, _replaced(given, _unknown))
    except InvalidError:
        return []


def _is_limit(error: FieldError) -> bool:
    """Return whether a refusal is of how many records or values there are; `_ends` sees to where columns end."""
    return bool(error.pointer) and error.pointer.split("/")[1] in _COUNTED


def _ends(spec: JobSpec, given: Given, *, apart_from: Collection[str]) -> Iterator[FieldError]:
    """Domains that do not hold all of a column, with room: also where a job would leave out the records beyond.

    Jobs that fail, one after the other, would otherwise tell where the column ends among the records that take part.
    """
    numeric = _with_room(given.profile()).numeric if "dataset_id" in given.datasets else {}
    for name, domain in getattr(spec, "domains", {}).items():
        days = any(isinstance(end, date) for end in domain)
        if (
            name in numeric
            and not days
            and _reaches_beyond(numeric[name], domain)
            and pointer("domains", name) not in apart_from
        ):
            yield FieldError(pointer("domains", name), WITHHELD)


def _reaches_beyond(summary: NumericSummary, domain: tuple[float, float]) -> bool:
    least, largest = summary.finite_minimum, summary.finite_maximum
    return (least is not None and least < domain[0]) or (largest is not None and largest > domain[1])


def _days(spec: JobSpec, given: Given) -> Iterator[FieldError]:
    """Where a column of days ends only its records reveal: whole years reveal nothing exact."""
    if not given.datasets:
        return
    types = {one.name: one.type for one in given.profile().columns} if "dataset_id" in given.datasets else {}
    for name, domain in getattr(spec, "domains", {}).items():
        if types.get(name) is not ColumnType.DATE or not all(isinstance(end, date) for end in domain):
            continue
        first, last = domain
        if (first.month, first.day, last.month, last.day) != (1, 1, 12, 31):
            yield FieldError(pointer("domains", name), "without the scope jobs:read a domain of days is whole years")


def _too_exact(spec: JobSpec) -> Iterator[FieldError]:
    """Demands by which asking again and again would tell more than two digits of what the data can meet."""
    for field in _GROUP_SIZES:
        counts = getattr(spec, field, None)
        for index, count in enumerate(counts if isinstance(counts, tuple) else [counts]):
            if count is not None and int(float(f"{count:.{_DIGITS - 1}e}")) != count:
                place = pointer(field, index) if isinstance(counts, tuple) else pointer(field)
                yield FieldError(
                    place,
                    f"without the scope jobs:read `{field}` above 99 has {_DIGITS} digits and then zeros, such as 120",
                )
    for field in _DISTANCES:
        demanded = getattr(spec, field, None)
        named = demanded if isinstance(demanded, Mapping) else {None: demanded}
        for name, value in named.items():
            if value is not None and float(f"{value:.{_DIGITS - 1}e}") != value:
                place = pointer(field) if name is None else pointer(field, name)
                yield FieldError(place, f"without the scope jobs:read `{field}` has {_DIGITS} digits at most")
    for field in _SHARES:
        share = getattr(spec, field, None)
        if share is not None and round(float(share), _DIGITS) != share:
            yield FieldError(
                pointer(field), f"without the scope jobs:read `{field}` is a whole percentage, such as 0.05"
            )


def _replaced(given: Given, change: Callable[[Profile], Profile]) -> Given:
    """The named inputs, with other profiles; of releases the number of rows is data too."""
    return replace(
        given,
        datasets={role: _with_profile(one, change) for role, one in given.datasets.items()},
        releases={role: _with_rows(one, change) for role, one in given.releases.items()},
        earlier_draws=given.earlier_draws if change is _with_room else 0,
    )


def _with_profile(one: DatasetInput, change: Callable[[Profile], Profile]) -> DatasetInput:
    return replace(one, profile=change(one.profile))


def _with_rows(one: ReleaseInput, change: Callable[[Profile], Profile]) -> ReleaseInput:
    return replace(one, rows=change(Profile(rows=one.rows, columns=())).rows)


def _unknown(profile: Profile) -> Profile:
    """The same columns, and nothing of what they contain."""
    columns = tuple(one.model_copy(update={"missing": 0, "distinct": 2}) for one in profile.columns)
    return Profile(rows=_UNKNOWN_ROWS, columns=columns)


def _with_room(profile: Profile) -> Profile:
    """Fewer records and values, more missing ones and wider extremes than there are, to two digits of a range."""
    return Profile(
        rows=int(_down(profile.rows)),
        columns=tuple(_roomy_column(one) for one in profile.columns),
        numeric={name: _roomy_summary(one) for name, one in profile.numeric.items()},
    )


def _roomy_column(column: DatasetColumn) -> DatasetColumn:
    return column.model_copy(update={"missing": int(-_down(-column.missing)), "distinct": int(_down(column.distinct))})


def _down(value: float) -> float:
    """To the first digit, towards minus infinity."""
    if value == 0:
        return 0
    step = 10.0 ** floor(log10(abs(value)))
    return floor(value / step) * step


def _roomy_summary(summary: NumericSummary) -> NumericSummary:
    low, high = summary.finite_minimum, summary.finite_maximum
    if low is None or high is None:
        return summary
    fewer = {} if summary.total is None else {"total": int(_down(summary.total))}
    spread = high - low or max(abs(low), 1.0) * 10
    step = 10.0 ** (floor(log10(spread)) - _DIGITS + 1) if 0 < spread < float("inf") else 1.0
    wider = {"finite_minimum": floor(low / step) * step, "finite_maximum": ceil(high / step) * step}
    return summary.model_copy(update=wider | fewer)
