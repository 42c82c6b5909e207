"""Runners of `count` and `classify`: a release and questions in, answers out, in batches of less than half a second."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.jobs import Progress
from app.errors import FieldError, InvalidError
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.queries import classify as queries_classified
from workers.methods.queries import count as queries_counted
from workers.methods.queries.asked import Queries, asked
from workers.methods.queries.cache import CACHE
from workers.methods.queries.classify import Classifiable, classifiable
from workers.methods.queries.count import Countable, Counted, countable, read_for

#: Work of one step: about a fifth of a second on one core.
_STEP_WORK: Final = 2e8
#: Probabilities in one answer.
_MOST_SHARES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Counting:
    """Queries as they were asked, and the answers to those that are done."""

    release: Countable
    queries: Queries
    threads: int
    answers: tuple[Counted, ...] = ()
    counted: int = 0


class CountRunner:
    """Counts by a release."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Compile what counts."""
        queries_counted.warm_up()

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Counting:  # noqa: ARG002 - nothing here is random
        """Make the release ready, if it is not, and the queries."""
        release = job.releases["release_id"]
        queries: Queries = job.spec["queries"]
        columns = read_for(release, queries)
        ready = CACHE.get(
            (release.sha256, "count", *columns),
            lambda: countable(job, columns),
            room=job.limits.release_cache_bytes,
        )
        return Counting(ready, queries, job.threads)

    def step(self, state: Counting, *, rng: np.random.Generator) -> Counting:  # noqa: ARG002
        """Answer a batch of queries."""
        last = min(state.counted + _batch(state.release.work), len(state.queries))
        some = asked(state.queries[state.counted : last], state.release.columns)
        found = state.release.count(some, threads=state.threads)
        return replace(state, answers=(*state.answers, found), counted=last)

    def done(self, state: Counting) -> bool:
        """Whether all queries have been answered."""
        return state.counted == len(state.queries)

    def progress(self, state: Counting) -> Progress:
        """Share of queries that have been answered."""
        return Progress(fraction=state.counted / len(state.queries), stage="count")

    def finish(self, state: Counting, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """The body of the answer."""
        return Outcome(summary={}, result={"counts": [one for found in state.answers for one in _counts(found)]})


@dataclass(frozen=True, slots=True)
class Classifying:
    """Points as they were sent, and the answers to those that are done."""

    release: Classifiable
    points: Sequence[Sequence[Any]]
    neighbours: int
    threads: int
    labels: tuple[str, ...] = ()
    probabilities: tuple[dict[str, float], ...] = ()


class ClassifyRunner:
    """Classifies by a release."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Compile what classifies."""
        queries_classified.warm_up()

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Classifying:  # noqa: ARG002
        """Make the release ready, if it is not."""
        release, label = job.releases["release_id"], str(job.spec["label"])
        ready = CACHE.get(
            (release.sha256, "classify", label),
            lambda: classifiable(job, label),
            room=job.limits.release_cache_bytes,
        )
        points, neighbours = job.spec["points"], int(job.spec["neighbours"])
        _check_size(len(points), min(neighbours, len(ready.classes)))
        return Classifying(ready, points, neighbours, job.threads)

    def step(self, state: Classifying, *, rng: np.random.Generator) -> Classifying:  # noqa: ARG002
        """Classify a batch of points."""
        release, first = state.release, len(state.labels)
        points = state.points[first : first + _batch(release.work(state.neighbours))]
        found = release.classify(points, neighbours=state.neighbours, threads=state.threads)
        return replace(
            state,
            labels=(*state.labels, *(release.classes[code] for code in found.label)),
            probabilities=(*state.probabilities, *(_shares(row, release.classes) for row in found.probability)),
        )

    def done(self, state: Classifying) -> bool:
        """Whether all points have been classified."""
        return len(state.labels) == len(state.points)

    def progress(self, state: Classifying) -> Progress:
        """Share of points that have been classified."""
        return Progress(fraction=len(state.labels) / len(state.points), stage="classify")

    def finish(self, state: Classifying, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """The body of the answer."""
        return Outcome(summary={}, result={"labels": list(state.labels), "probabilities": list(state.probabilities)})


def _check_size(points: int, classes: int) -> None:
    """Refuse an answer that would be too long to send."""
    if points * classes > _MOST_SHARES:
        detail = (
            f"{points:,} points with up to {classes:,} classes each are more than one answer holds: "
            f"send at most {_MOST_SHARES // classes:,} at once"
        )
        raise InvalidError(detail, errors=[FieldError("/points", detail)])


def _batch(work: float) -> int:
    return max(1, ceil(_STEP_WORK / max(work, 1.0)))


def _counts(found: Counted) -> list[dict[str, Any]]:
    none: list[None] = [None] * len(found.estimate)
    errors = none if found.standard_error is None else found.standard_error.tolist()
    certain = none if found.guaranteed is None else found.guaranteed.tolist()
    return [
        {"estimate": estimate, "standard_error": error, "guaranteed": bounds}
        for estimate, error, bounds in zip(found.estimate.tolist(), errors, certain, strict=True)
    ]


def _shares(row: NDArray[np.float64], classes: Sequence[str]) -> dict[str, float]:
    held: list[int] = np.flatnonzero(row > 0.0).tolist()
    return {classes[code]: float(row[code]) for code in held}
