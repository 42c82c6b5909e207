"""What a question to a release and the release itself decide before it is computed."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, Final

from app.contracts.columns import ColumnKind, is_day, plain_kind
from app.contracts.datasets import NUMERIC, ColumnType
from app.contracts.inputs import Given, ReleaseInput
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import FieldError, meant, pointer
from app.methods.columns import kind_counted, unfit
from app.methods.queries.spec import ClassifySpec, CountSpec, StatisticsSpec


def check_count(spec: CountSpec, given: Given) -> list[FieldError]:
    """Everything wrong with queries to this release, each with its pointer."""
    return list(_unknown(spec, given.releases["release_id"]))


def check_classify(spec: ClassifySpec, given: Given) -> list[FieldError]:
    """Everything wrong with points to classify by this release, each with its pointer."""
    return list(_unfit(spec, given.releases["release_id"]))


def foreseen_classify(spec: ClassifySpec) -> tuple[JobWarning, ...]:
    """Return the warning that each classification has."""
    return (classes_estimated(spec.target),)


def classes_estimated(target: str) -> JobWarning:
    """Return the warning that nothing is certain of classes, and which questions have certain answers."""
    detail = (
        "Classes and their probabilities are estimates: nothing is certain of them. Ask a release of `boxes` for "
        f"`count`, or for the statistic `crosstab` of {target!r} with a column of values: their ranges are certain."
    )
    return warning(WarningCode.CLASSES_ESTIMATED, detail, "/spec/target")


def check_statistics(spec: StatisticsSpec, given: Given) -> list[FieldError]:
    """Everything wrong with statistics of this release, each with its pointer."""
    release = given.releases["release_id"]
    names = counted_columns(release)
    errors = []
    for index, statistic in enumerate(spec.statistics):
        for place, name in enumerate(statistic.of):
            if name not in names:
                those = f"its statistics can be of {', '.join(names)}"
                detail = f"{name!r} is no column of this release; {those}{meant(name, names)}"
                errors.append(FieldError(pointer("statistics", index, "of", place), detail))
            elif wrong := unfit(
                statistic,
                place,
                _kind(release, name),
                kept=name not in release.made.quasi_identifiers,
                order=release.made.ordinal.get(name, ()),
            ):
                where, reason = wrong
                detail = f"column {name!r} is {_kind(release, name)}: {reason}"
                errors.append(FieldError(pointer("statistics", index, *where), detail))
    return errors


def counted_columns(release: ReleaseInput) -> Sequence[str]:
    """The columns that queries may restrict: those that the specification names, or all numbers where it names none.

    Of boxes those that are kept too, as they are: they divide the boxes.
    """
    if names := release.made.quasi_identifiers:
        published = {column.name for column in release.columns}
        kept = [name for name in release.made.keep if name in published]
        return [*names, *kept] if release.method == "boxes" else names
    return [column.name for column in release.columns if column.type in NUMERIC]


def _unknown(spec: CountSpec, release: ReleaseInput) -> Iterator[FieldError]:
    names = counted_columns(release)
    forms = {name: _form_of(release, name) for name in names}
    for index, query in enumerate(spec.queries):
        for name, restriction in query.items():
            where = pointer("queries", index, name)
            if name not in forms:
                yield FieldError(
                    where, f"{name!r} cannot be counted; columns that can: {', '.join(names)}{meant(name, names)}"
                )
            elif not _fits(restriction, forms[name]) and not _fits(restriction, _form_of_order(release, name)):
                yield FieldError(where, f"column {name!r} is queried by {_FORMS[forms[name]]}")


#: Size of numbers up to which distances are computed.
_LARGEST: Final = 1e70
#: What a column is queried by, and how that is written.
_FORMS: Final = {
    "numbers": "an interval of numbers, such as [30, 40] or [null, 40]",
    "days": 'an interval of days, such as ["2020-01-01", null]',
    "values": 'values, such as {"values": ["a", "b"]}',
}


def _form_of(release: ReleaseInput, name: str) -> str:
    """Whether queries restrict a column by numbers, days or values."""
    kind = _kind(release, name) if release.method == "boxes" else ColumnKind.NUMBER
    if kind in (ColumnKind.NOMINAL, ColumnKind.ORDINAL):
        return "values"
    return "days" if kind is ColumnKind.DATE else "numbers"


def _form_of_order(release: ReleaseInput, name: str) -> str:
    """Name the values of an order: numbers or days, which have intervals too, or others."""
    form = _form_of(release, name)
    if form != "values" or name not in release.made.quasi_identifiers:
        return form
    counted = kind_counted(_kind(release, name), release.made.ordinal.get(name, ()))
    return {ColumnKind.NUMBER: "numbers", ColumnKind.DATE: "days"}.get(counted, form)


def _kind(release: ReleaseInput, name: str) -> ColumnKind:
    """How a release of boxes has a column: in its boxes, or as it is."""
    if name in release.made.quasi_identifiers:
        return release.kind_of(name)
    types = {column.name: column.type for column in release.columns}
    return plain_kind(ColumnType(types[name]))


def _fits(restriction: Any, form: str) -> bool:
    if isinstance(restriction, dict):
        return form == "values"
    return form != "values" and all(_is(end, form) for end in restriction if end is not None)


def _is(value: Any, form: str) -> bool:
    if form == "days":
        return isinstance(value, date) or (isinstance(value, str) and is_day(value))
    return form == "values" or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _unfit(spec: ClassifySpec, release: ReleaseInput) -> Iterator[FieldError]:
    names, kept = release.made.quasi_identifiers, release.made.keep
    if spec.target not in kept:
        detail = f"kept columns: {', '.join(kept)}" if kept else "it keeps none"
        yield FieldError("/target", f"{spec.target!r} is not a column that the release keeps; {detail}")
    if spec.neighbours > release.rows:
        yield FieldError("/neighbours", f"{spec.neighbours} requested, the release has {release.rows} rows")
    forms = {name: _form_of(release, name) for name in names}
    for index, point in enumerate(spec.points):
        if lacking := [name for name in names if name not in point]:
            yield FieldError(
                pointer("points", index),
                f"a point has a value of each of {', '.join(names)}: {lacking[0]!r} is missing",
            )
        for name, value in point.items():
            where = pointer("points", index, name)
            if name not in forms:
                yield FieldError(where, f"{name!r} is no quasi-identifier of the release: {', '.join(names)}")
            elif not _is(value, forms[name]):
                yield FieldError(where, f"{name!r} is in {forms[name]}: this is none")
            elif isinstance(value, int | float) and forms[name] == "numbers" and not abs(value) <= _LARGEST:
                yield FieldError(where, f"A point is at numbers of at most {_LARGEST:g} in size.")
