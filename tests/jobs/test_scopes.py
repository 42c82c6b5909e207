"""What every route shows to a key with a single scope. A route that is not in the table fails."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from app.auth.principal import Scope
from app.contracts.base import new_id
from app.contracts.jobs import JobState
from app.contracts.log import LogAction
from app.db.repositories import claims, families, log, recognition
from app.db.repositories.job_results import StoredResult
from app.db.repositories.secrets import Sealed
from app.db.session import Connection
from app.db.tables.jobs import provenance
from app.db.tables.releases import certificate
from tests.api.test_routes import ROUTES
from tests.jobs.many import release_of
from tests.jobs.service import Service, body

#: Pieces of an answer, and where each is from.
SIGNS = {
    '"distinct":40': "profile",
    '"partition":"fast"': "spec",
    '"original_dataset_id"': "spec",
    "planted_result": "result",
    "planted_whole_provenance": "whole provenance",
    '"queries"': "question",
    '"neighbours"': "question",
    "planted_answer": "answer",
    "planted_tag": "release",
    "planted_data": "data",
    "planted_public": "public provenance",
    "planted_certificate": "certificate",
    "planted_timestamp": "timestamp",
    '"estimate":38.6': "statistics",
    '"dataset_ids"': "family",
    '"previous"': "log",
}
#: Further objects that a path may name.
NAMED = {"question_id": "job_id", "draft_id": "release_id"}
ASYNC = {"Prefer": "respond-async"}
REPORTED = ("jobs/{job_id}", "releases/{release_id}", "releases/{draft_id}")
COUNT: dict[str, Any] = {"queries": [{"age": [30, 40]}]}
JOB = {"jobs:read": "spec, result"}
ANSWERED = {"jobs:read": "question, answer", "releases:read": "question, answer"}
#: Method and path (a word after it tells variants apart) -> scope -> what is shown. Other scopes are refused; what
#: `admin` sees that no single scope does stands under it.
TABLE: dict[str, dict[str, str]] = {
    "POST /v1/datasets": {"datasets:write": ""},
    "GET /v1/datasets": {"datasets:read": "profile"},
    "GET /v1/datasets/{dataset_id}": {"datasets:read": "profile"},
    "PATCH /v1/datasets/{dataset_id}": {"datasets:write": "", "admin": "profile"},
    "DELETE /v1/datasets/{dataset_id}": {"datasets:write": ""},
    "POST /v1/anonymizations": {"jobs:write": "", "admin": "spec"},
    "POST /v1/anonymizations waited": {"jobs:write": "", "admin": "spec"},
    "POST /v1/anonymizations replayed": {"jobs:write": "", "admin": "spec, result"},
    "POST /v1/audits": {"jobs:write": "", "admin": "spec"},
    "GET /v1/jobs": JOB,
    "GET /v1/jobs/{job_id}": JOB,
    "GET /v1/jobs/{job_id} waited": JOB,
    "GET /v1/jobs/{question_id}": ANSWERED,
    "DELETE /v1/jobs/{job_id}": {"jobs:write": ""},
    "POST /v1/jobs/{job_id}/cancel": {"jobs:write": "", "admin": "spec, result"},
    "POST /v1/jobs/{question_id}/cancel": {"jobs:write": "", "admin": "question, answer"},
    "GET /v1/jobs/{job_id}/result": {"jobs:read": "result"},
    "GET /v1/jobs/{question_id}/result": {"jobs:read": "answer", "releases:read": "answer"},
    "GET /v1/jobs/{job_id}/report": {"jobs:read": ""},
    "GET /v1/jobs/{job_id}/provenance": {"jobs:read": "whole provenance"},
    "GET /v1/jobs/{job_id}/events": JOB,
    "GET /v1/jobs/{question_id}/events": {"jobs:read": "", "releases:read": ""},
    "GET /v1/releases": {"releases:read": "release", "jobs:read": "release"},
    "GET /v1/releases/latest": {"releases:read": "", "jobs:read": ""},
    "GET /v1/releases/{release_id}": {"releases:read": "release", "jobs:read": "release"},
    "GET /v1/releases/{release_id}/data": {"releases:read": "data", "jobs:read": "data"},
    "HEAD /v1/releases/{release_id}/data": {"releases:read": "", "jobs:read": ""},
    "GET /v1/releases/{release_id}/statistics": {"releases:read": "statistics", "jobs:read": "statistics"},
    "GET /v1/releases/{release_id}/provenance": {
        "releases:read": "public provenance",
        "jobs:read": "public provenance",
    },
    "GET /v1/releases/{release_id}/report": {"releases:read": "", "jobs:read": ""},
    "GET /v1/releases/{release_id}/bundle.zip": {"releases:read": "", "jobs:read": ""},
    "GET /v1/releases/{release_id}/certificate": {"releases:read": "certificate", "jobs:read": "certificate"},
    "GET /v1/releases/{release_id}/timestamp": {"releases:read": "timestamp", "jobs:read": "timestamp"},
    "GET /v1/revocations": {"releases:read": "", "jobs:read": ""},
    "GET /v1/releases/{draft_id}/report": {"jobs:read": ""},
    "PATCH /v1/releases/{release_id}": {"releases:write": "", "admin": "release"},
    "DELETE /v1/releases/{release_id}": {"admin": ""},  # it is published: that takes the scope of publishing too
    "DELETE /v1/releases/{draft_id}": {"releases:write": ""},
    "GET /v1/releases/{draft_id}": {"jobs:read": "release"},
    "GET /v1/releases/{draft_id}/data": {"jobs:read": "data"},
    "GET /v1/releases/{draft_id}/statistics": {"jobs:read": "statistics"},
    "GET /v1/releases/{draft_id}/provenance": {"jobs:read": "public provenance"},
    "POST /v1/releases/{draft_id}/publish": {"releases:publish": "release"},
    "POST /v1/releases/{release_id}/withdraw": {"releases:publish": "", "admin": "release"},
    "GET /v1/families/{family_id}": {"admin": "family"},
    "GET /v1/families": {"admin": "family"},
    "POST /v1/families/{family_id}/confirm": {"admin": "family"},
    "POST /v1/families/{family_id}/answer": {"admin": "family"},
    "DELETE /v1/families/{family_id}": {"admin": ""},
    "GET /v1/owner": {scope.value: "" for scope in Scope},
    "POST /v1/owner/key/renew": {scope.value: "" for scope in Scope},
    "PATCH /v1/owner": {"admin": ""},
    "GET /v1/usage": {"jobs:read": ""},
    "GET /v1/log": {**{scope.value: "" for scope in Scope}, "admin": "log"},  # what was done with the key itself
    "POST /v1/releases/{draft_id}/count": {"admin": "question"},
    "POST /v1/releases/{release_id}/count": {"releases:read": "question"},
    "POST /v1/releases/{release_id}/statistics": {"releases:read": ""},
    "POST /v1/releases/{release_id}/classify": {"releases:read": "question"},
}


@dataclass(frozen=True)
class World:
    """One of everything, all finished, and nobody else's."""

    dataset_id: str
    job_id: str
    question_id: str
    release_id: str
    draft_id: str
    family_id: str
    other_family_id: str
    spec: dict[str, Any]

    def request(self, route: str) -> dict[str, Any]:
        """What a route is sent."""
        method, path = route.split(" ")[:2]
        sent = SENT.get(route, lambda _: {})(self)
        return {"method": method, "url": path.format(**vars(self)), **sent}


