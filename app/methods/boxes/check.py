"""What the specification of `boxes` and the dataset's profile decide before a job is accepted; undefined statistics."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final

from app.contracts.columns import ColumnKind
from app.contracts.datasets import DatasetColumn, Profile
from app.contracts.inputs import Given
from app.contracts.statistics import ABOUT_VALUES, WITH_SAMPLE_FORM, Statistic, StatisticKind, steers
from app.contracts.warnings import JobWarning
from app.errors import FieldError, pointer
from app.methods.boxes import series, shown, versions
from app.methods.boxes.check_columns import complete_records, kept_kinds, wrong_columns, wrong_weights
from app.methods.boxes.check_statistics import foreseen, too_many_statistics, with_steering, wrong_statistics
from app.methods.boxes.nominal import NominalColumn
from app.methods.boxes.spec import (
    BoxBounds,
    BoxesMissingPolicy,
    BoxesSpec,
    BoxMeans,
    RareRecords,
    ReleasedWeights,
    SuppressionObjective,
    kinds_of,
)
from app.methods.columns import infinite_in_json, kind_counted, named, too_few, types_of, wrong_column
from app.methods.columns import wrong_columns as unknown_columns


def fill_boxes(spec: BoxesSpec, given: Given) -> BoxesSpec:
    """The specification with its defaults written out; in a series, with all that is its base's."""
    if (base := given.base) is not None:
        return series.fill(spec, base)
    if (previous := versions.previous_of(spec, given)) is not None:
        return versions.fill(spec, given, previous)
    data = given.datasets["dataset_id"]
    whole = shown.with_shown(spec, named(data.profile), data.published_keep)
    return with_steering(_with_row_weights(whole), kinds_of(whole, types_of(given.profile())))


def _with_row_weights(spec: BoxesSpec) -> BoxesSpec:
    """Weights of rows are a kept column that k counts; other kept columns count only on request."""
    name = spec.survey_weight_column
    if spec.released_weights is not ReleasedWeights.ROW or name is None:
        return spec
    keep = spec.keep if name in spec.keep else (*spec.keep, name)
    return spec.model_copy(update={"keep": keep, "k_counts_kept": spec.k_counts_kept or keep == (name,)})


def foreseen_boxes(spec: BoxesSpec) -> tuple[JobWarning, ...]:
    """Return warnings of a job before it has run."""
    return (*foreseen(spec), *shown.counted_as_withheld(spec))


