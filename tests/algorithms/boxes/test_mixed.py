"""Boxes of columns as they are: every guarantee against its definition, on small random tables."""

from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest

from surebox_verify.core.errors import InvalidColumnError
from surebox_verify.core.statistics import Statistic
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

REFUSED = (InfeasibleAlphaError, InfeasibleDiversityError, InfeasibleKError, SuppressionError)
TREE = Hierarchy(np.array([5, 5, 6, 6, 6, 7, 7, 7], dtype=np.int32))  # {0, 1} and {2, 3, 4} below the root


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
    return Case(
        x,
        BoxesRequest(
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
        ),
    )


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
    if n > 1 and d and extent[0] > 0.0:
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
    for r, b in zip(rows, boxes.box, strict=True):
        for i, value in enumerate(case.x[r]):
            if np.isnan(boxes.lower[b, i]):
                assert np.isnan(boxes.upper[b, i])
                blanked += not np.isnan(value)
                continue
            assert boxes.lower[b, i] <= value <= boxes.upper[b, i]
            if request.columns[i].step == 1.0:
                assert boxes.lower[b, i] == np.floor(boxes.lower[b, i])
                assert boxes.upper[b, i] == np.floor(boxes.upper[b, i])
            assert boxes.upper[b, i] - boxes.lower[b, i] >= request.columns[i].minimum_width
        for j, column in enumerate(request.nominal):
            if not boxes.sets[j][b].any():
                blanked += column.codes[r] >= 0
                continue
            assert boxes.sets[j][b][column.codes[r]]
    return blanked


def check_disjoint(outcome: BoxesOutcome, whole: np.ndarray) -> None:
    """Two boxes with values in the same columns are apart in one of these, ends of real columns aside."""
    boxes = outcome.boxes
    for a, b in combinations(range(len(boxes.counts)), 2):
        if (np.isnan(boxes.lower[a]) != np.isnan(boxes.lower[b])).any():
            continue
        if any(s[a].any() != s[b].any() for s in boxes.sets):
            continue
        apart = [not (s[a] & s[b]).any() and s[a].any() for s in boxes.sets]
        low, high = np.maximum(boxes.lower[a], boxes.lower[b]), np.minimum(boxes.upper[a], boxes.upper[b])
        assert any(apart) or (np.where(whole, low > high, low >= high)).any()


def check_ranges(case: Case, outcome: BoxesOutcome, rows: np.ndarray) -> None:
    """The published ranges hold the value that a plain computation gives; a value without a range is rare."""
    boxes, request = outcome.boxes, case.request
    x = np.where(np.isnan(boxes.lower[boxes.box]), np.nan, case.x[rows])
    codes = [
        np.where(s.any(axis=1)[boxes.box], c.codes[rows], -1) for s, c in zip(boxes.sets, request.nominal, strict=True)
    ]
    weight = np.ones(len(rows)) if boxes.survey is None else boxes.survey[boxes.box]
    for certificate in outcome.certificates:
        values = plainly(certificate.statistic, x, codes, [c.values for c in request.nominal], weight)
        assert len(values) == len(certificate.published)
        for value, said in zip(values, certificate.published, strict=True):
            if value is None or said.guaranteed is None:
                assert value is None or certificate.statistic.kind in MAY_SAY_NOTHING
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
    assert outcome.suppressed == len(left_out) <= case.request.suppress_at_most * size
    assert len(left_out) == 0 or _units(case.request.demands, left_out) >= case.request.k
    check_demands_hold(case, outcome, rows)
    assert check_members(case, outcome, rows) == outcome.blanked
    if not len(case.request.demands.kept) and case.request.bounds != "tight":
        check_disjoint(outcome, np.array([c.step is not None for c in case.request.columns], dtype=bool))
    check_ranges(case, outcome, rows)
    return True


@pytest.mark.parametrize("part", range(4))
def test_every_guarantee_holds_on_small_random_tables(part: int) -> None:
    met = [check(drawn(seed)) for seed in range(60 * part, 60 * part + 60)]
    assert sum(met) > 35


@pytest.mark.parametrize("step", [0.1, 0.05, 0.3])
def test_multiples_of_a_decimal_step_lie_in_their_boxes(step: float) -> None:
    """3 times 0.1 is a float above 0.3: bounds are the floats that multiples are read as, however the records are."""
    number = np.random.default_rng(3).integers(-60, 60, 300)
    read = np.array([float(Decimal(repr(step)) * int(each)) for each in number])
    asked = BoxesRequest(
        3, (Statistic("mean", (0,)),), columns=(NumericColumn(step=step),), keys=np.zeros((1, 8), "u4")
    )
    for records in (read, number * step):
        boxes = anonymized(Case(records[:, None], asked)).boxes
        assert (boxes.lower[boxes.box, 0] <= read).all()
        assert (read <= boxes.upper[boxes.box, 0]).all()
        assert set(boxes.lower[1:, 0].tolist()) <= {float(Decimal(repr(step)) * j) for j in range(-99, 99)}
    with pytest.raises(InvalidColumnError):
        anonymization.init(read[:, None] + 1e-12, asked)


def test_the_true_value_has_the_records_own_weights() -> None:
    """Ranges are about the boxes' mean weights, as published: where weights go with values the truth lies outside."""
    x = (10.0 * np.arange(20)[:, None] + [0.0, 1.0]).reshape(-1, 1)
    weight = np.tile([1.0, 3.0], 20)
    asked = BoxesRequest(2, (Statistic("mean", (0,), 1.0),), bounds="tight", survey=weight)
    (found,) = anonymized(Case(x, asked)).certificates
    assert found.published[0].guaranteed is not None
    assert found.published[0].guaranteed.upper == pytest.approx(95.5)
    assert found.true_value == (pytest.approx(95.75),)
