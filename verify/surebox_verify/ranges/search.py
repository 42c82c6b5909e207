"""The search for a narrow certain bound: data that reach much, planes where the bound is still high.

Notation
--------
f, r, excess, tau : ranges.objectives.  Planes, p, q, phi : ranges.forms.  X, Y, L, h_j, cells : ranges.means.
H(X, Y) : the largest E[g] of data with these means, records divided at will: concave, and the plane wanted at X, Y is
    that of slopes p, q = dH/dX, dH/dY.
(X_j, Y_j, H_j) : means and E[g] of the data that touch plane j; points of the surface H, or below it.

1. Climb: the plane whose slopes are g's at the means of some data touches better data; repeated, this converges fast,
   because records change corners in few boxes only. The reached range bounds the range from inside.
2. Bound: r a little above that, branch and bound over the means and tau proves that nothing exceeds r. Where the bound
   is highest, the next plane is aimed by a Newton step. Every plane is certain, however it was aimed; when the planes
   allowed are spent, what the open cells leave is added to r.

The work is bounded for any boxes: _CLIMB planes for a climb, the planes allowed for a bound, and between two planes
what ranges.means allows itself. No clock is looked at: the same boxes and allowance give the same bound.

Aiming: between three such points around (X, Y) the surface is at least their facet; the highest facet's slopes are the
choice of Kelley's cutting planes, exact where H is made of facets (few boxes decide) and a secant step where it is
smooth. Outside of all points: a Newton step from the nearest one, twice as far each time that point is used.

The excess falls off steeply around the optimum's means when boxes are narrow, so few planes suffice.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray
from surebox_verify.ranges.forms import Form, Moments, Pair, Plane, plane
from surebox_verify.ranges.guaranteed import Ends
from surebox_verify.ranges.means import OpenCells, Peak
from surebox_verify.ranges.objectives import Objective
from surebox_verify.ranges.splits import decisive, divided

_CLIMB = 8
_SETTLED = 1e-3  # of the gain so far
_PUSH = 2.5  # slopes, in deviations of g's derivative, that push a mean through its range: a guess that aims
_SHARE = 0.4  # of the planes left, for an attempt to prove an r; at least _FEW
_SAME = 1e-3  # squared distance, in units of the ranges, of places taken as one
_FEW = 12
_PROMISING = 4
_STEPS = (1.0, 0.4, 2.5, 0.16, 6.0, 0.06, 15.0)  # of Newton's step, one after the other from the same plane
_WIDER = 4.0  # tolerance of the next attempt, in units of the last
_NEAREST = 24


@dataclass(frozen=True)
class Reached:
    """What f reaches at some data consistent with the boxes."""

    value: float
    at: Moments

    def better(self, objective: Objective, at: Moments) -> "Reached":
        """Whichever data reach more."""
        value = objective.value(at)
        return Reached(value, at) if value > self.value else self


@dataclass(frozen=True)
class _Aimed:
    """A plane, the tau of its tangent, and the places that were aimed at from it."""

    plane: Plane
    log_tau: float
    targets: list[Peak]

    def tries(self, peak: Peak, pair: Pair, objective: Objective) -> int:
        """How often this place, or one close by, was aimed at before; counts this time."""
        units = _units(pair, objective)
        close = sum(_apart((t.x, t.y, t.log_tau), peak, units) < _SAME for t in self.targets)
        self.targets.append(peak)
        return close


def climb(pair: Pair, objective: Objective, start: Moments) -> Generator[int, None, Reached]:
    """Ascend from some data to better data; yields 1 for each plane.

    Parameters
    ----------
    pair, objective : two columns, and the end of their range.
    start : moments of data consistent with the boxes, f defined there.

    Notes
    -----
    science.md section 1, "Guaranteed ranges": inner by alternating vertex ascent, both columns at once. O(B) for each
    of _CLIMB planes at most.
    """
    first = best = Reached(objective.value(start), start)
    here = start
    for _ in range(_CLIMB):
        form = objective.form(objective.reference(objective.value(here)), objective.ratio(here))
        here = plane(pair, form, *form.slopes(here.x, here.y)).touched
        yield 1
        before, best = best, best.better(objective, here)
        if best.value - before.value <= _SETTLED * (best.value - first.value):
            break
    return best


def bound(
    pair: Pair, objective: Objective, reached: Reached, tolerance: float, most: int
) -> Generator[int, None, Ends]:
    """Certain upper bound of f over all data consistent with the boxes; yields 1 for each plane.

    Parameters
    ----------
    pair, objective : two columns, and the end of their range.
    reached : what the ascent reached.
    tolerance : how far above that the bound may stay, in f's unit.
    most : planes to spend, at least 1; never more are made. O(B) each.

    Returns
    -------
    Ends
        The bound, and the range reached while looking for it.
    """
    least, left = math.inf, most
    planes: list[_Aimed] = []
    if most < 2 * _FEW:
        tolerance *= _WIDER * _WIDER
    while left > 0:
        r = objective.reference(reached.value + tolerance)
        if r >= least:
            break
        allowed = left if left < 2 * _FEW else max(int(_SHARE * left), _FEW)
        excess, newest = yield from _excess(pair, objective, r, reached.at, allowed)
        least = min(least, objective.bound(r, excess))
        planes += newest
        left, tolerance = left - len(newest), tolerance * _WIDER
    return Ends(least, max(reached.value, _divided(pair, objective, planes)))


def _divided(pair: Pair, objective: Objective, planes: list[_Aimed]) -> float:
    """What the most promising planes' data reach with a few boxes divided."""
    best = sorted(planes, key=lambda each: objective.value(each.plane.touched))[-_PROMISING:]
    if pair.within is not None:
        return objective.value(best[-1].plane.touched)
    boxes = decisive(pair)
    return max(divided(pair, objective, each.plane, boxes) for each in [*best, *planes[-_PROMISING:]])


