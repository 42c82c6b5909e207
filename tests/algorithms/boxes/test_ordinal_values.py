"""Statistics of ordinal columns, whose values count as numbers: against all completions; charges against moves."""

import itertools

import numpy as np
import pytest

from surebox_core.errors import UndefinedStatisticError
from surebox_core.statistics import Statistic, check_statistics
from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.estimates import components_of, estimates, reading_steps
from surebox_verify.readings import Readings
from tests.algorithms.boxes.cases import run
from tests.verify.ranges.completions import tables_of_box
from workers.algorithms.boxes.charges import ChargedRecords, sides
from workers.algorithms.boxes.rare.points import judged
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn, NumericColumn
from workers.algorithms.boxes.values import pairwise, true_values

#: Columns: a number, two orders of 4 and 3 values, a nominal one of 2.
Y, GRADE, SIZE, SEX = 0, 1, 2, 3
LABELS = {GRADE: (-1.5, 2.0, 5.0, 10.0), SIZE: (1.0, 2.0, 3.0), SEX: (0.0, 1.0)}
NUMBERS = (None, LABELS[GRADE], LABELS[SIZE])
SIZES = (None, 4, 3)
STATISTICS = (
    Statistic("share", (GRADE,)),
    Statistic("share", (GRADE,), values=(0, 2)),
    Statistic("crosstab", (GRADE, SEX)),
    Statistic("crosstab", (SEX, GRADE)),
    Statistic("crosstab", (GRADE, SIZE)),
    Statistic("domain_mean", (Y, GRADE)),
    Statistic("domain_mean", (Y, GRADE), values=(1, 2)),
    Statistic("domain_mean", (SIZE, GRADE), values=(3, 0)),
    Statistic("domain_mean", (GRADE, SIZE)),
)
OF_NUMBERS = (
    Statistic("mean", (GRADE,)),
    Statistic("variance", (GRADE,)),
    Statistic("variance", (SIZE,)),
    Statistic("standard_deviation", (GRADE,)),
    Statistic("quantile", (GRADE,), p=0.5),
    Statistic("quantile", (SIZE,), p=0.25),
    Statistic("covariance", (Y, GRADE)),
    Statistic("covariance", (GRADE, SIZE)),
)


def plainly(statistic: Statistic, data: np.ndarray) -> list[float]:
    """By the definitions; NaN where no record is in the set."""
    if statistic.kind == "crosstab":
        first, second = statistic.of
        cells = itertools.product(LABELS[first], LABELS[second])
        return [float(((data[:, first] == u) & (data[:, second] == v)).sum()) for u, v in cells]
    labels = LABELS[statistic.of[-1]]
    sets = [statistic.values] if statistic.values else [(v,) for v in range(len(labels))]
    inside = [np.isin(data[:, statistic.of[-1]], [labels[v] for v in values]) for values in sets]
    if statistic.kind == "share":
        return [float(held.mean()) for held in inside]
    return [float(data[held, statistic.of[0]].mean()) if held.any() else np.nan for held in inside]


def of_numbers(statistic: Statistic, data: np.ndarray) -> float:
    """By the definitions, of the numbers that values count as."""
    x = data[:, statistic.of[0]]
    if statistic.kind == "quantile":
        return float(np.sort(x)[int(np.ceil((statistic.p or 0.5) * len(x))) - 1])
    if statistic.kind == "covariance":
        y = data[:, statistic.of[1]]
        return float((x * y).mean() - x.mean() * y.mean())
    moments = {"mean": x.mean(), "variance": x.var(), "standard_deviation": x.std()}
    return float(moments[statistic.kind])


def small(seed: int) -> PublishedBoxes:
    rng = np.random.default_rng(seed)
    first = np.column_stack([rng.integers(0, 5, 2), rng.integers(0, 3, 2), rng.integers(0, 2, 2)])
    room = np.column_stack([rng.integers(0, 3, 2), rng.integers(0, 3, 2), rng.integers(0, 2, 2)])
    last = np.minimum(first + room, [9, 3, 2])
    lower, upper = (counted(places) for places in (first, last))
    held = rng.random((2, 2)) < 0.6
    held[~held.any(axis=1), 0] = True
    return PublishedBoxes(lower, upper, rng.integers(2, 4, 2), sets=(held,))


def counted(places: np.ndarray) -> np.ndarray:
    """Places of values as what they count as."""
    return np.column_stack([places[:, Y], *(np.array(LABELS[c])[places[:, c]] for c in (GRADE, SIZE))]).astype(float)


