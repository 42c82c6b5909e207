"""The runner of `statistics`: certain ranges from the published rows, as `surebox-certify` computes them offline."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from app.contracts.jobs import Progress
from app.errors import FieldError, InvalidError
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import computing, finished, question
from surebox_verify.released.boxes import ReleasedBoxes, has_means, meaning_of, read_boxes, weight_of
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Computing:
    """The work that is left, how much is done, and what came of it."""

    work: Generator[float, None, list[dict[str, Any]]]
    fraction: float = 0.0
    found: tuple[dict[str, Any], ...] | None = None


class StatisticsRunner:
    """Computes statistics of a release of boxes."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Compile what a pair of columns and a regression take."""
        asked = [question({"kind": kind, "of": ["x", "y"]}) for kind in ("correlation", "regression")]
        finished(computing(_handful(), asked))

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Computing:  # noqa: ARG002 - nothing is random
        """Read the boxes back; nothing else of the release, and nothing of what it was made from."""
        release = job.releases["release_id"]
        names: list[str] = list(release.spec["columns"])
        asked_ddof = job.spec.get("ddof")
        ddof = int(release.spec.get("ddof") or 0) if asked_ddof is None else int(asked_ddof)
        weight, orders, means = weight_of(release.spec), release.spec.get("ordinal"), has_means(release.spec)
        boxes = read_boxes(job.release_path("release_id"), names, weight=weight, orders=orders, means=means)
        meaning = meaning_of(release.spec, {column.name: column.type for column in release.columns})
        asked = [question(each, ddof=ddof) for each in job.spec["statistics"]]
        return Computing(computing(boxes, asked, meaning))

    def step(self, state: Computing, *, rng: np.random.Generator) -> Computing:  # noqa: ARG002
        """Work on for about 0.2 s."""
        try:
            return replace(state, fraction=next(state.work))
        except StopIteration as stop:
            return replace(state, fraction=1.0, found=tuple(stop.value))
        except UnreadableError as error:  # a value that no box can hold
            raise InvalidError(str(error), errors=[FieldError("/statistics", str(error))]) from None

    def done(self, state: Computing) -> bool:
        """Whether all statistics are there."""
        return state.found is not None

    def progress(self, state: Computing) -> Progress:
        """Share of statistics that are there."""
        return Progress(fraction=state.fraction, stage="statistics")

    def finish(self, state: Computing, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """The body of the answer."""
        return Outcome(summary={}, result={"statistics": list(state.found or ())})


def _handful() -> ReleasedBoxes:
    low = np.array([0.0, 1.0, 2.0, 4.0])
    lower = np.column_stack([low, low**2])
    return ReleasedBoxes(lower, lower + 1.0, np.full(4, 3), np.arange(4), numeric=("x", "y"))
