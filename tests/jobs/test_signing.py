"""Keys that sign and are replaced, lost or new; releases older than any key; chains that somebody changed."""

import base64
import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from app.certificates.chain import verify_chains
from app.certificates.issue import issue_missing
from app.certificates.read import read_certificate, read_key_set, read_revocations
from app.certificates.rotate import revoke, rotate
from app.db.repositories.release_access import Viewer
from app.errors import NotFoundError
from app.settings import Settings
from surebox_verify.certificate import read_revocations as read_list
from surebox_verify.envelope import Envelope, read_envelope
from surebox_verify.keys import KeyStatus, overall_status, read_keys, signed_by
from tests.jobs.many import published
from tests.jobs.service import SIGNING_KEY, Service


@pytest.fixture
def service(serve: Callable[..., Service]) -> Service:
    return serve()


def certified(service: Service, settings: Settings | None = None, *, published_at: str | None = None) -> Envelope:
    """The certificate of a new release, as housekeeping issues it."""
    job_id, release_id = published(service, service.dataset())
    service.store_provenance(job_id, {})
    if published_at is not None:
        with service.database.unit_of_work() as unit:
            unit.connection.exec_driver_sql(
                "UPDATE release SET published_at = %s WHERE id = %s", (published_at, release_id)
            )
    assert issue_missing(database=service.database, settings=settings or service.settings) == 1
    viewer = Viewer(service.owner, keeper=True)
    return read_envelope(read_certificate(database=service.database, viewer=viewer, release_id=release_id).body)


def said(envelope: Envelope) -> dict[str, Any]:
    predicate: dict[str, Any] = envelope.body()["predicate"]
    return predicate


def status(service: Service, envelope: Envelope) -> KeyStatus:
    """What its signatures are worth to a reader who has the key set of now."""
    keys = read_keys(json.dumps(read_key_set(database=service.database)).encode())
    body = envelope.body()
    at = datetime.fromisoformat(body.get("predicate", body)["issued_at"])
    return overall_status(signed_by(envelope, keys, at=at))


def rotated(service: Service, *, overlap: timedelta) -> tuple[str, Settings]:
    """A new key in the environment before the others; its id, and the settings with it."""
    params: dict[str, Any] = {"database": service.database, "settings": service.settings, "overlap": overlap}
    key_id, pem = rotate(**params, write=lambda *_: pytest.fail("keys of the environment are in no file"))
    assert pem is not None
    return key_id, service.settings.model_copy(update={"signing_key": SecretStr(pem + SIGNING_KEY)})


def test_releases_older_than_the_first_key_say_that_they_were_certified_at_migration(service: Service) -> None:
    before = certified(service, published_at="2020-01-01T00:00:00Z")
    assert said(before)["issued"] == "at migration"
    assert status(service, before) is KeyStatus.VALID, "signed now, whenever it was published"
    later = certified(service)
    assert said(later)["issued"] == "after publication"
    assert said(later)["chain"] == {"previous": hashlib.sha256(before.payload).hexdigest()}


def test_during_the_overlap_both_keys_sign_and_then_the_new_one_alone(service: Service) -> None:
    alone = certified(service)
    (old,) = (each.key_id for each in alone.signatures)
    new, settings = rotated(service, overlap=timedelta(days=30))
    both = certified(service, settings)
    assert [each.key_id for each in both.signatures] == [new, old]
    keys = {each["kid"]: each for each in read_key_set(database=service.database)["keys"]}
    assert ("exp" in keys[old], "exp" in keys[new]) == (True, False)
    assert keys[old]["exp"] - keys[new]["iat"] == pytest.approx(30 * 86_400, abs=5)
    assert [status(service, each) for each in (alone, both)] == [KeyStatus.VALID] * 2


def test_a_retired_key_signs_nothing_more_and_what_it_signed_stays_right(service: Service) -> None:
    alone = certified(service)
    new, settings = rotated(service, overlap=timedelta(0))
    after = certified(service, settings)
    assert [each.key_id for each in after.signatures] == [new]
    assert status(service, alone) is KeyStatus.VALID
    assert len(read_key_set(database=service.database)["keys"]) == 2, "retired keys stay, with their dates"


