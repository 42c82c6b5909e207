"""How a job ends when nothing breaks but the job itself. One worker serves this module; its last test stops it."""

import json
import resource
from collections.abc import Iterator

import pytest

from app.embedded.broker import BrokerServer
from tests.faults.rig import DATASET_ROWS, DATASET_SHA256, Rig
from tests.probe.runner import SECRET
from tests.servers import Databases, wait_until
from tests.stored import stored
from workers.engine.randomness import new_generator

SETTINGS = {"inline_artifact_bytes": 2_000, "worker_memory_bytes": 4 << 30}


@pytest.fixture(scope="module")
def rig(databases: Databases, broker_server: BrokerServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    url = databases.fresh()
    rig = Rig(url, broker_server.tcp_url(7), tmp_path_factory.mktemp("endings"), SETTINGS)
    rig.worker()
    yield rig
    rig.stop()
    databases.drop(url)


def test_a_job_that_succeeds_leaves_everything_at_once(rig: Rig) -> None:
    job_id = rig.submit(steps=3, release=True, seed=5, tags={"team": "health"})
    job = rig.wait(job_id)
    assert (job["state"], job["attempt"], job["given_back"], job["error"]) == ("succeeded", 1, 0, None)
    assert job["result"] == {"method": "probe", "steps": 3}
    assert rig.events(job_id) == ["queued", "running", "succeeded"]
    assert rig.outcomes(job_id) == ["succeeded"]

    result = rig.row("SELECT * FROM job_result WHERE job_id = %s", job_id)
    expected = new_generator(5).random(3).tolist()
    assert json.loads(result["body"]) == {"method": "probe", "steps": 3, "drawn": expected, "padding": ""}

    release = rig.row("SELECT * FROM release WHERE job_id = %s", job_id)
    assert release["id"] == job["release_id"]
    assert release["flags"] == ["reproducible"]
    assert release["tags"] == {"team": "health"}
    for file in rig.rows("SELECT * FROM release_file WHERE release_id = %s", release["id"]):
        assert file["key"] == f"releases/{release['id']}/{file['sha256']}.{file['format']}"
        assert (rig.folder / "storage" / file["key"]).stat().st_size == file["bytes"]

    provenance = rig.row("SELECT * FROM provenance WHERE job_id = %s", job_id)
    assert provenance["requested_by"] == "key_test"
    assert provenance["dataset_sha256"] == DATASET_SHA256
    assert provenance["spec"]["seed"] == "given"
    assert provenance["attempts"][0]["outcome"] == "succeeded"
    assert set(provenance["release_sha256"]) == {"csv", "parquet"}
    assert provenance["versions"]["surebox"]
    restricted, public = json.dumps(provenance["restricted"]), json.dumps(provenance["public"])
    assert DATASET_SHA256 in restricted
    for withheld in (DATASET_SHA256, str(DATASET_ROWS), "tester", "key_test", "given", rig.dataset(), "startTime"):
        assert withheld not in public
    for published in (*provenance["release_sha256"].values(), release["id"], "wasGeneratedBy", r"\"k\": 5"):
        assert published in public


@pytest.mark.parametrize("fault", ["record", "cancel"])
def test_a_job_that_ends_otherwise_leaves_no_file(rig: Rig, fault: str) -> None:
    def files() -> set[str]:
        return {path.name for path in stored(rig.folder / "storage")}

    before = files()  # among them may be the last checkpoint of a job before, which goes once that job has ended
    job_id = rig.submit(release=True, fail=fault, result_bytes=10_000)
    assert rig.wait(job_id)["state"] == ("failed" if fault == "record" else "cancelled")
    wait_until(lambda: files() <= before, what=lambda: str(files() - before))


def test_jobs_that_cannot_be_computed_fail_with_their_problem_and_the_worker_goes_on(rig: Rig) -> None:
    codes = {
        "infeasible": ("/problems/infeasible", "`k` = 50 required, 31 records: the largest k is 31."),
        "record": ("/problems/infeasible", "Found only while writing."),
        "value": ("/problems/internal-error", "The job could not be run; the service's log states where it failed."),
        "nan": ("/problems/internal-error", "The job could not be run; the service's log states where it failed."),
        "allocate": ("/problems/memory-limit", "Ask for less work, or give the workers more memory."),
        "memory": ("/problems/memory-limit", "Ask for less work, or give the workers more memory."),
    }
    job_ids = {kind: rig.submit(fail=kind, release=kind == "record") for kind in codes}
    for kind, (problem, detail) in codes.items():
        job = rig.wait(job_ids[kind])
        assert (job["state"], job["error"]["type"], job["error"]["detail"]) == ("failed", problem, detail)
        assert rig.outcomes(job_ids[kind]) == ["failed"]
        assert job["result"] is None
        assert job["release_id"] is None
        assert rig.rows("SELECT * FROM job_result WHERE job_id = %s", job_ids[kind]) == []
        assert rig.rows("SELECT * FROM release WHERE job_id = %s", job_ids[kind]) == []
    assert "ValueError" in rig.started[0].text()
    assert SECRET not in rig.started[0].text()


def test_a_child_may_hold_no_more_memory_than_the_settings_say(rig: Rig) -> None:
    (child,) = rig.started[0].children()
    assert resource.prlimit(child, resource.RLIMIT_DATA) == (4 << 30, 4 << 30)


def test_a_large_result_lies_in_storage(rig: Rig) -> None:
    job_id = rig.submit(result_bytes=5_000)
    rig.wait(job_id, "succeeded")
    result = rig.row("SELECT * FROM job_result WHERE job_id = %s", job_id)
    assert result["body"] is None
    stored = rig.folder / "storage" / result["key"]
    assert stored.stat().st_size == result["bytes"]
    assert json.loads(stored.read_bytes())["padding"] == "x" * 5_000


def test_without_a_seed_two_runs_draw_different_numbers(rig: Rig) -> None:
    drawn = []
    for job_id in (rig.submit(), rig.submit()):
        rig.wait(job_id, "succeeded")
        drawn.append(json.loads(rig.row("SELECT body FROM job_result WHERE job_id = %s", job_id)["body"])["drawn"])
    assert drawn[0] != drawn[1]


def test_a_worker_is_seen_and_forgotten_at_a_clean_stop(rig: Rig) -> None:
    worker = rig.started[0]
    seen = rig.row("SELECT * FROM worker WHERE pid = %s", worker.pid)
    assert seen["queue"] == "batch"
    assert seen["rss_bytes"] > 20_000_000
    worker.process.terminate()
    assert worker.process.wait(60) == 0
    wait_until(lambda: rig.rows("SELECT * FROM worker") == [])
