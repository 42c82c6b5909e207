"""Records of nobody are said whatever the file's format: those without a value, and sums of others."""

import io
import json
from random import Random

import httpx
import polars as pl
import pytest

from tests.datasets.conftest import Uploads
from tests.drawing import seeds

KINDS = {
    "csv": "text/csv", "ndjson": "application/x-ndjson", "parquet": "application/vnd.apache.parquet",
}  # fmt: skip


def written(rows: list[dict[str, object]], form: str) -> bytes:
    if form == "ndjson":
        lines = [json.dumps({name: value for name, value in row.items() if value is not None}) for row in rows]
        return "".join(f"{line}\n" for line in lines).encode()
    table = pl.DataFrame(rows, infer_schema_length=None)
    if form == "csv":
        return table.write_csv().encode()
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("form", KINDS)
@pytest.mark.parametrize("seed", seeds(4))
def test_records_of_nobody_are_counted_in_every_format(uploads: Uploads, seed: int, form: str) -> None:
    draw = Random(seed)
    people: list[dict[str, object]] = [
        {"town": draw.choice(["Ulm", "Bonn", "Trier"]), "age": draw.randint(18, 80)} for _ in range(draw.randint(5, 60))
    ]
    empty, word = draw.randint(0, 3), draw.choice(["Total", "TOTAL", "Sum", None])
    for _ in range(empty):
        people.insert(draw.randint(1, len(people)), {"town": None, "age": None})
    people += [] if word is None else [{"town": word, "age": sum(int(str(one["age"] or 0)) for one in people)}]
    first = next((place for place, one in enumerate(people, 1) if one["town"] is None), None)
    answer = uploads.post(written(people, form), content_type=KINDS[form], params={"new_family": True})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    said = [one["detail"] for one in answer.json()["warnings"] if one["code"] == "suspect_rows"]
    assert len(said) == (empty > 0) + (word is not None), said
    if empty:
        (counted,) = (one for one in said if "no value at all" in one)
        assert f"ecord {first} " in counted or f"record {first}:" in counted
        assert empty == 1 or counted.startswith(f"{empty} records")
    if word is not None:
        (question,) = (one for one in said if f"`{word}`" in one)
        assert "1 record has" in question
