"""Writes app/api/examples.json, the answers that the OpenAPI document shows: `python docs/example_answers.py`.

With PYTHONPATH=. it starts the service on a folder of its own, sends it the requests of a first client, and keeps the
answers, lists of many objects cut to two. `tests/meta/test_examples.py` compares them with their schemas.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from app.demo.run import running

TARGET = Path(__file__).parents[1] / "app" / "api" / "examples.json"
KEPT = 2


def shortened(value: Any) -> Any:
    """A value whose lists of objects have two entries at most."""
    if isinstance(value, dict):
        return {name: shortened(part) for name, part in value.items()}
    if isinstance(value, list):
        many = len(value) > KEPT and all(isinstance(part, dict) for part in value)
        return [shortened(part) for part in (value[:KEPT] if many else value)]
    return value


def people() -> str:
    """A made-up table of 400 people."""
    rng = np.random.default_rng(1)
    ages, hours = rng.integers(18, 80, 400), rng.integers(5, 60, 400)
    incomes = 900 + 30 * ages + rng.exponential(1000, 400)
    regions = rng.choice(["north", "south", "west"], 400)
    rows = zip(ages, hours, incomes, regions, strict=True)
    lines = ["age,hours,income,region", *(f"{age},{hour},{income:.2f},{region}" for age, hour, income, region in rows)]
    return "\n".join(lines) + "\n"


class Recorder:
    """Sends requests and keeps the answers by operation, status and media type."""

    def __init__(self, address: str, key: str) -> None:
        self._http = httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=300, trust_env=False
        )
        document = self._http.get("/openapi.json").json()
        self.operations = {(method, path): one["operationId"] for path, methods in document["paths"].items()
                           for method, one in methods.items()}  # fmt: skip
        self.answers: dict[str, dict[str, dict[str, Any]]] = {}

    def __call__(self, method: str, path: str, template: str, **sent: Any) -> Any:
        """One request; the body of its answer."""
        answer = self._http.request(method, path, **sent)
        if answer.status_code >= 400:
            raise RuntimeError(f"{method} {path}: {answer.text}")
        media = answer.headers.get("content-type", "").split(";")[0]
        text = answer.text
        body = json.loads(text) if media.endswith("json") and "ndjson" not in media else text
        short = shortened(body) if not isinstance(body, str) else "\n".join(text.split("\n")[:8]) + "\n"
        operation = self.operations[method.lower(), template]
        self.answers.setdefault(operation, {}).setdefault(str(answer.status_code), {}).setdefault(media, short)
        return body


def tell(ask: Recorder) -> None:
    """From an upload to everything that can be read of its release."""
    wait = {"Prefer": "wait=60"}
    dataset = ask("POST", "/v1/datasets?name=people", "/v1/datasets", content=people(),
                  headers={"Content-Type": "text/csv"})["id"]  # fmt: skip
    ask("GET", "/v1/datasets", "/v1/datasets")
    ask("GET", f"/v1/datasets/{dataset}", "/v1/datasets/{dataset_id}")
    ask("PATCH", f"/v1/datasets/{dataset}", "/v1/datasets/{dataset_id}", json={"tags": {"year": "2026"}})
    spec = {
        "method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "hours", "income"], "k": 5,
        "keep": ["region"], "statistics": [{"kind": "mean", "of": ["income"]}], "publish": "draft",
    }  # fmt: skip
    ask("POST", "/v1/anonymizations", "/v1/anonymizations", json=spec | {"k": 7})
    job = ask("POST", "/v1/anonymizations", "/v1/anonymizations", json=spec, headers=wait)
    while job["state"] in ("queued", "running"):
        job = ask("GET", f"/v1/jobs/{job['id']}", "/v1/jobs/{job_id}", headers=wait)
    path, release = f"/v1/jobs/{job['id']}", f"/v1/releases/{job['release_id']}"
    ask("GET", path, "/v1/jobs/{job_id}")
    ask("GET", "/v1/jobs", "/v1/jobs")
    ask("GET", f"{path}/result", "/v1/jobs/{job_id}/result")
    ask("GET", f"{path}/provenance", "/v1/jobs/{job_id}/provenance")
    ask("GET", f"{path}/events", "/v1/jobs/{job_id}/events")
    ask("POST", f"{path}/cancel", "/v1/jobs/{job_id}/cancel")
    audit = {"method": "table", "dataset_id": dataset, "quasi_identifiers": ["age", "hours"], "require": {"k": 2}}
    audited = ask("POST", "/v1/audits", "/v1/audits", json=audit, headers=wait)
    while audited["state"] in ("queued", "running"):
        audited = ask("GET", f"/v1/jobs/{audited['id']}", "/v1/jobs/{job_id}", headers=wait)
    ask("POST", f"{release}/publish", "/v1/releases/{release_id}/publish", json={"accept_findings": ["publication"]})
    under = "/v1/releases/{release_id}"
    ask("GET", release, under)
    ask("GET", "/v1/releases", "/v1/releases")
    ask("PATCH", release, under, json={"name": "People by age, hours and income"})
    ask("GET", f"{release}/statistics", f"{under}/statistics")
    ask("GET", f"{release}/provenance", f"{under}/provenance")
    ask("GET", f"{release}/data?format=csv", f"{under}/data")
    ask("GET", f"{release}/data?format=ndjson", f"{under}/data")
    ask("GET", f"{release}/certificate", f"{under}/certificate")
    count = {"queries": [{"age": [30, 39]}, {"region": {"values": ["north"]}}]}
    ask("POST", f"{release}/count", f"{under}/count", json=count, headers=wait)
    more = {"statistics": [{"kind": "quantile", "of": ["income"], "p": 0.5}]}
    ask("POST", f"{release}/statistics", f"{under}/statistics", json=more, headers=wait)
    points = {"target": "region", "points": [{"age": 40, "hours": 35, "income": 2500.0}]}
    ask("POST", f"{release}/classify", f"{under}/classify", json=points, headers=wait)
    family = ask("GET", "/v1/families", "/v1/families")["items"][0]["id"]
    ask("GET", f"/v1/families/{family}", "/v1/families/{family_id}")
    for one in ("/v1/owner", "/v1/usage", "/v1/log", "/v1/revocations", "/.well-known/jwks.json", "/readyz"):
        ask("GET", one, one)
    ask("GET", "/healthz", "/healthz")
    ask("PATCH", "/v1/owner", "/v1/owner", json={"jobs_publish": False})
    ask("GET", "/problems/infeasible", "/problems/{code}")
    ask("POST", f"{release}/withdraw", f"{under}/withdraw", json={"reason": "replaced by a corrected table"})


def main() -> None:
    """Run the story, write the answers."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), jobs=1) as (address, key):
        ask = Recorder(address, key)
        try:
            tell(ask)
        finally:
            TARGET.write_text(json.dumps(ask.answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
