"""Boxes of columns as they are: every guarantee against its definition, on small random tables."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from surebox_verify.core.errors import InvalidColumnError
from surebox_verify.core.statistics import Statistic
from surebox_verify.estimates import Estimate
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.diversity import BoxConstraints
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest
from workers.algorithms.boxes.sides import Hierarchy, NominalColumn, NumericColumn
from workers.algorithms.core.errors import (
    InfeasibleAlphaError,
    InfeasibleDiversityError,
    InfeasibleKError,
    SuppressionError,
)

REFUSED = (InfeasibleAlphaError, InfeasibleDiversityError, InfeasibleKError, InvalidColumnError, SuppressionError)
TREE = Hierarchy(np.array([5, 5, 6, 6, 6, 7, 7, 7], dtype=np.int32))  # {0, 1} and {2, 3, 4} below the root


#: Share of the tables whose covariance is asked: its search takes longer than all the rest.
COVARIANCES = 0.02
MAY_SAY_NOTHING = {"domain_mean", "covariance", "variance"}  # of sets or pairs of columns that no box may have


@dataclass(frozen=True)
class Case:
    """Records and what is asked of them."""

    x: np.ndarray
    request: BoxesRequest


def anonymized(case: Case, seed: int = 0) -> BoxesOutcome:
    rng = np.random.default_rng(seed)
    state = anonymization.init(case.x, case.request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state)


def drawn(seed: int) -> Case:
    """A small table with ties, missing values, sensitive and kept columns, persons; and demands of all kinds."""
    rng = np.random.default_rng(seed)
    size, n, d = int(rng.integers(4, 70)), int(rng.integers(0, 4)), int(rng.integers(0, 4))
    n = 1 if n + d == 0 else n
    whole = rng.random(n) < 0.6
    x = np.where(whole, rng.integers(-3, 9, (size, n)).astype(float), rng.normal(size=(size, n)))
    patterns = bool(rng.random() < 0.3)
    sizes = rng.integers(2, 7, d)
    codes = [rng.integers(0, rng.integers(1, m + 1), size).astype(np.int32) for m in sizes]
    trees = [None] * d
    for j in range(d):
        if rng.random() < 0.3:
            sizes[j], trees[j] = 5, TREE
            codes[j] = rng.integers(0, 5, size).astype(np.int32)
    if patterns:
        x[rng.random(x.shape) < 0.15] = np.nan
        for column in codes:
            column[rng.random(size) < 0.1] = -1
    snug = [0.5 if rng.random() < 0.7 else None for _ in range(n)]
    widths = np.where(rng.random(n) < 0.15, 1.0, 0.0) if n else np.zeros(0)
    extent = [np.ptp(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in x.T]
    columns = tuple(
        NumericColumn(1.0 if whole[i] else None, snug[i], float(widths[i]) if extent[i] >= 1.0 else 0.0)
        for i in range(n)
    )
    request = BoxesRequest(
        k=int(rng.integers(1, 7)),
        statistics=_statistics(rng, n, d, extent),
        partition=("optimal", "fast", "mondrian")[seed % 3],
        bounds=("cells", "tight", "snug")[seed // 3 % 3],
        domains=tuple((-50.0, 50.0) if rng.random() < 0.5 else None for _ in range(n)),
        demands=_demands(rng, size),
        columns=columns,
        nominal=tuple(NominalColumn(c, int(m), t) for c, m, t in zip(codes, sizes, trees, strict=True)),
        patterns=patterns,
        snug_records=int(rng.integers(1, 3)),
        suppress_at_most=float(rng.choice([0.3, 1.0])),
        survey=rng.uniform(0.5, 4.0, size) if rng.random() < 0.2 else None,
        floor=0.03,
    )
    return Case(x, _rare(request, np.random.default_rng(seed + 10**6)))


def _rare(request: BoxesRequest, rng: np.random.Generator) -> BoxesRequest:
    """Some requests with rare boxes marked or left out, where that is defined."""
    rare = ("keep", "keep", "mark", "dismiss")[rng.integers(4)]
    undefined = request.patterns or request.survey is not None
    if undefined or (rare == "dismiss" and request.demands.closeness is not None):
        return request
    at_most = float(rng.choice([0.1, 0.4]))
    return replace(request, rare_records=rare, objective="with_shift", dismiss_at_most=at_most)


def _demands(rng: np.random.Generator, size: int) -> BoxConstraints:
    sensitive = rng.random() < 0.5
    return BoxConstraints(
        diversity=int(rng.integers(0, 3)) if sensitive else 0,
        codes=rng.integers(-1, 3, (size, 2)).astype(np.int32) if sensitive else np.empty((size, 0), dtype=np.int32),
        ordered=(False, True),
        closeness=0.3 if sensitive and rng.random() < 0.4 else None,
        alpha=0.7 if sensitive and rng.random() < 0.4 else None,
        kept=rng.choice(6, size, p=[0.5, 0.2, 0.15, 0.1, 0.03, 0.02]).astype(np.int32)
        if rng.random() < 0.3
        else np.empty(0, dtype=np.int32),
        persons=rng.integers(0, max(size // 2, 1), size).astype(np.int32)
        if rng.random() < 0.3
        else np.empty(0, dtype=np.int32),
    )


def _statistics(rng: np.random.Generator, n: int, d: int, extent: list[float]) -> tuple[Statistic, ...]:
    asked = [Statistic("mean", (i,), 1.0) for i in range(n)]
    asked += [Statistic("variance", (i,), 1.0) for i in range(n) if extent[i] > 0.0 and rng.random() < 0.5]
    asked += [Statistic("quantile", (i,), 1.0, p=0.3) for i in range(n) if rng.random() < 0.3]
    asked += [Statistic("share", (n + j,)) for j in range(d) if rng.random() < 0.7]
    asked += [Statistic("share", (n + j,), values=(0, 1)) for j in range(d) if rng.random() < 0.3]
    if n and d:
        asked.append(Statistic("domain_mean", (0, n), 1.0))
    if n > 1 and d and extent[0] > 0.0 and rng.random() < COVARIANCES:
        asked.append(Statistic("covariance", (0, 1), 1.0))
    if d > 1:
        asked.append(Statistic("crosstab", (n, n + 1)))
    return tuple(asked) or (Statistic("share", (n,)),)


def _units(demands: BoxConstraints, rows: np.ndarray) -> int:
    return len(set(demands.persons[rows].tolist())) if len(demands.persons) else len(rows)


def check_demands_hold(case: Case, outcome: BoxesOutcome, rows: np.ndarray) -> None:
    """Every box by the definitions of k, l, alpha, t and kept classes."""
    demands, k = case.request.demands, case.request.k
    for b in range(len(outcome.boxes.counts)):
        inside = rows[outcome.boxes.box == b]
        assert outcome.boxes.counts[b] == len(inside)
        assert _units(demands, inside) >= k
        for label in set(demands.kept[inside].tolist()) if len(demands.kept) else ():
            assert _units(demands, inside[demands.kept[inside] == label]) >= k
        for c, codes in enumerate(demands.codes.T):
            values = codes[inside]
            assert len(set(values[values >= 0].tolist())) >= demands.diversity
            if demands.alpha is not None:
                assert max(np.mean(values == v) for v in range(3)) <= demands.alpha + 1e-12
            if demands.closeness is not None:
                assert distance(values, codes[rows], ordered=demands.ordered[c]) <= demands.closeness + 1e-9


def distance(some: np.ndarray, every: np.ndarray, *, ordered: bool) -> float:
    """Between the distributions of a box and of all: half the L1 norm, or the earth mover's over ranks."""
    labels = range(3) if ordered else range(-1, 3)
    if ordered:
        some, every = some[some >= 0], every[every >= 0]
        if len(some) == 0:
            return 0.0
    gap = np.array([np.mean(some == v) - np.mean(every == v) for v in labels])
    moved = np.abs(np.cumsum(gap)).sum() / max(every.max(), 1) if ordered else 0.5 * np.abs(gap).sum()
    return float(moved)


