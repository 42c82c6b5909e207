"""What of a box release will disappoint or expose: warnings for the job, and those of them that the release may bear.

A release's warnings follow from what it publishes. The job's also state restricted data: how many records are left
out, and what the boxes show of sensitive columns that are not published.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from app.contracts.datasets import DatasetColumn
from app.contracts.statistics import StatisticKind
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import pointer
from app.methods.boxes.spec import BoxesSpec
from surebox_core.types import BoolArray
from workers.algorithms.boxes.sides import Boxes
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.kept import KeptClasses

_SHOWN = 5
_BETWEEN_EXTREMES = (StatisticKind.MEAN, StatisticKind.DOMAIN_MEAN, StatisticKind.QUANTILE)
_SPREADS = {StatisticKind.VARIANCE: 2.0, StatisticKind.STANDARD_DEVIATION: 1.0}


def released(
    shown: Shown, boxes: Boxes, result: Mapping[str, Any], certain: Mapping[str, float], kept: KeptClasses
) -> list[JobWarning]:
    """Warnings of the job that follow from the published data.

    Parameters
    ----------
    shown : the columns, and the request.
    boxes : as published.
    result : the job's result.
    certain : share of rows whose value in a kept column is that of their whole box.
    kept : how few rows agree in box and kept values.
    """
    spec = shown.spec
    return [*_k(spec), *_boxes(shown, boxes, result), *_kept(spec, kept), *_certain(spec, "keep", certain)]


def unplaced(warnings: Sequence[JobWarning]) -> list[JobWarning]:
    """The same for the release, which has no specification for pointers to name places of."""
    return [one.model_copy(update={"pointer": None}) for one in warnings]


def restricted(
    spec: BoxesSpec, result: Mapping[str, Any], certain: Mapping[str, float], columns: Sequence[DatasetColumn]
) -> list[JobWarning]:
    """Warnings for the job alone.

    Parameters
    ----------
    spec, result : the request, and the job's result.
    certain : share of rows whose value in a sensitive column that is not kept is that of their whole box.
    columns : of the dataset.
    """
    warnings = [*_certain(spec, "sensitive", certain), *_spelled_persons(spec, columns), *_lowered(spec, result)]
    missing, rare = result["suppressed"]["missing"], result["suppressed"]["rare"]
    left_out = missing + rare
    if 2 * left_out > result["records"]:
        detail = (
            f"{left_out} of {result['records']} records are left out ({missing} for missing values, {rare} as rare): "
            "the release is about the others"
        )
        place = "/spec/missing_policy" if missing > rare else "/spec/rare_records"
        warnings.append(warning(WarningCode.MOST_RECORDS_LEFT_OUT, detail, place))
    return warnings


def rare_values(shown: Shown, left_out: int, records: int) -> Iterator[JobWarning]:
    """Warnings for the job alone of values that too few records have.

    Parameters
    ----------
    shown : the columns with their codebooks.
    left_out : records without a place because of such a value.
    records : of the dataset.
    """
    spec = shown.spec
    ways = "declare its values (`nominal`, `values`), or a `hierarchy`: rare values then are in the sets of a class"
    for index, name in enumerate(spec.quasi_identifiers):
        book = shown.books.get(name)
        if book is not None and book.merged_values:
            share = book.merged_records / max(records, 1)
            detail = (
                f"{book.merged_values} values of column {name!r} are together `{book.merged_as}`, and "
                f"{book.merged_records} records, a share of {share:.2g}, lose their value: fewer than k = {spec.k} "
                f"records have one of them. To keep them, {ways}"
            )
            yield warning(WarningCode.VALUES_MERGED, detail, pointer("spec", "quasi_identifiers", index))
    if left_out:
        detail = (
            f"{left_out} records are left out: fewer than k = {spec.k} records have a value of theirs, and a frequent "
            f"value would have to be merged with it. To keep them, {ways}, or set `max_suppressed_classes` to 0"
        )
        yield warning(WarningCode.RARE_VALUES_LEFT_OUT, detail, "/spec/max_suppressed_classes")


def _lowered(spec: BoxesSpec, result: Mapping[str, Any]) -> Iterator[JobWarning]:
    """Warn about default least widths that were lowered."""
    for index, name in enumerate(spec.quasi_identifiers):
        one = result["least_widths"].get(name)
        if one is not None and one["width"] < one["demanded"]:
            share = result["value_disclosure"][name]["exact"]
            detail = (
                f"boxes cannot have the least width {one['demanded']:g} in column {name!r}: it is {one['width']:g} "
                f"now. The release gives away the values of {share:.1%} of the rows. To hide more, name `min_width`"
            )
            yield warning(WarningCode.LEAST_WIDTH_LOWERED, detail, pointer("spec", "quasi_identifiers", index))


def _spelled_persons(spec: BoxesSpec, columns: Sequence[DatasetColumn]) -> Iterator[JobWarning]:
    """Warn about persons whose ids may be spellings of one another."""
    for column in columns:
        if column.name == spec.person_column and column.other_spellings:
            detail = (
                f"k counts persons by {column.name!r}: of its {column.distinct} values {column.other_spellings} differ "
                "from another one in case, blanks or look-alike characters alone, and count as persons of their own. "
                "If they are the same persons, write them alike and upload the file again"
            )
            yield warning(WarningCode.OTHER_SPELLINGS, detail, "/spec/person_column")


def _k(spec: BoxesSpec) -> Iterator[JobWarning]:
    if spec.k == 1:
        yield warning(WarningCode.K_OF_ONE, "k is 1: a box may be a single record's. Ask for k of 3 or more", "/spec/k")


def _boxes(shown: Shown, boxes: Boxes, result: Mapping[str, Any]) -> Iterator[JobWarning]:
    spec = shown.spec
    if len(boxes.counts) == 1:
        detail = "All records share one box, so the release states nothing about any column. " + _larger(spec)
        yield warning(WarningCode.ONE_BOX, detail, "/spec/k")
        return
    extent = {name: _extent(boxes, index) for index, name in enumerate(shown.numeric)}
    whole = [name for index, name in enumerate(shown.numeric) if _spanned(boxes, index, extent[name])]
    whole += [name for index, name in enumerate(shown.nominal) if _all_alike(boxes.sets[index])]
    for name in sorted(whole, key=spec.quasi_identifiers.index):
        detail = (
            f"column {name!r} was never cut: every box spans all of it. Name it in a statistic, or give "
            "`unlisted_column_weight` a larger value"
        )
        place = pointer("spec", "quasi_identifiers", spec.quasi_identifiers.index(name))
        yield warning(WarningCode.COLUMN_NEVER_CUT, detail, place)
    yield from _ranges(spec, result, extent)


def _extent(boxes: Boxes, index: int) -> tuple[float, float]:
    lower, upper = boxes.lower[:, index], boxes.upper[:, index]
    there = ~np.isnan(lower)
    return (float(lower[there].min()), float(upper[there].max())) if there.any() else (0.0, 0.0)


def _spanned(boxes: Boxes, index: int, extent: tuple[float, float]) -> bool:
    """Whether every box that has values spans all of a column that has more than one."""
    lower, upper = boxes.lower[:, index], boxes.upper[:, index]
    there = ~np.isnan(lower)
    return bool(extent[0] < extent[1] and (lower[there] == extent[0]).all() and (upper[there] == extent[1]).all())


def _all_alike(sets: BoolArray) -> bool:
    """Whether every box that has values has all that any box has, more than one."""
    held = sets[sets.any(axis=1)]
    return bool(len(held) and held[0].sum() > 1 and (held == held[0]).all())


def _larger(spec: BoxesSpec) -> str:
    demands = [name for name, is_set in (("l", spec.l is not None), ("k_counts_kept", spec.k_counts_kept)) if is_set]
    return f"Ask for a smaller k{''.join(f', or without `{name}`' for name in demands)}"


def _ranges(
    spec: BoxesSpec, result: Mapping[str, Any], extent: Mapping[str, tuple[float, float]]
) -> Iterator[JobWarning]:
    silent = [i for i, one in enumerate(result["statistics"]) if _says_nothing(one, extent)]
    if not silent:
        return
    shown = [result["statistics"][index] for index in silent[:_SHOWN]]
    names = "; ".join(f"{one['kind']} of {', '.join(map(repr, one['of']))}" for one in shown)
    more = f" and {len(silent) - _SHOWN} more" if len(silent) > _SHOWN else ""
    detail = (
        f"{len(silent)} of {len(result['statistics'])} guaranteed ranges show nothing: {names}{more}. Fewer columns, a "
        "smaller k, `domains`, or only the statistics that matter make boxes narrower"
    )
    one_each = len(spec.statistics or ()) == len(result["statistics"])  # one for each value is several
    place = pointer("spec", "statistics", silent[0]) if one_each and len(silent) == 1 else "/spec/statistics"
    yield warning(WarningCode.RANGE_SAYS_NOTHING, detail, place)


def _says_nothing(statistic: Mapping[str, Any], extent: Mapping[str, tuple[float, float]]) -> bool:
    """Whether the range is what anyone knew who knew the columns' extents."""
    bounds, kind = statistic["guaranteed"], statistic["kind"]
    if bounds is None:  # of a mean over no record there is nothing to state
        return not statistic["domain_may_be_empty"]
    if kind == StatisticKind.REGRESSION:
        return None in bounds
    if kind == StatisticKind.CROSSTAB:
        return False
    if kind == StatisticKind.SHARE:
        return bool(bounds[0] <= 0.0 and bounds[1] >= 1.0)
    if kind == StatisticKind.CORRELATION:
        return bool(bounds[0] <= -1.0 and bounds[1] >= 1.0)
    low, high = extent.get(statistic["of"][0], (0.0, 0.0))  # of a nominal column there is none
    if low == high:
        return False
    if kind in _BETWEEN_EXTREMES:
        return bool(bounds[0] <= low and bounds[1] >= high)
    if kind in _SPREADS:  # no values between low and high spread more than half of them at either end
        return bool(bounds[0] <= 0.0 and bounds[1] >= (0.5 * (high - low)) ** _SPREADS[kind] * (1.0 - 1e-9))
    return False


