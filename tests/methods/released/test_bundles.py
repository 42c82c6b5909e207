"""A release as one download: what is in it, that it is always the same, who reads it, and that it verifies alone."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from surebox_verify.cli import verify
from tests import patient
from tests.drawing import seeds
from tests.methods.asking import anonymization, succeed, upload
from tests.service import Service

RECORDS = [(20 + i * 7 % 53, 1000 + i * 37 % 991, "ab"[i % 2]) for i in range(200)]
CSV = "age,income,town\n" + "".join(f"{age},{income},{town}\n" for age, income, town in RECORDS)
FORMATS = ["parquet", "csv", "ndjson", "csv.gz", "csv.excel"]
#: Files whose names end otherwise: a double click opens them by their last ending.
NAMES = {"csv.excel": "release.excel.csv"}


@pytest.fixture(scope="module")
def dataset_id(client: httpx.Client) -> str:
    return str(upload(client, CSV)["id"])


@pytest.fixture(scope="module")
def release_id(client: httpx.Client, dataset_id: str) -> str:
    spec = anonymization("boxes", dataset_id, ["age", "income"], k=5, formats=FORMATS)
    return str(succeed(client, spec)["release_id"])


@pytest.fixture(scope="module")
def bundle(client: httpx.Client, release_id: str) -> httpx.Response:
    answer = client.get(f"/v1/releases/{release_id}/bundle.zip")
    assert answer.status_code == httpx.codes.OK, answer.text
    return answer


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {each.filename: archive.read(each) for each in archive.infolist()}


def verified(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    """Exit code and report of `surebox-verify`."""
    with pytest.raises(SystemExit) as ended:
        verify([*map(str, arguments), "--json"])
    return int(ended.value.code or 0), json.loads(capsys.readouterr().out)


def test_it_holds_all_that_is_public_of_a_release(
    client: httpx.Client, release_id: str, bundle: httpx.Response
) -> None:
    members, path = unpacked(bundle.content), f"/v1/releases/{release_id}"
    about = json.loads(members.pop("ro-crate-metadata.json"))
    assert bundle.headers["content-type"] == "application/zip"
    assert release_id in bundle.headers["content-disposition"]
    for name in FORMATS:
        assert (
            members.pop(NAMES.get(name, f"release.{name}"))
            == client.get(f"{path}/data", params={"format": name}).content
        )
    certificate = client.get(f"{path}/certificate").content
    assert members["certificate.dsse.json"] == certificate
    assert json.loads(members["statistics.json"]) == client.get(f"{path}/statistics").json()
    assert json.loads(members["provenance.json"]) == client.get(f"{path}/provenance").json()
    assert members["report.html"] == client.get(f"{path}/report").content
    assert json.loads(members["jwks.json"]) == client.get("/.well-known/jwks.json").json()
    assert set(members) == {
        "certificate.dsse.json", "statistics.json", "provenance.json", "report.html", "jwks.json",
        "revocations.dsse.json",
    }  # fmt: skip
    files = {each["@id"]: each["sha256"] for each in about["@graph"] if each["@type"] == "File"}
    digests = {name: hashlib.sha256(raw).hexdigest() for name, raw in unpacked(bundle.content).items()}
    del digests["ro-crate-metadata.json"]
    assert files == digests
    (root,) = (each for each in about["@graph"] if each["@id"] == "./")
    assert {each["@id"] for each in root["hasPart"]} == set(files)


def test_it_is_the_same_for_all_who_may_read_it_and_known_by_its_tag(
    service: Service, client: httpx.Client, release_id: str, bundle: httpx.Response
) -> None:
    path = f"/v1/releases/{release_id}/bundle.zip"
    anybody = patient.Client(base_url=service.address)
    with service.client(owner="a reader of bundles", scopes=("releases:read",)) as reader, anybody:
        assert [each.get(path).status_code for each in (reader, anybody)] == [404, 404]
        client.patch(f"/v1/releases/{release_id}", json={"readers": "public"}).raise_for_status()
        for each in (client, reader, anybody):
            answer = each.get(path)
            assert (answer.content, answer.headers["etag"]) == (bundle.content, bundle.headers["etag"])
            again = each.get(path, headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")


def test_it_verifies_alone_and_what_was_changed_in_it_is_named(
    client: httpx.Client, bundle: httpx.Response, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "jwks.json"
    keys.write_bytes(client.get("/.well-known/jwks.json").content)
    whole = tmp_path / "bundle.zip"
    whole.write_bytes(bundle.content)
    code, report = verified(capsys, whole, "--keys", keys)
    assert (code, report["verdict"], report["problems"], report["unchecked"]) == (0, "holds", [], [])
    assert set(report["files"]) == {*(NAMES.get(name, f"release.{name}") for name in FORMATS), "statistics.json"}
    assert {each["finding"] for each in report["statistics"]} == {"verified"}
    assert report["revocation"].startswith("not revoked by 20")
    for name in ("release.csv", "statistics.json"):
        with zipfile.ZipFile(whole, "w") as archive:
            for other, raw in unpacked(bundle.content).items():
                archive.writestr(other, raw.replace(b"1", b"2", 1) if other == name else raw)
        code, report = verified(capsys, whole, "--keys", keys)
        assert (code, report["problems"][0]) == (1, f"{name}: not as certified")
        assert all(one.startswith(f"{name}: ") for one in report["problems"]), "no other file is blamed"
    with zipfile.ZipFile(whole, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("release.csv", unpacked(bundle.content)["release.csv"])
    with pytest.raises(SystemExit, match="2"):
        verify([str(whole), "--keys", str(keys)])
    assert "two files of one name" in capsys.readouterr().err


@pytest.mark.parametrize("seed", seeds(6))
def test_an_entry_that_was_replaced_is_refuted_or_named_as_not_covered(
    client: httpx.Client, bundle: httpx.Response, tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    draw, keys, whole = np.random.default_rng(seed), tmp_path / "jwks.json", tmp_path / "bundle.zip"
    keys.write_bytes(client.get("/.well-known/jwks.json").content)
    members = unpacked(bundle.content)
    for name, raw in members.items():
        place = int(draw.integers(0, len(raw)))
        made_up = [b"<html>Mean age: certain to be 12 to 13</html>", b"", raw[:place] + b"7" + raw[place + 1 :] + b" "]
        with zipfile.ZipFile(whole, "w") as archive:
            for other, unchanged in members.items():
                archive.writestr(other, made_up[int(draw.integers(0, 3))] if other == name else unchanged)
        with pytest.raises(SystemExit) as ended:
            verify([str(whole), "--keys", str(keys)])
        printed = capsys.readouterr()
        verdict = (printed.out or printed.err).splitlines()[-1]
        assert ended.value.code != 0 or (f"not covered {name}:" in printed.out and name in verdict), name
        code, report = verified(capsys, whole, "--keys", keys)
        assert code != 0 or name in report["not_covered"], name


def test_what_is_not_published_is_for_keepers_and_what_is_withdrawn_says_so(
    service: Service, client: httpx.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = upload(client, CSV.replace(",1", ",7"), new_family=True)["id"]
    spec = {"method": "boxes", "dataset_id": others, "quasi_identifiers": ["age", "income"], "k": 5, "publish": "draft"}
    release_id = str(succeed(client, spec)["release_id"])
    path = f"/v1/releases/{release_id}"
    members = unpacked(client.get(f"{path}/bundle.zip").content)
    assert "certificate.dsse.json" not in members, "a draft has none"
    log = client.get("/v1/log?limit=1").json()["items"][0]
    assert (log["action"], log["subject"]) == ("read", release_id)
    client.post(f"{path}/publish", json={"readers": ["a reader of bundles"]}).raise_for_status()
    with service.client(owner="a reader of bundles", scopes=("releases:read",)) as reader:
        assert reader.get(f"{path}/bundle.zip").status_code == httpx.codes.OK
        client.post(f"{path}/withdraw", json={"reason": "over"}).raise_for_status()
        assert reader.get(f"{path}/bundle.zip").status_code == httpx.codes.NOT_FOUND
    withdrawn = tmp_path / "bundle.zip"
    withdrawn.write_bytes(client.get(f"{path}/bundle.zip").content)
    (tmp_path / "jwks.json").write_bytes(client.get("/.well-known/jwks.json").content)
    code, report = verified(capsys, withdrawn, "--keys", tmp_path / "jwks.json")
    assert (code, report["revocation"].startswith("since 20")) == (1, True)