def check_members(case: Case, outcome: BoxesOutcome, rows: np.ndarray) -> int:
    """Every record is in its box, or its value is published as missing; how many values are."""
    boxes, request = outcome.boxes, case.request
    blanked = 0
    for i, column in enumerate(request.columns):
        low, high, value = boxes.lower[boxes.box, i], boxes.upper[boxes.box, i], case.x[rows, i]
        lacking = np.isnan(low)
        assert (lacking == np.isnan(high)).all()
        blanked += int((lacking & ~np.isnan(value)).sum())
        low, high, value = low[~lacking], high[~lacking], value[~lacking]
        assert ((low <= value) & (value <= high)).all()
        assert column.step != 1.0 or ((low == np.floor(low)) & (high == np.floor(high))).all()
        assert (high - low >= column.minimum_width).all()
    for sets, nominal in zip(boxes.sets, request.nominal, strict=True):
        held, codes = sets[boxes.box], nominal.codes[rows]
        lacking = ~held.any(axis=1)
        blanked += int((lacking & (codes >= 0)).sum())
        assert held[~lacking, codes[~lacking]].all()
        assert (codes[~lacking] >= 0).all()
    return blanked


def check_disjoint(outcome: BoxesOutcome, whole: np.ndarray) -> None:
    """Two boxes with values in the same columns are apart in one of these, ends of real columns aside."""
    boxes = outcome.boxes
    first, second = np.triu_indices(len(boxes.counts), 1)
    alike = (np.isnan(boxes.lower[first]) == np.isnan(boxes.lower[second])).all(axis=1)
    apart = np.zeros(len(first), dtype=bool)
    for held in boxes.sets:
        alike &= held[first].any(axis=1) == held[second].any(axis=1)
        apart |= held[first].any(axis=1) & ~(held[first] & held[second]).any(axis=1)
    low = np.maximum(boxes.lower[first], boxes.lower[second])
    high = np.minimum(boxes.upper[first], boxes.upper[second])
    apart |= np.where(whole, low > high, low >= high).any(axis=1)
    assert (apart | ~alike).all()


