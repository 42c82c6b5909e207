"""Columns that would betray an exchange of regions: a county within a region, a household that lives in one.

Where a column is (nearly) decided by the region, or the region by the column, a record whose region was exchanged is a
combination that the data did not have.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

#: What may stay undecided, as a share of what would be without the other column.
_UNDECIDED: Final = 0.01
_BEFORE, _AFTER, _OTHER, _LEN = "\x00before", "\x00after", "\x00other", "\x00len"


def inconsistent_dependencies(
    path: Path,
    columns: Sequence[str],
    region_columns: Sequence[str],
    positions: npt.NDArray[np.int64],
    *,
    tick: Callable[[float], None],
) -> dict[str, int]:
    """Columns that depend on the region, or it on them, and how many rows contradict that after the exchange.

    Parameters
    ----------
    path
        The typed copy.
    columns
        The other published columns.
    region_columns
        Columns that make a region.
    positions
        Row whose region each row gets, shape (rows,).
    tick
        Called with the share that is done.
    """
    before = _region_codes(path, region_columns)
    moved = np.flatnonzero(before != before[positions])
    contradictions = {}
    for index, name in enumerate(columns):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            other = cast("pl.Series", pl.from_arrow(file.read(columns=[name]).column(name)))
        frame = pl.DataFrame({_BEFORE: before, _AFTER: before[positions], _OTHER: other}).with_row_index()
        known = frame.drop_nulls(_OTHER)
        if _decides(known, _BEFORE, _OTHER) or _decides(known, _OTHER, _BEFORE):
            shown = known.filter(pl.col("index").is_in(moved)).join(
                known.select(_BEFORE, _OTHER).unique(), left_on=[_AFTER, _OTHER], right_on=[_BEFORE, _OTHER], how="anti"
            )
            if shown.height:
                contradictions[name] = shown.height
        tick((index + 1) / len(columns))
    return contradictions


def _region_codes(path: Path, region_columns: Sequence[str]) -> npt.NDArray[np.int64]:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read(columns=list(region_columns))
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for name in region_columns:
        column = cast("pl.Series", pl.from_arrow(table.column(name)))
        ranks = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        codes = np.unique(codes * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)[1]
    return codes


def _decides(frame: pl.DataFrame, one: str, other: str) -> bool:
    """Whether values of one column that occur more than once leave (nearly) nothing open about the other."""
    repeated = frame.filter(pl.len().over(one) > 1)
    if not repeated.height:
        return False
    pairs = repeated.group_by(one, other).len(_LEN)
    agreeing = pairs.group_by(one).agg(pl.col(_LEN).max())[_LEN].sum()
    alone = int(cast("int", repeated.group_by(other).len(_LEN)[_LEN].max()))
    return repeated.height - agreeing <= _UNDECIDED * (repeated.height - alone) and alone < repeated.height
