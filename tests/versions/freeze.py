"""Keep what later versions are held to: the document of this version, and a bundle of a release of each method.

    PYTHONPATH=. .venv/bin/python tests/versions/freeze.py

Writes `openapi.json.gz`, `jwks.json`, the bundles and what `surebox-verify` ends with to `tests/versions/VERSION`.
"""

import gzip
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from app.api.openapi import VERSION, document
from app.contracts.examples import DATASET, GROUP_JOB
from app.contracts.jobs import JobKind
from app.methods.catalogue import methods_of
from surebox_verify.cli import verify
from tests.methods.bases import microfile
from tests.methods.examples import EXAMPLES
from tests.service import serving

EXITS = "exits.json"


def exit_code(bundle: Path) -> int:
    """Verify a bundle beside its keys; returns the exit code of `surebox-verify`."""
    try:
        verify([str(bundle), "--keys", str(bundle.parent / "jwks.json")])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _uploaded(client: httpx.Client, seed: int) -> str:
    people = microfile(seed, people=60, bases={4: 40, 11: 34, 23: 45}).with_row_index("row").drop_nulls()
    raw = io.BytesIO()
    people.write_parquet(raw)
    headers = {"Content-Type": "application/vnd.apache.parquet", "Prefer": "wait=60"}
    return str(client.post("/v1/datasets", content=raw.getvalue(), headers=headers).raise_for_status().json()["id"])


def _ended(client: httpx.Client, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    job = client.post(f"/v1/{kind}", json=body).raise_for_status().json()
    while job["state"] in ("queued", "running"):
        job = client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=20"}).raise_for_status().json()
    assert job["state"] == "succeeded", job["error"]
    return dict(job)


def _bundle(client: httpx.Client, method: str, seed: int) -> bytes:
    """The bundle of a release of a method, of data of its own."""
    dataset = _uploaded(client, seed)
    body = json.dumps(EXAMPLES[method][0])
    if GROUP_JOB in body:
        group = json.loads(json.dumps(EXAMPLES["group"][0]).replace(DATASET, dataset))
        body = body.replace(GROUP_JOB, str(_ended(client, "audits", group)["id"]))
    made = _ended(client, "anonymizations", json.loads(body.replace(DATASET, dataset)) | {"publish": "draft"})
    path = f"/v1/releases/{made['release_id']}"
    audits = [finding["audit"] for finding in made["findings"]]
    client.post(f"{path}/publish", json={"accept_findings": audits}).raise_for_status()
    return client.get(f"{path}/bundle.zip").raise_for_status().content


def main() -> None:
    """Write the folder of this version."""
    folder = Path(__file__).parent / VERSION
    folder.mkdir(exist_ok=True)  # a version is changed until it is released
    text = json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()
    (folder / "openapi.json.gz").write_bytes(gzip.compress(text, mtime=0))
    with (
        tempfile.TemporaryDirectory() as scratch,
        serving(Path(scratch) / "data") as service,
        service.client() as client,
    ):
        for seed, method in enumerate(methods_of(JobKind.ANONYMIZATION)):
            (folder / f"{method.name}.zip").write_bytes(_bundle(client, method.name, seed))
        (folder / "jwks.json").write_bytes(client.get("/.well-known/jwks.json").raise_for_status().content)
    exits = {bundle.name: exit_code(bundle) for bundle in sorted(folder.glob("*.zip"))}
    (folder / EXITS).write_text(json.dumps(exits, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{folder.name}: {exits}\n")


if __name__ == "__main__":
    main()