def check_ranges(case: Case, outcome: BoxesOutcome, rows: np.ndarray) -> None:
    """The published ranges hold the value that a plain computation gives; a value without a range is rare."""
    boxes, request = outcome.boxes, case.request
    x = np.where(np.isnan(boxes.lower[boxes.box]), np.nan, case.x[rows])
    codes = [
        np.where(s.any(axis=1)[boxes.box], c.codes[rows], -1) for s, c in zip(boxes.sets, request.nominal, strict=True)
    ]
    weight = np.ones(len(rows)) if boxes.survey is None else boxes.survey[boxes.box]
    sizes, marked = [c.values for c in request.nominal], outcome.chosen.core
    assert (marked is not None) == (request.rare_records == "mark")
    for certificate in outcome.certificates:
        values = plainly(certificate.statistic, x, codes, sizes, weight)
        check_said(certificate.statistic.kind, values, certificate.published)
        assert (certificate.core is None) == (marked is None)
        if certificate.core is not None and marked is not None:
            of = marked[boxes.box]
            inside = plainly(certificate.statistic, x[of], [c[of] for c in codes], sizes, weight[of])
            check_said(certificate.statistic.kind, inside, certificate.core)


def check_said(kind: str, values: list, published: tuple[Estimate, ...]) -> None:
    assert len(values) == len(published)
    for value, said in zip(values, published, strict=True):
        if value is None or said.guaranteed is None:
            assert value is None or kind in MAY_SAY_NOTHING
            continue
        slack = 1e-9 * max(1.0, abs(value))
        assert said.guaranteed.lower - slack <= value <= said.guaranteed.upper + slack
        assert said.estimate is None or said.guaranteed.lower <= said.estimate <= said.guaranteed.upper


def plainly(s: Statistic, x: np.ndarray, codes: list, sizes: list, weight: np.ndarray) -> list:
    """A statistic by its definition, over the records that have its columns."""
    n = x.shape[1]
    there = np.ones(len(x), dtype=bool)
    for c in s.of:
        there &= ~np.isnan(x[:, c]) if c < n else codes[c - n] >= 0
    w = weight[there]
    if not len(w):
        return [None] * (sizes[s.of[0] - n] * sizes[s.of[1] - n] if s.kind == "crosstab" else _numbers(s, sizes, n))
    if s.kind == "crosstab":
        a, b = codes[s.of[0] - n][there], codes[s.of[1] - n][there]
        return [w[(a == u) & (b == v)].sum() for u in range(sizes[s.of[0] - n]) for v in range(sizes[s.of[1] - n])]
    if s.kind in ("share", "domain_mean"):
        c = codes[s.of[-1] - n][there]
        every = [s.values] if s.values else [(v,) for v in range(sizes[s.of[-1] - n])]
        inside = [np.isin(c, chosen) for chosen in every]
        if s.kind == "share":
            return [w[i].sum() / w.sum() for i in inside]
        y = x[there, s.of[0]]
        return [(w[i] @ y[i]) / w[i].sum() if i.any() else None for i in inside]
    y = x[there, s.of[0]]
    if s.kind == "quantile":
        order = np.argsort(y)
        return [y[order][np.searchsorted(np.cumsum(w[order]), s.p * w.sum() * (1 - 1e-12))]]
    mean = w @ y / w.sum()
    if s.kind == "covariance":
        z = x[there, s.of[1]]
        return [w @ ((y - mean) * (z - w @ z / w.sum())) / w.sum()]
    return [mean if s.kind == "mean" else w @ (y - mean) ** 2 / w.sum()]


def _numbers(s: Statistic, sizes: list, n: int) -> int:
    return 1 if s.values or s.kind not in ("share", "domain_mean") else sizes[s.of[-1] - n]


def check(case: Case) -> bool:
    """All of it; False where the request cannot be met."""
    try:
        outcome = anonymized(case)
    except REFUSED:
        return False
    size = len(case.x)
    rows = np.arange(size) if outcome.chosen.rows is None else outcome.chosen.rows
    left_out = np.setdiff1d(np.arange(size), rows)
    assert outcome.suppressed <= case.request.suppress_at_most * size
    dismissed = len(left_out) - outcome.suppressed
    assert 0 <= dismissed <= case.request.dismiss_at_most * size * (case.request.rare_records == "dismiss")
    assert len(left_out) == 0 or _units(case.request.demands, left_out) >= case.request.k
    check_demands_hold(case, outcome, rows)
    assert check_members(case, outcome, rows) == outcome.blanked
    if not len(case.request.demands.kept) and case.request.bounds != "tight":
        check_disjoint(outcome, np.array([c.step is not None for c in case.request.columns], dtype=bool))
    check_ranges(case, outcome, rows)
    return True


@pytest.mark.parametrize("part", range(4))
def test_every_guarantee_holds_on_small_random_tables(part: int) -> None:
    """benchmarks/attack_boxes.py goes through 100,000 of them."""
    met = [check(drawn(seed)) for seed in range(250 * part, 250 * part + 250)]
    assert sum(met) > 200
