"""Every data set that is consistent with a few small boxes: the slow oracle of ranges."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np


def tables_of_box(
    sides: Sequence[Sequence[float]], count: int, attained: Sequence[Sequence[float]] = ()
) -> list[np.ndarray]:
    """All (count, columns) tables with values of each column among its side, and each of `attained` some record's.

    Records of a box are exchangeable: multisets of rows are enough.
    """
    rows = list(itertools.product(*sides))
    made = (np.array(chosen, dtype=np.float64) for chosen in itertools.combinations_with_replacement(rows, count))
    return [t for t in made if all(set(values) <= set(t[:, j].tolist()) for j, values in enumerate(attained))]


def sums_of_all(
    boxes: Sequence[Sequence[np.ndarray]], sums: Callable[[np.ndarray, int], tuple[float, ...]]
) -> Iterator[np.ndarray]:
    """What additive numbers come to over all data: `sums` of a table of box b, added over the boxes."""
    different = [sorted({sums(table, b) for table in tables}) for b, tables in enumerate(boxes)]
    for parts in itertools.product(*different):
        yield np.sum(parts, axis=0)
