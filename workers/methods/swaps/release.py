"""The release of `swaps`: the dataset with the regions of some records exchanged, rows in random order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from app.contracts.flags import Flag
from app.methods.swaps.spec import RecordModel, SwapsSpec
from surebox_core.types import IntArray
from workers.algorithms.groups.swaps.problem import Swaps
from workers.frames.dependencies import inconsistent_dependencies
from workers.frames.exchanging import exchanged
from workers.frames.harmonised import sources
from workers.methods.context import JobContext
from workers.methods.microfile.microfile import Microfile
from workers.methods.outcome import ReleaseDraft
from workers.methods.released.drafts import release_draft


@dataclass(frozen=True, slots=True)
class Exchange:
    """What becomes of the dataset.

    Attributes
    ----------
    names : published columns, in the dataset's order.
    moved : those that the region columns are made from: the exchanged part.
    positions : (rows,), whose region each row of the dataset gets.
    """

    names: tuple[str, ...]
    moved: tuple[str, ...]
    positions: IntArray

    @classmethod
    def of(cls, spec: SwapsSpec, model: RecordModel, job: JobContext, microfile: Microfile, *swaps: Swaps) -> Self:
        """The exchange that swaps of in-range records are."""
        dataset = job.datasets["dataset_id"]
        moved = dict.fromkeys(source for name in spec.region_columns for source in sources(name, model.recode))
        positions = np.arange(dataset.rows, dtype=np.int64)
        for some in swaps:
            ours, theirs = microfile.rows[some.source_row], microfile.rows[some.partner_row]
            positions[ours], positions[theirs] = theirs, ours
        return cls(
            names=tuple(column.name for column in dataset.columns if column.name not in spec.drop),
            moved=tuple(moved),
            positions=positions,
        )

    def inconsistent_dependencies(self, job: JobContext, tick: Callable[[float], None]) -> dict[str, int]:
        """Published columns that betray who was exchanged, and how many."""
        others = [name for name in self.names if name not in self.moved]
        return inconsistent_dependencies(job.dataset_path(), others, self.moved, self.positions, tick=tick)

    def release(self, spec: SwapsSpec, job: JobContext, *, rng: np.random.Generator) -> ReleaseDraft:
        """Write the files; the masked regions, by which rules, and the left-out columns are not published."""
        order = rng.permutation(len(self.positions)).astype(np.int64)
        table = exchanged(job.dataset_path(), self.names, self.moved, self.positions, order)
        return release_draft(
            job,
            table,
            types={},
            formats=spec.formats,
            flags=(Flag.REGIONS_SWAPPED, Flag.RECORDS_NOT_ANONYMOUS),
            parameters=public_parameters(spec),
        )


def public_parameters(spec: SwapsSpec) -> dict[str, Any]:
    """What a release may state about how it was made."""
    return {"method": spec.method, "region_columns": list(spec.region_columns), "search": spec.search.method}