def completions(boxes: PublishedBoxes, b: int, used: list[int], *, attained: bool) -> list[np.ndarray]:
    """All tables of a box in the columns that a statistic names, the others 0."""
    values, ends = [], []
    for column in used:
        if column == SEX:
            values.append(np.flatnonzero(boxes.sets[0][b]).tolist())
            ends.append(values[-1])
        else:
            low, high = boxes.lower[b, column], boxes.upper[b, column]
            possible = np.arange(low, high + 1.0).tolist() if column == Y else LABELS[column]
            values.append([value for value in possible if low <= value <= high])
            ends.append([low, high])
    tables = []
    for table in tables_of_box(values, int(boxes.counts[b]), ends if attained else []):
        whole = np.zeros((len(table), 4))
        whole[:, used] = table
        tables.append(whole)
    return tables


@pytest.mark.parametrize("attained", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_ranges_are_what_all_data_that_fit_the_boxes_reach(seed: int, attained: bool) -> None:
    boxes = small(seed)
    readings = Readings(boxes, Meaning(attained, (1.0, None, None), labels=NUMBERS))
    for statistic in STATISTICS:
        tables = [completions(boxes, b, sorted(statistic.of), attained=attained) for b in range(2)]
        reached = np.array([plainly(statistic, np.vstack(parts)) for parts in itertools.product(*tables)])
        ranges = reading_steps(statistic, readings).finish()
        assert len(ranges) == reached.shape[1] == components_of(statistic, readings)
        for r, said, values in zip(ranges, estimates(statistic, readings, ranges), reached.T, strict=True):
            there = values[~np.isnan(values)]
            if not len(there):
                assert r.outer is None
                continue
            assert r.outer is not None
            assert r.inner is not None
            assert r.exact
            assert (r.outer.lower, r.outer.upper) == pytest.approx((there.min(), there.max()), abs=1e-12)
            assert (r.inner.lower, r.inner.upper) == pytest.approx((there.min(), there.max()), abs=1e-12)
            assert said.estimate is None or r.outer.lower <= said.estimate <= r.outer.upper


@pytest.mark.parametrize("attained", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_ranges_of_numbers_are_what_values_of_the_order_reach(seed: int, attained: bool) -> None:
    """The least variance too, which the numbers between the values would make smaller."""
    boxes = small(seed)
    readings = Readings(boxes, Meaning(attained, (1.0, None, None), labels=NUMBERS))
    for statistic in OF_NUMBERS:
        tables = [completions(boxes, b, sorted(statistic.of), attained=attained) for b in range(2)]
        reached = [of_numbers(statistic, np.vstack(parts)) for parts in itertools.product(*tables)]
        (r,) = reading_steps(statistic, readings).finish()
        assert r.outer is not None
        least, most = min(reached), max(reached)
        assert r.outer.lower - 1e-12 <= least <= most <= r.outer.upper + 1e-12
        assert r.inner is None or least - 1e-12 <= r.inner.lower <= r.inner.upper <= most + 1e-12
        if statistic.kind != "covariance":
            assert r.outer.lower == pytest.approx(least, abs=1e-9)
            assert r.inner is not None
            assert (r.inner.lower, r.inner.upper) == pytest.approx((least, most), abs=1e-9)


def made(size: int) -> tuple[np.ndarray, NominalColumn]:
    rng = np.random.default_rng(size)
    sex = rng.integers(0, 2, size)
    grade = rng.choice(4, size, p=[0.4, 0.3, 0.2, 0.1])
    y = np.rint(20.0 + 10.0 * grade + rng.normal(0.0, 5.0, size))
    x = counted(np.column_stack([y.astype(np.int64), grade, rng.integers(0, 3, size)]))
    return x, NominalColumn(sex.astype(np.int32), 2)


def records_of(x: np.ndarray, sex: NominalColumn) -> ChargedRecords:
    share = np.full(len(x), 1.0 / len(x))
    return ChargedRecords(x, (sex,), share, pairwise(x, share, 0), 1.0 / len(x), labels=NUMBERS)


def test_a_record_is_charged_what_a_step_of_its_value_moves() -> None:
    """Against the statistic with the record at either neighbouring value, per unit of what it counts as.

    To first order for means, else exactly.
    """
    x, sex = made(200)
    for statistic, rtol in (
        (Statistic("share", (GRADE,), 2.0), 1e-9),
        (Statistic("share", (GRADE,), 2.0, values=(0, 1)), 1e-9),
        (Statistic("crosstab", (GRADE, SEX), 0.5), 1e-9),
        (Statistic("crosstab", (SIZE, GRADE), 0.5), 1e-9),
        (Statistic("domain_mean", (Y, GRADE), 1.0, values=(2, 3)), 0.05),
    ):
        charged = sides((statistic,), records_of(x, sex)).worth
        data = np.column_stack([x, sex.codes])
        here = np.array(plainly(statistic, data))
        for record in range(0, 200, 7):
            moved, labels = [], LABELS[GRADE]
            place = labels.index(x[record, GRADE])
            for step in (-1, 1):
                other = data.copy()
                if 0 <= place + step <= 3:
                    other[record, GRADE] = labels[place + step]
                    apart = abs(labels[place + step] - labels[place])
                    change = np.abs(np.array(plainly(statistic, other)) - here).sum()
                    moved.append((statistic.weight or 0.0) * change / apart)
            assert charged[record, GRADE] == pytest.approx(len(x) * max(moved), rel=rtol, abs=1e-9)


def test_true_values_are_those_of_the_definitions() -> None:
    x, sex = made(90)
    x[3, GRADE] = np.nan
    data = np.column_stack([x, sex.codes])[~np.isnan(x[:, GRADE])]
    share = np.full(len(x), 1.0 / len(x))
    records = ChargedRecords(x, (sex,), share, pairwise(x, share, 0), 1.0 / len(x), labels=NUMBERS)
    for statistic in STATISTICS:
        assert true_values(statistic, records, 0, []) == pytest.approx(plainly(statistic, data))


@pytest.mark.parametrize("partition", ["optimal", "fast"])
def test_the_partition_serves_them(partition: str) -> None:
    """Against the boxes of the same records for the mean of the other column."""
    x, sex = made(1200)
    columns = (NumericColumn(), *(NumericColumn(labels=LABELS[c]) for c in (GRADE, SIZE)))
    domains = ((-50.0, 150.0), (-1.5, 10.0), (1.0, 3.0))
    narrow = Statistic("share", (GRADE,), 1.0, values=(2, 3))
    width = []
    for weight in (1.0, 1e-9):
        statistics = (Statistic("mean", (Y,), 1e-3), Statistic("share", (GRADE,), weight, values=(2, 3)))
        request = BoxesRequest(
            8,
            statistics,
            partition=partition,
            domains=domains,
            columns=columns,
            nominal=(sex,),
            bounds="tight",  # type: ignore[arg-type]
        )
        outcome = run(x, request)
        (estimate,) = outcome.certificates[1].published
        (true,) = plainly(narrow, x)
        assert outcome.certificates[1].true_value == pytest.approx((true,))
        assert estimate.guaranteed is not None
        assert estimate.guaranteed.lower <= true <= estimate.guaranteed.upper
        assert estimate.exact
        width.append(estimate.guaranteed.width)
    assert width[0] < 0.5 * width[1]


def test_marked_boxes_take_ranges_of_an_order_as_the_sets_between_their_ends() -> None:
    """The same boxes with the order declared nominal are judged the same."""
    rng = np.random.default_rng(2)
    y, low = rng.normal(size=(12, 1)), rng.integers(0, 3, 12)
    high = np.minimum(low + rng.integers(0, 3, 12), 3)
    counts, other = rng.integers(3, 9, 12), rng.random((12, 2)) < 0.7
    other[~other.any(axis=1), 0] = True
    ranked = PublishedBoxes(np.column_stack([y - 0.5, low]), np.column_stack([y + 0.5, high]), counts, sets=(other,))
    rank = np.arange(4)
    held = (rank >= low[:, None]) & (rank <= high[:, None])
    listed = PublishedBoxes(y - 0.5, y + 0.5, counts, sets=(held, other))
    for kind, of, again in (("share", (1,), (1,)), ("crosstab", (1, 2), (1, 2)), ("domain_mean", (0, 1), (0, 1))):
        statistics = Statistic("mean", (0,), 1.0), Statistic(kind, of, 0.5)  # type: ignore[arg-type]
        one = judged(ranked, statistics, ddof=0, least=0.0, labels=(None, (0.0, 1.0, 2.0, 3.0)))
        two = judged(listed, (statistics[0], Statistic(kind, again, 0.5)), ddof=0, least=0.0)  # type: ignore[arg-type]
        assert one is not None
        assert two is not None
        np.testing.assert_allclose(one.g, two.g)
        np.testing.assert_allclose(one.uncertainty, two.uncertainty)
        np.testing.assert_allclose(one.parts[0].deviations, two.parts[0].deviations)


@pytest.mark.parametrize(
    "statistic",
    [
        Statistic("share", (0,)),
        Statistic("crosstab", (0, 3)),
        Statistic("share", (1,), values=(4,)),
        Statistic("mean", (3,)),
    ],
)
def test_numbers_and_ranks_beyond_the_order_are_refused(statistic: Statistic) -> None:
    with pytest.raises(UndefinedStatisticError):
        check_statistics([statistic], 3, (2,), SIZES)
