"""What composing needs of a release: its different rows as they were published, and how often each occurs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from app.contracts.columns import merged_values
from app.contracts.quasi_identifiers import Form, QuasiIdentifier, telling_boxes
from app.contracts.stored import StoredSpec
from workers.frames.columns import numeric_columns
from workers.frames.generalized import BOX, Meanings
from workers.frames.sets import MISSING

_ABOUT: Final = b"surebox"
_ROWS: Final = "\x1frows"
#: The method whose rows are places and scales.
_NOISE: Final = "uncertain"
#: What boxes of a survey state next to their bounds.
BOX_WEIGHTS: Final = "box_weights"
#: The method whose rows state the same wherever box and kept values are the same.
_BOXES: Final = "boxes"
#: Between the members of a set.
_BETWEEN: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class Ledger:
    """One release, reduced to its different rows.

    Attributes
    ----------
    path
        Where they are, under the names of the release's columns.
    method
        Of the release.
    columns
        By what a record's box is found; nothing of a release that is noise.
    names
        What was anonymized.
    keep
        Its kept columns.
    meanings
        How its values are read.
    uniform
        Whether its noise is uniform.
    box_means
        What its boxes state about the means of their records; `BOX_WEIGHTS`: the intervals of their weights.
    """

    path: Path
    method: str
    columns: tuple[QuasiIdentifier, ...]
    names: tuple[str, ...]
    keep: tuple[str, ...]
    meanings: Meanings
    uniform: bool
    box_means: str = "none"

    @property
    def regions(self) -> tuple[QuasiIdentifier, ...]:
        """Columns of the boxes, without kept values that count."""
        return tuple(one for one in self.columns if one.form is not Form.PLAIN)

    @property
    def counts_kept(self) -> bool:
        """Return whether k counts box and kept values together."""
        return len(self.regions) < len(self.columns)

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """How often each row occurs."""
        return numeric_columns(self.path, [_ROWS]).values[:, 0].astype(np.int64)


def is_read_alike(ledger: Ledger, copy: Path) -> bool:
    """Return whether a typed copy has the columns of a release, read as the same types: else none finds its box.

    Parameters
    ----------
    ledger, copy
        Of the release, and the copy.
    """
    released, there = pq.read_schema(ledger.path), pq.read_schema(copy)
    pairs = [(one.name, one.columns[0]) for one in ledger.columns] + [(name, name) for name in ledger.keep]
    return all(
        name in there.names
        and (column not in released.names or _sort(there.field(name).type) == _sort(released.field(column).type))
        for name, column in pairs
    )


def _sort(of: pa.DataType) -> str:
    """Numbers, or what values are else; of a list, its values."""
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_dictionary(of):
        return _sort(of.value_type)
    if pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of):
        return "number"
    return "text" if pa.types.is_string(of) or pa.types.is_large_string(of) else str(of)


def write_ledger(
    release: Path,
    target: Path,
    *,
    method: str,
    spec: Mapping[str, Any],
    merged_as: Mapping[str, str] | None = None,
) -> None:
    """Reduce a release to what composing needs of it.

    Parameters
    ----------
    release
        Its Parquet file.
    target
        Where to write.
    method, spec
        Of the job that made it.
    merged_as
        By column the word for values that its codebook does not list, as the release states it.
    """
    there = pq.read_schema(release).names
    made = StoredSpec.of(spec)
    names, keep = list(made.quasi_identifiers), [name for name in made.keep if name in there]
    if method == _NOISE:
        sides = [one for name in names for one in (name, f"{name}_scale")]
    else:
        sides = [one for identifier in telling_boxes(spec, there) for one in identifier.columns]
    box_means = content_of(spec)
    averages = [f"{name}_mean_{end}" for name in (*names, "weight") for end in ("lo", "hi") if box_means != "none"]
    shown = list(dict.fromkeys((*sides, *(name for name in averages if name in there), *keep)))
    rows, times = _different(release, shown, [BOX, *keep] if method == _BOXES else [])
    keys = pl.DataFrame([_compared(column).alias(str(place)) for place, column in enumerate(rows)])
    aggregates = (pl.col("row").first(), pl.col("rows").sum())
    counted = keys.with_columns(times).with_row_index("row").group_by(keys.columns).agg(*aggregates).sort(keys.columns)
    reduced = pl.DataFrame([*(column[counted["row"]] for column in rows), counted["rows"].alias(_ROWS)])
    about = {
        "method": method, "quasi_identifiers": names, "keep": keep, "k_counts_kept": made.k_counts_kept,
        "uniform": made.density == "uniform", "orders": made.ordinal, "merged": merged_values(spec, merged_as),
        "box_means": box_means,
    }  # fmt: skip
    made = reduced.to_arrow(compat_level=pl.CompatLevel.oldest())
    pq.write_table(made.replace_schema_metadata({_ABOUT: json.dumps(about)}), target, compression="zstd")


def _different(release: Path, shown: list[str], telling: list[str]) -> tuple[list[pl.Series], pl.Series]:
    """Columns of a release with each row once, or not much more often, and how often each occurs.

    Parameters
    ----------
    release
        Its Parquet file.
    shown
        The columns.
    telling
        Those of which the others are functions, which are quick to compare; none, and all rows are reported.
    """
    table = pq.read_table(release, columns=list(dict.fromkeys((*shown, *telling))))
    if telling:
        keys = pl.DataFrame([pl.Series(str(i), pl.from_arrow(table.column(name))) for i, name in enumerate(telling)])
        aggregates = (pl.col("row").first(), pl.len().cast(pl.Int64).alias("rows"))
        counted = keys.with_row_index("row").group_by(keys.columns).agg(*aggregates)
        table, times = table.take(counted["row"].to_arrow()), counted["rows"]
    else:
        times = pl.Series("rows", np.ones(len(table), dtype=np.int64))
    return [pl.Series(name, pl.from_arrow(table.column(name))) for name in shown], times


def _compared(series: pl.Series) -> pl.Series:
    """What distinguishes rows; sets as text, for lists have no order."""
    if not isinstance(series.dtype, pl.List):
        return series
    members = series.list.eval(pl.element().cast(pl.String).fill_null(MISSING))
    return members.list.join(_BETWEEN).alias(series.name)


def _cells(ledger: Path, kept: Sequence[str] = ()) -> pl.DataFrame:
    """Rows of each box, which its sides distinguish from others, and of each combination of kept values in it."""
    sides = [name for one in read_ledger(ledger).columns for name in one.columns]
    names = [*sides, *(name for name in kept if name not in sides)]
    table = pq.read_table(ledger, columns=[*names, _ROWS])
    columns = [_compared(pl.Series(name, pl.from_arrow(table.column(name)))) for name in names]
    renamed = [one.alias(f"{'side' if at < len(sides) else 'kept'} {at}") for at, one in enumerate(columns)]
    cells = pl.DataFrame(renamed)
    rows = pl.Series("rows", pl.from_arrow(table.column(_ROWS)))
    return cells.with_columns(rows).group_by(cells.columns).agg(pl.col("rows").sum())


def _sides(cells: pl.DataFrame) -> list[str]:
    return [name for name in cells.columns if name.startswith("side ")]


def smallest_box(ledger: Path) -> int:
    """Rows of the smallest box of a release."""
    return int(_cells(ledger)["rows"].min() or 0)  # type: ignore[arg-type]


def common_boxes(one: Path, other: Path) -> float:
    """Share of the boxes of the release that has fewer of them which the other one has too."""
    mine, theirs = _cells(one), _cells(other)
    if _sides(mine) != _sides(theirs) or mine.schema != theirs.schema or not len(mine) or not len(theirs):
        return 0.0
    return len(mine.join(theirs, on=_sides(mine), how="semi", nulls_equal=True)) / min(len(mine), len(theirs))


def same_rows(one: Path, other: Path) -> bool:
    """Whether two ledgers are of releases that state the same."""
    return bool(pq.read_table(one).equals(pq.read_table(other)))


def content_of(spec: Mapping[str, Any]) -> str:
    """What boxes of a release state about the means of their records; `BOX_WEIGHTS`: the intervals of their weights.

    Parameters
    ----------
    spec
        Of the job that made it.
    """
    made = StoredSpec.of(spec)
    if made.survey_weight_column is not None and made.released_weights == "box":
        return BOX_WEIGHTS
    return made.box_means


def read_ledger(path: Path) -> Ledger:
    """What `write_ledger` has written."""
    schema = pq.read_schema(path)
    about = json.loads(schema.metadata[_ABOUT])
    return Ledger(
        path=path,
        method=about["method"],
        columns=() if about["method"] == _NOISE else telling_boxes(about, schema.names),
        names=tuple(about["quasi_identifiers"]),
        keep=tuple(about["keep"]),
        meanings=Meanings(about["orders"], about["merged"]),
        uniform=about["uniform"],
        box_means=about["box_means"],
    )
