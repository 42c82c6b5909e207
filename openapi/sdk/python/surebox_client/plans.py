"""What the client does, as plans: upload, submit, wait, follow, download, publish."""

import time
from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from surebox_client import errors
from surebox_client.progress import Progress
from surebox_client.steps import RETRIES, Body, Close, Emit, Next, Plan, Send, Session, Sleep, wire

if TYPE_CHECKING:
    from surebox_client._generated import types

#: Seconds that the service is let wait: at first, later, after a stream; that a stream of events may be silent (the
#: service breathes every 15).
_FIRST, _HELD, _AGAIN, SILENCE = 2.0, 25.0, 1.0, 20.0
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
    kind, packed, _ = body.media_type.partition("+gzip")
    headers = {"Content-Type": kind, **({"Content-Encoding": "gzip"} if packed else {})}
    headers |= {"Idempotency-Key": key} if key else {}
    send = Send("POST", "/v1/datasets", params=params, headers=headers, body=body)
    dataset: types.Dataset = (yield from session.call(send)).json()
    wait = 0.25
    while dataset["state"] == "ingesting":
        yield Sleep(wait)
        wait = min(2 * wait, _POLL_SECONDS)
        dataset = yield from session.get(f"/v1/datasets/{quote(dataset['id'])}")
    if dataset["error"] is not None:
        raise errors.problem_error(dataset["error"])
    return dataset


def post(session: Session, path: str, body: Any, key: str | None = None) -> Plan[Any]:
    """What an address answers to a body, or to none."""
    headers = {"Idempotency-Key": key} if key else {}
    return (yield from session.call(Send("POST", path, json=wire(body), headers=headers))).json()


def wait(session: Session, job: "types.Job", timeout: float | None, progress: Progress) -> Plan["types.Job"]:
    """Follow a job until it has succeeded.

    Raises
    ------
    JobFailed, JobCancelled, WaitTimedOut
        As the names say.
    """
    try:
        job = yield from follow(session, job, timeout, progress)
    except KeyboardInterrupt:
        progress.say(f"Job {job['id']} goes on.")
        raise
    finally:
        progress.end()
    if job["state"] == "failed":
        raise errors.JobFailed(errors.problem_error(job["error"] or {}), job)
    if job["state"] == "cancelled":
        raise errors.JobCancelled(f"Job {job['id']} was cancelled", job)
    return job


def follow(
    session: Session, job: "types.Job", timeout: float | None = None, progress: Progress | None = None
) -> Plan["types.Job"]:
    """Emit a job whenever it is heard of, until it has ended: a request that is held, then events, else polling.

    Raises
    ------
    WaitTimedOut
        It had not ended in time.
    """
    following = _Following(session, job, timeout, progress)
    while True:
        yield from following.ask()
        if following.streams and following.job["state"] not in _FINAL and following.left() > _HELD:
            yield from following.stream()
        if following.job["state"] in _FINAL:
            return following.job
        if following.left() <= 0:
            raise errors.WaitTimedOut(f"Job {job['id']} had not ended in {timeout:g} s; it goes on.", following.job)


class _Following:
    """A job that is followed: what was last heard of it, and which ways of hearing of it are left."""

    def __init__(self, session: Session, job: "types.Job", timeout: float | None, progress: Progress | None) -> None:
        self.job, self._session, self._progress = job, session, progress
        self._deadline = float("inf") if timeout is None else time.monotonic() + timeout
        self._path, self._last, self._seconds = f"/v1/jobs/{quote(job['id'])}", "", _FIRST
        self.streams = self._held = True

    def left(self) -> float:
        return self._deadline - time.monotonic()

    def _heard(self, job: "types.Job") -> Emit:
        self.job, progress = job, job["progress"]
        if self._progress is not None:
            parts = (job["method"], progress["stage"] or job["state"], progress.get("detail"))
            self._progress.update(progress["fraction"], ": ".join(str(part) for part in parts if part))
        return Emit(job)

    def ask(self) -> Plan[None]:
        """Read the job once it has ended, or after some seconds."""
        seconds, self._seconds = min(self._seconds, max(self.left(), 0)), _HELD
        if not self._held:
            yield Sleep(min(seconds, _POLL_SECONDS))
        prefer = {"Prefer": f"wait={max(1, round(seconds))}"} if self._held and seconds >= 0.5 else {}
        send = Send("GET", self._path, headers=prefer)
        try:
            yield self._heard((yield from self._session.call(send, retries=1 if prefer else RETRIES)).json())
        except (errors.ConnectionFailedError, errors.ProblemError) as error:
            if not prefer or (isinstance(error, errors.ProblemError) and error.status not in (502, 503, 504)):
                raise
            self._held = False  # a proxy may not wait for so long; ask without

    def stream(self) -> Plan[None]:
        """Hear events until the job has ended, the stream breaks, or little time is left."""
        from surebox_client.http import Events

        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self._last} if self._last else {})}
        send = Send("GET", f"{self._path}/events", {}, headers, stream=True, silence=SILENCE)
        before, events = self._last, Events()
        try:
            answer = yield from self._session.call(send, retries=1)
            while (piece := (yield Next(answer))) is not None and self.left() > _HELD:
                for self._last, data in events.of(piece):
                    yield self._heard(loads(data))
            yield Close(answer)
        except (errors.ConnectionFailedError, errors.ProblemError):
            pass  # the job is read next: if more than this stream is wrong, that raises
        self.streams, self._seconds = self._last != before, _AGAIN  # nothing came: a proxy keeps events back