def test_a_lost_key_is_in_the_signed_list_and_nothing_that_it_signed_alone_is_trusted(service: Service) -> None:
    alone = certified(service)
    new, settings = rotated(service, overlap=timedelta(days=30))
    both = certified(service, settings)
    lost = alone.signatures[0].key_id
    revoke(database=service.database, key_id=lost, reason="stolen")
    with pytest.raises(NotFoundError):
        revoke(database=service.database, key_id=lost, reason="again")
    assert [status(service, each) for each in (alone, both)] == [KeyStatus.REVOKED, KeyStatus.VALID]
    envelope = read_envelope(read_revocations(database=service.database, settings=settings).body)
    assert [each.key_id for each in envelope.signatures] == [new]
    assert set(read_list(envelope).keys) == {lost}
    assert status(service, envelope) is KeyStatus.VALID
    keys = {each["kid"]: each for each in read_key_set(database=service.database)["keys"]}
    assert keys[lost]["revoked"]["reason"] == "stolen"
    with pytest.raises(NotFoundError, match="does not sign releases"):  # the old key is all that these settings have
        read_revocations(database=service.database, settings=service.settings)


def test_a_list_as_of_the_last_change_is_the_same_until_something_changes(service: Service) -> None:
    job_id, release_id = published(service, service.dataset())
    service.store_provenance(job_id, {})
    issue_missing(database=service.database, settings=service.settings)
    params: dict[str, Any] = {"database": service.database, "settings": service.settings, "at_last_change": True}
    first = read_revocations(**params)
    assert read_revocations(**params) == first
    with service.client() as client:
        client.post(f"/v1/releases/{release_id}/withdraw", json={"reason": "over"}).raise_for_status()
    listed = read_list(read_envelope(read_revocations(**params).body))
    assert listed.issued_at > read_list(read_envelope(first.body)).issued_at
    assert len(listed.revoked) == 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("DELETE FROM certificate WHERE position = 2", "one before it is missing"),
        ("UPDATE certificate SET previous = repeat('0', 64) WHERE position = 2", "does not name the one before it"),
        ("UPDATE certificate SET envelope = %(other)s WHERE position = 2", "its payload was changed"),
        ("UPDATE certificate SET envelope = 'x' WHERE position = 2", "its envelope cannot be read"),
        ("UPDATE certificate SET envelope = %(unsigned)s WHERE position = 2", "none of the service's keys signed it"),
        ("UPDATE certificate SET position = 5 - position WHERE position > 1", "does not name the one before it"),
    ],
    ids=["taken out", "another before it", "another's", "damaged", "signed by nobody", "in another order"],
)
def test_a_chain_that_was_changed_is_broken(service: Service, change: str, fault: str) -> None:
    service.owner = "ada"
    made = [certified(service) for _ in range(3)]
    (whole,) = verify_chains(database=service.database)
    assert (whole.certificates, whole.broken) == (3, ())
    assert whole.head == hashlib.sha256(made[-1].payload).hexdigest()
    envelope = {"payload": base64.b64encode(made[1].payload).decode(), "payloadType": made[1].payload_type}
    unsigned = json.dumps(envelope | {"signatures": []}).encode()
    other = json.dumps(envelope | {"payload": base64.b64encode(made[0].payload).decode(), "signatures": []}).encode()
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql("ALTER TABLE certificate DROP CONSTRAINT uq_certificate_owner_position")
        unit.connection.exec_driver_sql(change, {"other": other, "unsigned": unsigned})
    (chain,) = verify_chains(database=service.database)
    assert any(fault in each for each in chain.broken), chain.broken


def test_what_is_deleted_goes_from_the_chain_but_for_its_place(service: Service) -> None:
    first = certified(service)
    certified(service)
    release_id = said(first)["release"]["id"]
    with service.client() as client:
        client.delete(f"/v1/releases/{release_id}").raise_for_status()
    (chain,) = verify_chains(database=service.database)
    assert (chain.certificates, chain.erased, chain.broken) == (2, 1, ())
