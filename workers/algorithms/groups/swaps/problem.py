"""What swaps are made of: who may leave where to, bounds on the signal, and the swaps made.

Source: science.md section 2, "Swaps".

Notation
--------
==========  =======  =====================================================================================
symbol      shape    meaning
==========  =======  =====================================================================================
P           scalar   submicrofiles
q           (P,)     crisp auxiliary signal: members of the fuzzy group per submicrofile
e           index    a restricted (masked) submicrofile, bound at_most (lowered) or at_least (raised)
S           scalar   source records: members in source submicrofiles
R           scalar   partners: non-members in target submicrofiles
A           scalar   influential attributes
Q_need      scalar   swaps needed: the larger of sum (q_e - at_most) and sum (at_least - q_e)
==========  =======  =====================================================================================

A swap exchanges the parameter values of a member in a source submicrofile and of a non-member in a target: q falls by
one there, rises by one here, sizes stay. Sources and targets are disjoint sets of submicrofiles; lowered ones are
sources, raised ones are targets, so that one swap from a lowered to a raised one serves both (hence the larger of the
two needs, not their sum).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.swaps.levels import Levels, least_leaving, level_counts, plain
from workers.algorithms.groups.swaps.metric import Metric, paired_influence
from workers.algorithms.groups.swaps.restrictions import (
    NoPartnerError,
    NothingToMaskError,
    Restriction,
    UnreachableError,
    check_restrictions,
    sides,
)


@dataclass(frozen=True)
class Problem:
    """Records that may be swapped, and bounds on the signal. Made by `build`.

    Attributes
    ----------
    crisp : (P,) int64, q.
    restrictions : one per restricted submicrofile.
    metric : weights of the influential attributes.
    counts, bounds, floors, at : (K, P) records of each nested set, the most that may stay (-1: nothing requested) and
        the least that should, and which set the members are; see `levels`. One set only where places are raised.
    source_rows, source_code, source_values : (S,) rows among the caller's records, (S,) submicrofiles, (S, A) encoded
        attributes of those in sources that are in some set, in order of submicrofile. Restricted: rows and values are
        persons'.
    source_band : (S,), the smallest set that each is in.
    partner_rows, partner_code, partner_values : (R,), (R,), (R, A), likewise of those in targets that are in no set.
    """

    crisp: IntArray
    restrictions: tuple[Restriction, ...]
    metric: Metric
    counts: IntArray
    bounds: IntArray
    floors: IntArray
    at: int
    source_rows: IntArray
    source_code: IntArray
    source_band: IntArray
    source_values: FloatArray
    partner_rows: IntArray
    partner_code: IntArray
    partner_values: FloatArray

    @property
    def least(self) -> IntArray:
        """(K, P), how many of each nested set must leave."""
        return least_leaving(self.counts, self.bounds)

    @property
    def needs(self) -> IntArray:
        """(P,), records that a lowered element must lose (positive), members that a raised one must gain (negative)."""
        out = np.array(self.least[-1])
        for one in self.restrictions:
            if one.raises:
                out[one.element] = min(int(self.crisp[one.element]) - one.bound, 0)
        return out

    @property
    def needed(self) -> int:
        """Q_need."""
        needs = self.needs
        return int(max(needs[needs > 0].sum(), -needs[needs < 0].sum()))

    @property
    def fixed(self) -> Literal["sources", "targets"]:
        """The side on which the numbers moved follow from the restrictions: the one that needs more swaps."""
        needs = self.needs
        return "sources" if needs[needs > 0].sum() >= -needs[needs < 0].sum() else "targets"

    @property
    def source_start(self) -> IntArray:
        """(P + 1,), where the records of each source begin."""
        return _starts(self.source_code, len(self.crisp))

    @property
    def partner_start(self) -> IntArray:
        """(P + 1,), where the partners in each target begin."""
        return _starts(self.partner_code, len(self.crisp))


@dataclass(frozen=True)
class Swaps:
    """Pairs of records that exchange their parameter values. Restricted, all but the sums.

    Attributes
    ----------
    source_row, partner_row : (Q,) int64, rows among the caller's records; no row occurs twice.
    source, target : (Q,) int64, their submicrofiles before.
    band : (Q,) int64, the smallest set that the one from the source is in; the partner is in none.
    influence : (Q,) float64, InfM of each pair.
    """

    source_row: IntArray
    partner_row: IntArray
    source: IntArray
    target: IntArray
    band: IntArray
    influence: FloatArray

    @property
    def distortion(self) -> float:
        """InfM summed over the swaps."""
        return float(self.influence.sum())


def build(
    parameter: IntArray,
    groups: int,
    member: BoolArray,
    values: FloatArray,
    metric: Metric,
    restrictions: Sequence[Restriction],
    *,
    sources: Iterable[int] | None = None,
    targets: Iterable[int] | None = None,
    levels: Levels | None = None,
) -> Problem:
    """The problem of masking elements of a crisp signal, checked.

    Parameters
    ----------
    parameter : (N,) int64, submicrofile of each in-range record, in [0, groups).
    groups : P.
    member : (N,) bool, whether a record belongs to the fuzzy group.
    values : (N, A) float64 from `metric.encode`.
    metric : weights.
    restrictions : at least one, at most one per submicrofile.
    sources : submicrofiles that members may leave; by default the lowered ones, or where none is lowered all that are
        not raised.
    targets : submicrofiles that they may go to; by default all others.
    levels : nested sets, of which the members are one, and bounds on them; by default the members alone.

    Returns
    -------
    Problem

    Raises
    ------
    NothingToMaskError
        All restrictions are met as it is.
    NoPartnerError
        No member in a source or no non-member in a target.
    UnreachableError
        A bound cannot be reached; states how far it can go.
    ValueError
        Codes, restrictions, sources or targets contradict each other.
    """
    restrictions = tuple(restrictions)
    check_restrictions(restrictions, groups)
    if parameter.ndim != 1 or member.shape != parameter.shape or len(values) != len(parameter):
        raise ValueError("parameter, member and values must have an entry per record")
    if len(parameter) and (parameter.min() < 0 or parameter.max() >= groups):
        raise ValueError(f"every parameter code must be in [0, {groups})")
    levels = plain(member, groups) if levels is None else levels
    sets, bounds = len(levels.bounds), _bounds(levels, restrictions, groups)
    if not np.array_equal(levels.band <= levels.at, member):
        raise ValueError("the members must be one of the nested sets")
    leaving, entering = sides(restrictions, groups, sources, targets)
    source_rows = _in_order(parameter, (levels.band < sets) & leaving[parameter])
    partner_rows = _in_order(parameter, (levels.band == sets) & entering[parameter])
    counts = level_counts(parameter, levels.band, sets, groups)
    problem = Problem(
        crisp=counts[levels.at],
        restrictions=restrictions,
        metric=metric,
        counts=counts,
        bounds=bounds,
        floors=levels.floors,
        at=levels.at,
        source_rows=source_rows,
        source_code=parameter[source_rows].astype(np.int64),
        source_band=levels.band[source_rows],
        source_values=np.ascontiguousarray(values[source_rows], dtype=np.float64),
        partner_rows=partner_rows,
        partner_code=parameter[partner_rows].astype(np.int64),
        partner_values=np.ascontiguousarray(values[partner_rows], dtype=np.float64),
    )
    _check_reach(problem)
    return problem


def shuffled(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same problem with the records of each submicrofile in random order, so that ties do not follow the file's."""
    ours = _shuffle(problem.source_code, rng)
    theirs = _shuffle(problem.partner_code, rng)
    return without(problem, ours, theirs)


