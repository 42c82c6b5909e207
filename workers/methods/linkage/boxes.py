"""The linkage audit of boxes: the rank of a row's record is the number of candidates in its box."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from app.contracts.inputs import ReleaseInput
from app.errors import InvalidError
from surebox_verify.released.boxes import ReleasedBoxes
from workers.algorithms.boxes.queries.linkage import box_of
from workers.algorithms.uncertain.linkage.attack import Linkage
from workers.frames.records import complete_records
from workers.methods.context import JobContext
from workers.methods.linkage.knowledge import KNOWN_SHARE
from workers.methods.released.boxes import released_boxes


def attack_boxes(job: JobContext, rng: np.random.Generator) -> tuple[Mapping[str, Linkage], int]:
    """Candidates of every row, and how many records the adversary knows.

    Raises
    ------
    InvalidError
        He knows nobody who fits any box.
    """
    release, boxes = job.releases["release_id"], released_boxes(job)
    known = complete_records(job.dataset_path(), release.spec["columns"]).values
    tight = release.spec["bounds"] == "tight"
    place = box_of(known, boxes.lower, boxes.upper + _beyond(boxes, release), tight=tight)
    if (place < 0).all():
        detail = "no record of this dataset lies in any box of the release"
        raise InvalidError.at("/dataset_id", detail)
    some = place[rng.permutation(len(known))[: int(KNOWN_SHARE * len(known))]]
    found = {"fit": _of_rows(boxes, place), "fit_90": _of_records(boxes, some)}
    return {name: one for name, one in found.items() if len(one.rows)}, len(known)


def _beyond(boxes: ReleasedBoxes, release: ReleaseInput) -> NDArray[np.float64]:
    """What half-open cells reach beyond a bound that is itself in the box, as those of whole numbers are."""
    types = {column.name: column.type for column in release.columns}
    whole = [release.spec["bounds"] != "tight" and types[f"{name}_hi"] != "number" for name in boxes.numeric]
    return np.where(whole, 0.5, 0.0)


def _of_rows(boxes: ReleasedBoxes, place: NDArray[np.int64]) -> Linkage:
    """Of the rows that somebody fits."""
    count = _counts(boxes, place)[boxes.of_row]
    return _linkage(count[count > 0])


def _of_records(boxes: ReleasedBoxes, place: NDArray[np.int64]) -> Linkage:
    """Of the rows of known records: every record in a box stands behind one of its rows."""
    return _linkage(_counts(boxes, place)[place[place >= 0]])


def _counts(boxes: ReleasedBoxes, place: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(place[place >= 0], minlength=len(boxes.counts)).astype(np.int64)


def _linkage(rank: NDArray[np.int64]) -> Linkage:
    return Linkage(np.arange(len(rank)), rank.astype(np.float64), 1.0 / np.maximum(rank, 1), len(rank))
