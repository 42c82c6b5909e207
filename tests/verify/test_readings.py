"""Everything a release says of its statistics, on mixed boxes: certain for data that are consistent with them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.estimates import components_of, estimates, reading_steps
from surebox_verify.readings import Readings
from tests.verify.ranges.completions import tables_of_box

SEX, COLOUR = 2, 3  # nominal columns after two numeric ones, of 2 and 3 values
STATISTICS = (
    *(Statistic(kind, (0,)) for kind in ("mean", "variance", "standard_deviation")),
    Statistic("covariance", (0, 1)),
    Statistic("correlation", (0, 1)),
    Statistic("correlation", (0, SEX)),
    Statistic("regression", (0, SEX)),
    Statistic("regression", (1, 0, COLOUR)),
    Statistic("share", (COLOUR,)),
    Statistic("share", (COLOUR,), values=(0, 2)),
    Statistic("crosstab", (SEX, COLOUR)),
    Statistic("domain_mean", (1, COLOUR)),
    Statistic("domain_mean", (0, COLOUR), values=(1, 2)),
    Statistic("quantile", (0,), p=0.25),
)


def records(seed: int, size: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sex, colour = rng.integers(0, 2, size), rng.integers(0, 3, size)
    first = np.rint(rng.normal(10.0, 4.0, size) + 3.0 * sex)
    second = rng.normal(size=size) + 0.2 * first + 0.5 * colour
    return np.column_stack([first, second]), np.column_stack([sex, colour])


def boxes_of(
    x: np.ndarray, codes: np.ndarray, k: int, *, attained: bool, lacking: bool, weighted: bool
) -> tuple[PublishedBoxes, np.ndarray, np.ndarray, np.ndarray]:
    """Groups of k by the first column, with their sides; some boxes without the second column or the colour."""
    order = np.argsort(x[:, 0], kind="stable")
    x, codes = x[order].copy(), codes[order].copy()
    box = np.arange(len(x)) // k
    count = int(box.max()) + 1
    if lacking:
        x[box == 1, 1] = np.nan
        codes[box == 2, 1] = -1
    rng = np.random.default_rng(3)
    room = 0.0 if attained else 1.0
    lower = np.array([x[box == b].min(axis=0) for b in range(count)]) - room * np.array([1.0, 0.1])
    upper = np.array([x[box == b].max(axis=0) for b in range(count)]) + room * np.array([1.0, 0.1])
    sets = []
    for j, m in ((0, 2), (1, 3)):
        held = np.zeros((count, m), dtype=bool)
        for b in range(count):
            values = codes[box == b, j]
            held[b, values[values >= 0]] = True
            if room and held[b].any():
                held[b] |= rng.random(m) < 0.2
        sets.append(held)
    survey = rng.uniform(0.5, 2.0, count) if weighted else None
    weights = np.ones(len(x)) if survey is None else survey[box]
    counts = np.bincount(box)
    return PublishedBoxes(lower, upper, counts, sets=tuple(sets), survey=survey), x, codes, weights


def truth(statistic: Statistic, x: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> list[float]:
    """By the definitions, over the records that have the columns."""
    columns = [x[:, i] if i < 2 else np.where(codes[:, i - 2] < 0, np.nan, codes[:, i - 2]) for i in statistic.of]
    there = ~np.isnan(np.column_stack(columns)).any(axis=1)
    columns, w = [column[there] for column in columns], weights[there] / weights[there].sum()
    if statistic.kind == "crosstab":
        cells = itertools.product(range(2), range(3))
        return [float(weights[there] @ ((columns[0] == u) & (columns[1] == v))) for u, v in cells]
    if statistic.kind == "quantile":
        shares = [(w @ (columns[0] <= value), value) for value in np.sort(columns[0])]
        return [next(value for share, value in shares if share >= (statistic.p or 0.0) - 1e-12)]
    if statistic.kind in ("share", "domain_mean"):
        sets = [statistic.values] if statistic.values else [(v,) for v in range(3)]
        inside = [np.isin(columns[-1], values) for values in sets]
        if statistic.kind == "share":
            return [float(w @ held) for held in inside]
        return [float(w @ (held * columns[0]) / (w @ held)) for held in inside]
    dummies = []
    for i, column in zip(statistic.of, columns, strict=True):
        dummies += [column] if i < 2 else [(column == v).astype(float) for v in range(1, (2, 3)[i - 2])]
    z = np.column_stack(dummies)
    mean = w @ z
    c = (w[:, None] * (z - mean)).T @ (z - mean)
    if statistic.kind == "regression":
        slopes = np.linalg.solve(c[1:, 1:], c[1:, 0])
        return [float(mean[0] - slopes @ mean[1:]), *slopes.tolist()]
    if statistic.kind == "correlation":
        return [float(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]))]
    of_moments = {"mean": mean[0], "variance": c[0, 0], "standard_deviation": np.sqrt(c[0, 0]), "covariance": c[0, -1]}
    return [float(of_moments[statistic.kind])]


@pytest.mark.parametrize(
    ("attained", "lacking", "weighted"),
    [(False, False, False), (True, False, False), (False, True, True), (True, True, True)],
)
def test_every_range_holds_the_records_value_whatever_the_columns(
    attained: bool, lacking: bool, weighted: bool
) -> None:
    x, codes = records(1)
    boxes, x, codes, weights = boxes_of(x, codes, 3, attained=attained, lacking=lacking, weighted=weighted)
    readings = Readings(boxes, Meaning(attained, (1.0, None)))
    for statistic in STATISTICS:
        ranges = reading_steps(statistic, readings, effort=60).finish()
        said = estimates(statistic, readings, ranges)
        values = truth(statistic, x, codes, weights)
        assert len(ranges) == len(said) == len(values) == components_of(statistic, readings)
        for r, estimate, value in zip(ranges, said, values, strict=True):
            if r.outer is None:
                assert statistic.kind in ("regression", "domain_mean")
                continue
            assert r.outer.lower - 1e-9 <= value <= r.outer.upper + 1e-9, statistic
            if r.inner is not None:
                assert r.outer.lower <= r.inner.lower <= r.inner.upper <= r.outer.upper
            if estimate.estimate is not None:
                assert r.outer.lower <= estimate.estimate <= r.outer.upper


@pytest.mark.parametrize("seed", range(6))
def test_correlations_reach_what_whole_numbers_at_attained_ends_reach(seed: int) -> None:
    """Every completion of two boxes of three whole numbers in two columns, all four ends of both attained."""
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 4, (2, 2)).astype(float)
    upper = lower + rng.integers(1, 3, (2, 2))
    boxes = PublishedBoxes(lower, upper, np.array([3, 3]))
    readings = Readings(boxes, Meaning(attained=True, steps=(1.0, 1.0)))
    tables = []
    for b in range(2):
        ends = [[lower[b, j], upper[b, j]] for j in (0, 1)]
        tables.append(tables_of_box([np.arange(low, high + 1.0).tolist() for low, high in ends], 3, ends))
    values: dict[str, list[float]] = {"covariance": [], "correlation": []}
    for parts in itertools.product(*tables):
        data = np.concatenate(parts)
        c = np.cov(data.T, ddof=0)
        values["covariance"].append(c[0, 1])
        values["correlation"].append(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]))
    for kind in ("covariance", "correlation"):
        (r,) = reading_steps(Statistic(kind, (0, 1)), readings).finish()  # type: ignore[arg-type]
        assert r.outer is not None
        assert r.inner is not None
        assert r.outer.lower <= min(values[kind]) + 1e-9
        assert r.outer.upper >= max(values[kind]) - 1e-9
        for end in (r.inner.lower, r.inner.upper):
            assert min(abs(end - value) for value in values[kind]) < 1e-9, "reached by some data"


def test_estimates_of_cells_with_fewer_than_k_records_are_not_made() -> None:
    sets = (
        np.array([[True, False], [True, False], [True, True]]),
        np.array([[True, False], [True, True], [False, True]]),
    )
    boxes = PublishedBoxes(
        np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [9.0]]), np.array([9, 5, 3]), sets=sets
    )
    readings = Readings(boxes, Meaning(least=5))
    statistic = Statistic("crosstab", (1, 2))
    said = estimates(statistic, readings, reading_steps(statistic, readings).finish())
    assert said[0].estimate is not None
    assert said[0].estimate > 5.0
    assert [each.estimate for each in said[2:]] == [None, None]
    assert all(each.guaranteed is not None for each in said)
    mean = Statistic("domain_mean", (0, 1), values=(1,))
    (one,) = estimates(mean, readings, reading_steps(mean, readings).finish())
    assert one.estimate is None


def test_estimates_expect_records_where_other_boxes_have_them() -> None:
    """Most records at 0 in narrow boxes, a few in wide ones: the centres of these are no estimate."""
    lower, upper = np.zeros((20, 1)), np.full((20, 1), 2.0)
    upper[18:] = 1000.0
    boxes = PublishedBoxes(lower, upper, np.full(20, 5))
    readings, statistic = Readings(boxes, Meaning()), Statistic("mean", (0,))
    (said,) = estimates(statistic, readings, reading_steps(statistic, readings).finish())
    assert said.estimate is not None
    assert said.estimate < 15.0, "the centres say 50.9"


def test_means_inside_boxes_narrow_every_range_of_numbers() -> None:
    rng = np.random.default_rng(4)
    x = np.sort(rng.normal(size=(300, 1)), axis=0) @ np.ones((1, 2)) + 0.1 * rng.normal(size=(300, 2))
    box = np.arange(300) // 5
    lower, upper, mean = (np.array([f(x[box == b], axis=0) for b in range(60)]) for f in (np.min, np.max, np.mean))
    plain = PublishedBoxes(lower, upper, np.full(60, 5))
    with_means = PublishedBoxes(lower, upper, np.full(60, 5), means=(mean - 1e-12, mean + 1e-12))
    for kind, of in (("mean", (0,)), ("variance", (1,)), ("covariance", (0, 1)), ("correlation", (0, 1))):
        statistic = Statistic(kind, of)  # type: ignore[arg-type]
        (before,), (after,) = (reading_steps(statistic, Readings(b, Meaning())).finish() for b in (plain, with_means))
        assert before.outer is not None
        assert after.outer is not None
        (value,) = truth(statistic, x, np.zeros((300, 2)), np.ones(300))
        assert after.outer.lower <= value <= after.outer.upper
        assert after.outer.width < 0.6 * before.outer.width


@pytest.mark.parametrize("attained", [False, True])
def test_what_is_found_does_not_hang_on_the_order_of_boxes_and_columns(attained: bool) -> None:
    """To the last bit, a pair named in either order: who reads rows back has the file's order."""
    x, codes = records(5)
    boxes, *_ = boxes_of(x, codes, 4, attained=attained, lacking=True, weighted=True)
    one = Readings(boxes, Meaning(attained, (1.0, None), least=3))
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(boxes.counts))
        other = PublishedBoxes(
            boxes.lower[order][:, ::-1], boxes.upper[order][:, ::-1], boxes.counts[order],
            sets=tuple(held[order] for held in boxes.sets),
            survey=None if boxes.survey is None else boxes.survey[order],
        )  # fmt: skip
        two = Readings(other, Meaning(attained, (None, 1.0), least=3))
        for statistic in STATISTICS:
            of = tuple({0: 1, 1: 0}.get(column, column) for column in statistic.of)
            again = replace(statistic, of=of)
            ranges = reading_steps(statistic, one).finish(), reading_steps(again, two).finish()
            assert ranges[0] == ranges[1], statistic
            assert estimates(statistic, one, ranges[0]) == estimates(again, two, ranges[1]), statistic
