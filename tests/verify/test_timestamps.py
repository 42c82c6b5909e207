"""When an authority saw a certificate: what readers find of its answers, true ones and others."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from surebox_verify.cli import verify as command
from surebox_verify.envelope import UnreadableError
from surebox_verify.keys import read_keys
from surebox_verify.report import Report
from surebox_verify.timestamps import Given, Timestamp, TimestampStatus, check, read_authority
from surebox_verify.verification import verify
from tests.authority import Authority
from tests.verify.made import Issuer, means, parquet, rows

ISSUER = Issuer.new()
FRAME = rows()
FILES = {"release.parquet": parquet(FRAME)}
ENVELOPE = ISSUER.certify(FILES, means(FRAME))
MUTATIONS = 2_000


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.new(tmp_path_factory.mktemp("time") / "authority")


@pytest.fixture(scope="module")
def answer(authority: Authority) -> bytes:
    return authority.stamp(ENVELOPE)


def verified(answer: bytes | None, authority: Authority | None = None, **given: bool) -> Report:
    trusted = None if authority is None else read_authority(authority.root.read_bytes())
    stamp = Given(answer, trusted, **given)
    return verify(FILES, ENVELOPE, read_keys(ISSUER.key_set()), timestamp=stamp, recompute=False)


def checked(answer: bytes, content: bytes, authority: Authority) -> Timestamp:
    given = Given(answer, read_authority(authority.root.read_bytes()))
    return check(given, content, issued_at=datetime.now(UTC) - timedelta(days=1))


def test_a_timestamp_is_verified_by_the_authoritys_root_alone(authority: Authority, answer: bytes) -> None:
    report = verified(answer, authority)
    assert (report.timestamp.status, report.exit_code) == ("verified", 0)
    assert report.timestamp.at is not None
    assert abs(report.timestamp.at - datetime.now(UTC)) < timedelta(minutes=10)
    assert authority.finds_right(answer, ENVELOPE)
    report = verified(answer)
    assert (report.timestamp.status, report.exit_code) == ("unchecked", 0)
    assert report.as_json()["timestamp"]["at"].endswith("Z")


@pytest.mark.parametrize("digest", ["sha256", "sha512"])
def test_what_an_authority_digests_by_is_read(authority: Authority, digest: str) -> None:
    assert checked(authority.stamp(b"content", digest=digest), b"content", authority).status == "verified"


def test_what_was_asked_to_be_checked_and_cannot_be_is_said(authority: Authority, answer: bytes) -> None:
    report = verified(answer, required=True)
    assert (report.exit_code, report.unchecked) == (2, ["timestamp: no certificate of the authority was given"])
    report = verified(None, authority, required=True)
    assert (report.exit_code, report.unchecked) == (2, ["timestamp: there is none"])
    assert (verified(None).exit_code, verified(None).timestamp.status) == (0, "none")


def test_a_timestamp_of_another_envelope_is_named(authority: Authority) -> None:
    """Whether the authority is known or not."""
    other = authority.stamp(ENVELOPE + b" ")
    for known in (authority, None):
        report = verified(other, known)
        assert (report.timestamp.status, report.exit_code) == ("wrong", 1)
        assert "timestamp: it is about another file" in report.problems


def test_another_authority_is_named(answer: bytes, tmp_path: Path) -> None:
    report = verified(answer, Authority.new(tmp_path / "other"))
    assert report.problems == ["timestamp: no authority of the certificates that were given signed it"]


@pytest.mark.parametrize(("signer", "status"), [("time", "verified"), ("web", "wrong")])
def test_who_may_sign_for_other_purposes_only_is_no_authority(tmp_path: Path, signer: str, status: str) -> None:
    """OpenSSL makes no timestamps with such a certificate: the structure is signed as a message instead."""
    authority = Authority.new(tmp_path / "authority")
    authority.appoint("signer", extensions=signer)
    (authority.folder / "info").write_bytes(_info_of(authority, authority.stamp(b"content")))
    signing = ["-signer", "signer.pem", "-inkey", "signer.key", "-md", "sha256", "-nodetach", "-binary"]
    output = ["-outform", "DER", "-econtent_type", "1.2.840.113549.1.9.16.1.4", "-out", "token"]
    authority.openssl("cms", "-sign", "-in", "info", *signing, *output)
    granted = b"\x30\x03\x02\x01\x00" + (authority.folder / "token").read_bytes()
    report = checked(b"\x30\x82" + len(granted).to_bytes(2, "big") + granted, b"content", authority)
    assert report.status == status
    if status == "wrong":
        assert report.why == "no authority of the certificates that were given signed it"


def _info_of(authority: Authority, answer: bytes) -> bytes:
    """The signed structure inside an answer, as OpenSSL takes it out."""
    (authority.folder / "true").write_bytes(answer)
    authority.openssl("ts", "-reply", "-in", "true", "-token_out", "-out", "true.token")
    taking = ["-inform", "DER", "-in", "true.token", "-CAfile", "ca.pem", "-purpose", "any"]
    authority.openssl("cms", "-verify", *taking, "-out", "true.info")
    return (authority.folder / "true.info").read_bytes()


def test_no_certificate_was_seen_before_it_was_issued(authority: Authority, answer: bytes) -> None:
    given = Given(answer, read_authority(authority.root.read_bytes()))
    now = datetime.now(UTC)
    assert check(given, ENVELOPE, issued_at=now + timedelta(minutes=3)).status == "verified", "clocks differ"
    report = check(given, ENVELOPE, issued_at=now + timedelta(hours=1))
    assert report.status == "wrong"
    assert "before the certificate was issued" in str(report.why)


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", b"<html>", b"\x30\x05\x30\x03\x02\x01\x02", b"\x30\x80" * 99])
def test_rubbish_is_no_timestamp(rubbish: bytes) -> None:
    report = verified(rubbish)
    assert report.exit_code == 1
    assert report.problems in (["timestamp: it cannot be read"], ["timestamp: the authority gave none"])


def test_a_changed_answer_says_nothing_else(authority: Authority, answer: bytes) -> None:
    """What is not signed of it may change (the status' words, certificates that nobody needs); never what it says."""
    draw = random.Random(3161)
    true = checked(answer, ENVELOPE, authority)
    verified = 0
    for _ in range(MUTATIONS):
        raw = bytearray(answer)
        raw[draw.randrange(len(raw))] ^= draw.randrange(1, 256)
        report = checked(bytes(raw), ENVELOPE, authority)
        assert report == true or report.status is TimestampStatus.WRONG
        verified += report == true
    assert verified < MUTATIONS / 20


def test_a_root_is_wanted(authority: Authority) -> None:
    for raw in (b"", b"rubbish", (authority.folder / "tsa.pem").read_bytes()):
        with pytest.raises(UnreadableError, match="root"):
            read_authority(raw)


def test_the_command_takes_what_lies_beside_the_file(
    authority: Authority, answer: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "release.parquet"
    file.write_bytes(FILES[file.name])
    (tmp_path / "release.parquet.dsse.json").write_bytes(ENVELOPE)
    (tmp_path / "jwks.json").write_bytes(ISSUER.key_set())
    (tmp_path / "release.parquet.tsr").write_bytes(answer)
    (tmp_path / "other.tsr").write_bytes(authority.stamp(b"other"))

    def report_of(*options: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            command([str(file), "--keys", str(tmp_path / "jwks.json"), *map(str, options)])
        return int(ended.value.code or 0), capsys.readouterr().out

    status, text = report_of()
    assert (status, "timestamp   unchecked, 20" in text) == (0, True)
    status, text = report_of("--tsa-certificate", authority.root, "--json")
    assert (status, json.loads(text)["timestamp"]["status"]) == (0, "verified")
    status, text = report_of("--timestamp", tmp_path / "other.tsr")
    assert (status, "! timestamp: it is about another file" in text) == (1, True)
    status, text = report_of("--timestamp", tmp_path / "release.parquet.tsr")
    assert (status, "! timestamp: no certificate of the authority" in text) == (2, True)
