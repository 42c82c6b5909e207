"""The ladder of scales: ten rungs to a decade, the same for all data.

Notation
--------
s_i : rung number i; s_0 = 1, s_10 = 10, s_-10 = 0.1. Numbers of one or two significant digits (three at 3.15).

A published scale that is solved for reveals of whoever decides it how far the others are; a rung reveals a quarter more
or less of it (science.md section 3, "Published scales identify records").
"""

import math
from typing import Final

#: A deviation below this is none: squares of values scaled by it would overflow.
SMALLEST: Final = 1e-74

_RUNGS = ("1.0", "1.25", "1.6", "2.0", "2.5", "3.15", "4.0", "5.0", "6.3", "8.0")


def rung(number: int) -> float:
    """s_i, the float nearest to its decimal."""
    decade, place = divmod(number, len(_RUNGS))
    return float(f"{_RUNGS[place]}e{decade}")


def number_from(scale: float) -> int:
    """The number of the lowest rung that is not below a scale > 0."""
    number = math.floor(math.log10(scale) * len(_RUNGS)) - 2
    while rung(number) < scale:
        number += 1
    return number


def rung_from(scale: float) -> float:
    """The lowest rung that is not below a scale; 0 stays 0."""
    return rung(number_from(scale)) if scale > 0.0 else 0.0
