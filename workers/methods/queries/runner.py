"""Runners of `count` and `classify`: a release and questions in, answers out, in batches of less than half a second."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidError, pointer
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.queries import classify as queries_classified
from workers.methods.queries import count as queries_counted
from workers.methods.queries.asked import Queries, asked
from workers.methods.queries.cache import CACHE
from workers.methods.queries.classify import classifiable
from workers.methods.queries.count import Counted, countable, read_for
from workers.methods.queries.values import check_values

S = TypeVar("S")

#: Work of one step: about a fifth of a second on one core.
_STEP_WORK: Final = 2e8
#: Probabilities in one answer.
_MOST_SHARES: Final = 1_000_000


class CountRunner:
    """Counts by a release."""

    def warm(self) -> None:
        """Compile what counts."""
        queries_counted.warm_up()

    def run(self, job: JobContext) -> Outcome:
        """Make the release ready, if it is not, and answer one batch of queries after the other."""
        release = job.releases["release_id"]
        queries: Queries = job.spec["queries"]
        columns = read_for(release, queries)
        ready = CACHE.get(
            (release.sha256, "count", *columns),
            lambda: countable(job, columns),
            room=job.limits.release_cache_bytes,
        )
        check_values(ready.books, _named_by_queries(queries))
        counts: list[dict[str, Any]] = []
        for some in _batches(job, queries, ready.work, "count"):
            counts += _counts(ready.count(asked(some, ready.columns), threads=job.threads))
        return Outcome(summary={}, result={"counts": counts})


class ClassifyRunner:
    """Classifies by a release."""

    def warm(self) -> None:
        """Compile what classifies."""
        queries_classified.warm_up()

    def run(self, job: JobContext) -> Outcome:
        """Make the release ready, if it is not, and classify one batch of points after the other."""
        release, label = job.releases["release_id"], str(job.spec["label"])
        ready = CACHE.get(
            (release.sha256, "classify", label),
            lambda: classifiable(job, label),
            room=job.limits.release_cache_bytes,
        )
        points, neighbours = job.spec["points"], int(job.spec["neighbours"])
        names = release.spec["columns"] if ready.books else ()
        check_values(ready.books, _named_by_points(points, names))
        _check_size(len(points), min(neighbours, len(ready.classes)))
        labels: list[str] = []
        probabilities: list[dict[str, float]] = []
        for some in _batches(job, points, ready.work(neighbours), "classify"):
            found = ready.classify(some, neighbours=neighbours, threads=job.threads)
            labels += [ready.classes[code] for code in found.label]
            probabilities += [_shares(row, ready.classes) for row in found.probability]
        return Outcome(summary={}, result={"labels": labels, "probabilities": probabilities})


def _batches(job: JobContext, asked: Sequence[S], work: float, stage: str) -> Iterator[Sequence[S]]:
    """What was asked in batches of about a fifth of a second; `work` is that of one question."""
    size = max(1, ceil(_STEP_WORK / max(work, 1.0)))
    for first in range(0, len(asked), size):
        job.tick(first / len(asked), stage)
        yield asked[first : first + size]


def _named_by_queries(queries: Queries) -> Iterator[tuple[str, str, Any]]:
    for index, query in enumerate(queries):
        for name, restriction in query.items():
            if isinstance(restriction, Mapping):
                for place, value in enumerate(restriction["in"]):
                    yield pointer("queries", index, name, "in", place), name, value


def _named_by_points(points: Sequence[Sequence[Any]], names: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    for index, point in enumerate(points):
        for place, (name, value) in enumerate(zip(names, point, strict=False)):
            yield pointer("points", index, place), name, value


def _check_size(points: int, classes: int) -> None:
    """Refuse an answer that would be too long to send."""
    if points * classes > _MOST_SHARES:
        detail = (
            f"{points:,} points with up to {classes:,} classes each are more than one answer holds: "
            f"send at most {_MOST_SHARES // classes:,} at once"
        )
        raise InvalidError.at("/points", detail)


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
