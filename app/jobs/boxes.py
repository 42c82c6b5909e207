"""What the specification of `boxes` and the dataset's profile decide before a job is accepted."""

from collections.abc import Iterator
from itertools import combinations

from app.contracts.boxes import MOST_STATISTICS, BoxesSpec, Missing, Partition, Statistic, StatisticKind
from app.contracts.datasets import NUMERIC, Column, ColumnType, NumericSummary, Profile
from app.errors import FieldError

#: A double holds every integer up to this size.
_EXACT_INTEGER = 2**53


def fill(spec: BoxesSpec, profile: Profile) -> BoxesSpec:
    """The specification with its default statistics written out: means, variances and correlations.

    Columns with one value are left out (if there are others): their correlations are undefined. Of very many columns
    the list would be too long; it stays unset, which `check` refuses.
    """
    if spec.statistics is not None:
        return spec
    distinct = {column.name: column.distinct for column in profile.columns}
    varying = [name for name in spec.columns if distinct.get(name, 0) > 1]
    if _defaults(len(varying)) > MOST_STATISTICS:
        return spec
    statistics = [Statistic(kind=StatisticKind.MEAN, of=(name,)) for name in varying or spec.columns]
    statistics += [Statistic(kind=StatisticKind.VARIANCE, of=(name,)) for name in varying]
    statistics += [Statistic(kind=StatisticKind.CORRELATION, of=pair) for pair in combinations(varying, 2)]
    return spec.model_copy(update={"statistics": tuple(statistics)})


def _defaults(columns: int) -> int:
    return 2 * columns + columns * (columns - 1) // 2


def check(spec: BoxesSpec, profile: Profile) -> list[FieldError]:
    """Everything wrong with the specification on this dataset, each with its pointer."""
    columns = {column.name: column for column in profile.columns}
    return [
        *_not_built(spec),
        *_unknown(spec, columns),
        *_names(spec),
        *_too_many(spec),
        *_values(spec, columns, profile.numeric),
        *_feasible(spec, columns, profile.rows),
    ]


def _not_built(spec: BoxesSpec) -> Iterator[FieldError]:
    if spec.partition is not Partition.OPTIMAL:
        demanded = {"l": spec.l is not None, "count_keep": spec.count_keep}
        for field in (name for name, is_asked in demanded.items() if is_asked):
            yield FieldError(
                f"/{field}", f"`{field}` is built for the partition `optimal` only, not `{spec.partition}`"
            )


def _unknown(spec: BoxesSpec, columns: dict[str, Column]) -> Iterator[FieldError]:
    yield from _absent("columns", spec.columns, columns, numeric=True)
    yield from _absent("keep", spec.keep, columns)
    yield from _absent("sensitive", spec.sensitive, columns)
    for name in spec.epsilon:
        if (wrong := _wrong(name, columns, numeric=True)) is not None:
            yield FieldError(f"/epsilon/{_escape(name)}", wrong)
    for name in spec.domains:
        if name not in spec.columns:
            yield FieldError(f"/domains/{_escape(name)}", f"{name!r} is not one of `columns`")
    for index, statistic in enumerate(spec.statistics or ()):
        for position, name in enumerate(statistic.of):
            if name not in spec.columns:
                yield FieldError(f"/statistics/{index}/of/{position}", f"{name!r} is not one of `columns`")


def _absent(
    field: str, names: tuple[str, ...], columns: dict[str, Column], *, numeric: bool = False
) -> Iterator[FieldError]:
    for index, name in enumerate(names):
        if (wrong := _wrong(name, columns, numeric=numeric)) is not None:
            yield FieldError(f"/{field}/{index}", wrong)


def _wrong(name: str, columns: dict[str, Column], *, numeric: bool) -> str | None:
    if name not in columns:
        return f"the dataset has no column {name!r}"
    if numeric and columns[name].type not in NUMERIC:
        return f"column {name!r} is {columns[name].type}, not numeric"
    return None


def _names(spec: BoxesSpec) -> Iterator[FieldError]:
    taken = {"box", "weight"} | {f"{name}_{end}" for name in spec.columns for end in ("lo", "hi")}
    for index, name in enumerate(spec.keep):
        if name in spec.columns:
            yield FieldError(f"/keep/{index}", f"{name!r} is published as boxes: it cannot be kept unchanged as well")
        elif name in taken:
            yield FieldError(f"/keep/{index}", f"the name {name!r} is one of the release's own columns")


def _too_many(spec: BoxesSpec) -> Iterator[FieldError]:
    if spec.statistics is None:
        yield FieldError(
            "/statistics",
            f"by default {len(spec.columns)} columns would have {_defaults(len(spec.columns)):,} statistics; "
            f"list those that matter, at most {MOST_STATISTICS:,}",
        )


def _values(spec: BoxesSpec, columns: dict[str, Column], numeric: dict[str, NumericSummary]) -> Iterator[FieldError]:
    for index, name in enumerate(spec.columns):
        if name not in columns or name not in numeric:
            continue
        column, summary = columns[name], numeric[name]
        if spec.missing is Missing.REFUSE and column.missing:
            yield FieldError(
                f"/columns/{index}",
                f"column {name!r} has {column.missing} missing values: `missing: drop` leaves those records out",
            )
        if summary.infinite:
            yield FieldError(f"/columns/{index}", f"column {name!r} has {summary.infinite} infinite values")
        if column.type is ColumnType.INTEGER and _wide(summary):
            yield FieldError(f"/columns/{index}", f"column {name!r} has integers beyond 2^53 in size")
        if name in spec.domains and _outside(summary, spec.domains[name]):
            yield FieldError(f"/domains/{_escape(name)}", f"column {name!r} has values outside this domain")


def _wide(summary: NumericSummary) -> bool:
    ends = (summary.finite_minimum or 0.0, summary.finite_maximum or 0.0)
    return max(map(abs, ends)) > _EXACT_INTEGER


def _outside(summary: NumericSummary, domain: tuple[float, float]) -> bool:
    lo, hi = domain
    if summary.finite_minimum is None or summary.finite_maximum is None:
        return False
    return summary.finite_minimum < lo or summary.finite_maximum > hi


def _feasible(spec: BoxesSpec, columns: dict[str, Column], rows: int) -> Iterator[FieldError]:
    most_missing = max((columns[name].missing for name in spec.columns if name in columns), default=0)
    largest = rows - most_missing if spec.missing is Missing.DROP else rows
    if spec.k > largest:
        what = f"{largest} records" if largest == rows else f"at most {largest} complete records"
        yield FieldError("/k", f"k = {spec.k} asked, {what}: the largest k is {largest}")


def _escape(name: str) -> str:
    """A reference token of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
