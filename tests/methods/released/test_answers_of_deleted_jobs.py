"""A release answers the same once its job is deleted: what questions need of its specification is kept."""

from collections.abc import Callable, Sequence
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.contracts.stored import kept_spec
from tests.drawing import seeds
from tests.methods.asking import succeed, upload
from workers.methods.boxes import report

QUESTIONS = [
    {"kind": "mean", "of": ["wage"]},
    {"kind": "share", "of": ["town"], "values": ["a"]},
    {"kind": "variance", "of": ["age"]},
    {"kind": "correlation", "of": ["age", "wage"]},
    {"kind": "quantile", "of": ["age"], "p": 0.5},
    {"kind": "domain_mean", "of": ["wage", "town"]},
]


VARIANTS: list[Callable[[np.random.Generator], dict[str, Any]]] = [
    lambda draw: {"survey_weight_column": "stands_for", "released_weights": str(draw.choice(["box", "row"]))},
    lambda draw: {"box_means": "rounded", "ddof": int(draw.integers(0, 2))},
    lambda _: {
        "rare_records": "weigh", "quasi_identifiers": ["age", "wage"], "statistics": [{"kind": "mean", "of": ["wage"]}],
        "bounds": "cells", "value_step": {},
    },
    lambda _: {"keep": ["ill"], "k_counts_kept": True},
]  # fmt: skip


def answers(client: httpx.Client, release: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Answers of every question and audit that asks a release of boxes alone."""
    answered = []
    questions = [each for each in QUESTIONS if set(each["of"]) <= set(names)]
    for question, body in (
        ("statistics", {"statistics": questions}),
        ("count", {"queries": [{"age": [30, 50]}, {"wage": [10, 40]}]}),
    ):
        answer = client.post(f"/v1/releases/{release}/{question}", json=body).raise_for_status().json()
        answered.append(answer.get("result", answer))
    audit = succeed(client, {"method": "table", "release_id": release}, kind="audits")["result"]
    answered.append({"value_disclosure": audit["value_disclosure"], "k": audit["k"]})
    audit = succeed(client, {"method": "determination", "release_ids": [release]}, kind="audits")["result"]
    answered.append({name: audit[name] for name in ("releases",)})
    return answered


@pytest.mark.parametrize("seed", seeds(8))
def test_answers_are_the_same_before_and_after_the_job_is_deleted(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = 240
    people = pl.DataFrame({
        "age": draw.integers(18, 80, rows), "wage": draw.lognormal(3, 1, rows).round(2),
        "town": draw.choice(["a", "b", "c"], rows), "stands_for": draw.choice([1.5, 20.0], rows),
        "ill": draw.choice(["flu", "none"], rows),
    })  # fmt: skip
    dataset = upload(client, people.write_csv(), new_family=True)["id"]
    spec: dict[str, Any] = {
        "method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "wage", "town"], "k": 4,
        "bounds": str(draw.choice(["cells", "tight"])), "value_step": {"wage": 0.01} if draw.random() < 0.5 else {},
    } | VARIANTS[seed % len(VARIANTS)](draw)  # fmt: skip
    job = succeed(client, spec)
    before = answers(client, job["release_id"], spec["quasi_identifiers"])
    client.delete(f"/v1/jobs/{job['id']}").raise_for_status()
    assert client.get(f"/v1/jobs/{job['id']}").status_code in {httpx.codes.NOT_FOUND, httpx.codes.GONE}
    assert answers(client, job["release_id"], spec["quasi_identifiers"]) == before


def test_all_that_is_public_of_a_release_of_boxes_is_kept() -> None:
    fields = report._PUBLIC | {"mean_interval_in_boxes", "p_percent", "base_release_id", "previous_release_id"}
    assert kept_spec(dict.fromkeys(fields)).keys() == fields
    assert kept_spec({"seed": 1, "dataset_id": "ds_1", "publish": "auto"}) == {}
