"""What Celery's own tools show of real workers: the commands of the operations page, and events where they are on."""

import base64
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import redis

from app.contracts.jobs import Queue
from app.methods.catalogue import SPECS
from app.queue import JobQueue, make_celery
from tests.faults.rig import Rig
from tests.meta.project import ROOT
from tests.servers import wait_until

COMMANDS = re.findall(r"^celery (.* --timeout \d+)$", (ROOT / "docs/operate/operations.md").read_text(), re.MULTILINE)


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


def test_ids_go_to_the_queue_that_their_job_was_admitted_to(rig: Rig) -> None:
    """Whatever its method is: a long question is of the batch queue."""
    sender = JobQueue(rig.settings)
    with redis.Redis.from_url(rig.redis_url) as client:
        for number, (method, queue) in enumerate(product(SPECS, Queue)):
            client.flushdb()
            assert sender.enqueue(f"job_{number}", method=method, queue=queue)
            assert [sender.depth(each) for each in Queue] == [int(each is queue) for each in Queue]
            assert f"job_{number}" in str(base64.b64decode(json.loads(client.lindex(queue, 0))["body"]))
