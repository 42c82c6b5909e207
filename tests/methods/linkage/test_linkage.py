"""The audit `linkage` over HTTP, against ranks computed by numpy over all pairs."""

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.contracts.datasets import DatasetColumn, NumericSummary, Profile
from app.contracts.inputs import DatasetInput, Given, ReleaseInput
from app.methods.catalogue import METHODS
from app.methods.rules import wrong_releases
from tests.methods.asking import released, succeed, upload
from tests.methods.densities import axes_of, scales_of, true_records, units, upload_frame
from tests.methods.in_process import Bench
from tests.service import Service
from tests.stored import stored
from workers.algorithms.uncertain.linkage.attack import LinkageState
from workers.methods.linkage.knowledge import tells_k
from workers.methods.linkage.runner import LinkageRunner

COLUMNS = ["x", "y"]
FIGURES = ("mean_rank", "share_rank_1", "share_below_k", "mean_posterior")


def people(n: int = 600) -> pl.DataFrame:
    """Clusters of unlike density, some records twice."""
    rng = np.random.default_rng(4)
    centre = rng.choice(3, n)
    x = rng.normal(size=(n, 2)) * np.array([1.0, 3.0, 0.3])[centre][:, None] + 5.0 * centre[:, None]
    x[:20] = x[20:40]
    return pl.DataFrame({"x": x[:, 0], "y": 100.0 * x[:, 1], "id": [f"p{i}" for i in range(n)]})


def publish(client: httpx.Client, frame: pl.DataFrame, **change: Any) -> dict[str, Any]:
    spec = {"method": "uncertain", "dataset_id": upload_frame(client, frame), "quasi_identifiers": COLUMNS, "k": 6}
    return succeed(client, spec | {"keep": ["id"]} | change)


def attack(client: httpx.Client, release_id: str, **change: Any) -> dict[str, Any]:
    job = succeed(client, {"method": "linkage", "release_id": release_id} | change, kind="audits")
    assert job["release_id"] is None
    result: dict[str, Any] = job["result"]
    return result


def log_fits(rows: pl.DataFrame, known: np.ndarray, *, density: str, unit: np.ndarray) -> np.ndarray:
    """Fit of every known record to every row, (rows, known), up to a constant of the row."""
    z, scale, axes = rows.select(COLUMNS).to_numpy(), scales_of(rows, COLUMNS), axes_of(rows, COLUMNS)
    offset = z[:, None, :] - known[None, :, :]
    if axes is not None:
        offset = np.einsum("pij,pkj->pki", axes, offset / unit)
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.where(offset == 0, 0.0, offset / scale[:, None, :])
    if density == "gaussian":
        return np.asarray(-0.5 * (e * e).sum(axis=2))
    return np.where((np.abs(e) <= 0.5).all(axis=2), 0.0, -np.inf)


@pytest.mark.parametrize("density", ["gaussian", "uniform"])
@pytest.mark.parametrize(
    ("scales", "axes"),
    [("common", "global"), ("shared", "rotated"), ("per_record", "global"), ("per_record", "local")],
)
def test_ranks_and_posteriors_are_those_of_the_definition(
    client: httpx.Client, density: str, scales: str, axes: str
) -> None:
    frame = people()
    job = publish(client, frame, density=density, scales=scales, axes=axes)
    result = attack(client, job["release_id"])
    rows, truth = true_records(client, job, frame, COLUMNS)
    known = frame.select(COLUMNS).to_numpy()
    fits = log_fits(rows, known, density=density, unit=units(client, job, COLUMNS))
    own = np.array([np.flatnonzero((known == record).all(axis=1))[0] for record in truth])
    fit_of_own = fits[np.arange(len(own)), own]
    rank = (fits >= fit_of_own[:, None] - 1e-9).sum(axis=1)
    likelihood = np.exp(fits - fits.max(axis=1, keepdims=True))
    posterior = np.exp(fit_of_own - fits.max(axis=1)) / likelihood.sum(axis=1)
    assert result["records"] == result["sampled"] == rows.height
    assert result["candidates"] == frame.height
    assert result["mean_rank"] == pytest.approx(rank.mean(), rel=2e-3)
    assert result["share_rank_1"] == pytest.approx((rank == 1).mean(), abs=2 / len(rank))
    assert result["share_below_k"] == pytest.approx((rank < 6).mean(), abs=2 / len(rank))
    assert result["mean_posterior"] == pytest.approx(posterior.mean(), rel=1e-3)
    # a rank that some row has: where rows are an even number, two in the middle may be far apart
    assert result["rank_quantiles"]["0.5"] == pytest.approx(np.quantile(rank, 0.5, method="higher"), abs=1)
    assert result["intervals"] is None


