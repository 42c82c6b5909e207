"""Certificates from end to end: a job publishes, others verify, keys change, a release goes."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from tests.methods.asking import anonymization, succeed, upload
from tests.service import Service, bare_environment

RECORDS = [(20 + i * 7 % 53, 1000 + i * 37 % 991, "ab"[i % 2]) for i in range(200)]
CSV = "age,income,town\n" + "".join(f"{age},{income},{town}\n" for age, income, town in RECORDS)
#: What a certificate must not say, at any depth: of the original, of its keeper, of audits.
RESTRICTED = {
    "true_value", "shift", "delta_at_records", "records", "released", "suppressed", "suppressed_cells", "pending",
    "owner", "job_id", "dataset_id", "seed", "position", "uncertainty", "tags", "linkage", "findings",
}  # fmt: skip


def surebox(service: Service, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command; the first of an installation compiles the ranges, for a minute or more of a busy machine."""
    command = [sys.executable, "-m", "app.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=bare_environment(), timeout=900)


def publish(client: httpx.Client, dataset_id: str, **change: Any) -> str:
    spec = anonymization("boxes", dataset_id, ["age", "income"], k=5, keep=["town"])
    spec |= {"accept_findings": ["composition"]}  # however many persons all releases leave together
    return str(succeed(client, spec | change)["release_id"])


def key_set(client: httpx.Client) -> dict[str, dict[str, Any]]:
    return {key["kid"]: key for key in client.get("/.well-known/jwks.json").json()["keys"]}


def certificate(client: httpx.Client, release_id: str) -> dict[str, Any]:
    answer = client.get(f"/v1/releases/{release_id}/certificate")
    assert answer.status_code == 200, answer.text
    envelope: dict[str, Any] = answer.json()
    return envelope


def said(envelope: dict[str, Any]) -> dict[str, Any]:
    statement: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return statement


def pem(key: dict[str, Any]) -> bytes:
    raw = base64.urlsafe_b64decode(key["x"] + "=")
    public = Ed25519PublicKey.from_public_bytes(raw)
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def verify_with_securesystemslib(envelope: dict[str, Any], keys: dict[str, dict[str, Any]]) -> set[str]:
    """Ids of the keys whose signatures hold, as the library of TUF and in-toto finds them."""
    known = [
        SSlibKey(kid, "ed25519", "ed25519", {"public": base64.urlsafe_b64decode(key["x"] + "=").hex()})
        for kid, key in keys.items()
    ]
    wanted = len(envelope["signatures"])
    return set(Envelope.from_dict(json.loads(json.dumps(envelope))).verify(known, wanted))


def verify_with_openssl(envelope: dict[str, Any], key: dict[str, Any], folder: Path) -> bool:
    (folder / "key.pem").write_bytes(pem(key))
    (folder / "signed").write_bytes(pae(envelope))
    (folder / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "signed"]
    return subprocess.run([*command, "-sigfile", "sig"], cwd=folder, capture_output=True).returncode == 0


NODE = """
const [jwk, signed, sig] = process.argv.slice(1).map((text) => Buffer.from(text, 'base64'));
const key = require('crypto').createPublicKey({ key: JSON.parse(jwk), format: 'jwk' });
process.exit(require('crypto').verify(null, signed, key, sig) ? 0 : 1);
"""


def verify_with_node(envelope: dict[str, Any], key: dict[str, Any]) -> bool:
    texts = [json.dumps(key).encode(), pae(envelope), base64.b64decode(envelope["signatures"][0]["sig"])]
    command = ["node", "-e", NODE, *(base64.b64encode(each).decode() for each in texts)]
    return subprocess.run(command, capture_output=True).returncode == 0


def pae(envelope: dict[str, Any]) -> bytes:
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"]
    return b" ".join([b"DSSEv1", str(len(kind)).encode(), kind.encode(), str(len(payload)).encode(), payload])


def names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(names, value.values()))
    return set().union(*map(names, value)) if isinstance(value, list) else set()


