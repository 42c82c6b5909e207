"""`count` over HTTP: what a release alone says of how many records lie where."""

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.methods.catalogue import METHODS
from tests.drawing import seeds
from tests.methods.asking import anonymization, succeed, upload
from tests.methods.bases import VARIABLES, microfile
from tests.methods.expecting import share_of_interval
from tests.methods.in_process import Bench
from tests.methods.questions import COLUMNS, Release, people, publish
from tests.service import Service

Box = Mapping[str, Sequence[float | None]]

QUERIES: list[dict[str, list[float | None]]] = [
    {},
    {"age": [30, 40]},
    {"age": [None, 40], "hours": [20, None]},
    {"hours": [35.5, 36.5], "age": [25, 60]},
    {"age": [33, 33]},
    {"age": [500, 600]},
    {"age": [None, None], "hours": [-100, 100]},
]


@pytest.fixture(scope="module")
def boxes(client: httpx.Client) -> Release:
    return publish(client, people(), method="boxes", keep=["town"])


def ask(client: httpx.Client, release_id: str, queries: Sequence[Box]) -> list[dict[str, Any]]:
    answer = client.post(f"/v1/releases/{release_id}/count", json={"queries": queries})
    assert answer.status_code == httpx.codes.OK, answer.text
    assert set(answer.json()) == {"method", "counts", "base", "n"}
    counts: list[dict[str, Any]] = answer.json()["counts"]
    assert [list(count) for count in counts] == [["estimate", "standard_error", "guaranteed"]] * len(queries)
    return counts


def ends(query: Box, name: str) -> tuple[float, float]:
    lo, hi = query.get(name, (None, None))
    return -math.inf if lo is None else lo, math.inf if hi is None else hi


def inside(frame: pl.DataFrame, query: Box) -> int:
    """Records in a box, by polars."""
    for name in query:
        frame = frame.filter(pl.col(name).is_between(*ends(query, name)))
    return frame.height


def expected(rows: pl.DataFrame, query: Box) -> float:
    """How many rows are to be expected in a query."""
    share = np.ones(rows.height)
    for name in query:
        lower, upper = rows[f"{name}_lo"], rows[f"{name}_hi"]
        whole = lower.dtype.is_integer()
        share *= share_of_interval(lower.to_numpy(), upper.to_numpy(), *ends(query, name), whole=whole)
    return float(share.sum())


def bounds_of_box(row: Mapping[str, float], query: Box) -> tuple[bool, bool]:
    """Whether a record of the box is in the query for certain, and whether it can be."""
    certain = possible = True
    for name in COLUMNS:
        (a, b), lo, hi = ends(query, name), row[f"{name}_lo"], row[f"{name}_hi"]
        if isinstance(lo, int):
            a, b = a if math.isinf(a) else math.ceil(a), b if math.isinf(b) else math.floor(b)
            possible &= a <= b
        certain &= a <= lo and hi <= b
        possible &= a <= hi and lo <= b
    return certain, possible


@pytest.mark.parametrize("weighed", [False, True])
def test_boxes_are_counted_as_expected_and_for_certain(client: httpx.Client, boxes: Release, weighed: bool) -> None:
    frame = people()
    release_id, rows = boxes
    if weighed:
        release_id, rows = publish(client, frame, method="boxes", rare_records="weigh")
        assert rows["weight"].n_unique() > 1, "the weights matter somewhere else"
    for query, count in zip(QUERIES, ask(client, release_id, QUERIES), strict=True):
        assert count["estimate"] == pytest.approx(expected(rows, query), rel=1e-4, abs=1e-3)
        known = [bounds_of_box(row, query) for row in rows.iter_rows(named=True)]
        assert count["guaranteed"] == [sum(c for c, _ in known), sum(p for _, p in known)]
        assert count["guaranteed"][0] <= inside(frame, query)
        assert weighed or inside(frame, query) <= count["guaranteed"][1], "weighing leaves records out"
        assert count["standard_error"] is None


def normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def density_mass(row: Mapping[str, float], name: str, a: float, b: float, *, density: str) -> float:
    """Mass of a published density between a and b, straight from its definition."""
    z, scale = row[name], row[f"{name}_scale"]
    if a > b:
        return 0.0
    if scale == 0:
        return float(a <= z <= b)
    if density == "gaussian":
        return normal((b - z) / scale) - normal((a - z) / scale)
    return max(0.0, min(b, z + scale / 2) - max(a, z - scale / 2)) / scale


