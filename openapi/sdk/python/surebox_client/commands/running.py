"""A job from its request to its end, once for an idempotency key."""

import argparse
import hmac
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from surebox_client import errors
from surebox_client.commands.data import earlier_dataset, uploaded
from surebox_client.commands.exits import UsageError
from surebox_client.commands.options import reading
from surebox_client.commands.output import print_json, say
from surebox_client.commands.spec import typed
from surebox_client.commands.where import marking_key, progress

if TYPE_CHECKING:
    from surebox_client import Job, Surebox

#: Tags of a job that an idempotency key has made: marks of the key, and of what was ordered under it. The job keeps
#: them (`job.`), its release does not get them.
_KEY, _ORDER = "job.idempotency", "job.idempotency-order"
_ROUNDS: Final = 3

Ending = Callable[["Job"], int]


def run_once(service: "Surebox", given: argparse.Namespace, body: dict[str, Any], *, end: Ending) -> int:
    """Upload, have the file anonymized, wait, and end; with an idempotency key what it has made before is taken up.

    A release of a series has no file.

    The service repeats the answer to a job's request only where the body is the same, and that names the rows, which
    are deleted once a command has its answer: so a mark of the key is a tag of the job as well. What the file holds
    is no part of it: a key stands for a run, such as that of a night.
    """
    if given.idempotency_key is None:
        return _run(service, given, body, end=end, key=None)
    secret = marking_key(given)
    key, order = mark(secret, given.idempotency_key), mark(secret, [body, reading(given), given.earlier])
    body = body | {"tags": {**body.get("tags", {}), _KEY: key, _ORDER: order}}
    for attempt in range(_ROUNDS):
        failures = 0
        for job in service.jobs(tag=f"{_KEY}:{key}"):
            if job.data["tags"].get(_ORDER) != order:
                raise UsageError(f"The idempotency key was used for another order, {job.id}: use a new one.")
            if job.state not in ("failed", "cancelled"):
                progress(given)(f"The idempotency key has made {job.id} already.")
                return settle(job, given, end=end)
            failures += 1
        try:
            return _run(service, given, body, end=end, key=f"{key}-{failures}")
        except (errors.IdempotencyMismatchError, errors.RequestInFlightError):
            if attempt + 1 == _ROUNDS:  # another command with this key was first, and its job has yet to be seen
                raise
    raise AssertionError


def _run(service: "Surebox", given: argparse.Namespace, body: dict[str, Any], *, end: Ending, key: str | None) -> int:
    if body.get("base_release_id") is not None:
        job = submitted(lambda: service.anonymize(body, idempotency_key=key))
        return settle(job, given, end=end)
    with uploaded(service, given, version_of_dataset_id=earlier_dataset(service, given)) as dataset:
        order = typed(body, dataset.data["columns"] or []) | {"dataset_id": dataset.id}
        job = submitted(lambda: service.anonymize(order, idempotency_key=key))
        return settle(job, given, end=end)


def settle(job: "Job", given: argparse.Namespace, *, end: Ending) -> int:
    """Wait for a job and end with it, or leave it where the command is not to wait."""
    if given.no_wait:
        print_json({"job_id": job.id, "state": job.state})
        progress(given)(left(job))
        return 0
    return end(waited(job, given))


def submitted(send: Callable[[], "Job"]) -> "Job":
    """The job that a request has made; an interrupt is raised once the message can name the job, which goes on."""
    with _interrupts_held() as held:
        job = send()
    if held:
        say(f"Job {job.id} goes on.")
        say(left(job))
        raise KeyboardInterrupt
    return job


@contextmanager
def _interrupts_held() -> Iterator[list[int]]:
    """Note the first interrupt, for a request that is soon answered; a second one is heard at once."""
    held: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if held:
            raise KeyboardInterrupt
        held.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def waited(job: "Job", given: argparse.Namespace) -> "Job":
    """The job once it has succeeded; an interrupt leaves it and says how to have its answer."""
    try:
        return job.wait(timeout=given.timeout, progress=False if given.quiet else None)
    except KeyboardInterrupt:
        say(left(job))
        raise


def left(job: "Job") -> str:
    """How to have the answer of a job that the command has left; rows that it has uploaded are deleted then."""
    spec = job.data["spec"]
    rows = "" if spec and spec.get("release_id") else ", and the uploaded rows deleted"
    return f"To have its answer{rows}: surebox wait {job.id}"


def mark(secret: bytes, value: Any) -> str:
    """What only who has the secret can make of a value (HMAC of SHA-256, 96 bits)."""
    return hmac.digest(secret, json.dumps(value, sort_keys=True, default=str).encode(), "sha256").hex()[:24]
