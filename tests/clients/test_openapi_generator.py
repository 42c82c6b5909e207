"""The client that OpenAPI Generator makes for Python: every part of it can be imported, and it knows real jobs."""

import json
import subprocess
import sys
from pathlib import Path

from tests.clients.generator import generate
from tests.clients.people import PEOPLE
from tests.methods.asking import succeed, upload
from tests.service import Service

IMPORT_ALL = """
import importlib, pkgutil, openapi_client
for module in pkgutil.walk_packages(openapi_client.__path__, "openapi_client."):
    importlib.import_module(module.name)
job = openapi_client.Job.from_json(open("job.json").read()).actual_instance
assert isinstance(job, openapi_client.CondensationJob), type(job)
assert (job.result.group_count, job.spec.k, job.created_at.tzname()) == (2, 20, "UTC"), job
"""


def test_the_python_client_imports_and_knows_a_job_by_its_method(service: Service, tmp_path: Path) -> None:
    with service.client() as http:
        spec = {"method": "condensation", "quasi_identifiers": ["age", "wage"], "k": 20}
        job = succeed(http, spec | {"dataset_id": upload(http, PEOPLE)["id"]})
    generate("python", tmp_path)
    (tmp_path / "job.json").write_text(json.dumps(job))
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
