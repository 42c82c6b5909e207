"""Drafts, publishing, withdrawing, readers, and the log of it."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from app.contracts.findings import Finding, FindingSeverity, Review
from app.contracts.releases import PublicationMode, PublishRequest, ReleaseState
from app.db.repositories import families, installation
from app.errors import ForbiddenError, InvalidError, PublishedMeanwhileError, UnresolvedFindingsError
from app.releases import publishing
from tests import patient
from tests.releases.conftest import Releases

FINDING = Finding(audit="composition", severity=FindingSeverity.HIGH, detail="1 person is left", measured=1, required=5)


def draft(releases: Releases, **values: Any) -> str:
    """A release that was made, by another key, and not published."""
    release_id = releases.publish()
    columns = {"state": "draft", "published_at": None, "made_by": "key_maker"} | values
    with releases.processes.database.unit_of_work() as unit:
        assignments = ", ".join(f"{name} = %({name})s" for name in columns)
        unit.connection.exec_driver_sql(
            f"UPDATE release SET {assignments} WHERE id = %(id)s", {**columns, "id": release_id}
        )
    return release_id


def decide(
    connection: Connection,
    review: Review,
    *,
    mode: PublicationMode = PublicationMode.AUTO,
    accepts_composition: bool = True,
    four_eyes: bool = False,
    may_publish: bool = True,
) -> ReleaseState:
    """The state that a release gets as its job ends, where no more is said than that its composition is accepted."""
    rules = {"accepts_composition": accepts_composition, "four_eyes": four_eyes, "may_publish": may_publish}
    return publishing.decide(connection, review=review, mode=mode, **rules).state


def reader_of(releases: Releases, make: Callable[..., Releases], *scopes: str, owner: str | None = None) -> Releases:
    return make(owner or releases.owner, scopes=scopes)


def test_a_draft_is_for_keepers_until_it_is_published_and_after_it_is_withdrawn(
    published: Releases, make_releases: Callable[..., Releases]
) -> None:
    release_id = draft(published)
    keeper, reader = (reader_of(published, make_releases, scope).client for scope in ("jobs:read", "releases:read"))
    publisher = reader_of(published, make_releases, "releases:publish").client
    paths = [f"/v1/releases/{release_id}{part}" for part in ("", "/statistics", "/provenance", "/data?format=csv")]
    assert [keeper.get(path).status_code for path in paths] == [200] * 4
    assert [reader.get(path).status_code for path in paths] == [404] * 4
    assert reader.get("/v1/releases").json()["items"] == []
    shown = keeper.get(paths[0]).json()
    assert (shown["state"], shown["published_at"], shown["findings"], shown["readers"]) == ("draft", None, [], [])
    assert publisher.post(paths[0] + "/publish").json()["state"] == "published"
    assert [reader.get(path).status_code for path in paths] == [200] * 4
    shown = reader.get(paths[0]).json()
    assert shown["published_at"] is not None
    assert (shown["findings"], shown["readers"], shown["family_id"]) == (None, None, None)
    assert publisher.post(paths[0] + "/publish").status_code == 200, "it is published already"
    assert publisher.post(paths[0] + "/withdraw", json={"reason": "wrong unit"}).status_code == 204
    assert reader.get(paths[0]).status_code == 404
    assert keeper.get(paths[0]).json()["state"] == "withdrawn"
    assert publisher.post(paths[0] + "/publish").status_code == 409


@pytest.mark.parametrize("state", ["draft", "published", "withdrawn"])
def test_a_key_that_may_not_withdraw_deletes_no_published_release(
    published: Releases, make_releases: Callable[..., Releases], state: str
) -> None:
    release_id = draft(published)
    path = f"/v1/releases/{release_id}"
    keeper, writer = (reader_of(published, make_releases, scope).client for scope in ("jobs:read", "releases:write"))
    both = reader_of(published, make_releases, "releases:write", "releases:publish").client
    if state != "draft":
        assert both.post(f"{path}/publish").json()["state"] == "published"
    if state == "withdrawn":
        assert both.post(f"{path}/withdraw").is_success
    refused = writer.delete(path)
    if state != "published":
        assert refused.status_code == 204
        return
    assert refused.status_code == 403
    assert "releases:publish" in refused.json()["detail"]
    assert keeper.get(path).json()["state"] == "published"
    assert both.delete(path).status_code == 204
    assert keeper.get(path).status_code == 404


def test_while_publishing_is_held_a_draft_stays_one_and_its_keeper_learns_why(published: Releases) -> None:
    release_id = draft(published)
    database = published.processes.database
    with database.unit_of_work() as unit:
        installation.hold_publishing(unit.connection, because="the database was restored")
    try:
        refused = published.client.post(f"/v1/releases/{release_id}/publish")
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/publishing-held")
        assert "the database was restored" in refused.json()["detail"]
        assert "surebox publishing confirm" in refused.json()["detail"]
        assert published.client.get(f"/v1/releases/{release_id}").json()["state"] == "draft"
        with database.unit_of_work() as unit:
            state = decide(unit.connection, Review(), accepts_composition=False)
        assert state is ReleaseState.DRAFT, "nor is what a job makes"
        address = str(published.client.base_url)
        assert "surebox_publishing_held 1.0" in patient.get(f"{address}/metrics").text
    finally:
        with database.unit_of_work() as unit:
            installation.resume_publishing(unit.connection)
    assert published.client.post(f"/v1/releases/{release_id}/publish").json()["state"] == "published"


def test_findings_that_stand_are_accepted_by_name_and_that_is_logged(published: Releases) -> None:
    release_id = draft(published, findings=json.dumps([FINDING.model_dump(mode="json")]))
    refused = published.client.post(f"/v1/releases/{release_id}/publish", json={"accept_findings": ["table"]})
    assert refused.status_code == 409
    assert refused.json()["type"] == "/problems/unresolved-findings"
    assert "accept_findings" not in refused.json()["detail"], "how findings are overridden is in the documents alone"
    accepted = {"accept_findings": ["composition"]}
    taken = published.client.post(f"/v1/releases/{release_id}/publish", json=accepted).json()
    assert (taken["state"], "composition-accepted" in taken["flags"]) == ("published", True)
    entry = published.client.get("/v1/log?limit=1").json()["items"][0]
    assert (entry["action"], entry["subject"], entry["facts"]["accepted"]) == ("published", release_id, ["composition"])
    assert entry["facts"]["findings"][0]["measured"] == 1


def test_the_log_is_a_chain_that_shows_every_change(published: Releases) -> None:
    release_id = draft(published)
    assert published.client.get(f"/v1/releases/{release_id}/data?format=csv").status_code == 200
    published.client.post(f"/v1/releases/{release_id}/publish", json={"readers": ["bea"]})
    published.client.get(f"/v1/releases/{release_id}/data?format=csv")
    published.client.patch(f"/v1/releases/{release_id}", json={"readers": "public"})
    published.client.delete(f"/v1/releases/{release_id}")
    chained = {"action": ["read", "published", "shared", "withdrawn"]}
    first = published.client.get("/v1/log", params={**chained, "limit": 2}).json()
    rest = published.client.get("/v1/log", params={**chained, "cursor": first["next_cursor"]}).json()
    entries = [*first["items"], *rest["items"]][::-1]
    assert [one["action"] for one in entries] == ["read", "published", "shared", "withdrawn"]
    before = "0" * 64
    for number, entry in enumerate(entries, 1):
        record = {name: value for name, value in entry.items() if name != "hash"} | {"owner": published.owner}
        text = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        assert (entry["sequence"], entry["previous"]) == (number, before)
        assert entry["hash"] == hashlib.sha256(text.encode()).hexdigest()
        before = entry["hash"]
    for change in ("UPDATE log_entry SET subject = 'x'", "DELETE FROM log_entry"):
        with (
            pytest.raises(DBAPIError, match="only appended to"),
            published.processes.database.unit_of_work() as unit,
        ):
            unit.connection.exec_driver_sql(f"{change} WHERE owner = '{published.owner}'")


def test_readers_see_the_release_and_nothing_else_of_it(
    published: Releases, make_releases: Callable[..., Releases]
) -> None:
    release_id = draft(published)
    bea, other = make_releases(), make_releases()
    at = f"/v1/releases/{release_id}"
    published.client.patch(at, json={"readers": [bea.owner]})
    assert bea.client.get(at).status_code == 404, "it is a draft"
    published.client.post(at + "/publish")
    assert bea.client.get(at).json()["owner"] == published.owner
    assert bea.client.get(at).json()["readers"] is None
    assert [one["id"] for one in bea.client.get("/v1/releases").json()["items"]] == [release_id]
    assert bea.client.get(at + "/data?format=csv").status_code == 200
    assert other.client.get(at).status_code == 404
    job_id = published.client.get(at).json()["job_id"]
    refused = [
        bea.client.get(f"/v1/jobs/{job_id}"), bea.client.delete(at), bea.client.patch(at, json={"name": "x"}),
        bea.client.post(at + "/withdraw", json={"reason": "x"}), bea.client.post(at + "/publish"),
    ]  # fmt: skip
    assert [answer.status_code for answer in refused] == [404] * 5
    assert other.client.get("/v1/releases").json()["items"] == []
    published.client.patch(at, json={"readers": "public"})
    assert other.client.get(at).json()["id"] == release_id
    published.client.patch(at, json={"readers": []})
    assert bea.client.get(at).status_code == 404
    writer = reader_of(published, make_releases, "releases:write").client
    assert writer.patch(at, json={"readers": "public"}).status_code == 403


def test_what_is_public_needs_a_key_unless_the_operator_says_otherwise(published: Releases) -> None:
    release_id = draft(published)
    published.client.post(f"/v1/releases/{release_id}/publish", json={"readers": "public"})
    closed, closed_process = published.processes.api(SUREBOX_PUBLIC_RELEASES="false")
    with patient.Client(base_url=closed, headers=dict(published.client.headers)) as keeper:
        assert keeper.get(f"/v1/releases/{release_id}", headers={"Authorization": ""}).status_code == 401
        other_draft = f"/v1/releases/{draft(published)}"
        for method, path in (("PATCH", other_draft), ("POST", f"{other_draft}/publish")):
            answer = keeper.request(method, path, json={"readers": "public"})
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/readers")
            assert "SUREBOX_PUBLIC_RELEASES" in answer.json()["detail"]
        assert keeper.get(other_draft).json()["state"] == "draft"
        assert keeper.patch(other_draft, json={"readers": ["bea"]}).status_code == 200
    closed_process.terminate()
    address, process = published.processes.api(SUREBOX_PUBLIC_RELEASES="true", SUREBOX_PUBLIC_REQUESTS_PER_MINUTE="14")
    own, other = draft(published), published.publish()
    with patient.Client(base_url=address) as anybody:
        at = f"/v1/releases/{release_id}"
        parts = ("", "/statistics", "/provenance", "/data?format=csv")
        assert [anybody.get(at + part).status_code for part in parts] == [200] * 4
        assert [anybody.get(f"/v1/releases/{one}").status_code for one in (own, other)] == [404, 404]
        shown = anybody.get(at).json()
        assert (shown["findings"], shown["readers"], shown["family_id"]) == (None, None, None)
        listed = [one["id"] for one in anybody.get("/v1/releases").json()["items"]]
        assert (release_id in listed, own in listed, other in listed) == (True, False, False)
        assert anybody.get(at, headers={"Authorization": "Bearer sb_wrong"}).status_code == 401
        queries = {"queries": [{"age": [1, 2]}]}
        refused = [anybody.post(f"{at}/count", json=queries), anybody.post(f"{at}/publish"), anybody.delete(at)]
        refused += [anybody.get(path) for path in ("/v1/jobs", "/v1/log", f"/v1/jobs/{shown['job_id']}")]
        assert [one.status_code for one in refused] == [401] * 6
        published.client.post(f"{at}/withdraw", json={"reason": "wrong unit"})
        assert anybody.get(at).status_code == 404
        answers = [anybody.get(at).status_code for _ in range(2 * 14 + 1)]
        assert 429 in answers, "an address without a key has a rate of its own"
    process.terminate()


def test_who_may_write_and_not_read_drafts_is_not_shown_them(
    published: Releases, make_releases: Callable[..., Releases]
) -> None:
    at = f"/v1/releases/{draft(published)}"
    writer = make_releases(published.owner, scopes=("releases:write", "releases:read")).client
    assert writer.patch(at, json={"name": "of May"}).status_code == 204
    keeper = make_releases(published.owner, scopes=("releases:write", "jobs:read")).client
    assert keeper.patch(at, json={"tags": {"month": "5"}}).json()["name"] == "of May"
    assert keeper.patch(at, json={"name": "of June", "readers": []}).status_code == 403
    assert keeper.get(at).json()["name"] == "of May", "all of it or nothing"


def test_under_four_eyes_another_key_publishes(published: Releases) -> None:
    release_id = draft(published)
    params = {"database": published.processes.database, "owner": published.owner, "release_id": release_id}
    params["certify"] = lambda *_: None
    with pytest.raises(ForbiddenError, match="Four-eyes mode"):
        publishing.publish(**params, key_id="key_maker", request=PublishRequest(), four_eyes=True)
    publishing.publish(**params, key_id="key_other", request=PublishRequest(), four_eyes=True)


def test_a_release_of_a_job_is_published_unless_something_stands(published: Releases) -> None:
    database = published.processes.database
    with database.unit_of_work() as unit:
        family_id = families.create(unit.connection, owner=published.owner)

        def state(
            *, findings: tuple[Finding, ...] = (), accepts_composition: bool = False, **more: Any
        ) -> ReleaseState:
            review = Review(findings, family_id=family_id, composed_after=0)
            return decide(unit.connection, review, accepts_composition=accepts_composition, **more)

        low = FINDING.model_copy(update={"severity": FindingSeverity.LOW})
        table = FINDING.model_copy(update={"audit": "table"})
        assert state() == state(findings=(low,)) == state(findings=(FINDING,), accepts_composition=True) == "published"
        assert (
            state(mode=PublicationMode.DRAFT)
            == state(four_eyes=True)
            == state(may_publish=False)
            == state(findings=(FINDING,))
            == "draft"
        )
        assert state(findings=(table,), accepts_composition=True) == "draft", "only the composition is accepted by it"


def test_what_was_published_meanwhile_is_composed_with(published: Releases) -> None:
    database = published.processes.database
    with database.unit_of_work() as unit:
        family_id = families.create(unit.connection, owner=published.owner)
    first, second = (draft(published, family_id=family_id, composed_after=0) for _ in range(2))
    assert published.client.post(f"/v1/releases/{first}/publish").status_code == 200
    params = {"database": database, "owner": published.owner, "key_id": "key_other", "four_eyes": False}
    params["certify"] = lambda *_: None
    with pytest.raises(PublishedMeanwhileError):
        publishing.publish(**params, release_id=second, request=PublishRequest())
    with database.unit_of_work() as unit, pytest.raises(PublishedMeanwhileError):
        decide(unit.connection, Review(family_id=family_id, composed_after=0))
    ledger = published.client.get(f"/v1/families/{family_id}").json()
    assert [one["release_id"] for one in ledger["published"]] == [first]
    published.client.delete(f"/v1/releases/{first}")
    assert len(published.client.get(f"/v1/families/{family_id}").json()["published"]) == 1, "nothing is taken back"
    assert published.client.delete(f"/v1/families/{family_id}").status_code == 204
    assert published.client.get(f"/v1/families/{family_id}").status_code == 404
    assert published.client.get("/v1/log?limit=1").json()["items"][0]["action"] == "erased"


def test_a_draft_whose_family_was_erased_is_composed_again(published: Releases) -> None:
    with published.processes.database.unit_of_work() as unit:
        family_id = families.create(unit.connection, owner=published.owner)
    release_id = draft(published, family_id=family_id, composed_after=0)
    assert published.client.delete(f"/v1/families/{family_id}").status_code == 204
    params = {"database": published.processes.database, "owner": published.owner, "key_id": "key_other"}
    with pytest.raises(PublishedMeanwhileError):
        publishing.publish(
            **params, release_id=release_id, request=PublishRequest(), four_eyes=False, certify=lambda *_: None
        )
    with published.processes.database.unit_of_work() as unit, pytest.raises(PublishedMeanwhileError):
        decide(unit.connection, Review(family_id=family_id, composed_after=0))


def test_data_that_are_confirmed_while_a_job_ends_are_composed_first(published: Releases) -> None:
    """Until then they were compared with nothing, and nothing was published of them either."""
    database = published.processes.database
    with database.unit_of_work() as unit:
        family_id = families.create(unit.connection, owner=published.owner, confirmed=False)
    review = Review(family_id=family_id, composed_after=0)
    release_id = draft(published, family_id=family_id, composed_after=0)
    with database.unit_of_work() as unit:
        assert families.confirm(unit.connection, owner=published.owner, family_id=family_id)
    with database.unit_of_work() as unit, pytest.raises(PublishedMeanwhileError):
        decide(unit.connection, review)
    with database.unit_of_work() as unit, pytest.raises(PublishedMeanwhileError):
        publishing.publish_reviewed(
            unit.connection, owner=published.owner, key_id=None, release_id=release_id, review=review,
            request=PublishRequest(), certify=lambda *_: None,
        )  # fmt: skip
    with database.unit_of_work() as unit:
        families.set_joined(unit.connection, family_id=family_id)
        assert decide(unit.connection, review) is ReleaseState.PUBLISHED


def test_findings_are_told_where_they_are_refused() -> None:
    with pytest.raises(UnresolvedFindingsError, match="1 person is left"):
        publishing.refuse_standing((FINDING,), accepted=(), accepts_composition=False)
    publishing.refuse_standing((FINDING,), accepted=(), accepts_composition=True)


def test_a_list_of_readers_has_no_owner_called_public(published: Releases) -> None:
    at = f"/v1/releases/{draft(published)}"
    for method, path in (("PATCH", at), ("POST", f"{at}/publish")):
        answer = published.client.request(method, path, json={"readers": ["public"]})
        assert answer.status_code == 422
        assert 'write "public" instead of it' in answer.json()["errors"][0]["detail"]
    with pytest.raises(InvalidError, match="means everyone"):
        published.processes.key("public")


def test_a_release_is_withdrawn_without_a_body(published: Releases) -> None:
    at = f"/v1/releases/{published.publish()}"
    answer = published.client.post(f"{at}/withdraw")
    assert (answer.status_code, answer.json()["state"]) == (200, "withdrawn")
    assert published.client.get("/v1/log").json()["items"][0]["facts"] == {"reason": None}