def _kept(spec: BoxesSpec, kept: KeptClasses) -> Iterator[JobWarning]:
    least = kept.unprotected
    if least is None or least >= spec.k:
        return
    below = ", ".join(f"{name!r} ({rows})" for name, rows in kept.alone.items() if rows < spec.k)
    which = f"alone: {below}" if below else "none alone, but together"
    rows = "1 row agrees" if least == 1 else f"{least} rows agree"
    detail = (
        f"In the worst box {rows} in the kept columns too; you required {spec.k} ({which}): an adversary who knows a "
        "person's kept values has fewer candidates. `k_counts_kept` counts them; or keep fewer columns"
    )
    if kept.protected:
        names = ", ".join(map(repr, kept.protected))
        detail += f". Sensitive columns that `l`, `t` or `alpha` protect ({names}) do not count here"
    yield warning(WarningCode.KEPT_BELOW_K, detail, "/spec/keep")


def _certain(spec: BoxesSpec, field: str, certain: Mapping[str, float]) -> Iterator[JobWarning]:
    for index, name in enumerate(getattr(spec, field)):
        if certain.get(name, 0.0) > 0.0:
            detail = (
                f"for a share of {certain[name]:.2g} of the rows the whole box has one value of {name!r}: anyone who "
                "knows that a person is in the box knows it. `l` with `sensitive` asks for variety"
            )
            yield warning(WarningCode.VALUES_CERTAIN, detail, pointer("spec", field, index))
