"""Columns that rows of a release have as they are, next to their boxes: boxes divided by these columns' values.

The rows of a box that agree in such columns are a part of it: its bounds are valid for the part, and the value of the
column is known of all its records. So a statistic of boxes and of columns next to them is one of the parts, each with
the column as an interval of one point or a set of one value, and its range is as certain as any other; of columns next
to boxes alone nothing is open. What a release states about a whole box is not true of its parts: neither that its
bounds are some record's, nor its means.

Where design weights are published of whole boxes, what a part weighs is not: rows of a box share its weight in unknown
parts. Then boxes stay whole, and a column next to them is bounded in each by its values there (`whole_boxes`): the
weighted law of a column in a box is some law on these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surebox_core.ends import inside
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import Meaning
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.boxes import ReleasedBoxes
from surebox_verify.released.codebooks import Codebook
from surebox_verify.released.intervals import is_within, number_of

_ROUNDED = 2.0**-50  # relative, upwards
_EXACT = 2.0**53  # whole numbers beyond it are no doubles
#: Values of a column that are distinguished where a question names none of them.
MOST_VALUES: Final = 1_000


@dataclass(frozen=True)
class Form:
    """How a column takes part in a question: as it is, by its values, or by whether its value is one of some.

    Attributes
    ----------
    name : of the column.
    by_value : whether a column of numbers is one of values.
    values, interval : whether its value is one of these; None where the question is not about this.
    step : of a column of the boxes, where it is known that its values are multiples of it.
    """

    name: str
    by_value: bool = False
    values: tuple[Any, ...] | None = None
    interval: tuple[Any, Any] | None = None
    step: float | None = None

    @property
    def is_condition(self) -> bool:
        """Whether the column becomes one that is true or false."""
        return self.values is not None or self.interval is not None


@dataclass(frozen=True)
class Beside:
    """A column of which every row has its value.

    Attributes
    ----------
    name : of the column.
    codes : (rows,), which of the values; -1 where it is missing.
    values : in ascending order.
    ends : (m,) each, of numbers and days each value as an interval, of one point but where no double has it; None of a
        column without numbers.
    points : (m,), numbers as they are, whole ones and days as whole numbers; None of a column without numbers.
    is_condition : whether it is one that is true or false because a question is about some of its values.
    """

    name: str
    codes: IntArray
    values: tuple[Any, ...]
    ends: tuple[FloatArray, FloatArray] | None
    points: FloatArray | IntArray | None = None
    is_condition: bool = False

    def by_place(self) -> "Beside":
        """The column with the place of each of its values in the value's stead."""
        place = np.arange(len(self.values), dtype=np.float64)
        return self if self.ends is None else replace(self, ends=(place, place))


def beside(kept: pa.Table, form: Form) -> Beside:
    """A column next to the boxes, in the form that a question takes it.

    Parameters
    ----------
    kept : the columns next to the boxes, a row for each of the release's.
    form : of one of them.

    Raises
    ------
    UnreadableError
        Its type is none that questions are about, or its values are not what a condition compares them with.
    """
    column = _plain(kept.column(form.name))
    if not (_is_numeric(column.type) or _is_nominal(column.type)):
        msg = f"column {form.name!r} has neither numbers, days, texts nor booleans"
        raise UnreadableError(msg)
    known = pc.unique(column).drop_null()
    order = pc.array_sort_indices(known)
    known = known.take(order)
    places = pc.index_in(column, value_set=known, skip_nulls=True)
    codes = np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    values = tuple(known.to_pylist())
    if form.is_condition:
        inside = _inside(form, values)
        truths = np.where(codes < 0, -1, np.append(inside, False)[codes])
        return Beside(form.name, truths, (False, True), None, is_condition=True)
    if not _is_numeric(column.type) or form.by_value:
        return Beside(form.name, codes, values, None)
    points = _points(known)
    return Beside(form.name, codes, values, _ends(points, rounded=pa.types.is_integer(column.type)), points)