@pytest.fixture(scope="module")
def dataset(client: httpx.Client) -> str:
    return str(upload(client, CSV.encode())["id"])


@pytest.fixture(scope="module")
def release(client: httpx.Client, dataset: str) -> str:
    return publish(client, dataset)


def test_others_find_the_signature_right(client: httpx.Client, release: str, tmp_path: Path) -> None:
    envelope, keys = certificate(client, release), key_set(client)
    key = keys[envelope["signatures"][0]["keyid"]]
    assert verify_with_securesystemslib(envelope, keys)
    changed = envelope | {"payload": base64.b64encode(base64.b64decode(envelope["payload"]) + b" ").decode()}
    if shutil.which("openssl"):
        assert verify_with_openssl(envelope, key, tmp_path)
        assert not verify_with_openssl(changed, key, tmp_path)
    if shutil.which("node"):
        assert verify_with_node(envelope, key)
        assert not verify_with_node(changed, key)


def test_a_certificate_says_what_is_public_and_nothing_else(client: httpx.Client, release: str) -> None:
    statement = said(certificate(client, release))
    shown = client.get(f"/v1/releases/{release}").json()
    digests = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    statistics = client.get(f"/v1/releases/{release}/statistics").json()
    assert digests.pop("statistics.json") == hashlib.sha256(rfc8785.dumps(statistics)).hexdigest()
    assert digests == {f"release.{name}": file["sha256"] for name, file in shown["files"].items()}
    assert statement["predicate"]["release"]["rows"] == shown["rows"]
    assert statement["predicate"]["issued"] == "at publication"
    assert statement["predicate"]["k"] == 5
    assert not names(statement) & RESTRICTED
    payload = base64.b64decode(certificate(client, release)["payload"])
    assert rfc8785.dumps(statement) == payload, "not in the canonical form"


