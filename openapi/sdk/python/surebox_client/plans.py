"""What the client does, as plans: upload, submit, wait, follow, download, publish."""

import time
from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from surebox_client.errors import (
    ConnectionFailedError,
    DamagedDownloadError,
    JobCancelled,
    JobFailed,
    ProblemError,
    SureboxError,
    WaitTimedOut,
    problem_error,
)
from surebox_client.progress import Progress
from surebox_client.steps import RETRIES, Answer, Body, Close, Emit, Event, Next, Plan, Send, Session, Sleep, wire

if TYPE_CHECKING:
    from surebox_client._generated import types

#: Seconds that the service is let wait; that a stream of events may be silent (the service breathes every 15).
_HELD, SILENCE = 25, 20.0
_FINAL: Final = ("succeeded", "failed", "cancelled")
#: A job that cannot be followed is read every so many seconds, where a proxy does not let the service wait either.
_POLL_SECONDS: Final = 2.0
_ENDINGS: Final = {"gz": "csv.gz", "jsonl": "ndjson"}


def upload(session: Session, body: Body, params: Mapping[str, Any], key: str | None) -> Plan["types.Dataset"]:
    """Upload a file, and wait until it is read.

    Raises
    ------
    ProblemError
        It is refused, or cannot be read.
    """
    headers = {"Content-Type": body.media_type, **({"Idempotency-Key": key} if key else {})}
    if body.media_type.endswith("+gzip"):
        headers |= {"Content-Type": body.media_type.removesuffix("+gzip"), "Content-Encoding": "gzip"}
    send = Send("POST", "/v1/datasets", params=params, headers=headers, body=body)
    dataset: types.Dataset = (yield from session.call(send)).json()
    wait = 0.25
    while dataset["state"] == "ingesting":
        yield Sleep(wait)
        wait = min(2 * wait, _POLL_SECONDS)
        dataset = yield from session.get(f"/v1/datasets/{quote(dataset['id'])}")
    if dataset["error"] is not None:
        raise problem_error(dataset["error"])
    return dataset


def submit(session: Session, path: str, spec: Mapping[str, Any], key: str | None) -> Plan["types.Job"]:
    """Create a job."""
    headers = {"Idempotency-Key": key} if key else {}
    job: types.Job = (yield from session.call(Send("POST", path, json=wire(spec), headers=headers))).json()
    return job


def wait(session: Session, job: "types.Job", timeout: float | None, progress: Progress) -> Plan["types.Job"]:
    """Wait until a job has succeeded: by a request that is held, by events, or by asking again and again.

    Raises
    ------
    JobFailed, JobCancelled, WaitTimedOut
        As the names say.
    """
    waiting = _Waiting(session, job, timeout, progress)
    try:
        yield from waiting.until_final()
    except KeyboardInterrupt:
        progress.say(f"Job {job['id']} goes on; cancel it with .cancel(), or wait again: .job({job['id']!r}).wait()")
        raise
    finally:
        progress.end()
    job = waiting.job
    if job["state"] == "failed":
        raise JobFailed(problem_error(job["error"] or {}), job)
    if job["state"] == "cancelled":
        raise JobCancelled(f"Job {job['id']} was cancelled", job)
    return job


