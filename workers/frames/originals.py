"""Records of an original as boxes of releases speak of them, each column of numbers read once for all of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from app.contracts.quasi_identifiers import Form
from workers.algorithms.tables.locating import locate, near
from workers.frames.generalized import Generalized, Meanings
from workers.frames.quasi_identifiers import members_of, ranked
from workers.frames.sets import MISSING

T = TypeVar("T", np.float64, np.int64)


class Originals:
    """The records of a typed copy, which releases place one after the other.

    They are looked at in an order in which near ones follow each other, so that the content of the memory's caches for
    one serves the next; places are reported in the file's order.

    Parameters
    ----------
    path
        The typed copy.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with pq.ParquetFile(path, pre_buffer=False) as file:
            self._rows: int = file.metadata.num_rows
        self._order: NDArray[np.int64] | None = None
        self._columns: dict[str, NDArray[np.float64]] = {}
        self._last: tuple[tuple[str, ...], NDArray[np.float64]] = ((), np.empty((self._rows, 0)))

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self._rows

    def places(self, boxes: Generalized, meanings: Meanings) -> NDArray[np.int64]:
        """The box of each record, shape (N,); -1 where there is none.

        Parameters
        ----------
        boxes
            Their columns are the original's.
        meanings
            How values are read.
        """
        numbers, codes = self._numbers(boxes, meanings), self._codes(boxes, meanings)
        located = locate(numbers, codes, boxes.lower, boxes.upper, boxes.sets)
        if self._order is None:
            return located
        places = np.empty_like(located)
        places[self._order] = located
        return places

    def _numbers(self, boxes: Generalized, meanings: Meanings) -> NDArray[np.float64]:
        """Shape (N, n), minus infinity where missing."""
        if any(name in meanings.orders for name in boxes.numeric):  # ranks are a release's own
            columns = [self._read(name, meanings.orders) for name in boxes.numeric]
            return self._in_order(np.column_stack(columns))
        if self._last[0] != boxes.numeric:
            self._keep([name for name in boxes.numeric if name not in self._columns])
            columns = [self._columns[name] for name in boxes.numeric]
            self._last = boxes.numeric, np.column_stack(columns) if columns else np.empty((self._rows, 0))
        return self._last[1]

    def _keep(self, names: list[str]) -> None:
        """Read columns; the first ones that are read decide the order."""
        columns = [self._read(name, {}) for name in names]
        if self._order is None and columns:
            self._order = near(columns)
        self._columns.update((name, self._in_order(one)) for name, one in zip(names, columns, strict=True))

    def _read(self, name: str, orders: Mapping[str, Sequence[Any]]) -> NDArray[np.float64]:
        with pq.ParquetFile(self._path, pre_buffer=False) as file:
            column = ranked(file.read(columns=[name]).column(name), orders.get(name))
        return np.where(np.isnan(column), -np.inf, column)

    def _codes(self, boxes: Generalized, meanings: Meanings) -> NDArray[np.int64]:
        """Codes in the books, shape (N, m): the book's length where missing, one more where no box has the value."""
        codes = np.empty((self._rows, len(boxes.nominal)), dtype=np.int64)
        if not boxes.nominal:
            return codes
        with pq.ParquetFile(self._path, pre_buffer=False) as file:
            table = file.read(columns=list(dict.fromkeys(boxes.nominal)))
        for j, name in enumerate(boxes.nominal):
            column_codes, members = members_of(table.column(name), Form.PLAIN)
            place = {value: code for code, value in enumerate(boxes.books[j])}
            strange = place.get(meanings.merged.get(name, MISSING), len(place) + 1)
            known = [place.get(next(iter(one)), strange) for one in members]
            codes[:, j] = np.array([*known, len(place)])[column_codes]
        return self._in_order(codes)

    def _in_order(self, values: NDArray[T]) -> NDArray[T]:
        return values if self._order is None else np.take(values, self._order, axis=0)
