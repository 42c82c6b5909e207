"""The linkage audit of boxes: the rank of a row's record is the number of candidates in its box.

All candidates of a row fit it equally well (the density of a box is flat), so that the rank of the true record among
the fits, ties counting, is their number, and its posterior (AG eq. 3) one in so many. With the original known the
number is at least k; with another file it may be anything, 0 included: no one fits then. Where kept columns count, the
candidates of a row are those with its kept values.

science.md section 3, "Linkage audit" (for boxes the number of candidates per record).
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidError
from workers.algorithms.uncertain.linkage.attack import Linkage
from workers.frames.originals import Originals
from workers.methods.context import JobContext
from workers.methods.linkage.knowledge import KNOWN_SHARE
from workers.methods.released.placing import located_in


def attack_boxes(job: JobContext, rng: np.random.Generator) -> tuple[Mapping[str, Linkage], int]:
    """Candidates of every row, and how many records the adversary knows.

    Raises
    ------
    InvalidError
        They know no one who fits any box.
    """
    location = located_in(
        Originals(job.dataset_path("knowledge_dataset_id")), job.release_path("release_id"), job.releases["release_id"]
    )
    place, boxes = location.places, int(location.of_row.max(initial=-1)) + 1
    if (place < 0).all():
        detail = "no record of this dataset is in any box of the release"
        raise InvalidError.at("/knowledge_dataset_id", detail)
    some = place[rng.permutation(len(place))[: int(KNOWN_SHARE * len(place))]]
    of_rows, of_records = _counts(place, boxes)[location.of_row], _counts(some, boxes)[some[some >= 0]]
    attacks = {"fit": _linkage(of_rows[of_rows > 0]), "fit_90": _linkage(of_records)}
    return {name: one for name, one in attacks.items() if len(one.rows)}, len(place)


def _counts(place: NDArray[np.int64], boxes: int) -> NDArray[np.int64]:
    """Candidates in each box: every record in it is behind one of its rows."""
    return np.bincount(place[place >= 0], minlength=boxes).astype(np.int64)


def _linkage(rank: NDArray[np.int64]) -> Linkage:
    return Linkage(np.arange(len(rank)), rank.astype(np.float64), 1.0 / np.maximum(rank, 1), len(rank))