def test_a_certificate_has_an_etag(client: httpx.Client, release: str) -> None:
    answer = client.get(f"/v1/releases/{release}/certificate")
    assert answer.headers["content-type"].startswith("application/vnd.dsse.envelope.v1+json")
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    again = client.get(answer.url.path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/v1/releases/rel_none/certificate").status_code == 404


def test_the_whole_way_offline(service: Service, client: httpx.Client, dataset: str, tmp_path: Path) -> None:
    """Download, verify, rotate, verify again; delete, and the list of revocations names it."""
    first = publish(client, dataset, bounds="cells", rare_records="weigh", ddof=0)
    (tmp_path / "jwks.json").write_bytes(client.get("/.well-known/jwks.json").content)
    for name in ("parquet", "csv", "ndjson"):
        file = tmp_path / f"release.{name}"
        file.write_bytes(client.get(f"/v1/releases/{first}/data", params={"format": name}).content)
        (tmp_path / f"release.{name}.dsse.json").write_bytes(client.get(f"/v1/releases/{first}/certificate").content)
        done = surebox(service, "verify", str(file), "--keys", str(tmp_path / "jwks.json"), "--json")
        report = json.loads(done.stdout)
        assert (done.returncode, report["problems"]) == (0, []), done.stdout + done.stderr
        assert {each["finding"] for each in report["statistics"]} == {"verified"}
    before = set(key_set(client))
    done = surebox(service, "keys", "rotate-signing", "--data-dir", str(service.folder))
    assert done.returncode == 0, done.stderr
    assert (service.folder / "signing.pem").stat().st_mode & 0o777 == 0o600
    others = "".join(f"{age + 1},{income + 5000},{town}\n" for age, income, town in RECORDS)  # or it stays a draft
    second = publish(client, str(upload(client, f"age,income,town\n{others}")["id"]))
    envelope, keys = certificate(client, second), key_set(client)
    assert set(keys) - before == {envelope["signatures"][0]["keyid"]}
    assert verify_with_securesystemslib(envelope, keys) == {each["keyid"] for each in envelope["signatures"]}
    assert len(envelope["signatures"]) == 2
    assert all("exp" in keys[kid] for kid in before)
    assert said(envelope)["predicate"]["chain"]["previous"] == digest(certificate(client, first))
    assert client.delete(f"/v1/releases/{first}").status_code == 204
    revocations = client.get("/v1/revocations")
    (tmp_path / "revocations.json").write_bytes(revocations.content)
    (tmp_path / "jwks.json").write_bytes(client.get("/.well-known/jwks.json").content)
    file = tmp_path / "release.csv"
    options = ("--keys", str(tmp_path / "jwks.json"), "--revocations", str(tmp_path / "revocations.json"))
    done = surebox(service, "verify", str(file), *options)
    assert done.returncode == 1
    assert "revoked: since" in done.stdout
    done = surebox(service, "provenance", "verify", "--data-dir", str(service.folder))
    assert (done.returncode, "whole" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_later_release_of_a_series_names_its_base_and_is_verified(
    service: Service, client: httpx.Client, tmp_path: Path
) -> None:
    other = "age,income,town\n" + "".join(f"{90 - age},{7 * income},{town}\n" for age, income, town in RECORDS[30:])
    base = publish(client, str(upload(client, other.encode(), new_family=True)["id"]))
    spec = {"method": "boxes", "base_release_id": base, "quasi_identifiers": ["income"], "k": 11, "keep": ["town"]}
    later = str(succeed(client, spec)["release_id"])
    assert said(certificate(client, later))["predicate"]["parameters"]["base_release_id"] == base
    (tmp_path / "jwks.json").write_bytes(client.get("/.well-known/jwks.json").content)
    (tmp_path / "release.parquet.dsse.json").write_bytes(client.get(f"/v1/releases/{later}/certificate").content)
    file = tmp_path / "release.parquet"
    file.write_bytes(client.get(f"/v1/releases/{later}/data", params={"format": "parquet"}).content)
    done = surebox(service, "verify", str(file), "--keys", str(tmp_path / "jwks.json"), "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["problems"]) == (0, []), done.stdout + done.stderr
    assert {each["finding"] for each in report["statistics"]} == {"verified"}


def digest(envelope: dict[str, Any]) -> str:
    return hashlib.sha256(base64.b64decode(envelope["payload"])).hexdigest()


def test_statistics_that_nobody_asked_for_are_those_that_could_have_been(client: httpx.Client, dataset: str) -> None:
    """The same boxes, asked before and after: the same ranges but for rounding; and what cannot be asked is named."""
    statistics = [
        {"kind": "mean", "of": ["age"]},
        {"kind": "correlation", "of": ["income", "age"]},
        {"kind": "regression", "of": ["income", "age"]},
        {"kind": "variance", "of": ["income"]},
    ]
    release = publish(client, dataset, statistics=statistics, rare_records="weigh")
    published = client.get(f"/v1/releases/{release}/statistics").json()["statistics"]
    answer = client.post(f"/v1/releases/{release}/statistics", json={"statistics": statistics})
    assert answer.status_code == 200, answer.text
    computed = answer.json()["statistics"]
    assert [(one["kind"], one["of"], one["ddof"]) for one in computed] == [
        (one["kind"], one["of"], one["ddof"]) for one in published
    ]
    for one, before in zip(computed, published, strict=True):
        assert np.allclose(one["guaranteed"], before["guaranteed"], rtol=1e-13, atol=0)
        inner = [np.array(each["attained"], dtype=float) for each in (one, before)]  # none where numbers are whole
        assert np.allclose(*inner, rtol=1e-13, atol=0, equal_nan=True)
    refused = client.post(f"/v1/releases/{release}/statistics", json={"statistics": [{"kind": "mean", "of": ["town"]}]})
    assert refused.status_code == 422
    assert [each["pointer"] for each in refused.json()["errors"]] == ["/statistics/0/of/0"]
    sample = client.post(f"/v1/releases/{release}/statistics", json={"statistics": statistics[3:], "ddof": 1}).json()
    assert sample["statistics"][0]["guaranteed"][1] > computed[3]["guaranteed"][1]
