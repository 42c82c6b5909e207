"""A release composed with all that was published of the same data: with the ledger of its family.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from app.contracts.families import FamilyComposition
from app.contracts.findings import Review
from app.contracts.inputs import DatasetInput, ReleaseInput
from app.db.repositories import families, releases
from app.db.repositories.families import LedgerEntry, PersonColumn
from app.secrets.keep import owner_secret, seal_sketch
from app.secrets.seal import service_sealer
from workers.engine.families import continued, family_of, sketching_key
from workers.engine.randomness import new_generator
from workers.engine.resources import WorkerResources
from workers.methods.released.earlier import LEDGERED, Earlier, FamilyTerms

if TYPE_CHECKING:
    from surebox_core.types import FloatArray

_COMPOSITION: Final = "composition"


@dataclass(frozen=True)
class Candidate:
    """A release that is to be published.

    Attributes
    ----------
    owner
        Whose it is.
    release, path
        The known facts of it, and its Parquet file.
    link
        Which record each of its rows represents, as .npy; None where rows do not represent one.
    original, dataset
        The data that it was made from, and their typed copy; None of a later release of a series.
    scratch
        The folder of the job.
    history
        Of a version: the records that all versions have shown, where this job has made it.
    """

    owner: str
    release: ReleaseInput
    path: Path
    scratch: Path
    link: Path | None = None
    original: DatasetInput | None = None
    dataset: Path | None = None
    history: Path | None = None

    @property
    def spec(self) -> Mapping[str, Any]:
        """Of the job that has made it."""
        return self.release.spec

    @property
    def dataset_id(self) -> str:
        """The data that it, or the base of its series, was made from."""
        return self.release.dataset_id

    @property
    def counted_by(self) -> str | None:
        """The column that counts the persons whose rows `dataset` has."""
        return self.release.made.frequency_column

    @property
    def table(self) -> str:
        """The name of the table that it was made from: of one dataset rows and persons are two."""
        return _table(self.dataset_id, self.counted_by)

    @property
    def scale(self) -> "FloatArray | None":
        """The noise of each record of an uncertain release."""
        if self.release.method != "uncertain" or self.link is None or self.dataset is None:
            return None
        from workers.methods.released.release_exposure import linked_scale

        return linked_scale(self.path, self.release.made.quasi_identifiers, self.link, self.dataset)


def own_ledger(candidate: Candidate) -> Path | None:
    """The stored record of the release once it is published; None for a method of which its name states all."""
    if candidate.release.method not in LEDGERED:
        return None
    path = candidate.scratch / "ledger.parquet"
    if not path.exists():
        from workers.frames.ledger import write_ledger

        release = candidate.release
        write_ledger(candidate.path, path, method=release.method, spec=release.spec, merged_as=release.merged_as)
    return path


def composed(candidate: Candidate, *, at: WorkerResources) -> Review:
    """Compose the release with the publications of its family until now; a series adds nothing to its base."""
    if candidate.release.base is not None:
        return _composed_series(candidate, at, base=candidate.release.base)
    if candidate.dataset is None:
        raise ValueError("only a series is made without its data")
    from workers.methods.released.composed import Versions, composed_with, standing, with_versions

    named = {"dataset_id": candidate.dataset_id, "owner": candidate.owner}
    family_id = family_of(candidate.dataset, **named, at=at, counted_by=candidate.counted_by)
    with at.database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=candidate.owner)
        published = families.lock_composed(unit.connection, family_id=family_id)
        entries = families.ledger(unit.connection, owner=candidate.owner, family_id=family_id)
    spec, own = candidate.spec, own_ledger(candidate)
    there = {} if own is None else {digest(own): own}
    versions = continued(entries, candidate.release.previous)
    others = [one for one in entries if one not in versions and not _of_series(one, entries)]
    earlier, terms = [fetched(one, candidate, at, there) for one in others], terms_of(candidate, family_id, at)
    composition = composed_with(
        candidate.dataset, spec, own, earlier, rng=new_generator(None), terms=terms, scale=candidate.scale
    )
    if own is not None and versions:
        before = versions[0].composed
        ledgers = [fetched(one, candidate, at, there).ledger for one in versions]
        of = Versions(own, tuple(one for one in ledgers if one is not None), _history(candidate, at))
        left = None if before is None else FamilyComposition.model_validate(before)
        composition = with_versions(composition, of, left, candidate.release.made, alone=not earlier)
    return Review(
        findings=standing(composition, spec, own, earlier, terms),
        family_id=family_id,
        composed_after=published,
        composed=composition.model_dump(mode="json"),
    )


def _composed_series(candidate: Candidate, at: WorkerResources, *, base: str) -> Review:
    """What the family left before is what it leaves after: the release is a function of its base as published."""
    from workers.methods.released.composed import finding_of_series

    with at.database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=candidate.owner)
        family_id = releases.family_of(unit.connection, release_id=base)
        published = None if family_id is None else families.lock_composed(unit.connection, family_id=family_id)
        entries = families.ledger(unit.connection, owner=candidate.owner, family_id=family_id or "")
    last = next((one.composed for one in reversed(entries) if one.composed is not None), None)
    finding = finding_of_series(None if last is None else FamilyComposition.model_validate(last), candidate.spec)
    return Review(
        findings=() if finding is None else (finding,), family_id=family_id, composed_after=published, composed=last
    )


def terms_of(candidate: Candidate, family_id: str, at: WorkerResources) -> FamilyTerms:
    """What a family states about its tables, for the data that a release was made from."""
    name, made = families.persons_secret(family_id), candidate.release.made
    with at.database.read() as connection:
        named = families.persons_of(connection, family_id=family_id)
        is_new_version = families.is_new_version(connection, dataset_id=candidate.dataset_id)
    if (person := made.person_column) is not None:
        named = [*(one for one in named if one.name != person), PersonColumn(person, None)]
    called = {} if candidate.dataset is None else _called(candidate, candidate.dataset, named, at)
    demands = [one for one in made.gate if one["method"] == _COMPOSITION]
    return FamilyTerms(
        dataset_id=candidate.table,
        key=owner_secret(at.database, service_sealer(at.settings), owner=candidate.owner, name=name),
        under=name,
        persons={one: own for one, own in called.items() if own is not None},
        forgotten=tuple(one for one, own in called.items() if own is None),
        columns={old: new for one in demands for old, new in (one.get("join_columns") or {}).items()},
        is_new_version=is_new_version,
    )


def _called(
    candidate: Candidate, dataset: Path, named: Collection[PersonColumn], at: WorkerResources
) -> dict[str, str | None]:
    """What data call the person columns of their family: by their names, else by the same values."""
    from workers.frames.hashed_cells import cell_hashes, columns_of, fingerprint

    there = columns_of(dataset)
    names: dict[str, str | None] = {one.name: one.name if one.name in there else None for one in named}
    sought = {one.fingerprint: one.name for one in named if names[one.name] is None and one.fingerprint is not None}
    if sought:
        key = sketching_key(candidate.owner, at)
        for name in there:  # one column at a time: wide tables are larger than memory
            if (sign := fingerprint(cell_hashes(dataset, [name], key=key)[name], key=key)) in sought:
                names[sought[sign]] = name
    return names


def person_column(candidate: Candidate, at: WorkerResources) -> PersonColumn | None:
    """The column by which a release counts persons, for its family to keep."""
    name = candidate.release.made.person_column
    if name is None or candidate.dataset is None:
        return None
    from workers.frames.hashed_cells import cell_hashes, fingerprint
    from workers.frames.sketched import packed_persons, sketched_persons

    key = sketching_key(candidate.owner, at)
    sealed = seal_sketch(
        service_sealer(at.settings), packed_persons(sketched_persons(candidate.dataset, name, key=key)),
        owner=candidate.owner, dataset_id=candidate.dataset_id, name=name,
    )  # fmt: skip
    return PersonColumn(name, fingerprint(cell_hashes(candidate.dataset, [name], key=key)[name], key=key), sealed)


def own_persons(candidate: Candidate, ledger: Path, terms: FamilyTerms) -> Path | None:
    """Fingerprints of the records that a release was made from, and where each is in it; None of a series."""
    if candidate.dataset is None or candidate.release.base is not None:
        return None
    path = candidate.scratch / "persons.parquet"
    if not path.exists():
        from workers.methods.released.release_exposure import write_exposure

        write_exposure(candidate.dataset, ledger, path, terms=terms, scale=candidate.scale, history=candidate.history)
    return path


def _history(candidate: Candidate, at: WorkerResources) -> Path | None:
    """The records that a version and those before have shown, as its job has made them or the ledger keeps them."""
    if candidate.history is not None:
        return candidate.history
    with at.database.read() as connection:
        kept = families.kept_of(connection, owner=candidate.owner, release_id=candidate.release.id)
    return None if kept.persons_key is None else _file(kept.persons_key, "persons", candidate.scratch, at, gone=True)


def fetched(entry: LedgerEntry, candidate: Candidate, at: WorkerResources, there: Mapping[str, Path]) -> Earlier:
    """An earlier release and the stored record of it.

    Parameters
    ----------
    entry
        Of the ledger.
    candidate
        The release that it is composed with.
    there
        Ledgers by the digests in their keys, which are not fetched again.
    """
    ledger = None if entry.key is None else _file(entry.key, "ledger", candidate.scratch, at, there)
    persons = (
        None if entry.persons_key is None else _file(entry.persons_key, "persons", candidate.scratch, at, gone=True)
    )
    counted_by = (entry.parameters or {}).get("frequency_column")
    table = _table(entry.dataset_id or "", counted_by)
    dataset = candidate.dataset if table == candidate.table else None
    if dataset is None and entry.data_key is not None and ledger is not None:
        dataset = _copy(entry.data_key, counted_by, candidate.scratch, at)
    key = b""
    if persons is not None and entry.persons_under is not None:
        key = owner_secret(at.database, service_sealer(at.settings), owner=candidate.owner, name=entry.persons_under)
    return Earlier(
        entry.release_id, entry.method, ledger, dataset_id=table, dataset=dataset,
        persons=persons, key=key, is_published=entry.is_published,
        parameters=None if entry.base_release_id is not None else entry.parameters,
    )  # fmt: skip


def _copy(key: str, counted_by: str | None, scratch: Path, at: WorkerResources) -> Path | None:
    """The typed copy that a release was made from, with a row for each person; None where it is gone."""
    path = _file(key, "copy", scratch, at, gone=True)
    if path is None or counted_by is None:
        return path
    from workers.frames.expanded import rows_of_persons

    return rows_of_persons(path, counted_by)


def _table(dataset_id: str, counted_by: str | None) -> str:
    return dataset_id if counted_by is None else f"{dataset_id} by {counted_by}"


def _file(
    key: str,
    kind: str,
    scratch: Path,
    at: WorkerResources,
    there: Mapping[str, Path] | None = None,
    *,
    gone: bool = False,
) -> Path | None:
    """A stored object as a file, fetched once; None for one that is gone, where that may be."""
    name = PurePosixPath(key).stem
    sha256 = name.partition("-")[2] if kind == "ledger" else ""
    path = (there or {}).get(sha256, scratch / f"{kind}-{sha256 or name}.parquet")
    if not path.exists():
        part = path.with_suffix(".part")
        try:
            at.storage.fetch(key, part)
        except FileNotFoundError:
            if gone:  # its dataset is being deleted, or it was lost: then no one is placed by it
                return None
            raise
        part.rename(path)
    return path


def _of_series(entry: LedgerEntry, entries: list[LedgerEntry]) -> bool:
    """Whether a release reveals no more than its base, which was published too."""
    return entry.base_release_id is not None and any(one.release_id == entry.base_release_id for one in entries)


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
