"""Settings of `boxes` that nothing defines, alone or together: refused by name, never ignored."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final

from app.contracts.box_columns import ColumnKind, NominalColumn
from app.contracts.datasets import Profile
from app.contracts.statistics import ABOUT_VALUES, Statistic, StatisticKind, steers
from app.errors import FieldError
from app.methods.boxes.spec import (
    BoxBounds,
    BoxesMissingPolicy,
    BoxesSpec,
    BoxMeans,
    RareRecords,
    ReleasedWeights,
    SuppressionObjective,
)

#: Numbers of statistics that a search for the rare boxes looks at.
_MOST_NUMBERS: Final = 1_000


def undefined(spec: BoxesSpec, kinds: Mapping[str, ColumnKind], profile: Profile) -> Iterator[FieldError]:
    """Settings that are not defined together."""
    if spec.released_weights is ReleasedWeights.ROW:
        yield from _wrong_row_weights(spec)
    if spec.rare_records is not RareRecords.KEEP and not _plain(spec, kinds):
        yield from _wrong_rare(spec, kinds, profile)


def _wrong_row_weights(spec: BoxesSpec) -> Iterator[FieldError]:
    """Weights of rows identify like kept columns, so they are kept and counted (`boxes.fill`)."""
    if spec.survey_weight_column is None:
        yield FieldError(
            "/released_weights",
            "`released_weights: row` publishes the weights of `survey_weight_column`: name that column",
        )
    elif not spec.k_counts_kept:
        detail = (
            "`released_weights: row` is a kept column that k counts, together with the others of `keep`: set it to true"
        )
        yield FieldError("/k_counts_kept", detail)


def _plain(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> bool:
    """Whether columns are complete numbers, statistics are functions of moments, and boxes hold k or l of them."""
    options = (spec.person_column, spec.survey_weight_column, spec.t, spec.alpha)
    return (
        all(each is None for each in options)
        and not (spec.k_counts_kept and spec.keep)
        and not spec.min_width
        and spec.missing_policy is not BoxesMissingPolicy.PATTERN
        and ColumnKind.NOMINAL not in kinds.values()
        and not any(one.kind in (*ABOUT_VALUES, StatisticKind.QUANTILE) for one in _steering(spec))
    )


def _wrong_rare(spec: BoxesSpec, kinds: Mapping[str, ColumnKind], profile: Profile) -> Iterator[FieldError]:
    """What marking and leaving out of boxes is not defined with."""
    if spec.rare_records is RareRecords.WEIGH:
        detail = (
            "`rare_records: weigh` takes complete columns of numbers and their moments only, without `person_column`, "
            "`survey_weight_column`, `t`, `alpha`, `k_counts_kept` or `min_width`: ask `mark` or `suppress`"
        )
        yield FieldError("/rare_records", detail)
        return
    if spec.rare_records is RareRecords.SUPPRESS and spec.objective is SuppressionObjective.PAPER:
        detail = (
            "the papers' objective is of complete columns of numbers and their moments, without demands but k and l: "
            "ask `bias_aware`"
        )
        yield FieldError("/objective", detail)
    if spec.rare_records is RareRecords.SUPPRESS and spec.t is not None:
        detail = "`t` compares boxes with all records, which are not published where boxes are left out: ask `mark`"
        yield FieldError("/rare_records", detail)
    if (numbers := _numbers(spec, kinds, profile)) > _MOST_NUMBERS:
        detail = (
            f"the statistics have {numbers:,} numbers, one for each value and cell; rare boxes are found by at "
            f"most {_MOST_NUMBERS:,}: list those that matter, with `values`"
        )
        yield FieldError("/statistics", detail)


def _numbers(spec: BoxesSpec, kinds: Mapping[str, ColumnKind], profile: Profile) -> int:
    """How many numbers the statistics have."""
    size = {
        one.name: max(one.distinct, len(spec.nominal.get(one.name, NominalColumn()).values or ()))
        if kinds.get(one.name) is ColumnKind.NOMINAL
        else max(len(spec.ordinal.get(one.name, ())), 1)
        for one in profile.columns
    }
    return sum(
        1 if one.values is not None or one.kind not in ABOUT_VALUES else prod(size.get(name, 1) for name in one.of)
        for one in _steering(spec)
    )


def _steering(spec: BoxesSpec) -> list[Statistic]:
    """The statistics that boxes are made narrow for."""
    return [one for one in spec.statistics or () if steers(one, spec.quasi_identifiers)]


def wrong_content(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> Iterator[FieldError]:
    """Means that boxes cannot have, or that would reveal single values."""
    if spec.box_means is BoxMeans.NONE:
        return
    if not any(kind in _AVERAGED for kind in kinds.values()):
        yield FieldError(
            "/box_means", "`quasi_identifiers` has no numbers and no days: there is nothing to have means of"
        )
    if spec.survey_weight_column is not None:
        yield FieldError(
            "/box_means", "means inside boxes are of records that count alike: no `survey_weight_column` with them"
        )
    if spec.rare_records is not RareRecords.KEEP:
        yield FieldError(
            "/box_means", "means inside boxes are those of all records: `rare_records` is `keep` with them"
        )
    whole = [name for name, kind in kinds.items() if kind in _AVERAGED[1:] or name in spec.value_step]
    if spec.box_means is BoxMeans.EXACT and spec.bounds is not BoxBounds.CELLS and whole:
        detail = (
            f"exact means of {whole[0]!r}, which has whole numbers or a `value_step`, reveal single values within "
            f"`bounds: {spec.bounds}`: ask `bounds: cells`, or `box_means: rounded`"
        )
        yield FieldError("/box_means", detail)


#: Kinds of columns whose boxes have means; those after the first have whole numbers.
_AVERAGED: Final = (ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.DATE)
