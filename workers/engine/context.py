"""What a claimed job's runner is given: files and opened secrets, for it sees neither database nor storage."""

import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import structlog

from app.contracts.inputs import Inputs
from app.contracts.jobs import JobProgress, Queue
from app.db.repositories import draws, families, job_results, recognition, releases
from app.db.repositories.claims import Claim
from app.db.repositories.families import KeptOf
from app.db.repositories.job_results import StoredResult
from app.db.repositories.release_access import keeper_of
from app.errors import NotFoundError, SureboxError
from app.methods.catalogue import METHODS
from app.methods.frequencies import counted
from app.secrets.keep import column_secrets, owner_secret, seal_anew
from app.secrets.seal import service_sealer
from app.settings import Settings
from workers.engine.families import continued, family_of
from workers.engine.randomness import new_generator
from workers.engine.resources import WorkerResources, resources
from workers.methods.context import InputFile, JobContext, JobPart, Limits
from workers.methods.protocol import AnyRunner, Keyed

log = structlog.get_logger(__name__)


def job_context(
    claimed: Claim, resources: WorkerResources, *, scratch: Path, on_tick: Callable[[JobProgress], None]
) -> JobContext:
    """The context of one attempt; a dataset that is still to be read is not in it."""
    return JobContext(
        id=claimed.id,
        method=claimed.method,
        spec=claimed.spec,
        seed=claimed.seed,
        inputs=counted(_read(claimed.inputs), claimed.spec),
        draw=_draw(claimed, resources),
        scratch=scratch,
        limits=_limits(resources.settings, queue=claimed.queue),
        threads=resources.threads,
        part=None if claimed.part is None else JobPart(claimed.part, claimed.parts or 1),
        rng=new_generator(claimed.seed),
        fetch=InputFiles(claimed, resources, scratch=scratch).fetch,
        on_tick=on_tick,
    )


def _read(inputs: Inputs) -> Inputs:
    if any(release.key is None for release in inputs.releases.values()):
        raise NotFoundError("there is no release with this id")
    there = {role: dataset for role, dataset in inputs.datasets.items() if dataset.key is not None}
    return Inputs(there, inputs.releases, inputs.jobs)


def _limits(settings: Settings, *, queue: str) -> Limits:
    """Limits of a job; only the interactive queue keeps releases ready, for the next question to them."""
    return Limits(
        max_columns=settings.max_columns,
        max_field_bytes=settings.max_field_bytes,
        max_upload_bytes=settings.max_upload_bytes,
        release_cache_bytes=settings.release_cache_bytes if queue == Queue.INTERACTIVE else 0,
        split_seconds=settings.split_seconds,
    )


def _draw(claimed: Claim, resources: WorkerResources) -> int:
    """Looked up anew for each attempt: others may have published since the job was accepted."""
    method, made_from = METHODS.get(claimed.method), claimed.inputs.dataset
    if method is None or not method.draws or made_from is None:
        return 1
    with resources.database.read() as connection:
        published = draws.count_published(connection, owner=claimed.owner, method=claimed.method, made_from=made_from)
    return published + 1


