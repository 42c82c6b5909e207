"""What a job works on, laid into its scratch folder when its runner asks: that sees no database and no storage."""

import json
from pathlib import Path

from app.db.repositories import families, job_results, releases
from app.db.repositories.claims import Claim
from app.db.repositories.families import KeptOf
from app.db.repositories.job_results import StoredResult
from app.db.repositories.release_access import keeper_of
from app.secrets.keep import owner_secret
from app.secrets.seal import service_sealer
from workers.engine.resources import WorkerResources
from workers.methods.context import InputFile


class InputFiles:
    """The inputs of one claimed job as local files, each fetched once."""

    def __init__(self, claimed: Claim, resources: WorkerResources, *, scratch: Path) -> None:
        self._claimed, self._resources, self._scratch = claimed, resources, scratch

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
        return self._fetched(self._claimed.inputs.datasets[field].key)

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
        return self._if_there(self._kept(field).data_key)

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
        if under is None:
            return None
        at = self._resources
        key = owner_secret(at.database, service_sealer(at.settings), owner=self._claimed.owner, name=under)
        path = self._scratch / f"{self._claimed.inputs.releases[field].id}-persons.key"
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
