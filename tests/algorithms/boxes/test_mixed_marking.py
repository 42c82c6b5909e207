"""Marked and dismissed boxes of columns of all kinds: the core against every subset, and what is promised of it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from surebox_verify.boxes import PublishedBoxes
from tests.algorithms.boxes.cases import run
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.rare.points import judged
from workers.algorithms.boxes.rare.shifted import core_boxes
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn, NumericColumn

#: One of every kind, on one numeric and two nominal columns of 2 and 3 values.
STATISTICS = (
    Statistic("mean", (0,), 0.7),
    Statistic("share", (2,), 0.5),
    Statistic("share", (2,), 2.0, values=(0, 2)),
    Statistic("crosstab", (1, 2), 0.01),
    Statistic("domain_mean", (0, 2), 0.3),
    Statistic("correlation", (0, 1), 0.4),
)


def table(seed: int, boxes: int) -> PublishedBoxes:
    rng = np.random.default_rng(seed)
    middle, half = rng.standard_t(2.5, (boxes, 1)), rng.gamma(1.0, 0.5, (boxes, 1))
    sets = []
    for size in (2, 3):
        held = rng.random((boxes, size)) < 0.5
        held[~held.any(axis=1), 0] = True
        sets.append(held)
    sets[0][0], sets[0][1] = [True, False], [False, True]
    return PublishedBoxes(middle - half, middle + half, rng.integers(3, 9, boxes), sets=tuple(sets))


def place(boxes: PublishedBoxes, b: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Centre of a box: y, and how its records divide among the values of either set."""
    first, second = (sets[b] / sets[b].sum() for sets in boxes.sets)
    return float(boxes.centre[b, 0]), first, second


def numbers(boxes: PublishedBoxes, kept: list[int]) -> list[float]:
    """What STATISTICS asks at the centres, box by box."""
    total, mean, shares, cells = 0.0, 0.0, np.zeros(3), np.zeros((2, 3))
    within, squares, ones, together = np.zeros(3), 0.0, 0.0, 0.0
    for b in kept:
        y, first, second = place(boxes, b)
        c = float(boxes.counts[b])
        total, mean, shares = total + c, mean + c * y, shares + c * second
        cells, within = cells + c * np.outer(first, second), within + c * y * second
        squares, ones, together = squares + c * y * y, ones + c * first[1], together + c * y * first[1]
    e, q = mean / total, ones / total
    of_ones = sum(float(boxes.counts[b]) * place(boxes, b)[1][1] ** 2 for b in kept) / total
    rho = (together / total - e * q) / np.sqrt((squares / total - e * e) * (of_ones - q * q))
    means = [w / s if s > 0.0 else np.nan for w, s in zip(within, shares, strict=True)]
    return [e, *(shares / total), (shares[0] + shares[2]) / total, *(cells / total).ravel(), *means, rho]


def added(boxes: PublishedBoxes, b: int) -> float:
    """What a record of a box adds by all but the correlation, from the definitions."""
    total = float(boxes.counts.sum())
    _, *rest = numbers(boxes, list(range(len(boxes.counts))))
    shares, means = np.array(rest[:3]), np.array(rest[10:13])
    y_half = float(boxes.half_width[b, 0])
    first, second = (sets[b] & (sets[b].sum() > 1) for sets in boxes.sets)
    _, _, at = place(boxes, b)
    contribution = 0.7 * y_half + 0.5 * 0.5 * second.sum()
    contribution += 2.0 * 0.5 * (second[[0, 2]].any() and boxes.sets[1][b, 1])
    contribution += 0.01 * total * 0.5 * (first.sum() + second.sum())  # other columns' shares sum to 1
    for v in range(3):
        away = sum(boxes.counts[z] * abs(place(boxes, z)[0] - means[v]) for z in range(len(boxes.counts))) / total
        contribution += 0.3 / shares[v] * (at[v] * y_half + 0.5 * second[v] * away)
    return contribution


def test_what_boxes_add_is_what_the_definitions_say() -> None:
    for seed in range(5):
        boxes = table(seed, 12)
        assessment = judged(boxes, STATISTICS[:-1], ddof=0, least=0.0)
        assert assessment is not None
        expected = [added(boxes, b) for b in range(12)]
        np.testing.assert_allclose(assessment.g, expected, rtol=1e-9)


def test_the_core_is_the_least_of_all_subsets_nearly_always() -> None:
    missed = 0
    for seed in range(30):
        boxes = table(seed, 7)
        assessment = judged(boxes, STATISTICS, ddof=0, least=0.0)
        assert assessment is not None
        omega = np.array([0.7, *[0.5] * 3, 2.0, *[0.01 * boxes.counts.sum()] * 6, *[0.3] * 3, 0.4])
        every, z = np.array(numbers(boxes, list(range(7)))), 1.959963984540054
        statistical = z * assessment.uncertainty

        def objective(kept: list[int]) -> float:
            size = boxes.counts[kept].sum()  # noqa: B023 - called in this round only
            shift = omega @ np.abs(every - np.array(numbers(boxes, kept)))  # noqa: B023
            least = float(assessment.g[kept] @ boxes.counts[kept] / size + statistical / np.sqrt(size) + shift)  # noqa: B023
            return least if np.isfinite(least) else np.inf

        subsets = [[b for b in range(7) if s[b]] for s in itertools.product([False, True], repeat=7) if sum(s) > 1]
        with np.errstate(all="ignore"):
            least = min(map(objective, subsets))
            kept = np.flatnonzero(core_boxes(boxes, STATISTICS, confidence=0.95, at_most=0.9999)).tolist()
            own = objective(kept)
        assert own >= least - 1e-9 * abs(least)
        missed += own > least + 1e-9 * abs(least)
    assert missed <= 3


