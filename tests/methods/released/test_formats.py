"""Which files a release has: those its job asked for, and no other."""

import csv
import gzip
import hashlib
import io

import httpx
import pytest

from tests.methods.asking import anonymization, run, succeed, upload

TEXTS = ["=1+2", "-x", "+SUM(A1)", "@cmd", "\tcell", "plain", "-", "a=b", 'say "hi"', "'quoted"]
RUN = {"=1+2", "-x", "+SUM(A1)", "@cmd", "\tcell"}


@pytest.fixture(scope="module")
def texts(client: httpx.Client) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(["x", "=y", "word"])
    writer.writerows([i - 20, i * 1.5, TEXTS[i % len(TEXTS)]] for i in range(40))
    return str(upload(client, file.getvalue(), trim="false")["id"])


def spec(dataset_id: str, **more: object) -> dict[str, object]:
    body = anonymization("condensation", dataset_id, ["x", "=y"], k=5, keep=["word"])
    return body | more


def download(client: httpx.Client, job: dict, name: str) -> httpx.Response:
    return client.get(f"/v1/releases/{job['release_id']}/data", params={"format": name})


def test_three_formats_unless_others_are_asked_for(client: httpx.Client, texts: str) -> None:
    job = succeed(client, spec(texts))
    assert job["spec"]["formats"] == ["parquet", "csv", "ndjson"]
    assert set(client.get(f"/v1/releases/{job['release_id']}").json()["files"]) == {"parquet", "csv", "ndjson"}
    assert download(client, job, "csv.gz").status_code == 404


def test_compressed_and_escaped_csv(client: httpx.Client, texts: str) -> None:
    job = succeed(client, spec(texts, formats=["csv.gz", "csv.excel", "csv"]))
    sums = client.get(f"/v1/releases/{job['release_id']}").json()["files"]
    assert set(sums) == {"csv.gz", "csv.excel", "csv"}
    files = {name: download(client, job, name) for name in sums}
    for name, answer in files.items():
        assert answer.status_code == 200
        assert "content-encoding" not in answer.headers
        assert hashlib.sha256(answer.content).hexdigest() == sums[name]["sha256"] == answer.headers["etag"].strip('"')
    assert files["csv.gz"].headers["content-type"] == "application/gzip"
    assert files["csv.gz"].headers["content-disposition"].endswith('.csv.gz"')
    assert files["csv.excel"].headers["content-disposition"].endswith('.excel.csv"')
    assert gzip.decompress(files["csv.gz"].content) == files["csv"].content

    def rows(name: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(files[name].content.decode("utf-8-sig"), newline="")))

    plain, escaped = rows("csv"), rows("csv.excel")
    assert {row[2] for row in plain[1:]} == set(TEXTS)
    assert any(float(row[0]) < 0 for row in plain[1:]), "numbers below zero stay numbers"
    assert escaped[0] == ["x", "'=y", "word"]
    assert escaped[1:] == [[x, y, f"'{word}" if word in RUN else word] for x, y, word in plain[1:]]


def test_a_release_without_parquet_can_still_be_audited(client: httpx.Client, texts: str) -> None:
    job = succeed(client, spec(texts, formats=["ndjson"]))
    assert download(client, job, "parquet").status_code == 404
    audit = run(
        client, {"method": "linkage", "release_id": job["release_id"], "knowledge_dataset_id": texts}, kind="audits"
    )
    assert audit["state"] == "succeeded", audit["error"]
    provenance = client.get(f"/v1/releases/{job['release_id']}/provenance").text
    assert "sha256_ndjson" in provenance
    assert "sha256_parquet" not in provenance


@pytest.mark.parametrize("given", [{}, {"formats": []}])
def test_of_formats_omitted_or_empty_the_service_chooses(
    client: httpx.Client, texts: str, given: dict[str, object]
) -> None:
    answer = client.post("/v1/anonymizations", json=spec(texts) | {"publish": "draft"} | given)
    assert answer.status_code == 202
    assert answer.json()["spec"]["formats"] == ["parquet", "csv", "ndjson"]


@pytest.mark.parametrize("formats", [["csv", "csv"], ["xlsx"], "csv"])
def test_formats_that_make_no_sense(client: httpx.Client, texts: str, formats: object) -> None:
    answer = client.post("/v1/anonymizations", json=spec(texts, formats=formats))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/formats")
