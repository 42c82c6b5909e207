"""Counting on densities: against numerical integration, a plain oracle, closed forms, and what must not change it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from tests.drawing import examples
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.density.masses import FITTED_ERROR, interval_mass, normal_distribution
from workers.algorithms.uncertain.queries.counting import count, count_indexed, index

INF = np.inf


def release(seed: int, rows: int, columns: int, model: str = "gaussian") -> Densities:
    rng = np.random.default_rng(seed)
    scale = rng.lognormal(-1.0, 1.0, (rows, columns)) * (rng.random((rows, columns)) > 0.1)
    return Densities(model, np.round(rng.normal(size=(rows, columns)), 2), scale, None, np.ones(columns))


def queries(seed: int, number: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    ends = np.sort(np.round(rng.normal(0.0, 1.5, (2, number, columns)), 2), axis=0)
    ends[0][rng.random((number, columns)) < 0.3] = -INF
    ends[1][rng.random((number, columns)) < 0.3] = INF
    return ends[0], ends[1]


def plain(held: Densities, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """(Q, M), eq. 19 spelled out; scale 0 is a step."""
    out = np.ones((len(lower), len(held.z)))
    for q in range(len(lower)):
        for i, z in enumerate(held.z):
            for j, s in enumerate(held.scale[i]):
                a, b = lower[q, j], upper[q, j]
                if s == 0.0:
                    out[q, i] *= a <= z[j] <= b
                elif held.model == "gaussian":
                    out[q, i] *= ndtr((b - z[j]) / s) - ndtr((a - z[j]) / s)
                else:
                    out[q, i] *= max(min(b, z[j] + s / 2) - max(a, z[j] - s / 2), 0.0) / s
    return out


def test_the_fitted_normal_distribution_errs_as_little_as_it_says() -> None:
    t = np.linspace(-9.0, 9.0, 20001)
    assert np.abs([normal_distribution(one) for one in t] - ndtr(t)).max() < FITTED_ERROR


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 300), columns=st.integers(1, 4))
def test_estimates_are_the_sums_of_products_over_axes(model: str, seed: int, rows: int, columns: int) -> None:
    held = release(seed, rows, columns, model)
    lower, upper = queries(seed + 1, 7, columns)
    counts = count(held, lower, upper)
    p = plain(held, lower, upper)
    assert np.abs(counts.estimate - p.sum(axis=1)).max() < 1e-9 * rows * columns + counts.neglected.max()
    naive = [((held.z >= a) & (held.z <= b)).all(axis=1).sum() for a, b in zip(lower, upper, strict=True)]
    passed = counts.neglected > 0.0
    assert (counts.naive == naive)[~passed].all()
    v = np.maximum(p * (1.0 - p), 0.0).sum(axis=1)
    d2 = (p.sum(axis=1) - naive) ** 2
    expected = np.sqrt(v + 4.0 * d2 * d2 / np.maximum(d2 + v, 1e-300))
    assert np.abs(counts.standard_error - expected)[~passed] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
@pytest.mark.parametrize(
    ("z", "s", "low", "high"),
    [
        (0.3, 0.7, -1.0, 2.0),
        (-8.0, 1.0, 0.0, 3.0),
        (45.0, 1.0, 0.0, 40.0),
        (0.2, 300.0, 0.0, 1.0),
        (9.0, 2.0, -INF, 4.0),
    ],
)
def test_mass_within_a_domain_is_a_ratio_of_integrals(model: str, z: float, s: float, low: float, high: float) -> None:
    start = max(low, z - 60.0 * s)
    end = min(high, z + 60.0 * s)
    near = min(max(z, start), end)

    def density(x: float) -> float:
        return (
            float(np.exp(-0.5 * (x - near) * (x + near - 2.0 * z) / s**2))
            if model == "gaussian"
            else float(abs(x - z) <= s / 2)
        )

    if model == "uniform" and not (start < z + s / 2 and z - s / 2 < end):
        start = end = near
    for share in (0.01, 0.4, 0.97):
        reach = min(end - start, 20.0 * s)
        a, b = (start, start + share * reach) if near == start else (end - share * reach, end)
        if start == end:
            assert interval_mass(False, z, s, near, near, low, high) == 1.0
            assert interval_mass(False, z, s, near + 1e-9 if near == low else low, high, low, near - 1e-9) in (0.0, 1.0)
            continue
        top = quad(density, a, b, epsabs=0, epsrel=1e-11, limit=400, points=None)[0]
        whole = quad(density, start, near, epsabs=0, limit=400)[0] + quad(density, near, end, epsabs=0, limit=400)[0]
        assert interval_mass(model == "gaussian", z, s, a, b, low, high) == pytest.approx(top / whole, rel=1e-6)


@settings(max_examples=examples(25), deadline=None)
@given(
    z=st.floats(-1e6, 1e6),
    s=st.sampled_from([0.0, 1e-300, 1e-9, 1e-3, 1.0, 1e5, 1e300]),
    low=st.floats(-100, 0),
    high=st.floats(0, 100),
    cut=st.floats(-100, 100),
    gaussian=st.booleans(),
)
def test_masses_of_a_divided_domain_add_up_to_one(
    z: float, s: float, low: float, high: float, cut: float, gaussian: bool
) -> None:
    cut = min(max(cut, low), high)
    left = interval_mass(gaussian, z, s, low, cut, low, high)
    right = interval_mass(gaussian, z, s, cut, high, low, high)
    assert 0.0 <= left <= 1.0
    assert 0.0 <= right <= 1.0
    # all of a point's mass may lie at the cut, which belongs to both sides
    assert left + right == pytest.approx(1.0, abs=1e-9) or left == right == 1.0


def test_records_far_outside_the_domain_count_by_the_ratio_of_tails() -> None:
    z = np.array([[-40.0], [-4.0], [0.5], [60.0]])
    held = Densities("gaussian", z, np.ones((4, 1)), None, np.ones(1))
    lower, upper = np.array([[0.0], [0.1], [-INF]]), np.array([[0.1], [1.0], [INF]])
    counts = count(held, lower, upper, (np.zeros(1), np.ones(1)))
    near_zero = [1.0 - np.exp(-40.0 * 0.1 - 0.005), (ndtr(4.1) - ndtr(4.0)) / (ndtr(5.0) - ndtr(4.0))]
    middle = (ndtr(-0.4) - ndtr(-0.5)) / (ndtr(0.5) - ndtr(-0.5))
    assert counts.estimate[2] == pytest.approx(4.0, abs=1e-12)
    assert counts.estimate[0] + counts.estimate[1] == pytest.approx(4.0, abs=1e-8)
    assert counts.estimate[0] == pytest.approx(sum(near_zero) + middle, abs=1e-2 * (1 - near_zero[0]) + 1e-6)


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_a_domain_restores_what_spreads_over_the_edge(model: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.random((20_000, 1))
    scale = np.full_like(x, 0.1)
    noise = rng.normal(size=x.shape) if model == "gaussian" else rng.random(x.shape) - 0.5
    held = Densities(model, x + 0.1 * noise, scale, None, np.ones(1))
    lower, upper = np.zeros((1, 1)), np.full((1, 1), 0.05)
    open_ended = count(held, lower, upper)
    bounded = count(held, lower, upper, (np.zeros(1), np.ones(1)))
    true = (x <= 0.05).sum()
    assert abs(bounded.estimate[0] - true) < abs(open_ended.estimate[0] - true)


def test_threads_order_and_blocks_do_not_change_the_answer() -> None:
    held = release(3, 1500, 3)
    lower, upper = queries(4, 50, 3)
    domain = (np.array([-3.0, -INF, -3.0]), np.array([3.0, 3.0, INF]))
    ready = index(held, domain)
    one, two = (count_indexed(ready, lower, upper, threads) for threads in (1, 2))
    assert (one.estimate == two.estimate).all()
    order = np.random.default_rng(0).permutation(1500)
    shuffled = Densities("gaussian", held.z[order], held.scale[order], None, held.unit)
    assert count(shuffled, lower, upper, domain).estimate == pytest.approx(one.estimate, abs=1e-5)
    singly = sum(
        count(
            Densities("gaussian", held.z[i : i + 1], held.scale[i : i + 1], None, held.unit), lower, upper, domain
        ).estimate
        for i in range(1500)
    )
    assert singly == pytest.approx(one.estimate, abs=1e-5)


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 10**6), factor=st.sampled_from([1e-6, 3.0, 1e8]), shift=st.sampled_from([0.0, -4.0, 1e3]))
def test_counts_follow_the_columns_into_other_units(seed: int, factor: float, shift: float) -> None:
    held = release(seed, 60, 2)
    lower, upper = queries(seed, 5, 2)
    moved = Densities("gaussian", (held.z + shift) * factor, held.scale * factor, None, held.unit * factor)
    keep = np.isinf(lower) | np.isinf(upper) | (upper - lower > 1e-9)
    nudge = 1e-9
    first = count(held, lower - nudge, upper + nudge)
    second = count(moved, (lower - nudge + shift) * factor, (upper + nudge + shift) * factor)
    assert keep.any() or len(lower)
    assert second.estimate == pytest.approx(first.estimate, abs=1e-4)


def turned(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_rotated_counts_agree_with_integration_within_their_error(model: str) -> None:
    rng = np.random.default_rng(8)
    rows = 200
    unit = np.array([1.0, 3.0])
    z = rng.normal(size=(rows, 2)) * unit
    scale = rng.uniform(0.2, 1.0, (rows, 2))
    axes = np.array([turned(angle) for angle in rng.uniform(0.0, np.pi, rows)])
    held = Densities(model, z, scale, axes, unit)
    lower, upper = np.array([[-0.5, -1.5], [0.0, -INF]]), np.array([[0.7, 2.5], [INF, 1.0]])
    counts = count(held, lower, upper)
    shares = (np.arange(400) + 0.5) / 400
    draw = ndtri(shares) if model == "gaussian" else shares - 0.5
    e = np.stack(np.meshgrid(draw, draw, indexing="ij"), axis=-1).reshape(-1, 2)
    true = np.zeros((2, rows))
    for i in range(rows):
        x = z[i] + unit * ((e * scale[i]) @ axes[i])
        for q in range(2):
            true[q, i] = ((x >= lower[q]) & (x <= upper[q])).all(axis=1).mean()
    sampling = np.sqrt((true * (1 - true)).sum(axis=1) / 64)
    assert (np.abs(counts.estimate - true.sum(axis=1)) < 4 * sampling).all()
    assert (counts.standard_error > sampling).all()


def test_axes_along_the_columns_count_as_no_axes_do() -> None:
    held = release(11, 400, 3)
    along = Densities("gaussian", held.z, held.scale, np.repeat(np.eye(3)[None], 400, axis=0), held.unit)
    lower, upper = queries(2, 30, 3)
    for domain in (None, (np.full(3, -1.0), np.full(3, 1.5))):
        exact, sampled = count(held, lower, upper, domain), count(along, lower, upper, domain)
        assert (np.abs(exact.estimate - sampled.estimate) < exact.standard_error + 1e-9).all()


def test_disjoint_rotated_boxes_add_up() -> None:
    rng = np.random.default_rng(1)
    axes = np.array([turned(angle) for angle in rng.uniform(0.0, np.pi, 50)])
    held = Densities("uniform", rng.normal(size=(50, 2)), rng.random((50, 2)), axes, np.ones(2))
    cut = np.nextafter(0.1, 1.0)
    counts = count(held, np.array([[-INF, -INF], [cut, -INF]]), np.array([[0.1, INF], [INF, INF]]))
    assert counts.estimate.sum() == pytest.approx(50.0)


def test_the_standard_error_covers_the_true_count_on_clusters() -> None:
    rng = np.random.default_rng(21)
    x = rng.normal(size=(4000, 2)) * 0.25 + rng.integers(0, 4, (4000, 2))
    scale = np.full(x.shape, 0.05)
    held = Densities("gaussian", x + scale * rng.normal(size=x.shape), scale, None, np.ones(2))
    lower = rng.uniform(0.0, 3.0, (200, 2))
    upper = lower + rng.uniform(0.2, 1.0, (200, 2))
    counts = count(held, lower, upper)
    true = np.array([((x >= a) & (x <= b)).all(axis=1).sum() for a, b in zip(lower, upper, strict=True)])
    assert (np.abs(counts.estimate - true) <= 3.0 * counts.standard_error).mean() > 0.95


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [([[1.0]], [[0.0]], "end before"), ([[np.nan]], [[0.0]], "NaN"), ([[0.0, 0.0]], [[1.0, 1.0]], "1 columns")],
)
def test_what_is_no_query_is_refused(lower: list, upper: list, message: str) -> None:
    held = Densities("gaussian", np.zeros((1, 1)), np.ones((1, 1)), None, np.ones(1))
    with pytest.raises(ValueError, match=message):
        count(held, np.array(lower), np.array(upper))
