"""The service against its own document: schemathesis looks for answers that the document does not allow."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.people import PEOPLE
from tests.service import Service

SECONDS = 75
#: A schema cannot say which ids, columns and cursors there are: valid by the schema may still be 422.
NOT_ASKED = "positive_data_acceptance"
#: Schemathesis takes the schema of a stream for that of an event's envelope (`data`, `id`), as OpenAPI 3.2 has it; in
#: the document it is that of the data, which generators read. test_answers.py holds every event against it.
EVENTS = "/v1/jobs/{job_id}/events"
#: What may be answered to a request that the document does not allow: 413 too, where a body has more items than are
#: read, and 431, where an address is longer than is read.
REFUSALS = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, 431, "5xx"]
"""


@pytest.fixture(scope="module")
def existing(service: Service) -> dict[str, str]:
    """A dataset, a finished job and its release."""
    with service.client() as http:
        answer = http.post("/v1/datasets?name=existing", content=PEOPLE, headers={"Content-Type": "text/csv"})
        dataset = answer.raise_for_status().json()["id"]
        columns = ["age", "wage"]
        spec = {
            "method": "boxes",
            "dataset_id": dataset,
            "quasi_identifiers": columns,
            "k": 5,
            "publish": "auto",
            "partition": "fast",
        }
        response = http.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=30"})
    job = response.json()
    assert job.get("state") == "succeeded", job
    return {"dataset": dataset, "job": job["id"], "release": job["release_id"]}


def test_the_service_keeps_to_its_document(service: Service, existing: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(REFUSALS)
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{service.address}/openapi.json"),
        *("--header", f"Authorization: Bearer {service.key}", "--max-time", str(SECONDS), "--seed", "1"),
        *("--checks", "all", "--exclude-checks", NOT_ASKED, "--continue-on-failure", "--request-timeout", "60"),
        *("--no-color", "--suppress-health-check", "all", "--exclude-path", EVENTS),
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.clients.schemathesis_hooks", "EXISTING": json.dumps(existing)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS * 4,
    )
    report = "\n".join(line[:400] for line in done.stdout.splitlines())
    assert done.returncode == 0, report[-20_000:] + done.stderr
    assert "Test cases:" in report
