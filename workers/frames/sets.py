"""Columns of lists as codes of sets: which of the different sets each row has."""

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from workers.frames.codes import Codes, coded

#: The missing value as a member of a set; no text of a table is it.
MISSING: Final = "\x00"


def coded_sets(column: pa.ChunkedArray) -> tuple[Codes, list[frozenset[str]]]:
    """Equal codes for lists of the same members, however they are ordered; and the members of each code, as text.

    Parameters
    ----------
    column
        Of lists of plain values.

    Returns
    -------
    codes
        Shape (rows,); -1 where there is no list.
    members
        Of each code, `MISSING` among them where a list has a missing value; an empty list is one empty text.

    Notes
    -----
    O(L log L) for L members in all.
    """
    whole = column.cast(pa.large_list(column.type.value_type)).combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(whole), 0).to_numpy().astype(np.int64)
    place, texts = _values(whole.flatten())
    row, place = _ascending(np.repeat(np.arange(len(lengths)), lengths), place)
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(lengths)))]).astype(np.int64)
    there = None if whole.null_count == 0 else pa.py_buffer(np.packbits(pc.is_valid(whole), bitorder="little"))
    buffers = [there, pa.py_buffer(ends * place.itemsize), pa.py_buffer(place)]
    encoded = coded(pa.chunked_array([pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers)]))
    held = [np.frombuffer(each, dtype=place.dtype).tolist() for each in encoded.values.to_pylist()]
    return encoded.codes, [frozenset(texts[one] for one in each) or frozenset({""}) for each in held]


def _values(flat: pa.Array) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """The place of each member among the different ones, in the order of their texts; and these texts."""
    encoded = pc.dictionary_encode(flat, null_encoding="mask")
    given = pl.Series(pl.from_arrow(encoded.dictionary)).cast(pl.String).to_list()
    texts = sorted({*given, MISSING})
    of_text = {text: place for place, text in enumerate(texts)}
    places = np.array([*(of_text[text] for text in given), of_text[MISSING]], dtype=">u4")  # bytes in the same order
    return places[pc.fill_null(encoded.indices, len(given)).to_numpy(zero_copy_only=False)], texts


def _ascending(
    row: npt.NDArray[np.int64], place: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Members in order, row by row, each once."""
    same, step = row[1:] == row[:-1], np.diff(place.astype(np.int64))
    if (step[same] > 0).all():
        return row, place
    order = np.lexsort((place, row))
    row, place = row[order], place[order]
    new = np.ones(len(row), dtype=np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (place[1:] != place[:-1])
    return row[new], place[new]
