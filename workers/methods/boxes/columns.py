"""The columns of a box release: two ends of ordered values, sets of others, each in the column's own type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import ColumnKind, typed_values
from app.contracts.datasets import ColumnType
from app.methods.boxes.result import LeastWidth
from app.methods.boxes.spec import BoxesSpec, BoxMeans
from surebox_core.types import BoolArray, FloatArray
from surebox_verify.released.boxes import WEIGHT_ENDS
from surebox_verify.released.orders import Order, orders_of
from workers.algorithms.boxes.sides import Boxes
from workers.frames.rows import Taken
from workers.frames.values import lists, taken, texts, whole_numbers
from workers.methods.boxes.codebooks import Codebook


@dataclass(frozen=True, slots=True)
class Shown:
    """How the columns of a specification are shown: kinds and types by name, codebooks of the nominal ones."""

    spec: BoxesSpec
    kinds: Mapping[str, ColumnKind]
    types: Mapping[str, ColumnType]
    books: Mapping[str, Codebook]
    #: Least widths of the columns with two ends.
    widths: Mapping[str, LeastWidth] = field(default_factory=dict)

    @property
    def numeric(self) -> list[str]:
        """Columns with two ends, in the specification's order."""
        return [name for name in self.spec.quasi_identifiers if self.kinds[name] is not ColumnKind.NOMINAL]

    @property
    def averaged(self) -> list[str]:
        """Those of them whose boxes have intervals for their records' mean: ranks, and uneven numbers, have none."""
        if self.spec.box_means is BoxMeans.NONE:
            return []
        orders = self.orders
        return [name for name in self.numeric if name not in orders or orders[name].has_means]

    @property
    def orders(self) -> dict[str, Order]:
        """Numbers that the values of the ordinal columns count as."""
        return orders_of({name: self.spec.ordinal[name] for name in self.numeric if name in self.spec.ordinal})

    @property
    def nominal(self) -> list[str]:
        """Columns with sets, in the specification's order."""
        return [name for name in self.spec.quasi_identifiers if self.kinds[name] is ColumnKind.NOMINAL]


def release_columns(
    shown: Shown,
    boxes: Boxes,
    weights: FloatArray | None,
    of_row: NDArray[np.signedinteger],
    core: BoolArray | None = None,
    *,
    numbers: NDArray[np.signedinteger] | None = None,
) -> dict[str, Any]:
    """One row a record: its box, the sides of the box, and what each of its records weighs.

    Parameters
    ----------
    shown
        The columns.
    boxes
        In the specification's order.
    weights
        Of a record of each box, shape (B,); None where records are not weighed. Where the boxes have intervals that
        contain it, these are shown.
    of_row
        Box of each row.
    core
        Whether each box is of the core; None where boxes are not marked.
    numbers
        Of the boxes; None: from 1.
    """
    numbered = np.arange(1, len(boxes.counts) + 1) if numbers is None else numbers
    columns: dict[str, Any] = {"box": Taken(numbered, of_row)}
    numeric, nominal = shown.numeric, shown.nominal
    for name in shown.spec.quasi_identifiers:
        if name in numeric:
            index = numeric.index(name)
            columns[f"{name}_lo"] = Taken(_ends(shown, name, boxes.lower[:, index]), of_row)
            columns[f"{name}_hi"] = Taken(_ends(shown, name, boxes.upper[:, index]), of_row)
            if boxes.means is not None and name in shown.averaged:
                columns[f"{name}_mean_lo"] = Taken(boxes.means[0][:, index], of_row)
                columns[f"{name}_mean_hi"] = Taken(boxes.means[1][:, index], of_row)
        else:
            columns |= _sets(shown.books[name], name, boxes.sets[nominal.index(name)], of_row)
    if boxes.survey_ends is not None:
        columns |= {name: Taken(ends, of_row) for name, ends in zip(WEIGHT_ENDS, boxes.survey_ends, strict=True)}
    elif weights is not None:
        columns["weight"] = Taken(weights, of_row)
    if core is not None:
        columns["core"] = Taken(core, of_row)
    return columns


def release_types(shown: Shown) -> dict[str, str]:
    """Types of the columns that a release has or may have."""
    types = {"box": "integer", "weight": "number", "core": "boolean", **dict.fromkeys(WEIGHT_ENDS, "number")}
    for name in shown.spec.quasi_identifiers:
        if shown.kinds[name] is ColumnKind.NOMINAL:
            types |= {name: "string", f"{name}_set": "list"}
        else:
            types |= {f"{name}_{end}": _type(shown, name) for end in ("lo", "hi")}
            types |= {f"{name}_mean_{end}": "number" for end in ("lo", "hi") if name in shown.averaged}
    return types | {name: str(shown.types[name]) for name in shown.spec.keep}


def _type(shown: Shown, name: str) -> str:
    return "number" if shown.kinds[name] is ColumnKind.NUMBER else str(shown.types[name])


def _ends(shown: Shown, name: str, ends: FloatArray) -> Any:
    """Bounds in the column's type; missing where a box has none."""
    kind, column = shown.kinds[name], shown.types[name]
    if kind is ColumnKind.NUMBER:
        return ends
    if kind is ColumnKind.ORDINAL:
        labels = shown.orders[name].numbers
        places = np.where(np.isnan(ends), np.nan, np.searchsorted(labels, ends))
        return taken(typed_values(shown.spec.ordinal[name], column), column, places)
    return whole_numbers(ends, column)


def _sets(book: Codebook, name: str, sets: BoolArray, of_row: NDArray[np.signedinteger]) -> dict[str, Taken]:
    """The set of each box, and its node in the hierarchy; few sets are many boxes'."""
    packed = np.packbits(sets, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    distinct: BoolArray = np.take(sets, first, axis=0)
    places = which.reshape(-1)
    rows: list[list[bool]] = distinct.tolist()
    held = [[value for value, is_in in zip(book.values, row, strict=True) if is_in] or None for row in rows]
    columns = {f"{name}_set": Taken(lists(held, book.type), of_row, places)}
    if book.tree is None:
        return columns
    present = distinct.sum(axis=1) > 0
    nodes = book.tree.covering(distinct | ~present[:, None])
    labels = [book.labels[node] if is_in else None for node, is_in in zip(nodes, present.tolist(), strict=True)]
    return {name: Taken(texts(labels), of_row, places)} | columns
