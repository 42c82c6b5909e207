"""Design weights: the truth lies in every range that is called guaranteed, and no box gives its last weight away.

A weighted statistic is one of all records with their own weights, which nobody publishes. Small random tables of every
kind are anonymized as the service does it, and the truth is computed from the records by brute force.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.methods.catalogue import public_statistics
from surebox_verify.certify import certify
from surebox_verify.keys import read_keys
from surebox_verify.verification import verify
from tests.methods.asking import anonymization, run, succeed, upload
from tests.methods.in_process import Bench, Done
from tests.verify.made import Issuer, statement
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.weights import weight_intervals

ISSUER = Issuer.new()
SPREADS: dict[str, Callable[[np.random.Generator, int], np.ndarray[Any, Any]]] = {
    "like": lambda draw, n: draw.uniform(0.9, 1.1, n),
    "of census": lambda draw, n: np.rint(draw.gamma(2.0, 50.0, n)) + 1.0,
    "heavy": lambda draw, n: np.exp(draw.uniform(np.log(1e-3), np.log(1e6), n)),
    "of strata": lambda draw, n: draw.choice([0.5, 3.0, 40.0], n),
    "one giant": lambda draw, n: np.where(np.arange(n) == draw.integers(n), 1e4, 1.0),
}
GROUPS = ["a", "b", "c"]
STATISTICS: list[dict[str, Any]] = [
    *({"kind": kind, "of": ["x"]} for kind in ("mean", "variance", "standard_deviation")),
    {"kind": "mean", "of": ["n"]}, {"kind": "variance", "of": ["n"]},
    *({"kind": kind, "of": ["x", "n"]} for kind in ("covariance", "correlation", "regression")),
    {"kind": "share", "of": ["g"]}, {"kind": "share", "of": ["g"], "values": ["a", "c"]},
    {"kind": "crosstab", "of": ["g", "h"]}, {"kind": "domain_mean", "of": ["x", "g"], "values": ["b"]},
    {"kind": "quantile", "of": ["x"], "p": 0.5}, {"kind": "quantile", "of": ["n"], "p": 0.25},
]  # fmt: skip


def table(draw: np.random.Generator, spread: str, rows: int = 24) -> pl.DataFrame:
    x = draw.choice([draw.normal(0, 1, rows), np.rint(draw.normal(0, 2, rows)), draw.lognormal(0, 2, rows)])
    n = draw.integers(0, 6, rows) + draw.integers(0, 2) * np.rint(x).astype(np.int64)
    return pl.DataFrame({
        "x": x, "n": n, "g": draw.choice(GROUPS, rows), "h": draw.choice(["u", "v"], rows),
        "w": SPREADS[spread](draw, rows),
    })  # fmt: skip


def truth(one: Mapping[str, Any], frame: pl.DataFrame) -> Any:
    """A statistic of the records, weighted, written out; None where it is undefined."""
    kind, weights, columns = one["kind"], frame["w"].to_numpy(), [frame[name].to_numpy() for name in one["of"]]
    if kind in {"crosstab", "share", "domain_mean"}:
        return of_values(kind, weights, columns, list(one["values"]))
    if kind == "quantile":
        order = np.argsort(columns[0], kind="stable")
        values, up_to = columns[0][order], np.cumsum(weights[order]) / weights.sum()
        return float(values[min(int(np.searchsorted(up_to, one["p"] * (1 - 1e-12))), len(values) - 1)])
    return of_moments(kind, weights / weights.sum(), columns)


def of_values(kind: str, weights: Any, columns: list[Any], values: list[Any]) -> float | None:
    if kind == "crosstab":
        return float(weights[(columns[0] == values[0]) & (columns[1] == values[1])].sum())
    inside = np.isin(columns[-1], values)
    if kind == "share":
        return float(weights[inside].sum() / weights.sum())
    return float(weights[inside] @ columns[0][inside] / weights[inside].sum()) if inside.any() else None


def of_moments(kind: str, share: Any, columns: list[Any]) -> Any:
    centred = [each - share @ each for each in columns]
    products = np.array([[share @ (a * b) for b in centred] for a in centred])
    one = {
        "mean": float(share @ columns[0]), "variance": float(products[0, 0]), "covariance": float(products[0, -1]),
        "standard_deviation": float(products[0, 0] ** 0.5),
    }  # fmt: skip
    if kind in one:
        return one[kind]
    if min(products[0, 0], products[1, 1]) <= 1e-12 * float(np.max(np.abs(columns)) ** 2):
        return None
    if kind == "correlation":
        return float(products[0, 1] / (products[0, 0] * products[1, 1]) ** 0.5)
    slope = products[0, 1] / products[1, 1]
    return [float(share @ columns[0] - slope * (share @ columns[1])), float(slope)]


def outside(frame: pl.DataFrame, statistics: list[dict[str, Any]]) -> Iterator[str]:
    """Ranges that do not hold the truth, but for its own rounding."""
    for one in statistics:
        case, ranges = truth(one, frame), one["guaranteed"]
        if case is None or ranges is None:
            continue
        pairs = zip(case, ranges, strict=True) if isinstance(case, list) else [(case, ranges)]
        for value, pair in pairs:
            play = 1e-9 * max(abs(value), 1e-9)
            if pair is not None and not pair[0] - play <= value <= pair[1] + play:
                yield f"{one['kind']}({one['of']}, {one['values']}): {value} not in {pair}"


def released_in(bench: Bench, number: int, spread: str, draw: np.random.Generator, **more: Any) -> tuple[Done, Any]:
    frame = table(draw, spread)
    bench.dataset(f"t{number}", frame)
    spec = anonymization("boxes", f"t{number}", ["x", "n", "g", "h"], survey_weight_column="w")
    return bench.run(spec | {"statistics": STATISTICS, "domains": {"x": [-1e6, 1e6]}} | more), frame


def reader_finds(done: Done) -> list[dict[str, Any]]:
    """What surebox-certify computes of the rows."""
    values = {"kind", "of", "values", "p"}
    questions = [{k: v for k, v in one.items() if k in values and v is not None} for one in done.result["statistics"]]
    table = done.rows().drop("core", strict=False)
    return certify(table, [json.dumps(one) for one in questions], weight=True)


@pytest.mark.parametrize("bounds", ["cells", "tight", "grid"])
def test_the_weighted_truth_lies_in_every_guaranteed_range(
    tmp_path: Path, bounds: str, scale: int, figures: Callable[..., None]
) -> None:
    bench, ranges, wrong = Bench(tmp_path), 0, []
    draw = np.random.default_rng([23, len(bounds), ord(bounds[0])])
    for number in range(len(SPREADS) * 3 * scale):
        spread, k = list(SPREADS)[number % len(SPREADS)], 2 + number % 2
        done, frame = released_in(
            bench, number, spread, draw, k=k, bounds=bounds,
            **({"value_step": {"x": 0.5, "n": 2.0}} if bounds == "grid" else {}),
        )  # fmt: skip
        statistics = done.result["statistics"]
        ranges += sum(one["guaranteed"] is not None for one in statistics)
        wrong += [(number, each) for each in outside(frame, statistics)]
        for one, again in zip(statistics, reader_finds(done), strict=True):
            if again["guaranteed"] != one["guaranteed"] and bounds == "tight":  # the reader does not know of steps
                wrong += [(number, each) for each in outside(frame, [dict(one) | {"guaranteed": again["guaranteed"]}])]
    figures(ranges=ranges, wrong=len(wrong))
    assert wrong == []
    assert ranges > 200 * scale


@pytest.mark.parametrize(("bounds", "missing"), [("tight", "pattern"), ("tight", "drop"), ("grid", "pattern")])
def test_with_missing_values_too_the_truth_lies_in_every_range(
    tmp_path: Path, bounds: str, missing: str, scale: int, figures: Callable[..., None]
) -> None:
    """Statistics are of the records that have the values; who gave one up is seen by what is published of the row."""
    bench, ranges, wrong = Bench(tmp_path), 0, []
    draw = np.random.default_rng([24, ord(bounds[0]), ord(missing[0])])
    for number in range(len(SPREADS) * scale):
        whole = table(draw, list(SPREADS)[number % len(SPREADS)], rows=40).with_columns(
            id=pl.int_range(40, dtype=pl.Int64)
        )
        frame = whole.with_columns(
            pl.when(pl.Series(draw.random(40) < share)).then(None).otherwise(pl.col(name)).alias(name)
            for name, share in (("x", 0.25), ("n", 0.15))
        )
        bench.dataset(f"m{number}", frame)
        done = bench.run({
            "method": "boxes", "dataset_id": f"m{number}", "quasi_identifiers": ["x", "n", "g", "h"],
            "survey_weight_column": "w",
            "statistics": STATISTICS, "domains": {"x": [-1e6, 1e6]}, "k": (2, 3, 5)[number % 3], "bounds": bounds,
            "missing_policy": missing, "keep": ["id"], "max_suppressed_classes": 0.9,
            "nominal": {"g": {"values": GROUPS}, "h": {"values": ["u", "v"]}},
            **({"value_step": {"x": 0.5, "n": 2.0}} if bounds == "grid" else {}),
        })  # fmt: skip
        rows = frame.join(done.rows().select("id", "x_lo", "n_lo"), on="id").with_columns(
            pl.when(pl.col(f"{name}_lo").is_null()).then(None).otherwise(pl.col(name)).alias(name)
            for name in ("x", "n")
        )
        for one in done.result["statistics"]:
            there = rows.drop_nulls(one["of"])
            ranges += one["guaranteed"] is not None
            wrong += [(number, each) for each in outside(there, [one])] if len(there) else []
    figures(ranges=ranges, wrong=len(wrong))
    assert wrong == []
    assert ranges > 50 * scale


def test_the_verifier_agrees_with_what_is_published(tmp_path: Path) -> None:
    """Also about the core of marked releases, and of records with missing values."""
    bench, draw = Bench(tmp_path), np.random.default_rng(5)
    for number, more in enumerate([
        {"bounds": "tight", "k": 2}, {"k": 3}, {"k": 3, "rare_records": "mark", "max_suppressed": 0.3},
        {"k": 2, "bounds": "grid", "value_step": {"x": 0.5, "n": 2.0}},
    ]):  # fmt: skip
        done, _ = released_in(bench, number, "of census", draw, **more)
        assert done.release is not None
        files = {"release.parquet": done.release.files["parquet"].path.read_bytes()}
        body = statement(files, json.loads(json.dumps(public_statistics("boxes", done.release.statistics))))
        body["predicate"]["parameters"] = json.loads(json.dumps(dict(done.release.parameters)))
        body["predicate"]["release"]["columns"] = [dict(column) for column in done.release.columns]
        report = verify(files, ISSUER.sign(body), read_keys(ISSUER.key_set()))
        assert (report.exit_code, report.problems, report.doubtful, report.unchecked) == (0, [], [], [])


def test_a_range_of_masses_holds_data_of_any_admissible_weights(tmp_path: Path, scale: int) -> None:
    """Records of the boxes as published, drawn anew with other weights: all data consistent with the release."""
    bench, draw = Bench(tmp_path), np.random.default_rng(6)
    for number in range(3 * scale):
        done, _ = released_in(bench, number, "of census", draw, k=3, bounds="cells")
        rows = done.rows()
        for _ in range(40):
            weights = np.empty(len(rows))
            for (_,), part in rows.with_row_index().group_by("box"):
                place, end = part["index"].to_numpy(), draw.integers(3)
                low, high = float(part["weight_mean_lo"][0]), float(part["weight_mean_hi"][0])
                mean = [low, high, draw.uniform(low, high)][end]
                drawn = draw.dirichlet(np.full(len(place), draw.choice([0.05, 1.0, 50.0])))
                weights[place] = np.maximum(drawn * mean * len(place), 1e-12)
            ends = [[rows[f"{name}_{side}"].to_numpy() for side in ("lo", "hi")] for name in ("x", "n")]
            x, n = (np.where(draw.random(len(rows)) < draw.random(), *each) for each in ends)
            g, h = ([draw.choice(each) for each in rows[f"{name}_set"].to_list()] for name in ("g", "h"))
            frame = pl.DataFrame({"x": x, "n": n, "g": g, "h": h, "w": weights})
            assert list(outside(frame, done.result["statistics"])) == []


def boxes_of(counts: np.ndarray[Any, Any]) -> Boxes:
    each = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    low = np.arange(len(counts), dtype=np.float64)[:, None]
    return Boxes(low, low + 1.0, counts, each, np.zeros(1, dtype=np.bool_))


@pytest.mark.parametrize("spread", SPREADS)
def test_who_knows_all_other_weights_of_a_box_has_not_the_last_one(spread: str, scale: int) -> None:
    """The last one is left an interval half as long as the largest weight of the box, or two whole numbers."""
    draw = np.random.default_rng(7)
    for _ in range(20 * scale):
        boxes = boxes_of(draw.integers(3, 9, 40))
        weights = SPREADS[spread](draw, int(boxes.counts.sum()))
        key = new_keys(1, draw)[0]
        low, high = weight_intervals(weights, boxes, key, np.empty(0, dtype=np.int32))
        sums = np.bincount(boxes.box, weights=weights)
        largest = np.zeros(len(sums))
        np.maximum.at(largest, boxes.box, weights)
        assert (low > 0).all()
        assert ((low * boxes.counts <= sums) & (sums <= high * boxes.counts)).all()
        left = (high - low) * boxes.counts
        whole = bool((weights == np.rint(weights)).all())
        cut = np.rint(low * boxes.counts) == boxes.counts if whole else np.zeros(len(sums), dtype=np.bool_)
        assert (
            left[~cut] >= (np.maximum(0.5 * largest - 1.0, 1.0) if whole else 0.5 * largest)[~cut] * (1 - 1e-9)
        ).all()
        again = weight_intervals(weights, boxes, key, np.empty(0, dtype=np.int32))
        assert (low.tolist(), high.tolist()) == (again[0].tolist(), again[1].tolist())


def test_a_person_with_several_rows_is_left_an_interval_as_long(scale: int) -> None:
    draw = np.random.default_rng(8)
    boxes = boxes_of(np.full(30, 9))
    weights, persons = draw.gamma(2.0, 10.0, 270), np.repeat(np.arange(90), 3)
    low, high = weight_intervals(weights, boxes, new_keys(1, draw)[0], persons.astype(np.int32))
    whole = np.bincount(persons, weights=weights).reshape(30, 3).max(axis=1)
    assert ((high - low) * 9 >= 0.5 * whole * (1 - 1e-9)).all()


def people(seed: int, rows: int = 120) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame({
        "x": draw.gamma(2.0, 20.0, rows).round(1), "n": draw.integers(0, 60, rows), "g": draw.choice(GROUPS, rows),
        "h": draw.choice(["u", "v"], rows), "w": draw.gamma(2.0, 40.0, rows).round() + 1.0,
    })  # fmt: skip


def test_weights_of_boxes_are_published_once_of_the_same_data(client: httpx.Client) -> None:
    """Two of them subtract, as means do; the same release once more tells nothing new."""
    frame = people(11)
    dataset = upload(client, frame.write_csv())
    spec = {
        "method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x", "n"], "survey_weight_column": "w",
        "bounds": "tight", "k": 3,
        "statistics": [one for one in STATISTICS if not {"g", "h"} & set(one["of"])],
    }  # fmt: skip
    job = succeed(client, spec)
    rows = pl.read_parquet(io.BytesIO(client.get(f"/v1/releases/{job['release_id']}/data?format=parquet").content))
    assert "weight" not in rows.columns
    sums = rows.group_by("box").agg(pl.len(), pl.col("weight_mean_hi", "weight_mean_lo").first())
    assert ((sums["weight_mean_hi"] - sums["weight_mean_lo"]) * sums["len"] >= 1.0 - 1e-9).all()
    published = client.get(f"/v1/releases/{job['release_id']}/statistics").json()["statistics"]
    assert list(outside(frame, published)) == []
    answer = client.post(
        f"/v1/releases/{job['release_id']}/statistics", headers={"Prefer": "wait=30"},
        json={"statistics": [{"kind": "mean", "of": ["x"]}, {"kind": "correlation", "of": ["x", "n"]}]},
    ).json()  # fmt: skip
    later = answer.get("statistics") or client.get(f"/v1/jobs/{answer['id']}/result").json()["statistics"]
    by_name = {(one["kind"], *one["of"]): one["guaranteed"] for one in published}
    assert by_name["mean", "x"] == later[0]["guaranteed"]
    assert list(outside(frame, later)) == []
    other = run(client, spec | {"k": 4})
    release = client.get(f"/v1/releases/{other['release_id']}").json()
    assert release["state"] == "draft"
    assert any("Weights of boxes were published" in one["detail"] for one in release["findings"])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_ranges_of_a_census_hold_its_weighted_truth(
    tmp_path: Path, real_data: Path, k: int, figures: Callable[..., None]
) -> None:
    """Another state than that of the finding."""
    names = {"AGEP": "x", "WKHP": "n", "SEX": "g", "MAR": "h", "PWGTP": "w"}
    frame = pl.read_parquet(real_data / "acs2024" / "p_53.parquet", columns=list(names)).rename(names)
    frame = frame.drop_nulls().sample(400, seed=k).with_columns(pl.col("g", "h").cast(pl.Int64).cast(pl.String))
    frame = frame.with_columns(pl.col("x", "n").cast(pl.Int64), pl.col("w").cast(pl.Float64))
    bench = Bench(tmp_path)
    bench.dataset("census", frame)
    spec = {
        "method": "boxes", "dataset_id": "census", "quasi_identifiers": ["x", "n", "g", "h"],
        "survey_weight_column": "w", "k": k,
        "statistics": [one for one in STATISTICS if one.get("values") is None and one["kind"] != "domain_mean"],
    }  # fmt: skip
    for bounds in ("tight", "cells"):
        statistics = bench.run(spec | {"bounds": bounds}).result["statistics"]
        figures(ranges=len(statistics), wrong=len(list(outside(frame, statistics))))
        assert list(outside(frame, statistics)) == []


def test_certificates_from_before_with_exact_means_still_verify(tmp_path: Path) -> None:
    """Rows had `weight`, the mean of their box; what was said of bounds that are not attained is as true as it was."""
    bench, draw = Bench(tmp_path), np.random.default_rng(9)
    done, _ = released_in(bench, 0, "like", draw, k=3)
    assert done.release is not None
    rows = done.rows().drop("weight_mean_hi").rename({"weight_mean_lo": "weight"})
    questions = [{"kind": kind, "of": ["x"]} for kind in ("mean", "variance", "standard_deviation")]
    statistics = certify(rows, [json.dumps(one) for one in questions], weight="weight")
    statistics = [one | {"weight": 1.0} for one in statistics]
    buffer = io.BytesIO()
    rows.write_parquet(buffer)
    files = {"release.parquet": buffer.getvalue()}
    body = statement(files, json.loads(json.dumps(statistics)))
    body["predicate"]["parameters"] = json.loads(json.dumps({**done.release.parameters, "statistics": questions}))
    columns = [dict(column) for column in done.release.columns if column["name"] != "weight_mean_hi"]
    renamed = {"weight_mean_lo": "weight"}
    body["predicate"]["release"]["columns"] = [one | {"name": renamed.get(one["name"], one["name"])} for one in columns]
    report = verify(files, ISSUER.sign(body), read_keys(ISSUER.key_set()))
    assert (report.exit_code, report.problems, report.unchecked) == (0, [], [])
