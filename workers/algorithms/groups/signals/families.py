"""Families of nested sets by how well, how often and how confidently records fit the rules.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
w_b         (n,)    what each record that fits at all adds to count b: 1 or 0, or its grade in a sum
n_bp        (B, P)  count b of submicrofile p
size_p      (P,)    in-range records of p: swaps leave them as they are
v_sp        (S, P)  signals: counts, shares n_bp / size_p, and near-members to each member and five
==========  ======  =====================================================================================

Sets by grade, by the number of fitting rules and by the first of them in order of confidence are nested each, but not
in each other: places that are inconspicuous in one family can be the only outliers of another. All counts are linear in
who is there, so that what leaves a place is bounded by linear constraints (`groups.profile.program`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.signals.profile import FEW, ProfileSignal, SignalName

#: Least numbers of fitting rules, and into how many parts the rules are cut of which the most confident one counts.
RULE_COUNTS: Final = (1, 2, 3, 5, 10, 20)
PARTS: Final = (1, 2, 4, 8)

_Kind = Literal["members", "sum", "near", "rules", "confident"]
_SHARES: Final[dict[_Kind, SignalName]] = {
    "members": "members_share",
    "rules": "rules_share",
    "confident": "confident_share",
}


@dataclass(frozen=True)
class Count:
    """One linear count: its kind, the grade from which on it counts, and how many rules it speaks of."""

    kind: _Kind
    alpha: float
    rules: int | None


@dataclass(frozen=True)
class Signal:
    """One signal: what it is, the count that it is made of, and what that is divided by.

    `per` is "record" for a share, "member" for a ratio to the members and five, None for the count itself; `direct`
    signals are the group's own, of which the attack looks for outliers.
    """

    name: SignalName
    count: int
    per: Literal["record", "member"] | None
    direct: bool = False


@dataclass(frozen=True)
class Families:
    """All counts of a profile.

    Attributes
    ----------
    counts : B of them.
    signals : S of them, by count.
    records : (n,) int64, which records fit at all, ascending.
    weights : (B, n) float64.
    members : which count is of the members.
    """

    counts: tuple[Count, ...]
    signals: tuple[Signal, ...]
    records: IntArray
    weights: FloatArray
    members: int

    def counted(self, parameter: IntArray, groups: int) -> FloatArray:
        """(B, P), every count of each submicrofile; `parameter` is (N,) that of each record."""
        code = parameter[self.records]
        return np.array([np.bincount(code, weights=w, minlength=groups) for w in self.weights])

    def values(self, counted: FloatArray, sizes: IntArray) -> FloatArray:
        """(S, P), every signal from (B, P) counts and (P,) sizes; a place without records has shares of 0."""
        per_record = 1.0 / np.maximum(sizes, 1)
        per_member = 1.0 / (counted[self.members] + FEW)
        divided = {None: 1.0, "record": per_record, "member": per_member}
        return np.array([counted[one.count] * divided[one.per] for one in self.signals])

    def profile(self, parameter: IntArray, groups: int) -> tuple[ProfileSignal, ...]:
        """Every signal of a microfile, by name. O(n B)."""
        return self.described(self.values(self.counted(parameter, groups), np.bincount(parameter, minlength=groups)))

    def described(self, values: FloatArray) -> tuple[ProfileSignal, ...]:
        """(S, P) values of the signals, by name."""
        kinds = [self.counts[one.count] for one in self.signals]
        return tuple(
            ProfileSignal(one.name, kind.alpha, row, kind.rules, one.direct)
            for one, kind, row in zip(self.signals, kinds, values, strict=True)
        )


def families(
    grade: FloatArray, number: IntArray, first: IntArray, rules: int, alpha: float, grid: Sequence[float]
) -> Families:
    """The counts of a profile.

    Parameters
    ----------
    grade, number, first : (N,), as `rules.fits` gives them.
    rules : R.
    alpha : where the group itself begins.
    grid : alphas, above 0.

    Notes
    -----
    By grade: at least a, for a in the grid and for alpha; sums of grades; those below alpha alone (near-members). By
    number: at least m, for m in `RULE_COUNTS`. By confidence: one of the first ceil(R / t), for t in `PARTS`.
    """
    records = np.flatnonzero((grade > 0.0) | (number > 0)).astype(np.int64)
    fits, number, first = grade[records], number[records], first[records]
    rows: list[tuple[Count, FloatArray]] = []
    for a in sorted({*grid, alpha}):
        inside = fits >= a
        rows.append((Count("members", a, None), inside.astype(np.float64)))
        rows.append((Count("sum", a, None), np.where(inside, fits, 0.0)))
        if a < alpha:
            rows.append((Count("near", a, None), (inside & (fits < alpha)).astype(np.float64)))
    rows += [(Count("rules", alpha, m), (number >= m).astype(np.float64)) for m in RULE_COUNTS]
    for parts in PARTS:
        some = -(-rules // parts)
        rows.append((Count("confident", alpha, some), (first < some).astype(np.float64)))
    counts = tuple(count for count, _ in rows)
    members = next(i for i, one in enumerate(counts) if one.kind == "members" and one.alpha == alpha)
    return Families(counts, _signals(counts, alpha), records, np.array([row for _, row in rows]), members)


def _signals(counts: tuple[Count, ...], alpha: float) -> tuple[Signal, ...]:
    own = [one.kind in {"members", "sum"} and one.alpha == alpha for one in counts]
    out = [Signal(one.kind, i, None, own[i]) for i, one in enumerate(counts)]
    out += [Signal(_SHARES[one.kind], i, "record", own[i]) for i, one in enumerate(counts) if one.kind in _SHARES]
    out += [Signal("near_ratio", i, "member") for i, one in enumerate(counts) if one.kind == "near"]
    return tuple(out)
