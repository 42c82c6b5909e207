"""Runner of `publication`: there is nothing to compute before the gate, which composes the draft again."""

from pathlib import Path

import numpy as np

from app.contracts.jobs import Progress
from workers.algorithms.tables.composition import Noise, Placed, Request, compose
from workers.algorithms.tables.locating import locate
from workers.algorithms.tables.sketches import sketch
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome


class PublicationRunner:
    """Hands its release to the gate."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Run what every gate runs on a few made-up records."""
        rng = np.random.default_rng(0)
        x = rng.uniform(size=(40, 2))
        lower = np.column_stack([np.linspace(0, 0.95, 20), np.zeros(20)])
        places = locate(x, np.empty((40, 0), np.int64), lower, np.column_stack([lower[:, 0] + 0.05, np.ones(20)]), ())
        compose(Request([Placed(places)], k=2, noise=[Noise(x, np.ones_like(x))]), rng=rng)
        sketch([x[:, 0].copy().view(np.uint64)], (1, 2))

    def init(self, job: JobContext, *, rng: np.random.Generator) -> str:  # noqa: ARG002  (the protocol's)
        """The release."""
        return job.releases["release_id"].id

    def step(self, state: str, *, rng: np.random.Generator) -> str:  # noqa: ARG002
        """Nothing is left to do."""
        return state

    def done(self, state: str) -> bool:  # noqa: ARG002
        """Nothing is left to do."""
        return True

    def progress(self, state: str) -> Progress:  # noqa: ARG002
        """All but the gate."""
        return Progress(fraction=0.5, stage="gate")

    def finish(self, state: str, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """Name the release that is to be published."""
        return Outcome(summary={"release_id": state}, publishes="release_id")
