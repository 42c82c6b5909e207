"""`t` and `alpha` of a sensitive column are those of its values: in their declared order, some of them missing."""

import copy
import io
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.attacks.certified import FORMATS, Bundle
from tests.methods.asking import succeed, upload

#: By the alphabet: high, low, mid, unused, zero.
PAIN = ["zero", "low", "unused", "mid", "high"]


def patients(seed: int, missing: float) -> pl.DataFrame:
    """Pain grows with the dose, so that boxes of doses are far from all records in its order."""
    draw = np.random.default_rng(seed)
    dose = draw.uniform(0, 100, 300).round(1)
    level = np.clip((dose + draw.normal(0, 25, 300)) // 25, 0, 3).astype(int)
    pain = pl.Series("pain", [PAIN[(0, 1, 3, 4)[one]] for one in level])
    frame = pl.DataFrame({"dose": dose, "age": draw.integers(20, 80, 300), "pain": pain})
    return frame.with_columns(pl.when(pl.Series(draw.random(300) >= missing)).then("pain").alias("pain"))


def distance(box: list[str | None], whole: list[str | None], kind: str) -> float:
    """Earth mover's over the ranks of those who have a value; or half of the differences, missing being a value."""
    if kind == "ordered":
        box, whole = ([one for one in values if one is not None] for values in (box, whole))
        if not box:
            return 0.0
    values = PAIN if kind == "ordered" else [*PAIN, None]
    differences = [box.count(one) / len(box) - whole.count(one) / len(whole) for one in values]
    if kind == "equal":
        return sum(map(abs, differences)) / 2
    return sum(abs(sum(differences[: at + 1])) for at in range(len(PAIN))) / (len(PAIN) - 1)


def furthest(rows: pl.DataFrame, kind: str) -> float:
    return max(distance(box["pain"].to_list(), rows["pain"].to_list(), kind) for _, box in rows.group_by("box"))


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["ordered", "equal"])
def test_t_is_that_of_the_declared_order_and_a_reader_counts_the_same(
    client: httpx.Client, kind: str, missing: float
) -> None:
    dataset = upload(client, patients(len(kind) + int(10 * missing), missing).write_csv())
    t = 0.2 if kind == "ordered" else 0.35
    spec: dict[str, Any] = {
        "method": "boxes", "formats": FORMATS, "dataset_id": dataset["id"], "quasi_identifiers": ["dose", "age"],
        "k": 8, "keep": ["pain"], "sensitive": ["pain"], "t": t, "ordinal": {"pain": PAIN},
        "t_distance": {"pain": kind},
        "statistics": [{"kind": "mean", "of": ["dose"]}],
    }  # fmt: skip
    job = succeed(client, spec)
    bundle = Bundle(client, str(job["release_id"]))
    rows = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    measured = furthest(rows, kind)
    assert rows["box"].n_unique() > 3
    assert 0.5 * t < measured <= t + 1e-9
    assert job["result"]["t_closeness"]["pain"] == pytest.approx(measured)
    assert bundle.report(bundle.body).exit_code == 0
    smaller = copy.deepcopy(bundle.body)
    smaller["predicate"]["parameters"]["t"] = measured * 0.99
    assert any("t: " in one and "'pain'" in one for one in bundle.report(smaller).problems)
    if kind == "ordered":
        audit = succeed(client, {"method": "determination", "release_ids": [job["release_id"]]}, kind="audits")
        (kept,) = audit["result"]["releases"][0]["kept_columns"]
        assert kept["t_closeness"] == pytest.approx(measured)


def test_a_share_is_of_those_who_have_a_value(client: httpx.Client) -> None:
    """Alpha is of the records of a box that have a value: those without one hide nobody."""
    dataset = upload(client, patients(99, 0.5).write_csv())
    spec = {
        "method": "boxes", "formats": FORMATS, "dataset_id": dataset["id"], "quasi_identifiers": ["dose"], "k": 8,
        "keep": ["pain"], "sensitive": ["pain"], "alpha": 0.6, "statistics": [{"kind": "mean", "of": ["dose"]}],
    }  # fmt: skip
    bundle = Bundle(client, str(succeed(client, spec)["release_id"]))
    rows = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    known = []
    for _, box in rows.group_by("box"):
        largest = box["pain"].drop_nulls().value_counts()["count"].max() or 0
        known.append(largest / max(box["pain"].drop_nulls().len(), 1))
    assert len(known) > 2
    assert max(known) <= 0.6
    assert bundle.report(bundle.body).exit_code == 0
    smaller = copy.deepcopy(bundle.body)
    smaller["predicate"]["parameters"]["alpha"] = max(known) * 0.99
    assert any("alpha" in one for one in bundle.report(smaller).problems)