def _inside(form: Form, values: Sequence[Any]) -> BoolArray:
    """(m,), which values a condition is about."""
    if form.interval is not None:
        if not all(_is_numeric_value(value) for value in values):
            msg = f"column {form.name!r} has no numbers and no days: name `values`, not an `interval`"
            raise UnreadableError(msg)
        return np.array([is_within(value, form.interval) for value in values], dtype=np.bool_)
    meant = Codebook(form.name, values, complete=True).all_of(form.values or ())
    if meant.sure != meant.perhaps:
        msg = f"a value fits several of column {form.name!r}: name each as it is written there"
        raise UnreadableError(msg)
    return np.isin(np.arange(len(values)), list(meant.sure))


def _is_numeric_value(value: Any) -> bool:
    return not isinstance(value, (bool, str))


def has_numbers(kept: pa.Table, name: str) -> bool:
    """Whether a column next to the boxes has numbers or days.

    Parameters
    ----------
    kept, name : the columns, and which of them.
    """
    return _is_numeric(_plain(kept.column(name)).type)


def number_of_values(kept: pa.Table, name: str) -> int:
    """How many values a column next to the boxes has, 0 of one that no question is about; as `has_numbers`."""
    column = _plain(kept.column(name))
    return len(pc.unique(column).drop_null()) if _is_numeric(column.type) or _is_nominal(column.type) else 0


def divided(boxes: ReleasedBoxes, columns: Sequence[Beside], own: Sequence[Form] = ()) -> ReleasedBoxes:
    """The boxes, divided by the values of columns next to them, with these columns after their own.

    Parameters
    ----------
    boxes : of a release; a design weight of a box counts as that of each of its records.
    columns : next to them.
    own : conditions on the boxes' own columns of numbers; each becomes one more column of truths.
    """
    codes = np.column_stack([boxes.of_row, *(column.codes for column in columns)])
    _, first, of_row, counts = np.unique(codes, axis=0, return_index=True, return_inverse=True, return_counts=True)
    parent = boxes.of_row[first]
    at = [column.codes[first] for column in columns]
    ends = [_taken(column, place) for column, place in zip(columns, at, strict=True) if column.ends is not None]
    sets = [
        np.equal(place[:, None], np.arange(len(column.values)))
        for column, place in zip(columns, at, strict=True)
        if column.ends is None
    ]
    survey = boxes.survey if boxes.survey_ends is None else 0.5 * (boxes.survey_ends[0] + boxes.survey_ends[1])
    parts = replace(
        boxes,
        lower=boxes.lower[parent],
        upper=boxes.upper[parent],
        counts=counts.astype(np.int64),
        sets=tuple(each[parent] for each in boxes.sets),
        means=None,
        survey=None if survey is None else survey[parent],
        survey_ends=None,
        of_row=of_row.reshape(-1).astype(np.int64),
        weights=None if boxes.weights is None else boxes.weights[parent],
    )
    return _with_columns(parts, columns, ends, sets, own)


