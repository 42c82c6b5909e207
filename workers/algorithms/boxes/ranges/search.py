"""The search for a narrow certain bound: data that reach much, planes where the bound is still high.

Notation
--------
f, r, excess, tau : ranges.objectives.  Planes, p, q, phi : ranges.forms.  X, Y, L, h_j, cells : ranges.means.

1. Climb: the plane whose slopes are g's at the means of some data touches better data; repeated, this converges fast,
   because records change corners in few boxes only. What is reached bounds the range from inside.
2. Bound: r a little above that, branch and bound over the means and tau proves that nothing exceeds r. Where the bound
   is highest, the next plane is aimed by a Newton step. Every plane is certain, however it was aimed; when the planes
   allowed are spent, what the open cells leave is added to r.

The excess falls off steeply around the optimum's means when boxes are narrow, so few planes suffice.
"""

import math
from dataclasses import dataclass

from workers.algorithms.boxes.ranges.forms import Form, Moments, Pair, Plane, plane
from workers.algorithms.boxes.ranges.means import OpenCells, Peak
from workers.algorithms.boxes.ranges.objectives import Objective

_CLIMB = 8
_SETTLED = 1e-3  # of the gain so far
_PUSH = 2.5  # slopes, in deviations of g's derivative, that push a mean through its range: a guess that aims
_SHARE = 0.4  # of the planes left, for an attempt to prove an r; at least _FEW
_FEW = 12
_WIDER = 8.0  # tolerance of the next attempt, in units of the last


@dataclass(frozen=True)
class Reached:
    """What f reaches at some data consistent with the boxes."""

    value: float
    at: Moments

    def better(self, objective: Objective, at: Moments) -> "Reached":
        """Whichever data reach more."""
        value = objective.value(at)
        return Reached(value, at) if value > self.value else self


def climb(pair: Pair, objective: Objective, start: Moments) -> Reached:
    """Ascend from some data to better data.

    Parameters
    ----------
    pair, objective : what is asked.
    start : moments of data consistent with the boxes, f defined there.

    Notes
    -----
    science.md section 1, "inner by alternating vertex ascent", both columns at once. O(B) for each of a few planes.
    """
    first = best = Reached(objective.value(start), start)
    here = start
    for _ in range(_CLIMB):
        form = objective.form(objective.reference(objective.value(here)), objective.ratio(here))
        here = plane(pair, form, *form.slopes(here.x, here.y)).touched
        before, best = best, best.better(objective, here)
        if best.value - before.value <= _SETTLED * (best.value - first.value):
            break
    return best


def bound(pair: Pair, objective: Objective, found: Reached, tolerance: float, most: int) -> tuple[float, Reached]:
    """Certain upper bound of f over all data consistent with the boxes.

    Parameters
    ----------
    pair, objective : what is asked.
    found : what was reached.
    tolerance : how far above that the bound may stay, in f's unit.
    most : planes to spend, at least 1. O(B) each.

    Returns
    -------
    float, Reached
        The bound; and the best data met.
    """
    least, best, left = math.inf, found, most
    if most < 2 * _FEW:
        tolerance *= _WIDER * _WIDER
    while left > 0:
        r = objective.reference(found.value + tolerance)
        if r >= least:
            break
        planes = left if left < 2 * _FEW else max(int(_SHARE * left), _FEW)
        excess, best = _excess(pair, objective, r, best, planes)
        least = min(least, objective.bound(r, excess))
        left, tolerance = left - planes, tolerance * _WIDER
    return least, best


def _excess(pair: Pair, objective: Objective, r: float, best: Reached, most: int) -> tuple[float, Reached]:
    """Certain bound of the excess over r, and the best data met."""
    columns = (pair.x.scaled_mean, pair.y.scaled_mean)
    bend = objective.bend(r)
    cells = OpenCells(*columns, objective.tau, bend=bend, offset=objective.offset(r), most=most)
    tau = objective.ratio(best.at)
    form = objective.form(r, tau)
    push = _push(pair, form, best.at)
    p, q = form.slopes(best.at.x, best.at.y)
    planes: list[tuple[Plane, float]] = []
    while True:
        form = objective.form(r, tau)
        new = plane(pair, form, _within(p, 2.0 + 4.0 * abs(form.a)), _within(q, 2.0 + 4.0 * abs(form.b)))
        planes.append((new, math.log(tau)))
        cells.add(*planes[-1])
        best = best.better(objective, new.touched)
        peak = cells.refine()
        if peak is None or len(planes) == most:
            return cells.bound, best
        near = _nearest(pair, planes, peak, objective)
        p, q = near.p + push[0] * (near.touched.x - peak.x), near.q + push[1] * (near.touched.y - peak.y)
        tau = objective.tau.clip(math.exp(peak.log_tau)) if bend > 0.0 else objective.ratio(near.touched)


def _within(slope: float, limit: float) -> float:
    """A slope no steeper than any that changes corners."""
    return min(max(slope, -limit), limit)


def _push(pair: Pair, form: Form, at: Moments) -> tuple[float, float]:
    """How far a slope moves for a mean to move by 1, roughly."""
    by_x = at.yy + 4.0 * form.a * (form.a * at.xx + form.s * at.xy)
    by_y = at.xx + 4.0 * form.b * (form.b * at.yy + form.s * at.xy)
    return (
        _PUSH * math.sqrt(max(by_x, 0.0)) / max(pair.x.scaled_mean.width, 1e-12),
        _PUSH * math.sqrt(max(by_y, 0.0)) / max(pair.y.scaled_mean.width, 1e-12),
    )


def _nearest(pair: Pair, planes: list[tuple[Plane, float]], peak: Peak, objective: Objective) -> Plane:
    """The plane that touches nearest to where one is wanted, each range taken as 1."""
    x, y = (max(column.scaled_mean.width, 1e-300) for column in (pair.x, pair.y))
    logs = max(math.log(objective.tau.upper) - math.log(objective.tau.lower), 1e-300)
    if peak.log_tau == 0.0 and objective.bend(1.0) == 0.0:
        logs = math.inf

    def distance(each: tuple[Plane, float]) -> float:
        at = each[0].touched
        return ((at.x - peak.x) / x) ** 2 + ((at.y - peak.y) / y) ** 2 + ((each[1] - peak.log_tau) / logs) ** 2

    return min(planes, key=distance)[0]
