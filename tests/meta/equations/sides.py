"""Equations of what sides of boxes leave open: ranges, sets, whole numbers, means inside boxes, rare records."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import polars as pl

from surebox_core.influence import influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic
from surebox_verify.boxes import PublishedBoxes
from surebox_verify.ranges.column import box_column
from surebox_verify.ranges.contents import content_column
from surebox_verify.ranges.guaranteed import Range, certain
from surebox_verify.ranges.mass import mass_of
from surebox_verify.ranges.members import members_of, sets_of_values
from surebox_verify.ranges.shares import share_range
from tests.algorithms.boxes.cases import parts
from tests.meta.equations.drawn import Drawn, Evaluated, printed, right_side
from tests.meta.printed_arithmetic import value
from tests.methods.in_process import Bench
from workers.algorithms.boxes.charges import ChargedRecords, Sides, sides
from workers.algorithms.boxes.content import mean_intervals
from workers.algorithms.boxes.costs import nominal_uncertainty
from workers.algorithms.boxes.deciding import stepped
from workers.algorithms.boxes.sides import Boxes, NominalColumn, NumericColumn
from workers.algorithms.boxes.tiles import on_grid
from workers.algorithms.boxes.uncertainty import record_delta
from workers.algorithms.boxes.versions import Demanded, renewed
from workers.algorithms.core.winsorized import ends
from workers.algorithms.tables.risk import prosecutor
from workers.methods.frontier.runner import rare_records


def boxes_of(lower: np.ndarray, upper: np.ndarray, counts: np.ndarray, sets: tuple[np.ndarray, ...] = ()) -> Boxes:
    box = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return Boxes(lower, upper, counts, box, np.zeros(lower.shape[1], dtype=np.bool_), sets=sets)


def drawn_sets(draw: np.random.Generator, boxes: int, values: int) -> np.ndarray:
    """None of them empty."""
    out = draw.random((boxes, values)) < draw.uniform(0.2, 0.8)
    out[np.arange(boxes), draw.integers(0, values, boxes)] = True
    return out


def rare_by_density(draw: np.random.Generator) -> Drawn:
    """Of an odd number of records, so that one has the median."""
    frame = pl.DataFrame(draw.standard_t(3, (int(draw.integers(20, 60)) * 2 + 1, 2)), schema=["x", "y"])
    body = {
        "method": "frontier", "dataset_id": "drawn", "quasi_identifiers": ["x", "y"], "k": [5], "records": "all",
        "statistics": [{"kind": "mean", "of": ["x"]}, {"kind": "variance", "of": ["y"]}],
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.dataset("drawn", frame)
        spec = bench.spec(body)
        made = rare_records(bench.context(spec), spec)
    rho = np.array([one.density for one in made.listed])
    computed = [one.rare_by_density for one in made.listed]
    return Drawn({"rho": rho, "rho_med": float(np.median(rho)), "n": 2}, computed, close=1e-6)


def single_column(draw: np.random.Generator) -> tuple[Range, np.ndarray, np.ndarray, np.ndarray]:
    """Range of the variance, bounds of each record, and every mu at which the least upper end can be."""
    boxes = int(draw.integers(2, 30))
    lower = draw.normal(0.0, 3.0, boxes)
    upper, counts = lower + draw.lognormal(0.0, 1.0, boxes), draw.integers(1, 9, boxes)
    lo, hi = np.repeat(lower, counts), np.repeat(upper, counts)
    order = np.argsort(0.5 * (lo + hi), kind="stable")
    assigned = [np.append(lo[order][:j], hi[order][j:]).mean() for j in range(len(lo) + 1)]
    mu = np.concatenate([0.5 * (lower + upper), assigned])
    return box_column(lower, upper, counts.astype(np.float64)).variance, lo, hi, mu


def largest_variance(draw: np.random.Generator) -> Drawn:
    variance, lo, hi, mu = single_column(draw)
    return Drawn({"lo": lo, "hi": hi, "mu": mu[:, None]}, certain(variance.outer).upper)


def gap_of_variance(draw: np.random.Generator) -> Drawn:
    """Next to the width of the box whose midpoint is the best mu."""
    variance, lo, hi, mu = single_column(draw)
    far = value(right_side_of_variance(), {"lo": lo, "hi": hi, "mu": mu[:, None]})
    width = (hi - lo)[np.argmin(np.abs(0.5 * (lo + hi) - mu[np.argmin(far)]))]
    gap = certain(variance.outer).upper - certain(variance.inner).upper
    return Drawn({"gap": gap, "w": float(width), "N": len(lo)}, zero=1e-11, attained=False)


def right_side_of_variance() -> str:
    """Return the printed function of mu whose minimum the equation takes."""
    return LARGEST.removeprefix("min_mu ")


def share_within(draw: np.random.Generator) -> Drawn:
    return drawn_share(draw, least=True)


def share_that_meets(draw: np.random.Generator) -> Drawn:
    return drawn_share(draw, least=False)


def drawn_share(draw: np.random.Generator, *, least: bool) -> Drawn:
    boxes, values = int(draw.integers(1, 30)), int(draw.integers(2, 7))
    sets, mask = drawn_sets(draw, boxes, values), drawn_sets(draw, 1, values)[0]
    counts = draw.integers(1, 9, boxes).astype(np.float64)
    members = members_of(sets_of_values(sets, attained=False), mask, counts)
    made = certain(share_range(members, mass_of(counts)).outer)
    names = {"c": counts, "N": counts.sum(), "within": (sets <= mask).all(axis=1), "meets": (sets & mask).any(axis=1)}
    return Drawn(names, made.lower if least else made.upper)


def cost_of_a_set(draw: np.random.Generator) -> Drawn:
    """Of a statistic of any influences, in the box of one record."""
    values, records = int(draw.integers(2, 9)), int(draw.integers(1, 50))
    b, inside = draw.normal(size=values), drawn_sets(draw, 1, values)
    boxes = boxes_of(np.empty((1, 0)), np.empty((1, 0)), np.array([1]), (inside,))
    charges = Sides([np.zeros(values)], [[b]], np.empty((0, 0)), np.empty(0), [], [])
    return Drawn({"b_v": b[inside[0]], "N": records}, nominal_uncertainty(charges, boxes, np.array([1.0 / records])))


def nominal_records(draw: np.random.Generator) -> ChargedRecords:
    """One column of numbers, and one of values."""
    records, values = int(draw.integers(20, 200)), int(draw.integers(2, 7))
    x = draw.normal(size=(records, 1))
    codes = np.minimum(draw.geometric(draw.uniform(0.2, 0.8), records) - 1, values - 1).astype(np.int32)
    k = int(draw.integers(2, 6))
    share = np.full(records, 1.0 / records)
    return ChargedRecords(x, (NominalColumn(codes, values),), share, moments(x), k / records)


def natural_scale(draw: np.random.Generator) -> Drawn:
    given = nominal_records(draw)
    column = given.nominal[0]
    p = np.bincount(column.codes, minlength=column.values) / len(given.x)
    omega = sides((Statistic("share", (1,)),), given).omega[0]
    return Drawn({"p": np.clip(p, given.least, 1.0 - given.least), "omega_v": np.array(omega)})


def cost_of_shares(draw: np.random.Generator) -> Drawn:
    """Of shares of every value, in the box of one record that leaves several values."""
    given = nominal_records(draw)
    charges = sides((Statistic("share", (1,)),), given)
    inside = drawn_sets(draw, 1, given.nominal[0].values)
    inside[0, :2] = True
    boxes = boxes_of(np.empty((1, 0)), np.empty((1, 0)), np.array([1]), (inside,))
    names = {"omega_v": np.array(charges.omega[0])[inside[0]], "N": len(given.x)}
    return Drawn(names, nominal_uncertainty(charges, boxes, np.array([1.0 / len(given.x)])))


def certainty_penalty(draw: np.random.Generator) -> Drawn:
    """Of a column of numbers and one of values, by the weights of the page."""
    given = nominal_records(draw)
    records, values = len(given.x), given.nominal[0].values
    reach, half = float(np.ptp(given.x)), draw.lognormal(-1.0, 1.0, (records, 1))
    inside = drawn_sets(draw, records, values)
    boxes = boxes_of(given.x - half, given.x + half, np.ones(records, dtype=np.int64), (inside,))
    field = influences((Statistic("mean", (0,), 1.0 / reach),), given.at)
    charges = sides((Statistic("share", (1,), 1.0 / values),), given)
    delta = float(field.omega @ record_delta(field, given.x, boxes, 0, records))
    delta += nominal_uncertainty(charges, boxes, np.full(records, 1.0 / records))
    size = inside.sum(axis=1)
    penalty = [(2.0 * half / reach).mean(), np.where(size > 1, size / values, 0.0).mean()]
    return Drawn({"Delta": delta, "NCP": np.array(penalty)}, close=1e-6)


def greatest_whole_number(draw: np.random.Generator) -> Drawn:
    """Of a half-open cell, whose end may be whole itself."""
    lower = draw.uniform(-50.0, 50.0, (9, 1))
    upper = lower + draw.uniform(1.0, 9.0, (9, 1))
    upper[:4] = np.ceil(upper[:4])
    boxes = boxes_of(lower, upper, np.ones(9, dtype=np.int64))
    made = on_grid(boxes, (NumericColumn(step=1.0),), np.array([1e9]))
    return Drawn({"hi": upper[:, 0]}, made.upper[:, 0])


def spread_inside(draw: np.random.Generator) -> Drawn:
    """The largest variance within the only box, of which the mean is known."""
    m, c = float(draw.normal(0.0, 5.0)), int(draw.integers(2, 30))
    top = m + float(draw.lognormal())
    names: dict[str, float] = {"m": m, "w": top - m, "c": c, "mu": float(draw.uniform(m, top))}
    for start in ("s =", "q =", "r ="):
        names[start.removesuffix(" =")] = value(right_side(start), names)
    mean = np.array([names["mu"]])
    made = content_column(np.array([m]), np.array([top]), (mean, mean), np.array([float(c)]))
    return Drawn(names, certain(made.column.variance.outer).upper, close=1e-6, zero=1e-9)


def interval_of_a_sum(draw: np.random.Generator) -> Drawn:
    """Whole numbers whose sums are far from what they can be at least and at most, in a narrow and another box."""
    w, rho, c = np.array([1, int(draw.integers(2, 12))]), int(draw.integers(1, 4)), 60
    x = np.concatenate([np.where(np.arange(c) < c // 2, 0.0, float(each)) for each in w])[:, None]
    boxes = boxes_of(np.zeros((2, 1)), w[:, None].astype(np.float64), np.array([c, c]))
    key = draw.integers(0, 2**32, (1, 8), dtype=np.uint32)
    made = mean_intervals(x, boxes, key, box_means="rounded", steps=(1.0,), attained=False, rounding=float(rho))
    sums = np.round((made.upper - made.lower)[:, 0] * c) + 1.0  # both ends are sums
    return Drawn({"rho": rho, "w": w}, sums)


def left_by_specifications(draw: np.random.Generator) -> Drawn:
    """Of the width of a box, on average over boxes, if all records but one are known."""
    m, count, c = int(draw.integers(1, 7)), 3000, 9
    low, width = 100.0 * np.arange(count), draw.uniform(1.0, 50.0, count)
    x = low[:, None] + width[:, None] * draw.uniform(size=(count, c))
    boxes = boxes_of(low[:, None], (low + width)[:, None], np.full(count, c))
    others = x[:, 1:].sum(axis=1)
    least, most = low, low + width
    for _ in range(m):
        key = draw.integers(0, 2**32, (1, 8), dtype=np.uint32)
        made = mean_intervals(x.reshape(-1, 1), boxes, key, box_means="rounded", steps=(None,), attained=False)
        least = np.maximum(least, made.lower[:, 0] * c - others)
        most = np.minimum(most, made.upper[:, 0] * c - others)
    left = (most - least) / width
    return Drawn({"m": m}, float(left.mean()), close=0.0, zero=5.0 * float(left.std()) / np.sqrt(count))


def median_place(draw: np.random.Generator) -> Drawn:
    """The place from below of the value that is left where more than half would be drawn in."""
    values = draw.permutation(int(draw.integers(1, 40))).astype(np.float64)
    return Drawn({"N": len(values)}, ends(values, int(draw.integers(40, 99)))[0] + 1.0)


def step_of_means(draw: np.random.Generator) -> Drawn:
    """Least distance between two means after rounding for decisions."""
    sigma = float(draw.lognormal(0.0, 2.0))
    means = np.unique([stepped(float(mean), sigma) for mean in draw.uniform(-3.0, 3.0, 200) * sigma])
    return Drawn({"sigma": sigma}, float(np.diff(means).min()))


def shown_changes(draw: np.random.Generator) -> None:
    """A box shows today's records where each sum over kept values is 0 or at least k."""
    k, boxes, kinds = int(draw.integers(2, 6)), 6, 3
    before = draw.integers(0, boxes, 40), draw.integers(0, kinds, 40)
    keep, more = draw.random(40) < draw.choice([0.5, 0.9, 1.0]), int(draw.choice([0, 1, 12]))
    came = draw.integers(0, boxes, more), draw.integers(0, kinds, more)
    today = np.append(before[0][keep], came[0]), np.append(before[1][keep], came[1])
    lower = np.arange(boxes, dtype=np.float64)[:, None]
    made = renewed(before, today, boxes=PublishedBoxes(lower, lower + 1.0, np.full(boxes, 9)), demands=Demanded(k))
    for box in range(boxes):
        n, m = (np.bincount(kept[place == box], minlength=kinds) for place, kept in (before, today))
        sums = [float(np.sum(value(printed(each), {"m": m, "n": n}))) for each in CHANGES]
        shown = all(each == 0 or each >= k for each in sums)
        assert (made.today[today[0] == box] == shown).all()
        assert (made.before[before[0] == box] == (not shown)).all()