@pytest.fixture(scope="module")
def records() -> tuple[np.ndarray, tuple[NominalColumn, ...]]:
    rng = np.random.default_rng(8)
    x = np.column_stack([rng.standard_t(2, 900) * 10, rng.integers(16, 90, 900)])
    codes = [rng.choice(4, 900, p=[0.6, 0.3, 0.08, 0.02]), (x[:, 1] > 50).astype(int)]
    return x, tuple(NominalColumn(c.astype(np.int32), m) for c, m in zip(codes, (4, 2), strict=True))


def request_for(x: np.ndarray, nominal: tuple[NominalColumn, ...], **change: object) -> BoxesRequest:
    rng = np.random.default_rng(1)
    statistics = (
        *(Statistic(kind, (i,)) for kind in ("mean", "variance") for i in (0, 1)),  # type: ignore[arg-type]
        Statistic("share", (2,)),
        Statistic("domain_mean", (0, 3)),
        Statistic("crosstab", (2, 3)),
        Statistic("regression", (0, 1, 3)),
        Statistic("quantile", (1,), p=0.5),
    )
    demands = BoxConstraints(
        l=2, codes=rng.integers(0, 4, (len(x), 1)).astype(np.int32), persons=np.arange(len(x)) // 2, alpha=0.9
    )
    columns = (NumericColumn(), NumericColumn(step=1.0))
    base = BoxesRequest(
        4, statistics, nominal=nominal, columns=columns, demands=demands, partition="fast", objective="bias_aware"
    )
    return replace(base, **change)  # type: ignore[arg-type]


def test_dismissing_publishes_the_core_and_says_what_that_moved(
    records: tuple[np.ndarray, tuple[NominalColumn, ...]],
) -> None:
    x, nominal = records
    domains = ((-1e4, 1e4), (0.0, 120.0))
    marked = run(x, request_for(x, nominal, domains=domains, rare_records="mark"))
    kept = run(x, request_for(x, nominal, domains=domains, rare_records="suppress"))
    plain = run(x, request_for(x, nominal, domains=domains))
    core, rows = marked.chosen.core, kept.chosen.rows
    assert core is not None
    assert rows is not None
    np.testing.assert_array_equal(marked.boxes.lower, plain.boxes.lower)
    assert [one.published for one in marked.certificates] == [one.published for one in plain.certificates]
    np.testing.assert_array_equal(kept.boxes.lower, marked.boxes.lower[core])
    np.testing.assert_array_equal(kept.boxes.sets[0], marked.boxes.sets[0][core])
    assert 0 < len(x) - len(rows) == marked.boxes.counts[~core].sum() <= 0.05 * len(x)
    assert kept.suppressed == 0
    for certificate, whole, of_core in zip(kept.certificates, plain.certificates, marked.certificates, strict=True):
        for value, before, shift in zip(certificate.true_value, whole.true_value, certificate.shift, strict=True):
            assert (value is None or before is None) == (shift is None)
            if value is not None and before is not None and shift is not None:
                assert shift == pytest.approx(before - value, rel=1e-6, abs=1e-6 * (1 + abs(value)))
        assert of_core.core is not None
        for said, same in zip(certificate.published, of_core.core, strict=True):
            assert (said.guaranteed is None) == (same.guaranteed is None)
            if said.guaranteed is not None and same.guaranteed is not None:
                assert said.guaranteed.lower == pytest.approx(same.guaranteed.lower, rel=0.02, abs=0.02)
    mean = kept.certificates[0].true_value[0]
    assert mean == pytest.approx(x[rows, 0].mean())


def test_bounds_that_nobody_declared_do_not_tell_of_who_is_left_out(
    records: tuple[np.ndarray, tuple[NominalColumn, ...]],
) -> None:
    x, nominal = records
    kept = run(x, request_for(x, nominal, rare_records="suppress", max_suppressed=0.3))
    rows = kept.chosen.rows
    assert rows is not None
    inside = x[rows]
    assert kept.boxes.outer_from_data.all()
    assert kept.boxes.upper[:, 0].max() < x[:, 0].max()
    for i in range(2):
        unit = 10.0 ** (np.floor(np.log10(np.ptp(inside[:, i]))) - 1)
        assert kept.boxes.lower[:, i].min() > inside[:, i].min() - unit
        assert kept.boxes.upper[:, i].max() < inside[:, i].max() + unit
    assert (kept.boxes.lower[:, 1] == np.rint(kept.boxes.lower[:, 1])).all()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rare_records": "weigh"}, "weights"),
        ({"rare_records": "suppress", "objective": "paper"}, "objective"),
        ({"rare_records": "weigh", "survey": np.ones(900)}, "weights"),
        ({"rare_records": "suppress", "objective": "paper", "patterns": True}, "objective"),
    ],
)
def test_what_is_not_defined_is_refused(
    records: tuple[np.ndarray, tuple[NominalColumn, ...]], change: dict[str, object], why: str
) -> None:
    x, nominal = records
    with pytest.raises(ValueError, match=why):
        anonymization.init(x, request_for(x, nominal, **change))
    closeness = replace(request_for(x, nominal).demands, t=0.3)
    with pytest.raises(ValueError, match="t compares"):
        anonymization.init(x, request_for(x, nominal, rare_records="suppress", demands=closeness))