def download(session: Session, release: "types.Release", form: str, path: Path, progress: Progress) -> Plan[Path]:
    """Download one file of a release, going on with the bytes of an earlier try.

    Raises
    ------
    DamagedDownloadError
        The bytes are not those that the service names.
    ConnectionFailedError
        Nothing more came, however often it was tried.
    """
    file = release["files"][form]
    part = path.with_name(f".{path.name}.{file['sha256'][:16]}.part")
    headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
    send = Send("GET", f"/v1/releases/{quote(release['id'])}/data", {"format": form}, headers, stream=True)
    failures = 0
    with part.open("ab") as output:
        while (have := output.tell()) < file["bytes"]:
            ranged = {"Range": f"bytes={have}-", "If-Range": f'"{file["sha256"]}"'} if have else {}
            try:
                answer = yield from session.call(send._replace(headers={**headers, **ranged}))
                if answer.status != 206:
                    output.truncate(0)
                while (piece := (yield Next(answer))) is not None:
                    output.write(piece)
                    progress.update(output.tell() / file["bytes"], path.name)
                yield Close(answer)
            except errors.ConnectionFailedError:
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
        raise errors.DamagedDownloadError(f"{path.name}: These are not the bytes of the release. Download it again.")
    return part.replace(path)


def bundle(session: Session, release: str, path: Path) -> Plan[Path]:
    """Download the archive of a release; its report may have to be written first."""
    address = f"/v1/releases/{quote(release)}/bundle.zip"
    send = Send("GET", address, headers={"Prefer": f"wait={_HELD:g}"})
    while (answer := (yield from session.call(send))).status == 202:
        pass
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(answer.content)
    return part.replace(path)


def change(session: Session, path: str, body: Mapping[str, Any]) -> Plan[Any]:
    """Publish or withdraw a release; where it must be composed again first, wait for the job that does."""
    yield from answered(session, path, body)
    return (yield from session.get(path.rpartition("/")[0]))


def latest(session: Session, params: Mapping[str, Any]) -> Plan[Any]:
    """The newest published release of a series or of what has a tag."""
    answer = yield from session.call(Send("GET", "/v1/releases/latest", params=params))
    return (yield from session.get(f"/v1/releases/{answer.headers.get('location', '').rpartition('/')[2]}"))


def chosen_format(release: "types.Release", name: str, wanted: str | None) -> "types.ReleaseFormatSpec":
    """The format of a file that is wanted, or that its name has.

    Raises
    ------
    SureboxError
        The release has no such file.
    """
    files = release["files"]
    if wanted is None:
        named = "csv.gz" if name.lower().endswith(".csv.gz") else name.lower().rpartition(".")[2]
        wanted = _ENDINGS.get(named, named)
        wanted = wanted if wanted in files or named in ("csv", "parquet", "ndjson", "csv.gz") else next(iter(files), "")
    if wanted not in files:
        there = ", ".join(files) or "none, any more"
        raise errors.SureboxError(f"The release has no file of format {wanted!r}; name one that it has: {there}")
    return wanted


def types_of(release: "types.Release") -> dict[str, str]:
    """The type of each column of a release, in the order of its files."""
    return {column["name"]: column["type"] for column in release["columns"]}


def answered(session: Session, path: str, body: Mapping[str, Any]) -> Plan[Any]:
    """Post a body to a release, without its fields that are None, and return the answer; wait for a job."""
    given = {name: each for name, each in body.items() if each is not None}
    answer = yield from session.call(Send("POST", path, json=wire(given)))
    if answer.status != 202:
        return answer.json()
    return (yield from wait(session, answer.json(), None, Progress()))["result"]


def raw(session: Session, path: str) -> Plan[bytes]:
    """The bytes at an address."""
    return (yield from session.call(Send("GET", path, headers={"Accept": "*/*"}))).content


def release_of(job: "types.Job") -> str:
    """The id of the release that a job made.

    Raises
    ------
    SureboxError
        It made none, or none yet.
    """
    if job["release_id"] is None:
        why = "it has not ended: call .wait() first" if job["state"] not in _FINAL else "jobs of its method make none"
        raise errors.SureboxError(f"Job {job['id']} ({job['method']}, {job['state']}) has no release: {why}")
    return job["release_id"]