class _Waiting:
    """A job that is waited for; `job` is what was last heard of it."""

    def __init__(self, session: Session, job: "types.Job", timeout: float | None, progress: Progress) -> None:
        self.job = job
        self._session, self._progress, self._timeout = session, progress, timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._path = f"/v1/jobs/{quote(job['id'])}"
        self._last, self._streams, self._held = "", True, True

    def until_final(self) -> Plan[None]:
        yield from self._ask(2)
        while self.job["state"] not in _FINAL:
            left = self._left()
            if left <= 0:
                raise WaitTimedOut(f"Job {self.job['id']} had not ended in {self._timeout:g} s; it goes on", self.job)
            if self._streams and left > _HELD:
                yield from self._follow()
            else:
                yield from self._ask(min(_HELD, left))

    def _left(self) -> float:
        return float("inf") if self._deadline is None else self._deadline - time.monotonic()

    def _heard(self, job: "types.Job") -> None:
        self.job = job
        stage, fraction = job["progress"]["stage"] or job["state"], job["progress"]["fraction"]
        self._progress.update(fraction, f"{job['method']}: {stage}")

    def _ask(self, seconds: float) -> Plan[None]:
        """Read the job once it has ended, or after these seconds."""
        seconds = min(seconds, max(self._left(), 0))
        if not self._held:
            yield Sleep(min(seconds, _POLL_SECONDS))
        prefer = {"Prefer": f"wait={max(1, round(seconds))}"} if self._held and seconds >= 0.5 else {}
        try:
            answer = yield from self._session.call(
                Send("GET", self._path, headers=prefer), retries=1 if prefer else RETRIES
            )
        except (ConnectionFailedError, ProblemError) as error:
            if not prefer or (isinstance(error, ProblemError) and error.status not in (502, 503, 504)):
                raise
            self._held = False  # a proxy may not wait for so long; ask without
            return
        self._heard(answer.json())

    def _follow(self) -> Plan[None]:
        """Follow the events until the job has ended, the stream breaks, or little time is left."""
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self._last} if self._last else {})}
        send = Send("GET", f"{self._path}/events", headers=headers, stream=True, silence=SILENCE)
        before = self._last
        try:
            answer = yield from self._session.call(send, retries=1)
            while (event := (yield Next(answer))) is not None and self._left() > _HELD:
                if isinstance(event, Event) and event.data:
                    self._last = event.id
                    self._heard(loads(event.data))
            yield Close(answer)
        except (ConnectionFailedError, ProblemError):
            pass  # the job is read below: if more than this stream is wrong, that raises
        if self.job["state"] not in _FINAL:
            self._streams = self._last != before  # nothing came: a proxy keeps events back
            yield from self._ask(1)


def follow(session: Session, job: "types.Job") -> Plan[None]:
    """Emit the job each time that something changes, until it has ended."""
    last, path, silent = "", f"/v1/jobs/{quote(job['id'])}", 0
    while job["state"] not in _FINAL:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        try:
            answer = yield from session.call(
                Send("GET", f"{path}/events", headers=headers, stream=True, silence=SILENCE)
            )
            while (event := (yield Next(answer))) is not None:
                if isinstance(event, Event) and event.data:
                    last, silent, job = event.id, 0, loads(event.data)
                    yield Emit(job)
            yield Close(answer)
        except ConnectionFailedError:
            silent += 1
            if silent > RETRIES:
                raise
        if job["state"] not in _FINAL:  # the stream broke; where it is held back there is something new here
            seen, job = job, (yield from session.get(path))
            if job["state"] != seen["state"]:
                yield Emit(job)


def download(session: Session, release: "types.Release", form: str, path: Path, progress: Progress) -> Plan[Path]:
    """Download one file of a release, going on with the bytes of an earlier try.

    Raises
    ------
    DamagedDownloadError
        The bytes are not those that the service names.
    ConnectionFailedError
        Nothing more came, however often it was tried.
    """
    file = cast("dict[str, types.ReleasedFile]", release["files"])[form]
    part = path.with_name(f".{path.name}.{file['sha256'][:16]}.part")
    headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
    send = Send("GET", f"/v1/releases/{quote(release['id'])}/data", {"format": form}, headers, stream=True)
    failures = 0
    with part.open("ab") as output:
        while (have := output.tell()) < file["bytes"]:
            ranged = {"Range": f"bytes={have}-", "If-Range": f'"{file["sha256"]}"'} if have else {}
            try:
                answer = yield from session.call(send._replace(headers={**send.headers, **ranged}))
                yield from _received(answer, output, file["bytes"], path.name, progress)
            except ConnectionFailedError:
                output.flush()
                failures = 0 if output.tell() > have else failures + 1
                if failures > RETRIES:
                    raise
                yield Sleep(0.1 + failures)
            else:
                if output.tell() <= have:
                    break
    progress.end()
    import hashlib

    with part.open("rb") as whole:
        digest = hashlib.file_digest(whole, "sha256").hexdigest()
    if digest != file["sha256"]:
        part.unlink()
        raise DamagedDownloadError(f"{path.name}: the bytes that came are not those of the release; download it again")
    part.replace(path)
    return path


