"""What kernels of the memetic algorithm take, by reference: a problem, individuals, and the odds they are bred by.

Notation as in memetic.search.
"""

from typing import NamedTuple

from surebox_core.compiling.references import by_reference
from surebox_core.types import FloatArray, IndexArray, IntArray


@by_reference
class Parts(NamedTuple):
    """Which records are in which submicrofile.

    Attributes
    ----------
    source_part, partner_part : (S,), (R,) int64.
    source_band : (S,) int64, the smallest nested set that a source record is in.
    source_start, partner_start : (E + 1,), (T + 1,) int64.
    weight_of_part : (T,), cumulated sizes of the target submicrofiles.
    """

    source_part: IntArray
    source_band: IntArray
    partner_part: IntArray
    source_start: IntArray
    partner_start: IntArray
    weight_of_part: FloatArray


@by_reference
class Nearby(NamedTuple):
    """How far records are from each other.

    Attributes
    ----------
    source_values, partner_values : (S, A), (R, A).
    weights, categorical : (A,) and how many of them come first.
    near, near_distance : (S, T, K), the nearest partners in each target, -1 and infinity where there are fewer.
    nearest : (S,), distance of the nearest partner of all.
    """

    source_values: FloatArray
    partner_values: FloatArray
    weights: FloatArray
    categorical: int
    near: IndexArray
    near_distance: FloatArray
    nearest: FloatArray


@by_reference
class Goal(NamedTuple):
    """Bounds on the signal.

    Attributes
    ----------
    source_signal, source_bound, source_zero : (K, E), records of each nested set, at_most and zero_at; a bound of -1
        where nothing is requested.
    source_floor : (K, E), the least that should stay; 0 where nothing is requested.
    at : which of the sets the members are: they are what enters targets.
    target_signal, target_bound, target_zero : (T,), q, at_least and zero_below likewise.
    needed : Q_need.
    most : C_max = Q_need * largest InfM of one swap.
    """

    source_signal: IntArray
    source_bound: IntArray
    source_zero: IntArray
    source_floor: IntArray
    at: int
    target_signal: IntArray
    target_bound: IntArray
    target_zero: IntArray
    needed: int
    most: float


@by_reference
class Board(NamedTuple):
    """A problem."""

    parts: Parts
    nearby: Nearby
    goal: Goal


@by_reference
class Stamps(NamedTuple):
    """Who is used by the individual at work: (S,), (R,), by which of its rows (R,), and its number (1,); int64."""

    source: IntArray
    partner: IntArray
    row: IntArray
    now: IntArray


@by_reference
class Odds(NamedTuple):
    """How children come about: size of tournaments, p_c of a pair, (4,) p_m of M1 to M4, and shares of the rows."""

    tournament: int
    crossover: float
    mutation: FloatArray
    local_search: float
    roaming: float


@by_reference
class Places(NamedTuple):
    """Individuals, in place: source, partner (n, L) int32, influence (n, L), rows (n,) int64, fitness (n,)."""

    source: IndexArray
    partner: IndexArray
    influence: FloatArray
    rows: IntArray
    fitness: FloatArray
