"""What the specification of `boxes` and the dataset's profile decide before a job is accepted."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from app.contracts.boxes import (
    MOST_STATISTICS,
    WITH_SAMPLE_FORM,
    BoxesSpec,
    RareRecords,
    Statistic,
    StatisticKind,
)
from app.contracts.datasets import DatasetColumn
from app.errors import FieldError, pointer
from app.jobs.columns import (
    complete_records,
    named,
    too_few,
    wrong_column,
    wrong_columns,
    wrong_domains,
    wrong_values,
)
from app.jobs.inputs import Given

#: Undefined where a column (a predictor, of a regression) has no spread, whatever their weight.
_OF_SPREAD: Final = (StatisticKind.STANDARD_DEVIATION, StatisticKind.CORRELATION, StatisticKind.REGRESSION)


def fill(spec: BoxesSpec, given: Given) -> BoxesSpec:
    """The specification with its default statistics written out: means, variances and correlations.

    Columns with one value are left out (if there are others): their correlations are undefined. If there are no others,
    their means have a weight, for they have no scale. Of very many columns the list would be too long; it stays unset,
    which `check` refuses.
    """
    if spec.statistics is not None:
        return spec
    distinct = {column.name: column.distinct for column in given.profile().columns}
    varying = [name for name in spec.columns if distinct.get(name, 0) > 1]
    if _defaults(len(varying)) > MOST_STATISTICS:
        return spec
    if not varying:
        only = tuple(Statistic(kind=StatisticKind.MEAN, of=(name,), weight=1.0) for name in spec.columns)
        return spec.model_copy(update={"statistics": only})
    statistics = [Statistic(kind=StatisticKind.MEAN, of=(name,)) for name in varying]
    statistics += [Statistic(kind=StatisticKind.VARIANCE, of=(name,)) for name in varying]
    statistics += [Statistic(kind=StatisticKind.CORRELATION, of=pair) for pair in combinations(varying, 2)]
    return spec.model_copy(update={"statistics": tuple(statistics)})


def _defaults(columns: int) -> int:
    return 2 * columns + columns * (columns - 1) // 2


def check(spec: BoxesSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this dataset, each with its pointer."""
    profile = given.profile()
    return [
        *_unknown(spec, named(profile)),
        *_names(spec),
        *_too_many(spec),
        *_undefined(spec, named(profile)),
        *_diverse(spec, named(profile)),
        *wrong_values(spec, profile),
        *too_few(spec.k, largest=complete_records(spec, profile), rows=profile.rows),
        *_no_sample_form(spec, records=complete_records(spec, profile)),
    ]


def _unknown(spec: BoxesSpec, columns: dict[str, DatasetColumn]) -> Iterator[FieldError]:
    yield from wrong_columns("columns", spec.columns, columns, numeric=True)
    yield from wrong_columns("keep", spec.keep, columns)
    yield from wrong_columns("sensitive", spec.sensitive, columns)
    for name in spec.epsilon:
        if (wrong := wrong_column(name, columns, numeric=True)) is not None:
            yield FieldError(pointer("epsilon", name), wrong)
    yield from wrong_domains(spec)
    for index, statistic in enumerate(spec.statistics or ()):
        for position, name in enumerate(statistic.of):
            if name not in spec.columns:
                yield FieldError(pointer("statistics", index, "of", position), f"{name!r} is not one of `columns`")


def _no_sample_form(spec: BoxesSpec, *, records: int) -> Iterator[FieldError]:
    if spec.ddof == 0:
        return
    if spec.rare_records is RareRecords.WEIGH:
        yield FieldError(
            "/ddof",
            "`rare_records: weigh` publishes weights that sum to 1 and have no sample size: "
            "`ddof` is 0 with them; `keep` and `dismiss` take 1",
        )
    if records <= spec.ddof and any(one.kind in WITH_SAMPLE_FORM for one in spec.statistics or ()):
        yield FieldError("/ddof", f"`ddof` 1 takes two records or more, the dataset has {records} complete")


def _undefined(spec: BoxesSpec, columns: dict[str, DatasetColumn]) -> Iterator[FieldError]:
    """Statistics that a column with one value leaves undefined."""
    for index, statistic in enumerate(spec.statistics or ()):
        constant = [name for name in statistic.of if name in columns and columns[name].distinct == 1]
        spread = statistic.of[1:] if statistic.kind is StatisticKind.REGRESSION else statistic.of
        if statistic.kind in _OF_SPREAD and not set(constant).isdisjoint(spread):
            detail = f"the {statistic.kind} is undefined: column {constant[-1]!r} has one value"
            yield FieldError(pointer("statistics", index), detail)
        elif constant and statistic.weight is None:
            detail = (
                f"column {constant[0]!r} has one value, so the {statistic.kind} has no natural scale: give it a weight"
            )
            yield FieldError(pointer("statistics", index), detail)


def _diverse(spec: BoxesSpec, columns: dict[str, DatasetColumn]) -> Iterator[FieldError]:
    """More values in a box than a column has altogether."""
    if spec.l is None:
        return
    counted = {name: columns[name].distinct for name in (*spec.sensitive, *spec.epsilon) if name in columns}
    fewest = min(counted, key=counted.__getitem__, default=None)
    if fewest is not None and counted[fewest] < spec.l:
        told = f"column {fewest!r} has {counted[fewest]} values: the largest l is {counted[fewest]}"
        yield FieldError("/l", f"l = {spec.l} asked, {told}")


def _names(spec: BoxesSpec) -> Iterator[FieldError]:
    own = {"box", "weight"} if spec.rare_records is RareRecords.WEIGH else {"box"}
    taken = own | {f"{name}_{end}" for name in spec.columns for end in ("lo", "hi")}
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