def _received(answer: Answer, output: IO[bytes], size: int, what: str, progress: Progress) -> Plan[None]:
    if answer.status != 206:
        output.truncate(0)
    try:
        while (piece := (yield Next(answer))) is not None:
            output.write(piece)
            progress.update(output.tell() / size, what)
    finally:
        yield Close(answer)


def bundle(session: Session, release: str, path: Path) -> Plan[Path]:
    """Download the archive of a release; its report may have to be written first."""
    address = f"/v1/releases/{quote(release)}/bundle.zip"
    answer = yield from session.call(Send("GET", address, headers={"Prefer": f"wait={_HELD}"}))
    while answer.status == 202:
        answer = yield from session.call(Send("GET", address, headers={"Prefer": f"wait={_HELD}"}))
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(answer.content)
    part.replace(path)
    return path


def change(session: Session, release: str, verb: str, body: Mapping[str, Any]) -> Plan["types.Release"]:
    """Publish or withdraw a release; where it must be composed again first, wait for the job that does."""
    answer = yield from session.call(Send("POST", f"/v1/releases/{quote(release)}/{verb}", json=wire(body)))
    if answer.status == 202:
        yield from wait(session, answer.json(), None, Progress())
    changed: types.Release = yield from session.get(f"/v1/releases/{quote(release)}")
    return changed


def latest(session: Session, params: Mapping[str, Any]) -> Plan["types.Release"]:
    """The newest published release of a series or of what has a tag."""
    answer = yield from session.call(Send("GET", "/v1/releases/latest", params=params))
    identifier = answer.headers.get("location", "").rpartition("/")[2]
    release: types.Release = yield from session.get(f"/v1/releases/{identifier}")
    return release


def delete(session: Session, address: str) -> Plan[None]:
    """Delete the resource at an address."""
    yield from session.call(Send("DELETE", address))


def chosen_format(release: "types.Release", path: Path | None, wanted: str | None) -> str:
    """The format of a file that is wanted, or that its name has.

    Raises
    ------
    SureboxError
        The release has no such file.
    """
    files = release["files"]
    if wanted is None:
        ending = "" if path is None else path.name.lower().rpartition(".")[2]
        named = "csv.gz" if path is not None and path.name.lower().endswith(".csv.gz") else ending
        wanted = _ENDINGS.get(named, named) if named else ""
        wanted = wanted if wanted in files or named in ("csv", "parquet", "ndjson", "csv.gz") else next(iter(files), "")
    if wanted not in files:
        there = ", ".join(files) or "none, any more"
        raise SureboxError(f"The release has no file of format {wanted!r}; it has {there}: name one with format=")
    return wanted


def answered(session: Session, path: str, body: Mapping[str, Any]) -> Plan[Any]:
    """What a release answers to a question; where that takes long, its job is waited for."""
    answer = yield from session.call(Send("POST", path, json=wire(body)))
    if answer.status != 202:
        return answer.json()
    return (yield from wait(session, answer.json(), None, Progress()))["result"]


def post(session: Session, path: str, body: Any) -> Plan[Any]:
    """What an address answers to a body, or to none."""
    return (yield from session.call(Send("POST", path, json=wire(body)))).json()


def raw(session: Session, path: str) -> Plan[bytes]:
    """The bytes at an address."""
    answer = yield from session.call(Send("GET", path, headers={"Accept": "*/*"}))
    return answer.content


def release_of(job: "types.Job") -> str:
    """The id of the release that a job made.

    Raises
    ------
    SureboxError
        It made none, or none yet.
    """
    if job["release_id"] is None:
        why = "it has not ended: call .wait() first" if job["state"] not in _FINAL else "jobs of its method make none"
        raise SureboxError(f"Job {job['id']} ({job['method']}, {job['state']}) has no release: {why}")
    return job["release_id"]