@pytest.mark.parametrize("density", ["gaussian", "uniform"])
def test_on_average_k_records_fit_and_common_scales_cannot_be_matched(client: httpx.Client, density: str) -> None:
    job = publish(client, people(2_000), density=density, scales="common", suppress_share=0)
    result = attack(client, job["release_id"])
    expected = job["result"]["expected_anonymity"]["mean"]
    assert result["mean_rank"] >= 6
    assert result["mean_rank"] == pytest.approx(expected, rel=0.15)
    assert result["share_rank_1"] < 0.25
    matched = result["after_scale_matching"]
    for figure in FIGURES:
        assert matched[figure] == pytest.approx(result[figure]), "equal scales show nothing"
        part, matched_part = (one["adversary_knows_90_percent"][figure] for one in (result, matched))
        assert part == pytest.approx(matched_part)


def test_matching_a_common_scale_shows_who_was_suppressed_and_no_more(client: httpx.Client) -> None:
    frame = people()
    job = publish(client, frame, scales="common", suppress_share=0.05)
    assert 30 <= job["result"]["suppressed"]["rare"] < 36, "more only where fewer than k would decide the scale of all"
    matched = attack(client, job["release_id"])["after_scale_matching"]
    rows, truth = true_records(client, job, frame, COLUMNS)
    unit = units(client, job, COLUMNS)
    fits = log_fits(rows, truth, density="gaussian", unit=unit)  # the released records only
    own = np.diag(fits)
    rank = (fits >= own[:, None] - 1e-9).sum(axis=1)
    weight = np.exp(fits - own[:, None]).sum(axis=1)
    assert matched["mean_rank"] == pytest.approx(rank.mean(), rel=2e-3)
    assert matched["share_rank_1"] == pytest.approx((rank == 1).mean(), abs=2 / len(rank))
    assert matched["mean_posterior"] == pytest.approx((1 / weight).mean(), rel=1e-3)
    assert matched["adversary_knows_90_percent"]["mean_rank"] < matched["mean_rank"]


@pytest.mark.parametrize("axes", ["global", "local"])
def test_a_scale_of_ones_own_is_a_name(client: httpx.Client, axes: str) -> None:
    job = publish(client, people(2_000), scales="per_record", axes=axes)
    result = attack(client, job["release_id"])
    assert result["share_rank_1"] < 0.35
    assert result["after_scale_matching"]["share_rank_1"] > 0.9
    assert result["after_scale_matching"]["mean_posterior"] > 0.9
    # with 90 % known it is 0.1 on average; draws differ by 0.013
    attacks = result["after_scale_matching"], result
    matched, part = (one["adversary_knows_90_percent"]["share_rank_1"] for one in attacks)
    assert matched > part + 0.03


def test_a_shared_scale_tells_the_cell_and_no_more(client: httpx.Client) -> None:
    job = publish(client, people(2_000), scales="shared", suppress_share=0)
    matched = attack(client, job["release_id"])["after_scale_matching"]
    assert matched["mean_rank"] >= 6 * 0.95
    assert matched["share_rank_1"] < 0.25


def test_of_boxes_the_rank_is_the_number_of_candidates(client: httpx.Client) -> None:
    frame = people()
    spec = {"method": "boxes", "dataset_id": upload_frame(client, frame), "quasi_identifiers": COLUMNS, "k": 7}
    job = succeed(client, spec)
    rows, known = released(client, job), frame.select(COLUMNS).to_numpy()
    lower, upper = (rows.select([f"{c}_{end}" for c in COLUMNS]).to_numpy() for end in ("lo", "hi"))
    inside = ((known[None] >= lower[:, None]) & (known[None] <= upper[:, None])).all(axis=2).sum(axis=1)
    result = attack(client, job["release_id"])
    assert result["after_scale_matching"] is None
    assert result["mean_rank"] == pytest.approx(inside.mean())
    assert result["mean_posterior"] == pytest.approx((1 / inside).mean())
    assert (result["share_rank_1"], result["share_below_k"]) == (0.0, 0.0)
    # a rank that some row has: where rows are an even number, two in the middle may be far apart
    assert result["rank_quantiles"]["0.5"] == pytest.approx(np.quantile(inside, 0.5, method="higher"), abs=1)


def test_an_adversary_who_knows_others_finds_fewer(client: httpx.Client) -> None:
    frame = people()
    job = publish(client, frame, suppress_share=0)
    others = frame.select("x", "y").vstack(frame.select("x", "y").with_columns(pl.col("x") + 0.01))
    more = attack(client, job["release_id"], knowledge_dataset_id=upload_frame(client, others))
    own = attack(client, job["release_id"])
    assert more["candidates"] == 2 * frame.height
    assert more["mean_rank"] > 1.5 * own["mean_rank"]


