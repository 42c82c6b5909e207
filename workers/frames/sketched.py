"""Tables as they are compared with others (`algorithms.tables.recognition`), and their sketches as bytes."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from app.methods.table.whose_rows import is_called_id
from surebox_core.types import IntArray
from workers.algorithms.tables.identified import PersonSketch, person_sketch
from workers.algorithms.tables.recognition import Table
from workers.algorithms.tables.sketches import ColumnSketch, Kind, RowSample, TableSketch, Words, hashed_column
from workers.algorithms.tables.splits import Cells
from workers.frames.codes import in_codes
from workers.frames.hashed_cells import cell_hashes, hashes_of, lattice_of, space_of

_ABOUT: Final = "about"
#: The beginning of an archive.
_ARCHIVE: Final = b"PK\x03\x04"


def hashed_table(path: Path, *, key: bytes) -> Table:
    """Hash all columns of a typed copy.

    Parameters
    ----------
    path
        The typed copy.
    key
        The owner's.
    """
    cells = cell_hashes(path, key=key)
    words = key_words(key)
    return Table([
        hashed_column(
            name, cells.pop(name), lambda name=name: lattice_of(_values(path, name)), key=words,  # type: ignore[misc]
            space=(lambda name=name: space_of(_values(path, name))) if is_called_id(name) else None,  # type: ignore[misc]
        )
        for name in sorted(cells)
    ])  # fmt: skip


def hashed_frame(frame: pl.DataFrame, *, key: bytes) -> Table:
    """The same of a table in memory."""
    words = key_words(key)
    return Table([
        hashed_column(
            one.name, hashes_of(one.rechunk().to_arrow(), key=key),
            lambda one=one: lattice_of(one.drop_nulls().unique()), key=words,  # type: ignore[misc]
            space=(lambda one=one: space_of(one.drop_nulls().unique())) if is_called_id(one.name) else None,  # type: ignore[misc]
        )
        for one in sorted(frame, key=lambda one: one.name)
    ])  # fmt: skip


def sketched_persons(path: Path, person: str, *, key: bytes) -> PersonSketch:
    """Sketch the persons of a typed copy.

    Parameters
    ----------
    path, key
        As of `hashed_table`.
    person
        The column that states whose each record is.
    """
    columns = {one.sketch.name: one for one in hashed_table(path, key=key).columns}
    with pq.ParquetFile(path, pre_buffer=False) as file:
        ids = pl.Series(pl.from_arrow(file.read(columns=[person]).column(person).combine_chunks()))
    return person_sketch(
        columns.pop(person), list(columns.values()), order=_order(ids), lattice=lattice_of(ids.drop_nulls().unique())
    )


def _order(ids: pl.Series) -> IntArray:
    """The records in the order of their ids: of texts the shorter first, so that numbers in them follow each other."""
    texts = ids.cast(pl.String)
    keys = pl.DataFrame({"first": ids if ids.dtype.is_numeric() else texts.str.len_bytes(), "then": texts})
    by = pl.arg_sort_by("first", "then", maintain_order=True)
    order: IntArray = keys.select(by.alias("order"))["order"].to_numpy().astype(np.int64)
    return order


def key_words(key: bytes) -> Words:
    """The words of a key that rows are hashed by."""
    return np.frombuffer(key[:16], "<u8").astype(np.uint64)


def _values(path: Path, name: str) -> pl.Series:
    """The different values of a column."""
    with in_codes(path) as file:
        column = file.read(columns=[name]).column(name).combine_chunks()
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    return pl.Series(pl.from_arrow(values)).drop_nulls().unique()


def packed(sketch: TableSketch) -> bytes:
    """A sketch as bytes: what its arrays are, and these one after the other, compressed."""
    persons = {at: one.persons for at, one in enumerate(sketch.columns) if one.persons is not None}
    about = json.dumps({
        "rows": sketch.rows,
        "persons": [[at, len(one)] for at, one in persons.items()],
        "columns": [[one.name, int(one.kind), one.values, len(one.least.hashes)] for one in sketch.columns],
        "samples": [[list(one.anchor), one.below, *one.codes.shape, len(one.without)] for one in sketch.samples],
    }).encode()  # fmt: skip
    arrays: list[NDArray[Any]] = [one.least.hashes.astype("<u4") for one in sketch.columns]
    arrays += [one.least.counts.astype("<u4") for one in sketch.columns]
    for sample in sketch.samples:
        arrays += [sample.codes.T, sample.without.astype("<u8")]
    arrays += [one.astype("<u4") for one in persons.values()]
    body = b"".join([len(about).to_bytes(4, "little"), about, *(one.tobytes() for one in arrays)])
    return len(body).to_bytes(4, "little") + bytes(pa.compress(body, codec="zstd", asbytes=True))


def unpacked(body: bytes) -> TableSketch:
    """Read what `packed` has written, or an archive, as sketches were before."""
    if body.startswith(_ARCHIVE):
        return _from_archive(body)
    size = int.from_bytes(body[:4], "little")
    whole = pa.decompress(body[4:], decompressed_size=size, codec="zstd", asbytes=True)
    at = 4 + int.from_bytes(whole[:4], "little")
    about = json.loads(whole[4:at])

    def read(dtype: str, count: int) -> NDArray[Any]:
        nonlocal at
        read = np.frombuffer(whole, dtype, count, at)
        at += read.nbytes
        return read

    ends = np.cumsum([0, *(length for *_, length in about["columns"])]).tolist()
    hashes, counts = read("<u4", ends[-1]).astype(np.uint64), read("<u4", ends[-1]).astype(np.int64)
    columns = tuple(
        ColumnSketch(name, Kind(kind), values, Cells(hashes[first:end], counts[first:end]))
        for (name, kind, values, _), first, end in zip(about["columns"], ends, ends[1:], strict=False)
    )
    samples = []
    for anchor, below, rows, width, without in about["samples"]:
        codes = read("u1", rows * width).reshape(width, rows).T
        samples.append(RowSample(tuple(anchor), below, read("<u8", without).astype(np.uint64), codes))
    persons = {at: read("<u4", length).astype(np.uint64) for at, length in about.get("persons", [])}
    if persons:
        columns = tuple(replace(one, persons=persons.get(at)) for at, one in enumerate(columns))
    return TableSketch(about["rows"], columns, tuple(samples))


def _from_archive(body: bytes) -> TableSketch:
    """A sketch whose arrays stand in an archive of numpy."""
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        about = json.loads(archive[_ABOUT].tobytes())
        hashes, counts = archive["hashes"].astype(np.uint64), archive["counts"].astype(np.int64)
        samples = tuple(
            RowSample(tuple(anchor), below, archive[f"without {at}"], archive[f"codes {at}"])
            for at, (anchor, below) in enumerate(about["samples"])
        )
    ends = np.cumsum([length for *_, length in about["columns"]]).tolist()
    columns = tuple(
        ColumnSketch(name, Kind(kind), values, Cells(hashes[end - length : end], counts[end - length : end]))
        for (name, kind, values, length), end in zip(about["columns"], ends, strict=True)
    )
    return TableSketch(about["rows"], columns, samples)


def packed_persons(sketch: PersonSketch) -> bytes:
    """A sketch of persons as bytes."""
    about = {"persons": sketch.persons, "numbered": sketch.numbered, "names": list(sketch.names)}
    target = io.BytesIO()
    np.savez_compressed(
        target, about=np.frombuffer(json.dumps(about).encode(), np.uint8), ids=sketch.ids,
        codes=np.asfortranarray(sketch.codes),
    )  # fmt: skip
    return target.getvalue()


def unpacked_persons(body: bytes) -> PersonSketch:
    """Read what `packed_persons` has written."""
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        about = json.loads(archive[_ABOUT].tobytes())
        names = tuple(about["names"])
        return PersonSketch(about["persons"], about["numbered"], archive["ids"], names, archive["codes"])
