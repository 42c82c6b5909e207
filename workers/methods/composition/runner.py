"""Runner of the audit `composition`: releases and the original in, what they tell together out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.contracts.attacks import CompositionSpec
from app.contracts.inputs import listed
from app.contracts.jobs import Progress
from workers.algorithms.tables.composition import Noise, Placed, Request, compose
from workers.algorithms.tables.locating import locate
from workers.frames.codes import coded_columns
from workers.methods.composition.placing import noise, placed, sources
from workers.methods.composition.report import result
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.earlier import OPAQUE


@dataclass(frozen=True, slots=True)
class Composing:
    """What is composed."""

    spec: CompositionSpec
    request: Request
    releases: int
    is_open: bool


class CompositionRunner:
    """Composes releases."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Compose a few made-up records."""
        x, lower = np.arange(40.0)[:, None], np.arange(0.0, 40.0, 2.0)[:, None]
        codes = np.zeros((40, 0), dtype=np.int64)
        place = locate(x, codes, lower, lower + 2.0, ())
        rng = np.random.default_rng(0)
        compose(Request([Placed(place)], 2.0, noise=[Noise(x, np.ones_like(x))]), rng=rng)

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Composing:  # noqa: ARG002 - drawn at the end
        """Place the records.

        Raises
        ------
        InvalidError
            What only the records could tell.
        """
        job.tick(0.0, "read")
        spec = job.specification(CompositionSpec)
        path = job.dataset_path()
        found = sources(job, spec.columns)
        request = Request(
            releases=placed(job, found),
            k=float(spec.k or 1.0),
            persons=None if spec.person is None else coded_columns(path, [spec.person])[0].codes.astype(np.int64),
            sensitive=[one.codes.astype(np.int64) for one in coded_columns(path, spec.sensitive)],
            noise=noise(job),
        )
        is_open = any(one.method in OPAQUE for one in listed(job.releases, "release_ids").values())
        return Composing(spec, request, len(spec.release_ids) + len(spec.dataset_ids), is_open)

    def step(self, state: Composing, *, rng: np.random.Generator) -> Composing:  # noqa: ARG002 - nothing is left
        """Nothing is left between reading and composing."""
        return state

    def done(self, state: Composing) -> bool:  # noqa: ARG002 - always
        """Whether all records are placed: they are, once there is a state."""
        return True

    def progress(self, state: Composing) -> Progress:  # noqa: ARG002 - always the same
        """The end is near."""
        return Progress(fraction=0.7, stage="composition")

    def finish(self, state: Composing, job: JobContext, *, rng: np.random.Generator) -> Outcome:
        """Compose and report; there is no release."""
        job.tick(0.7, "composition")
        request = state.request
        if not request.releases and not request.noise:  # only rows that are the original's
            request = Request([Placed(np.zeros(job.datasets["dataset_id"].rows, dtype=np.int64))], request.k)
        found = compose(request, rng=rng)
        made = result(
            state.spec,
            found,
            releases=state.releases,
            has_boxes=bool(state.request.releases),
            is_open=state.is_open,
        ).model_dump(mode="json")
        return Outcome(summary=made, result=made)