def _excess(
    pair: Pair, objective: Objective, r: float, at: Moments, most: int
) -> Generator[int, None, tuple[float, list[_Aimed]]]:
    """Certain bound of the excess over r, and the planes that prove it."""
    bend = objective.bend(r)
    cells = OpenCells(
        pair.x.scaled_mean, pair.y.scaled_mean, objective.tau, bend=bend, offset=objective.offset(r), most=most
    )
    tau = objective.ratio(at)
    form = objective.form(r, tau)
    push = _push(pair, form, at)
    p, q = form.slopes(at.x, at.y)
    planes: list[_Aimed] = []
    places = np.empty((most, 3))
    while True:
        form = objective.form(r, tau)
        new = plane(pair, form, _within(p, 2.0 + 4.0 * abs(form.a)), _within(q, 2.0 + 4.0 * abs(form.b)))
        log_tau = math.log(tau)
        places[len(planes)] = new.touched.x, new.touched.y, log_tau
        planes.append(_Aimed(new, log_tau, []))
        yield 1
        cells.add(new, log_tau)
        peak = cells.refine()
        if peak is None or cells.spent or len(planes) == most:
            return cells.bound, planes
        near = planes[_nearest(places[: len(planes)], peak, _units(pair, objective))]
        at = near.plane.touched
        tau = objective.tau.clip(math.exp(peak.log_tau)) if bend > 0.0 else objective.ratio(at)
        form = objective.form(r, tau)
        tries = near.tries(peak, pair, objective)
        top = facet(_surface(planes, form), peak.x, peak.y, _sides(pair)) if tries else None
        if top is not None:
            if top.height - form.at(peak.x, peak.y) - objective.offset(r) > cells.closed:
                return cells.bound, planes  # divided data exceed r here: no plane can prove otherwise
            p, q = top.p, top.q
        else:
            times = _STEPS[tries % len(_STEPS)]
            p = near.plane.p + times * push[0] * (at.x - peak.x)
            q = near.plane.q + times * push[1] * (at.y - peak.y)


