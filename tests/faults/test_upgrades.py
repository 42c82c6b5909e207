"""Old and new workers side by side: each runs what it knows, and nothing is failed for not being known."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from app.db import migrate
from tests import patient
from tests.faults.rig import ROOT, Rig, steps
from tests.probe.contract import NewerProbeSpec
from tests.servers import wait_until
from tests.stored import stored

WAITING = "waiting: no worker knows version 2 of probe"
STRANDED = 'surebox_jobs_stranded{method="probe",version="2"} 1.0'


def test_a_job_of_a_version_that_no_worker_knows_waits_says_so_and_is_run_by_the_first_that_does(rig: Rig) -> None:
    rig.housekeeping()
    old = rig.worker()
    _, address = rig.api()
    newer = rig.submit(kind=NewerProbeSpec)
    with rig.client(address) as client:

        def stage() -> str:
            progress = client.get(f"/v1/jobs/{newer}").raise_for_status().json()["progress"]
            return f"{progress['stage']}: {progress['detail']}"

        wait_until(lambda: stage() == WAITING, what="the stage of a job that nobody knows")
        assert STRANDED in patient.get(f"{address}/metrics").text
        rig.wait(rig.submit(), "succeeded")  # what the old worker knows it goes on with
        assert rig.job(newer)["state"] == "queued"
        assert rig.job(newer)["attempt"] == 0
        new = rig.worker(PROBE_VERSION="2")
        children = new.children()
        rig.wait(newer, "succeeded")
    assert rig.events(newer) == ["queued", "running", "succeeded"]
    ran = rig.row("SELECT worker FROM job_attempt WHERE job_id = %s", newer)
    assert ran is not None
    assert int(ran["worker"].rpartition(":")[2]) in children
    assert "job.not_ours" in old.text()
    assert STRANDED not in patient.get(f"{address}/metrics").text


def test_a_job_that_one_of_two_workers_knows_is_run_by_that_one(rig: Rig) -> None:
    rig.housekeeping()
    rig.worker()
    children = rig.worker(PROBE_VERSION="2").children()
    jobs = [rig.submit(kind=NewerProbeSpec) for _ in range(6)]
    for job_id in jobs:
        assert rig.wait(job_id, "succeeded")["attempt"] == 1
    ran = rig.rows("SELECT worker FROM job_attempt WHERE job_id = ANY(%s)", jobs)
    assert {int(row["worker"].rpartition(":")[2]) for row in ran} <= set(children)


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """The sources of the commit before this one."""
    folder = tmp_path / "previous"
    folder.mkdir()
    archive = ["git", "-C", str(ROOT), "archive", "HEAD~1", "app", "workers", "migrations", "tests"]
    packed = subprocess.run(archive, capture_output=True) if shutil.which("git") else None
    if packed is None or packed.returncode:
        pytest.skip("no history here: the sources of the commit before cannot be had from git")
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=packed.stdout, check=True)
    return folder


def test_a_worker_of_the_commit_before_ends_its_job_and_leaves_a_newer_one_to_others(rig: Rig, previous: Path) -> None:
    old = rig.worker(PYTHONPATH=str(previous))
    old_children = old.children()
    begun = rig.submit(steps=40, step_seconds=0.5)
    wait_until(lambda: rig.job(begun)["state"] == "running", what=old.text())
    rig.housekeeping()
    _, address = rig.api()
    new_children = rig.worker(PROBE_VERSION="2").children()
    newer = rig.submit(kind=NewerProbeSpec)
    with rig.client(address) as client:
        for job_id, children in ((newer, new_children), (begun, old_children)):
            assert rig.wait(job_id, "succeeded")["attempt"] == 1
            assert client.get(f"/v1/jobs/{job_id}").raise_for_status().json()["state"] == "succeeded"
            ran = rig.row("SELECT worker FROM job_attempt WHERE job_id = %s", job_id)
            assert ran is not None
            assert int(ran["worker"].rpartition(":")[2]) in children
    environment = Path(f"/proc/{old.pid}/environ").read_bytes()
    assert f"PYTHONPATH={previous}\0".encode() in environment


ADDS = """
from alembic import op
import sqlalchemy as sa

revision = 'newer'
down_revision = {head!r}
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('of_a_newer_version', sa.Text(), server_default='x', nullable=False))
    op.create_table('of_a_newer_version', sa.Column('id', sa.Text(), primary_key=True))
"""


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """The sources as they are, and one migration more."""
    folder = tmp_path / "newer"
    for name in ("app", "workers", "migrations", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (head,) = ScriptDirectory.from_config(migrate.config("")).get_heads()
    (folder / "migrations" / "versions" / "9999_newer.py").write_text(ADDS.format(head=head))
    return folder


def test_an_older_version_goes_on_with_the_database_of_a_newer_one_and_back(rig: Rig, newer: Path) -> None:
    def migrated(sources: Path) -> str:
        command = [sys.executable, "-P", "-m", "app.cli", "migrate"]
        environment = rig.environment() | {"PYTHONPATH": str(sources)}
        done = subprocess.run(command, env=environment, cwd=sources, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr

    rig.housekeeping()
    waiting = rig.submit()
    assert "newer" not in migrated(newer)
    assert rig.row("SELECT of_a_newer_version FROM job WHERE id = %s", waiting) == {"of_a_newer_version": "x"}
    assert "revision newer of a newer version of Surebox. Migrations only add" in migrated(ROOT)
    old = rig.worker()
    rig.wait(waiting, "succeeded")
    _, address = rig.api()
    with rig.client(address) as client:
        assert client.get(f"/v1/jobs/{waiting}").raise_for_status().json()["state"] == "succeeded"
        begun = rig.submit(steps=40, step_seconds=0.1)
        wait_until(lambda: rig.job(begun)["state"] == "running", what=old.text())
        assert "newer version" not in migrated(newer)
        old.process.terminate()
        rig.worker(PYTHONPATH=str(newer))
        assert rig.wait(begun, "succeeded")["attempt"] <= 2
        assert client.get(f"/v1/jobs/{begun}").raise_for_status().json()["state"] == "succeeded"


def test_a_job_goes_on_from_a_checkpoint_of_its_own_algorithm_only(rig: Rig) -> None:
    storage = rig.folder / "storage"
    rig.housekeeping()
    for algorithm, starts in (("1", 1), ("2", 2)):
        journal: Path = rig.journal(f"journal {algorithm}")
        worker = rig.worker()
        job_id = rig.submit(steps=40, step_seconds=0.05, journal=str(journal))
        wait_until(lambda j=job_id: rig.row("SELECT 1 FROM job_checkpoint WHERE job_id = %s AND steps >= 3", j))
        worker.group(signal.SIGKILL)
        next_worker = rig.worker(PROBE_ALGORITHM=algorithm)
        assert rig.wait(job_id, "succeeded")["attempt"] == 2
        assert steps(journal).count(1) == starts
        assert ("checkpoint.strange" in next_worker.text()) == (algorithm == "2")
        wait_until(lambda: not any("checkpoint" in str(each.relative_to(storage)) for each in stored(storage)))
        next_worker.group(signal.SIGKILL)
    assert rig.rows("SELECT * FROM job_checkpoint") == []
