"""Downloads: the bytes, whole or in part, and nothing when they are known."""

from collections.abc import Iterable
from hashlib import sha256

import psutil
import pytest

from tests.releases.conftest import CSV, Releases

MEGABYTE = 1 << 20


def test_every_format_is_what_its_checksum_says(published: Releases) -> None:
    release_id = published.publish()
    shown = published.client.get(f"/v1/releases/{release_id}").json()
    for name, media_type in [
        ("csv", "text/csv; charset=utf-8"),
        ("parquet", "application/vnd.apache.parquet"),
        ("ndjson", "application/x-ndjson"),
    ]:
        answer = published.client.get(f"/v1/releases/{release_id}/data", params={"format": name})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == media_type
        assert answer.headers["content-disposition"] == f'attachment; filename="{release_id}.{name}"'
        assert answer.headers["accept-ranges"] == "bytes"
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert answer.headers["etag"] == f'"{shown["files"][name]["sha256"]}"'
        assert sha256(answer.content).hexdigest() == shown["files"][name]["sha256"]
    assert published.client.get(f"/v1/releases/{release_id}/data").content == CSV


def test_what_is_known_is_not_sent(published: Releases) -> None:
    path = f"/v1/releases/{published.publish()}/data"
    tag = published.client.head(path).headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = published.client.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
        assert published.client.head(path, headers={"If-None-Match": known}).status_code == 304
    assert published.client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_head_is_get_without_bytes(published: Releases) -> None:
    path = f"/v1/releases/{published.publish()}/data"
    head, got = published.client.head(path), published.client.get(path)
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-length", "content-type", "etag", "accept-ranges", "content-disposition"):
        assert head.headers[name] == got.headers[name]
    assert published.client.head(path, headers={"Range": "bytes=0-1"}).status_code == 200


@pytest.mark.parametrize(
    ("header", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        (f"bytes={2 * MEGABYTE - 3}-{2 * MEGABYTE + 3}", 2 * MEGABYTE - 3, 2 * MEGABYTE + 4),
        ("bytes=100-", 100, len(CSV)),
        ("bytes=-7", len(CSV) - 7, len(CSV)),
        (f"bytes=-{10 * len(CSV)}", 0, len(CSV)),
        (f"bytes=5-{10 * len(CSV)}", 5, len(CSV)),
    ],
)
def test_one_range_is_206(published: Releases, header: str, start: int, end: int) -> None:
    path = f"/v1/releases/{published.publish()}/data"
    answer = published.client.get(path, headers={"Range": header})
    assert answer.status_code == 206
    assert answer.content == CSV[start:end]
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CSV)}"
    assert int(answer.headers["content-length"]) == end - start


@pytest.mark.parametrize("header", ["bytes=0-1,5-6", "bytes=9-3", "bytes=-", "lines=0-1", "bytes=a-b", "bytes=1"])
def test_what_is_not_one_range_is_the_whole(published: Releases, header: str) -> None:
    answer = published.client.get(f"/v1/releases/{published.publish()}/data", headers={"Range": header})
    assert (answer.status_code, len(answer.content)) == (200, len(CSV))


@pytest.mark.parametrize("header", [f"bytes={len(CSV)}-", f"bytes={len(CSV) + 5}-{len(CSV) + 6}", "bytes=-0"])
def test_a_range_behind_the_end_is_416(published: Releases, header: str) -> None:
    answer = published.client.get(f"/v1/releases/{published.publish()}/data", headers={"Range": header})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(CSV)}"
    assert answer.json()["type"] == "/problems/range-not-satisfiable"


def test_if_range_goes_on_only_with_the_same_bytes(published: Releases) -> None:
    path = f"/v1/releases/{published.publish()}/data"
    tag = published.client.head(path).headers["etag"]
    for known, status in [(tag, 206), ('"other"', 200), (f"W/{tag}", 200), ("Sat, 21 Nov 2026 23:00:00 GMT", 200)]:
        answer = published.client.get(path, headers={"Range": "bytes=0-9", "If-Range": known})
        assert answer.status_code == status, known


def test_a_format_that_is_not_there(published: Releases) -> None:
    path = f"/v1/releases/{published.publish(files={'csv': CSV})}/data"
    assert published.client.get(path, params={"format": "xlsx"}).status_code == 422
    assert published.client.get(path, params={"format": "parquet"}).status_code == 404


def test_the_api_does_not_grow_with_a_download(published: Releases) -> None:
    content = CSV * (150 * MEGABYTE // len(CSV))
    path = f"/v1/releases/{published.publish(files={'csv': content})}/data"
    published.client.get(path, headers={"Range": "bytes=0-10000000"})
    memory = psutil.Process(published.processes.started[0].pid)
    before = peak = memory.memory_info().rss
    digest = sha256()
    with published.client.stream("GET", path) as answer:
        for chunk in answer.iter_bytes():
            digest.update(chunk)
            peak = max(peak, memory.memory_info().rss)
    assert digest.hexdigest() == sha256(content).hexdigest()
    assert peak - before < 30 * MEGABYTE


FILES = {"csv": CSV, "parquet": b"PAR1", "ndjson": b"{}\n", "csv.gz": b"\x1f\x8b", "csv.excel": b"box\n"}


@pytest.mark.parametrize(
    ("accept", "there", "sent"),
    [
        ("*/*", FILES, "csv"),
        ("", FILES, "csv"),
        ("*/*", ["parquet", "ndjson"], "parquet"),
        ("application/vnd.apache.parquet", FILES, "parquet"),
        ("application/x-ndjson, text/csv;q=0.5", FILES, "ndjson"),
        ("application/x-ndjson;q=0.1, text/*", FILES, "csv"),
        ("text/csv;q=0, */*;q=0.1", FILES, "parquet"),
        ("text/csv", ["csv.excel", "parquet"], "csv.excel"),
        ("APPLICATION/GZIP ; q=1.0", FILES, "csv.gz"),
        ("text/csv;q=banana", FILES, "csv"),
        ("text/html", FILES, None),
        ("text/csv", ["parquet"], None),
        ("*/*;q=0", FILES, None),
    ],
)
def test_accept_chooses_the_format(published: Releases, accept: str, there: Iterable[str], sent: str | None) -> None:
    path = f"/v1/releases/{published.publish(files={name: FILES[name] for name in there})}/data"
    for ask in (published.client.get, published.client.head):
        answer = ask(path, headers={"Accept": accept})
        if sent is None:
            assert answer.status_code == 406
        else:
            assert answer.status_code == 200
            assert answer.headers["etag"] == f'"{sha256(FILES[sent]).hexdigest()}"'
            assert answer.headers["vary"] == "Accept"
    if sent is None:
        problem = published.client.get(path, headers={"Accept": accept}).json()
        assert problem["type"] == "/problems/not-acceptable"
        assert all(f"format={name}" in problem["detail"] for name in there)


def test_a_format_that_is_named_is_sent_whatever_is_accepted(published: Releases) -> None:
    path = f"/v1/releases/{published.publish(files=FILES)}/data"
    for name, content in FILES.items():
        answer = published.client.get(path, params={"format": name}, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.content) == (200, content)
