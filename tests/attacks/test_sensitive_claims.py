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


def test_how_often_a_guess_is_right_is_stated_and_a_reader_counts_the_same(client: httpx.Client) -> None:
    """Most have no pain: l of 2 is met, and a guess from the box is right for most of it."""
    frame = patients(44, 0.2).with_columns(
        pl.when(pl.col("dose") < 60).then(pl.lit("zero")).otherwise("pain").alias("pain")
    )
    spec = {
        "method": "boxes", "formats": FORMATS, "dataset_id": upload(client, frame.write_csv())["id"],
        "quasi_identifiers": ["dose", "age"], "k": 8, "sensitive": ["pain"], "l": 2,
        "statistics": [{"kind": "mean", "of": ["age"]}],
    }  # fmt: skip
    job = succeed(client, spec)
    bundle = Bundle(client, str(job["release_id"]))
    rows = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    largest, above = 0.0, 0
    for _, box in rows.group_by("box"):
        values = box["pain"].drop_nulls().to_list()
        most = max(map(values.count, set(values)))
        largest, above = max(largest, most / len(values)), above + (box.height if 10 * most > 6 * len(values) else 0)
    assert 0.0 < above < rows.height
    figures = {"largest_share": largest, "share_above_60_percent": above / rows.height}
    parameters = bundle.body["predicate"]["parameters"]
    for name, figure in figures.items():
        assert job["result"][name]["pain"] == pytest.approx(figure, abs=1e-12)
        assert parameters[name]["pain"] == pytest.approx(figure, abs=1e-12)
        for false in (
            {"pain": figure - 0.001},
            {"pain": figure + 0.001},
            {},
            {"dose": figure},
            [figure],
            {"pain": None},
        ):
            other = copy.deepcopy(bundle.body)
            other["predicate"]["parameters"][name] = false
            assert any(name in one for one in bundle.report(other).problems), false
    hidden = copy.deepcopy(bundle.body)
    hidden["predicate"]["parameters"]["withheld"] = ["pain"]
    assert any("withheld" in one for one in bundle.report(hidden).problems)
    older = copy.deepcopy(bundle.body)
    for name in (*figures, "withheld"):
        del older["predicate"]["parameters"][name]
    assert bundle.report(older).exit_code == bundle.report(bundle.body).exit_code == 0, "certificates of before"
    page = client.get(f"/v1/releases/{job['release_id']}/report").text
    assert f"one value of pain is that of {100 * largest:.3g} % of its records" in page
    assert f"{100 * above / rows.height:.3g} % of all records" in page
