"""Every body that the document shows as an example works when it is sent, and every answer is what the document says.

The API splices stored JSON into its answers; what is declared is held against what is really sent here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import httpx
import pytest

from app.contracts.examples import DATASET, GROUP_JOB, RELEASE
from app.contracts.jobs import JobKind
from app.embedded.folder import DataFolder
from app.methods.catalogue import methods_of
from tests.clients.conformity import Conformity
from tests.documented import the_document
from tests.methods.asking import SECONDS, is_part, upload
from tests.methods.bases import microfile
from tests.processes import Processes
from tests.service import Service

JSON = "application/json"
#: What a release is after a request to this place.
BECOMES = {"publish": "published", "withdraw": "withdrawn"}
#: Of people who are in no other dataset.
BATCHES = count()


def bodies(*, json_only: bool = True) -> Iterator[Any]:
    """Method, path, media type and example of every body in the document."""
    for path, operations in the_document()["paths"].items():
        for method, operation in operations.items():
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                for name, example in content.get("examples", {}).items():
                    if (kind == JSON) == json_only:
                        row = (method.upper(), path, kind, example["value"])
                        yield pytest.param(*row, id=f"{operation['operationId']}-{kind.partition('/')[2]}-{name}")


@pytest.fixture(scope="module")
def conformity(served: dict[str, Any]) -> Conformity:
    return Conformity(served)


@pytest.fixture(scope="module")
def open_service(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service by another API process, whose operator allows public releases: an example asks for one.

    That of the other tests answers nothing without a key, which schemathesis holds against the document.
    """
    running = DataFolder(service.folder).running().environment
    beside = Processes(tmp_path_factory.mktemp("open"), dict(running))
    try:
        address, _ = beside.api(SUREBOX_PUBLIC_RELEASES="true", SUREBOX_REQUESTS_PER_MINUTE="1000000")
        yield replace(service, address=address)
    finally:
        beside.stop()


@pytest.fixture(scope="module")
def client(open_service: Service, conformity: Conformity) -> Iterator[httpx.Client]:
    """A client that holds every answer against the document."""
    with open_service.client() as made:
        made.event_hooks["response"].append(conformity.check)
        yield made


@pytest.fixture(scope="module")
def ids(client: httpx.Client) -> dict[str, str]:
    """What the made-up ids of the examples stand for."""
    soldiers = microfile(2, bases={4: 40, 11: 34, 23: 45})
    real_ids = {DATASET: str(upload(client, soldiers.write_csv())["id"])}
    for path, made_up, field, name in (
        ("/v1/audits", GROUP_JOB, "id", "group: can soldiers' regions be found?"),
        ("/v1/anonymizations", RELEASE, "release_id", "boxes: chosen statistics, rare records left out"),
    ):
        examples = the_document()["paths"][path]["post"]["requestBody"]["content"][JSON]["examples"]
        real_ids[made_up] = finished(client, client.post(path, json=real(examples[name]["value"], real_ids)))[field]
    return real_ids


def real(example: Any, ids: Mapping[str, str]) -> Any:
    """An example with ids that are there."""
    text = json.dumps(example)
    for made_up, real_id in ids.items():
        text = text.replace(made_up, real_id)
    return json.loads(text)


def finished(client: httpx.Client, answer: httpx.Response) -> dict[str, Any]:
    """The job that was asked for, succeeded."""
    assert answer.is_success, answer.text
    job: dict[str, Any] = answer.json()
    waited = 0
    while job["state"] in {"queued", "running"}:
        assert waited < SECONDS, job
        job = client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=10"}).json()
        waited += 10
    assert job["state"] == "succeeded", job["error"]
    return job


def released(client: httpx.Client, **more: Any) -> str:
    """A release of people who are in no other one."""
    first = 100 * next(BATCHES)
    people = "".join(f"{18 + i % 40},{first + i}\n" for i in range(100))
    dataset_id = upload(client, "age,income\n" + people)["id"]
    spec = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age"], "k": 5, "publish": "auto"}
    made: str = finished(client, client.post("/v1/anonymizations", json=spec | more))["release_id"]
    return made


def place_of(path: str, example: Any, client: httpx.Client, ids: Mapping[str, str]) -> str:
    """Where an example is sent; what ends as another release than it was is put to one of its own."""
    release = ids[RELEASE]
    if path.endswith("/withdraw"):
        release = released(client)
    elif path.endswith("/publish"):
        failing = [{"method": audit, "require": {"k": 1000}} for audit in example.get("accept_findings", ())]
        release = released(client, publish="draft", gate=failing)
    return path.format(dataset_id=ids[DATASET], release_id=release, job_id=ids[GROUP_JOB])


#: What no example alone can do: an answer takes a question about two families (tests/attacks/test_same_people.py).
POSSIBLE = [each for each in bodies() if not str(each.id).startswith("answer_family")]


@pytest.mark.parametrize(("method", "path", "kind", "example"), POSSIBLE)
def test_an_example_works(
    client: httpx.Client, ids: dict[str, str], method: str, path: str, kind: str, example: Any
) -> None:
    place = place_of(path, example, client, ids)
    answer = client.request(method, place, json=real(example, ids))
    assert answer.is_success, answer.text
    if (action := path.rpartition("/")[2]) in BECOMES:
        assert answer.json()["state"] == BECOMES[action]
    if "progress" in answer.json():
        job = finished(client, answer)
        assert job["method"] == job["spec"]["method"] == job["result"]["method"] == example["method"]
        whole = client.get(f"/v1/jobs/{job['id']}/result").json()
        assert whole["method"] == example["method"]
        assert is_part(job["result"], whole)
        assert client.get(f"/v1/jobs/{job['id']}/provenance").is_success
        assert "event: state" in client.get(f"/v1/jobs/{job['id']}/events").text
        if job["release_id"] is not None:
            for part in ("", "/statistics", "/provenance", "/data?format=csv", "/data?format=parquet"):
                assert client.get(f"/v1/releases/{job['release_id']}{part}").is_success


