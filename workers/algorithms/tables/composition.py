"""What several releases reveal together of the same persons (science.md section 6, "Composed k").

Notation
--------
R releases of the same data, N records of today.
b_r(i) : place of record i in release r (its box); ABSENT, which is a place too, for a record that is anywhere; or
    UNPLACED: where it was cannot be determined, so that it is hidden among no one.
tuple of i : (b_1(i), ..., b_R(i)). Records with one tuple are an overlay group: nothing in the boxes distinguishes
them. n_r(b, v) : published rows of release r in place b whose kept values, in the columns that all releases keep, are
v.
T : the records of today, which come first; the others have left.
a_r(b), d_r(b) : sum_v max(n'_r(b, v) - n_r(b, v), 0) and sum_v max(n_r(b, v) - n'_r(b, v), 0), n' the records of T in
    place b: rows that came to a box, and that left it. With persons, as few of them as can have been so many rows.
k_overlay : persons in the smallest overlay group: the information left to whoever can join the rows of one person.
k_candidates : min over i of sum_v min_{r : i in r} n_r(b_r(i), v): to whoever joins them by kept columns alone.
delta_ij^2 = sum_u sum_c ((x_ic - x_jc) / s_uic)^2 over the gaussian releases u, scales s of record i.
A(i) = sum_{j in the overlay group of i} P(j fits the rows of i at least as well as i), the rows' posteriors multiplied:
    gaussian 1 - Phi(delta_ij / 2) (AG eq. 8), uniform prod_uc max(1 - |x_ic - x_jc| / s_uic, 0) (AG eq. 15).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.tables import locating
from workers.algorithms.tables.candidates import ABSENT, UNPLACED, Placed, joint_candidates
from workers.algorithms.tables.classes import classes, grouped

__all__ = [
    "ABSENT",
    "UNPLACED",
    "Composed",
    "CompositionRequest",
    "Diversity",
    "Noise",
    "Placed",
    "compose",
    "rehearse",
]

_PAIRS: Final = 5_000_000  # fits that are looked at; beyond them records are sampled


@dataclass(frozen=True)
class Noise:
    """One uncertain release: values and scales of the records it was made from, in common units.

    Attributes
    ----------
    values : (N, n).
    scale : (N, n), of each record's density along each column; NaN where the record is not in the release.
    uniform : whether densities are cubes of side `scale`, not bells of standard deviation `scale`.
    """

    values: FloatArray
    scale: FloatArray
    uniform: bool = False


@dataclass(frozen=True)
class CompositionRequest:
    """The composition.

    Attributes
    ----------
    releases : those with places.
    k : persons that are to remain.
    persons : (N,), number of each record's person; None: each record is a person.
    sensitive : (T,) codes each, of the columns whose diversity is looked at; -1 where missing, which is no value.
    noise : the uncertain releases.
    presence : (N,) each, of releases without places: 0 where a record is in it, ABSENT, UNPLACED.
    today : T; None: all are there.
    others : (N,) each, numbers of persons by other columns: the rest is the least by any of them.
    """

    releases: Sequence[Placed]
    k: float
    persons: IntArray | None = None
    sensitive: Sequence[IntArray] = ()
    noise: Sequence[Noise] = ()
    presence: Sequence[IntArray] = ()
    today: int | None = None
    others: Sequence[IntArray] = ()


@dataclass(frozen=True)
class Diversity:
    """A sensitive column over the overlay groups.

    Attributes
    ----------
    l_diversity : distinct values in the least diverse group.
    alpha : greatest share of one value in a group, of the records that have one.
    homogeneous : share of records in groups with one value.
    """

    l_diversity: int
    alpha: float
    homogeneous: float


@dataclass(frozen=True)
class Composed:
    """What the releases leave together.

    Attributes
    ----------
    records, groups : records that are in some release, and their overlay groups.
    overlay : persons in the smallest group.
    overlay_below : share of the persons in groups below k.
    candidates, candidates_below : the same of joint candidates; None where the published data are not known.
    changed : the smallest positive a_r(b) or d_r(b): so few have come to a place or left it, counted by kept values.
        None: nothing differs.
    expected, expected_below : least A(i), and the share of the records below k; None without noise.
    evaluated : records whose A(i) was computed.
    diversity : of each sensitive column.
    """

    records: int
    groups: int
    overlay: int
    overlay_below: float
    candidates: int | None
    candidates_below: float | None
    changed: int | None
    expected: float | None
    expected_below: float | None
    evaluated: int
    diversity: tuple[Diversity, ...] = field(default=())


def rehearse() -> None:
    """Compose a few made-up records, without and with what is published of them, so that everything is compiled."""
    x, rng, places = np.arange(40.0)[:, None], np.random.default_rng(0), locating.rehearse()
    boxes = np.arange(20)
    published = Placed(places, published_place=boxes, published_kept=0 * boxes, published_rows=0 * boxes + 2)
    compose(CompositionRequest([Placed(places)], 2.0, noise=[Noise(x, np.ones_like(x))]), rng=rng)
    compose(CompositionRequest([published, published], 2.0), rng=rng)


def compose(request: CompositionRequest, *, rng: np.random.Generator) -> Composed:
    """What the releases leave together; O(R N log N) without noise.

    Parameters
    ----------
    request : the releases and the records.
    rng : draws the records whose A(i) is computed, where there are too many.

    Raises
    ------
    ValueError
        If there is neither a release with places nor one with noise, or a length differs.
    """
    present = _present(request)
    rows = np.flatnonzero(present)
    group, first = _overlay([one[rows] for one in _all_places(request)], len(rows))
    sizes = np.bincount(group, minlength=len(first))
    persons = _persons(group, None if request.persons is None else request.persons[rows], sizes)
    for other in request.others:
        persons = np.minimum(persons, _persons(group, other[rows], sizes))
    below = persons < request.k
    candidates = joint_candidates(request.releases, rows[first])
    expected = _expected(request, rows, group, rng)
    return Composed(
        records=len(rows),
        groups=len(first),
        overlay=int(persons.min(initial=len(rows))),
        overlay_below=_share(persons, below),
        candidates=None if candidates is None else int(candidates.min(initial=len(rows))),
        candidates_below=None if candidates is None else _share(persons, candidates < request.k),
        changed=_changed(request),
        expected=None if expected is None else float(expected.min(initial=np.inf)),
        expected_below=None if expected is None else float((expected < request.k).mean()),
        evaluated=0 if expected is None else len(expected),
        diversity=tuple(_diverse(rows, group, codes) for codes in request.sensitive),
    )


def _present(request: CompositionRequest) -> np.ndarray:
    """Records that are in some release: of others nothing was published."""
    seen = [one.places != ABSENT for one in request.releases] + [one == UNPLACED for one in request.presence]
    seen += [~np.isnan(one.scale[:, 0]) for one in request.noise]
    if not seen:
        raise ValueError("there is nothing to compose")
    persons = [one for one in (request.persons, *request.others) if one is not None]
    today = len(seen[0]) if request.today is None else request.today
    if len({len(one) for one in (*seen, *persons)}) != 1 or any(len(one) != today for one in request.sensitive):
        raise ValueError("all releases place the same records")
    return reduce(np.logical_or, seen)


def _all_places(request: CompositionRequest) -> list[IntArray]:
    return [*(one.places for one in request.releases), *request.presence]


def _overlay(places: Sequence[IntArray], records: int) -> tuple[IntArray, IntArray]:
    """Overlay group of each record, and a record of each group."""
    if not places:
        return np.zeros(records, np.int64), np.zeros(min(records, 1), np.int64)
    codes = np.array(places, dtype=np.int32)
    unplaced = (codes == UNPLACED).any(axis=0)
    if unplaced.any():  # a group of one each, by a number of its own
        alone = np.where(unplaced, np.arange(records, dtype=np.int32), np.int32(ABSENT))
        codes = np.vstack([np.maximum(codes, ABSENT), alone])
    grouping = classes(codes)
    return grouping.of_record, grouping.first


def _persons(group: IntArray, persons: IntArray | None, sizes: IntArray) -> IntArray:
    if persons is None:
        return sizes
    code = grouped(persons).of_record
    pairs = grouped(group * (int(code.max(initial=0)) + 1) + code).first
    return np.bincount(group[pairs], minlength=len(sizes))


def _diverse(rows: IntArray, group: IntArray, codes: IntArray) -> Diversity:
    """A sensitive column over the groups of today's records, for of others nothing is known."""
    today = rows < len(codes)
    of = grouped(group[today])
    return _diversity(of.of_record, codes[rows[today]], of.size)


