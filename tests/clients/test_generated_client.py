"""A client generated from the served document does everything: upload, job, release."""

import hashlib
import importlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.meta.project import ROOT
from tests.service import Service

PACKAGE = "surebox_generated"
CSV = b"age,wage\n" + b"".join(b"%d,%d\n" % (18 + i % 60, 1000 + i * 7919 % 5003) for i in range(500))


@pytest.fixture(scope="module")
def generated(served: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the client's package, importable."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_text(json.dumps(served))
    shutil.copy(ROOT / "openapi" / "openapi-python-client.yaml", folder)
    tools = Path(sys.executable).parent
    command = [
        str(tools / "openapi-python-client"),
        "generate",
        "--path",
        "openapi.json",
        "--meta",
        "none",
        "--fail-on-warning",
    ]
    done = subprocess.run(
        [*command, "--config", "openapi-python-client.yaml", "--output-path", PACKAGE],
        cwd=folder,
        env={"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield folder / PACKAGE
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture
def client(service: Service, generated: Path) -> Iterator[Any]:
    """A client of an owner of its own: what others published of data that are alike is composed with what it makes."""
    key = service.new_key("generated")
    with part("client").AuthenticatedClient(base_url=service.address, token=key, timeout=60) as made:
        yield made


def part(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


def test_the_committed_document_is_the_served_one(served: dict[str, Any]) -> None:
    assert served == json.loads((ROOT / "openapi" / "openapi.json").read_text())


def test_every_operation_has_a_function(served: dict[str, Any], generated: Path) -> None:
    operations = {
        operation["operationId"]
        for path in served["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict) and "operationId" in operation
    }
    assert operations <= {path.stem for path in generated.glob("api/*/*.py")}


def test_a_field_and_a_word_that_came_later_are_kept(generated: Path) -> None:
    models = part("models")
    late = {"type": "/problems/late", "title": "Late", "status": 409, "detail": "", "instance": "/", "since": 3}
    problem = models.Problem.from_dict(late)
    assert problem.additional_properties == {"since": 3}
    progress = models.JobProgress.from_dict({"fraction": 0.5, "stage": "of a later version", "detail": None})
    assert progress.stage == "of a later version"


def test_upload_job_release(client: Any, generated: Path) -> None:
    models, types = part("models"), part("types")

    dataset = part("api.datasets.create_dataset").sync(
        client=client,
        body=types.File(payload=BytesIO(CSV)),
        name="generated",
        format_=models.CreateDatasetFormatType0.CSV,
        idempotency_key="generated-1",
    )
    assert isinstance(dataset, models.Dataset), dataset
    assert dataset.sha256 == hashlib.sha256(CSV).hexdigest()
    assert [column.type_ for column in dataset.columns] == ["integer"] * 2

    spec = models.BoxesRequest(
        method="boxes",
        dataset_id=dataset.id,
        quasi_identifiers=["age", "wage"],
        k=5,
        publish=models.PublicationMode.AUTO,
        partition=models.PartitionMethod.FAST,
        statistics=[models.Statistic(kind=models.StatisticKind.MEAN, of=["wage"])],
    )
    tag = next(path.parent.name for path in generated.glob("api/*/create_anonymization.py"))
    submission = part(f"api.{tag}.create_anonymization").sync(client=client, body=spec)
    assert isinstance(submission, models.BoxesJob), submission
    assert [event.state for event in followed(client, submission.id)][-1] == "succeeded"
    job = part("api.jobs.get_job").sync(submission.id, client=client)
    assert isinstance(job, models.BoxesJob), job
    assert job.state == "succeeded"
    assert isinstance(job.result, models.BoxesResult)
    assert (job.result.method, job.result.records, job.result.suppressed.missing) == ("boxes", 500, 0)
    assert job.result.smallest_box >= 5
    (mean,) = job.result.statistics
    assert isinstance(mean.guaranteed, list)
    assert mean.guaranteed[0] <= mean.estimate <= mean.guaranteed[1]
    assert (job.spec.k, job.spec.quasi_identifiers) == (5, ["age", "wage"])
    assert job.spec.partition == models.PartitionMethod.FAST
    assert job.created_at <= job.started_at <= job.finished_at
    whole = part("api.jobs.get_job_result").sync(job.id, client=client)
    assert isinstance(whole, models.BoxesResult), whole

    release = part("api.releases.get_release").sync(job.release_id, client=client)
    for form, file in release.files.additional_properties.items():
        data = part("api.releases.get_release_data").sync(
            job.release_id, client=client, format_=models.ReleaseFormat(form)
        )
        assert hashlib.sha256(data.payload.read()).hexdigest() == file.sha256
    statistics = part("api.releases.get_release_statistics").sync(job.release_id, client=client)
    assert [type(one) for one in statistics.statistics] == [models.BoxStatisticOfNumber]

    bundle = part("api.certificates.get_release_bundle").sync(job.release_id, client=client)
    assert zipfile.is_zipfile(BytesIO(bundle.payload.read()))
    stamp = httpx.Response(200, content=b"as the authority answered")  # this service has no authority
    read = part("api.certificates.get_release_timestamp")._parse_response(client=client, response=stamp)
    assert read.payload.read() == b"as the authority answered"
    assert "Restricted report" in part("api.jobs.get_job_report").sync(job.id, client=client)

    withdrawn = part("api.releases.withdraw_release").sync(job.release_id, client=client)
    assert withdrawn.state == "withdrawn"
    listed = part("api.jobs.list_jobs").sync(client=client, dataset_id=dataset.id)
    assert [item.id for item in listed.items] == [job.id]
    assert part("api.jobs.cancel_job").sync(job.id, client=client).state == "succeeded"
    assert part("api.datasets.delete_dataset").sync_detailed(dataset.id, client=client).status_code == 204


def test_a_draft_is_published_without_a_body(client: Any, generated: Path) -> None:
    models, types = part("models"), part("types")
    file = types.File(payload=BytesIO(b"wage\n" + b"".join(b"%d\n" % (i * i % 7919) for i in range(700))))
    dataset = part("api.datasets.create_dataset").sync(
        client=client, body=file, format_=models.CreateDatasetFormatType0.CSV
    )
    spec = models.BoxesRequest(
        method="boxes", dataset_id=dataset.id, quasi_identifiers=["wage"], k=50, publish=models.PublicationMode.DRAFT
    )
    tag = next(path.parent.name for path in generated.glob("api/*/create_anonymization.py"))
    submission = part(f"api.{tag}.create_anonymization").sync(client=client, body=spec, prefer="wait=30")
    job = followed(client, submission.id)[-1]
    release = part("api.releases.publish_release").sync(job.release_id, client=client)
    assert release.state == "published", release


def followed(client: Any, job_id: str) -> list[Any]:
    """The jobs that a stream of events tells of; generated clients read whole answers, so the lines are read here."""
    request = part("api.jobs.follow_job")._get_kwargs(job_id)
    with client.get_httpx_client().stream(**request) as answer:
        events = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    return [part("models").BoxesJob.from_dict(json.loads(data)) for data in events]


def test_a_refusal_is_a_problem_with_its_pointer(client: Any, generated: Path) -> None:
    models = part("models")
    spec = models.BoxesRequest(method="boxes", dataset_id="ds_absent", quasi_identifiers=["age"], k=5)
    tag = next(path.parent.name for path in generated.glob("api/*/create_anonymization.py"))
    problem = part(f"api.{tag}.create_anonymization").sync(client=client, body=spec)
    assert isinstance(problem, models.Problem)
    assert problem.status == 422
    assert [error.pointer for error in problem.errors] == ["/dataset_id"]
