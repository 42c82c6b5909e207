"""Counts in the place of rows: a column that states how many persons, alike in all other columns, a row stands for.

A job that names one works on the table with a row for each person and without that column: its profile is that of this
table, and a worker reads this table. Audits read the data of a release as its job did.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from app.contracts.datasets import DatasetColumn, NumericSummary
from app.contracts.inputs import DatasetInput, Given, Inputs
from app.errors import FieldError, pointer
from app.methods.columns import infinite_values, missing_values, wrong_column

Named = TypeVar("Named", bound=Inputs)

FREQUENCIES: Final = "frequency_column"
#: Most persons that the rows of a dataset stand for.
MOST_PERSONS: Final = 2**31 - 1
_CONFIRMED: Final = "frequencies_are_exact"
_DATASET: Final = "dataset_id"
#: Fields of specifications that name columns: one, some, or by column.
_ONE: Final = ("survey_weight_column",)
_SOME: Final = ("quasi_identifiers", "keep", "sensitive", "withheld", "region_columns", "microaggregated")
_BY_COLUMN: Final = (
    "nominal", "ordinal", "domains", "value_step", "min_width", "spikes", "min_separation", "t_distance", "tolerances",
)  # fmt: skip
#: What to do where a new version of a table lacks the column.
_OF_BEFORE: Final = (
    ". The release before counts persons by it: name the column of this table, or null where it has a row for each "
    "person"
)
#: Counts are rounded to multiples of these, the coarsest first.
_ROUNDED: Final = (10, 5, 3)
#: Rows of fewer persons than one of these are suppressed; the least count itself is a cell, which no error states.
_SUPPRESSED: Final = (100, 50, 30, 20, 10, 5, 3, 2)


def counted(inputs: Named, spec: Mapping[str, Any]) -> Named:
    """The inputs of a job with persons in the place of rows, where a frequency column counts them.

    Parameters
    ----------
    inputs
        What the job works on. A column of which no total is known leaves the number of rows as it is.
    spec
        Its specification, by field.
    """
    datasets = {
        role: one if (name := _column_of(role, one, inputs, spec)) is None else _counted(one, name)
        for role, one in inputs.datasets.items()
    }
    return replace(inputs, datasets=datasets) if datasets != inputs.datasets else inputs


def _column_of(role: str, dataset: DatasetInput, inputs: Inputs, spec: Mapping[str, Any]) -> str | None:
    """The frequency column of an input: as the job states, else as the releases that were made from it."""
    if role == _DATASET and FREQUENCIES in spec:
        name: str | None = spec[FREQUENCIES]
    else:
        name = next(iter(_of_releases(dataset, inputs)), None)
    return name if any(column.name == name for column in dataset.columns) else None


def _of_releases(dataset: DatasetInput, inputs: Inputs) -> dict[str | None, str]:
    """The frequency columns of the releases made from a dataset, each with the field of the first that has it."""
    columns: dict[str | None, str] = {}
    for role, one in inputs.releases.items():
        if one.dataset_id == dataset.id:
            columns.setdefault(one.made.frequency_column, role)
    return columns


def _counted(dataset: DatasetInput, name: str) -> DatasetInput:
    profile = dataset.profile
    summary = profile.numeric.get(name)
    persons = profile.rows if summary is None or summary.total is None else summary.total
    changes = {
        "rows": persons,
        "columns": tuple(one for one in profile.columns if one.name != name),
        "numeric": {other: one for other, one in profile.numeric.items() if other != name},
    }
    return replace(dataset, profile=profile.model_copy(update=changes), frequency_column=name)


def wrong_frequencies(spec: Mapping[str, Any], given: Given) -> list[FieldError]:
    """Everything wrong with a frequency column, each with its pointer; those of the column itself at its own field.

    Parameters
    ----------
    spec
        The specification, by field.
    given
        What it names, as it was uploaded.
    """
    if FREQUENCIES not in spec:
        return list(_mixed(given))
    if (name := spec[FREQUENCIES]) is None:
        return [*_without_column(spec)]
    if (dataset := given.datasets.get(_DATASET)) is None:  # a series has that of its base
        return [] if given.base is not None else [_of_release()]
    columns = {one.name: one for one in dataset.columns}
    if (wrong := wrong_column(name, columns, numeric=True)) is not None:
        before = given.previous is not None and given.previous.made.frequency_column == name
        return [FieldError(pointer(FREQUENCIES), f"{wrong}{_OF_BEFORE if before else ''}")]
    if len(columns) == 1:
        return [
            FieldError(pointer(FREQUENCIES), "the dataset has no column but these counts: group by what you protect")
        ]
    summary = dataset.numeric.get(name)
    return [*_beside(spec, name), *([] if summary is None else _wrong_counts(spec, columns[name], summary))]


def _mixed(given: Given) -> Iterator[FieldError]:
    """Releases of one dataset whose rows stand for persons in one and for themselves in another."""
    for dataset in given.datasets.values():
        (first, _), *others = [*_of_releases(dataset, given).items()] or [(None, "")]
        for other, role in others:
            detail = (
                f"it counts rows of {dataset.id} by {_named(other)}, and another release that is named here by "
                f"{_named(first)}: name one of both, or the release of a dataset with a row for each person"
            )
            yield FieldError(f"/{role}", detail)


def _named(column: str | None) -> str:
    return "themselves" if column is None else f"`frequency_column` {column!r}"


def _without_column(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    if spec[_CONFIRMED]:
        yield FieldError(
            pointer(_CONFIRMED), "it is about the counts of a `frequency_column`: name one, or leave it out"
        )


def _of_release() -> FieldError:
    detail = "a release has a row for each person: `frequency_column` is of a dataset. Leave it out"
    return FieldError(pointer(FREQUENCIES), detail)


def _beside(spec: Mapping[str, Any], name: str) -> Iterator[FieldError]:
    """Fields that are not defined with counts, or name the column as one of the persons'."""
    if spec.get("person_column") is not None:
        detail = (
            "`frequency_column` counts persons who have one row each: where a person has several rows, upload these "
            "and name `person_column` alone"
        )
        yield FieldError(pointer("person_column"), detail)
    if spec.get("records") is not None:
        detail = (
            "records are named by their rows, and with `frequency_column` a row stands for several: leave it out, or "
            "upload a row for each person"
        )
        yield FieldError(pointer("records"), detail)
    for where in _places(spec, name):
        yield FieldError(
            where, f"{name!r} is the `frequency_column`: it is no column of the persons. Leave it out here"
        )


