"""What a certificate says of its issuer, and that whoever reads a report of what is restricted is in the log."""

import base64
import json
from collections.abc import Callable

from tests.jobs.many import published
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


def test_reading_the_report_of_a_job_is_logged(shared: Service) -> None:
    job_id, _ = published(shared, shared.dataset())
    shared.store_provenance(job_id, {})
    with shared.client() as client:
        assert client.get(f"/v1/jobs/{job_id}/report", headers={"Prefer": "respond-async"}).status_code == 202
        entry = client.get("/v1/log?limit=1").json()["items"][0]
    assert (entry["action"], entry["subject"], entry["facts"]) == ("read", job_id, {"what": "report"})
