"""`uncertain` over HTTP: what a release promises, computed again by numpy over all pairs."""

import json
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import released, succeed, upload
from tests.methods.densities import (
    axes_of,
    expected_anonymity,
    noise,
    scales_of,
    statistics,
    true_records,
    units,
    upload_frame,
)

COLUMNS = ["größe", "Wert in €"]
WAYS = [
    ("common", "global"), ("levels", "global"), ("shared", "global"), ("shared", "local"), ("shared", "rotated"),
    ("per_record", "global"), ("per_record", "local"), ("per_record", "rotated"),
]  # fmt: skip
#: Names that nothing public may have, at any depth.
RESTRICTED = {"records", "released", "suppressed", "rare", "expected_anonymity", "certified_error", "k_per_record"}


def people(n: int = 240, seed: int = 1) -> pl.DataFrame:
    """Two groups of correlated measures of very different units, some equal, each with a name of its own."""
    rng = np.random.default_rng(seed)
    second = rng.random(n) < 0.3
    x = rng.normal(size=n) * np.where(second, 1.0, 4.0) + 30.0 * second
    y = 1e4 * (0.5 * x + rng.normal(size=n))
    x[:6], y[:6] = x[0], y[0]
    return pl.DataFrame({"größe": x, "Wert in €": y, "id": [f"p{i}" for i in range(n)], "k": rng.uniform(1.0, 9.5, n)})


def ask(client: httpx.Client, frame: pl.DataFrame, **change: Any) -> dict[str, Any]:
    spec = {"method": "uncertain", "dataset_id": upload_frame(client, frame), "quasi_identifiers": COLUMNS, "k": 4.5}
    return succeed(client, spec | {"keep": ["id"]} | change)


@pytest.mark.parametrize("density", ["gaussian", "uniform"])
@pytest.mark.parametrize(("scales", "axes"), WAYS)
def test_k_records_fit_every_released_one(client: httpx.Client, density: str, scales: str, axes: str) -> None:
    frame = people()
    job = ask(client, frame, density=density, scales=scales, axes=axes)
    result, unit = job["result"], units(client, job, COLUMNS)
    rows, truth = true_records(client, job, frame, COLUMNS)
    assert result["records"] == frame.height == rows.height + result["suppressed"]["rare"]

    anonymity = expected_anonymity(
        rows, truth, COLUMNS, density=density, unit=unit, by_cell=scales in {"levels", "shared"}
    )
    claimed = result["expected_anonymity"]
    assert 4.5 <= claimed["min"] <= anonymity.min() * (1 + 1e-9)
    assert anonymity.min() <= claimed["min"] + result["certified_error"] + 1e-9
    assert anonymity.mean() == pytest.approx(claimed["mean"], abs=result["certified_error"] + 1e-6)
    if scales == "common":
        assert len(np.unique(scales_of(rows, COLUMNS), axis=0)) == 1
        narrower = rows.with_columns(pl.col(f"{name}_scale") / 1.3 for name in COLUMNS)
        short = expected_anonymity(narrower, truth, COLUMNS, density=density, unit=unit) < 4.5
        assert short.sum() >= 5, "k or more records need more than the rung below"
    if scales == "per_record":
        varied = anonymity[(scales_of(rows, COLUMNS) > 0).all(axis=1)]
        assert np.abs(varied - 4.5).max() < 0.01
    assert result["mean_scale"] == pytest.approx(dict(zip(COLUMNS, scales_of(rows, COLUMNS).mean(axis=0), strict=True)))


@pytest.mark.parametrize("density", ["gaussian", "uniform"])
@pytest.mark.parametrize(("scales", "axes"), [("common", "global"), ("per_record", "rotated")])
def test_the_noise_has_the_density_that_is_published(
    client: httpx.Client, density: str, scales: str, axes: str
) -> None:
    frame = people(2_000)
    job = ask(client, frame, density=density, scales=scales, axes=axes)
    rows, truth = true_records(client, job, frame, COLUMNS)
    wide = (scales_of(rows, COLUMNS) > 0).all(axis=1)
    e = noise(rows, truth, COLUMNS, units(client, job, COLUMNS))[wide]
    variance = 1.0 if density == "gaussian" else 1.0 / 12.0
    assert len(e) > 1_900
    assert np.abs(e.mean(axis=0)).max() < 5 * np.sqrt(variance / len(e))
    assert e.var(axis=0) == pytest.approx(np.full(2, variance), rel=5 * np.sqrt(2 / len(e)))
    assert abs(np.corrcoef(e.T)[0, 1]) < 5 / np.sqrt(len(e))
    if density == "uniform":
        assert np.abs(e).max() <= 0.5 + 1e-9
    if axes == "rotated":
        rotation = axes_of(rows, COLUMNS)
        assert rotation @ rotation.transpose(0, 2, 1) == pytest.approx(
            np.broadcast_to(np.eye(2), rotation.shape), abs=1e-9
        )