@pytest.mark.parametrize("density", ["gaussian", "uniform"])
@pytest.mark.parametrize("domains", [{}, {"age": [18, 70]}])
def test_densities_are_integrated_within_the_declared_domain(
    client: httpx.Client, density: str, domains: dict[str, list[float]]
) -> None:
    frame = people(seed=len(density + str(domains)))  # data of their own: a second draw would be refused
    release_id, rows = publish(client, frame, method="uncertain", density=density, domains=domains)
    for query, count in zip(QUERIES, ask(client, release_id, QUERIES), strict=True):
        estimate, variance, naive = 0.0, 0.0, 0
        for row in rows.iter_rows(named=True):
            p, held = 1.0, True
            for name in COLUMNS:
                a, b = ends(query, name)
                low, high = domains.get(name, (-math.inf, math.inf))
                held &= a <= min(max(row[name], low), high) <= b
                whole = density_mass(row, name, low, high, density=density)
                p *= density_mass(row, name, max(a, low), min(b, high), density=density) / whole
            estimate, variance, naive = estimate + p, variance + p * (1 - p), naive + held
        assert count["estimate"] == pytest.approx(estimate, rel=1e-5, abs=1e-5)
        blur = (estimate - naive) ** 2
        error = math.sqrt(variance + (4 * blur * blur / (blur + variance) if variance > 1e-9 else 0))
        assert count["standard_error"] == pytest.approx(error, rel=1e-3, abs=1e-2)
        assert count["guaranteed"] is None


@pytest.mark.skipif("condensation" not in METHODS, reason="condensation is not among the methods")
def test_condensed_records_are_counted_as_they_are(client: httpx.Client) -> None:
    release_id, rows = publish(client, people(), method="condensation")
    for query, count in zip(QUERIES, ask(client, release_id, QUERIES), strict=True):
        assert count == {"estimate": inside(rows, query), "standard_error": None, "guaranteed": None}


def test_swapped_files_are_counted_as_they_are_and_cannot_classify(client: httpx.Client) -> None:
    frame = microfile(7, regions=12, people=60, bases={4: 30})
    model = {"variables": VARIABLES, "rules": [{"terms": [1, 3, 2]}]}
    mask = [{"region": ["R04"], "at_most": 12}]
    release_id, rows = publish(
        client,
        frame,
        method="swaps",
        region_columns=["region"],
        rules_model=model,
        mask=mask,
        search={"method": "assignment"},
    )
    assert rows["hours"].null_count() > 0, "a missing value lies in no interval, and does not matter elsewhere"
    queries: list[Box] = [{}, {"hours": [40, 80]}, {"age": [18, 30], "hours": [None, 60]}, {"income": [30_000, None]}]
    for query, count in zip(queries, ask(client, release_id, queries), strict=True):
        restricted = {name: interval for name, interval in query.items() if interval != [None, None]}
        assert count == {"estimate": inside(rows, restricted), "standard_error": None, "guaranteed": None}
    for query in ({}, {"age": [18, 30]}, {"hours": [40, 80]}):  # each on columns of its own
        assert ask(client, release_id, [query])[0]["estimate"] == inside(rows, query)
    answer = client.post(f"/v1/releases/{release_id}/count", json={"queries": [{"region": [1, 2]}]})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/queries/0/region"]
    answer = client.post(f"/v1/releases/{release_id}/classify", json={"target": "way", "points": [{"age": 1}]})
    assert answer.status_code == 422
    assert "`swaps` cannot answer `classify`" in answer.json()["detail"]


def test_many_queries_are_answered_in_their_order(client: httpx.Client, boxes: Release) -> None:
    frame = people()
    rng = np.random.default_rng(2)
    low = rng.integers(10, 70, 10_000)
    queries = [{"age": [int(lo), int(lo) + 10]} for lo in low]
    counts = ask(client, boxes[0], queries)
    ages = frame["age"].to_numpy()
    for lo, count in zip(low, counts, strict=True):
        assert count["guaranteed"][0] <= np.count_nonzero((ages >= lo) & (ages <= lo + 10)) <= count["guaranteed"][1]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"queries": [{}] * 17 + [{"height": [1, 2]}]}, "/queries/17/height"),
        ({"queries": [{"town": [1, 2]}]}, "/queries/0/town"),
        ({"queries": [{"a/b~c": [1, 2]}]}, "/queries/0/a~1b~0c"),
        ({"queries": [{"age": [2, 1]}]}, "/queries/0/age"),
        ({"queries": [{"age": [1]}]}, "/queries/0/age"),
        ({"queries": [{"age": "young"}]}, "/queries/0/age"),
        ({"queries": [{"age": [1, "x"]}]}, "/queries/0/age"),
        ({"queries": [{"age": [1, {}]}]}, "/queries/0/age/1"),
        ({"queries": []}, "/queries"),
        ({"queries": [{}] * 10_001}, "/queries"),
        ({}, "/queries"),
        ({"queries": [{}], "surprise": 1}, "/surprise"),
    ],
)
def test_what_cannot_be_counted_is_refused_at_its_pointer(
    client: httpx.Client, boxes: Release, body: dict[str, Any], pointer: str
) -> None:
    answer = client.post(f"/v1/releases/{boxes[0]}/count", json=body)
    assert answer.status_code == 422, answer.text
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


