"""Whatever is refused leaves nothing, at once: neither in storage and staging, nor in scratch folders and logs."""

import gzip
import io
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets.conftest import Uploads
from tests.stored import stored

MARKER = b"Mk7PlantedCellQz"
PARQUET, NDJSON = "application/vnd.apache.parquet", "application/x-ndjson"


def parquet(name: str, cells: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({name: cells}), file, compression="none", use_dictionary=False)
    return file.getvalue()


GOOD = b"a,b\n1," + MARKER + b"\n"
REFUSED: dict[str, tuple[bytes, dict[str, Any]]] = {
    "another number of fields": (GOOD + b"1\n", {}),
    "an open quote": (b'a,b\n1,"' + MARKER + b"\n", {}),
    "text after a quote": (b'a,b\n1,"x"' + MARKER + b"\n", {}),
    "a byte that is not UTF-8": (GOOD + b"\xc3\xa9,\xff\n", {}),
    "a NUL byte": (GOOD + b"1,\0\n", {}),
    "a field that is too long": (GOOD + b"1," + b"x" * 20_000 + b"\n", {}),
    "two columns of one name": (b"a,a\n1," + MARKER + b"\n", {}),
    "a type that the cells are not of": (GOOD, {"params": {"type": "b:integer"}}),
    "a type of an absent column": (GOOD, {"params": {"type": "c:integer"}}),
    "an option that makes no sense": (GOOD, {"params": {"delimiter": ";;"}}),
    "an unknown content type": (GOOD, {"content_type": "text/html"}),
    "gzip cut off": (gzip.compress(GOOD * 9, 0)[:-9], {"headers": {"Content-Encoding": "gzip"}}),
    "gzip that is none": (GOOD, {"headers": {"Content-Encoding": "gzip"}}),
    "objects that are none": (b'{"a": "' + MARKER + b'"}\n[1]\n', {"content_type": NDJSON}),
    "a nested object": (b'{"a": "' + MARKER + b'"}\n{"a": {"b": 1}}\n', {"content_type": NDJSON}),
    "text for Parquet": (GOOD, {"content_type": PARQUET}),
    "nested Parquet": (parquet("a", [{"b": MARKER.decode()}]), {"content_type": PARQUET}),
    "Parquet with NUL in a column's name": (parquet("a\0b", [MARKER.decode()]), {"content_type": PARQUET}),
    "Parquet of a type that it has not": (
        parquet("a", [MARKER.decode()]), {"content_type": PARQUET, "params": {"type": "a:integer"}},
    ),
}  # fmt: skip


def left(uploads: Uploads) -> list[str]:
    """Files of the service that hold the marker: storage, scratch folders, logs."""
    return [path.name for path in stored(uploads.processes.folder) if MARKER in content(path)]


def content(path: Path) -> bytes:
    """What a file holds: nothing if it is none, or none any more."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return b""


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_leaves_nothing(uploads: Uploads, kind: str) -> None:
    body, more = REFUSED[kind]
    answer = uploads.post(body, **more)
    assert 400 <= answer.status_code < 500, answer.text
    assert left(uploads) == []
    assert uploads.client.get("/v1/datasets").json()["items"] == []


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if "params" not in REFUSED[kind][1]][:6])
def test_what_nobody_waited_for_leaves_nothing(uploads: Uploads, kind: str) -> None:
    answer = uploads.post(REFUSED[kind][0], headers={"Prefer": "respond-async"})
    assert answer.status_code == 202
    location = answer.headers["Location"]
    uploads.processes.wait(lambda: uploads.client.get(location).json()["state"] == "failed")
    uploads.processes.wait(lambda: left(uploads) == [])


def test_a_key_that_was_used_for_another_file_leaves_nothing(uploads: Uploads) -> None:
    headers = {"Idempotency-Key": uuid4().hex}
    assert uploads.post(b"a,b\n1,2\n", headers=headers).status_code == 201
    assert uploads.post(GOOD, headers=headers).status_code == 422
    assert left(uploads) == []
