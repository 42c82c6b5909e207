"""What Celery's own tools show of real workers: the commands of the operations page, and events where they are on."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from app.methods.catalogue import SPECS
from app.queue import make_celery
from tests.faults.rig import Rig
from tests.meta.project import ROOT
from tests.servers import wait_until

COMMANDS = re.findall(r"^celery (.* --timeout \d+)$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)


def celery(rig: Rig, command: str) -> str | None:
    """What a command prints; nothing while no worker answers, which is its exit code 69."""
    argv = [sys.executable, "-m", "celery", *shlex.split(command)]
    done = subprocess.run(argv, capture_output=True, text=True, env=rig.environment(), cwd=ROOT, timeout=300)
    assert done.returncode in {0, 69}, done.stderr
    return done.stdout if done.returncode == 0 else None


def test_the_commands_of_the_operations_page_show_what_a_worker_does(rig: Rig) -> None:
    rig.worker()
    job_id = rig.submit(steps=10_000, step_seconds=0.1)
    rig.wait(job_id, "running")
    said = {
        re.sub(" --.*", "", command).split()[-1]: wait_until(partial(celery, rig, command), seconds=300.0, what=command)
        for command in COMMANDS
    }
    assert sorted(said) == ["active", "active_queues", "stats", "status"]
    assert all(re.search("^(-> +)?batch-[0-9]+@.*OK$", text, re.MULTILINE) for text in said.values()), said
    assert "'name': 'surebox.probe'" in said["active"]
    assert "'type': 'surebox.run_job'" in said["active"]
    assert job_id in said["active"]
    assert "'name': 'batch'" in said["active_queues"]
    assert '"surebox.probe": 1' in said["stats"]


def test_events_say_of_which_method_an_id_is_and_nothing_else_of_its_job(
    rig_on: Callable[..., Rig], database_url: str, redis_url: str
) -> None:
    rig = rig_on(database_url, redis_url, celery_events=True)
    rig.worker()
    seen: dict[str, dict[str, Any]] = {}
    job_ids: list[str] = []
    journal = rig.journal("a path of ours")
    celery_app = make_celery(rig.settings)

    def note(event: dict[str, Any]) -> None:
        if not job_ids:  # a heartbeat of the worker: events arrive from here on
            job_ids.append(rig.submit(steps=1, journal=str(journal)))
        seen[event["type"]] = event
        receiver.should_stop = "task-succeeded" in seen

    with celery_app.connection() as connection:
        receiver = celery_app.events.Receiver(connection, handlers={"*": note})
        receiver.capture(limit=None, timeout=120, wakeup=False)
    sent = seen["task-sent"]
    assert (sent["name"], sent["queue"]) == ("surebox.run_job", "batch")
    assert seen["task-received"]["name"] == "surebox.probe"
    assert seen["task-succeeded"]["result"] == "None"
    assert job_ids[0] in str(sent)
    assert "a path of ours" not in str(seen)


def test_ids_go_where_their_methods_are_run(rig: Rig) -> None:
    """By Celery's own router, as a message is sent."""
    router = make_celery(rig.settings).amqp.router
    sent_to = {method: router.route({}, f"surebox.{method}")["queue"].name for method in SPECS}
    assert sent_to == {method: spec.queue.value for method, spec in SPECS.items()}
    assert {sent_to["count"], sent_to["ingest"], sent_to["boxes"]} == {"interactive", "batch"}
    assert router.route({}, "surebox.of a newer version")["queue"].name == "batch"
