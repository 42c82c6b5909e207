"""Releases of random tables by random specifications keep what they promise, and readers compute the same.

Ranges contain the truth, boxes have k records, l values, no value too often and none too far, all counted here; and
the certificate of each is confirmed by `surebox-verify`. A specification may be refused, and a job may find that the
guarantee cannot be met; none may end by an error of ours.
"""

import datetime as dt
import io
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.attacks.certified import FORMATS, Bundle
from tests.methods.asking import ended, upload

GRADES = ["zero", "low", "unused", "mid", "high"]
NUMBERS, DAYS, TEXTS = ("dose", "age ä"), ("day",), ("town", "grade", "flag")
DOMAINS = {"dose": [-1, 10_000], "age ä": [-5, 100], "day": ["2019-01-01", "2022-01-01"]}
STEPS = {"dose": 1, "age ä": 2, "day": 7}
#: Share of the records that may lack a value.
LACKING = {"dose": 0.1, "age ä": 0.1, "day": 0.1, "town": 0.1, "grade": 0.1, "ill": 0.2, "score": 0.2}


def table(draw: np.random.Generator) -> pl.DataFrame:
    """Numbers that tie, days, texts with commas and quotes, an order that the alphabet lacks; some values missing."""
    rows = int(draw.integers(40, 300))
    frame = pl.DataFrame({
        "dose": np.round(draw.lognormal(2, 1, rows), draw.integers(0, 3)),
        "age ä": draw.integers(0, draw.integers(3, 60), rows),
        "day": [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in draw.integers(0, 400, rows)],
        "town": draw.choice(["a", "b", "c,d", 'é"x', "~"], rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
        "grade": draw.choice(["zero", "low", "mid", "high"], rows),
        "flag": pl.Series(draw.random(rows) < 0.3),
        "ill": draw.choice(["flu", "cold", "none", "cancer"], rows, p=[0.3, 0.3, 0.35, 0.05]),
        "score": draw.integers(0, 6, rows),
        "weight": np.round(draw.lognormal(1, 0.7, rows), 2),
        "person": draw.integers(0, rows * 2 // 3, rows),
    })  # fmt: skip
    for name, share in LACKING.items():
        if draw.random() < 0.3:
            frame = frame.with_columns(pl.when(pl.Series(draw.random(rows) >= share)).then(pl.col(name)).alias(name))
    return frame


def statistics(draw: np.random.Generator, names: list[str]) -> list[dict[str, Any]]:
    numbers = [name for name in names if name in (*NUMBERS, "score")]
    texts = [name for name in names if name in (*TEXTS, "ill")]
    possible: list[dict[str, Any]] = [{"kind": "share", "of": [name]} for name in texts]
    for name in (*numbers, *(name for name in names if name in DAYS)):
        end = "2020-06-01" if name in DAYS else 5
        possible += [
            {"kind": "mean", "of": [name]},
            {"kind": "quantile", "of": [name], "p": float(draw.choice([0.1, 0.5, 0.9]))},
            {"kind": str(draw.choice(["variance", "standard_deviation"])), "of": [name]},
            {"kind": "share", "of": [name], "interval": [None, end]},
        ]
    if len(numbers) > 1:
        possible += [{"kind": kind, "of": numbers[:2]} for kind in ("correlation", "covariance", "regression")]
    if numbers and texts:
        possible.append({"kind": "domain_mean", "of": [numbers[0], texts[0]]})
    if len(texts) > 1:
        possible.append({"kind": "crosstab", "of": texts[:2]})
    chosen = draw.permutation(len(possible))[: draw.integers(1, 7)]
    return [possible[at] for at in chosen]


def specification(draw: np.random.Generator) -> dict[str, Any]:
    def one(*choices: Any) -> Any:
        return choices[int(draw.integers(0, len(choices)))]

    names = [str(name) for name in draw.permutation([*NUMBERS, *DAYS, *TEXTS])[: draw.integers(1, 5)]]
    keep = [name for name in ("ill", "score", "grade") if name not in names and draw.random() < 0.45]
    spec: dict[str, Any] = {
        "method": "boxes", "formats": FORMATS, "publish": "auto",
        "quasi_identifiers": names, "k": int(draw.integers(2, 12)),
        "partition": one("optimal", "fast", "mondrian"), "bounds": one("cells", "cells", "tight", "grid"),
        "missing_policy": one("drop", "pattern"), "statistics": statistics(draw, [*names, *keep]), "keep": keep,
    }  # fmt: skip
    if spec["bounds"] == "grid":
        spec |= {"value_step": {name: STEPS[name] for name in names if name in STEPS}}
        spec |= {"min_records_at_bound": one(1, 2)}
    ordinal = {"grade"} & {*names} if draw.random() < 0.8 else set()
    if draw.random() < 0.5 and (sensitive := [name for name in ("ill", "score", "grade") if name in keep][:2]):
        demands = {"l": 2, "t": one(0.2, 0.4, 0.6), "alpha": one(0.5, 0.7, 0.9)}
        chosen = one(["l"], ["t"], ["alpha"], [*demands])
        spec |= {"sensitive": sensitive} | {name: demands[name] for name in chosen}
        ordinal |= {"grade"} & {*sensitive}
    spec |= {"ordinal": dict.fromkeys(ordinal, GRADES)}
    if "town" in names and draw.random() < 0.3:
        spec |= {"nominal": {"town": {"missing_is_value": True}}}
    if keep and draw.random() < 0.3:
        spec |= {"k_counts_kept": True, "max_suppressed_classes": 0.5}
    if draw.random() < 0.25:
        spec |= {"person_column": "person"}
    more = one({}, {}, {"survey_weight_column": "weight"}, {"rare_records": one("mark", "suppress", "weigh")},
               {"box_means": one("rounded", "exact")})  # fmt: skip
    if draw.random() < 0.3:
        spec |= {"domains": {name: ends for name, ends in DOMAINS.items() if name in names}}
    return spec | more


def moved(box: list[Any], whole: list[Any], values: list[Any]) -> float:
    """Earth mover's distance over ranks, among those who have a value."""
    box, whole = ([one for one in each if one is not None] for each in (box, whole))
    apart = [box.count(value) / len(box) - whole.count(value) / len(whole) for value in values] if box else [0.0]
    return float(np.abs(np.cumsum(apart)).sum() / max(len(values) - 1, 1))


def check_sensitive(rows: pl.DataFrame, spec: dict[str, Any], name: str) -> None:
    whole = rows[name].to_list()
    values = GRADES if name == "grade" else sorted({value for value in whole if value is not None})
    for _, each in rows.group_by("box"):
        box = each[name].to_list()
        counts = [box.count(value) for value in values]
        assert sum(count > 0 for count in counts) >= spec.get("l", 0)
        assert max(counts, default=0) <= spec.get("alpha", 1.0) * sum(counts) * (1 + 1e-9)
        if name == "ill":
            distance = sum(abs(box.count(v) / len(box) - whole.count(v) / len(whole)) for v in {*whole}) / 2
        else:
            distance = moved(box, whole, values)
        assert distance <= spec.get("t", 1.0) + 1e-9


def contains(guaranteed: Any, value: Any) -> bool:
    if isinstance(value, list):
        return all(contains(*pair) for pair in zip(guaranteed or [None] * len(value), value, strict=True))
    return guaranteed is None or value is None or guaranteed[0] <= value <= guaranteed[1]


def publish(client: httpx.Client, draw: np.random.Generator) -> bool:
    """Make a release of a random table and check it; whether there is one."""
    frame, spec = table(draw), specification(draw)
    dataset = upload(client, frame.write_csv(), new_family=True)
    body = spec | {"dataset_id": dataset["id"]}
    answer = client.post("/v1/anonymizations", json=body, headers={"Prefer": "wait=30"})
    if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
        return False
    job = ended(client, answer.raise_for_status().json())
    if job["state"] == "failed":
        assert job["error"]["status"] == httpx.codes.UNPROCESSABLE_ENTITY, job["error"]
        return False
    result = client.get(f"/v1/jobs/{job['id']}/result").raise_for_status().json()
    assert all(contains(one["guaranteed"], one["true_value"]) for one in result["statistics"]), spec
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    if release["state"] == "draft":  # rare kept values are found, and published all the same
        accepted = {"accept_findings": sorted({one["audit"] for one in release["findings"]})}
        client.post(f"/v1/releases/{release['id']}/publish", json=accepted).raise_for_status()
    bundle = Bundle(client, job["release_id"])
    rows = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    assert rows.group_by("box").len()["len"].min() >= spec["k"]
    for name in spec.get("sensitive", ()):
        check_sensitive(rows, spec, name)
    assert list(bundle.report(bundle.body).problems) == [], spec
    return True


@pytest.mark.parametrize("seed", range(6))
def test_every_promise_is_kept_and_confirmed(client: httpx.Client, seed: int, scale: int) -> None:
    tried = 5 * scale
    published = [publish(client, np.random.default_rng([seed, turn])) for turn in range(tried)]
    assert sum(published) > tried / 3, "most specifications can be met"
