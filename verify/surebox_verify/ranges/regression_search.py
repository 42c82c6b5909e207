"""The search for a certain bound of one regression coefficient: what no data can have is refuted, cone by cone.

Notation
--------
z = (1, x_1 .. x_q), y : regressors and target.  M : (n, n), n = q + 2, means of products in (1, y, x_1 .. x_q).
beta : coefficients; for all data that leave them defined  E[(lambda z)(y - beta z)] = 0  for every lambda        (1)
t, r, cone, corner, residual : ranges.cones.

1. Refute: if for some lambda the mean in (1) is below 0 for all data and all beta of a cone, no data have their
   coefficients there. It is linear in beta: the corners are enough, and each is one pass over the boxes. lambda is
   chosen to keep the moments seen so far below 0 by the widest margin (ranges.separation).
2. Where no lambda does that, a mixture of these moments fits in the cone. If it has t >= r, no bound so low is possible
   (records divided among corners come as close to it as one likes): the search begins anew about it, with a larger r.
   Otherwise the cone is divided. When the passes allowed are spent, r is raised; refuted cones stay refuted.
   A cone that can be divided no more has a point too near for roundings: the search begins anew, with a larger r.

Whatever the boxes are, the search ends within _LAST times the passes it was allowed, and what one more cone takes. No
clock is looked at: the same boxes and allowance give the same bound.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IntArray
from surebox_verify.ranges.cones import DEEPEST, Cone, HalfSpace, half_space, raised
from surebox_verify.ranges.products import Products
from surebox_verify.ranges.regression_ascent import MOST, CoefficientEnd, Reached, Seen, climb
from surebox_verify.ranges.separation import nearest_to_origin

_TRIES = 8  # multipliers tried on a cone before it is divided
_FIRST, _NEXT = 0.5, 0.0625  # shares of the passes before the tolerance is widened, first and again
_LAST = 1.5  # of the passes: the first and all widenings
_WIDER = 2.0
_CLOSE = 0.5  # of the tolerance below r: no bound much below r is possible
_WIDENED = 16  # times
_ROUNDINGS = 8.0
_LEAST = 1e-140  # added to lengths, so that the squares of values divided by them are numbers
_LOOSE = 1e4  # times the variance of a coefficient that predictors at the boxes' centres would give


@dataclass(frozen=True)
class End:
    """Bound of t.

    Attributes
    ----------
    certain : None where none was proven.
    reached : by some data.
    noise : what roundings alone may add to the first.
    passes : over the boxes, spent on it.
    """

    certain: float | None
    reached: float
    noise: float
    passes: int


def certain_end(
    products: Products, objective: CoefficientEnd, reached: Reached, seen: Seen, tolerance: float, passes: int
) -> Generator[int, None, End]:
    """Certain upper bound of t over all data consistent with the boxes; yields passes as they are made.

    Parameters
    ----------
    products, objective : the boxes, and the end that is bounded.
    reached : what the ascent reached.
    seen : moments met; takes in points met here.
    tolerance : how far above the reached range the bound may stay, in t's unit.
    passes : over the boxes, to spend; 0 for none. Never more than 1.5 times as many are made, and q + 16.

    Notes
    -----
    XK slide 3; science.md section 1, "Guaranteed ranges": outer by branch and bound. O(B q passes).
    """
    space = half_space(reached.moments, objective.index, objective.sign, objective.references, reached.value)
    if space is None or passes <= 0:
        return End(None, reached.value, 0.0, 0)
    noise = _ROUNDINGS * _noise(products, space)
    search = _Search(products, objective, reached, seen)
    certain = yield from search.run(max(tolerance, noise), passes)
    return End(certain, search.reached, noise, search.passes)


def _noise(products: Products, space: HalfSpace) -> float:
    """How far t must rise beyond the range reached for roundings not to hide it."""
    along, apex = space.residuals[-1], space.residuals[0]
    error = products.rounding(along, apex, space.off[0])
    return space.rise * error / (products.mass.middle * float(space.lengths(along[None])[0]) ** 2)


@dataclass(frozen=True)
class _Open:
    """What keeps a cone open: how much each corner takes part, (q + 2,), and the mixture of moments that fits."""

    hold: FloatArray
    mixture: FloatArray


class _Search:
    """The cones still open, the range reached so far, and the passes spent."""

    def __init__(self, products: Products, objective: CoefficientEnd, reached: Reached, seen: Seen) -> None:
        self._products, self._objective, self._seen = products, objective, seen
        self.reached = reached.value
        self._floor = reached  # no bound below its value is possible
        self._space: HalfSpace
        self._open: list[Cone] = []
        self._steps = 0.0
        self._loose = _LOOSE * objective.looseness(products.centres)
        self._most = math.inf
        self.passes = 0

    def run(self, tolerance: float, passes: int) -> Generator[int, None, float | None]:
        """Refute, divide, raise and begin anew until no cone is open; the certain range, None where one stays open."""
        self._begin(tolerance)
        allowed, widened = _FIRST * passes, 0
        self._most = _LAST * passes
        while self._open:
            if self._is_loose() or self.passes >= self._most:
                return None
            cone = self._open.pop()
            check = yield from self._checked(cone)
            if check is None:
                continue
            self._open.append(cone)
            if (yield from self._reaches(check.mixture, tolerance)):
                if self.passes < _FIRST * passes:
                    self._begin(tolerance)
                else:
                    self._raise(tolerance)
            elif self.passes > allowed or cone.depth == DEEPEST:
                if widened == _WIDENED:
                    return None
                tolerance, widened, allowed = tolerance * _WIDER, widened + 1, self.passes + _NEXT * passes
                if cone.depth < DEEPEST:
                    self._raise(tolerance)
                else:
                    self._begin(tolerance)
            else:
                self._open[-1:] = self._above(self._space.halves(cone, check.hold))
        return self._space.value(self._steps)

    def _is_loose(self) -> bool:
        """Whether the boxes allow predictors that are all but collinear: then there is no use in going on."""
        return self._objective.looseness(self._floor.moments) > self._loose

    def _begin(self, tolerance: float) -> None:
        """Cover the half-space a tolerance above the floor by cones about what has it."""
        objective, r = self._objective, self._floor.value + tolerance
        space = half_space(self._floor.moments, objective.index, objective.sign, objective.references, r)
        if space is not None:
            self._space, self._open, self._steps = space, list(space.cones()), 0.0

    def _raise(self, tolerance: float) -> None:
        """Let the half-space begin a tolerance above the floor."""
        steps = self._space.steps(self._floor.value + tolerance - self._space.r)
        if steps > self._steps:
            self._steps = steps
            self._open = self._above(self._open)

    def _above(self, cones: list[Cone]) -> list[Cone]:
        """What cones need to cover of the half-space."""
        return [left for cone in cones if (left := raised(cone, self._steps)) is not None]

    def _checked(self, cone: Cone) -> Generator[int, None, _Open | None]:
        """Yields passes; None where the cone is refuted; else what keeps it open."""
        residuals, off = self._space.residuals_of(cone.corners)
        scaled = residuals / self._space.lengths(residuals)[:, None]
        multipliers = self._space.multipliers
        for _ in range(_TRIES):
            self.passes += 1  # finding a multiplier costs about as much
            yield 1
            seen = self._seen.moments
            vectors = (multipliers @ (seen @ scaled.T)).transpose(0, 2, 1).reshape(-1, len(multipliers))
            sizes = np.sqrt(np.einsum("ji,ji->j", vectors, vectors)) + _LEAST
            nearest = nearest_to_origin(vectors / sizes[:, None])
            hold = (nearest.weights / sizes).reshape(len(seen), -1)
            if not nearest.point.any():
                break
            margins = (vectors @ nearest.point).reshape(len(seen), -1).min(axis=0)
            before = self.passes
            refuted = self._all_below(-nearest.point @ multipliers, residuals, off, np.argsort(margins))
            yield self.passes - before
            if refuted:
                return None
            if self.passes >= self._most:
                break
        weights = hold.sum(axis=1)
        return _Open(hold.sum(axis=0), np.tensordot(weights / weights.sum(), seen, axes=1))

    def _all_below(self, multiplier: FloatArray, residuals: FloatArray, off: FloatArray, order: IntArray) -> bool:
        """Whether (1) is certainly below 0 at all corners; moments that state otherwise are taken in."""
        for corner in order:
            self.passes += 1
            touched = self._products.largest(multiplier, residuals[corner], off[corner])
            if not touched.bound < 0.0:
                self._seen.add(self._products.moments(touched))
                return False
        return True

    def _reaches(self, mixture: FloatArray, tolerance: float) -> Generator[int, None, bool]:
        """Yields passes; whether a mixture of moments raises the floor; and with it, perhaps, the reached range."""
        value = self._objective.value(mixture)
        if not value > self._space.value(self._steps) - _CLOSE * tolerance:
            return False
        reached = climb(self._products, self._objective, mixture, self._seen)
        self.passes += MOST
        yield MOST
        self.reached = max(self.reached, reached.value)
        self._floor = reached if reached.value > max(value, self._floor.value) else Reached(value, mixture)
        return True
