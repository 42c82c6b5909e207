"""Ranges from boxes with means: certain for all data with those means, sharp within boxes where means are exact."""

import itertools

import numpy as np
import pytest

from surebox_verify.ranges.contents import ContentColumn, content_column, content_pair
from surebox_verify.ranges.forms import Form, plane
from surebox_verify.ranges.pairs import content_work
from surebox_verify.ranges.steps import RangeSteps
from tests.verify.ranges.completions import tables_of_box

Tables = tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray], list[list[np.ndarray]]]


def tables(seed: int, width: float) -> Tables:
    """Two boxes of whole numbers, intervals of their sums, and every completion."""
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 3, (2, 2)).astype(float)
    upper = lower + rng.integers(1, 4, (2, 2))
    counts = rng.integers(2, 4, 2).astype(float)
    means, all_tables = np.zeros((2, 2, 2)), []
    for b in range(2):
        every = tables_of_box([np.arange(lower[b, j], upper[b, j] + 1.0).tolist() for j in (0, 1)], int(counts[b]))
        sums = every[rng.integers(len(every))].sum(axis=0)
        low, high = sums - np.floor(width * rng.random(2)), sums + np.floor(width * rng.random(2))
        means[0, b], means[1, b] = low / counts[b], high / counts[b]
        all_tables.append([t for t in every if (low <= t.sum(axis=0)).all() and (t.sum(axis=0) <= high).all()])
    return lower, upper, counts, list(means), all_tables


def columns(lower: np.ndarray, upper: np.ndarray, counts: np.ndarray, means: list[np.ndarray]) -> list[ContentColumn]:
    ends = [(np.nextafter(means[0][:, j], -9.0), np.nextafter(means[1][:, j], 99.0)) for j in (0, 1)]
    return [content_column(lower[:, j], upper[:, j], ends[j], counts) for j in (0, 1)]


@pytest.mark.parametrize("width", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(12))
def test_no_completion_lies_outside(seed: int, width: float) -> None:
    lower, upper, counts, means, every = tables(seed, width)
    x, y = columns(lower, upper, counts, means)
    ranges = {"mean": x.column.mean, "variance": x.column.variance}
    for kind in ("covariance", "correlation"):
        (ranges[kind],) = RangeSteps(content_work(kind, x, y, 200), 4).finish()  # type: ignore[arg-type]
    values: dict[str, list[float]] = {kind: [] for kind in ranges}
    for parts in itertools.product(*every):
        data = np.concatenate(parts)
        c = np.cov(data.T, ddof=0)
        values["mean"].append(data[:, 0].mean())
        values["variance"].append(c[0, 0])
        values["covariance"].append(c[0, 1])
        if c[0, 0] > 0.0 and c[1, 1] > 0.0:
            values["correlation"].append(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]))
    for kind, r in ranges.items():
        assert r.outer is not None
        if values[kind]:
            assert r.outer.lower <= min(values[kind]) + 1e-9, kind
            assert r.outer.upper >= max(values[kind]) - 1e-9, kind
    if width == 0.0:
        assert ranges["variance"].outer is not None
        assert ranges["variance"].outer.upper == pytest.approx(max(values["variance"]), abs=1e-6)
        assert ranges["covariance"].outer is not None
        assert ranges["covariance"].outer.upper == pytest.approx(max(values["covariance"]), abs=5e-3)
        assert ranges["covariance"].outer.lower == pytest.approx(min(values["covariance"]), abs=5e-3)


