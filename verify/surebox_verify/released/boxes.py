"""A box release as the boxes it publishes: intervals of numbers, days and orders, sets of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.readings import Readings
from surebox_verify.released.listed import as_lists
from surebox_verify.released.orders import Order, orders_of

#: Ends of the interval that contains the mean weight of a box's records.
WEIGHT_ENDS: Final = ("weight_mean_lo", "weight_mean_hi")
WEIGHT: Final = "weight"
#: Values of ordinal columns in their order.
Orders: TypeAlias = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class ReleasedBoxes(PublishedBoxes):
    """Boxes of a release.

    Attributes
    ----------
    of_row : (rows,), box of each row.
    weights : (B,), weight of each record of a box; None where the release has none.
    numeric, nominal : names of the columns of `lower` and `upper`, and of `sets`. Days are numbers, counted from 1970;
        values of ordinal columns are what they count as.
    orders : of the ordinal columns, by name.
    codebooks : (d,), values of each nominal column, in the order of its set's columns; None is the missing one.
    """

    of_row: IntArray
    weights: FloatArray | None = None
    numeric: tuple[str, ...] = field(default=(), kw_only=True)
    nominal: tuple[str, ...] = field(default=(), kw_only=True)
    codebooks: tuple[tuple[Any, ...], ...] = field(default=(), kw_only=True)
    orders: Mapping[str, Order] = field(default_factory=dict, kw_only=True)

    @property
    def labels(self) -> tuple[tuple[float, ...] | None, ...]:
        """(n,), what the values of each ordinal column count as; None of the other numeric ones."""
        return tuple(self.orders[name].numbers if name in self.orders else None for name in self.numeric)

    @property
    def are_weighed(self) -> bool:
        """Return whether records weigh differently."""
        return super().are_weighed or self.weights is not None

    def values(self, name: str) -> Sequence[Any]:
        """Values of a nominal or an ordinal column, in the order of their codes; none of any other."""
        if name in self.nominal:
            return self.codebooks[self.nominal.index(name)]
        return self.orders[name].values if name in self.orders else ()

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        arrays = (self.lower, self.upper, self.counts, self.of_row, self.weights, *self.sets)
        return sum(array.nbytes for array in arrays if array is not None)

    def readings(self, meaning: Meaning) -> Readings:
        """The columns, ready for ranges.

        Parameters
        ----------
        meaning : what the release states about its bounds and columns.
        """
        return Readings(self, meaning, self.weights)


def read_boxes(
    path: Path,
    names: Sequence[str],
    *,
    weight: str | tuple[str, str] | None = None,
    orders: Orders | None = None,
    means: bool = False,
) -> ReleasedBoxes:
    """Read the boxes of a release.

    Parameters
    ----------
    path : the release's Parquet file.
    names : columns that were anonymized, in the order wanted; their sides are `<name>_lo` and `<name>_hi`, or
        `<name>_set`.
    weight : the column of the rows' weights, where the release is weighed, or both ends of their boxes' means.
    orders : of the ordinal columns.
    means : whether the release has means: a column with bounds has them in `<name>_mean_lo` and `<name>_mean_hi`.

    Raises
    ------
    ValueError
        A column that a release of boxes has is not there or is not what it has to be.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        schema = file.schema_arrow
        sets = [name for name in names if schema.get_field_index(f"{name}_set") >= 0]
        ends = [f"{name}_{end}" for end in ("lo", "hi") for name in names if name not in sets]
        weights = [weight] if isinstance(weight, str) else list(weight or ())
        wanted = ["box", *ends, *(f"{name}_set" for name in sets), *weights]
        averaged = [side for side in _mean_sides(names) if means and schema.get_field_index(side) >= 0]
        missing = [name for name in wanted if schema.get_field_index(name) < 0]
        if missing:
            msg = f"no column {missing[0]!r}: this is no release of boxes of {', '.join(names)}"
            raise ValueError(msg)
        table = file.read(columns=[*wanted, *averaged])
    return boxes_of(table, names, weight=weight, orders=orders, means=means)


def _mean_sides(names: Sequence[str]) -> list[str]:
    return [f"{name}_mean_{end}" for name in names for end in ("lo", "hi")]