def test_what_is_not_said_is_filled_in(client: httpx.Client) -> None:
    frame = people()
    job = ask(client, frame, keep=[], k=3)
    said = {
        "density": "gaussian", "scales": "levels", "suppress_share": None, "cell_size": None, "axes": "global",
        "min_scale": 0.0, "domains": {}, "keep": [], "missing_policy": "refuse", "seed": None, "accept_findings": [],
        "k": 3.0, "k_column": None, "quasi_identifiers": COLUMNS,
    }  # fmt: skip
    assert {name: job["spec"][name] for name in said} == said
    rows = released(client, job)
    assert rows.columns == ["größe", "größe_scale", "Wert in €", "Wert in €_scale"]
    assert rows.height == job["result"]["released"]
    assert job["result"]["suppressed"]["rare"] == 0, "rare records have a level of their own"
    common = ask(client, frame, keep=[], k=3, scales="common")
    assert common["spec"]["suppress_share"] == 0.01
    suppressed = common["result"]["suppressed"]["rare"]
    assert suppressed == 0 or suppressed >= 3, "none or at least k"
    assert ask(client, frame, scales="shared")["spec"]["cell_size"] == 36
    assert ask(client, frame, scales="per_record")["result"]["suppressed"]["rare"] == 0


def test_columns_flags_and_order(client: httpx.Client) -> None:
    frame = people()
    job = ask(client, frame, scales="per_record", axes="rotated", keep=["id", "k"], seed=5)
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    own = [part for c in COLUMNS for part in (c, *(f"{c}_{extra}" for extra in ("scale", "axis_1", "axis_2")))]
    assert [column["name"] for column in release["columns"]] == [*own, "id", "k"]
    assert [column["type"] for column in release["columns"]] == ["number"] * 8 + ["string", "number"]
    rows = released(client, job)
    assert rows.columns == [*own, "id", "k"]
    assert set(release["flags"]) == {
        "scales-per-record", "zero-scale", "kept-columns-not-counted", "reproducible", "types-from-data"
    }  # fmt: skip
    order = np.array([int(name[1:]) for name in rows["id"].to_list()])
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.3, "rows do not stand in the order of the records"
    assert dict(zip(rows["id"], rows["k"], strict=True)) == dict(zip(frame["id"], frame["k"], strict=True))