def _places(spec: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the places where a specification names a column."""
    yield from (pointer(field) for field in _ONE if spec.get(field) == name)
    for field in _SOME:
        yield from (pointer(field, at) for at, one in enumerate(spec.get(field) or ()) if one == name)
    yield from (pointer(field, name) for field in _BY_COLUMN if name in (spec.get(field) or {}))
    by_default = name in (spec.get("quasi_identifiers") or ())  # the statistics of these are not the request's own
    for at, one in enumerate(() if by_default else spec.get("statistics") or ()):
        yield from (pointer("statistics", at, "of", place) for place, of in enumerate(one.of) if of == name)
    for at, one in enumerate(spec.get("sums") or ()):
        yield from [pointer("sums", at, "of")] if one.of == name else []
        yield from (pointer("sums", at, "by", place) for place, by in enumerate(one.by) if by == name)


def _wrong_counts(spec: Mapping[str, Any], column: DatasetColumn, summary: NumericSummary) -> Iterator[FieldError]:
    """Counts that are no counts of persons, stand for too many, or were rounded or suppressed."""
    if (detail := _no_counts(column, summary)) is not None:
        yield FieldError(pointer(FREQUENCIES), detail)
    elif summary.total is not None and summary.total > MOST_PERSONS:
        detail = (
            f"the rows stand for {summary.total:,} persons by {column.name!r}, and a job takes at most "
            f"{MOST_PERSONS:,}: take a sample of the persons"
        )
        yield FieldError(pointer(FREQUENCIES), detail)
    elif not spec[_CONFIRMED] and (least := summary.finite_minimum) is not None and least > 1:
        detail = (
            f"{_altered(column.name, int(least), summary.divisor or 1)}, and k rests on them. Upload exact counts, or "
            "state `frequencies_are_exact: true` if these are exact"
        )
        yield FieldError(pointer(_CONFIRMED), detail)


def _no_counts(column: DatasetColumn, summary: NumericSummary) -> str | None:
    """Return the reason why the values of a column do not count persons; None where they may."""
    name = repr(column.name)
    if column.missing:
        return f"{missing_values(column)}: state how many persons each row stands for, or leave these rows out"
    if summary.infinite:
        return infinite_values(name, summary)
    if summary.finite_minimum is None or summary.total is not None:
        return None
    if summary.finite_minimum < 1:
        return f"column {name} has counts below 1: a row stands for one person or more. Leave rows of no one out"
    if (summary.finite_maximum or 0.0) > MOST_PERSONS:
        return f"column {name} has counts above {MOST_PERSONS:,}, and a job takes at most so many persons in all"
    return f"column {name} has fractions, or was read before counts were added up: upload it with whole numbers"


def _altered(name: str, least: int, divisor: int) -> str:
    """Describe the sign that counts of persons, none of which is 1, were rounded or suppressed."""
    step = next((one for one in _ROUNDED if divisor % one == 0), None)
    if step is not None:
        return f"all counts of {name!r} are multiples of {step}, as where counts were rounded"
    limit = next(one for one in _SUPPRESSED if one <= least)
    return f"no count of {name!r} is below {limit}, as where rows of fewer persons were suppressed"