def check_boxes(spec: BoxesSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this dataset or this base, each with its pointer."""
    return [*shown.wrong_withheld(spec), *_wrong(spec, given)]


def _wrong(spec: BoxesSpec, given: Given) -> list[FieldError]:
    if (base := given.base) is not None:
        return series.check(spec, base)
    if (previous := given.previous) is not None:
        return versions.check(spec, given, previous)
    return shown.placed(spec, _wrong_alone(spec, given))


def _wrong_alone(spec: BoxesSpec, given: Given) -> list[FieldError]:
    """Everything wrong with a release with boxes of its own, published sensitive columns at their places in `keep`."""
    profile = given.profile()
    columns, kinds = named(profile), kinds_of(spec, types_of(profile))
    return [
        *undefined(spec, kinds, profile),
        *wrong_content(spec, kinds),
        *wrong_columns(spec, profile),
        *wrong_weights(spec, columns, profile),
        *_unknown(spec, columns),
        *infinite_in_json(spec.keep, spec.formats, profile),
        *wrong_statistics(spec, kinds, kept_kinds(spec, profile), columns),
        *_names(spec, kinds),
        *too_many_statistics(spec, kinds),
        *_diverse(spec, columns),
        *too_few(spec.k, largest=complete_records(spec, profile), rows=profile.rows),
        *_no_sample_form(spec, records=complete_records(spec, profile)),
    ]


def _unknown(spec: BoxesSpec, columns: Mapping[str, DatasetColumn]) -> Iterator[FieldError]:
    yield from unknown_columns("keep", spec.keep, columns)
    yield from unknown_columns("sensitive", spec.sensitive, columns)
    for name in spec.min_separation:
        if (wrong := wrong_column(name, columns, numeric=True)) is not None:
            yield FieldError(pointer("min_separation", name), wrong)


def _no_sample_form(spec: BoxesSpec, *, records: int) -> Iterator[FieldError]:
    if spec.ddof == 0:
        return
    if spec.rare_records is RareRecords.WEIGH or spec.survey_weight_column is not None:
        yield FieldError(
            "/ddof",
            "weighed records (`rare_records: weigh`, `survey_weight_column`) have no sample size: "
            "`ddof` is 0 with them",
        )
    if records <= spec.ddof and any(one.kind in WITH_SAMPLE_FORM for one in spec.statistics or ()):
        yield FieldError("/ddof", f"`ddof` 1 takes two records or more, the dataset has {records} complete")


def _diverse(spec: BoxesSpec, columns: Mapping[str, DatasetColumn]) -> Iterator[FieldError]:
    """More values in a box than a column has altogether."""
    if spec.l is None:
        return
    counted = {name: columns[name].distinct for name in (*spec.sensitive, *spec.min_separation) if name in columns}
    fewest = min(counted, key=counted.__getitem__, default=None)
    if fewest is not None and counted[fewest] < spec.l:
        detail = f"column {fewest!r} has {counted[fewest]} values: the largest l is {counted[fewest]}"
        yield FieldError("/l", f"l = {spec.l} requested, {detail}")


def own_names(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> Iterator[str]:
    """Names of the release's columns but for the kept ones."""
    yield "box"
    for name, kind in kinds.items():
        if kind is not ColumnKind.NOMINAL:
            yield from (f"{name}_lo", f"{name}_hi")
            if spec.box_means is not BoxMeans.NONE:
                yield from (f"{name}_mean_lo", f"{name}_mean_hi")
            continue
        declared = spec.nominal.get(name)
        if declared is not None and declared.hierarchy is not None:
            yield name
        yield f"{name}_set"
    if spec.survey_weight_column is not None and spec.released_weights is ReleasedWeights.BOX:
        yield from ("weight_mean_lo", "weight_mean_hi")
    elif spec.rare_records is RareRecords.WEIGH or spec.survey_weight_column is not None:
        yield "weight"
    if spec.rare_records is RareRecords.MARK:
        yield "core"


def _names(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> Iterator[FieldError]:
    own = list(own_names(spec, kinds))
    for name in {name for name in own if own.count(name) > 1}:
        place = next(index for index, one in enumerate(spec.quasi_identifiers) if name.startswith(one))
        yield FieldError(pointer("quasi_identifiers", place), f"two columns of the release would be called {name!r}")
    for index, name in enumerate(spec.keep):
        way_out = "; in `withheld` too it is counted and not shown unchanged" if name in spec.sensitive else ""
        if name in spec.quasi_identifiers:
            detail = f"{name!r} is published as boxes: it cannot be kept unchanged as well{way_out}"
            yield FieldError(f"/keep/{index}", detail)
        elif name in own:
            yield FieldError(f"/keep/{index}", f"the name {name!r} is one of the release's own columns{way_out}")


#: Numbers of statistics that a search for the rare boxes looks at.
_MOST_NUMBERS: Final = 1_000


def undefined(spec: BoxesSpec, kinds: Mapping[str, ColumnKind], profile: Profile) -> Iterator[FieldError]:
    """Settings that are not defined together."""
    if spec.released_weights is ReleasedWeights.ROW:
        yield from _wrong_row_weights(spec)
    if spec.rare_records is not RareRecords.KEEP and not _plain(spec, kinds):
        yield from _wrong_rare(spec, kinds, profile)


def _wrong_row_weights(spec: BoxesSpec) -> Iterator[FieldError]:
    """Weights of rows identify like kept columns, so they are kept and counted (`fill`)."""
    if spec.survey_weight_column is None:
        yield FieldError(
            "/released_weights",
            "`released_weights: row` publishes the weights of `survey_weight_column`: name that column",
        )
    elif not spec.k_counts_kept:
        detail = (
            "`released_weights: row` is a kept column that k counts, together with the others of `keep` and the "
            "published ones of `sensitive`: set it to true"
        )
        yield FieldError("/k_counts_kept", detail)


def _plain(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> bool:
    """Whether columns are complete numbers, statistics are functions of moments, and boxes contain k or l of them."""
    options = (spec.person_column, spec.survey_weight_column, spec.t, spec.alpha)
    return (
        all(each is None for each in options)
        and not (spec.k_counts_kept and spec.keep)
        and not (spec.min_width and (spec.bounds is not BoxBounds.CELLS or spec.box_means is BoxMeans.EXACT))
        and spec.missing_policy is not BoxesMissingPolicy.PATTERN
        and ColumnKind.NOMINAL not in kinds.values()
        and not any(one.kind in (*ABOUT_VALUES, StatisticKind.QUANTILE) for one in _steering(spec))
    )


def _wrong_rare(spec: BoxesSpec, kinds: Mapping[str, ColumnKind], profile: Profile) -> Iterator[FieldError]:
    """What marking and leaving out of boxes is not defined with."""
    if spec.rare_records is RareRecords.WEIGH:
        detail = (
            "`rare_records: weigh` takes complete columns of numbers and their moments only, without `person_column`, "
            "`survey_weight_column`, `t`, `alpha`, `k_counts_kept`, or `min_width` with `grid` or `tight` bounds: use "
            "`mark` or `suppress`"
        )
        yield FieldError("/rare_records", detail)
        return
    if spec.rare_records is RareRecords.SUPPRESS and spec.objective is SuppressionObjective.PAPER:
        detail = (
            "the papers' objective is of complete columns of numbers and their moments, without demands but k, l and, "
            "of `cells`, `min_width`: use `bias_aware`"
        )
        yield FieldError("/objective", detail)
    if spec.rare_records is RareRecords.SUPPRESS and spec.t is not None:
        detail = "`t` compares boxes with all records, which are not published where boxes are left out: use `mark`"
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
    kinds = {name: kind_counted(kind, spec.ordinal.get(name, ())) for name, kind in kinds.items()}
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
    stepped = {*spec.value_step, *spec.ordinal}
    whole = [name for name, kind in kinds.items() if kind in _AVERAGED[1:] or (name in stepped and kind in _AVERAGED)]
    if spec.box_means is BoxMeans.EXACT and spec.bounds is not BoxBounds.CELLS and whole:
        detail = (
            f"exact means of {whole[0]!r}, which has whole numbers, an order or a `value_step`, reveal single values "
            f"within `bounds: {spec.bounds}`: use `bounds: cells`, or `box_means: rounded`"
        )
        yield FieldError("/box_means", detail)


#: Kinds of columns whose boxes have means; those after the first have whole numbers.
_AVERAGED: Final = (ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.DATE)
