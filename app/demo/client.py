"""The few requests of the demo, over HTTP as any client would send them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from app.demo.sources import Source

_TYPES = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".parquet": "application/vnd.apache.parquet",
    ".ndjson": "application/x-ndjson",
    ".jsonl": "application/x-ndjson",
}
FINISHED = {"succeeded", "failed", "cancelled"}


class DemoError(Exception):
    """What the service refused, in its own words."""


class Client:
    """One key at one service."""

    def __init__(self, base_url: str, key: str) -> None:
        self.base_url = base_url
        self._http = httpx.Client(
            base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=330, trust_env=False
        )

    def upload(self, source: Source) -> dict[str, Any]:
        """Upload a file and return the dataset with its profile."""
        path = source.path
        headers = {}
        if path.suffix == ".gz":
            headers["Content-Encoding"] = "gzip"
            path = path.with_suffix("")
        headers["Content-Type"] = _TYPES.get(path.suffix, "text/csv")
        with source.path.open("rb") as file:
            return self._json(
                self._http.post("/v1/datasets", params={"name": source.name}, content=file, headers=headers)
            )

    def submit(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Ask for an anonymization; the job as it was accepted."""
        return self._json(self._http.post("/v1/anonymizations", json=spec))

    def finished(self, job: dict[str, Any], *, shown: Callable[[float, str], None]) -> dict[str, Any]:
        """Wait for the end of a job and return it with its whole result under `result`."""
        while job["state"] not in FINISHED:
            shown(job["progress"]["fraction"], job["progress"]["stage"])
            time.sleep(0.1)
            job = self._json(self._http.get(f"/v1/jobs/{job['id']}"))
        if job["state"] != "succeeded":
            error = job["error"] or {}
            raise DemoError(f"the job ended {job['state']}: {error.get('detail', '')}")
        shown(1.0, "done")
        return job | {"result": self._json(self._http.get(f"/v1/jobs/{job['id']}/result"))}

    def download(self, release_id: str, path: Path) -> None:
        """Save a release as CSV."""
        with self._http.stream("GET", f"/v1/releases/{release_id}/data", params={"format": "csv"}) as answer:
            answer.raise_for_status()
            with path.open("wb") as file:
                for chunk in answer.iter_bytes():
                    file.write(chunk)

    @staticmethod
    def _json(answer: httpx.Response) -> dict[str, Any]:
        if answer.is_error:
            problem = answer.json()
            fields = "".join(f"\n  {e['pointer']}: {e['detail']}" for e in problem.get("errors", ()))
            raise DemoError(f"{problem['detail']}{fields}")
        body: dict[str, Any] = answer.json()
        return body
