"""What composing needs of a release, and of the records of today, as tables: bounds, counts, scales, kept classes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

_ABOUT: Final = b"surebox"
_JOINED: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class Ledger:
    """One release: its distinct rows, and how often each occurs.

    Attributes
    ----------
    method
        Of the release.
    columns
        Its quasi-identifiers; `sets` are those that are published as sets of values.
    keep
        Its kept columns.
    uniform
        Whether its noise is uniform.
    frame
        `lo`, `hi`, `set`, `z`, `scale` and `keep` with the column's place after each, and `rows`.
    """

    method: str
    columns: tuple[str, ...]
    sets: frozenset[str]
    keep: tuple[str, ...]
    uniform: bool
    frame: pl.DataFrame


def write_ledger(release: Path, target: Path, *, method: str, spec: Mapping[str, Any]) -> None:
    """Reduce a release to what composing needs of it.

    Parameters
    ----------
    release
        Its Parquet file.
    target
        Where to write.
    method, spec
        Of the job that made it.
    """
    frame = cast("pl.DataFrame", pl.from_arrow(pq.read_table(release)))
    columns, keep = tuple(spec["columns"]), tuple(name for name in spec.get("keep", ()) if name in frame.columns)
    sets = [name for name in columns if f"{name}_set" in frame.columns]
    wanted: dict[str, pl.Series] = {}
    for place, name in enumerate(columns):
        wanted |= _sides(frame, name, place)
    wanted |= {f"keep{place}": frame[name].cast(pl.String) for place, name in enumerate(keep)}
    made = pl.DataFrame([series.rename(name) for name, series in wanted.items()])
    counted = made.group_by(made.columns).agg(pl.len().cast(pl.Int64).alias("rows")).sort(made.columns)
    about = {
        "method": method, "columns": columns, "sets": sets, "keep": keep, "uniform": spec.get("model") == "uniform",
    }  # fmt: skip
    table = counted.to_arrow(compat_level=pl.CompatLevel.oldest())
    pq.write_table(table.replace_schema_metadata({_ABOUT: json.dumps(about)}), target, compression="zstd")


def _sides(frame: pl.DataFrame, name: str, place: int) -> dict[str, pl.Series]:
    if f"{name}_set" in frame.columns:
        sides = frame[f"{name}_set"]
        texts = sides.cast(pl.List(pl.String)).list.join(_JOINED) if isinstance(sides.dtype, pl.List) else sides
        return {f"set{place}": texts}
    if f"{name}_lo" in frame.columns:
        return {f"{end}{place}": _number(frame[f"{name}_{end}"]) for end in ("lo", "hi")}
    return {f"z{place}": _number(frame[name]), f"scale{place}": _number(frame[f"{name}_scale"])}


def _number(series: pl.Series) -> pl.Series:
    return (series.to_physical() if series.dtype == pl.Date else series).cast(pl.Float64)


def read_ledger(path: Path) -> Ledger:
    """What `write_ledger` has written."""
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[_ABOUT])
    return Ledger(
        method=about["method"],
        columns=tuple(about["columns"]),
        sets=frozenset(about["sets"]),
        keep=tuple(about["keep"]),
        uniform=about["uniform"],
        frame=cast("pl.DataFrame", pl.from_arrow(table.replace_schema_metadata(None))),
    )


def box_numbers(ledger: Ledger) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Box of each row of a ledger, and a row of each box."""
    sides = [name for name in ledger.frame.columns if name.startswith(("lo", "hi", "set"))]
    number = ledger.frame.select(pl.struct(sides).rank("dense").alias("box"))["box"].to_numpy().astype(np.int64) - 1
    return number, np.unique(number, return_index=True)[1]


def bounds(ledger: Ledger, rows: npt.NDArray[np.int64], kind: str) -> npt.NDArray[np.float64]:
    """Numbers of some rows, shape (rows, numeric columns); a missing one is minus infinity."""
    places = [place for place, name in enumerate(ledger.columns) if name not in ledger.sets]
    found = np.empty((len(rows), len(places)))
    for index, place in enumerate(places):
        found[:, index] = ledger.frame[f"{kind}{place}"].fill_nan(None).fill_null(-np.inf).to_numpy()[rows]
    return found


def value_sets(ledger: Ledger, rows: npt.NDArray[np.int64], name: str) -> list[list[str]]:
    """The values of a nominal column in some rows."""
    texts = ledger.frame[f"set{ledger.columns.index(name)}"].to_list()
    return [[] if texts[row] is None else texts[row].split(_JOINED) for row in rows.tolist()]


class Records:
    """The records of today, as far as releases of them are concerned."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.names = frozenset(pq.read_schema(path).names)
        self.rows: int = pq.read_metadata(path).num_rows
        self._read: dict[str, pl.Series] = {}

    def _column(self, name: str) -> pl.Series:
        if name not in self._read:
            with pq.ParquetFile(self._path, pre_buffer=False) as file:
                self._read[name] = pl.Series(pl.from_arrow(file.read(columns=[name]).column(name)))
        return self._read[name]

    def numbers(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """Values as doubles, shape (rows, columns); a missing one is minus infinity."""
        found = np.empty((self.rows, len(names)))
        for index, name in enumerate(names):
            found[:, index] = _number(self._column(name)).fill_nan(None).fill_null(-np.inf).to_numpy()
        return found

    def numbered(self, name: str, values: Mapping[str, int]) -> npt.NDArray[np.int64]:
        """Numbers of the values of a column by a table; what is not in it gets the number after the last."""
        texts = self._column(name).cast(pl.String)
        return texts.replace_strict(dict(values), default=len(values), return_dtype=pl.Int64).to_numpy()

    def texts(self, names: Sequence[str]) -> pl.Series:
        """Values of some columns as one text."""
        return joined([self._column(name) for name in names], self.rows)


def kept(ledger: Ledger, names: Sequence[str]) -> pl.Series:
    """Kept values of a ledger's rows, in some of its kept columns, as one text."""
    return joined([ledger.frame[f"keep{ledger.keep.index(name)}"] for name in names], ledger.frame.height)


def joined(columns: Sequence[pl.Series], rows: int) -> pl.Series:
    """Texts of several columns as one; a missing value is one of its own."""
    if not columns:
        return pl.Series([""] * rows, dtype=pl.String)
    texts = pl.DataFrame([column.cast(pl.String).fill_null("\x00").alias(str(i)) for i, column in enumerate(columns)])
    return texts.select(pl.concat_str(pl.all(), separator=_JOINED).alias("text"))["text"]


def codes(texts: Sequence[pl.Series]) -> list[npt.NDArray[np.int64]]:
    """Equal texts of whichever series get equal numbers."""
    numbers = pl.concat([one.alias("text") for one in texts]).rank("dense").to_numpy().astype(np.int64)
    ends = np.cumsum([len(one) for one in texts])
    return [numbers[end - len(one) : end] for one, end in zip(texts, ends, strict=True)]
