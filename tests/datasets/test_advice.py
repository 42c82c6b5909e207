"""Advice about uploads is followed, and keeps what it promises: files are drawn, and it is known what they are."""

import io
from collections.abc import Callable
from random import Random
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.datasets import advised as drawn
from tests.datasets.advised import Meant, advised, renaming
from tests.datasets.conftest import Uploads
from tests.drawing import seeds


def _values(uploads: Uploads, dataset: dict[str, Any]) -> dict[str, list[Any]]:
    (key,) = uploads.stored(dataset["id"])
    return pq.read_table(io.BytesIO(b"".join(uploads.storage.chunks(key)))).to_pydict()


def _details(uploads: Uploads, body: bytes, **params: Any) -> list[str]:
    answer = uploads.post(body, params=params)
    assert answer.status_code in {201, 422}, answer.text
    said = answer.json()
    return [said["detail"]] if answer.status_code == 422 else [one["detail"] for one in said["warnings"]]


def _ways(meant: Meant, detail: str) -> list[dict[str, Any]]:
    """The readings that a text advises, with what the sender alone knows filled in."""
    ways = []
    for options in advised(detail):
        if meant.words and "Name those" in detail:
            options["missing_values"] = [*options.get("missing_values", []), *meant.words]
        ways.append(options)
    if (renamed := renaming(detail)) is not None:
        options, width = renamed
        assert width == len(meant.names), detail
        ways.append({**options, "column": meant.names})
    if "`comment` and" in detail and meant.comment is not None:
        ways.append({"comment": meant.comment})
    return ways


def _read(uploads: Uploads, meant: Meant, way: dict[str, Any], body: bytes | None = None) -> bool:
    """Return whether the file, read in this way, has the values that were meant."""
    answer = uploads.post(meant.body if body is None else body, params=way)
    if answer.status_code == 422:
        return False
    values = _values(uploads, answer.json())
    return {name: values.get(name) for name in meant.columns} == meant.columns


@pytest.mark.parametrize("kind", drawn.READ, ids=lambda kind: kind.__name__)
def test_advice_that_names_an_option_keeps_its_promise(uploads: Uploads, kind: Callable[[Random], Meant]) -> None:
    for seed in seeds(2, 20):
        meant = kind(Random(seed))
        details = _details(uploads, meant.body)
        if _read(uploads, meant, {}):
            continue  # at once
        followed = False
        for detail in details:
            results = [_read(uploads, meant, way) for way in _ways(meant, detail)]
            if "ake this line out" in detail and meant.shorter is not None:
                results.append(_read(uploads, meant, {}, meant.shorter))
            followed = followed or any(results)
            if results and "Only you know" not in detail and "If " not in detail:
                assert all(results), (seed, detail)
        assert followed, (seed, meant.body[:200], details)


@pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("application/vnd.apache.parquet", pl.DataFrame.write_parquet),
        ("application/x-ndjson", pl.DataFrame.write_ndjson),
    ],
)
def test_texts_of_numbers_as_programs_write_them_get_a_type(
    uploads: Uploads, kind: str, write: Callable[[pl.DataFrame, io.BytesIO], None]
) -> None:
    for seed in seeds(2, 20):
        draw = Random(seed)
        values = [draw.choice([draw.randrange(90), draw.randrange(90) / 4, None]) for _ in range(40)] + [1.5, 2]
        body = io.BytesIO()
        write(pl.DataFrame({"value": ["NA" if value is None else f"{value:g}" for value in values]}), body)
        (said,) = uploads.post(body.getvalue(), content_type=kind).json()["warnings"]
        (way,) = advised(said["detail"])
        answer = uploads.post(body.getvalue(), content_type=kind, params=way)
        assert _values(uploads, answer.json()) == {"value": values}


@pytest.mark.parametrize("kind", list(drawn.UNREAD))
def test_what_no_option_reads_is_said_and_read_once_it_is_written_as_advised(uploads: Uploads, kind: str) -> None:
    for seed in seeds(2, 20):
        meant, plain = drawn.unread(kind, Random(seed))
        (detail,) = [one for one in _details(uploads, meant.body) if "olumn 3 " in one]
        assert "o option reads" in detail, detail
        assert "leave the column out, or give it a hierarchy" in detail
        assert "rite" in detail
        assert _values(uploads, uploads.post(plain).json())["value"] == meant.columns["value"]


@pytest.mark.parametrize("kind", list(drawn.ORDERED))
def test_words_that_have_an_order_are_said_once(uploads: Uploads, kind: str) -> None:
    for seed in seeds(2, 10):
        meant, _ = drawn.in_order(kind, Random(seed))
        (detail,) = [one for one in _details(uploads, meant.body) if "have no order" in one]
        assert "olumn 3 " in detail
        assert "leave the column out, or give it a hierarchy" in detail
        advice, missing = drawn.order_advised(detail)
        assert list(advice) == ["value"]
        assert _values(uploads, uploads.post(meant.body, params={"missing_values": missing}).json())["value"] == [
            *meant.columns["value"]
        ]
        assert not any("have no order" in one for one in _details(uploads, meant.body, type="value:string"))


@pytest.mark.parametrize("words", [["f", "m", "x"], ["May", "June", "Rose", "Lily"], ["M", "F"], ["9-1", "8-2", "3-0"]])
def test_words_without_an_order_are_no_scale(uploads: Uploads, words: list[str]) -> None:
    rows = "".join(f"{i},{word}\n" for i, word in enumerate(words * 5))
    assert _details(uploads, f"number,word\n{rows}".encode()) == []


def test_another_delimiter_is_named(uploads: Uploads) -> None:
    for seed in seeds(2, 20):
        meant = drawn.other_delimiters(Random(seed))
        (way,) = [way for detail in _details(uploads, meant.body, delimiter="|") for way in _ways(meant, detail)]
        assert _values(uploads, uploads.post(meant.body, params=way).json()) == meant.columns


def test_a_table_with_blanks_between_quoted_names_is_read_as_advised(uploads: Uploads) -> None:
    """As R writes it by default: the advice leads to the names of rows, and that one to the table."""
    for seed in seeds(2, 20):
        draw = Random(seed)
        names = ["age", "weekly hours", "sex"][: draw.randint(2, 3)]
        rows = [[draw.randrange(18, 80), draw.randrange(60), draw.choice("fm")][: len(names)] for _ in range(30)]
        lines = [names, *([str(i), *row] for i, row in enumerate(rows, 1))]
        text = [" ".join(f'"{cell}"' if isinstance(cell, str) else str(cell) for cell in line) for line in lines]
        body = (draw.choice(["\n", "\r\n"]).join(text) + "\n").encode()
        (first,) = _details(uploads, body)
        (way,) = advised(first)
        (second,) = _details(uploads, body, **way)
        renamed = renaming(second)
        assert renamed is not None, second
        options, width = renamed
        assert width == len(names) + 1
        answer = uploads.post(body, params=way | options | {"column": ["row", *names]})
        values = _values(uploads, answer.json())
        assert {name: values[name] for name in names} == {
            name: [row[i] for row in rows] for i, name in enumerate(names)
        }
