"""Runner of `publication`: there is nothing to compute before the gate, which composes the draft again."""

import numpy as np

from workers.algorithms.tables.composition import CompositionRequest, Noise, Placed, compose
from workers.algorithms.tables.locating import locate
from workers.algorithms.tables.sketches import sketch
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome


class PublicationRunner:
    """Hands its release to the gate."""

    def warm(self) -> None:
        """Run what every gate runs on a few made-up records."""
        rng = np.random.default_rng(0)
        x = rng.uniform(size=(40, 2))
        lower = np.column_stack([np.linspace(0, 0.95, 20), np.zeros(20)])
        places = locate(x, np.empty((40, 0), np.int64), lower, np.column_stack([lower[:, 0] + 0.05, np.ones(20)]), ())
        compose(CompositionRequest([Placed(places)], k=2, noise=[Noise(x, np.ones_like(x))]), rng=rng)
        sketch([x[:, 0].copy().view(np.uint64)], (1, 2))

    def run(self, job: JobContext) -> Outcome:
        """Name the release that is to be published."""
        job.tick(0.5, "gate")
        return Outcome(summary={"release_id": job.releases["release_id"].id}, publishes="release_id")
