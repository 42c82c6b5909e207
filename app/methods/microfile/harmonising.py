"""What a dataset's profile decides about a harmonised microfile: its columns, their types and what they can contain.

A column is harmonised before anything else looks at it: values become others, columns become one. `Harmonised` states
which columns there are then and of which type, without a record at hand; workers read them by the same rules
(`contracts/recoding.py`).
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from app.contracts.columns import unparsable
from app.contracts.datasets import NUMERIC, ColumnType, DatasetColumn, NumericSummary, Profile
from app.contracts.inputs import Given, listed
from app.errors import FieldError, meant, pointer
from app.methods.columns import infinite_values
from app.methods.microfile.spec import DerivedColumn, FuzzyVariable, Recodings, recoded_type

#: How a value of each type is written.
_WRITTEN: Final = {
    ColumnType.INTEGER: "an integer",
    ColumnType.NUMBER: "a number",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.DATE: "a date such as 2026-01-31",
    ColumnType.STRING: "a string",
}


def cannot_hold(column: str, kind: ColumnType) -> str:
    """The statement about a value that no column of this type has; the value itself is not quoted."""
    return f"{column} is {kind} and cannot contain this value: give {_WRITTEN[kind]}"


class Harmonised:
    """The columns of a dataset after recoding."""

    def __init__(self, profile: Profile, recodings: Recodings) -> None:
        self._columns: dict[str, DatasetColumn] = {column.name: column for column in profile.columns}
        self._numeric, self._recodings = profile.numeric, recodings
        self._types = {name: column.type for name, column in self._columns.items()}

    @property
    def names(self) -> list[str]:
        """The columns that there are, those that recoding makes among them."""
        return list(dict.fromkeys([*self._types, *self._recodings]))

    def wrong(self, where: str) -> Iterator[FieldError]:
        """Everything wrong with the recoding; `where` is its pointer."""
        for name, recoding in self._recodings.items():
            sources = recoding.columns if isinstance(recoding, DerivedColumn) else (name,)
            made = f", from which {name!r} is made" if isinstance(recoding, DerivedColumn) else ""
            for source in sources:
                if source not in self._types:
                    yield FieldError(
                        where + pointer(name), f"the dataset has no column {source!r}{made}{meant(source, self._types)}"
                    )
            if all(source in self._types for source in sources):
                yield from self._wrong_values(where + pointer(name), name, recoding)

    def _wrong_values(self, where: str, name: str, recoding: dict[str, Any] | DerivedColumn) -> Iterator[FieldError]:
        if not isinstance(recoding, DerivedColumn):
            for value in recoding:
                if unparsable(value, self._types[name]):
                    yield FieldError(where + pointer(value), cannot_hold(f"column {name!r}", self._types[name]))
            return
        for index, case in enumerate(recoding.cases):
            for column, values in case.when.items():
                if any(unparsable(value, self._types[column]) for value in values):
                    at = where + pointer("cases", index, "when", column)
                    yield FieldError(at, cannot_hold(f"column {column!r}", self._types[column]))

    def type_of(self, name: str) -> ColumnType | None:
        """The type of a harmonised column; None if there is no such column."""
        recoding = self._recodings.get(name)
        if recoding is None:
            return self._types.get(name)
        sources = recoding.columns if isinstance(recoding, DerivedColumn) else (name,)
        return recoded_type(recoding, self._types, name) if all(one in self._types for one in sources) else None

    def sources_of(self, name: str) -> tuple[str, ...]:
        """The columns of the dataset that a harmonised column is made from."""
        recoding = self._recodings.get(name)
        return recoding.columns if isinstance(recoding, DerivedColumn) else (name,)

    def summary_of(self, name: str) -> NumericSummary | None:
        """The known facts of the values of a numeric column that is not recoded, or only renamed."""
        recoding = self._recodings.get(name)
        if isinstance(recoding, DerivedColumn) and not recoding.cases:
            return self._numeric.get(recoding.columns[0])
        return self._numeric.get(name) if recoding is None else None

    def all_missing(self, name: str, rows: int) -> bool:
        """Whether a column that is not recoded has no value at all."""
        return name not in self._recodings and name in self._columns and self._columns[name].missing == rows


def wrong_variables(
    variables: Iterable[FuzzyVariable], file: Harmonised, *, where: str, label: str, rows: int
) -> Iterator[FieldError]:
    """Variables that the dataset lacks, that are not numbers, or whose range no record can reach."""
    for index, variable in enumerate(variables):
        kind = file.type_of(variable.column)
        at, name = where + pointer(index), variable.column
        if kind is None:
            yield FieldError(at + "/column", f"{label} has no column {name!r}{meant(name, file.names)}")
        elif kind not in NUMERIC:
            detail = f"column {name!r} of {label} is {kind}, not numeric; map its values to numbers with `recode`"
            yield FieldError(at + "/column", detail)
        elif file.all_missing(name, rows):
            yield FieldError(at + "/range", f"column {name!r} of {label} is empty: no record would remain")
        elif (summary := file.summary_of(name)) is not None and _unreachable(summary, variable.range):
            low, high = variable.range
            yield FieldError(
                at + "/range", f"no record of {label} has {name!r} in [{low:g}, {high:g}]; widen the range"
            )


def _unreachable(summary: NumericSummary, accepted: tuple[float, float]) -> bool:
    if summary.finite_minimum is None or summary.finite_maximum is None:
        return True
    return summary.finite_maximum < accepted[0] or summary.finite_minimum > accepted[1]


def wrong_region_columns(region_columns: Iterable[str], file: Harmonised, *, label: str) -> Iterator[FieldError]:
    """Region columns that the dataset lacks, or that have values for which JSON has no number."""
    for index, name in enumerate(region_columns):
        yield from wrong_division(name, file, where=pointer("region_columns", index), label=label)


def wrong_division(name: str, file: Harmonised, *, where: str, label: str) -> Iterator[FieldError]:
    """The faults of dividing records by a column: it is not there, or has values that JSON has no number for."""
    if file.type_of(name) is None:
        yield FieldError(where, f"{label} has no column {name!r}{meant(name, file.names)}")
    elif (summary := file.summary_of(name)) is not None and summary.infinite:
        yield FieldError(where, infinite_values(f"{name!r} of {label}", summary))


def wrong_regions(
    regions: Iterable[tuple[object, ...]], region_columns: tuple[str, ...], file: Harmonised, *, where: str,
    inner: str = "",
) -> Iterator[FieldError]:  # fmt: skip
    """Regions with too many or too few values, or with values that the columns cannot contain."""
    kinds = [file.type_of(name) for name in region_columns]
    for index, region in enumerate(regions):
        at = where + pointer(index) + inner
        if len(region) != len(kinds):
            columns = ", ".join(map(repr, region_columns))
            yield FieldError(at, f"expected one value for each of `region_columns` ({columns}), got {len(region)}")
            continue
        for name, kind, part in zip(region_columns, kinds, region, strict=True):
            if kind is not None and unparsable(part, kind):
                yield FieldError(at, cannot_hold(f"column {name!r}", kind))


def wrong_files(
    region_columns: tuple[str, ...], variables: tuple[FuzzyVariable, ...], recode: Recodings, given: Given
) -> Iterator[FieldError]:
    """Files that lack a column which divides them, or which the rules read."""
    columns = {
        **{role: [c.name for c in one.columns] for role, one in listed(given.releases, "release_ids").items()},
        **{role: [c.name for c in one.columns] for role, one in listed(given.datasets, "dataset_ids").items()},
    }
    for role, there in columns.items():
        for name in dict.fromkeys((*region_columns, *(one.column for one in variables))):
            recoding = recode.get(name)
            needed = getattr(recoding, "columns", (name,))
            if missing := [one for one in needed if one not in there]:
                yield FieldError(pointer(*role.split("/")), f"there is no column {missing[0]!r} in this file")