class InputFiles:
    """The inputs of one claimed job as local files, each fetched once."""

    def __init__(self, claimed: Claim, resources: WorkerResources, *, scratch: Path) -> None:
        self._claimed, self._resources, self._scratch = claimed, resources, scratch
        self._datasets = counted(claimed.inputs, claimed.spec).datasets

    def fetch(self, kind: InputFile, field: str) -> Path | None:
        """One input's bytes, by the field that names the input; None where there are none."""
        made = {
            InputFile.DATASET: self._dataset,
            InputFile.RELEASE: self._release,
            InputFile.LINK: self._link,
            InputFile.STATISTICS: self._statistics,
            InputFile.RESULT: self._result,
            InputFile.UPLOAD: self._upload,
            InputFile.ORIGINAL: self._original,
            InputFile.PERSONS: self._persons,
            InputFile.PERSONS_KEY: self._persons_key,
            InputFile.VERSIONS: self._versions,
            InputFile.VERSIONS_KEY: self._versions_key,
            InputFile.WIDTHS: self._widths,
        }
        return made[kind](field)

    def stored(self, key: str) -> Path:
        """A stored object."""
        path = self._scratch / key.replace("/", "-")
        if not path.exists():
            part = path.with_name(path.name + ".part")
            self._resources.storage.fetch(key, part)
            part.rename(path)
        return path

    def result(self, name: str, stored: StoredResult) -> Path:
        """A whole result, in storage or in the database."""
        return self.stored(stored.key) if stored.key is not None else self._written(name, stored.body or b"{}")

    def _dataset(self, field: str) -> Path | None:
        one = self._datasets[field]
        return self._of_persons(self._fetched(one.key), one.frequency_column)

    def _release(self, field: str) -> Path | None:
        return self._fetched(self._claimed.inputs.releases[field].key)

    def _link(self, field: str) -> Path | None:
        return self._fetched(self._claimed.inputs.releases[field].link_key)

    def _statistics(self, field: str) -> Path | None:
        release = self._claimed.inputs.releases[field]
        with self._resources.database.read() as connection:
            stored = releases.get_statistics(connection, viewer=keeper_of(self._claimed.owner), release_id=release.id)
        body = None if stored is None else json.dumps(stored.statistics).encode()
        return None if body is None else self._written(f"{release.id}-statistics", body)

    def _result(self, field: str) -> Path | None:
        earlier = self._claimed.inputs.jobs[field]
        with self._resources.database.read() as connection:
            stored = job_results.get_result(connection, job_id=earlier.id)
        return None if stored is None else self.result(earlier.id, stored)

    def _upload(self, field: str) -> Path | None:  # noqa: ARG002 - a job reads one upload
        return self._fetched(self._claimed.spec.get("staged_key"))

    def _original(self, field: str) -> Path | None:
        made = self._claimed.inputs.releases[field].made
        return self._of_persons(self._if_there(self._kept(field).data_key), made.frequency_column)

    def _of_persons(self, path: Path | None, column: str | None) -> Path | None:
        """A typed copy with a row for each person, where a column counts them."""
        if path is None or column is None:
            return path
        from workers.frames.expanded import rows_of_persons  # once the worker has been forked (registry.py)

        return rows_of_persons(path, column)

    def _persons(self, field: str) -> Path | None:
        return self._if_there(self._kept(field).persons_key)

    def _if_there(self, key: str | None) -> Path | None:
        """An object that may be gone: its dataset is being deleted, or it was lost."""
        try:
            return self._fetched(key)
        except FileNotFoundError:
            return None

    def _persons_key(self, field: str) -> Path | None:
        under = self._kept(field).persons_under
        return None if under is None else self._secret(field, "persons", under)

    def _versions(self, field: str) -> Path | None:
        """Ledgers of all versions up to a release, the last one first; None where its family does not have them."""
        release_id = self._claimed.inputs.releases[field].id
        with self._resources.database.read() as connection:
            family_id = releases.family_of(connection, release_id=release_id) or ""
            entries = families.ledger(connection, owner=self._claimed.owner, family_id=family_id)
        keys = [one.key for one in continued(entries, release_id)]
        if not keys or None in keys:
            return None
        return self._written(f"{release_id}-versions", json.dumps([str(self._fetched(one)) for one in keys]).encode())

    def _versions_key(self, field: str) -> Path | None:
        path = self._persons(field)
        if path is None:
            return None
        from workers.frames.persons import key_of_shown_records  # once the worker has been forked (registry.py)

        return self._secret(field, "versions", key_of_shown_records(path))

    def _widths(self, field: str) -> Path | None:
        dataset_id = self._claimed.inputs.datasets[field].id
        with self._resources.database.read() as connection:
            family_id = families.of_dataset(connection, dataset_id=dataset_id)
            if family_id is None:
                return None
            widths = families.least_widths(connection, owner=self._claimed.owner, family_id=family_id)
        return self._written(f"{dataset_id}-widths", json.dumps(widths).encode())

    def _secret(self, field: str, what: str, name: str) -> Path:
        at = self._resources
        key = owner_secret(at.database, service_sealer(at.settings), owner=self._claimed.owner, name=name)
        path = self._scratch / f"{self._claimed.inputs.releases[field].id}-{what}.key"
        path.touch(mode=0o600)
        path.write_bytes(key)
        return path

    def _kept(self, field: str) -> KeptOf:
        release = self._claimed.inputs.releases[field]
        with self._resources.database.read() as connection:
            return families.kept_of(connection, owner=self._claimed.owner, release_id=release.id)

    def _fetched(self, key: str | None) -> Path | None:
        return None if key is None else self.stored(key)

    def _written(self, name: str, body: bytes) -> Path:
        path = self._scratch / f"{name}.json"
        path.write_bytes(body)
        return path


