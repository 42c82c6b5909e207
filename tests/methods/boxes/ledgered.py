"""Versions of a table in this process, with what the ledger of their family keeps, as a published release leaves it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from app.contracts.families import FamilyComposition
from app.contracts.stored import StoredSpec
from tests.methods.in_process import Bench, Done
from workers.frames.ledger import write_ledger
from workers.methods.context import InputFile
from workers.methods.released.composed import Versions, composed_with, with_versions
from workers.methods.released.earlier import FamilyTerms
from workers.methods.released.release_exposure import write_exposure

KEY = bytes(range(32))


class Ledgered:
    """A base, and one version after the other, each of which is published."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self.bench, self.spec = Bench(folder), spec
        self.ledgers: list[Path] = []
        self.composition: FamilyComposition | None = None
        (folder / "key").write_bytes(KEY)

    def add(self, frame: pl.DataFrame, *, draft: bool = False) -> Done:
        """Make a version; a draft is forgotten."""
        number = len(self.ledgers)
        bench, name, folder = self.bench, f"v{number}", self.bench.folder
        bench.dataset(name, frame)
        spec = self.spec | {"dataset_id": name}
        if number:
            earlier = tuple(reversed(bench.releases.values()))
            bench.datasets[name] = replace(bench.datasets[name], earlier=earlier)
            spec |= {"previous_release_id": f"r{number - 1}"}
        done = bench.run(spec, seed=number)
        if not draft:
            self._publish(f"r{number}", name, spec, done, folder)
        return done

    def _publish(self, release: str, dataset: str, spec: dict[str, Any], done: Done, folder: Path) -> None:
        bench = self.bench
        bench.keep(release, done)
        assert done.release is not None
        ledger, persons, versions = (folder / f"{release}.{kind}" for kind in ("ledger", "persons", "versions"))
        write_ledger(bench.files[InputFile.RELEASE, release], ledger, method="boxes", spec=spec)
        who = self.spec.get("person_column")
        terms = FamilyTerms(dataset_id=dataset, key=KEY, under="key", persons={} if who is None else {who: None})
        data, history = bench.files[InputFile.DATASET, dataset], done.release.history
        write_exposure(data, ledger, persons, terms=terms, history=history)
        composition = composed_with(data, spec, ledger, [], rng=np.random.default_rng(0), terms=terms)
        if self.ledgers:
            of = Versions(ledger, tuple(reversed(self.ledgers)), persons)
            composition = with_versions(composition, of, self.composition, StoredSpec.of(spec), alone=True)
        self.composition = composition
        self.ledgers.append(ledger)
        versions.write_text(json.dumps([str(one) for one in reversed(self.ledgers)]))
        for kind, path in (
            (InputFile.PERSONS, persons), (InputFile.PERSONS_KEY, folder / "key"),
            (InputFile.VERSIONS, versions), (InputFile.VERSIONS_KEY, folder / "key"),
        ):  # fmt: skip
            bench.files[kind, release] = path