def test_condensed_records_are_linked_to_their_nearest(client: httpx.Client) -> None:
    frame = people()
    spec = {"method": "condensation", "dataset_id": upload_frame(client, frame), "quasi_identifiers": COLUMNS, "k": 6}
    result = attack(client, succeed(client, spec)["release_id"])
    assert result["records"] == frame.height
    assert result["mean_rank"] > 1
    assert 0 <= result["share_rank_1"] < 0.9
    assert result["after_scale_matching"] is None


def test_rows_without_densities_are_attacked_for_their_ranks_alone(tmp_path: Path) -> None:
    """Posteriors, which no result of such rows has, take all pairs: eleven minutes for 100,000 rows."""
    bench = Bench(tmp_path)
    bench.dataset("people", people(200).select(COLUMNS))
    bench.release("rows", {"method": "condensation", "dataset_id": "people", "quasi_identifiers": COLUMNS, "k": 6})
    bench.release("noisy", {"method": "uncertain", "dataset_id": "people", "quasi_identifiers": COLUMNS, "k": 6.0})
    for name, posteriors in (("rows", False), ("noisy", True)):
        spec, wrong = bench.accepted({"method": "linkage", "release_id": name, "knowledge_dataset_id": "people"})
        assert not wrong
        runner, job = LinkageRunner(), bench.context(spec, 0)
        working = runner.step(runner.init(job), job).working
        assert isinstance(working, LinkageState)
        assert working.posteriors is posteriors


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"release_id": "rel_absent"}, "/release_id", "no release"),
        ({"knowledge_dataset_id": "ds_absent"}, "/knowledge_dataset_id", "no dataset"),
        ({"knowledge_dataset_id": "other"}, "/knowledge_dataset_id", "no column 'x'"),
        ({"original_dataset_id": "other"}, "/original_dataset_id", "The original of this release is"),
        ({"colour": "red"}, "/colour", ""),
    ],
)
def test_what_cannot_be_attacked_is_refused_at_its_place(
    client: httpx.Client, change: dict[str, Any], pointer: str, says: str
) -> None:
    other = upload(client, "a,b\n1,2\n3,4\n")["id"]
    job = publish(client, people(60))
    change = {name: other if value == "other" else value for name, value in change.items()}
    answer = client.post("/v1/audits", json={"method": "linkage", "release_id": job["release_id"]} | change)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    errors = answer.json()["errors"]
    assert {error["pointer"] for error in errors} == {pointer}
    assert says in errors[0]["detail"]


def test_releases_that_link_nobody_are_refused_by_name() -> None:
    release = ReleaseInput(
        id="rel_1", method="swaps", dataset_id="ds_1", rows=3, columns=(), flags=(), spec={}, link_key="jobs/link"
    )
    (error,) = wrong_releases(METHODS["linkage"], Given(releases={"release_id": release}))
    assert error.pointer == "/release_id"
    assert "`swaps`" in error.detail


def links(service: Service) -> set[str]:
    return {str(path) for path in stored(service.folder) if "link" in path.name}


@pytest.mark.parametrize("goes", ["release", "dataset"])
def test_the_link_goes_with_the_release_and_with_the_original(
    service: Service, client: httpx.Client, goes: str
) -> None:
    before = links(service)
    job = publish(client, people(80))
    assert len(links(service) - before) > 0
    dataset = job["spec"]["dataset_id"]
    address = f"/v1/releases/{job['release_id']}" if goes == "release" else f"/v1/datasets/{dataset}"
    assert client.delete(address).status_code == httpx.codes.NO_CONTENT
    assert links(service) == before
    answer = client.post("/v1/audits", json={"method": "linkage", "release_id": job["release_id"]})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    if goes == "dataset":
        assert client.get(f"/v1/releases/{job['release_id']}").status_code == httpx.codes.OK, "the release remains"


@pytest.mark.parametrize(
    ("kind", "missing", "least", "infinite", "tells"),
    [
        ("integer", 0, 1.0, 0, True), ("number", 0, 0.5, 0, False), ("number", 0, 2.0, 1, False),
        ("integer", 1, 1.0, 0, False), ("string", 0, None, 0, False),
    ],
)  # fmt: skip
def test_a_column_that_only_has_the_name_of_k_is_not_taken_for_it(
    kind: str, missing: int, least: float | None, infinite: int, tells: bool
) -> None:
    column = DatasetColumn.model_validate({"name": "k", "type": kind, "missing": missing, "distinct": 2})
    summary = NumericSummary(finite_minimum=least, finite_maximum=9.0, infinite=infinite)
    numeric = {} if kind == "string" else {"k": summary}
    dataset = DatasetInput(id="ds", sha256="", profile=Profile(rows=3, columns=(column,), numeric=numeric))
    assert tells_k(dataset, "k") is tells