def without(problem: Problem, sources: IntArray, partners: IntArray) -> Problem:
    """The problem with these source records and partners only, in this order (indexes, ascending in submicrofile)."""
    return replace(
        problem,
        source_rows=problem.source_rows[sources],
        source_code=problem.source_code[sources],
        source_band=problem.source_band[sources],
        source_values=np.ascontiguousarray(problem.source_values[sources]),
        partner_rows=problem.partner_rows[partners],
        partner_code=problem.partner_code[partners],
        partner_values=np.ascontiguousarray(problem.partner_values[partners]),
    )


def paired(problem: Problem, sources: IntArray, partners: IntArray) -> Swaps:
    """Swaps of source records and partners, given by (Q,) indexes into the problem's."""
    return Swaps(
        source_row=problem.source_rows[sources],
        partner_row=problem.partner_rows[partners],
        source=problem.source_code[sources],
        target=problem.partner_code[partners],
        band=problem.source_band[sources],
        influence=paired_influence(problem.metric, problem.source_values, problem.partner_values, sources, partners),
    )


def _bounds(levels: Levels, restrictions: tuple[Restriction, ...], groups: int) -> IntArray:
    """Bounds of each set, with those of the restrictions on the members."""
    out = levels.bounds.copy()
    if out.ndim != 2 or out.shape[1] != groups or not 0 <= levels.at < len(out):
        raise ValueError("bounds must have a row per nested set and a column per submicrofile")
    if len(out) > 1 and any(one.raises for one in restrictions):
        raise ValueError("places can be raised by members only, not by nested sets")
    for one in restrictions:
        if not one.raises:
            already = out[levels.at, one.element]
            out[levels.at, one.element] = one.bound if already < 0 else min(one.bound, already)
    return out


def _check_reach(problem: Problem) -> None:
    needs, needed = problem.needs, problem.needed
    if needed == 0:
        raise NothingToMaskError
    if not len(problem.source_rows):
        raise NoPartnerError("members in the sources")
    if not len(problem.partner_rows):
        raise NoPartnerError("non-members in the targets")
    available = np.diff(problem.partner_start)
    for one in problem.restrictions:
        reachable = int(problem.crisp[one.element] + available[one.element])
        if one.raises and one.bound > reachable:
            raise UnreachableError(one.element, one.bound, reachable, "that is its size")
    if needed > len(problem.partner_rows):
        raise UnreachableError(None, needed, len(problem.partner_rows), "swaps, one per non-member in the targets")
    wanted = -int(needs[needs < 0].sum())
    if wanted > len(problem.source_rows):
        raise UnreachableError(None, wanted, len(problem.source_rows), "swaps, one per member in the sources")


def _starts(code: IntArray, groups: int) -> IntArray:
    return np.searchsorted(code, np.arange(groups + 1)).astype(np.int64)


def _in_order(parameter: IntArray, chosen: BoolArray) -> IntArray:
    rows = np.flatnonzero(chosen)
    return np.asarray(rows[np.argsort(parameter[rows], kind="stable")], dtype=np.int64)


def _shuffle(code: IntArray, rng: np.random.Generator) -> IntArray:
    order = rng.permutation(len(code))
    return np.asarray(order[np.argsort(code[order], kind="stable")], dtype=np.int64)