def test_the_result_says_what_kept_columns_leave_of_k(client: httpx.Client) -> None:
    frame = people().with_columns(pl.Series("side", [("left", "right", None)[i % 7 // 3] for i in range(240)]))
    frame = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 9).then(pl.lit("alone")).otherwise("side").alias("side")
    )
    job = ask(client, frame, scales="common", suppress_share=0, keep=["side"])
    claimed = job["result"]["expected_anonymity_with_kept"]
    scale = scales_of(released(client, job), COLUMNS)[0]
    classes = [part for _, part in frame.group_by("side")]
    assert sorted(part.height for part in classes) == [1, 34, 102, 103]
    anonymity = []
    for part in classes:
        truth = part.select(COLUMNS).to_numpy()
        rows = pl.DataFrame({f"{name}_scale": np.full(len(truth), s) for name, s in zip(COLUMNS, scale, strict=True)})
        anonymity.append(expected_anonymity(rows, truth, COLUMNS, density="gaussian", unit=np.ones(2)))
    assert claimed["min"] == 1.0 == np.concatenate(anonymity).min()
    assert claimed["mean"] == pytest.approx(np.concatenate(anonymity).mean(), rel=2e-3)
    assert claimed["max"] == pytest.approx(np.concatenate(anonymity).max(), rel=2e-3)
    assert claimed["evaluated"] == 240
    assert ask(client, frame, keep=[])["result"]["expected_anonymity_with_kept"] is None


def test_every_record_can_have_a_k_of_its_own(client: httpx.Client) -> None:
    frame = people()
    for scales in ("per_record", "common"):
        job = ask(
            client, frame, k=50, k_column="k", scales=scales, suppress_share=None if scales == "per_record" else 0
        )
        rows, truth = true_records(client, job, frame, COLUMNS)
        k = np.array([dict(zip(frame["id"], frame["k"], strict=True))[name] for name in rows["id"].to_list()])
        anonymity = expected_anonymity(rows, truth, COLUMNS, density="gaussian", unit=units(client, job, COLUMNS))
        assert (anonymity >= k * (1 - 1e-9)).all(), "k_column wins over k"
        assert anonymity.max() < 50 or scales == "common"
        assert job["result"]["k"] is None
        if scales == "per_record":
            lone = (scales_of(rows, COLUMNS) > 0).all(axis=1)
            assert np.abs(anonymity - k)[lone].max() < 0.02


def test_identical_records_need_no_noise_unless_a_minimum_is_asked(client: httpx.Client) -> None:
    frame = people()
    plain = ask(client, frame, scales="per_record")
    assert plain["result"]["zero_scale_records"] == 6
    rows, truth = true_records(client, plain, frame, COLUMNS)
    still = (scales_of(rows, COLUMNS) == 0).all(axis=1)
    assert still.sum() == 6
    assert (rows.select(COLUMNS).to_numpy()[still] == truth[still]).all()
    assert "zero-scale" in client.get(f"/v1/releases/{plain['release_id']}").json()["flags"]

    for minimum, wanted in ((0.25, [0.25, 0.25]), ({"größe": 0.5, "Wert in €": 1000.0}, [0.5, 1000.0])):
        job = ask(client, frame, scales="per_record", min_scale=minimum)
        assert job["result"]["zero_scale_records"] == 0
        assert (scales_of(released(client, job), COLUMNS) >= np.array(wanted) * (1 - 1e-12)).all()
        assert "zero-scale" not in client.get(f"/v1/releases/{job['release_id']}").json()["flags"]


def test_nothing_public_tells_what_is_restricted(client: httpx.Client) -> None:
    job = ask(client, people(), scales="common", suppress_share=0.05)
    said = {job["result"][name] for name in ("records", "certified_error")} | {job["result"]["suppressed"]["rare"]}
    said |= {job["result"]["expected_anonymity"][name] for name in ("min", "mean", "max")}
    for part in ("", "/statistics", "/provenance"):
        answer = client.get(f"/v1/releases/{job['release_id']}{part}")
        assert answer.status_code == httpx.codes.OK
        names, numbers = names_and_numbers(answer.json())
        assert not RESTRICTED & names
        assert not said & numbers


def test_the_size_of_an_only_cell_does_not_tell_how_many_records_there_were(client: httpx.Client) -> None:
    # 8 k are more than there are, so that the one cell has all of them; who lacks a value is not released.
    rng = np.random.default_rng(8)
    cells = [["" if row == 3 * column else f"{value:.3f}" for column, value in enumerate(pair, 1)]
             for row, pair in enumerate(rng.normal(size=(60, 2)))]  # fmt: skip
    dataset = upload(client, "a,b\n" + "\n".join(map(",".join, cells)) + "\n")
    spec = {"method": "uncertain", "dataset_id": dataset["id"], "quasi_identifiers": ["a", "b"], "scales": "shared"}
    parameters = {}
    for k in (2, 10):
        job = succeed(
            client, spec | {"k": k, "missing_policy": "drop", "suppress_share": 0, "accept_findings": ["composition"]}
        )
        assert (job["result"]["records"], job["result"]["released"]) == (60, 58)
        document = client.get(f"/v1/releases/{job['release_id']}/provenance").json()
        parameters[k] = json.loads(next(iter(document["activity"].values()))["surebox:parameters"])
    assert parameters[2]["cell_size"] == 16
    assert "cell_size" not in parameters[10], (
        "it would be 59: one of the 60 is known to be missing, and one more from the rows"
    )


def test_cells_that_hold_all_records_do_not_tell_how_many_there_were(client: httpx.Client) -> None:
    """By default cells have 8 k records, or as many as there are; of the original's records some are suppressed."""
    for rows, published in ((60, False), (200, True)):
        job = ask(client, people(rows), scales="shared", k=10, keep=[], suppress_share=0.2)
        assert job["spec"]["cell_size"] == min(80, rows)
        assert job["result"]["suppressed"]["rare"] > 0
        names, numbers = names_and_numbers(client.get(f"/v1/releases/{job['release_id']}/provenance").json())
        assert ("cell_size" in names) is published
        assert rows not in numbers


def names_and_numbers(value: Any) -> tuple[set[str], set[float]]:
    """Every name and every number in a document, those inside texts that are JSON too."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        return names_and_numbers(json.loads(value))
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    names, numbers = set(value) if isinstance(value, dict) else set(), set()
    if isinstance(value, int | float) and not isinstance(value, bool):
        numbers.add(value)
    for part in map(names_and_numbers, inner):
        names |= part[0]
        numbers |= part[1]
    return names, numbers


@pytest.mark.parametrize("density", ["gaussian", "uniform"])
@pytest.mark.parametrize(("scales", "axes"), [("common", "global"), ("shared", "rotated"), ("per_record", "local")])
def test_statistics_of_the_original_are_estimated_from_the_release(
    client: httpx.Client, density: str, scales: str, axes: str
) -> None:
    frame = people(1_500)
    job = ask(client, frame, density=density, scales=scales, axes=axes)
    rows, truth = true_records(client, job, frame, COLUMNS)
    estimates = statistics(client, job)
    x, y = COLUMNS
    covariance = np.cov(truth.T, ddof=0)
    wanted = {
        ("mean", x): truth[:, 0].mean(), ("mean", y): truth[:, 1].mean(),
        ("variance", x): covariance[0, 0], ("variance", y): covariance[1, 1],
        ("covariance", x, y): covariance[0, 1],
        ("correlation", x, y): np.corrcoef(truth.T)[0, 1],
    }  # fmt: skip
    assert {name for name in estimates if name[0] != "scaling_unit"} == set(wanted)
    for name, value in wanted.items():
        error = estimates[name]["standard_error"]
        assert error > 0
        assert abs(estimates[name]["estimate"] - value) < 5 * error, name
    assert estimates["mean", x]["estimate"] == pytest.approx(rows[x].mean(), rel=1e-12)
    assert estimates["variance", x]["estimate"] < rows[x].var(), "the noise is taken off"
