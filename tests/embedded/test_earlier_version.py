"""Data of an unreleased version, opened by this one: its folder after a loss of power, and its backup elsewhere."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import psutil
import pytest

from tests.embedded.test_cli import ROOT, surebox
from tests.methods.asking import ended, run, succeed, upload
from tests.servers import short_folder
from tests.service import Service, serving

#: Its revision is 0101, it counted ordinal values from 0, and boxes had no least widths.
COMMIT = "a40e51f4cfff9632dede3e4e05d560ad5498cc49"
SOURCES = ("app", "workers", "migrations", "verify", "openapi/sdk/python")
EDUCATION = ["low", "mid", "high"]
DETAIL = (
    "An unreleased version of Surebox made this draft, and its statistics count the values of ordinal columns from 0, "
    "where they count from 1 now. Run its job again, publish that release, and delete this draft."
)


def people(seed: int, *columns: str) -> str:
    draw = np.random.default_rng([101, seed])
    rows = 200
    frame = {
        "age": draw.integers(18, 90, rows), "wage": draw.lognormal(3, 1, rows).round(2),
        "education": draw.choice(EDUCATION, rows), "disease": draw.choice(list("pqrs"), rows),
    }  # fmt: skip
    return pl.DataFrame({name: frame[name] for name in columns}).write_csv()


def boxes(dataset_id: str, *names: str, **more: Any) -> dict[str, Any]:
    """A body that both versions accept; its release is a draft where `publish` does not say otherwise."""
    means = [{"kind": "mean", "of": [name]} for name in names]
    body = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": list(names), "k": 5, "statistics": means}
    return body | {"publish": "draft"} | more


@dataclass(frozen=True)
class Earlier:
    """Folder of an earlier version, and what its readers saw of it."""

    folder: Path
    backup: Path
    data: str
    published: Mapping[str, bytes]
    drafts: Mapping[str, str]
    queued: Mapping[str, dict[str, Any]]


@pytest.fixture(scope="module")
def earlier() -> Iterator[Earlier]:
    """A folder and a backup made by the sources of that commit, with the packages of today."""
    archive = ["git", "-C", str(ROOT), "archive", COMMIT, *SOURCES]
    packed = subprocess.run(archive, capture_output=True) if shutil.which("git") else None
    if packed is None or packed.returncode:
        pytest.skip(f"no history here: the sources of {COMMIT[:8]} cannot be had from git")
    with short_folder() as place:
        sources = place / "sources"
        sources.mkdir()
        subprocess.run(["tar", "--extract", "--directory", str(sources)], input=packed.stdout, check=True)
        paths = (sources, sources / "verify", sources / "openapi/sdk/python")
        settings = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONSAFEPATH": "1"}
        with serving(place / "data", **settings) as service, service.client() as client:
            made = filled(client, place, settings)
        yield made


def filled(client: httpx.Client, place: Path, settings: dict[str, str]) -> Earlier:
    """Publish, make drafts, stop those who run jobs, queue some more, and make a backup before the power fails."""
    data = upload(client, people(1, "age", "wage"))["id"]
    noisy, ranked = (upload(client, people(seed, "age", "education"))["id"] for seed in (2, 3))
    noise = {"method": "uncertain", "dataset_id": noisy, "quasi_identifiers": ["age"], "k": 5}
    jobs = [succeed(client, boxes(data, "age", "wage", publish="auto")), succeed(client, noise)]
    published = {one["release_id"]: read(client, one["release_id"]) for one in jobs}
    ordinal = {"ordinal": {"education": EDUCATION}}
    drafts = {
        "numbers": run(client, boxes(upload(client, people(4, "age", "wage"))["id"], "age", "wage"))["release_id"],
        "ranks": run(client, boxes(ranked, "age", "education", **ordinal))["release_id"],
    }
    service = psutil.Process(int(place.joinpath("data/serve.lock").read_text().split()[0]))
    batch = [one for one in service.children(recursive=True) if one.name().startswith("surebox-batch")]
    assert batch
    for one in batch:
        one.suspend()
    sick = upload(client, people(5, "age", "wage", "disease"))["id"]
    bodies = {
        "sensitive": boxes(sick, "age", "wage", sensitive=["disease"], l=2),
        "ranks": boxes(ranked, "age", "education", publish="auto", **ordinal),
        "composed": boxes(noisy, "age"),
    }
    answers = {name: client.post("/v1/anonymizations", json=body) for name, body in bodies.items()}
    assert [one.status_code for one in answers.values()] == [202] * len(answers), answers
    queued = {name: one.json() for name, one in answers.items()}
    command = [sys.executable, "-m", "app.cli", "backup", str(place / "backup"), "--data-dir", str(place / "data")]
    subprocess.run(command, env=os.environ | settings, check=True, capture_output=True)
    for one in [service, *service.children(recursive=True)]:  # as when the power fails: what waits, waits still
        one.kill()
    return Earlier(place / "data", place / "backup", data, published, drafts, queued)


def read(client: httpx.Client, release_id: str) -> bytes:
    return client.get(f"/v1/releases/{release_id}/data").raise_for_status().content


def ran(client: httpx.Client, earlier: Earlier) -> dict[str, dict[str, Any]]:
    """The jobs that were queued, once they have ended well."""
    jobs = {name: ended(client, client.get(f"/v1/jobs/{one['id']}").json()) for name, one in earlier.queued.items()}
    assert {name: one["state"] for name, one in jobs.items()} == dict.fromkeys(jobs, "succeeded"), jobs
    return jobs


def verified(client: httpx.Client, release_id: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Verify the release's bundle as readers of today do."""
    bundle, keys = folder / f"{release_id}.zip", folder / "jwks.json"
    bundle.write_bytes(client.get(f"/v1/releases/{release_id}/bundle.zip").raise_for_status().content)
    keys.write_bytes(client.get("/.well-known/jwks.json").content)
    program = Path(sys.executable).with_name("surebox-verify")
    return subprocess.run([program, bundle, "--keys", keys], capture_output=True, text=True)


