"""Cells as keyed hashes, by which the same data are recognised.

Of these sketches keep some: hashes of some values of each column, and a byte of each cell of some rows. Equal cells
show in them, so they are personal data and stored encrypted (`app.secrets.keep.seal_sketch`).
"""

import hashlib
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from workers.frames.codes import in_codes

Hashes = npt.NDArray[np.uint64]

#: Bits of a missing number: a NaN that no computation makes.
_MISSING: Final = np.uint64(0x7FF8_5375_7265_626F)
#: Texts that read as numbers.
_NUMBER: Final = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
#: Decimals up to which numbers are in steps.
_DECIMALS: Final = 7
#: Share of neighbours with the same step, from which on ids are given in turn; characters of an id that are looked at.
_FREQUENT: Final = 0.05
_PLACES: Final = 40
#: Cells that are read from a file at once: each reading has a price of its own, and columns are large.
_AT_ONCE: Final = 1 << 18
#: Whole numbers up to which doubles are exact, and how far a product with a power of ten may be off.
_EXACT: Final = 2.0**53
_ROUNDING: Final = 1e-6


def cell_hashes(path: Path, names: Iterable[str] | None = None, *, key: bytes) -> dict[str, Hashes]:
    """Hash each cell of columns, shape (rows,) each: of numbers their bits, of all else a keyed hash of their text.

    Parameters
    ----------
    path
        The typed copy. It is opened once: to open it is to read the description of all its columns.
    names
        The columns; None for all. A whole number is the same number in a column of either type, and zero has no sign.
    key
        The owner's.
    """
    with in_codes(path) as file:
        wanted = list(file.schema_arrow.names if names is None else names)
        step = max(1, _AT_ONCE // max(1, file.metadata.num_rows))
        parts = (wanted[at : at + step] for at in range(0, len(wanted), step))
        read = (column for part in parts for column in file.read(columns=part).select(part).columns)
        return {name: hashes_of(column.combine_chunks(), key=key) for name, column in zip(wanted, read, strict=True)}


def hashes_of(column: pa.Array, *, key: bytes) -> Hashes:
    """Hash each cell of a column that is in memory."""
    if not pa.types.is_dictionary(column.type) and (cells := pl.Series(pl.from_arrow(column))).dtype.is_numeric():
        return _bits(cells)
    coded = column.dictionary_encode()
    texts = pl.Series(pl.from_arrow(coded.dictionary)).cast(pl.String)
    hashed = np.array(
        [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest()) for text in texts], np.uint64
    )
    numbers = texts.str.contains(_NUMBER)
    if numbers.any():  # a code is the same whether it was read as a text or as a number
        hashed = np.where(numbers.to_numpy(), _bits(texts.cast(pl.Float64, strict=False)), hashed)
    codes = coded.indices.fill_null(len(hashed)).to_numpy(zero_copy_only=False)
    hashes: Hashes = np.append(hashed, _MISSING)[codes]
    return hashes


def _bits(numbers: pl.Series) -> Hashes:
    """The bits of numbers, one zero and one missing number among them."""
    floats = numbers.cast(pl.Float64).to_numpy() + 0.0
    bits: Hashes = np.where(np.isnan(floats), _MISSING, floats.view(np.uint64))
    return bits


def lattice_of(values: pl.Series) -> float:
    """Count the numbers between the least and the greatest, in steps of the greatest that divides all differences.

    Parameters
    ----------
    values
        The different values of a column. Days are counted, and of texts the digits after what all begin with.

    Returns
    -------
    float
        Infinity where values are no such numbers.
    """
    whole = _in_steps(values)
    return math.inf if whole is None else float(whole[-1] - whole[0] + 1)


def space_of(values: pl.Series) -> float:
    """Count the ids that there could be where these were drawn at random; 0 where they were not.

    Parameters
    ----------
    values
        The different values of a column.

    Returns
    -------
    float
        Of numbers and texts with a number the lattice, unless a step between neighbours is frequent, as it is where ids
        are given in turn; of other texts that have a digit each the product of the characters of each place.
    """
    whole = _in_steps(values)
    if whole is not None:
        steps = np.unique(np.diff(whole), return_counts=True)[1]
        return float(whole[-1] - whole[0] + 1) if steps.max(initial=0) <= _FREQUENT * len(whole) else 0.0
    texts = values.cast(pl.String)
    if values.dtype.is_numeric() or values.dtype == pl.Date or not texts.str.contains(r"\d").all():
        return 0.0
    places = range(min(_PLACES, int(texts.str.len_chars().max() or 0)))  # type: ignore[arg-type]
    return math.prod(float(texts.str.slice(at, 1).n_unique()) for at in places)


def _in_steps(values: pl.Series) -> npt.NDArray[np.int64] | None:
    """The numbers that values are, ascending, in steps of the greatest that divides all differences."""
    if values.dtype == pl.Date:
        values = values.to_physical()
    elif not values.dtype.is_numeric():
        texts = values.cast(pl.String)
        start = len(os.path.commonprefix([str(texts.min()), str(texts.max())]))  # noqa: RUF071 - of texts
        ends = texts.str.slice(start)
        if not ends.str.contains(r"^\d{0,15}$").all():
            return None
        values = ends.str.replace(r"^$", "0").cast(pl.Int64)
    numbers = values.cast(pl.Float64).to_numpy()
    scaled = next((x for x in (numbers * 10.0**digits for digits in range(_DECIMALS)) if _whole(x)), None)
    if scaled is None or not len(scaled):
        return None
    whole = np.sort(np.rint(scaled)).astype(np.int64)
    step = int(np.gcd.reduce(np.diff(whole))) if len(whole) > 1 else 1
    in_steps: npt.NDArray[np.int64] = (whole - whole[0]) // max(step, 1)
    return in_steps


def _whole(numbers: npt.NDArray[np.float64]) -> bool:
    """Return whether numbers are whole, as far as doubles go."""
    return bool((np.abs(numbers) < _EXACT).all() and (np.abs(numbers - np.rint(numbers)) <= _ROUNDING).all())


def counts(cells: Hashes) -> npt.NDArray[np.int64]:
    """How often each value of a column occurs."""
    return np.unique(cells, return_counts=True)[1].astype(np.int64)


def fingerprint(cells: Hashes, *, key: bytes) -> str | None:
    """Keyed fingerprint of a column as a multiset; None for one that many datasets share: constants, row numbers."""
    ordered = np.sort(cells)
    if len(ordered) < 2 or ordered[0] == ordered[-1] or _numbers_rows(ordered):
        return None
    return hashlib.blake2b(ordered.astype("<u8").tobytes(), digest_size=20, key=key).hexdigest()


def _numbers_rows(ordered: Hashes) -> bool:
    """Whether the cells are consecutive whole numbers, each once."""
    numbers = np.sort(ordered.view(np.float64))
    return bool(np.isfinite(numbers).all() and (np.diff(numbers) == 1.0).all() and numbers[0] == np.floor(numbers[0]))


def columns_of(path: Path) -> list[str]:
    """Names of the columns of a typed copy."""
    schema: pa.Schema = pq.read_schema(path)
    return list(schema.names)
