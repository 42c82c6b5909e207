"""What an owner may keep: refused with figures and a way out, exactly so when uploads arrive at once."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.contracts.owners import LimitedResource
from app.jobs.quotas import change_limit
from tests.datasets.conftest import Uploads
from tests.service import bare_environment


def rows(count: int) -> bytes:
    return b"age,pay\n" + b"".join(b"%d,%d\n" % (20 + i % 50, i) for i in range(count))


def usage(uploads: Uploads) -> dict[str, dict[str, Any]]:
    answer = uploads.client.get("/v1/usage")
    assert answer.status_code == 200, answer.text
    return {each["resource"]: each for each in answer.json()["quotas"]}


def allow(uploads: Uploads, resource: str, maximum: float | None) -> None:
    owner = uploads.client.get("/v1/usage").json()["owner"]
    change_limit(database=uploads.processes.database, owner=owner, resource=LimitedResource(resource), maximum=maximum)


def test_usage_is_what_the_lists_show(uploads: Uploads) -> None:
    sizes = [20, 30]
    made = [uploads.post(rows(size)).json() for size in sizes]
    assert [each.get("state") for each in made] == ["ready"] * 2, (made, uploads.processes.logs())
    used = usage(uploads)
    assert used["rows"]["used"] == sum(sizes)
    assert used["bytes"]["used"] == sum(each["bytes"] for each in made)
    assert (used["datasets"]["used"], used["releases"]["used"], used["jobs"]["used"]) == (2, 0, 0)
    assert set(used) == {each.value for each in LimitedResource}
    assert all(each["limit"] > 0 and each["freed_by"] for each in used.values())
    assert uploads.client.delete(f"/v1/datasets/{made[0]['id']}").status_code == 204
    assert usage(uploads)["rows"]["used"] == 30
    assert usage(uploads)["bytes"]["used"] == made[1]["bytes"]


@pytest.mark.parametrize(("resource", "room"), [("datasets", 1), ("bytes", len(rows(40))), ("rows", 40)])
def test_an_upload_above_a_limit_is_refused_until_something_is_deleted(
    uploads: Uploads, resource: str, room: int
) -> None:
    first = uploads.post(rows(20)).json()
    there = usage(uploads)[resource]["used"]
    allow(uploads, resource, there + room - 1)
    refused = uploads.post(rows(40))
    assert refused.status_code == 403, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert problem["type"] == "/problems/quota-exceeded"
    counts = {name: problem["quota"][name] for name in ("resource", "used", "limit", "requested")}
    assert counts == {"resource": resource, "used": there, "limit": there + room - 1, "requested": room}
    assert "Deleting datasets" in problem["quota"]["freed_by"]
    assert usage(uploads)[resource]["used"] == there, "what was refused leaves nothing"
    assert len(uploads.client.get("/v1/datasets").json()["items"]) == 1
    assert uploads.staged() == []
    allow(uploads, resource, there + room)
    assert uploads.post(rows(40)).status_code == 201, "exactly what fits is taken"
    assert uploads.post(rows(1)).status_code == 403
    assert uploads.client.delete(f"/v1/datasets/{first['id']}").status_code == 204
    assert uploads.post(rows(1)).status_code == 201
    assert uploads.client.get("/v1/problems/quota-exceeded").status_code == 404
    assert uploads.client.get("/problems/quota-exceeded").json()["status"] == 403


@pytest.mark.parametrize("resource", ["datasets", "bytes", "rows"])
def test_of_uploads_at_once_no_more_pass_than_fit(uploads: Uploads, resource: str) -> None:
    body = rows(25)
    allow(uploads, resource, 3 * {"datasets": 1, "bytes": len(body), "rows": 25}[resource])
    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(answer.status_code for answer in pool.map(lambda _: uploads.post(body), range(8)))
    assert statuses == [201] * 3 + [403] * 5
    taken = uploads.client.get("/v1/datasets").json()["items"]
    assert [each["state"] for each in taken] == ["ready"] * 3


def test_a_refused_upload_gives_its_idempotency_key_back(uploads: Uploads) -> None:
    allow(uploads, "datasets", 0)
    once = {"Idempotency-Key": "once"}
    assert uploads.post(rows(5), headers=once).status_code == 403
    allow(uploads, "datasets", None)
    made = uploads.post(rows(5), headers=once)
    assert made.status_code == 201
    allow(uploads, "datasets", 0)
    again = uploads.post(rows(5), headers=once)
    assert (again.status_code, again.json()["id"]) == (201, made.json()["id"]), "what was accepted is still answered"


def test_an_upload_that_was_not_waited_for_says_why_it_was_not_kept(uploads: Uploads) -> None:
    allow(uploads, "rows", 10)
    answer = uploads.post(rows(11), headers={"Prefer": "respond-async"})
    assert answer.status_code == 202
    at = answer.headers["location"]
    uploads.processes.wait(lambda: uploads.client.get(at).json()["state"] != "ingesting")
    failed = uploads.client.get(at).json()
    assert (failed["state"], failed["error"]["type"]) == ("failed", "/problems/quota-exceeded")
    assert failed["error"]["quota"]["requested"] == 11
    assert usage(uploads)["bytes"]["used"] == 0


def test_how_much_others_keep_is_for_keepers(uploads: Uploads, make_uploads: Callable[..., Uploads]) -> None:
    uploads.post(rows(17))
    owner = uploads.client.get("/v1/usage").json()["owner"]
    lesser = make_uploads(owner=owner, scopes=("datasets:write",))
    assert lesser.client.get("/v1/usage").status_code == 403
    for resource, limit in (("rows", 20), ("bytes", 200), ("datasets", 1)):
        allow(uploads, resource, limit)
        problem = lesser.post(rows(18)).json()
        assert problem["type"] == "/problems/quota-exceeded", problem
        assert problem["quota"]["used"] is None
        assert "17" not in problem["detail"]
        assert "requested" not in problem["quota"]
        allow(uploads, resource, None)


def test_the_operator_sets_shows_and_resets_what_an_owner_may_have(uploads: Uploads) -> None:
    owner = uploads.client.get("/v1/usage").json()["owner"]
    default = usage(uploads)["bytes"]["limit"]
    environment = bare_environment(**uploads.processes.settings)

    def surebox(*arguments: str) -> str:
        command = [sys.executable, "-m", "app.cli", "quotas", *arguments, "--owner", owner]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout

    surebox("set", "bytes", "1000")
    assert usage(uploads)["bytes"]["limit"] == 1000
    assert "bytes\t0\t1000\n" in surebox("show")
    surebox("reset", "bytes")
    assert usage(uploads)["bytes"]["limit"] == default
    changes = uploads.client.get("/v1/log?action=quota_changed").json()["items"]
    assert [each["facts"] for each in changes] == [
        {"resource": "bytes", "limit": None}, {"resource": "bytes", "limit": 1000.0}
    ]  # fmt: skip