@pytest.mark.parametrize("values", [["a", "b"], [True], ["a"], [1, 2, 3], []])
def test_values_that_are_written_as_an_interval_are_refused_by_how_they_are_written(
    client: httpx.Client, boxes: Release, values: list[Any]
) -> None:
    answer = client.post(f"/v1/releases/{boxes[0]}/count", json={"queries": [{"town": values}]})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (422, "/queries/0/town")
    assert 'values are written {"values": [...]}' in error["detail"]


def test_a_kept_column_with_an_order_is_counted(client: httpx.Client) -> None:
    """An order may be declared for a sensitive column, which is kept and has no bounds."""
    rows = [f"{at % 40},{('low', 'mid', 'high')[at % 3]}" for at in range(120)]
    dataset = upload(client, "\n".join(["age,level", *rows]), new_family=True)["id"]
    spec = anonymization("boxes", dataset, ["age"], k=6, keep=["level"], sensitive=["level"], l=2, bounds="tight")
    job = succeed(client, spec | {"ordinal": {"level": ["low", "mid", "high"]}})
    everyone, low = ask(client, job["release_id"], [{}, {"level": {"values": ["low"]}}])
    assert (everyone["guaranteed"], low["guaranteed"]) == ([120, 120], [40, 40])


def test_past_the_wait_the_answer_is_a_job_whose_result_is_the_body(client: httpx.Client, boxes: Release) -> None:
    path, body = f"/v1/releases/{boxes[0]}/count", {"queries": QUERIES}
    before = [job["id"] for job in client.get("/v1/jobs").json()["items"]]
    answer = client.post(path, json=body, headers={"Prefer": "respond-async"})
    job = answer.json()
    assert answer.status_code == 202
    assert (job["kind"], job["method"]) == ("query", "count")
    assert int(answer.headers["retry-after"]) >= 1
    job = client.get(answer.headers["location"], headers={"Prefer": "wait=30"}).json()
    assert job["state"] == "succeeded", job
    result = client.get(f"/v1/jobs/{job['id']}/result").json()
    assert result == client.post(path, json=body, headers={"Prefer": "wait=20"}).json()
    assert [job["id"] for job in client.get("/v1/jobs").json()["items"]] == before, "questions are not listed"


def test_a_deleted_release_answers_nothing_even_when_it_was_asked_before(client: httpx.Client) -> None:
    release_id, _ = publish(client, people(60), method="boxes")
    path = f"/v1/releases/{release_id}/count"
    first = ask(client, release_id, QUERIES)
    assert ask(client, release_id, QUERIES) == first
    assert client.delete(f"/v1/releases/{release_id}").status_code == 204
    answer = client.post(path, json={"queries": QUERIES})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")


def test_ids_that_name_nothing_are_404(client: httpx.Client) -> None:
    for release_id in ("rel_absent", "%00", "x" * 3000):
        for question in ("count", "classify"):
            body = {"queries": [{}]} if question == "count" else {"target": "a", "points": [{"age": 1}]}
            assert client.post(f"/v1/releases/{release_id}/{question}", json=body).status_code == 404


def test_whoever_is_asked_at_once_answers_all(service: Service, boxes: Release) -> None:
    answers: list[list[dict[str, Any]]] = []

    def one() -> None:
        with service.client(owner=__name__) as client:
            answers.append(ask(client, boxes[0], QUERIES))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 8
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("seed", seeds(10))
def test_an_interval_between_whole_numbers_counts_as_that_of_the_whole_numbers_in_it(tmp_path: Path, seed: int) -> None:
    """Nobody is 2.5 years old: [1.2, 3.9] and [2, 3] are one question, whatever `bounds` and method make of it."""
    draw = np.random.default_rng([4003, seed])
    bench, rows = Bench(tmp_path, seed=seed), int(draw.integers(40, 120))
    frame = pl.DataFrame({name: draw.integers(0, int(draw.integers(5, 60)), rows) for name in ("a", "b")})
    bench.dataset("t", frame)
    bounds = str(draw.choice(["cells", "tight"]))
    bench.release("r", {
        "method": "boxes", "dataset_id": "t", "quasi_identifiers": ["a", "b"], "k": 3, "bounds": bounds,
    })  # fmt: skip
    low = draw.integers(0, 40, 12)
    wide = [[float(one) - draw.uniform(0.05, 0.9), one + draw.integers(0, 9) + draw.uniform(0.05, 0.9)] for one in low]
    whole = [[float(np.ceil(one)), float(np.floor(other))] for one, other in wide]
    questions = [[{name: ends} for ends in some for name in ("a", "b")] for some in (wide, whole)]
    one, other = (
        bench.run({"method": "count", "release_id": "r", "queries": queries}).whole["counts"] for queries in questions
    )
    for query, mine, theirs in zip(questions[0], one, other, strict=True):
        assert mine["guaranteed"] == theirs["guaranteed"], query
        assert mine["estimate"] == pytest.approx(theirs["estimate"], rel=1e-9, abs=1e-9), query
