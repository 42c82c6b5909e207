"""Runner of the audit `determination`: what boxes and kept columns of releases give away, one by one."""

import numpy as np

from app.contracts.inputs import listed
from app.methods.determination.spec import DeterminationSpec
from workers.algorithms.tables.homogeneity import homogeneity
from workers.methods.context import JobContext
from workers.methods.determination.measuring import determined, read
from workers.methods.determination.report import result
from workers.methods.outcome import Outcome


class DeterminationRunner:
    """Measures what releases give away."""

    def warm(self) -> None:
        """Measure a few made-up rows."""
        homogeneity(np.array([0, 0, 1]), np.array([0, 1, 1]))

    def run(self, job: JobContext) -> Outcome:
        """Read the releases, measure one after the other, and report; there is no release."""
        job.tick(0.0, "read")
        spec = job.specification(DeterminationSpec)
        releases = [read(job, role) for role in listed(job.releases, "release_ids")]
        measured = []
        for index, one in enumerate(releases):
            job.tick(0.1 + 0.8 * index / len(releases), "boxes")
            measured.append(determined(one, spec.value_step))
        made = result(spec, measured).model_dump(mode="json")
        return Outcome(summary=made, result=made)