def _share(weights: IntArray, which: np.ndarray) -> float:
    total = int(weights.sum())
    return float(weights[which].sum()) / total if total else 0.0


def _diversity(group: IntArray, codes: IntArray, sizes: IntArray) -> Diversity:
    if not len(sizes):
        return Diversity(0, 0.0, 0.0)
    there = codes >= 0
    code = np.unique(codes[there], return_inverse=True)[1]
    span = int(code.max(initial=0)) + 1
    pairs, counts = np.unique(group[there] * span + code, return_counts=True)
    distinct = np.bincount(pairs // span, minlength=len(sizes))
    known = np.bincount(group[there], minlength=len(sizes))
    most = np.zeros(len(sizes), np.int64)
    np.maximum.at(most, pairs // span, counts)
    return Diversity(int(distinct.min()), float((most / np.maximum(known, 1)).max()), _share(sizes, distinct == 1))


def _changed(request: CompositionRequest) -> int | None:
    """Smallest positive a_r(b) or d_r(b) of all releases that state what they have published."""
    figures = [one for release in request.releases for one in _moved(release, request)]
    return min(figures, default=None)


def _moved(release: Placed, request: CompositionRequest) -> list[int]:
    """Fewest of today's records, and of a release's rows, that are in a place where the other has none for them."""
    if release.published_place is None or release.published_rows is None or not release.compared:
        return []
    today = len(release.places) if request.today is None else request.today
    there = np.flatnonzero(release.places[:today] > ABSENT)
    kept, shown = release.kept or (np.zeros(today, np.int64), np.zeros_like(release.published_place))
    span = int(max(kept.max(initial=0), shown.max(initial=0))) + 1
    cells = grouped(
        np.concatenate([release.places[there] * span + kept[there], release.published_place * span + shown])
    )
    mine, theirs = np.split(cells.of_record, [len(there)])
    now = np.bincount(mine, minlength=len(cells.size))
    was = np.bincount(theirs, weights=release.published_rows, minlength=len(cells.size)).astype(np.int64)
    place = grouped(np.concatenate([release.places[there], release.published_place]))
    of_cell = place.of_record[cells.first]
    most = _most_rows(place.of_record[: len(there)], len(place.size), there, request)
    figures = []
    for more in (now - was, was - now):
        total = np.bincount(of_cell, weights=np.maximum(more, 0), minlength=len(place.size)).astype(np.int64)
        figures += [int(np.ceil(total / most)[total > 0].min(initial=np.inf))] if total.any() else []
    return figures


def _most_rows(place: IntArray, places: int, there: IntArray, request: CompositionRequest) -> IntArray:
    """Rows that one person has in each place, at most; 1 where each record is a person."""
    most = np.ones(places, dtype=np.int64)
    for persons in (request.persons, *request.others):
        if persons is not None and len(there):
            code = grouped(persons[there])
            pairs = grouped(place * len(code.size) + code.of_record)
            np.maximum.at(most, place[pairs.first], pairs.size)
    return most


def _expected(
    request: CompositionRequest, rows: IntArray, group: IntArray, rng: np.random.Generator
) -> FloatArray | None:
    """A(i), of all records or of a sample of them."""
    if not request.noise:
        return None
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    ends = np.cumsum(sizes)
    sample = np.arange(len(rows))
    if (work := int((sizes.astype(np.float64) ** 2).sum())) > _PAIRS:
        sample = rng.choice(len(rows), size=max(100, int(len(rows) * _PAIRS / work)), replace=False)
    values = np.ascontiguousarray(np.hstack([one.values[rows] for one in request.noise]))
    scale = np.ascontiguousarray(np.hstack([one.scale[rows] for one in request.noise]))
    uniform = np.concatenate([np.full(one.scale.shape[1], one.uniform) for one in request.noise])
    return expected_fitting(
        values, scale, uniform, sample, order, ends[group[sample]] - sizes[group[sample]], ends[group[sample]]
    )


@kernel
def expected_fitting(  # noqa: C901
    values: FloatArray,
    scale: FloatArray,
    uniform: BoolArray,
    sample: IntArray,
    order: IntArray,
    start: IntArray,
    end: IntArray,
) -> FloatArray:
    """A(i) of the records requested (AG eqs. 8 and 15, several releases multiplied).

    Parameters
    ----------
    values, scale : (N, m), the columns of all uncertain releases side by side; NaN: not in that release.
    uniform : (m,), whether a column's densities are uniform.
    sample : (q,) records.
    order : (N,) records sorted by group.
    start, end : (q,) where the group of each such record is in `order`.

    Returns
    -------
    (q,) expected numbers, each at least 1; O(sum of the groups' sizes times m).
    """
    expected = np.zeros(len(sample))
    for q in range(len(sample)):
        i = sample[q]
        for position in range(start[q], end[q]):
            j = order[position]
            square, overlap = 0.0, 1.0
            for c in range(values.shape[1]):
                if math.isnan(scale[i, c]):
                    continue
                away = abs(values[i, c] - values[j, c])
                if math.isnan(away):
                    overlap = 0.0
                elif away == 0.0:
                    continue
                elif scale[i, c] == 0.0:
                    overlap = 0.0
                elif uniform[c]:
                    overlap *= max(1.0 - away / scale[i, c], 0.0)
                else:
                    square += (away / scale[i, c]) ** 2
                if overlap == 0.0:
                    break
            if i == j:
                expected[q] += 1.0
            elif square == 0.0:  # equal in all gaussian columns: it fits them as well
                expected[q] += overlap
            else:
                expected[q] += overlap * 0.5 * math.erfc(math.sqrt(square) / (2.0 * math.sqrt(2.0)))
    return expected
