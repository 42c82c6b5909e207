"""Made-up records through everything that every box job runs, so that its kernels are compiled before the first."""

from typing import Final

import numpy as np

from surebox_core.statistics import Statistic, all_moments
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.sides import NominalColumn
from workers.algorithms.boxes.state import BoxesRequest

_RECORDS: Final = 5000  # more than `optimal` sorts at a time


def warm_numeric() -> None:
    """Columns of numbers alone: every partition, both kinds of bounds, all kinds of statistics."""
    mean, pair = (Statistic("mean", (0,)),), (Statistic("covariance", (0, 1)), Statistic("regression", (0, 1)))
    free = BoxConstraints(1, codes=np.zeros((_RECORDS, 1), dtype=np.int32))
    _run(BoxesRequest(250, (*all_moments(3), *pair), "optimal", "cells"))
    _run(BoxesRequest(250, mean, "fast", "tight"))
    _run(BoxesRequest(250, mean, "mondrian", "cells", demands=free))  # without demands it runs what `fast` does


def warm_mixed() -> None:
    """A nominal column beside those of numbers."""
    codes = NominalColumn(np.arange(_RECORDS, dtype=np.int32) % 7, 7)
    statistics = (Statistic("mean", (0,)), Statistic("share", (3,)))
    _run(BoxesRequest(250, statistics, "optimal", "cells", nominal=(codes,), unlisted_column_weight=0.03))
    _run(BoxesRequest(250, statistics, "fast", "cells", nominal=(codes,), unlisted_column_weight=0.03))


def _run(request: BoxesRequest) -> None:
    rng = np.random.default_rng(0)
    state = anonymization.init(rng.normal(size=(_RECORDS, 3)), request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
