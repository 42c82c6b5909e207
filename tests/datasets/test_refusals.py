"""Bad uploads: each a clear problem, nothing half-stored, nothing left in staging."""

import gzip
import io
import json
import os
import re
import socket
import time
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets.conftest import MAX_BYTES, Uploads

#: A cell that must never be told.
SECRET = "Zq7xPlantedCell"
GZIP = {"Content-Encoding": "gzip"}
PARQUET = "application/vnd.apache.parquet"
NDJSON = "application/x-ndjson"


def parquet(size: int = 2000) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(size))}), file)
    return file.getvalue()


def refused(uploads: Uploads, answer: httpx.Response, status: int, says: str) -> dict[str, Any]:
    """The problem; after it there is nothing of the upload."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["instance"] == "/v1/datasets"
    assert problem["title"]
    assert re.search(says, problem["detail"], re.IGNORECASE), problem["detail"]
    assert SECRET not in answer.text
    assert uploads.client.get("/v1/datasets").json()["items"] == []
    uploads.processes.wait(lambda: uploads.staged() == [])
    return problem


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"a,b\n1,2\n3\n4,5\n", r"line 3"),
        (b"a,b\n1,2\n3,4,5\n", r"line 3"),
        (b'a,b\n"x\ny",2\n3,4,5\n', r"line 4"),
        (b"a,a\n1,2\n", r"column|name"),
        (b"a,\n1,2\n", r"column|name"),
        (b"a,b\n", r"record|row|header"),
        (b"\n\n", r"empty|header|name|column"),
        (f'a,b\n"{SECRET},2\n'.encode(), r"quote"),
        (f"a,b\n1,é{SECRET}".encode() + b"\xff\xfe\n", r"utf-8"),
        ("a,b\n1,2\n".encode("utf-16") + b"\x00", r"utf-16"),
        (b"a\n" + b"x" * 20_000 + b"\n", r"10000|bytes"),
        (",".join(f"c{i}" for i in range(300)).encode() + b"\n" + b"1," * 299 + b"1\n", r"200"),
    ],
)
def test_text_that_cannot_be_read(uploads: Uploads, body: bytes, says: str) -> None:
    refused(uploads, uploads.post(body), 413 if "200" in says or "10000" in says else 422, says)


@pytest.mark.parametrize("content_type", ["text/csv", "text/tab-separated-values", PARQUET, NDJSON])
@pytest.mark.parametrize("packed", [False, True])
def test_an_empty_body(uploads: Uploads, content_type: str, packed: bool) -> None:
    body = gzip.compress(b"") if packed else b""
    answer = uploads.post(body, content_type=content_type, headers=GZIP if packed else {})
    refused(uploads, answer, 422, "empty")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (PARQUET, b"not parquet at all"),
        (PARQUET, parquet()[:-200]),
        (PARQUET, parquet()[:100] + os.urandom(300) + parquet()[400:]),
        (NDJSON, f'{{"a": 1}}\n{{"a": "{SECRET}"\n'.encode()),
        (NDJSON, f'{{"a": 1}}\n["{SECRET}"]\n'.encode()),
        (NDJSON, b'{"a": 1}\n{"a": {"b": 2}}\n'),
    ],
)
def test_other_formats_that_cannot_be_read(uploads: Uploads, content_type: str, body: bytes) -> None:
    refused(uploads, uploads.post(body, content_type=content_type), 422, "")


@pytest.mark.parametrize(
    ("content_type", "headers"),
    [
        ("application/json", {}),
        ("", {}),
        ("multipart/form-data; boundary=x", {}),
        ("text/csv; charset=koi8-r", {}),
        ("text/csv", {"Content-Encoding": "br"}),
        ("text/csv", {"Content-Encoding": "gzip, gzip"}),
    ],
)
def test_unknown_types_and_encodings(uploads: Uploads, content_type: str, headers: dict[str, str]) -> None:
    says = "Content-Encoding" if headers else "Content-Type"
    refused(uploads, uploads.post(b"a\n1\n", content_type=content_type, headers=headers), 415, says)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (gzip.compress(b"a,b\n1,2\n")[:-9], "too early"),
        (gzip.compress(os.urandom(3_000_000))[:2_000_000], "too early"),
        (gzip.compress(b"a,b\n1,2\n") + b"trailing", "other bytes follow"),
        (gzip.compress(b"a,b\n1,2\n") + b"\0" * 600 + b"x", "other bytes follow"),
        (b"a,b\n1,2\n", "not valid gzip"),
        (gzip.compress(b"a,b\n1,2\n")[:-8] + b"\0" * 8, "not valid gzip"),
    ],
    ids=["cut", "cut in the middle", "more behind it", "more behind padding", "not gzip", "wrong checksum"],
)
def test_damaged_gzip(uploads: Uploads, body: bytes, says: str) -> None:
    refused(uploads, uploads.post(body, headers=GZIP), 422, says)


def test_a_zip_bomb_by_ratio(uploads: Uploads) -> None:
    bomb = gzip.compress(b"a\n" + b"0\n" * 12_000_000)
    assert len(bomb) < 100_000
    refused(uploads, uploads.post(bomb, headers=GZIP), 413, "200 times")


def test_too_large_once_decoded(uploads: Uploads) -> None:
    block = b"a\n" + b"\n".join(b"%d" % (i * 7919 % 1_000_003) for i in range(1_000_000))
    body = gzip.compress(block * (1 + MAX_BYTES // len(block)), 1)
    assert len(body) < MAX_BYTES
    refused(uploads, uploads.post(body, headers=GZIP), 413, str(MAX_BYTES))


def test_too_large_as_declared_is_refused_before_it_is_sent(uploads: Uploads) -> None:
    host, port = uploads.address.removeprefix("http://").split(":")
    head = (
        f"POST /v1/datasets?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: {uploads.client.headers['authorization']}\r\n"
        f"Content-Type: text/csv\r\nContent-Length: {MAX_BYTES + 1}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode())
        answer = ""
        while not answer.endswith("}"):
            received = connection.recv(65536)
            assert received, answer
            answer += received.decode()
    assert answer.startswith("HTTP/1.1 413")
    assert str(MAX_BYTES) in answer
    uploads.processes.wait(lambda: uploads.staged() == [])


def test_too_large_without_a_declared_length(uploads: Uploads) -> None:
    blocks = (b"1234567,7654321\n" * 65536 for _ in range(1 + MAX_BYTES // (16 * 65536)))
    refused(uploads, uploads.post(blocks), 413, str(MAX_BYTES))


def test_a_client_that_leaves_leaves_nothing(uploads: Uploads) -> None:
    host, port = uploads.address.removeprefix("http://").split(":")
    head = (
        f"POST /v1/datasets?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: {uploads.client.headers['authorization']}\r\n"
        "Content-Type: text/csv\r\nContent-Length: 20000000\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode())
        connection.sendall(b"1,2\n" * 1_000_000)
        deadline = time.monotonic() + 60
        while not uploads.partial():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    deadline = time.monotonic() + 60
    while uploads.staged():
        assert time.monotonic() < deadline, uploads.staged()
        time.sleep(0.01)
    assert uploads.client.get("/v1/datasets").json()["items"] == []


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ({"delimeter": ";"}, "delimeter"),
        ({"delimiter": ""}, "delimiter"),
        ({"delimiter": ";;"}, "delimiter"),
        ({"delimiter": "\n"}, "delimiter"),
        ({"delimiter": "\x00"}, "delimiter"),
        ({"delimiter": "ä"}, "delimiter"),
        ({"delimiter": "|", "quote": "|"}, "quote"),
        ({"quote": "''"}, "quote"),
        ({"quote": " "}, "quote"),
        ({"header": "perhaps"}, "header"),
        ({"column": ["a", "b"]}, "column"),
        ({"header": "false", "column": ["a", "a"]}, "column"),
        ({"header": "false", "column": ["a", ""]}, "column"),
        ({"header": "false", "column": ["a", "b\x00"]}, "column"),
        ({"skip_rows": "-1"}, "skip_rows"),
        ({"skip_rows": "many"}, "skip_rows"),
        ({"comment": ""}, "comment"),
        ({"comment": "#" * 11}, "comment"),
        ({"trim": "2"}, "trim"),
        ({"missing_values": ["\x00"]}, "missing_values"),
        ({"type": "age"}, "type"),
        ({"type": "age:float"}, "type"),
        ({"type": [":integer"]}, "type"),
        ({"type": ["a:integer", "a:string"]}, "type"),
        ({"tag": "alone"}, "tag"),
        ({"tag": ["a:1", "a:2"]}, "tag"),
        ({"tag": "a:" + "x" * 201}, "tag"),
        ({"name": "x" * 201}, "name"),
        ({"name": " "}, "name"),
        ({"name": "a\x00b"}, "name"),
    ],
)
def test_a_query_that_makes_no_sense(uploads: Uploads, params: dict[str, Any], parameter: str) -> None:
    query = httpx.QueryParams({"name": "test"} | params)
    headers = {"Content-Type": "text/csv"}
    answer = uploads.client.post("/v1/datasets", content=b"a,b\n1,2\n", params=query, headers=headers)
    problem = refused(uploads, answer, 422, parameter)
    assert [error["pointer"] for error in problem["errors"]] == [f"?{parameter}"]


def test_types_of_columns_that_are_not_there(uploads: Uploads) -> None:
    refused(uploads, uploads.post(b"a,b\n1,2\n", params={"type": "c:integer"}), 422, "type")
    refused(uploads, uploads.post(f"a,b\n1,{SECRET}\n".encode(), params={"type": "b:integer"}), 422, "type")


@pytest.mark.parametrize(
    "parameter", ["delimiter=;", "quote='", "header=false", "skip_rows=1", "comment=%23", "trim=false"]
)
def test_text_options_do_not_apply_to_parquet(uploads: Uploads, parameter: str) -> None:
    answer = uploads.client.post(f"/v1/datasets?{parameter}", content=parquet(), headers={"Content-Type": PARQUET})
    refused(uploads, answer, 422, "CSV and TSV only")


def test_all_wrong_parameters_are_named_at_once(uploads: Uploads) -> None:
    answer = uploads.post(b"a\n1\n", params={"delimiter": ";;", "quote": "''", "type": "x:y"})
    problem = refused(uploads, answer, 422, "delimiter")
    assert {error["pointer"] for error in problem["errors"]} == {"?delimiter", "?quote", "?type"}


def test_no_log_line_holds_a_cell(uploads: Uploads) -> None:
    cell = f"{SECRET}{os.getpid()}"
    for body, content_type in [
        (f"a,b\n1,{cell}\n{cell}\n", "text/csv"),
        (f'a,b\n1,"{cell}\n', "text/csv"),
        (json.dumps({"a": {"b": cell}}), NDJSON),
        (cell, PARQUET),
    ]:
        answer = uploads.post(body.encode(), content_type=content_type)
        assert answer.status_code == 422, answer.text
        assert cell not in answer.text
    for log in uploads.processes.folder.glob("*.log"):
        assert cell not in log.read_text(), log.name
