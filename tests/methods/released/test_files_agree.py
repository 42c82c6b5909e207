"""Every file of a release says the same: cells of all formats, read by plain readers of each, at random."""

import csv
import gzip
import io
import json
import re
from collections.abc import Mapping
from math import inf
from random import Random
from typing import Any

import httpx
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.asking import anonymization, run, succeed

FORMATS = ["parquet", "csv", "csv.gz", "csv.excel", "ndjson"]
TEXTS = [
    "a", "NA", "null", "None", "nan", "", " lead", "trail ", "@home", "+49", "=1+1", "-5 h", "'quoted", "a,b", "[1, 2]",
    'say "x"', "line\nbreak", "tab\there", "\u2028sep", "\u0085nel", "0012", "1e5", "TRUE", "é", "\\N", "🙂", "#c", "*",
]  # fmt: skip


def a_table(draw: Random) -> pl.DataFrame:
    rows, some = draw.choice([30, 200]), draw.sample(TEXTS, 5)

    def kept(value: Any) -> Any:
        return None if draw.random() < 0.2 else value

    return pl.DataFrame(
        {
            "age": [draw.randint(18, 60) for _ in range(rows)],
            "town": [draw.choice(some) for _ in range(rows)],
            "text": [kept(draw.choice(some)) for _ in range(rows)],
            "whole": [kept(draw.choice([0, -1, 2**53 + 1, -(2**63), 2**63 - 1])) for _ in range(rows)],
            "number": [kept(draw.choice([0.1, -0.0, 1e-300, 1.7e308, 1 / 3, 5.0])) for _ in range(rows)],
            "truth": [kept(draw.random() < 0.5) for _ in range(rows)],
            "day": [
                kept(f"{draw.randint(1, 9999):04}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}") for _ in range(rows)
            ],
        },
        schema_overrides={"whole": pl.Int64, "number": pl.Float64, "truth": pl.Boolean, "day": pl.String},
    ).with_columns(pl.col("day").str.to_date(strict=True))


def sent(client: httpx.Client, table: pl.DataFrame, **options: Any) -> str:
    content = io.BytesIO()
    table.write_parquet(content)
    kind = {"Content-Type": "application/vnd.apache.parquet"}
    answer = client.post(
        "/v1/datasets", params=options or {"new_family": True}, content=content.getvalue(), headers=kind
    )
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["id"])


def plain(value: Any, kind: str) -> Any:
    """A cell of Parquet or NDJSON as CSV has it, by the type of its column: a text; None where it is missing."""
    if value is None:
        return None
    if kind == "boolean":
        return "true" if value else "false"
    return list(map(str, value)) if kind in {"list", "plain"} else float(value) if kind == "number" else str(value)


def of_text(cell: str, kind: str, *, excel: bool) -> Any:
    """A cell of CSV, which has a missing one as nothing."""
    if cell == "":
        return None
    if kind == "number":
        return float(cell)
    if kind == "plain":
        return [cell]
    if kind == "list":
        listed = json.loads(cell.removeprefix("'") if excel else cell)
        return [str(one) for one in listed]
    return cell


def rows_of(content: bytes, form: str, kinds: Mapping[str, str]) -> list[list[Any]]:
    """The cells of a file, row by row."""
    if form == "parquet":
        return [[plain(cell, kinds[name]) for name, cell in row.items()] for row in pl.read_parquet(content).to_dicts()]
    if form == "ndjson":
        lines = content.decode().splitlines()
        return [[plain(cell, kinds[name]) for name, cell in json.loads(line).items()] for line in lines]
    text = (gzip.decompress(content) if form == "csv.gz" else content).decode("utf-8-sig")
    read = csv.DictReader(io.StringIO(text, newline=""))
    return [[of_text(cell, kinds[name], excel=form == "csv.excel") for name, cell in row.items()] for row in read]


def without_apostrophes(cell: Any) -> Any:
    """A cell without what `csv.excel` puts before and inside texts that a spreadsheet would run."""
    if isinstance(cell, list):
        return list(map(without_apostrophes, cell))
    return cell.replace("'", "") if isinstance(cell, str) else cell


@pytest.mark.parametrize("seed", seeds(6))
def test_every_file_has_the_same_cells(client: httpx.Client, seed: int) -> None:
    draw = Random(seed)
    table = a_table(draw)
    keep = ["text", "whole", "number", "truth", "day"]
    spec = {
        "k": 5,
        "missing_policy": "pattern",
        "keep": keep,
        "formats": draw.sample(FORMATS, len(FORMATS)),
        "publish": "draft",
    }
    job = succeed(client, anonymization("boxes", sent(client, table), ["age", "town"], **spec))
    columns = client.get(f"/v1/releases/{job['release_id']}").json()["columns"]
    in_csv = {True: "plain", False: "list"}
    kinds = {one["name"]: in_csv.get(one["plain_in_csv"], one["type"]) for one in columns}
    assert {name for name, kind in kinds.items() if kind in in_csv.values()} == {"town_set"}
    files = {
        form: client.get(f"/v1/releases/{job['release_id']}/data", params={"format": form}).content for form in FORMATS
    }
    whole = rows_of(files["parquet"], "parquet", kinds)
    assert len(whole) == table.height
    # CSV has a missing text and an empty one as the same
    as_csv = [[None if cell == "" else cell for cell in row] for row in whole]
    assert rows_of(files["ndjson"], "ndjson", kinds) == whole
    assert rows_of(files["csv"], "csv", kinds) == as_csv
    assert rows_of(files["csv.gz"], "csv.gz", kinds) == as_csv
    excel = rows_of(files["csv.excel"], "csv.excel", kinds)
    assert [list(map(without_apostrophes, row)) for row in excel] == [
        list(map(without_apostrophes, row)) for row in as_csv
    ]


