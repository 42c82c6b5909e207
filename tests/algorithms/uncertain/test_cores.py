"""Cores beside leaving out one after the other by sums over all pairs, and common scales that are nobody's doing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from surebox_core.ladder import number_from, rung, rung_from
from tests.algorithms.uncertain import oracle
from tests.drawing import examples
from workers.algorithms.uncertain.calibration import cores
from workers.algorithms.uncertain.calibration.journal import Journal
from workers.algorithms.uncertain.calibration.state import CalibrationRequest
from workers.algorithms.uncertain.density.densities import Model
from workers.algorithms.uncertain.neighbours.tree import tree_of


def shares(y: np.ndarray, scale: float, model: str) -> np.ndarray:
    """What each record adds to each: all pairs."""
    w = np.abs(y[None] - y[:, None])
    if model == "gaussian":
        p = ndtr(-0.5 * np.sqrt((w * w).sum(axis=2)) / scale)
    else:
        p = np.maximum(1.0 - w / scale, 0.0).prod(axis=2)
    return np.where((w == 0.0).all(axis=2), 1.0, p)


def naive(p: np.ndarray, need: np.ndarray) -> set[int]:
    """Leave out who has too little, one look after the other."""
    living = np.ones(len(p), dtype=bool)
    while (short := living & (p[:, living].sum(axis=1) < need)).any():
        living &= ~short
    return set(np.flatnonzero(living).tolist())


def core(y: np.ndarray, need: np.ndarray, scale: float, model: Model, threads: int = 1) -> tuple[set[int], np.ndarray]:
    tree = tree_of(y)
    request = CalibrationRequest(k=1.0, model=model, threads=threads, journal=Journal())
    work = cores.core(tree, need[tree.order], scale, 1, request)
    while True:
        try:
            next(work)
        except StopIteration as end:
            anonymity = np.zeros(len(y))
            anonymity[tree.order[end.value.rows]] = end.value.anonymity
            return set(tree.order[end.value.rows].tolist()), anonymity


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
@settings(deadline=None, max_examples=examples(25))
@given(
    y=oracle.tables(least=4), k=st.floats(1.0, 12.0), reach=st.sampled_from([0.01, 0.1, 0.5, 3.0]), own=st.booleans()
)
def test_a_core_is_what_is_left_when_all_who_have_too_little_are_left_out(
    model: Model, y: np.ndarray, k: float, reach: float, own: bool
) -> None:
    """Far records count 0: it may lack who would have k by less than a twentieth."""
    y = np.ascontiguousarray(y)
    need = np.random.default_rng(len(y)).uniform(1.0, k + 1.0, len(y)) if own else np.full(len(y), k)
    p = shares(y, scale := reach * max(float(np.ptp(y)), 1.0), model)
    kept, anonymity = core(y, need, scale, model)
    assert naive(p, 1.05 * need) <= kept <= naive(p, need * (1.0 - 1e-9))
    members = sorted(kept)
    exact = p[np.ix_(members, members)].sum(axis=1)
    assert (anonymity[members] <= exact * (1.0 + 1e-9)).all()
    assert (anonymity[members] >= need[members]).all()


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_long_chains_are_followed_to_their_end_whatever_the_threads(model: Model, threads: int) -> None:
    y = oracle.mixture(900, columns=2)
    y[:120] = y[0]
    y[:, 1] = np.round(y[:, 1], 1)
    need = np.full(len(y), 7.5)
    p = shares(y, 0.2 if model == "gaussian" else 0.8, model)
    kept, _ = core(y, need, 0.2 if model == "gaussian" else 0.8, model, threads)
    first = (p.sum(axis=1) >= need).sum()
    assert 0 < len(kept) < first, "who falls takes others along"
    assert naive(p, 1.02 * need) <= kept <= naive(p, need)


@pytest.mark.parametrize("end", [1.0, 2.5, 4.2, 6.0])
def test_the_curve_lies_below_the_normal_tail_and_near_it(end: float) -> None:
    curve = cores.curve_below(end)
    t = np.random.default_rng(0).uniform(0.0, end, 50_000)
    below = ndtr(-t) - np.polyval(curve[1:], t)
    assert below.min() > 0.0
    assert below.max() < ndtr(-end) + 1e-5
    assert np.polyval(curve[1:], end) <= 0.0


def test_rungs_are_ten_to_a_decade() -> None:
    assert [rung(i) for i in range(-2, 13)] == [
        0.63, 0.8, 1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0, 10.0, 12.5, 16.0,
    ]  # fmt: skip
    for value in (1e-9, 0.0999, 0.1, 1.0, 1.0001, 7.9, 8.1, 123456.0):
        number = number_from(value)
        assert rung(number - 1) < value <= rung(number)
    assert rung_from(0.0) == 0.0
