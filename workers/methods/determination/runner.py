"""Runner of the audit `determination`: what boxes and kept columns of releases give away, one by one."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from app.contracts.attacks import DeterminationSpec, DeterminedRelease
from app.contracts.inputs import listed
from app.contracts.jobs import Progress
from workers.algorithms.tables.homogeneity import homogeneity
from workers.methods.context import JobContext
from workers.methods.determination.measuring import Determined, determined, read
from workers.methods.determination.report import result
from workers.methods.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Determining:
    """Releases that were read, and what was found of the first of them."""

    spec: DeterminationSpec
    releases: tuple[Determined, ...]
    found: tuple[DeterminedRelease, ...] = ()


class DeterminationRunner:
    """Measures what releases give away."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Measure a few made-up rows."""
        homogeneity(np.array([0, 0, 1]), np.array([0, 1, 1]))

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Determining:  # noqa: ARG002 - nothing is drawn
        """Read the releases."""
        job.tick(0.0, "read")
        spec = job.specification(DeterminationSpec)
        return Determining(spec, tuple(read(job, role) for role in listed(job.releases, "release_ids")))

    def step(self, state: Determining, *, rng: np.random.Generator) -> Determining:  # noqa: ARG002 - nothing is drawn
        """Measure one release."""
        one = state.releases[len(state.found)]
        return replace(state, found=(*state.found, determined(one, state.spec.grid)))

    def done(self, state: Determining) -> bool:
        """Whether all were measured."""
        return len(state.found) == len(state.releases)

    def progress(self, state: Determining) -> Progress:
        """Releases measured."""
        return Progress(fraction=0.1 + 0.8 * len(state.found) / len(state.releases), stage="boxes")

    def finish(self, state: Determining, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """Report; there is no release."""
        made = result(state.spec, state.found).model_dump(mode="json")
        return Outcome(summary=made, result=made)
