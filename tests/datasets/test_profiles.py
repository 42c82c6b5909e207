"""What an upload is told about how its file was read."""

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets.conftest import Uploads

BODY = b"Wert;Tag;Name\n1.234,5;31.12.2020;=1+1\n2;1.1.2021;Bo\nNA;2.1.2021;Cy\n"


def test_warnings_and_options_stand_in_answers_and_lists(uploads: Uploads) -> None:
    made = uploads.post(BODY).json()
    assert made["options"]["delimiter"] == ";"
    assert [warning["code"] for warning in made["warnings"]] == ["nearly_numeric", "nearly_date", "spreadsheet_cells"]
    assert [warning["pointer"] for warning in made["warnings"]] == ["/columns/0", "/columns/1", "/columns/2"]
    assert "1+1" not in str(made)
    assert uploads.client.get(f"/v1/datasets/{made['id']}").json() == made
    assert uploads.client.get("/v1/datasets").json()["items"] == [made]


def test_the_options_that_warnings_name_mend_what_they_tell_of(uploads: Uploads) -> None:
    params = {"decimal": ",", "thousands": ".", "date_format": "%d.%m.%Y", "missing_values": "NA"}
    made = uploads.post(BODY, params=params).json()
    assert [column["type"] for column in made["columns"]] == ["number", "date", "string"]
    assert [column["missing"] for column in made["columns"]] == [1, 0, 0]
    assert [warning["code"] for warning in made["warnings"]] == ["spreadsheet_cells"]
    assert {name: made["options"][name] for name in params} == params | {"missing_values": ["NA"]}


@pytest.mark.parametrize("kind", ["text/csv", "application/x-ndjson", "application/vnd.apache.parquet"])
def test_gzip_is_recognised_by_its_first_bytes(uploads: Uploads, kind: str) -> None:
    table = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), table)
    bodies = {"text/csv": b"a,b\n1,x\n2,y\n", "application/x-ndjson": b'{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'}
    body = bodies.get(kind, table.getvalue())
    plain = uploads.post(body, content_type=kind).json()
    packed = uploads.post(gzip.compress(body), content_type=kind)
    assert packed.status_code == 201, packed.text
    same = ("rows", "bytes", "sha256", "columns")
    assert {name: packed.json()[name] for name in same} == {name: plain[name] for name in same}


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ({"decimal": ";"}, "decimal"),
        ({"decimal": ""}, "decimal"),
        ({"thousands": "."}, "thousands"),
        ({"thousands": ",", "decimal": ","}, "thousands"),
        ({"thousands": "x"}, "thousands"),
        ({"date_format": "%d.%m"}, "date_format"),
        ({"date_format": "%d.%m.%Y %d"}, "date_format"),
        ({"date_format": "%d.%m.%y"}, "date_format"),
        ({"date_format": "%Y-%d-%m"}, "date_format"),
        ({"date_format": ""}, "date_format"),
    ],
)
def test_notations_that_make_no_sense(uploads: Uploads, params: dict[str, str], parameter: str) -> None:
    answer = uploads.post(b"a,b\n1,2\n", params=params)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [f"?{parameter}"]


def test_notations_do_not_apply_to_every_format(uploads: Uploads) -> None:
    for kind, parameter in [
        ("application/x-ndjson", "decimal=,"),
        ("application/vnd.apache.parquet", "thousands=,"),
        ("application/vnd.apache.parquet", "date_format=%25d.%25m.%25Y"),
    ]:
        answer = uploads.client.post(f"/v1/datasets?{parameter}", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 422, parameter
