"""The ledger of a family, as composing takes it: what was published before, who was where in it, and what it adds.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from app.db.repositories import families
from app.db.repositories.families import LedgerEntry, PersonColumn
from app.secrets.keep import owner_secret
from app.secrets.seal import service_sealer
from workers.engine.families import sketching_key
from workers.engine.resources import WorkerResources
from workers.methods.released.earlier import Earlier, FamilyTerms

if TYPE_CHECKING:
    from surebox_core.types import FloatArray

_COMPOSITION: Final = "composition"


@dataclass(frozen=True)
class Candidate:
    """A release that is to be published: what it was made from, by what, and its Parquet file.

    `link` says which record each of its rows stands for, where they do.
    """

    owner: str
    dataset_id: str
    dataset: Path | None
    spec: dict[str, Any]
    release: Path
    scratch: Path
    link: Path | None = None

    @property
    def base(self) -> str | None:
        """The base of the series that it is a later release of: no dataset was read."""
        return self.spec.get("base_release_id")

    @property
    def previous(self) -> str | None:
        """The release whose boxes it has, of a new version of the data."""
        return self.spec.get("previous_release_id")

    @property
    def scale(self) -> "FloatArray | None":
        """The noise of each record of an uncertain release."""
        if self.spec["method"] != "uncertain" or self.link is None or self.dataset is None:
            return None
        from workers.methods.released.release_exposure import linked_scale

        return linked_scale(self.release, self.spec["quasi_identifiers"], self.link, self.dataset)


def terms_of(candidate: Candidate, family_id: str, at: WorkerResources) -> FamilyTerms:
    """What a family says of its tables, for the data that a release was made from."""
    name = families.persons_secret(family_id)
    with at.database.read() as connection:
        named = families.persons_of(connection, family_id=family_id)
        is_new_version = families.is_new_version(connection, dataset_id=candidate.dataset_id)
    if (person := candidate.spec.get("person_column")) is not None:
        named = [*(one for one in named if one.name != person), PersonColumn(person, None)]
    called = {} if candidate.dataset is None else _called(candidate, candidate.dataset, named, at)
    demands = [one for one in candidate.spec.get("gate", ()) if one["method"] == _COMPOSITION]
    return FamilyTerms(
        dataset_id=candidate.dataset_id,
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
            if (digest := fingerprint(cell_hashes(dataset, [name], key=key)[name], key=key)) in sought:
                names[sought[digest]] = name
    return names


def person_column(candidate: Candidate, at: WorkerResources) -> PersonColumn | None:
    """The column by which a release counts persons, for its family to keep."""
    name = candidate.spec.get("person_column")
    if name is None or candidate.dataset is None:
        return None
    from workers.frames.hashed_cells import cell_hashes, fingerprint

    key = sketching_key(candidate.owner, at)
    return PersonColumn(name, fingerprint(cell_hashes(candidate.dataset, [name], key=key)[name], key=key))


def own_persons(candidate: Candidate, ledger: Path, terms: FamilyTerms) -> Path | None:
    """Fingerprints of the records that a release was made from, and where each is in it; None of a series."""
    if candidate.dataset is None or candidate.base is not None:
        return None
    path = candidate.scratch / "persons.parquet"
    if not path.exists():
        from workers.methods.released.release_exposure import write_exposure

        write_exposure(candidate.dataset, ledger, path, terms=terms, scale=candidate.scale)
    return path


def fetched(entry: LedgerEntry, candidate: Candidate, at: WorkerResources, there: Mapping[str, Path]) -> Earlier:
    """An earlier release and what is kept of it.

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
    dataset = candidate.dataset if entry.dataset_id == candidate.dataset_id else None
    if dataset is None and entry.data_key is not None and ledger is not None:
        dataset = _file(entry.data_key, "copy", candidate.scratch, at, gone=True)
    key = b""
    if persons is not None and entry.persons_under is not None:
        key = owner_secret(at.database, service_sealer(at.settings), owner=candidate.owner, name=entry.persons_under)
    return Earlier(
        entry.release_id, entry.method, ledger, dataset_id=entry.dataset_id or "", dataset=dataset,
        persons=persons, key=key,
    )  # fmt: skip


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
    digest = name.partition("-")[2] if kind == "ledger" else ""
    path = (there or {}).get(digest, scratch / f"{kind}-{digest or name}.parquet")
    if not path.exists():
        part = path.with_suffix(".part")
        try:
            at.storage.fetch(key, part)
        except FileNotFoundError:
            if gone:  # its dataset is being deleted, or it was lost: then nobody is placed by it
                return None
            raise
        part.rename(path)
    return path
