"""Requests that tests of methods share."""

import io
from typing import Any

import httpx
import polars as pl

SECONDS = 120.0


def upload(client: httpx.Client, body: bytes | str, **query: Any) -> dict[str, Any]:
    """Upload CSV and return the dataset."""
    content = body.encode() if isinstance(body, str) else body
    answer = client.post(
        "/v1/datasets", params={"name": "test"} | query, content=content, headers={"Content-Type": "text/csv"}
    )
    assert answer.status_code == httpx.codes.CREATED, answer.text
    dataset: dict[str, Any] = answer.json()
    return dataset


def anonymization(method: str, dataset_id: str, quasi_identifiers: list[str], **more: Any) -> dict[str, Any]:
    """The body of an anonymization that is to be published."""
    body = {"method": method, "dataset_id": dataset_id, "quasi_identifiers": quasi_identifiers, "publish": "auto"}
    return body | more


def run(client: httpx.Client, spec: dict[str, Any], *, kind: str = "anonymizations") -> dict[str, Any]:
    """Run a job to its end, whatever that is; a release is published where the body does not say otherwise."""
    if kind == "anonymizations":
        spec = {"publish": "auto"} | spec
    answer = client.post(f"/v1/{kind}", json=spec, headers={"Prefer": "wait=30"})
    assert answer.status_code in {httpx.codes.OK, httpx.codes.ACCEPTED}, answer.text
    return ended(client, answer.json())


def ended(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    """A job at its end."""
    waited = 0.0
    while job["state"] in {"queued", "running"}:
        assert waited < SECONDS, job
        job = client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=10"}).json()
        waited += 10
    return job


def succeed(client: httpx.Client, spec: dict[str, Any], *, kind: str = "anonymizations") -> dict[str, Any]:
    """Run a job that must succeed; its whole result stands under `result`."""
    job = run(client, spec, kind=kind)
    assert job["state"] == "succeeded", job["error"]
    return job | {"result": client.get(f"/v1/jobs/{job['id']}/result").json()}


def released(client: httpx.Client, job: dict[str, Any]) -> pl.DataFrame:
    """The rows that a job published."""
    answer = client.get(f"/v1/releases/{job['release_id']}/data", params={"format": "parquet"})
    assert answer.status_code == httpx.codes.OK
    return pl.read_parquet(io.BytesIO(answer.content))


def is_part(shown: Any, whole: Any) -> bool:
    """Whether what a job shows of a result is in the whole of it: parts may lack fields, and no field differs."""
    if isinstance(shown, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(shown[name], whole[name]) for name in shown)
    return bool(shown == whole)
