"""Runner of `publication`: there is nothing to compute before the gate, which composes the draft again."""

import numpy as np

from workers.algorithms.tables.composition import CompositionRequest, Noise, Placed, compose
from workers.algorithms.tables.locating import rehearse
from workers.algorithms.tables.sketches import sketch
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome


class PublicationRunner:
    """Hands its release to the gate."""

    def warm(self) -> None:
        """Run what every gate runs on a few made-up records."""
        rng = np.random.default_rng(0)
        x = rng.uniform(size=(40, 2))
        compose(CompositionRequest([Placed(rehearse())], k=2, noise=[Noise(x, np.ones_like(x))]), rng=rng)
        sketch([x[:, 0].copy().view(np.uint64)], (1, 2))

    def run(self, job: JobContext) -> Outcome:
        """Name the release that is to be published."""
        job.tick(0.5, "gate")
        return Outcome(summary={"release_id": job.releases["release_id"].id}, publishes="release_id")
