"""Whatever bytes are uploaded, the answer is a dataset or a problem in our own words, and the service goes on."""

import datetime as dt
import gzip
import io
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets.conftest import Uploads
from tests.drawing import seeds

TYPES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
#: Words of libraries and of Python, which no client has to know.
FOREIGN = re.compile(
    r"pyarrow|polars|pandas|numpy|thrift|zlib|codec|errno|traceback|exception|\berror\b|0x[0-9a-f]|utf-?8' |NoneType|"
    r"snappy|zstd|brotli|deserializ|buffer|/tmp|invalid argument|out of bounds|<class",
    re.IGNORECASE,
)


def table(draw: Random) -> pl.DataFrame:
    rows = draw.randrange(2, 60)

    def of(*values: Any) -> list[Any]:
        return [draw.choice(values) for _ in range(rows)]

    columns: list[pl.Series] = [
        pl.Series(of(None, 1, 77, -3), dtype=pl.Int64),
        pl.Series(of(None, 0.5, 1e300), dtype=pl.Float64),
        pl.Series(of(None, "a", "é", "b,c", 'q"'), dtype=pl.String),
        pl.Series(of(None, True, False), dtype=pl.Boolean),
        pl.Series(of(dt.date(2024, 1, 5), None), dtype=pl.Date),
        pl.Series(of(dt.datetime(2024, 1, 5, 4, tzinfo=dt.UTC), None), dtype=pl.Datetime("us", "UTC")),
        pl.Series(of([1, 2], [3], [], None), dtype=pl.List(pl.Int64)),
        pl.Series(of(["x"], ["y", None]), dtype=pl.List(pl.String)),
        pl.Series(of("x", "y"), dtype=pl.Categorical()),
    ]
    return pl.DataFrame({f"c{place}": one for place, one in enumerate(draw.sample(columns, draw.randrange(1, 5)))})


def parquet(draw: Random, rows: pl.DataFrame) -> bytes:
    written = io.BytesIO()
    pq.write_table(
        rows.to_arrow(compat_level=pl.CompatLevel.oldest()), written, use_dictionary=draw.random() < 0.5,
        compression=draw.choice(["none", "snappy", "gzip", "zstd", "brotli"]), row_group_size=draw.choice([7, 1000]),
        data_page_version=draw.choice(["1.0", "2.0"]),
    )  # fmt: skip
    return written.getvalue()


def body(draw: Random, form: str) -> bytes:
    rows = table(draw)
    if form == "parquet":
        return parquet(draw, rows)
    if form == "ndjson":
        text = rows.write_ndjson()
    else:
        flat = [pl.col(n).list.len() if isinstance(t, pl.List) else pl.col(n) for n, t in rows.schema.items()]
        text = rows.select(flat).write_csv(separator="," if form == "csv" else "\t")
    charset = draw.choice(["utf-8"] * 6 + ["utf-16", "utf-16-le", "utf-32", "utf-7", "cp037", "latin-1", "utf-8-sig"])
    return text.encode(charset, "replace")


def damaged(draw: Random, whole: bytes) -> bytes:
    data = bytearray(whole)
    for _ in range(draw.choice([1, 1, 2, 5, 30])):
        place = draw.randrange(len(data)) if data else 0
        other = draw.randrange(len(data)) if data else 0
        match draw.randrange(5):
            case 0:
                data[place : place + 1] = bytes([draw.randrange(256)])
            case 1:
                del data[place : place + draw.choice([1, 4, 50])]
            case 2:
                data[place:place] = draw.randbytes(draw.choice([1, 4]))
            case 3:
                del data[place:]
            case _:
                data[place : place + 8] = data[other : other + 8]
    return bytes(data)


def checked(answer: httpx.Response, *about: Any) -> None:
    assert answer.status_code in {201, 413, 415, 422}, (*about, answer.text)
    if answer.status_code == 201:
        return
    problem = answer.json()
    for text in [problem["detail"], *(one["detail"] for one in problem.get("errors", []))]:
        assert text[0].isupper() or text[0] == "`" or text in problem["detail"], (*about, text)
        assert problem["detail"].endswith("."), (*about, text)
        assert not FOREIGN.search(text), (*about, text)


@pytest.mark.parametrize("form", TYPES)
def test_a_damaged_file_is_read_or_refused_in_our_own_words(uploads: Uploads, form: str) -> None:
    for seed in seeds(12, 400):
        draw = Random(f"{form} {seed}")
        sent = damaged(draw, body(draw, form))
        params = {}
        if form in {"csv", "tsv"} and draw.random() < 0.5:
            params["charset"] = draw.choice(["utf-8", "utf-16", "utf-16le", "utf-16be", "windows-1252", "iso-8859-15"])
        checked(uploads.post(sent, content_type=TYPES[form], params=params), seed)
    assert uploads.post(b"a,b\n1,x\n2,y\n").status_code == 201, "the service goes on"
    assert uploads.staged() == []


def test_a_damaged_stream_of_gzip_is_refused_in_our_own_words(uploads: Uploads) -> None:
    for seed in seeds(10, 100):
        draw = Random(seed)
        sent = damaged(draw, gzip.compress(body(draw, "csv"), mtime=0))
        checked(uploads.post(sent, headers={"Content-Encoding": "gzip"}), seed)
        checked(uploads.post(sent, content_type="text/csv+gzip"), seed)


def contradicting(whole: bytes) -> Iterator[bytes]:
    """Files whose metadata say of a column in the schema what they do not say of its pages: none of it is optional."""
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    optional, required = b"\x25\x02", b"\x25\x00"  # a field of Thrift's compact protocol and its value
    place = whole.find(optional, footer)
    while place >= 0:
        yield whole[:place] + required + whole[place + 2 :]
        place = whole.find(optional, place + 1)


def test_metadata_that_contradict_each_other_end_no_process(uploads: Uploads) -> None:
    for seed in seeds(3, 20):
        draw = Random(seed)
        lists = pa.table({"set": pa.array([[1, 2], [], None, [draw.randrange(9)]] * draw.randrange(1, 9))})
        written = io.BytesIO()
        pq.write_table(lists, written)
        for sent in contradicting(written.getvalue()):
            answer = uploads.post(sent, content_type=TYPES["parquet"])
            assert answer.status_code == 422, answer.text
            assert "corrupt" in answer.json()["detail"]


def test_text_without_the_mark_that_its_encoding_begins_with_is_refused(uploads: Uploads) -> None:
    for text in ("a,b\n1,2\n", "a,b\n1,é\n"):
        answer = uploads.post(text.encode("utf-16-le"), params={"charset": "utf-16"})
        assert answer.status_code == 422, answer.text
        assert "`charset=utf-16le`" in answer.json()["detail"]
        assert uploads.post(text.encode("utf-16-le"), params={"charset": "utf-16le"}).status_code == 201


def test_types_of_one_program_are_refused_by_name(uploads: Uploads) -> None:
    stored = {"pandas.period": pa.int64(), "arrow.bool8": pa.int8(), "geoarrow.wkb": pa.binary()}
    for name, kind in stored.items():
        field = pa.field("when", kind, metadata={"ARROW:extension:name": name, "ARROW:extension:metadata": ""})
        written = io.BytesIO()
        pq.write_table(pa.table([pa.nulls(2, kind)], schema=pa.schema([field])), written)
        answer = uploads.post(written.getvalue(), content_type=TYPES["parquet"])
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"].startswith(f"Column 'when' has values of the type {name}")
