"""The examples of the document as jobs in this process: a method that has those is run; ids stand for what is there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from app.api.schemas.examples import ANONYMIZATIONS, AUDITS, CLASSES, COUNTS
from app.contracts.examples import DATASET, GROUP_JOB, RELEASE
from app.methods.catalogue import METHODS
from tests.methods.bases import microfile
from tests.methods.in_process import Bench

INCOMPLETE = DATASET.replace("0", "f")

EXAMPLES: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
for _example in (*ANONYMIZATIONS.values(), *AUDITS.values()):
    EXAMPLES[_example["value"]["method"]].append(_example["value"])
for _one in COUNTS.values():
    EXAMPLES["count"].append({"method": "count", "release_id": RELEASE} | _one["value"])
for _one in CLASSES.values():
    EXAMPLES["classify"].append({"method": "classify", "release_id": RELEASE, "neighbours": 10} | _one["value"])
#: Of so few people no profile can be masked at every grade, and the search for one goes on to its end.
EXAMPLES["swaps"][0] = EXAMPLES["swaps"][0] | {"protected_alphas": [0.5]}


def bench_of_examples(folder: Path) -> Bench:
    """People with a number each, the same with holes, and what the examples name; seeds of the operating system."""
    made = Bench(folder, seed=None)
    people = microfile(2, people=60, bases={4: 40, 11: 34, 23: 45}).with_row_index("row")
    made.upload(DATASET, people)
    holes = np.zeros(people.height, dtype=bool)
    holes[:7] = True
    made.upload(INCOMPLETE, people.with_columns(pl.when(~pl.Series(holes)).then(pl.col("income")).alias("income")))
    made.job(GROUP_JOB, EXAMPLES["group"][0])
    (chosen,) = (one for one in EXAMPLES["boxes"] if "job" in one.get("keep", ()))
    made.release(RELEASE, chosen)
    return made


def examples(*, making_releases: bool | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The bodies of all methods, or of those alone that make releases or do not, and what to call them."""
    for name, bodies in EXAMPLES.items():
        if making_releases is None or making_releases == ("formats" in METHODS[name].spec.model_fields):
            yield from ((f"{name}-{place}", body) for place, body in enumerate(bodies))