SENT: dict[str, Callable[[World], dict[str, Any]]] = {
    "POST /v1/datasets": lambda _: {"content": b"a\n1\n", "headers": ASYNC | {"Content-Type": "text/csv"}},
    "PATCH /v1/datasets/{dataset_id}": lambda _: {"json": {"name": "other"}},
    "PATCH /v1/owner": lambda _: {"json": {"jobs_may_publish": True}},
    "POST /v1/families/{family_id}/answer": lambda world: {
        "json": {"other_family_id": world.other_family_id, "people": "other"},
    },
    "PATCH /v1/releases/{release_id}": lambda _: {"json": {"name": "other"}},
    "POST /v1/anonymizations": lambda world: {"json": body(world.dataset_id)},
    "POST /v1/anonymizations waited": lambda world: {"json": body(world.dataset_id), "headers": {"Prefer": "wait=1"}},
    "POST /v1/anonymizations replayed": lambda world: {"json": world.spec, "headers": {"Idempotency-Key": "once"}},
    "POST /v1/audits": lambda world: {"json": {"method": "linkage", "release_id": world.release_id}},
    "GET /v1/jobs/{job_id} waited": lambda _: {"headers": {"Prefer": "wait=1"}},
    "GET /v1/releases/latest": lambda world: {"params": {"series_id": world.release_id}},
    "GET /v1/releases/{release_id}/data": lambda _: {"params": {"format": "parquet"}},
    "GET /v1/releases/{draft_id}/data": lambda _: {"params": {"format": "parquet"}},
    "POST /v1/releases/{draft_id}/publish": lambda _: {"json": {}},
    "POST /v1/releases/{release_id}/withdraw": lambda _: {"json": {"reason": "superseded"}},
    **{f"GET /v1/{path}/report": lambda _: {"headers": ASYNC} for path in REPORTED},
    "GET /v1/releases/{release_id}/bundle.zip": lambda _: {"headers": ASYNC},
    "POST /v1/releases/{draft_id}/count": lambda _: {"json": COUNT, "headers": ASYNC},
    "HEAD /v1/releases/{release_id}/data": lambda _: {"params": {"format": "parquet"}},
    "POST /v1/releases/{release_id}/count": lambda _: {"json": COUNT, "headers": ASYNC},
    "POST /v1/releases/{release_id}/statistics": lambda _: {
        "json": {"statistics": [{"kind": "mean", "of": ["age"]}]}, "headers": ASYNC,
    },
    "POST /v1/releases/{release_id}/classify": lambda _: {
        "json": {"target": "town", "neighbours": 1, "points": [{"age": 1, "hours": 2}]},
        "headers": ASYNC,
    },
}  # fmt: skip