def _taken(column: Beside, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """The values of some parts as intervals; NaN where they are missing."""
    low, high = column.ends or (np.empty(0), np.empty(0))
    return np.append(low, np.nan)[codes], np.append(high, np.nan)[codes]


def _with_columns(
    boxes: ReleasedBoxes,
    columns: Sequence[Beside],
    ends: Sequence[tuple[FloatArray, FloatArray]],
    sets: Sequence[BoolArray],
    own: Sequence[Form],
) -> ReleasedBoxes:
    """Boxes with more columns: those next to them, and conditions on their own."""
    numeric = [column for column in columns if column.ends is not None]
    nominal = [column for column in columns if column.ends is None]
    conditions = [_condition(boxes, form) for form in own]
    return replace(
        boxes,
        lower=np.ascontiguousarray(np.column_stack([boxes.lower, *(low for low, _ in ends)])),
        upper=np.ascontiguousarray(np.column_stack([boxes.upper, *(high for _, high in ends)])),
        sets=(*boxes.sets, *sets, *conditions),
        numeric=(*boxes.numeric, *(column.name for column in numeric)),
        nominal=(*boxes.nominal, *(column.name for column in nominal), *(form.name for form in own)),
        codebooks=(*boxes.codebooks, *(column.values for column in nominal), *((False, True) for _ in own)),
    )


def _condition(boxes: ReleasedBoxes, form: Form) -> BoolArray:
    """(B, 2), whether records of a box may be outside an interval, and inside it; neither where they have no value."""
    index = boxes.numeric.index(form.name)
    low, high = boxes.lower[:, index], boxes.upper[:, index]
    first, last = (None if end is None else number_of(end) for end in form.interval or (None, None))
    least, most = inside(first, last, form.step)
    meets = (low <= most) & (high >= least) & (least <= most)
    return np.column_stack([(low < least) | (high > most), meets])


def whole_boxes(boxes: ReleasedBoxes, columns: Sequence[Beside], own: Sequence[Form] = ()) -> ReleasedBoxes:
    """The boxes with columns next to them, each bounded by its values among the rows that have all of the columns.

    What these rows weigh of a box in which others lack a column is between nothing and all of it. Where one of the
    columns is a condition the bounds of the numbers are those of the rows that meet it: statistics are about these.

    Parameters
    ----------
    boxes : of a release with intervals of its boxes' weights.
    columns, own : as of `divided`; at most one of the columns is a condition.
    """
    number = len(boxes.counts)
    there = np.ones(len(boxes.of_row), dtype=np.bool_)
    for column in columns:
        there &= column.codes >= 0
    meets = there.copy()
    for column in columns:
        if column.is_condition:
            meets &= column.codes == 1
    rows = np.bincount(boxes.of_row[there], minlength=number)
    ends = [_bounds(boxes, column, there, meets) for column in columns if column.ends is not None]
    sets = [_held(boxes, column, there) for column in columns if column.ends is None]
    counts = np.where(rows > 0, rows, boxes.counts).astype(np.int64)
    low, high = boxes.survey_ends or (np.ones(number), np.ones(number))
    partly = rows < boxes.counts
    grown = np.where(partly, high * (boxes.counts / counts) * (1.0 + _ROUNDED), high)
    parts = replace(
        boxes, counts=counts, means=None, survey=None, survey_ends=(np.where(partly & (rows > 0), 0.0, low), grown)
    )
    return _with_columns(parts, columns, ends, sets, own)


def _bounds(boxes: ReleasedBoxes, column: Beside, there: BoolArray, meets: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest value of each box: of the rows that meet the condition where there is one."""
    number = len(boxes.counts)
    with_any = np.bincount(boxes.of_row[meets], minlength=number) > 0
    rows = np.where(with_any[boxes.of_row], meets, there)
    bounds = []
    value = _taken(column, column.codes)
    for which, end, start in ((np.minimum, value[0], np.inf), (np.maximum, value[1], -np.inf)):
        ends = np.full(number, start)
        which.at(ends, boxes.of_row[rows], end[rows])
        bounds.append(np.where(np.isfinite(ends), ends, np.nan))
    return bounds[0], bounds[1]


def _held(boxes: ReleasedBoxes, column: Beside, there: BoolArray) -> BoolArray:
    """(B, m), the values that rows of each box have."""
    held = np.zeros((len(boxes.counts), len(column.values)), dtype=np.bool_)
    held[boxes.of_row[there], column.codes[there]] = True
    return held


def meaning_of_parts(meaning: Meaning) -> Meaning:
    """The statement about the parts of boxes: nothing of their bounds; columns next to them are after the others."""
    return replace(meaning, attained=False)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """One array, as all of pyarrow takes it; a number that is none is missing."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type == pa.string_view() or pa.types.is_large_string(array.type):
        return array.cast(pa.string())
    if pa.types.is_timestamp(array.type) or pa.types.is_date64(array.type):
        return array.cast(pa.date32())
    if pa.types.is_floating(array.type):
        return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return array


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind))


def _is_nominal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_boolean(kind))


def _points(values: pa.Array) -> FloatArray | IntArray:
    """Values as doubles, or as whole numbers of 64 bits."""
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    is_real = pa.types.is_floating(values.type) or pa.types.is_uint64(values.type)  # no release has the latter
    return np.asarray(values.cast(pa.float64() if is_real else pa.int64(), safe=False).to_numpy(zero_copy_only=False))


def _ends(points: FloatArray | IntArray, *, rounded: bool) -> tuple[FloatArray, FloatArray]:
    """Values as intervals: of one point, but for whole numbers that no double is."""
    value = points.astype(np.float64)
    if not rounded:
        return value, value
    wide = np.abs(value) > _EXACT
    return np.where(wide, np.nextafter(value, -np.inf), value), np.where(wide, np.nextafter(value, np.inf), value)
