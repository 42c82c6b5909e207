"""Scales for k in expectation: against the plain sum over all pairs, closed forms, and the definition itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from surebox_core.errors import InvalidColumnError
from tests.algorithms.uncertain import oracle
from tests.drawing import examples
from workers.algorithms.uncertain.calibration import calibration
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.drawing import draw
from workers.algorithms.uncertain.calibration.expected import anonymity
from workers.algorithms.uncertain.calibration.kernels import SAFE
from workers.algorithms.uncertain.calibration.state import CalibrationRequest, UnreachableKError

MODELS = ["gaussian", "uniform"]
EXTRA = (SAFE - 1.0) * 1.01


def alone(k: float | np.ndarray, model: str, **more: object) -> CalibrationRequest:
    return CalibrationRequest(k=k, model=model, scales="per_record", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", MODELS)
def test_thousands_of_small_tables_get_the_smallest_scales_with_k(model: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(400):
        rows, columns = rng.integers(3, 14), rng.integers(1, 4)
        x = rng.integers(0, rng.integers(2, 60), (rows, columns)).astype(np.float64)
        k = rng.uniform(1.0, 1.0 + 0.45 * (rows - 1), rows)
        calibrated = calibrate(x, alone(k, model))
        exact = oracle.of(x, calibrated)
        duplicates = (x[None] == x[:, None]).all(axis=2).sum(axis=1)
        pointlike = (calibrated.scale == 0.0).all(axis=1)
        assert (pointlike == (duplicates >= k)).all()
        assert calibrated.zero_scale == pointlike.sum()
        assert (exact >= k).all()
        assert (exact[~pointlike] <= (k * (1.0 + EXTRA) + calibrated.certified_error)[~pointlike]).all()
        assert calibrated.certified_error <= 1e-3 * k.max() * SAFE
        assert (calibrated.anonymity <= exact * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("model", MODELS)
@settings(deadline=None, max_examples=examples(40))
@given(x=oracle.tables(least=4), share=st.floats(0.0, 0.9), scaling=st.sampled_from(["global", "local", "rotated"]))
def test_every_shape_reaches_k_and_hardly_more(model: str, x: np.ndarray, share: float, scaling: str) -> None:
    k = 1.0 + share * 0.5 * (len(x) - 1)
    calibrated = calibrate(x, alone(k, model, scaling=scaling))
    exact = oracle.of(x, calibrated)
    moved = (calibrated.scale > 0.0).any(axis=1)
    assert (exact >= k * (1.0 - 1e-12)).all()
    assert (exact[moved] <= k * (1.0 + EXTRA) + calibrated.certified_error + 1e-9).all()


def test_the_certified_bound_holds_where_far_records_are_neglected() -> None:
    x = oracle.mixture(1500)
    calibrated = calibrate(x, alone(10.0, "gaussian", tolerance=1e-2))
    exact = oracle.of(x, calibrated)
    assert exact.min() >= 10.0
    assert (exact - calibrated.anonymity).max() > 1e-4  # something was neglected
    assert (exact - calibrated.anonymity).max() <= calibrated.certified_error <= 0.1
    finer = calibrate(x, alone(10.0, "gaussian", tolerance=1e-5))
    assert (oracle.of(x, finer) - finer.anonymity).max() <= finer.certified_error <= 1.1e-4
    assert (finer.scale <= calibrated.scale * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scaling", ["global", "rotated"])
def test_the_expected_rank_of_the_true_record_is_k(model: str, scaling: str) -> None:
    x = oracle.mixture(300, 2)
    calibrated = calibrate(x, alone(6.0, model, scaling=scaling))
    rng = np.random.default_rng(3)
    ranks = []
    for _ in range(40):
        z = draw(x, calibrated, rng)
        offset = z[:, None, :] - x[None, :, :]
        if calibrated.axes is not None:
            offset = np.einsum("paj,pkj->pka", calibrated.axes, offset / calibrated.unit)
        e = offset / calibrated.scale[:, None, :]
        fit = -(e * e).sum(axis=2) if model == "gaussian" else (np.abs(e) <= 0.5).all(axis=2).astype(float)
        true = np.diagonal(fit)
        if model == "uniform":
            assert (true == 1.0).all()
        ranks.append((fit >= true[:, None]).sum(axis=1))
    means = np.mean(ranks, axis=1)  # over records, one draw of each
    error = np.std(means, ddof=1) / math.sqrt(len(means))
    assert abs(means.mean() - 6.0) < 4.0 * error + 0.01


@pytest.mark.parametrize("k", [1.01, 1.25, 1.49])
def test_two_records_have_their_closed_forms(k: float) -> None:
    x = np.array([[3.0], [8.0]])
    sigma = calibrate(x, alone(k, "gaussian", tolerance=1e-6)).scale
    assert sigma == pytest.approx(np.full((2, 1), 5.0 / (-2.0 * ndtri(k - 1.0))), rel=2e-3)
    side = calibrate(x, alone(k, "uniform")).scale
    assert side == pytest.approx(np.full((2, 1), 5.0 / (2.0 - k)), rel=1e-4)


def test_equidistant_records_have_their_closed_form() -> None:
    x = np.eye(12)
    calibrated = calibrate(x, alone(4.0, "gaussian", tolerance=1e-6))
    distance = math.sqrt(2.0) / calibrated.unit[0]
    assert calibrated.scale / calibrated.unit == pytest.approx(distance / (-2.0 * ndtri(3.0 / 11.0)), rel=1e-5)


def test_evenly_spaced_records_have_their_closed_form() -> None:
    x = np.arange(101.0)[:, None]
    side = calibrate(x, alone(5.0, "uniform")).scale[50, 0]  # 1 + 2 sum (1 - j/a) over j < a = a for whole a
    assert side == pytest.approx(5.0, rel=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_order_and_powers_of_ten_of_the_units_play_no_part(model: str) -> None:
    x = oracle.mixture(400)
    order = np.random.default_rng(0).permutation(len(x))
    calibrated = calibrate(x, alone(7.5, model))
    shuffled = calibrate(np.ascontiguousarray(x[order]), alone(7.5, model))
    assert shuffled.scale == pytest.approx(calibrated.scale[order], rel=1e-3)
    power = np.array([1e-6, 1.0, 1e9])
    other = calibrate(x * power, alone(7.5, model))
    assert other.unit == pytest.approx(calibrated.unit * power, rel=1e-12)
    assert other.scale == pytest.approx(calibrated.scale * power, rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_threads_and_steps_change_nothing_beyond_the_tolerance(model: str) -> None:
    x = oracle.mixture(1500)
    one = calibrate(x, alone(10.0, model))
    state = calibration.init(x, alone(10.0, model, threads=3))
    seen = [calibration.progress(state)[1]]
    with pytest.raises(ValueError, match="step until done"):
        calibration.result(state)
    while not calibration.done(state):
        state = calibration.step(state)
        seen.append(calibration.progress(state)[1])
    assert seen == sorted(seen)
    assert calibration.progress(state) == ("done", 1.0)
    assert calibration.result(state).scale == pytest.approx(one.scale, rel=1e-3)


def test_k_at_the_supremum_is_refused_and_the_k_that_is_named_can_be_had() -> None:
    x = np.array([[0.0], [1.0], [1.0], [5.0], [7.0]])
    for k in (3.0, 3.5, 50.0):  # 1 + 4/2 for those without a duplicate
        with pytest.raises(UnreachableKError) as refused:
            calibrate(x, alone(k, "gaussian"))
        assert refused.value.largest == pytest.approx(3.0, abs=2e-3)
        assert refused.value.largest < 3.0
        assert oracle.of(x, calibrate(x, alone(refused.value.largest, "gaussian"))).min() >= refused.value.largest
    with pytest.raises(UnreachableKError) as refused:
        calibrate(x, alone(5.0, "uniform"))
    assert refused.value.largest == pytest.approx(4.999)
    assert oracle.of(x, calibrate(x, alone(4.999, "uniform"))).min() >= 4.999
    own = np.array([1.0, 3.4, 3.4, 1.0, 2.9])  # records 1 and 2 reach 1 + 1 + 3/2
    assert (oracle.of(x, calibrate(x, alone(own, "gaussian"))) >= own).all()


@pytest.mark.parametrize("model", MODELS)
def test_one_record_constant_columns_and_identical_records(model: str) -> None:
    single = calibrate(np.array([[4.0, -2.0]]), alone(1.0, model))
    assert (single.scale == 0.0).all()
    assert single.zero_scale == 1
    assert (single.unit == 1.0).all()
    with pytest.raises(UnreachableKError, match="the largest k is 1"):
        calibrate(np.array([[4.0, -2.0]]), alone(1.5, model))
    x = np.c_[np.repeat([1.0, 2.0, 9.0], 4), np.full(12, 7.0)]
    assert calibrate(x, alone(4.0, model)).zero_scale == 12
    raised = calibrate(x, alone(4.0, model, min_scale=0.5))
    assert raised.zero_scale == 0
    assert (raised.scale == 0.5 * raised.unit).all()
    spread = calibrate(x, alone(4.5, model))
    assert spread.unit[1] == 1.0
    assert oracle.of(x, spread).min() >= 4.5


@pytest.mark.parametrize("columns", [1, 2, 5, 13, 30])
@pytest.mark.parametrize("model", MODELS)
def test_any_number_of_columns_in_wildly_different_units(model: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(160, columns)) * 10.0 ** rng.integers(-12, 12, columns) + 10.0 ** rng.integers(-12, 6, columns)
    calibrated = calibrate(x, alone(9.0, model))
    exact = oracle.of(x, calibrated)
    assert exact.min() >= 9.0
    assert exact.max() <= 9.0 * (1.0 + EXTRA) + calibrated.certified_error


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_infinities_are_refused(bad: float) -> None:
    x = np.ones((5, 2))
    x[3, 1] = bad
    with pytest.raises(InvalidColumnError):
        calibration.init(x, alone(2.0, "gaussian"))


@pytest.mark.parametrize(
    "request_",
    [
        CalibrationRequest(k=0.5),
        CalibrationRequest(k=math.nan),
        CalibrationRequest(k=np.ones(3)),
        CalibrationRequest(k=2.0, scaling="local"),
        CalibrationRequest(k=2.0, scales="levels", scaling="rotated"),
        CalibrationRequest(k=2.0, suppress_share=1.0),
        CalibrationRequest(k=2.0, min_scale=-1.0),
        CalibrationRequest(k=2.0, tolerance=0.0),
        CalibrationRequest(k=2.0, cell_size=0),
    ],
)
def test_requests_that_make_no_sense_are_refused(request_: CalibrationRequest) -> None:
    with pytest.raises(ValueError, match=r"must|goes with|contains"):
        calibration.init(np.arange(8.0).reshape(4, 2), request_)


def test_further_draws_act_like_one_of_a_smaller_scale() -> None:
    x = oracle.mixture(500)
    calibrated = calibrate(x, alone(10.0, "gaussian"))
    twice = anonymity(x, calibrated, draws=2)
    exact = oracle.anonymity(x, calibrated.scale / math.sqrt(2.0), "gaussian", None, calibrated.unit)
    assert (twice.least <= exact * (1.0 + 1e-12)).all()
    assert (exact <= twice.least + twice.missing).all()
    some = anonymity(x, calibrated, draws=2, places=np.array([7, 3]))
    assert some.least == pytest.approx(twice.least[[7, 3]], rel=1e-3)
    assert twice.least.max() < 10.0
