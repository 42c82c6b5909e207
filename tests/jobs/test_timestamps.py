"""Timestamps of certificates: asked for after publication, kept if they are what was asked for, erased."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rfc3161_client import decode_timestamp_response

from app.certificates import stamp as asking
from app.certificates.issue import issue_missing
from app.certificates.read import read_certificate
from app.certificates.stamp import AuthorityError, Stamping, stamp_missing
from app.contracts.base import rfc3339
from app.db.repositories.release_access import Viewer
from app.errors import CannotStartError
from app.releases.bundle import read_bundle
from app.releases.report import release_report
from tests.authority import Authority, Desk, serving
from tests.clients.conformity import Conformity
from tests.jobs.many import published
from tests.jobs.service import Service, settings_of

CONTENT = b'{"payload":"an envelope"}'


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.new(tmp_path_factory.mktemp("time") / "authority")


@pytest.fixture
def desk(authority: Authority) -> Iterator[Desk]:
    with serving(authority.answer) as desk:
        yield desk


def certified(service: Service) -> str:
    """A published release with a certificate."""
    job_id, release_id = published(service, service.dataset())
    service.store_provenance(job_id, {})
    assert issue_missing(database=service.database, settings=service.settings) >= 1
    return release_id


def stamped(service: Service, url: str, *, trusted: Path | None = None, seconds: float = 5.0) -> int:
    """A round of housekeeping."""
    change = {"timestamp_url": url, "timestamp_timeout_seconds": seconds, "timestamp_certificate_file": trusted}
    whom = asking.Authority.of(service.settings.model_copy(update=change))
    assert whom is not None
    return stamp_missing(database=service.database, authority=whom, stop=threading.Event())


def envelope(service: Service, release_id: str) -> bytes:
    viewer = Viewer(service.owner, keeper=True)
    return read_certificate(database=service.database, viewer=viewer, release_id=release_id).body


def test_a_published_release_gets_a_timestamp_that_others_find_right(
    service: Service, authority: Authority, desk: Desk
) -> None:
    release_id = certified(service)
    with service.client() as client:
        address = f"/v1/releases/{release_id}/timestamp"
        absent = client.get(address)
        assert (absent.status_code, "SUREBOX_TIMESTAMP_URL" in absent.json()["detail"]) == (404, True)
        assert stamped(service, desk.url, trusted=authority.root) == 1
        answer = client.get(address)
        Conformity(client.get("/openapi.json").json()).check(answer)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/timestamp-reply"
        assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
        assert client.get(address, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
        assert client.get("/v1/releases/rel_none/timestamp").status_code == 404
    with service.client("somebody else") as stranger:
        assert stranger.get(address).status_code == 404
    assert authority.finds_right(answer.content, envelope(service, release_id))
    assert stamped(service, desk.url) == 0, "it has one"
    (query,) = desk.queries
    assert hashlib.sha256(envelope(service, release_id)).digest() in query, "its digest, and nothing else, was sent"
    assert len(query) < 100


def test_it_stands_in_the_bundle_and_in_what_the_report_is_written_from(
    service: Service, authority: Authority, desk: Desk
) -> None:
    release_id = certified(service)
    params: dict[str, Any] = {"database": service.database, "viewer": Viewer(service.owner), "release_id": release_id}

    def bundled() -> dict[str, str]:
        made = read_bundle(**params, settings=service.settings, report=b"", media_types=str)
        return {part.name: part.sha256 for part in made.parts}

    assert "certificate.tsr" not in bundled()
    assert "timestamped_at" not in release_report(**params).release
    stamped(service, desk.url)
    with service.client() as client:
        token = client.get(f"/v1/releases/{release_id}/timestamp").content
    assert bundled()["certificate.tsr"] == hashlib.sha256(token).hexdigest()
    at = decode_timestamp_response(token).tst_info.gen_time
    assert release_report(**params).release["timestamped_at"] == rfc3339(at)


def test_it_goes_with_its_release(service: Service, desk: Desk) -> None:
    release_id = certified(service)
    stamped(service, desk.url)
    with service.client() as client:
        client.delete(f"/v1/releases/{release_id}").raise_for_status()
        assert client.get(f"/v1/releases/{release_id}/timestamp").status_code == 404
    with service.database.read() as connection:
        row = connection.exec_driver_sql("SELECT timestamp, timestamped_at, sha256 FROM certificate").one()
    assert (row.timestamp, row.timestamped_at) == (None, None)
    assert row.sha256
    assert stamped(service, desk.url) == 0, "what is deleted gets none again"


def test_a_release_that_is_deleted_while_it_is_stamped_keeps_nothing(service: Service, authority: Authority) -> None:
    release_id = certified(service)

    def meanwhile(query: bytes) -> bytes:
        with service.client() as client:
            client.delete(f"/v1/releases/{release_id}").raise_for_status()
        return authority.answer(query)

    with serving(meanwhile) as desk:
        assert stamped(service, desk.url) == 0
    with service.database.read() as connection:
        assert connection.exec_driver_sql("SELECT timestamp FROM certificate").scalar_one() is None


def test_an_authority_that_fails_delays_its_answers_and_nothing_else(service: Service, authority: Authority) -> None:
    """The next round asks first for what was not asked for in vain."""
    first, second = certified(service), certified(service)
    digests = {hashlib.sha256(envelope(service, each)).digest(): each for each in (first, second)}
    with serving(lambda _: 503) as desk:
        assert [stamped(service, desk.url) for _ in range(3)] == [0, 0, 0]
        assert [digests[_imprint(query)] for query in desk.queries] == [first, second, first]
    with serving(authority.answer) as desk:
        assert stamped(service, desk.url) == 2


def test_housekeeping_waits_for_no_authority(service: Service, authority: Authority) -> None:
    release_id = certified(service)
    entered, go, stop = threading.Event(), threading.Event(), threading.Event()

    def late(query: bytes) -> bytes:
        entered.set()
        assert go.wait(30)
        return authority.answer(query)

    with serving(late) as desk:
        stamping = Stamping(service.settings.model_copy(update={"timestamp_url": desk.url}), database=service.database)
        stamping.begin(stop)
        assert entered.wait(30)
        stamping.begin(stop)  # while the first goes on there is no other
        go.set()
        stamping.wait()
        assert len(desk.queries) == 1
    with service.client() as client:
        assert client.get(f"/v1/releases/{release_id}/timestamp").status_code == 200


def _imprint(query: bytes) -> bytes:
    """What a query asks a timestamp of: the first octet string of 32 bytes."""
    at = query.index(b"\x04\x20") + 2
    return query[at : at + 32]


def _another_nonce(query: bytes) -> bytes:
    return query[:-4] + bytes([query[-4] ^ 1]) + query[-3:]  # its last byte stands before `certReq`


def _another_imprint(query: bytes) -> bytes:
    return query.replace(_imprint(query), hashlib.sha256(b"other").digest())


def _without_certificate(query: bytes) -> bytes:
    made = bytearray(query[:-3])  # `certReq` is false where it is absent
    made[1] -= 3
    return bytes(made)


REFUSED = b"\x30\x05\x30\x03\x02\x01\x02"


@pytest.mark.parametrize(
    ("rewrite", "answered", "fault"),
    [
        (_another_nonce, bytes, "its nonce is not the one that was sent"),
        (_another_imprint, bytes, "its imprint is not the one that was sent"),
        (_without_certificate, bytes, "does not contain the certificate"),
        (bytes, lambda answer: b"<html>" + answer, "the answer is no timestamp"),
        (bytes, lambda answer: answer[:0], "the answer is no timestamp"),
        (bytes, lambda answer: answer[:-5], "the answer is no timestamp"),
        (bytes, lambda answer: REFUSED + answer[:0], "the authority refused: rejection"),
        (bytes, lambda answer: answer * 99, "too long"),
    ],
    ids=["nonce", "imprint", "no certificate", "rubbish", "nothing", "cut off", "refusal", "too long"],
)
def test_what_is_no_answer_is_named(
    authority: Authority, rewrite: Callable[[bytes], bytes], answered: Callable[[bytes], bytes], fault: str
) -> None:
    whole = serving(lambda query: answered(authority.answer(rewrite(query))))
    with whole as desk, pytest.raises(AuthorityError, match=re.escape(fault)):
        asking.Authority(desk.url, seconds=5.0).stamp(CONTENT)


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_status_other_than_200_is_named(status: int) -> None:
    with serving(lambda _: status) as desk, pytest.raises(AuthorityError, match=f"the authority answered {status}"):
        asking.Authority(desk.url, seconds=5.0).stamp(CONTENT)


def test_an_answer_byte_by_byte_ends_in_time(authority: Authority) -> None:
    """Each byte comes in time, the whole does not: 900 bytes of 0.05 s each."""
    with serving(authority.answer, drip=0.05) as desk, pytest.raises(AuthorityError, match="cannot be reached in time"):
        asking.Authority(desk.url, seconds=0.5).stamp(CONTENT)


def test_nobody_there_is_named() -> None:
    with pytest.raises(AuthorityError, match="cannot be reached in time"):
        asking.Authority("http://127.0.0.1:1/", seconds=0.5).stamp(CONTENT)


def test_with_its_certificate_another_authority_is_refused(authority: Authority, desk: Desk, tmp_path: Path) -> None:
    other = Authority.new(tmp_path / "other")
    settings = settings_of("postgresql://nowhere", "redis://nowhere", tmp_path, timestamp_url=desk.url)

    def whom(path: Path) -> asking.Authority:
        trusted = asking.Authority.of(settings.model_copy(update={"timestamp_certificate_file": path}))
        assert trusted is not None
        return trusted

    assert whom(authority.root).stamp(CONTENT).at
    with pytest.raises(AuthorityError, match="not signed by the authority"):
        whom(other.root).stamp(CONTENT)
    for path in (tmp_path / "none.pem", authority.folder / "tsa.pem", authority.folder / "ca.key"):
        with pytest.raises(CannotStartError, match="contains no root certificate"):
            whom(path)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://authority", "http://name:word@authority/"])
def test_an_address_is_one_of_http_without_a_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="timestamp_url"):
        settings_of("postgresql://nowhere", "redis://nowhere", tmp_path, timestamp_url=url)
    assert (
        asking.Authority.of(settings_of("postgresql://nowhere", "redis://nowhere", tmp_path, timestamp_url="")) is None
    )
