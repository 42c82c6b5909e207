"""What a certificate says of its issuer, and that whoever reads a report of what is restricted is in the log."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from app.certificates.issue import issue_missing
from app.contracts.jobs import JobState
from app.db.repositories import families
from app.db.repositories.claims import AttemptOutcome, finish
from app.db.repositories.release_access import Viewer
from app.releases.job_report import job_report
from app.releases.report import release_report
from tests.jobs.many import published, release_of
from tests.jobs.service import Service


def test_a_certificate_says_where_its_issuer_is_reached(serve: Callable[..., Service]) -> None:
    service = serve(public_url="https://data.example.org")
    job_id, release_id = published(service, service.dataset())
    service.store_provenance(job_id, {})
    with service.database.unit_of_work() as unit:
        draft = "UPDATE release SET state = 'draft', published_at = NULL, made_by = 'key_other' WHERE id = "
        unit.connection.exec_driver_sql(f"{draft}'{release_id}'")
    with service.client() as client:
        assert client.post(f"/v1/releases/{release_id}/publish").status_code == 200
        envelope = client.get(f"/v1/releases/{release_id}/certificate").json()
    issuer = json.loads(base64.b64decode(envelope["payload"]))["predicate"]["issuer"]
    assert (issuer["service"], issuer["url"]) == ("surebox", "https://data.example.org")


def test_a_release_of_an_older_worker_is_certified_with_the_parameters_of_its_provenance(
    serve: Callable[..., Service],
) -> None:
    """While old and new processes run side by side, old ones write no column of parameters; nor do old entries."""
    service, parameters = serve(), {"domains": {"income": [0.5, 1e300]}, "k": 5}
    job_id, release_id = published(service, service.dataset())
    document = {"activity": {f"surebox:{job_id}": {"surebox:parameters": json.dumps(parameters)}}}
    service.store_provenance(job_id, {}, document)
    draft = "UPDATE release SET state = 'draft', published_at = NULL, made_by = 'key_other', parameters = NULL WHERE id"
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql(f"{draft} = '{release_id}'")
    with service.client() as client:
        assert client.post(f"/v1/releases/{release_id}/publish").status_code == 200
        envelope = client.get(f"/v1/releases/{release_id}/certificate").json()
    predicate = json.loads(base64.b64decode(envelope["payload"]))["predicate"]
    assert predicate["parameters"] == {"method": "boxes"} | parameters
    assert predicate["k"] == 5
    report = release_report(database=service.database, viewer=Viewer(service.owner), release_id=release_id)
    assert report.parameters == parameters


@pytest.mark.parametrize(
    ("method", "parameters", "certified"),
    [
        ("boxes", {"ordinal": {"a": ["low", "high"]}}, False),
        ("boxes", {"ordinal": {"a": ["low", "high"]}, "withheld": []}, True),
        ("boxes", {"ordinal": {}}, True),
        ("condensation", {"ordinal": {"a": ["low", "high"]}}, True),
    ],
)
def test_a_release_whose_ranks_count_from_0_gets_no_certificate_of_today(
    serve: Callable[..., Service], method: str, parameters: dict[str, Any], certified: bool
) -> None:
    """Before 0.1.0 they did, and no release of boxes stated what was withheld."""
    service = serve()
    job_id, release_id = published(service, service.dataset())
    service.store_provenance(job_id, {})
    written = "UPDATE release SET method = %s, parameters = %s WHERE id = %s"
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql(written, (method, json.dumps(parameters), release_id))
    assert issue_missing(database=service.database, settings=service.settings) == certified
    with service.client() as client:
        assert client.get(f"/v1/releases/{release_id}/certificate").status_code == (200 if certified else 404)


def test_reading_the_report_of_a_job_is_logged(shared: Service) -> None:
    job_id, _ = published(shared, shared.dataset())
    shared.store_provenance(job_id, {})
    with shared.client() as client:
        assert client.get(f"/v1/jobs/{job_id}/report", headers={"Prefer": "respond-async"}).status_code == 202
        entry = client.get("/v1/log?limit=1").json()["items"][0]
    assert (entry["action"], entry["subject"], entry["facts"]) == ("read", job_id, {"what": "report"})


def test_the_report_of_a_job_knows_who_accepted_what_and_what_it_leaves(shared: Service) -> None:
    dataset_id = shared.dataset()
    with shared.client() as client:
        job_id = shared.submit(client, dataset_id)
    release_id, claimed = release_of(shared, job_id, dataset_id), shared.claim(job_id)
    ending = AttemptOutcome(state=JobState.SUCCEEDED, outcome="succeeded", result={}, release_id=release_id)
    shared.store_provenance(job_id, {})
    finding = '[{"audit": "composition", "severity": "high", "detail": "3 are left", "measured": 3, "required": 5}]'
    with shared.database.unit_of_work() as unit:
        finish(unit.connection, claimed=claimed, ending=ending)
        family_id = families.create(unit.connection, owner=shared.owner)
        unit.connection.exec_driver_sql(
            "UPDATE release SET state = 'draft', published_at = NULL, made_by = 'key_other', findings = %s, "
            "family_id = %s, composed = %s, composed_after = 0 WHERE id = %s",
            (finding, family_id, '{"k": 3.0}', release_id),
        )
    with shared.client() as client:
        answer = client.post(f"/v1/releases/{release_id}/publish", json={"accept_findings": ["composition"]})
        assert answer.status_code == 200, answer.text
        entry = client.get("/v1/log?limit=1").json()["items"][0]
    report = job_report(database=shared.database, owner=shared.owner, job_id=job_id).job
    assert report["accepted"] == [{"audit": "composition", "by": entry["key_id"], "at": entry["created_at"]}]
    assert report["composed"] == {"k": 3.0}
    reader = Viewer(shared.owner)
    public = str(release_report(database=shared.database, viewer=reader, release_id=release_id))
    assert "composition" not in public.replace("composition-accepted", ""), "nothing but the flag"
