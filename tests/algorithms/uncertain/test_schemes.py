"""Who shares a scale: k is reached among those an adversary cannot tell apart by it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.uncertain import oracle
from tests.drawing import examples
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.rare import feasible_k, suppressed_number
from workers.algorithms.uncertain.calibration.state import CalibrationRequest, Scales, UnreachableKError
from workers.algorithms.uncertain.density.densities import Model
from workers.algorithms.uncertain.density.scaling import FLOOR

MODELS = ["gaussian", "uniform"]


def refusal(x: np.ndarray, request: CalibrationRequest) -> UnreachableKError | None:
    try:
        calibrate(x, request)
    except UnreachableKError as refused:
        return refused
    return None


@pytest.mark.parametrize("model", MODELS)
@settings(deadline=None, max_examples=examples(30))
@given(
    x=oracle.tables(least=8),
    share=st.floats(0.0, 0.9),
    suppress_share=st.sampled_from([0.0, 0.05, 0.3]),
    scheme=st.sampled_from(
        [("common", "global"), ("levels", "global")] + [("shared", s) for s in ("global", "local", "rotated")]
    ),
)
def test_k_is_reached_among_those_who_share_a_scale(
    model: str, x: np.ndarray, share: float, suppress_share: float, scheme: tuple[str, str]
) -> None:
    k = 1.0 + share * 0.5 * (len(x) - 1)
    request = CalibrationRequest(k=k, model=model, scales=scheme[0], scaling=scheme[1], suppress_share=suppress_share)  # type: ignore[arg-type]
    refused = refusal(x, request)
    if refused is not None:
        assert refused.largest < k
        again = calibrate(x, replace(request, k=refused.largest))
        assert again.anonymity.min() >= refused.largest
        return
    calibrated = calibrate(x, request)
    gone = len(x) - len(calibrated.rows)
    assert gone == 0 or gone >= k
    for members in oracle.groups(calibrated):
        exact = oracle.of(x, calibrated, members)
        assert (exact >= k * (1.0 - 1e-12)).all()
        assert (calibrated.anonymity[members] <= exact * (1.0 + 1e-9)).all()
        assert (calibrated.anonymity[members] >= k).all()
    assert calibrated.expected.least == calibrated.anonymity.min()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("far", "kept", "few"), [(1, 17, True), (2, 18, True), (3, 16, False), (4, 16, False)])
def test_equal_records_need_no_rung(model: Model, far: int, kept: int, few: bool) -> None:
    """Sixteen equal records and some far ones: these go where they are k or more, else all stay, and few decide."""
    x = np.array([[0.0]] * 16 + [[10.0 ** (i + 1)] for i in range(far)])
    calibrated = calibrate(x, CalibrationRequest(k=3.0, model=model, scales="common", suppress_share=0.05))
    assert (len(calibrated.rows), calibrated.few) == (kept, few)
    assert (calibrated.scale[0, 0] == 0.0) is not few
    assert oracle.of(x, calibrated).min() >= 3.0


def on_ladder(value: float) -> bool:
    """Ten rungs to a decade, known beforehand."""
    return float(f"{value:.12e}".split("e")[0]) in {1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0}


def below(value: float) -> float:
    """The rung below one."""
    rungs = [float(f"{m}e{e}") for e in range(-6, 6) for m in (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)]
    return max(rung for rung in rungs if rung < value * (1.0 - 1e-9))


@pytest.mark.parametrize("model", MODELS)
def test_the_common_scale_is_a_rung_that_k_or_more_records_need(model: Model) -> None:
    x = oracle.mixture(1500)
    calibrated = calibrate(x, CalibrationRequest(k=8.0, model=model))
    sigma = calibrated.scale[0, 0] / calibrated.unit[0]
    assert on_ladder(sigma)
    assert calibrated.scale / calibrated.unit == pytest.approx(np.full_like(calibrated.scale, sigma))
    assert oracle.of(x, calibrated).min() >= 8.0
    less = np.full_like(calibrated.scale, below(sigma)) * calibrated.unit
    assert (oracle.anonymity(x[calibrated.rows], less, model, None, calibrated.unit) < 8.0 * 1.001).sum() >= 8
    assert not calibrated.few


@pytest.mark.parametrize("model", MODELS)
def test_how_far_one_record_lies_does_not_move_the_scale_of_all(model: Model) -> None:
    """1 % of 200 records is fewer than k: k are suppressed, or one far off would decide the scale of all."""
    x = np.random.default_rng(3).normal(size=(200, 2))
    outcomes = []
    for distance in (20.0, 60.0, 200.0):
        x[7] = distance
        calibrated = calibrate(x, CalibrationRequest(k=8.0, model=model))
        assert 7 not in calibrated.rows
        assert len(x) - len(calibrated.rows) >= 8, "none or at least k are left out"
        assert oracle.of(x, calibrated).min() >= 8.0
        assert not calibrated.few
        outcomes.append((len(calibrated.rows), calibrated.scale[0, 0] / calibrated.unit[0]))
    assert len({rows for rows, _ in outcomes}) == 1
    assert len({round(scale, 9) for _, scale in outcomes}) == 1


def test_where_no_record_may_be_suppressed_it_is_said_that_few_decide() -> None:
    x = np.random.default_rng(3).normal(size=(200, 2))
    x[7] = 60.0
    calibrated = calibrate(x, CalibrationRequest(k=8.0, suppress_share=0.0))
    assert len(calibrated.rows) == 200
    assert on_ladder(calibrated.scale[0, 0] / calibrated.unit[0])
    assert oracle.of(x, calibrated).min() >= 8.0
    assert calibrated.few


def test_the_rare_records_are_suppressed() -> None:
    x = oracle.mixture(2500)
    calibrated = calibrate(x, CalibrationRequest(k=8.0, suppress_share=0.02))
    own = calibrate(x, CalibrationRequest(k=8.0, scales="per_record")).scale[:, 0]
    gone = np.delete(np.arange(len(x)), calibrated.rows)
    assert 50 <= len(gone) < 50 + 8, "more only where fewer than k would decide the scale of all"
    assert np.sort(own[gone])[-50:].min() >= own[calibrated.rows].max() * (1.0 - 1e-3)
    assert calibrated.scale[0, 0] <= own.max()


def test_order_plays_no_part_in_who_is_suppressed() -> None:
    x = oracle.mixture(600)
    order = np.random.default_rng(0).permutation(len(x))
    one = calibrate(x, CalibrationRequest(k=5.0))
    other = calibrate(np.ascontiguousarray(x[order]), CalibrationRequest(k=5.0))
    assert sorted(map(tuple, x[one.rows])) == sorted(map(tuple, x[order][other.rows]))
    assert one.scale[0].tolist() == other.scale[0].tolist()


@pytest.mark.parametrize(
    ("records", "share", "k", "number"),
    [
        (1000, 0.01, 10, 10),
        (1000, 0.01, 12, 12),
        (1000, 0.01, 20, 20),
        (1000, 0.01, 21, 0),
        (1000, 0.0, 2, 0),
        (5000, 0.01, 7.5, 50),
        (1, 0.99, 1, 0),
        (10, 0.99, 1, 9),
        (10, 0.5, 10, 0),
    ],
)
def test_none_or_at_least_k_are_suppressed(records: int, share: float, k: float, number: int) -> None:
    assert suppressed_number(records, share, k) == number


@pytest.mark.parametrize("scales", ["common", "levels", "shared"])
@pytest.mark.parametrize(("records", "k"), [(1, 1.0), (2, 1.0), (10, 10.0)])
def test_some_records_are_released_whatever_share_is_suppressed(scales: Scales, records: int, k: float) -> None:
    made = calibrate(np.ones((records, 2)), CalibrationRequest(k=k, scales=scales, suppress_share=0.99))
    assert len(made.rows) >= k
    assert made.expected.least >= k


@pytest.mark.parametrize(("model", "k"), [("gaussian", 60.0), ("uniform", 100.0)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.26, 0.5])
def test_a_refusal_names_a_k_that_can_be_had_with_the_same_share_suppressed(
    model: Model, k: float, share: float
) -> None:
    x = np.random.default_rng(1).normal(size=(100, 2))
    with pytest.raises(UnreachableKError) as refused:
        calibrate(x, CalibrationRequest(k=k, model=model, suppress_share=share))
    largest = refused.value.largest
    assert largest <= feasible_k(100, share, k, model)
    assert oracle.of(x, calibrate(x, CalibrationRequest(k=largest, model=model, suppress_share=share))).min() >= largest
    if share == 0.0:
        assert largest == pytest.approx(50.5 if model == "gaussian" else 100.0, abs=0.01)


def test_rungs_are_the_same_for_all_data_and_far_below_the_common_scale() -> None:
    x = oracle.mixture(4000)
    calibrated = calibrate(x, CalibrationRequest(k=8.0, scales="levels", suppress_share=0.0))
    sigma = calibrated.scale[:, 0] / calibrated.unit[0]
    common = calibrate(x, CalibrationRequest(k=8.0, suppress_share=0.0)).scale[0, 0] / calibrated.unit[0]
    assert sigma.mean() < 0.6 * common
    assert all(on_ladder(each) for each in np.unique(sigma.round(12)))
    assert calibrated.cells == len(oracle.groups(calibrated)) > 1
    assert len(calibrated.rows) == len(x)


def test_every_record_may_ask_for_its_own_k() -> None:
    x = oracle.mixture(700)
    k = np.random.default_rng(2).uniform(1.0, 12.0, len(x))
    for scales in ("common", "levels", "shared"):
        calibrated = calibrate(x, CalibrationRequest(k=k, scales=scales))  # type: ignore[arg-type]
        for members in oracle.groups(calibrated):
            assert (oracle.of(x, calibrated, members) >= k[calibrated.rows[members]]).all()


def test_cells_hold_at_least_as_many_as_asked_and_shapes_are_rounded() -> None:
    x = oracle.mixture(1000)
    for scaling in ("local", "rotated"):
        calibrated = calibrate(
            x, CalibrationRequest(k=5.0, scales="shared", scaling=scaling, cell_size=50, suppress_share=0.0, threads=2)
        )  # type: ignore[arg-type]
        sizes = [len(members) for members in oracle.groups(calibrated)]
        assert min(sizes) >= 50
        assert calibrated.cells == 16
        if calibrated.axes is not None:
            product = calibrated.axes @ np.swapaxes(calibrated.axes, 1, 2)
            assert product == pytest.approx(np.broadcast_to(np.eye(3), product.shape), abs=1e-12)


def test_local_shapes_are_the_spread_of_the_nearest_others() -> None:
    x = np.random.default_rng(4).normal(size=(300, 3)) * [1.0, 5.0, 0.02]
    x[:, 2] = np.round(x[:, 2], 2)
    calibrated = calibrate(x, CalibrationRequest(k=6.5, scales="per_record", scaling="local"))
    y = x / calibrated.unit
    distance = ((y[:, None] - y[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    near = np.argsort(distance, axis=1, kind="stable")[:, :7]
    spread = np.maximum(y[near].std(axis=1), FLOOR)
    ratio = calibrated.scale / calibrated.unit / spread
    assert ratio == pytest.approx(np.repeat(ratio[:, :1], 3, axis=1), rel=1e-9)


def test_a_minimum_holds_for_every_scheme() -> None:
    x = oracle.mixture(500)
    for scales in ("common", "levels", "shared", "per_record"):
        calibrated = calibrate(x, CalibrationRequest(k=3.0, scales=scales, min_scale=2.0))  # type: ignore[arg-type]
        assert (calibrated.scale / calibrated.unit >= 2.0 * (1.0 - 1e-12)).all()
        assert calibrated.zero_scale == 0
