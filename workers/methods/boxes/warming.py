"""Made-up records through everything that every box job runs, so that its kernels are compiled before the first."""

import numpy as np

from surebox_verify.core.statistics import Statistic, all_moments
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.diversity import BoxConstraints
from workers.algorithms.boxes.sides import NominalColumn
from workers.algorithms.boxes.state import BoxesRequest


def warm_up() -> None:
    """Run a few made-up records through every partition, both kinds of bounds and all kinds of statistics."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5000, 3))  # more than `optimal` sorts at a time
    mean, pair = (Statistic("mean", (0,)),), (Statistic("covariance", (0, 1)), Statistic("regression", (0, 1)))
    free = BoxConstraints(1, codes=np.zeros((len(values), 1), dtype=np.int32))
    requests: tuple[BoxesRequest, ...] = (
        BoxesRequest(250, (*all_moments(3), *pair), "optimal", "cells"),
        BoxesRequest(250, mean, "fast", "tight"),
        BoxesRequest(250, mean, "mondrian", "cells", demands=free),  # without demands it runs what `fast` does
    )
    codes = NominalColumn(np.arange(len(values), dtype=np.int32) % 7, 7)
    mixed = (Statistic("mean", (0,)), Statistic("share", (3,)))
    requests += tuple(
        BoxesRequest(250, mixed, partition, "cells", nominal=(codes,), floor=0.03) for partition in ("optimal", "fast")
    )
    for request in requests:
        state = anonymization.init(values, request)
        while not anonymization.done(state):
            state = anonymization.step(state, rng=rng)
