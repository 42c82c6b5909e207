"""Files as people have them: every dialect is read as what it says."""

import gzip
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets.conftest import Uploads

PLAIN = b"age,name\n31,Ann\n7,Bo\n"


def columns(answer: Any) -> dict[str, tuple[str, int, int]]:
    assert answer.status_code == 201, answer.text
    return {c["name"]: (c["type"], c["missing"], c["distinct"]) for c in answer.json()["columns"]}


@pytest.mark.parametrize(
    ("body", "params"),
    [
        (PLAIN, {}),
        (PLAIN.replace(b"\n", b"\r\n"), {}),
        (b"\xef\xbb\xbf" + PLAIN, {}),
        (PLAIN.rstrip(b"\n"), {}),
        (PLAIN.replace(b",", b", "), {}),
        (PLAIN.replace(b",", b";"), {"delimiter": ";"}),
        (PLAIN.replace(b",", b"\t"), {"delimiter": "\\t"}),
        (PLAIN.replace(b",", b"\t"), {"delimiter": "\t"}),
        (PLAIN.replace(b"Ann", b"'Ann'"), {"quote": "'"}),
        (b"made by hand\n" + PLAIN, {"skip_rows": 1}),
        (b"# made by hand\n" + PLAIN, {"comment": "#"}),
        (b"31,Ann\n7,Bo\n", {"header": "false", "column": ["age", "name"]}),
    ],
)
def test_csv_in_many_hands(uploads: Uploads, body: bytes, params: dict[str, Any]) -> None:
    answer = uploads.post(body, params=params)
    assert columns(answer) == {"age": ("integer", 0, 2), "name": ("string", 0, 2)}
    assert answer.json()["rows"] == 2


def test_quoted_fields_may_hold_anything(uploads: Uploads) -> None:
    answer = uploads.post(b'a,b\n"x\ny",1\n"p,""q""",2\n')
    assert answer.json()["rows"] == 2
    assert columns(answer) == {"a": ("string", 0, 2), "b": ("integer", 0, 2)}


def test_types_are_found_or_asked_for(uploads: Uploads) -> None:
    body = (
        b"i,f,s,b,d,z,big\n1,1.5,x,true,2020-01-31,007,9007199254740993\n2,,NA,false,2020-02-29,010,9007199254740992\n"
    )
    summaries = columns(uploads.post(body, params={"missing_values": "NA", "type": "i:string"}))
    assert summaries == {
        "i": ("string", 0, 2),
        "f": ("number", 1, 1),
        "s": ("string", 1, 1),
        "b": ("boolean", 0, 2),
        "d": ("date", 0, 2),
        "z": ("string", 0, 2),
        "big": ("integer", 0, 2),
    }


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"type": "b:integer"}, "?type"),
        ({"type": "nowhere:integer"}, "?type"),
        ({"header": "false", "column": ["only"]}, "?column"),
        ({"delimiter": "ab"}, "?delimiter"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named_alike_whoever_finds_out(
    uploads: Uploads, query: dict[str, Any], pointer: str
) -> None:
    answer = uploads.post(b"a,b\n1,x\n", params=query)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_every_format_and_gzip_are_read_alike(uploads: Uploads) -> None:
    table = io.BytesIO()
    pq.write_table(pa.table({"age": [31, 7], "name": ["Ann", "Bo"]}), table)
    lines = b'{"age": 31, "name": "Ann"}\n{"age": 7, "name": "Bo"}\n'
    for content_type, body in [
        ("text/csv; charset=UTF-8", PLAIN),
        ('text/csv;charset="utf-8"; header=present', PLAIN),
        ("text/tab-separated-values", PLAIN.replace(b",", b"\t")),
        ("application/vnd.apache.parquet", table.getvalue()),
        ("Application/X-NDJSON", lines),
    ]:
        for packed in (False, True):
            headers = {"Content-Encoding": "gzip"} if packed else {}
            answer = uploads.post(gzip.compress(body) if packed else body, content_type=content_type, headers=headers)
            assert columns(answer) == {"age": ("integer", 0, 2), "name": ("string", 0, 2)}
            assert answer.json()["bytes"] == len(body)
    uploads.processes.wait(lambda: uploads.staged() == [])


def test_gzip_of_several_members_with_padding_is_one_file(uploads: Uploads) -> None:
    body = gzip.compress(b"a,b\n1,2\n") + b"\0" * 100 + gzip.compress(b"3,4\n") + gzip.compress(b"") + b"\0" * 512
    answer = uploads.post(body, headers={"Content-Encoding": "gzip"})
    assert answer.json()["rows"] == 2
    assert answer.json()["bytes"] == len(b"a,b\n1,2\n3,4\n")


def test_a_small_file_may_be_as_compressible_as_it_likes(uploads: Uploads) -> None:
    body = b"a,b\n" + b"1,2\n" * 900_000
    answer = uploads.post(gzip.compress(body), headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["rows"] == 900_000


def test_names_and_labels_in_every_script(uploads: Uploads) -> None:
    answer = uploads.post(
        "größe,имя,名前\n1,é,字\n".encode(),
        name="Erhebung 2024: größe/名前",
        params={"tag": ["jahr:2024:q1", "ort:Łódź"]},
    )
    assert list(columns(answer)) == ["größe", "имя", "名前"]
    shown = uploads.client.get(answer.headers["location"]).json()
    assert shown == answer.json()
    assert shown["name"] == "Erhebung 2024: größe/名前"
    assert shown["tags"] == {"jahr": "2024:q1", "ort": "Łódź"}


def test_a_name_is_not_required(uploads: Uploads) -> None:
    answer = uploads.client.post("/v1/datasets", content=PLAIN, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 201
    assert answer.json()["name"] == "unnamed"


def test_a_body_without_declared_length_is_read(uploads: Uploads) -> None:
    answer = uploads.post(iter([b"a,b\n", b"1,", b"2\n"]))
    assert answer.status_code == 201
    assert "content-length" not in answer.request.headers


def test_nothing_of_the_restricted_profile_is_shown(uploads: Uploads) -> None:
    answer = uploads.post(b"a\n-98765.25\n12345.75\n")
    text = answer.text + uploads.client.get(answer.headers["location"]).text
    assert "98765" not in text
    assert "12345" not in text
    assert set(json.loads(answer.text)) == {
        "id", "name", "state", "rows", "bytes", "sha256", "created_at", "expires_at", "tags", "options", "columns",
        "warnings", "error", "family_id", "version_of_dataset_id",
    }  # fmt: skip