def with_persons(job: JobContext, claimed: Claim, at: WorkerResources) -> JobContext:
    """The job with exact profiles of the persons that its data count, whose family is that of a table of these."""
    counts = {role: one for role, one in job.datasets.items() if one.frequency_column is not None}
    if not counts:
        return job
    from workers.frames.expanded import missing_by_column  # once the worker has been forked (registry.py)

    job.tick(0.0, "read")
    datasets, files = dict(job.datasets), InputFiles(claimed, at, scratch=job.scratch)
    for role, one in counts.items():
        path, named = job.dataset_path(role), {"dataset_id": one.id, "owner": claimed.owner}
        family_of(files.stored(one.key or ""), **named, at=at)  # of counts that were confirmed since they were read
        family_of(path, **named, at=at, counted_by=one.frequency_column)
        missing = missing_by_column(path)
        columns = tuple(each.model_copy(update={"missing": missing[each.name]}) for each in one.columns)
        datasets[role] = replace(one, profile=one.profile.model_copy(update={"columns": columns}))
    return replace(job, inputs=replace(job.inputs, datasets=datasets))


def with_secrets(runner: AnyRunner, job: JobContext, claimed: Claim, at: WorkerResources) -> JobContext:
    """The job with the secrets that its runner is keyed by; under a given seed they follow from that.

    Raises
    ------
    app.errors.SureboxError
        When a secret cannot be opened.
    """
    if not isinstance(runner, Keyed):
        return job
    from workers.frames.digests import column_digests  # once the worker has been forked (registry.py)

    names = list(runner.keyed_by(job))
    if not names:
        return job
    job.tick(0.0, "read")
    path = job.dataset_path()
    digests = column_digests(path, names)
    made_from = claimed.inputs.dataset
    if job.seed is not None or made_from is None:
        made = [hmac.digest(f"surebox seed {job.seed}".encode(), digest, "sha256") for digest in digests]
    else:
        counted_by = None if job.dataset is None else job.dataset.frequency_column
        family_id = family_of(path, dataset_id=made_from.id, owner=claimed.owner, at=at, counted_by=counted_by)
        made = column_secrets(
            at.database, service_sealer(at.settings), owner=claimed.owner, family_id=family_id, digests=digests
        )
    return replace(job, secrets=dict(zip(names, made, strict=True)))


def seal_anew_where_asked() -> None:
    """Seal under the service's present secret what its previous one has sealed, and sketches that none has."""
    here = resources()
    try:
        if here.settings.previous_server_secret.get_secret_value() or _has_unsealed(here):
            log.info("secrets.sealed_anew", count=seal_anew(here.database, service_sealer(here.settings)))
    except SureboxError as error:  # they are opened all the same, if one of both secrets is right
        log.warning("secrets.not_sealed_anew", reason=error.detail)


def _has_unsealed(here: WorkerResources) -> bool:
    with here.database.read() as connection:
        return recognition.has_unsealed(connection)