@pytest.mark.parametrize(("method", "path", "kind", "example"), list(bodies(json_only=False)))
def test_an_example_of_a_file_is_read(client: httpx.Client, method: str, path: str, kind: str, example: str) -> None:
    answer = client.request(method, path, content=example.encode(), headers={"Content-Type": kind})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    assert answer.json()["rows"] == len(example.splitlines()) - (kind != "application/x-ndjson")


def test_every_body_has_two_examples_and_every_method_too() -> None:
    counts: dict[str, int] = {}
    for path, operations in the_document()["paths"].items():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            examples = [one["value"] for part in content.values() for one in part.get("examples", {}).values()]
            assert not content or len(examples) >= 2, path
            for example in examples:
                if isinstance(example, dict) and "method" in example:
                    counts[example["method"]] = counts.get(example["method"], 0) + 1
    named = (*methods_of(JobKind.ANONYMIZATION), *methods_of(JobKind.AUDIT))  # others have routes of their own
    assert counts.keys() == {method.name for method in named}
    assert min(counts.values()) == 2, "two at least"


def test_answers_to_questions_that_nobody_waits_for_are_jobs_of_their_methods(
    client: httpx.Client, ids: dict[str, str]
) -> None:
    requests = {
        "count": {"queries": [{"age": [30, 40]}]},
        "classify": {"target": "job", "points": [{"age": 22, "income": 30000}]},
        "statistics": {"statistics": [{"kind": "mean", "of": ["income"]}]},
    }
    for method, body in requests.items():
        place = f"/v1/releases/{ids[RELEASE]}/{method}"
        job = finished(client, client.post(place, json=body, headers={"Prefer": "respond-async"}))
        assert job["method"] == job["result"]["method"] == method
        if method == "count":
            rows = client.get(f"/v1/releases/{ids[RELEASE]}").json()["rows"]
            assert (job["result"]["base"], job["result"]["n"]) == ("records", rows)
        assert client.get(f"/v1/jobs/{job['id']}/result").json() == client.post(place, json=body).json()


def test_what_fails_is_told_by_a_problem(client: httpx.Client, ids: dict[str, str]) -> None:
    spec = {
        "method": "boxes", "dataset_id": ids[DATASET], "quasi_identifiers": ["age"], "k": 5, "keep": ["income"],
        "k_counts_kept": True,
    }  # fmt: skip
    job = client.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=30"}).json()
    assert (job["state"], job["result"], job["error"]["status"]) == ("failed", None, 422)
    assert client.get(f"/v1/jobs/{job['id']}/result").status_code == httpx.codes.CONFLICT
    for refused in ({}, {"method": "nothing"}, spec | {"k": 0}, spec | {"quasi_identifiers": ["height"]}):
        assert client.post("/v1/anonymizations", json=refused).status_code == httpx.codes.UNPROCESSABLE_ENTITY
    unreadable = client.post("/v1/datasets", content=b'a\n"1', headers={"Content-Type": "text/csv"})
    assert unreadable.status_code == httpx.codes.UNPROCESSABLE_ENTITY


def test_answers_of_every_kind_were_held_against_the_document(
    client: httpx.Client, ids: dict[str, str], conformity: Conformity
) -> None:
    job_id, release_id = ids[GROUP_JOB], ids[RELEASE]
    for path in ("datasets", "jobs", "releases", f"datasets/{ids[DATASET]}", f"releases/{release_id}", "jobs/job_no"):
        client.get(f"/v1/{path}")
    published = released(client)  # the example's keeps a column that tells persons apart: a draft, which has none
    for release, part in ((release_id, "report"), (release_id, "bundle.zip"), (published, "certificate")):
        client.get(f"/v1/releases/{release}/{part}")
    latest = client.get("/v1/releases/latest", params={"series_id": published})
    assert latest.headers["location"] == f"/v1/releases/{published}"
    family = client.get(f"/v1/datasets/{ids[DATASET]}").json()["family_id"]
    for path in (f"jobs/{job_id}/report", f"families/{family}", "families", "owner", "usage", "log", "revocations"):
        client.get(f"/v1/{path}")
    client.post(f"/v1/families/{family}/confirm")
    for path in ("/healthz", "/readyz", "/metrics", "/problems/not-found", "/.well-known/jwks.json"):
        client.get(path)
    client.post(f"/v1/jobs/{job_id}/cancel")
    client.head(f"/v1/releases/{release_id}/data")
    client.get(f"/v1/releases/{release_id}/data", headers={"Range": "bytes=0-9"})
    declared = {
        operation["operationId"]
        for item in the_document()["paths"].values()
        for method, operation in item.items()
        if method != "delete"
    }
    assert client.get(f"/v1/releases/{release_id}/timestamp").status_code == httpx.codes.NOT_FOUND
    #: An authority: tests/jobs/test_timestamps.py; a question: tests/attacks/test_same_people.py; a renewable key:
    #: tests/api/test_renewal.py.
    elsewhere = {"get_release_timestamp", "answer_family", "renew_key"}
    assert declared - elsewhere <= {name for name, status in conformity.seen if status < httpx.codes.BAD_REQUEST}
