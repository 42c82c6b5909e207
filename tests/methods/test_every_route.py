"""No route answers any table by an error of ours: jobs of every method, questions, reports, files and bundles."""

import io
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from tests.drawing import seeds
from tests.methods import hostile
from tests.methods.asking import ended

INTERNAL = 500
PARTS = (
    "",
    "/data",
    "/data?format=csv",
    "/data?format=ndjson",
    "/report",
    "/statistics",
    "/certificate",
    "/bundle.zip",
)


def answered(client: httpx.Client, method: str, path: str, **sent: Any) -> httpx.Response:
    answer = client.request(method, path, headers={"Prefer": "wait=30"}, **sent)
    assert answer.status_code < INTERNAL, (method, path, sent, answer.text)
    return answer


def run(client: httpx.Client, kind: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """Run a job that may be refused, and read its result and its report."""
    answer = answered(client, "POST", f"/v1/{kind}", json=body)
    if answer.status_code >= httpx.codes.BAD_REQUEST:
        return None
    job = ended(client, answer.json())
    assert job["state"] == "succeeded" or job["error"]["status"] < INTERNAL, (body, job["error"])
    if job["state"] == "succeeded":
        answered(client, "GET", f"/v1/jobs/{job['id']}/result")
        answered(client, "GET", f"/v1/jobs/{job['id']}/report")
    return job


def ask(client: httpx.Client, draw: np.random.Generator, body: dict[str, Any], release: str, dataset: str) -> None:
    """Read all of a release, publish it, and ask everything of it."""
    answered(client, "POST", f"/v1/releases/{release}/publish", json={"accept_findings": ["composition", "table"]})
    for part in PARTS:
        answered(client, "GET", f"/v1/releases/{release}{part}")
    for question in hostile.questions(draw, body, release, dataset):
        method = question["method"]
        if method in {"statistics", "count", "classify"}:
            sent = {name: value for name, value in question.items() if name not in {"method", "release_id"}}
            answered(client, "POST", f"/v1/releases/{release}/{method}", json=sent)
        else:
            run(client, "audits", question)


@pytest.fixture(scope="module")
def succeeded() -> Iterator[list[str]]:
    """Kinds of jobs that came to a result: a test in which all is refused tests nothing."""
    kinds: list[str] = []
    yield kinds
    assert {"anonymizations", "audits"} <= set(kinds)


@pytest.mark.parametrize("seed", seeds(2, 30))
def test_no_route_answers_any_table_by_an_error_of_ours(client: httpx.Client, seed: int, succeeded: list[str]) -> None:
    draw, content = np.random.default_rng(seed), io.BytesIO()
    hostile.table(draw).write_parquet(content)
    answer = client.post(
        "/v1/datasets", content=content.getvalue(), params={"new_family": True},
        headers={"Content-Type": "application/vnd.apache.parquet", "Prefer": "wait=30"},
    )  # fmt: skip
    dataset = answer.raise_for_status().json()["id"]
    for make in (hostile.boxes, hostile.boxes, hostile.other_anonymization):
        body = make(draw) | {"dataset_id": dataset}
        job = run(client, "anonymizations", body)
        if job is not None and job["release_id"] is not None:
            succeeded.append("anonymizations")
            ask(client, draw, body, job["release_id"], dataset)
    for audit in hostile.audits(draw, dataset):
        job = run(client, "audits", audit)
        succeeded += ["audits"] if job is not None and job["state"] == "succeeded" else []
