"""What every box must contain besides k records, as a request states it, and whether one box of all records does.

Notation
--------
kept : (N,) int32, class of each record by its kept columns (`k_counts_kept`); empty where they do not count.
codes : (N, c) int32, values of the sensitive columns, numbered; -1 where missing, which counts as no value.
values, apart : (N, w) and (w,), columns whose l values must be `apart` pairwise; NaN where missing.
persons : (N,) int32, whose record each is; empty where k counts records.

Each privacy model has a module of its own, with its definition: k_anonymity, l_diversity, t_closeness, alpha_k and
least_width.
"""

from dataclasses import dataclass, field

import numpy as np

from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.boxes.partition.constraints.l_diversity import spread
from workers.algorithms.core.errors import InfeasibleDiversityError, InfeasibleKError


@dataclass(frozen=True)
class BoxConstraints:
    """What a box must contain besides k records; empty arrays and None where nothing is demanded.

    Attributes
    ----------
    l : least number of values of each sensitive column; 0 for no demand.
    kept, codes, values, apart, persons : see the Notation.
    t : largest distance of a sensitive column's distribution in a box from that of all records.
    alpha : largest share that one value of a sensitive column has of the records of a box that have one.
    ordered : which columns of `codes` are ranks, whose distance is the earth mover's.
    """

    l: int = 0  # noqa: E741 - the field's letter
    kept: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    codes: IndexArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))
    values: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    apart: FloatArray = field(default_factory=lambda: np.empty(0))
    t: float | None = None
    alpha: float | None = None
    ordered: tuple[bool, ...] = ()
    persons: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    @property
    def none(self) -> bool:
        """Whether k records suffice."""
        return len(self.kept) == 0 and self.codes.shape[1] == 0 and self.values.shape[1] == 0


def check_demands(demands: BoxConstraints, k: int) -> None:
    """Refuse what not even one box of all records meets.

    Raises
    ------
    InfeasibleKError
        A kept class has fewer than k records.
    InfeasibleDiversityError
        A column has fewer than l values (so far apart); it names the column that has fewest.
    """
    if len(demands.kept) and (smallest := int(np.unique(demands.kept, return_counts=True)[1].min())) < k:
        raise InfeasibleKError(k, smallest)
    largest = [len(np.unique(c[c >= 0])) for c in demands.codes.T]
    for v, apart in zip(demands.values.T, demands.apart, strict=True):
        known = np.sort(v[~np.isnan(v)])
        largest.append(int(spread(known, apart, len(known))))
    if largest and min(largest) < demands.l:
        raise InfeasibleDiversityError(int(np.argmin(largest)), demands.l, min(largest))
