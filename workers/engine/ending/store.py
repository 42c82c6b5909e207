"""Store what an attempt has computed, before the transaction that states it; nothing stays of what did not succeed.

A process that dies between the two leaves objects that no row points to; housekeeping removes them. Keys are an
attempt's own, and what a row points to by now is kept: a commit whose answer was lost may have succeeded.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import structlog

from app.contracts.base import JOB_ONLY, new_id
from app.contracts.datasets import DatasetColumn, Profile, TypeSource
from app.contracts.flags import Flag
from app.contracts.inputs import DatasetInput
from app.contracts.releases import ReleaseState
from app.contracts.stored import StoredSpec
from app.contracts.warnings import WarningCode, warning
from app.datasets.delete import remove_leftovers
from app.db.repositories import expiry
from app.db.repositories.claims import Claim
from app.db.repositories.job_results import StoredResult
from app.db.repositories.releases import ReleaseFile, ReleaseRow
from app.db.session import Database
from app.errors import UnavailableError
from app.methods.ingest.spec import INGEST
from app.settings import Settings
from app.storage.protocol import Storage, Writer
from workers.engine.families import Recognised, recognised
from workers.engine.resources import WorkerResources
from workers.methods.outcome import DatasetDraft, Outcome, ReleaseDraft

#: What a release states about its making that names columns of the dataset, published or not.
_NAMING: Final = ("quasi_identifiers", "keep", "sensitive", "person_column", "survey_weight_column")
#: Names that a warning spells out.
_MANY: Final = 20

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release whose files are stored.

    Attributes
    ----------
    row, files
        As they are to be written once the release is reviewed.
    draft
        As the runner has left it, in the scratch folder.
    link
        Key and size of what states which record each row represents.
    """

    row: ReleaseRow
    files: tuple[ReleaseFile, ...]
    draft: ReleaseDraft
    link: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A typed copy that is stored, and by what its data are recognised."""

    id: str
    profile: Profile
    key: str
    bytes: int
    signature: Recognised


@dataclass(frozen=True, slots=True)
class Stored:
    """An outcome with its bytes in place."""

    outcome: Outcome
    result: StoredResult
    release: StoredRelease | None = None
    dataset: StoredDataset | None = None


def store(claimed: Claim, outcome: Outcome, *, storage: Storage, at: WorkerResources) -> Stored:
    """Store values too large for a row, under its checksum."""
    outcome = with_inferred_types(outcome, claimed.inputs.dataset)
    release = None if outcome.release is None else _store_release(claimed, outcome.release, storage=storage)
    dataset = None if outcome.dataset is None else _store_dataset(claimed, outcome.dataset, storage=storage, at=at)
    return Stored(outcome, _store_result(claimed, outcome, storage=storage, settings=at.settings), release, dataset)


class Traces:
    """A storage that remembers the keys it was requested to write; else as the one it is before."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._keys: list[str] = []
        self.chunks, self.fetch, self.delete = storage.chunks, storage.fetch, storage.delete
        self.move, self.list, self.sweep, self.check = storage.move, storage.list, storage.sweep, storage.check

    @contextmanager
    def writer(self, key: str) -> Iterator[Writer]:
        """Write one object."""
        self._keys.append(key)
        with self._storage.writer(key) as writer:
            yield writer

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of a file."""
        self._keys.append(key)
        self._storage.put_file(key, path)

    def remove(self, claimed: Claim, database: Database) -> None:
        """The attempt has ended: remove what no row points to, and the upload that was read, or refused.

        What cannot be removed now is housekeeping's.
        """
        try:
            if self._keys:
                with database.read() as connection:
                    kept = expiry.referenced(connection, keys=self._keys)
                for key in set(self._keys) - kept:
                    self._storage.delete(key)
            made_from = claimed.inputs.dataset
            if claimed.kind == INGEST and made_from is not None:
                remove_leftovers(database=database, storage=self._storage, dataset_id=made_from.id)
        except UnavailableError as error:
            log.warning("job.traces_left", error=type(error).__name__)


def _store_release(claimed: Claim, draft: ReleaseDraft, *, storage: Storage) -> StoredRelease:
    release_id = new_id("rel")
    files = []
    for name, file in sorted(draft.files.items()):
        key = f"releases/{release_id}/{file.sha256}.{name}"
        storage.put_file(key, file.path)
        served = name in claimed.spec.get("formats", draft.files)
        files.append(ReleaseFile(format=name, key=key, sha256=file.sha256, bytes=file.bytes, served=served))
    row = _row(claimed, draft, release_id=release_id)
    return StoredRelease(row, tuple(files), draft, _store_link(claimed, draft, storage=storage))


def _row(claimed: Claim, draft: ReleaseDraft, *, release_id: str) -> ReleaseRow:
    """The known facts of a release before its review; until that states otherwise it is a draft."""
    base, previous = claimed.inputs.base, claimed.inputs.previous
    flags = (*draft.flags, *((Flag.REPRODUCIBLE,) if claimed.seed is not None else ()))
    return ReleaseRow(
        id=release_id,
        owner=claimed.owner,
        job_id=claimed.id,
        dataset_id=_made_from(claimed).id if base is None else base.dataset_id,
        method=claimed.method,
        rows=draft.rows,
        columns=draft.columns,
        flags=[flag.value for flag in flags],
        tags={name: value for name, value in claimed.tags.items() if not name.startswith(JOB_ONLY)},
        statistics=draft.statistics,
        parameters=draft.parameters,
        warnings=draft.warnings,
        state=ReleaseState.DRAFT,
        made_by=claimed.requested_by,
        accepts_composition=bool(StoredSpec.of(claimed.spec).accept_findings),
        base_release_id=None if base is None else base.id,
        previous_release_id=None if previous is None else previous.id,
    )


def _store_dataset(claimed: Claim, draft: DatasetDraft, *, storage: Storage, at: WorkerResources) -> StoredDataset:
    dataset = _made_from(claimed)
    key = f"datasets/{dataset.id}/{uuid4().hex}.parquet"  # an attempt's own
    storage.put_file(key, draft.path)
    signature = recognised(draft.path, dataset_id=dataset.id, owner=claimed.owner, at=at)
    return StoredDataset(dataset.id, draft.profile, key, draft.path.stat().st_size, signature)


def _made_from(claimed: Claim) -> DatasetInput:
    if claimed.inputs.dataset is None:
        msg = f"job {claimed.id} made something of a dataset without one"
        raise ValueError(msg)
    return claimed.inputs.dataset


def _store_link(claimed: Claim, draft: ReleaseDraft, *, storage: Storage) -> tuple[str, int] | None:
    """Key and size of the link of rows to records: it belongs to the job, and is not served."""
    if draft.link is None:
        return None
    key = f"jobs/{claimed.id}/link-{claimed.attempt}.npy"
    storage.put_file(key, draft.link)
    return key, draft.link.stat().st_size


def _store_result(claimed: Claim, outcome: Outcome, *, storage: Storage, settings: Settings) -> StoredResult:
    whole = {"method": claimed.method, **outcome.summary, **outcome.result}
    body = json.dumps(whole, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    sha256 = hashlib.sha256(body).hexdigest()
    if len(body) <= settings.inline_artifact_bytes:
        return StoredResult(body=body, key=None, bytes=len(body), sha256=sha256)
    key = f"jobs/{claimed.id}/result-{claimed.attempt}-{sha256}.json"
    with storage.writer(key) as writer:
        writer.write(body)
    return StoredResult(body=None, key=key, bytes=len(body), sha256=sha256)


def with_inferred_types(outcome: Outcome, made_from: DatasetInput | None) -> Outcome:
    """The outcome of a job, with a flag and warnings where its release has columns whose types were inferred.

    Parameters
    ----------
    outcome
        What the runner made.
    made_from
        The dataset, where there is one: the later releases of a series bear the flag of their base.
    """
    draft = outcome.release
    if draft is None or made_from is None:
        return outcome
    inferred = [column for column in named_columns(draft, made_from) if _is_inferred(column)]
    if not inferred:
        return outcome
    said = warning(WarningCode.TYPES_INFERRED, _detail(inferred))
    flags = tuple(dict.fromkeys((*draft.flags, Flag.TYPES_FROM_DATA)))
    flagged = replace(draft, flags=flags, warnings=(*draft.warnings, said))
    return replace(outcome, release=flagged, warnings=(*outcome.warnings, said))


def named_columns(draft: ReleaseDraft, made_from: DatasetInput) -> list[DatasetColumn]:
    """Columns of the dataset that the release has, or names among its parameters; a warning may name no other."""
    names = {column["name"] for column in draft.columns} | _named(draft.parameters)
    return [column for column in made_from.columns if column.name in names]


def _named(parameters: Mapping[str, Any]) -> set[str]:
    given = [parameters[name] for name in _NAMING if parameters.get(name) is not None]
    return {name for one in given for name in ([one] if isinstance(one, str) else one)}


def _is_inferred(column: DatasetColumn) -> bool:
    """Also where the profile is older than the question."""
    return column.type_from in {TypeSource.DATA, None}


def _detail(columns: list[DatasetColumn]) -> str:
    names = ", ".join(repr(column.name) for column in columns[:_MANY])
    more = f" and {len(columns) - _MANY} more" if len(columns) > _MANY else ""
    return (
        f"the types of {names}{more} were inferred from the data, so one record can decide whether a column has whole "
        f"numbers, numbers, days or text, and the release shows which: declare them at upload, "
        f"as in `type={columns[0].name}:{columns[0].type}`"
    )