def succeed(service: Service, job_id: str, sign: str) -> None:
    claimed = service.claim(job_id)
    ending = claims.AttemptOutcome(state=JobState.SUCCEEDED, outcome="succeeded", result={"note": sign})
    whole = f'{{"note":"{sign}"}}'.encode()
    with service.database.unit_of_work() as unit:
        claims.finish(unit.connection, claimed=claimed, ending=ending)
        stored = StoredResult(body=whole, key=None, bytes=len(whole), sha256="ab" * 32)
        claims.insert_result(unit.connection, job_id=job_id, result=stored)


def planted(service: Service, job_id: str, dataset_id: str, *, kept: Sequence[str] = ()) -> str:
    """A release of a job, with a sign in every piece."""
    release_id = release_of(service, job_id, dataset_id, kept=kept)
    key = f"releases/{release_id}/a.parquet"
    with service.app.state.resources.storage.writer(key) as writer:
        writer.write(b"planted_data")
    service.store_provenance(job_id, {"entity": "planted_whole_provenance"})
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql(
            'UPDATE release SET tags = \'{"planted_tag": ""}\', statistics = \'[{"estimate": 38.6}]\''
            f" WHERE id = '{release_id}'"
        )
        unit.connection.exec_driver_sql(f"UPDATE release_file SET bytes = 12 WHERE key = '{key}'")
        public = provenance.update().where(provenance.c.job_id == job_id).values(public={"of": "planted_public"})
        unit.connection.execute(public)
        facts = {"position": int(release_id[-8:], 16), "sha256": release_id, "envelope": b'{"planted_certificate":""}'}
        issued = {"owner": service.owner, "issued_at": datetime.now(UTC), "timestamp": b"planted_timestamp"}
        unit.connection.execute(certificate.insert().values(release_id=release_id, **facts, **issued))
    return release_id