@pytest.mark.parametrize("method", ["boxes", "uncertain", "condensation"])
def test_what_json_cannot_write_is_refused_before_a_job_is_accepted(client: httpx.Client, method: str) -> None:
    table = pl.DataFrame({"age": range(30), "size": [1.0, float("inf"), float("-inf")] * 10})
    spec = anonymization(method, sent(client, table), ["age"], k=3, keep=["size"], publish="draft")
    answer = client.post("/v1/anonymizations", json=spec)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/keep/0"
    assert "20 infinite values" in error["detail"]
    (named,) = re.findall(r"`formats: (.*)`", error["detail"])
    job = succeed(client, spec | {"formats": json.loads(named)})
    read = pl.read_csv(client.get(f"/v1/releases/{job['release_id']}/data", params={"format": "csv"}).content)
    assert sorted(read["size"].to_list()) == [float("-inf")] * 10 + [1.0] * 10 + [float("inf")] * 10


def with_infinities(draw: Random, rows: int, values: list[float]) -> pl.DataFrame:
    """People of whom each value of the kept column has many: a value that few have keeps a release a draft."""
    sizes = [values[place % len(values)] for place in range(rows)]
    ages = [draw.randint(18, 60) for _ in range(rows)]
    return pl.DataFrame({"age": ages, "hours": [draw.randint(1, 60) for _ in range(rows)], "size": sizes})


def refused(client: httpx.Client, spec: dict[str, Any]) -> dict[str, Any]:
    """Send a job that keeps infinities in NDJSON, too; the same one in the formats that its refusal names."""
    answer = client.post("/v1/anonymizations", json=spec)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, answer.text
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/keep/0"
    assert "infinite value" in error["detail"]
    (named,) = re.findall(r"`formats: (.*)`", error["detail"])
    return spec | {"formats": json.loads(named)}


def sizes(client: httpx.Client, job: dict[str, Any]) -> list[float]:
    read = pl.read_csv(client.get(f"/v1/releases/{job['release_id']}/data", params={"format": "csv"}).content)
    return sorted(read["size"].to_list())


@pytest.mark.parametrize("seed", seeds(4))
def test_later_releases_have_the_same_infinities_in_all_files_or_are_refused(client: httpx.Client, seed: int) -> None:
    """A series has the numbers of its base; a version those of its data, and older ones where a box waits."""
    draw = Random(seed)
    table = with_infinities(draw, 60, [draw.choice([inf, -inf]), 0.5, *draw.sample([1.5, 2.0, inf, -inf], 2)])
    dataset = sent(client, table)
    spec = {"k": 5, "keep": ["size"], "domains": {"age": [0, 99], "hours": [0, 99]}, "missing_policy": "drop"}
    first = succeed(client, refused(client, anonymization("boxes", dataset, ["age", "hours"], **spec)))
    of_data = sorted(table["size"].to_list())
    assert sizes(client, first) == of_data
    series = {"method": "boxes", "base_release_id": first["release_id"], "quasi_identifiers": ["age"], "k": 5}
    assert sizes(client, succeed(client, refused(client, series | {"keep": ["size"]}))) == of_data
    assert succeed(client, series)["release_id"], "all formats without the column"

    without = table.with_columns(pl.when(pl.col("size").is_finite()).then("size").otherwise(0.5).alias("size"))
    newer = sent(client, without.vstack(with_infinities(draw, 40, [0.5])), version_of_dataset_id=dataset)
    version = succeed(client, refused(client, anonymization("boxes", newer, ["age", "hours"], **spec)))
    assert version["release_id"]


def test_a_series_of_deleted_data_fails_where_a_file_would_lack_infinities(client: httpx.Client) -> None:
    dataset = sent(client, with_infinities(Random(1), 60, [1.0, inf]))
    plain = {"formats": ["parquet", "csv"], "keep": ["size"], "k": 5}
    first = succeed(client, anonymization("boxes", dataset, ["age", "hours"], **plain))
    assert client.delete(f"/v1/datasets/{dataset}").status_code == httpx.codes.NO_CONTENT
    series = {"method": "boxes", "base_release_id": first["release_id"], "quasi_identifiers": ["age"], "k": 5}
    failed = run(client, series | {"keep": ["size"]})
    assert (failed["state"], failed["error"]["errors"][0]["pointer"]) == ("failed", "/formats")
    assert sizes(client, succeed(client, series | plain)) == sizes(client, first)