def _surface(planes: list[_Aimed], form: Form) -> FloatArray:
    """Means and E[g] of the data that touch the planes, (M, 3)."""
    touched = np.array([(t.x, t.y, t.xx, t.yy, t.xy) for t in (each.plane.touched for each in planes)])
    x, y, xx, yy, xy = touched.T
    height = form.s * (xy + x * y) + form.a * (xx + x * x) + form.b * (yy + y * y)
    return np.column_stack([x, y, height])


def _sides(pair: Pair) -> tuple[float, float]:
    return max(pair.x.scaled_mean.width, 1e-300), max(pair.y.scaled_mean.width, 1e-300)


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


def _nearest(places: FloatArray, peak: Peak, units: tuple[float, float, float]) -> int:
    """Which of the places where planes touch, (M, 3), is nearest to where one is wanted; the first of equals."""
    apart = (places - (peak.x, peak.y, peak.log_tau)) / units
    return int(np.argmin(np.square(apart).sum(axis=1)))


def _units(pair: Pair, objective: Objective) -> tuple[float, float, float]:
    """The ranges of both means and, where planes depend on it, of log tau: the units of distance."""
    logs = math.log(objective.tau.upper) - math.log(objective.tau.lower)
    return (*_sides(pair), max(logs, 1e-300) if objective.bend(1.0) > 0.0 else math.inf)


def _apart(place: tuple[float, float, float], peak: Peak, units: tuple[float, float, float]) -> float:
    """Squared distance of a place from a peak."""
    by_x, by_y = (place[0] - peak.x) / units[0], (place[1] - peak.y) / units[1]
    by_tau = (place[2] - peak.log_tau) / units[2]
    return by_x**2 + by_y**2 + by_tau**2


@dataclass(frozen=True)
class Facet:
    """The highest facet over (X, Y): its height there, and its slopes."""

    height: float
    p: float
    q: float


def facet(points: FloatArray, x: float, y: float, sides: tuple[float, float]) -> Facet | None:
    """The highest facet of the nearest points around (X, Y), None where none surrounds it.

    Parameters
    ----------
    points : (M, 3), X_j, Y_j and H_j.
    x, y : where.
    sides : units of distance along X and Y.
    """
    distance = ((points[:, 0] - x) / sides[0]) ** 2 + ((points[:, 1] - y) / sides[1]) ** 2
    if len(points) > _NEAREST:
        points = points[np.argpartition(distance, _NEAREST)[:_NEAREST]]
    scaled = np.column_stack([(points[:, 0] - x) / sides[0], (points[:, 1] - y) / sides[1], points[:, 2]])
    exists, height, p, q = _highest(scaled)
    return Facet(height, p / sides[0], q / sides[1]) if exists else None


@kernel
def _highest(points: FloatArray) -> tuple[bool, float, float, float]:
    """Highest facet above the origin."""
    exists, best, p, q = False, -np.inf, 0.0, 0.0
    for i in range(len(points)):
        for j in range(i):
            ux, uy = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
            for k in range(j):
                vx, vy = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1]
                area = ux * vy - uy * vx
                if abs(area) < 1e-12:
                    continue
                along_u = (points[i, 1] * vx - points[i, 0] * vy) / area
                along_v = (points[i, 0] * uy - points[i, 1] * ux) / area
                if along_u < 0.0 or along_v < 0.0 or along_u + along_v > 1.0:
                    continue
                rise_u, rise_v = points[j, 2] - points[i, 2], points[k, 2] - points[i, 2]
                height = points[i, 2] + along_u * rise_u + along_v * rise_v
                if height > best:
                    exists, best = True, height
                    p, q = (rise_u * vy - rise_v * uy) / area, (rise_v * ux - rise_u * vx) / area
    return exists, best, p, q
