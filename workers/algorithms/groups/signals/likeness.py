"""How alike two files are, variable by variable: whether rules learned from one may be expected to hold in the other.

Source: science.md section 2, "Adequacy"; TC, outline of the attack: "auxiliary microfile with a similar distribution".

Notation
--------
======  =======  ==========================================================================================
symbol  shape    meaning
======  =======  ==========================================================================================
x, y    (n,)     values of one variable in the auxiliary file, (m,) in the target
F, G             their empirical distribution functions
D       scalar   sup |F - G|, the distance of Kolmogorov and Smirnov, in [0, 1]
======  =======  ==========================================================================================
"""

import math
from typing import Final

import numpy as np

from surebox_core.types import FloatArray

#: Two samples of one distribution are further apart than `by_chance` once in so many draws, at most.
CHANCE: Final = 0.01


def distance(x: FloatArray, y: FloatArray) -> float:
    """D of two samples, ties and all.

    Parameters
    ----------
    x, y : (n,), (m,), finite, neither empty.

    Returns
    -------
    sup |F - G|; 0 where the files have each value equally often.

    Raises
    ------
    ValueError
        A sample is empty.

    Notes
    -----
    O((n + m) log(n + m)).
    """
    if not len(x) or not len(y):
        raise ValueError("both files must have records: a distance to nothing is undefined")
    ours, theirs = np.sort(x), np.sort(y)
    every = np.concatenate([ours, theirs])
    below = np.searchsorted(ours, every, side="right") / len(ours)
    beside = np.searchsorted(theirs, every, side="right") / len(theirs)
    return float(np.abs(below - beside).max())


def by_chance(n: int, m: int) -> float:
    """What D of two samples of one distribution exceeds with probability 1 %, for large n and m; less with ties.

    Smirnov 1948: sqrt(-ln(p/2)/2) sqrt((n + m)/(n m)).
    """
    return math.sqrt(-math.log(CHANCE / 2.0) / 2.0) * math.sqrt((n + m) / (n * m))