def chance_of_the_right_record(draw: np.random.Generator) -> Drawn:
    """Of distinct values, some box of which has k records."""
    k = int(draw.integers(2, 12))
    size = np.diff(parts(draw.normal(size=(k * int(draw.integers(2, 20)), 2)), k).starts)
    return Drawn({"k": k}, prosecutor(size, size, 0.2).highest)


CHANGES: Final = ("max(m - n, 0)", "max(n - m, 0)", "min(m, n)")
LARGEST: Final = "min_mu mean max((lo - mu)^2, (hi - mu)^2)"
EVALUATED: Final[Evaluated] = {
    "(rho_med / rho)^(1/n)": rare_by_density,
    LARGEST: largest_variance,
    "gap <= (w / (2N))^2": gap_of_variance,
    "floor((N + 1) / 2)": median_place,
    "1/2 (max_S b_v - min_S b_v) / N": cost_of_a_set,
    "1/2 sum_{v in S} omega_v / N": cost_of_shares,
    "Delta = 1/2 sum_columns NCP": certainty_penalty,
    "omega_v = 1/sqrt(p (1 - p))": natural_scale,
    "sum c 1(S within A) / N": share_within,
    "sum c 1(S meets A) / N": share_that_meets,
    "ceil(hi) - 1": greatest_whole_number,
    "(q w^2 + r^2)/c - (mu - m)^2": spread_inside,
    "rho max(2w, w + 1)": interval_of_a_sum,
    "2/(m + 2)": left_by_specifications,
    "sigma / 4": step_of_means,
    "1/k": chance_of_the_right_record,
}
#: Equations that are one computation together; of those of changes two have a number.
TOGETHER: Final = {CHANGES[:2]: shown_changes}