def world(service: Service) -> World:
    """Everything there is, of a new owner."""
    service.owner = new_id("owner")
    dataset_id = service.dataset()
    spec = body(dataset_id, keep=["town"])
    with service.client() as client:
        once = {"Idempotency-Key": "once"}
        job_id = client.post("/v1/anonymizations", json=spec, headers=once).json()["id"]
        succeed(service, job_id, "planted_result")
        release_id = planted(service, job_id, dataset_id, kept=spec["keep"])
        other = client.post("/v1/anonymizations", json=body(dataset_id)).json()["id"]
        succeed(service, other, "nothing")
        draft_id = planted(service, other, dataset_id)
        with service.database.unit_of_work() as unit:
            draft = "UPDATE release SET state = 'draft', published_at = NULL, made_by = 'key_other' WHERE id = "
            unit.connection.exec_driver_sql(f"{draft}'{draft_id}'")
            family_id, other_family_id = (families.create(unit.connection, owner=service.owner) for _ in range(2))
            ask(unit.connection, service.owner, family_id, other_family_id)
            log.append(unit.connection, owner=service.owner, action=LogAction.READ, subject="job_1", key_id=None)
        question = client.post(f"/v1/releases/{release_id}/count", json=COUNT, headers=ASYNC).json()["id"]
        succeed(service, question, "planted_answer")
    return World(dataset_id, job_id, question, release_id, draft_id, family_id, other_family_id, spec)


def ask(connection: Connection, owner: str, *family_ids: str) -> None:
    """Data of two families may be of the same people."""
    for one in family_ids:
        recognition.remember(connection, owner=owner, family_id=one, dataset_id=f"ds_of_{one}", sealed=Sealed(b"", b""))
    evidence = {"columns": ["age"], "agreeing": 0.9, "by_chance": 0.3}
    first, second = (f"ds_of_{one}" for one in family_ids)
    recognition.put_question(connection, owner=owner, dataset_id=first, other_dataset_id=second, evidence=evidence)


def test_every_route_is_in_the_table() -> None:
    known = {
        (route.split(" ")[0], re.sub("question_id|draft_id", lambda name: NAMED[name[0]], route.split(" ")[1]))
        for route in TABLE
    }
    assert known - {("HEAD", "/v1/releases/{release_id}/data")} == {
        (method, path) for method, path, _ in ROUTES if path.startswith("/v1/")
    }


@pytest.mark.parametrize("route", TABLE)
def test_a_key_is_shown_what_its_scope_is_for(shared: Service, route: str) -> None:
    expected = {scope: {sign for sign in signs.split(", ") if sign} for scope, signs in TABLE[route].items()}
    expected.setdefault("admin", set().union(*expected.values()))
    made = world(shared)
    for scope in Scope:
        with shared.client(None, scope) as client:
            answer = client.request(**made.request(route))
        shown = {sign for piece, sign in SIGNS.items() if piece in answer.text.replace(" ", "")}
        assert shown == expected.get(scope, set()), scope
        hidden = (
            "{draft_id}" in route
            and "publish" not in route
            and not route.startswith("DELETE")
            and scope is Scope.RELEASES_READ
            and scope not in expected
        )
        assert (answer.status_code == (404 if hidden else 403)) == (scope not in expected), (scope, answer.text)
        assert answer.status_code < 400 or scope not in expected, (scope, answer.text)
        if answer.status_code < 300 and not route.startswith(("GET", "HEAD")):
            made = world(shared)