@pytest.mark.parametrize("seed", range(6))
def test_within_a_box_spread_and_product_are_sharp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w, c = rng.integers(1, 5, 2), int(rng.integers(2, 5))
    rows = list(itertools.product(range(w[0] + 1), range(w[1] + 1)))
    pick = np.array([rows[i] for i in rng.integers(0, len(rows), c)])
    target = pick.sum(axis=0)
    products, squares = [], []
    for chosen in itertools.combinations_with_replacement(rows, c):
        t = np.array(chosen, dtype=float)
        if (t.sum(axis=0) == target).all():
            u = t - t.mean(axis=0)
            products.append((u[:, 0] * u[:, 1]).mean())
            squares.append((u[:, 0] ** 2).mean())
    lower, counts = np.array([[0.0, 0.0], [0.0, 0.0]]), np.array([float(c), 1.0])
    upper = np.array([w.astype(float), [9.0, 9.0]])
    means = [np.array([target / c, [4.0, 4.0]])] * 2
    x, y = columns(lower, upper, counts, means)
    within = content_pair(x, y).within
    assert within is not None
    unit = 2.0 ** (x.column.exponent + y.column.exponent)
    assert within.xx[0] * 4.0**x.column.exponent == pytest.approx(max(squares), abs=1e-9)
    assert within.most[0] * unit == pytest.approx(max(products), abs=1e-9)
    assert within.least[0] * unit == pytest.approx(min(products), abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_planes_hold_for_all_records_and_parts_bring_them_nearer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w, c = rng.integers(1, 4, 2), int(rng.integers(2, 5))
    rows = list(itertools.product(range(w[0] + 1), range(w[1] + 1)))
    target = np.array([rows[i] for i in rng.integers(0, len(rows), c)]).mean(axis=0)
    near, far = np.maximum(target - w / (2 * c), 0.0), np.minimum(target + w / (2 * c), w)
    x, y = columns(np.zeros((1, 2)), w[None].astype(float), np.array([float(c)]), [near[None], far[None]])
    pair = content_pair(x, y)
    assert pair.within is not None
    assert len(pair.parts) == 9
    for _ in range(20):
        a, b, p, q = rng.normal(size=4)
        if a * b < 0.0 or (a < 0.0 and a * b > 0.25):
            a = b = 0.0
        form = Form(float(rng.choice([-1.0, 1.0])), a, b)

        def over(t: np.ndarray, form: Form = form, p: float = p, q: float = q) -> float:
            u = np.column_stack([(t[:, i] - s.column.reference) / 2.0**s.column.exponent for i, s in enumerate((x, y))])
            return float(np.mean([form.at(*row) for row in u]) - np.array([p, q]) @ u.mean(axis=0))

        real = [np.array(chosen, dtype=float) for chosen in itertools.combinations_with_replacement(rows, c)]
        largest = max(
            over(t) for t in real if (t.mean(axis=0) >= near - 1e-12).all() and (t.mean(axis=0) <= far + 1e-12).all()
        )
        corners = itertools.product(*(np.linspace(s.column.lower[0], s.column.upper[0], 101) for s in (x, y)))
        xx, yy, xy = (float(each[0]) for each in pair.within.largest(form))
        apart = max(form.at(u, v) - p * u - q * v for u, v in corners) + form.s * xy + form.a * xx + form.b * yy
        phi = plane(pair, form, p, q).phi
        assert largest <= phi + 1e-12
        assert phi <= apart + 1e-3


def test_means_make_correlations_narrow() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4000, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    box = np.lexsort((np.zeros(4000), z[:, 0])).argsort() // 200 * 40
    for part in range(20):
        own = np.flatnonzero(box == part * 40)
        box[own[np.argsort(z[own, 1])]] += np.arange(200) // 5
    counts = np.bincount(box).astype(float)
    lower, upper = (np.array([f(z[box == b], axis=0) for b in range(800)]) for f in (np.min, np.max))
    mean = np.array([z[box == b].mean(axis=0) for b in range(800)])
    ends = [mean - 1e-12, mean + 1e-12]
    x, y = columns(lower, upper, counts, ends)
    nothing = [np.full_like(mean, np.nan)] * 2
    widths = []
    for one, two in (columns(lower, upper, counts, nothing), (x, y)):
        (r,) = RangeSteps(content_work("correlation", one, two, 400), 1600).finish()
        assert r.outer is not None
        assert r.outer.lower <= np.corrcoef(z.T)[0, 1] <= r.outer.upper
        widths.append(r.outer.width)
    assert widths[1] < 0.15 * widths[0]
