"""Runners of `count`, `classify` and `statistics`: a release and questions in, answers out, a batch at a time.

Values that questions name are checked against the codebooks of the release.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from math import ceil
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.contracts.jobs import JobStage
from app.errors import FieldError, InvalidError, pointer
from app.methods.queries.check import classes_estimated
from surebox_core.errors import UndefinedStatisticError
from surebox_core.steps import finished
from surebox_verify.answering import answering
from surebox_verify.disclosure import days_of, value_disclosure
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import MisplacedValueError, computing, question
from surebox_verify.released.boxes import (
    ReleasedBoxes,
    has_means,
    meaning_of,
    read_boxes,
    weight_of,
)
from surebox_verify.released.codebooks import Codebook
from surebox_verify.released.orders import orders_of
from workers.frames.columns import plain_columns
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.queries import classify as queries_classified
from workers.methods.queries import count as queries_counted
from workers.methods.queries.cache import CACHE
from workers.methods.queries.classify import classifiable
from workers.methods.queries.count import Counted, countable, read_for
from workers.methods.queries.query_arrays import Queries, by_values
from workers.methods.released.boxes import kept_in, released_codebooks

S = TypeVar("S")

#: Work of one step: about a fifth of a second on one core.
_STEP_WORK: Final = 2e8
#: Probabilities in one answer.
_MOST_SHARES: Final = 1_000_000
#: Errors that one answer lists.
_MOST: Final = 20


class CountRunner:
    """Counts by a release."""

    def warm(self) -> None:
        """Compile what counts."""
        queries_counted.warm_up()

    def run(self, job: JobContext) -> Outcome:
        """Make the release ready, if it is not, and answer one batch of queries after the other."""
        release = job.releases["release_id"]
        orders = {name: one for name, one in release.made.ordinal.items() if name in release.made.quasi_identifiers}
        queries = by_values(job.spec["queries"], orders_of(orders))
        columns = read_for(release, queries)
        ready = CACHE.get(
            (release.sha256, "count", *columns),
            lambda: countable(job, columns),
            room=job.limits.release_cache_bytes,
        )
        check_values(ready.books, _named_by_queries(queries))
        counts: list[dict[str, Any]] = []
        for some in _batches(job, queries, ready.work, "count"):
            counts += _counts(ready.count(some, threads=job.threads))
        summary = {"base": "records", "n": release.rows}
        return Outcome(summary=summary, result={"counts": counts, **summary})


class ClassifyRunner:
    """Classifies by a release."""

    def warm(self) -> None:
        """Compile what classifies."""
        queries_classified.warm_up()

    def run(self, job: JobContext) -> Outcome:
        """Make the release ready, if it is not, and classify one batch of points after the other."""
        release, target = job.releases["release_id"], str(job.spec["target"])
        ready = CACHE.get(
            (release.sha256, "classify", target),
            lambda: classifiable(job, target),
            room=job.limits.release_cache_bytes,
        )
        neighbours, names = int(job.spec["neighbours"]), release.made.quasi_identifiers
        points = [[point[name] for name in names] for point in job.spec["points"]]
        check_values(ready.books, _named_by_points(job.spec["points"]) if ready.books else ())
        _check_size(len(points), min(neighbours, len(ready.classes)))
        classes: list[str] = []
        probabilities: list[dict[str, float]] = []
        for some in _batches(job, points, ready.work(neighbours), "classify"):
            prediction = ready.classify(some, neighbours=neighbours, threads=job.threads)
            classes += [ready.classes[code] for code in prediction.label]
            probabilities += [_shares(row, ready.classes) for row in prediction.probability]
        result = {"classes": classes, "probabilities": probabilities}
        return Outcome(summary={}, result=result, warnings=(classes_estimated(target),))


def _batches(job: JobContext, questions: Sequence[S], work: float, stage: JobStage) -> Iterator[Sequence[S]]:
    """The questions in batches of about a fifth of a second; `work` is that of one question."""
    size = max(1, ceil(_STEP_WORK / max(work, 1.0)))
    for first in range(0, len(questions), size):
        job.tick(first / len(questions), stage)
        yield questions[first : first + size]


def _named_by_queries(queries: Queries) -> Iterator[tuple[str, str, Any]]:
    for index, query in enumerate(queries):
        for name, restriction in query.items():
            if isinstance(restriction, Mapping):
                for place, value in enumerate(restriction["values"]):
                    yield pointer("queries", index, name, "values", place), name, value


def _named_by_points(points: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for index, point in enumerate(points):
        for name, value in point.items():
            yield pointer("points", index, name), name, value


def _check_size(points: int, classes: int) -> None:
    """Refuse an answer that would be too long to send."""
    if points * classes > _MOST_SHARES:
        detail = (
            f"{points:,} points with up to {classes:,} classes each are more than one answer holds: "
            f"send at most {_MOST_SHARES // classes:,} at once"
        )
        raise InvalidError.at("/points", detail)


def _counts(counts: Counted) -> list[dict[str, Any]]:
    none: list[None] = [None] * len(counts.estimate)
    errors = none if counts.standard_error is None else counts.standard_error.tolist()
    certain = none if counts.guaranteed is None else counts.guaranteed.tolist()
    return [
        {"estimate": estimate, "standard_error": error, "guaranteed": bounds}
        for estimate, error, bounds in zip(counts.estimate.tolist(), errors, certain, strict=True)
    ]


def _shares(row: NDArray[np.float64], classes: Sequence[str]) -> dict[str, float]:
    held: list[int] = np.flatnonzero(row > 0.0).tolist()
    return {classes[code]: float(row[code]) for code in held}


class StatisticsRunner:
    """Computes statistics of a release of boxes."""

    def warm(self) -> None:
        """Compile what a pair of columns and a regression take."""
        questions = [question({"kind": kind, "of": ["x", "y"]}) for kind in ("correlation", "regression")]
        finished(computing(_handful(), questions))

    def run(self, job: JobContext) -> Outcome:
        """Read the boxes back, nothing else of the release and nothing of what it was made from, and compute."""
        release = job.releases["release_id"]
        made = release.made
        own_ddof = job.spec.get("ddof")
        ddof = made.ddof if own_ddof is None else int(own_ddof)
        types = {column.name: column.type for column in release.columns}
        weight, orders, means = weight_of(release.spec, types), made.ordinal, has_means(release.spec)
        boxes = read_boxes(
            job.release_path("release_id"), made.quasi_identifiers, weight=weight, orders=orders, means=means
        )
        meaning = meaning_of(release.spec, types)
        kept = plain_columns(
            job.release_path(), kept_in(release, (name for one in job.spec["statistics"] for name in one["of"]))
        )
        counted = frozenset(name for name, order in boxes.orders.items() if not order.by_rank)
        check_values(released_codebooks(release, boxes), _named(job.spec["statistics"], counted))
        questions = [question(each, ddof=ddof) for each in job.spec["statistics"]]
        books = partial(released_codebooks, release)
        try:
            answers = job.through(answering(boxes, kept, questions, meaning, books), "statistics")
        except UndefinedStatisticError as error:  # a column of too many values
            detail = f"the {error.kind} is undefined: {error.reason}"
            raise InvalidError.at(pointer("statistics", error.index), detail) from None
        except MisplacedValueError as error:
            where = () if error.at is None else ("at", error.at)
            raise InvalidError.at(pointer("statistics", error.index, *where), str(error)) from None
        named = {name for one in job.spec["statistics"] for name in one["of"]}
        disclosed = value_disclosure(boxes, meaning, boxes.numeric, boxes.nominal, days_of(types))
        result = {
            "statistics": [entry for entries in answers for entry in entries],
            "value_disclosure": {name: asdict(disclosed[name]) for name in made.quasi_identifiers if name in named},
        }
        return Outcome(summary={}, result=result)


def _named(statistics: Sequence[Mapping[str, Any]], counted: Collection[str]) -> Iterator[tuple[str, str, Any]]:
    """Values that statistics name; predictions are at any number of the columns whose orders count as numbers."""
    for index, one in enumerate(statistics):
        for place, value in enumerate(one.get("values") or ()):
            yield pointer("statistics", index, "values", place), one["of"][-1], value
        for place, value in enumerate(one.get("at") or ()):
            if (name := one["of"][place + 1]) not in counted:
                yield pointer("statistics", index, "at", place), name, value


def _handful() -> ReleasedBoxes:
    low = np.array([0.0, 1.0, 2.0, 4.0])
    lower = np.column_stack([low, low**2])
    return ReleasedBoxes(lower, lower + 1.0, np.full(4, 3), np.arange(4), numeric=("x", "y"))


def check_values(books: Mapping[str, Codebook], named: Iterable[tuple[str, str, Any]]) -> None:
    """Refuse values that no record can have because the codebook of their column was declared without them.

    Parameters
    ----------
    books
        Of the release's columns.
    named
        Pointer, column and value of each that a question names.

    Raises
    ------
    InvalidError
        With an error for each of the first few.
    """
    errors = list(islice(_wrong(books, named), _MOST))
    if errors:
        raise InvalidError(errors[0].detail, errors=errors)


def _wrong(books: Mapping[str, Codebook], named: Iterable[tuple[str, str, Any]]) -> Iterator[FieldError]:
    for where, column, value in named:
        if column not in books:
            continue
        try:
            books[column].meant(value)
        except UnreadableError as error:
            yield FieldError(where, str(error))
