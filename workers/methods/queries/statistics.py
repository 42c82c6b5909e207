"""The runner of `statistics`: certain ranges from the published rows, as `surebox-certify` computes them offline."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from app.errors import InvalidError, pointer
from surebox_core.errors import UndefinedStatisticError
from surebox_core.steps import finished
from surebox_verify.answering import UnansweredError, answering
from surebox_verify.questions import computing, question
from surebox_verify.released.boxes import (
    ReleasedBoxes,
    has_means,
    meaning_of,
    read_boxes,
    single_values,
    weight_of,
)
from workers.frames.columns import plain_columns
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.queries.values import check_values
from workers.methods.released.boxes import kept_in, released_codebooks


class StatisticsRunner:
    """Computes statistics of a release of boxes."""

    def warm(self) -> None:
        """Compile what a pair of columns and a regression take."""
        questions = [question({"kind": kind, "of": ["x", "y"]}) for kind in ("correlation", "regression")]
        finished(computing(_handful(), questions))

    def run(self, job: JobContext) -> Outcome:
        """Read the boxes back, nothing else of the release and nothing of what it was made from, and compute."""
        release = job.releases["release_id"]
        names: list[str] = list(release.spec["quasi_identifiers"])
        own_ddof = job.spec.get("ddof")
        ddof = int(release.spec.get("ddof") or 0) if own_ddof is None else int(own_ddof)
        types = {column.name: column.type for column in release.columns}
        weight, orders, means = weight_of(release.spec, types), release.spec.get("ordinal"), has_means(release.spec)
        boxes = read_boxes(job.release_path("release_id"), names, weight=weight, orders=orders, means=means)
        meaning = meaning_of(release.spec, types)
        kept = plain_columns(
            job.release_path(), kept_in(release, (name for one in job.spec["statistics"] for name in one["of"]))
        )
        check_values(released_codebooks(release, boxes), _named(job.spec["statistics"]))
        questions = [question(each, ddof=ddof) for each in job.spec["statistics"]]
        books = partial(released_codebooks, release)
        try:
            answers = job.through(answering(boxes, kept, questions, meaning, books), "statistics")
        except UndefinedStatisticError as error:  # a column of too many values
            detail = f"the {error.kind} is undefined: {error.reason}"
            raise InvalidError.at(pointer("statistics", error.index), detail) from None
        except UnansweredError as error:
            raise InvalidError.at(pointer("statistics", error.index), str(error)) from None
        named = {name for one in job.spec["statistics"] for name in one["of"]}
        result = {
            "statistics": [entry for entries in answers for entry in entries],
            "share_single_value": {name: share for name, share in single_values(boxes).items() if name in named},
        }
        return Outcome(summary={}, result=result)


def _named(statistics: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for index, one in enumerate(statistics):
        for place, value in enumerate(one.get("values") or ()):
            yield pointer("statistics", index, "values", place), one["of"][-1], value


def _handful() -> ReleasedBoxes:
    low = np.array([0.0, 1.0, 2.0, 4.0])
    lower = np.column_stack([low, low**2])
    return ReleasedBoxes(lower, lower + 1.0, np.full(4, 3), np.arange(4), numeric=("x", "y"))
