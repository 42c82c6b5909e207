"""`classify` over HTTP: which class a point belongs to, by a release alone."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import polars as pl
import pytest

from app.methods.catalogue import METHODS
from tests.methods.asking import ended
from tests.methods.questions import COLUMNS, Release, log_density, people, publish

POINTS = [
    dict(zip(COLUMNS, point, strict=True))
    for point in ([20, 38.0], [45, 36.0], [68, 41.5], [30.25, 50.0], [-400, 38], [45, 9000])
]
KEEP = ["town", "number", "hobby", "nothing"]


def ask(client: httpx.Client, release_id: str, **more: Any) -> dict[str, Any]:
    body = {"target": "town", "points": POINTS} | more
    answer = client.post(f"/v1/releases/{release_id}/classify", json=body)
    assert answer.status_code == httpx.codes.OK, answer.text
    prediction: dict[str, Any] = answer.json()
    assert list(prediction) == ["method", "classes", "probabilities"]
    assert len(prediction["classes"]) == len(prediction["probabilities"]) == len(body["points"])
    for label, shares in zip(prediction["classes"], prediction["probabilities"], strict=True):
        assert math.isclose(sum(shares.values()), 1, rel_tol=1e-9)
        assert shares[label] == max(shares.values())
    return prediction


@pytest.fixture(scope="module")
def densities(client: httpx.Client) -> Release:
    return publish(client, people(), method="uncertain", keep=KEEP)


@pytest.fixture(scope="module")
def boxes(client: httpx.Client) -> Release:
    return publish(client, people(), method="boxes", keep=KEEP)


def by_fit(release: Release, label: str, point: Mapping[str, float], q: int, *, density: str) -> dict[str, float]:
    """Classes of the q densities that fit best, weighed by their fit."""
    rows = [row for row in release[1].iter_rows(named=True) if row[label] is not None]
    fits = sorted(((log_density(row, point, density=density), str(row[label])) for row in rows), reverse=True)[:q]
    votes: Counter[str] = Counter()
    for fit, name in fits:
        votes[name] += math.exp(fit - fits[0][0])  # type: ignore[assignment]
    return {name: vote / sum(votes.values()) for name, vote in votes.items()}


@pytest.mark.parametrize("target", ["town", "number", "hobby"])
@pytest.mark.parametrize("neighbours", [1, 10, 500])
def test_the_densities_that_fit_best_vote_by_their_fit(
    client: httpx.Client, densities: Release, target: str, neighbours: int
) -> None:
    neighbours = min(neighbours, sum(1 for row in densities[1].iter_rows(named=True) if row[target] is not None))
    prediction = ask(client, densities[0], target=target, neighbours=neighbours)
    for point, shares in zip(POINTS, prediction["probabilities"], strict=True):
        expected = by_fit(densities, target, point, neighbours, density="gaussian")
        assert {name: pytest.approx(share, abs=1e-9) for name, share in expected.items() if share > 1e-12} == {
            name: share for name, share in shares.items() if share > 1e-12
        }


def test_where_no_uniform_density_covers_a_point_the_nearest_centre_decides(client: httpx.Client) -> None:
    release = publish(client, people(seed=6), method="uncertain", density="uniform", keep=["town"])
    prediction = ask(client, release[0])
    for point, label, shares in zip(POINTS, prediction["classes"], prediction["probabilities"], strict=True):
        rows = list(release[1].iter_rows(named=True))
        if any(log_density(row, point, density="uniform") > -math.inf for row in rows):
            expected = by_fit(release, "town", point, 10, density="uniform")
            assert shares.keys() <= {"Bergen", "Ålesund"}
            covering = sum(log_density(row, point, density="uniform") > -math.inf for row in rows)
            if covering <= 10:  # else equal fits are taken by distance
                assert shares == {name: pytest.approx(share) for name, share in expected.items() if share > 0}
        else:
            assert shares == {label: 1.0}


def away(row: dict[str, float], point: Mapping[str, float], unit: Sequence[float]) -> float:
    """Squared distance of a point from a box."""
    gaps = ((name, point[name], u) for name, u in zip(COLUMNS, unit, strict=True))
    return sum((max(row[f"{name}_lo"] - x, x - row[f"{name}_hi"], 0) / u) ** 2 for name, x, u in gaps)


def spread(rows: pl.DataFrame, name: str) -> float:
    """Standard deviation of records spread evenly over their boxes."""
    lo, hi = rows[f"{name}_lo"].to_numpy(), rows[f"{name}_hi"].to_numpy()
    centre = (lo + hi) / 2
    return math.sqrt(((centre - centre.mean()) ** 2 + (hi - lo) ** 2 / 12).mean())


@pytest.mark.parametrize("neighbours", [1, 4, 30])
def test_the_boxes_about_a_point_vote(client: httpx.Client, boxes: Release, neighbours: int) -> None:
    prediction = ask(client, boxes[0], neighbours=neighbours)
    unit = [spread(boxes[1], name) for name in COLUMNS]
    for point, shares in zip(POINTS, prediction["probabilities"], strict=True):
        rows = sorted((away(row, point, unit), row["town"]) for row in boxes[1].iter_rows(named=True))
        edge = rows[neighbours - 1][0]
        votes: Counter[str] = Counter(town for distance, town in rows if distance < edge * (1 - 1e-12))
        tied = [town for distance, town in rows if math.isclose(distance, edge, rel_tol=1e-12)]
        for town in tied:  # records that are equally far share the votes that are left
            votes[town] += (neighbours - sum(d < edge * (1 - 1e-12) for d, _ in rows)) / len(tied)  # type: ignore[assignment]
        assert shares == {town: pytest.approx(number / neighbours) for town, number in votes.items()}


@pytest.mark.skipif("condensation" not in METHODS, reason="condensation is not among the methods")
def test_condensed_records_nearby_vote(client: httpx.Client) -> None:
    release_id, rows = publish(client, people(), method="condensation", keep=["town"])
    prediction = ask(client, release_id, neighbours=7)
    spread = [rows[name].std(ddof=0) for name in COLUMNS]
    for point, shares in zip(POINTS, prediction["probabilities"], strict=True):
        away = sorted(
            (sum(((row[name] - point[name]) / s) ** 2 for name, s in zip(COLUMNS, spread, strict=True)), row["town"])
            for row in rows.iter_rows(named=True)
        )
        votes = Counter(town for _, town in away[:7])
        assert shares == {town: pytest.approx(number / 7) for town, number in votes.items()}


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"target": "age"}, "/target"),
        ({"target": "height"}, "/target"),
        ({"target": ""}, "/target"),
        ({"neighbours": 0}, "/neighbours"),
        ({"neighbours": 1001}, "/neighbours"),
        ({"neighbours": 999}, "/neighbours"),
        ({"points": [{"age": 1, "hours": 2}, {"age": 1}]}, "/points/1"),
        ({"points": [{"age": 1, "hours": 2, "height": 3}]}, "/points/0/height"),
        ({"points": [{"age": 1, "hours": None}]}, "/points/0/hours"),
        ({"points": []}, "/points"),
        ({"points": [{"age": 1, "hours": 2}] * 10_001}, "/points"),
    ],
)
def test_what_cannot_be_classified_is_refused_at_its_pointer(
    client: httpx.Client, densities: Release, change: dict[str, Any], pointer: str
) -> None:
    body = {"target": "town", "points": POINTS} | change
    answer = client.post(f"/v1/releases/{densities[0]}/classify", json=body)
    assert answer.status_code == 422, answer.text
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_what_only_the_rows_can_tell_is_answered_as_the_problem_it_is(client: httpx.Client, densities: Release) -> None:
    path = f"/v1/releases/{densities[0]}/classify"
    answer = client.post(path, json={"target": "nothing", "points": POINTS})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["instance"] == path
    assert answer.json()["errors"][0]["pointer"] == "/target"


def test_a_job_says_from_the_moment_it_is_accepted_that_classes_are_estimates(
    client: httpx.Client, boxes: Release
) -> None:
    body = {"target": "town", "points": POINTS}
    answer = client.post(f"/v1/releases/{boxes[0]}/classify", json=body, headers={"Prefer": "respond-async"})
    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    for job in (answer.json(), ended(client, answer.json())):
        (said,) = (one for one in job["warnings"] if one["code"] == "classes_estimated")
        assert "estimate" in said["detail"]
        assert said["pointer"] == "/spec/target"
