"""Scores of special uniques (SUDA), and the risk they represent (DIS), as statistical offices use them.

Notation
--------
N, d : records, quasi-identifiers. M : columns of the largest minimal sample uniques looked at, at most d - 1.
s : columns of one minimal sample unique; it adds prod_{i=s}^{M} (d - i) to its record's score (Elliot et al. 2005).
U, P : records that are unique on all columns, records that agree with exactly one other.
f : sampling fraction. DIS = U f / (U f + P (1 - f)): probability that a match of a unique is right (Skinner, Elliot
    2002).
DIS-SUDA of a record: 1 / (1 + (U / DIS - U) / (score^Q A)), Q = 1 + (8 - d)/20, A = sum score^-Q over scores above 0:
    the DIS spread over the records by their scores.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.tables.uniques import Minimal


@dataclass(frozen=True)
class Special:
    """Scores so far.

    Attributes
    ----------
    score : (N,) 0 where no minimal sample unique was found.
    by_column : (d,) what minimal sample uniques with each column have added to scores.
    counts : of minimal sample uniques, by their columns.
    """

    score: FloatArray
    by_column: FloatArray
    counts: Mapping[tuple[int, ...], int]

    @property
    def contribution(self) -> FloatArray:
        """(d,) share of all scores that comes from minimal sample uniques with each column."""
        total = float(self.score.sum())
        return self.by_column / total if total > 0.0 else self.by_column


def weight(size: int, columns: int, depth: int) -> float:
    """What a minimal sample unique adds to the score of its record.

    Parameters
    ----------
    size : s, its columns.
    columns : d.
    depth : largest sets that were looked at; M is at most d - 1.
    """
    return float(np.prod([columns - i for i in range(size, min(depth, columns - 1) + 1)]))


def unscored(*, records: int, columns: int) -> Special:
    """No scores yet, of N records and d columns."""
    return Special(np.zeros(records), np.zeros(columns), {})


def scored(before: Special, minimal: Iterable[Minimal], *, depth: int) -> Special:
    """Scores with more minimal sample uniques.

    Parameters
    ----------
    before : used up by this: its arrays become those of the returned ones.
    minimal : as `uniques.minimal_uniques` yields them, each once.
    depth : as of `uniques.minimal_uniques`.
    """
    counts = dict(before.counts)
    for one in minimal:
        added = weight(len(one.columns), len(before.by_column), depth)
        before.score[one.records] += added
        before.by_column[list(one.columns)] += added * len(one.records)
        counts[one.columns] = len(one.records)
    return Special(before.score, before.by_column, counts)


def intrusion(size: IntArray, fraction: float) -> float | None:
    """DIS: how likely a match of a unique record is right.

    Parameters
    ----------
    size : (G,) sizes of classes on all columns.
    fraction : f, within (0, 1].

    Returns
    -------
    float, or None where no record is unique.
    """
    unique, paired = int((size == 1).sum()), 2 * int((size == 2).sum())
    return None if unique == 0 else unique * fraction / (unique * fraction + paired * (1.0 - fraction))


def record_risks(score: FloatArray, size: IntArray, fraction: float, columns: int) -> FloatArray:
    """DIS-SUDA scores.

    Parameters
    ----------
    score : (N,) of `scored`.
    size, fraction : as for `intrusion`.
    columns : d.

    Returns
    -------
    (N,), 0 where the score is.
    """
    dis, out = intrusion(size, fraction), np.zeros(len(score))
    scored = score > 0.0
    if dis is None or not scored.any():
        return out
    unique = int((size == 1).sum())
    power = score[scored] ** (1.0 + (8.0 - columns) / 20.0)
    out[scored] = 1.0 / (1.0 + (unique / dis - unique) / (power * (1.0 / power).sum()))
    return out
