"""Several releases attacked jointly, by whoever can determine which of their rows are one person's.

Source: science.md section 7, "Joint linkage".

Notation
--------
N : records of the original. group of i : the records that are in the same box as i in every release of boxes, and agree
    with it in what the releases keep.
u : an uncertain release, r_u(i) its row of record i, if it has one; f_u,r the density of that row.
fit_i(j) = sum_u log f_{u, r_u(i)}(x_j), over the releases that have a row of i, up to a constant of i.
candidates of i : the known records in its group. Nothing but noise distinguishes them.
rank of i : candidates j with fit_i(j) >= fit_i(i); i itself counts, and ties do (AG Definition 2.4).
posterior of j : exp(fit_i(j)) over its sum over the candidates (AG eq. 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.linkage.joint import log_fit


@dataclass(frozen=True)
class Noisy:
    """An uncertain release of the records.

    Attributes
    ----------
    densities : its rows.
    row : (N,) row of each record, -1 where it has none.
    values : (N, n), in the densities' columns; NaN where missing: such a record fits nothing.
    """

    densities: Densities
    row: IntArray
    values: FloatArray


@dataclass(frozen=True)
class Groups:
    """Known records by group.

    Attributes
    ----------
    order : (N',) the known records, group by group.
    start : (G + 1,) where each group begins in `order`.
    of_record : (N,) group of each record.
    """

    order: IntArray
    start: IntArray
    of_record: IntArray

    @classmethod
    def of(cls, group: IntArray, known: BoolArray) -> "Groups":
        """Sort known records by group, numbered from 0."""
        records = np.flatnonzero(known)
        order = records[np.argsort(group[records], kind="stable")]
        return cls(order, np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 2)), group)

    @property
    def sizes(self) -> IntArray:
        """(N,), candidates of each record."""
        return np.asarray(np.diff(self.start)[self.of_record])


@dataclass(frozen=True)
class Ranked:
    """Of each record tried: its rank and posterior, the largest posterior, and whether that is its own."""

    rank: IntArray
    posterior: FloatArray
    best: FloatArray
    right: BoolArray


def attack(noisy: Sequence[Noisy], groups: Groups, tried: IntArray) -> Ranked:
    """Rank the candidates of some records.

    Parameters
    ----------
    noisy : uncertain releases; none: all candidates fit alike.
    groups : from the boxes; without boxes one.
    tried : (q,) known records.

    Returns
    -------
    Ranked
        O(sum of the candidates times the columns): try as many records at once as memory allows.
    """
    sizes = groups.sizes[tried]
    owner = np.repeat(np.arange(len(tried)), sizes)
    begins = np.cumsum(sizes) - sizes
    other = groups.order[np.arange(int(sizes.sum())) - begins[owner] + groups.start[groups.of_record[tried]][owner]]
    fit = np.zeros(len(owner))
    for one in noisy:
        row = one.row[tried][owner]
        there = np.flatnonzero(row >= 0)
        held, rows = one.densities, row[there]
        axes = None if held.axes is None else held.axes[rows]
        log_likelihood = log_fit(
            Densities(held.model, held.z[rows], held.scale[rows], axes, held.unit), one.values[other[there]]
        )
        fit[there] += np.where(np.isnan(log_likelihood), -np.inf, log_likelihood)
    own = np.empty(len(tried))
    mine = tried[owner] == other
    own[owner[mine]] = fit[mine]
    most = np.maximum.reduceat(fit, begins) if len(fit) else fit
    weight = np.add.reduceat(np.exp(fit - most[owner]), begins) if len(fit) else fit
    return Ranked(
        rank=np.bincount(owner[fit >= own[owner]], minlength=len(tried)).astype(np.int64),
        posterior=np.exp(own - most) / weight,
        best=1.0 / weight,
        right=own == most,
    )
