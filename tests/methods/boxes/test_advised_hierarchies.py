"""Columns that no option of an upload reads: what is advised of them, an order, a hierarchy, leaving out, works."""

import csv
import io
from random import Random

import httpx
import polars as pl
import pytest

from tests.datasets.advised import ORDERED, UNREAD, in_order, order_advised, unread
from tests.drawing import seeds
from tests.methods.asking import anonymization, released, succeed, upload

K = 3


@pytest.mark.parametrize("kind", UNREAD)
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_a_column_of_texts_is_published_by_a_hierarchy_or_not_at_all(
    client: httpx.Client, kind: str, seed: int
) -> None:
    draw = Random(seed)
    meant, _ = unread(kind, draw)
    dataset = upload(client, meant.body, new_family=True)
    (said,) = (
        one["detail"] for one in dataset["warnings"] if "leave the column out, or give it a hierarchy" in one["detail"]
    )
    assert "No option reads" in said or "no option reads" in said
    cells = [row["value"] for row in csv.DictReader(io.StringIO(meant.body.decode(), newline=""), delimiter="|")]
    rows = [[text, f"group {draw.randrange(3)}", "*"] for text in sorted({*cells} - {""})]
    spec = anonymization("boxes", dataset["id"], ["number", "value"], k=K, publish="draft", missing_policy="drop")
    job = succeed(client, spec | {"nominal": {"value": {"hierarchy": {"rows": rows}}}})
    shown = released(client, job)
    assert shown.height == sum(cell != "" for cell in cells)
    assert {text for held in shown["value_set"].to_list() for text in held} <= {row[0] for row in rows}
    assert shown.group_by("box").len()["len"].min() >= K
    assert shown.group_by(pl.exclude("box")).len()["len"].min() >= K

    without = released(client, succeed(client, spec | {"quasi_identifiers": ["number"]}))
    assert [name for name in without.columns if name.startswith("value")] == []


@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_words_listed_as_advised_are_published_in_their_order(client: httpx.Client, kind: str, seed: int) -> None:
    meant, order = in_order(kind, Random(seed))
    dataset = upload(client, meant.body, new_family=True)
    (said,) = (one["detail"] for one in dataset["warnings"] if one["code"] == "ordered_words")
    advice, missing = order_advised(said)
    if missing:
        dataset = upload(client, meant.body, new_family=True, missing_values=missing)
    if "..." in advice["value"]:  # the sender alone knows
        advice = {"value": order}
    spec = anonymization(
        "boxes", dataset["id"], ["number", "value"], k=K, publish="draft", ordinal=advice, missing_policy="drop"
    )
    shown = released(client, succeed(client, spec))
    rank = {word: place for place, word in enumerate(order)}
    ends = [(rank[low], rank[high]) for low, high in zip(shown["value_lo"], shown["value_hi"], strict=True)]
    assert all(low <= high for low, high in ends)
    cells = [rank[cell] for cell in meant.columns["value"] if cell is not None]
    for place in range(len(order)):
        holding = sum(low <= place <= high for low, high in ends)
        assert holding >= cells.count(place), "each record is in some box, which contains its word"