@pytest.fixture(scope="module")
def opened(earlier: Earlier) -> Iterator[Service]:
    """This version, on the folder."""
    with serving(earlier.folder) as service:
        yield service


@pytest.fixture
def client(opened: Service) -> Iterator[httpx.Client]:
    with opened.client() as client:
        yield client


def test_what_was_queued_is_run_as_it_was_meant(client: httpx.Client, earlier: Earlier, tmp_path: Path) -> None:
    """Sensitive columns were not published unless `keep` had them, and boxes had no least widths."""
    jobs = ran(client, earlier)
    shown = client.get(f"/v1/releases/{jobs['sensitive']['release_id']}").json()["columns"]
    assert [one["name"] for one in shown] == ["box", "age_lo", "age_hi", "wage_lo", "wage_hi"]
    result = client.get(f"/v1/jobs/{jobs['sensitive']['id']}/result").json()
    assert {one["exempt"] for one in result["least_widths"].values()} == {"not_demanded"}
    ranks = jobs["ranks"]["release_id"]
    done = verified(client, ranks, tmp_path)
    assert done.returncode == 0, done.stdout
    called = [one.get("called") for one in client.get(f"/v1/releases/{ranks}/statistics").json()["statistics"]]
    assert called == [None, "mean rank (1 = low)"]


def test_what_was_published_is_as_it_was_with_the_certificate_that_it_had(
    client: httpx.Client, earlier: Earlier, tmp_path: Path
) -> None:
    for release_id, content in earlier.published.items():
        assert read(client, release_id) == content
        done = verified(client, release_id, tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "(urn:surebox:certificate:2) is of an unreleased version" in done.stderr


def test_a_draft_is_published_unless_its_numbers_mean_something_else_now(
    client: httpx.Client, earlier: Earlier, tmp_path: Path
) -> None:
    numbers, ranks = (f"/v1/releases/{earlier.drafts[name]}" for name in ("numbers", "ranks"))
    refused = client.post(f"{ranks}/publish")
    assert (refused.status_code, refused.json()["detail"]) == (409, DETAIL)
    assert client.get(ranks).json()["state"] == "draft"
    answer = client.post(f"{numbers}/publish").raise_for_status()
    if answer.status_code == httpx.codes.ACCEPTED:  # it is composed again
        assert ended(client, answer.json())["state"] == "succeeded"
    assert client.get(numbers).json()["state"] == "published"
    done = verified(client, earlier.drafts["numbers"], tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_family_goes_on_without_widths_and_is_composed_with_what_it_published(
    client: httpx.Client, earlier: Earlier
) -> None:
    job = succeed(client, boxes(earlier.data, "age", "wage", k=7, least_widths="auto"))
    widths = job["result"]["least_widths"].values()
    assert {(one["width"], one["source"], one["exempt"]) for one in widths} == {(0.0, "family", "family")}
    assert [one["audit"] for one in job["findings"]] == ["composition"]


def test_a_backup_is_restored_and_goes_on(earlier: Earlier) -> None:
    folder = earlier.folder.with_name("restored")
    restored = surebox("restore", str(earlier.backup), "--data-dir", str(folder))
    assert restored.returncode == 0, restored.stderr
    with serving(folder) as service, service.client() as client:
        assert {release_id: read(client, release_id) for release_id in earlier.published} == earlier.published
        ran(client, earlier)
