"""The search for marked values finds them in every spelling and wrapping, and takes no other for them."""

import base64
import gzip
import html
import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.methods.marked import Marks, unwrapped
from tests.methods.parquet_pages import chunks_of, pages
from tests.methods.roundings import Roundings

NUMBER, NAME = 48_213.93571246, "Marked-Møller"
MARKS = Marks.of([NUMBER, NAME])


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", content)
    return buffer.getvalue()


SPELLINGS: dict[str, bytes] = {
    "plain": f"1,{NUMBER},2".encode(),
    "negative": str(-NUMBER).encode(),
    "scientific": f"{NUMBER:.15e}".encode(),
    "rounded to 12 digits": f"{NUMBER:.7f}".encode(),
    "thousands": f"{NUMBER:,.8f}".encode(),
    "thousands, continental": b"48.213,93571246",
    "thousands, thin": "48\N{THIN SPACE}213,93571246".encode(),
    "in percent": str(NUMBER * 100).encode(),
    "in thousandths": f"{NUMBER / 1000:.11f}".encode(),
    "hexadecimal": NUMBER.hex().encode(),
    "as bytes": b"x" + np.array([NUMBER]).tobytes(),
    "as bytes, the other way round": b"xyz" + np.array([NUMBER], ">f8").tobytes(),
    "a text": NAME.upper().encode(),
    "a text in JSON": json.dumps({"name": NAME}).encode(),
    "a text in HTML": NAME.encode("ascii", "xmlcharrefreplace") + html.escape("<>").encode(),
    "a text in an address": b"/v1?name=Marked-M%C3%B8ller",
    "encoded in JSON": json.dumps({"payload": base64.b64encode(f"[{NUMBER}]".encode()).decode()}).encode(),
    "encoded for an address": base64.urlsafe_b64encode(NAME.encode() * 4).rstrip(b"="),
    "compressed": gzip.compress(NAME.encode()),
    "in an archive in an archive": zipped(zipped(str(NUMBER).encode())),
    "in Parquet": parquet(pa.table({"x": [1.0, NUMBER]})),
    "in Parquet's lists": parquet(pa.table({"x": [["a", NAME], ["b"]]})),
    "in Parquet's metadata": parquet(pa.table({"x": [1]}).replace_schema_metadata({"told": NAME})),
    "in a dictionary only": parquet(
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", NAME]))})
    ),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_value_is_found_however_it_is_spelled(spelling: str) -> None:
    assert MARKS.marks_in(SPELLINGS[spelling])


def test_other_values_are_not_taken_for_marked_ones() -> None:
    assert not MARKS.marks_in(b'{"x": 48213.93571, "y": 48213.935812, "name": "Marked-Moller"}')


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_are_searched_as_they_are_stored(compression: str, version: str) -> None:
    """A dictionary with an entry more than rows have; numbers between some that are missing."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0]), pa.array(["a", NAME]))
    buffer = io.BytesIO()
    options = {
        "compression": compression,
        "data_page_version": version,
        "write_statistics": False,
        "store_schema": False,
    }
    pq.write_table(pa.table({"x": [1.5, None, NUMBER], "y": texts}), buffer, **options)
    with pq.ParquetFile(buffer) as file:
        assert file.read().column("y").to_pylist() == ["a"] * 3
        unpacked = [page for chunk in chunks_of(file) for page in pages(buffer.getvalue(), chunk)]
    assert set().union(*map(MARKS.marks_in, unpacked)) == {NAME.lower(), f"{NUMBER!r} in binary"}


def test_a_bound_of_a_page_is_found_in_the_footer() -> None:
    """Nothing is left of it but the statistics that a writer noted."""
    raw = bytearray(parquet(pa.table({"x": [1.0, NUMBER]})))
    footer = raw.rindex(np.float64(NUMBER).tobytes())
    assert footer > 0
    assert MARKS.marks_in(bytes(raw[footer - 3 : footer + 20]))


CELLS = np.random.default_rng(7).uniform(10_000, 99_999, 1000)
PUBLISHED = np.random.default_rng(8).uniform(10_000, 99_999, 1000)
SHORT = {
    "6 digits": lambda values: "\n".join(f"{each:,.6g}".replace(",", "") for each in values).encode(),
    "7 digits": lambda values: "\n".join(f"{each:.2f}" for each in values).encode(),
    "8 digits": lambda values: "\n".join(f"{each:.3f}" for each in values).encode(),
    "float32 as text": lambda values: "\n".join(str(each) for each in values.astype("f4")).encode(),
    "float32 as bytes": lambda values: parquet(pa.table({"x": values.astype("f4")})),
}


@pytest.mark.parametrize("way", SHORT)
def test_a_tenth_of_a_column_in_few_digits_is_told_from_chance(way: str) -> None:
    """Among as many other numbers that are written alike; these alone are not taken for cells."""
    for shown, detected in [(PUBLISHED, False), (np.concatenate([PUBLISHED, CELLS[:100]]), True)]:
        seen = Roundings.of(CELLS)
        for piece in unwrapped(SHORT[way](shown), set()):
            seen.look(piece)
        assert (way in seen.excess()) == detected