def boxes_of(
    table: pa.Table,
    names: Sequence[str],
    *,
    weight: str | tuple[str, str] | None = None,
    orders: Orders | None = None,
    means: bool = False,
) -> ReleasedBoxes:
    """The boxes of a release whose rows are there already; as `read_boxes`."""
    number = _doubles(table, "box")
    _, first, of_row, counts = np.unique(number, return_index=True, return_inverse=True, return_counts=True)
    nominal = tuple(name for name in names if f"{name}_set" in table.column_names)
    numeric = tuple(name for name in names if name not in nominal)
    one_each = table.take(pa.array(first))
    counting = orders_of({name: values for name, values in (orders or {}).items() if name in numeric})
    bounds = []
    for end in ("lo", "hi"):
        ends = [_side(one_each, name, end, counting.get(name)) for name in numeric]
        bounds.append(np.column_stack(ends) if ends else np.empty((len(first), 0)))
    sets = [_sets(one_each, f"{name}_set") for name in nominal]
    weights, weight_ends = _weights(one_each, weight)
    return ReleasedBoxes(
        lower=np.ascontiguousarray(bounds[0]),
        upper=np.ascontiguousarray(bounds[1]),
        counts=counts.astype(np.int64),
        sets=tuple(matrix for matrix, _ in sets),
        means=_means(one_each, numeric) if means else None,
        of_row=of_row.astype(np.int64),
        weights=weights,
        survey_ends=weight_ends,
        numeric=numeric,
        nominal=nominal,
        codebooks=tuple(values for _, values in sets),
        orders=counting,
    )


def _weights(
    one_each: pa.Table, weight: str | tuple[str, str] | None
) -> tuple[FloatArray | None, tuple[FloatArray, FloatArray] | None]:
    """What the records of each box weigh, or the interval that contains their mean."""
    if weight is None:
        return None, None
    if isinstance(weight, str):
        return _doubles(one_each, weight), None
    low, high = (_doubles(one_each, name) for name in weight)
    if not (np.isfinite(high).all() and (low >= 0.0).all() and (low <= high).all() and (high > 0.0).all()):
        msg = "the intervals of the boxes' weights are none: their ends are at least 0, the upper above 0"
        raise ValueError(msg)
    return None, (low, high)


def taking_rows(boxes: ReleasedBoxes, rows: BoolArray) -> ReleasedBoxes:
    """Some rows and their boxes, with the codebooks of all.

    Parameters
    ----------
    boxes : of a release without means.
    rows : (rows,), which.
    """
    kept, of_row, counts = np.unique(boxes.of_row[rows], return_inverse=True, return_counts=True)
    ends = boxes.survey_ends
    return replace(
        boxes,
        lower=boxes.lower[kept],
        upper=boxes.upper[kept],
        counts=counts.astype(np.int64),
        sets=tuple(each[kept] for each in boxes.sets),
        of_row=of_row.astype(np.int64),
        weights=None if boxes.weights is None else boxes.weights[kept],
        survey_ends=None if ends is None else (ends[0][kept], ends[1][kept]),
    )


def weight_of(parameters: Mapping[str, Any], columns: Mapping[str, str]) -> str | tuple[str, str] | None:
    """The column of the rows' weights, of rare records or of a survey; None where all rows count 1.

    Where boxes of a survey have an interval that contains the mean weight of their records, its two ends.

    Parameters
    ----------
    parameters : how the release was made, as far as that is public.
    columns : type of each column of its files, by name.
    """
    survey = parameters.get("survey_weight_column") is not None
    if parameters.get("rare_records") != "weigh" and not survey:
        return None
    own = columns.keys() - {*(parameters.get("keep") or ()), *_bounds(parameters)}
    return WEIGHT_ENDS if survey and parameters.get("released_weights") != "row" and set(WEIGHT_ENDS) <= own else WEIGHT


def _bounds(parameters: Mapping[str, Any]) -> set[str]:
    """Names of the bounds of the columns that were anonymized: one may be called `weight_mean`."""
    return {f"{name}_{end}" for name in parameters.get("quasi_identifiers") or () for end in ("lo", "hi")}


def weight_columns(parameters: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that state what rows weigh.

    Parameters
    ----------
    parameters : how the release was made, as far as that is public.
    columns : type of each column of its files, by name.
    """
    weight = weight_of(parameters, columns)
    return () if weight is None else (weight,) if isinstance(weight, str) else weight


def meaning_of(parameters: Mapping[str, Any], columns: Mapping[str, str]) -> Meaning:
    """What a release states about its bounds, next to the boxes.

    Parameters
    ----------
    parameters : how it was made, as far as that is public.
    columns : type of each column of its files, by name.
    """
    names = [name for name in parameters.get("quasi_identifiers", ()) if f"{name}_lo" in columns]
    steps = tuple(_step(name, columns[f"{name}_lo"], parameters) for name in names)
    orders = orders_of({name: values for name, values in (parameters.get("ordinal") or {}).items() if name in names})
    labels = tuple(orders[name].numbers if name in orders else None for name in names)
    # where boxes have one weight, the mean's or its interval, a record of that weight may be at neither end
    of_boxes = parameters.get("survey_weight_column") is not None and parameters.get("released_weights") != "row"
    return Meaning(
        parameters.get("bounds") == "tight" and not of_boxes, steps, least=int(parameters.get("k") or 0), labels=labels
    )


def has_means(parameters: Mapping[str, Any]) -> bool:
    """Whether boxes of a release have their records' means, or intervals for them.

    Parameters
    ----------
    parameters : how it was made, as far as that is public.
    """
    return bool(parameters.get("box_means", "none") != "none")


def _step(name: str, column: str, parameters: Mapping[str, Any]) -> float | None:
    """Number whose multiples the values of a column are, as far as that is stated; those of an order are listed."""
    if name in (parameters.get("ordinal") or {}):
        return None
    grid = (parameters.get("value_step") or {}).get(name) if parameters.get("bounds") != "grid" else None
    whole = {"integer": 1.0, "date": 1.0}.get(column)
    return whole if grid is None else float(grid)


def _side(table: pa.Table, name: str, end: str, order: Order | None) -> FloatArray:
    """(B,), one end of a column's interval; NaN where a box has none."""
    if order is None:
        return _doubles(table, f"{name}_{end}")
    column = table.column(f"{name}_{end}")
    labels: FloatArray
    if not order.by_rank and _is_counted(column.type):
        labels = _doubles(table, f"{name}_{end}")
        strange = int(np.count_nonzero(~np.isnan(labels) & ~np.isin(labels, order.numbers)))
    else:
        places = pc.index_in(column, value_set=pa.array(order.values).cast(column.type))
        labels = pa.chunked_array([pa.array(order.numbers)]).take(places).to_numpy()
        strange = places.null_count - column.null_count
    if strange:
        msg = f"column '{name}_{end}' has a value that its order does not list"
        raise ValueError(msg)
    return labels


def _is_counted(kind: pa.DataType) -> bool:
    """Return whether a column has numbers or days, not texts of them."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind))


def _means(table: pa.Table, names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """(B, n) each, ends of the intervals of means; NaN where a box, or a whole column, has none."""
    ends = []
    for end in ("lo", "hi"):
        means = np.full((table.num_rows, len(names)), np.nan)
        for index, name in enumerate(names):
            if f"{name}_mean_{end}" in table.column_names:
                means[:, index] = _doubles(table, f"{name}_mean_{end}")
        ends.append(means)
    return ends[0], ends[1]


def _doubles(table: pa.Table, name: str) -> FloatArray:
    column = table.column(name)
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    if not _is_counted(column.type):
        msg = f"column {name!r} is not numeric"
        raise ValueError(msg)
    values: FloatArray = column.cast(pa.float64(), safe=False).to_numpy()
    return values


def _sets(table: pa.Table, name: str) -> tuple[BoolArray, tuple[Any, ...]]:
    """Which values each box has, (B, m), and the values: those that any box has, in ascending order, missing last."""
    lists = as_lists(table.column(name), name)
    encoded = pc.dictionary_encode(lists.flatten(), null_encoding="encode")
    values = encoded.dictionary.to_pylist()
    ranked = sorted((code for code in range(len(values)) if values[code] is not None), key=values.__getitem__)
    ranked += [code for code in range(len(values)) if values[code] is None]
    place = np.empty(len(values), dtype=np.int64)
    place[ranked] = np.arange(len(values))
    sets = np.zeros((len(lists), len(values)), dtype=np.bool_)
    sets[pc.list_parent_indices(lists).to_numpy(), place[encoded.indices.to_numpy()]] = True
    return sets, tuple(values[code] for code in ranked)
