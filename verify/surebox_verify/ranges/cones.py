"""Cones that together cover all regression coefficients beyond a value, and their division.

Notation
--------
beta : (q + 1,), coefficients of z = (1, x_1 .. x_q), the intercept first.  t : the one requested, or its negative.
r : the half-space is all beta with t >= r.
apex : a beta with t = r.  d_1 .. d_D : directions in which t rests.  tau : a direction in which t rises.
corner : (D + 2,), how much of apex, d_1 .. d_D and tau; never negative. A point if the apex counts, else a direction.
cone : (q + 2, D + 2), its corners: all their nonnegative combinations in which the apex counts 1.
residual : (n,), n = q + 2, the combination of (1, y, x_1 .. x_q) that belongs to a corner, y - beta z of a point and
    -d z of a direction; linear in the corner.
unit : residuals of length 1 have mean square 1 at the data of reference; apex, d_k and tau have the same length.

With few predictors the d are both ways along q axes, and the cones of apex, tau and one way along each are the orthants
about tau; with many they point to the corners of a simplex, and each cone lacks one. Either way the cones cover the
half-space, and a cone is the two that its division leaves. What is meant by a corner is exact; its numbers, sums of
positive ones, are so but for a few roundings at each division.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, up
from surebox_core.types import FloatArray, IntArray

DEEPEST = 40
_BALANCE = 1e-3  # what an edge counts for dividing whose ends are not in each other's way
_STEEPEST = 1e10  # condition of the predictors' moments beyond which they are taken as collinear
_LEAST = 1e-7  # of the target's deviation: length of directions where the residual vanishes
_FINEST = 2.0**-30
_ORTHANTS = 5  # dimensions up to which there are few
_AFTER = 2.0**-40  # relative error of a corner's numbers after all divisions, at most


@dataclass(frozen=True)
class Cone:
    """One of the cones: its corners, and how often it was divided."""

    corners: FloatArray
    depth: int


@dataclass(frozen=True)
class HalfSpace:
    """All coefficients with t >= r.

    Attributes
    ----------
    residuals : (D + 2, n), of apex, d_1 .. d_D and tau.
    faces : (F, q), the directions of each cone, counted from 1.
    off : (D + 2, n), how far each number of `residuals` may be from what is meant.
    metric : (n, n), moments of the data of reference.
    multipliers : (q + 1, n), combinations of (1, x_1 .. x_q) that are orthonormal at the data of reference.
    r : t of the apex.
    rise : how much t rises along tau.
    """

    residuals: FloatArray
    faces: IntArray
    off: FloatArray
    metric: FloatArray
    multipliers: FloatArray
    r: float
    rise: float

    def residuals_of(self, corners: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Residuals of corners, (c, n), and how far each number may be from what is meant, at most."""
        rounding = (4.0 * (len(self.residuals) + 2) + 4.0 * DEEPEST) * UNIT_ROUNDOFF
        off = corners @ (self.off + rounding * np.abs(self.residuals)) * (1.0 + rounding)
        return corners @ self.residuals, off

    def lengths(self, residuals: FloatArray) -> FloatArray:
        """Lengths of residuals, (c,)."""
        return np.asarray(np.sqrt(np.maximum(np.einsum("ci,ij,cj->c", residuals, self.metric, residuals), 1e-300)))

    def cones(self) -> Iterator[Cone]:
        """The cones that cover it, undivided."""
        every = np.eye(len(self.residuals))
        for face in self.faces:
            yield Cone(every[[0, *face, len(every) - 1]], 0)

    def halves(self, cone: Cone, hold: FloatArray) -> list[Cone]:
        """Divide a cone where its corners are far apart and hold each other in check.

        Parameters
        ----------
        cone : what to divide.
        hold : (q + 2,), how much each corner takes part.
        """
        residuals, _ = self.residuals_of(cone.corners)
        length = self.lengths(residuals)
        cosines = (residuals @ self.metric @ residuals.T) / np.outer(length, length)
        angles = np.arccos(np.clip(cosines, -1.0, 1.0))
        i, j = divmod(int(np.argmax(np.triu(angles * (np.sqrt(np.outer(hold, hold)) + _BALANCE), 1))), len(angles))
        scale = np.exp2(-np.rint(np.log2(length[[i, j]] / length.min())))  # powers of two: exact
        middle = 0.5 * (scale[0] * cone.corners[i] + scale[1] * cone.corners[j])
        halves = []
        for corner in (i, j):
            corners = cone.corners.copy()
            corners[corner] = middle
            halves.append(Cone(corners, cone.depth + 1))
        return halves

    def steps(self, by: float) -> float:
        """Steps along tau that raise t by so much or a little more."""
        return float(np.ceil(by / self.rise / _FINEST) * _FINEST)

    def value(self, steps: float) -> float:
        """Certain upper bound of t so many steps beyond the apex."""
        return up(self.r + up(up(steps * self.rise) * (1.0 + _AFTER)))


def raised(cone: Cone, steps: float) -> Cone | None:
    """What a cone needs to cover of the half-space so many steps beyond the apex; None for nothing.

    Notes
    -----
    Where all its points are below and tau is a corner, they go up along tau: all that is lost is below. Without a
    direction in which t rises nothing is left. Other cones stay as they are.
    """
    corners = cone.corners
    height = corners[:, -1] - steps * corners[:, 0]  # of directions, how much t rises
    points = corners[:, 0] > 0.0
    if (height[points] > 0.0).any():
        return cone
    rising = np.flatnonzero(height > 0.0)
    if len(rising) == 0:
        return None
    if len(rising) > 1 or corners[rising[0], :-1].any():
        return cone
    corners = corners.copy()
    corners[points, -1] = steps * corners[points, 0]
    return Cone(corners, cone.depth)


def regressors(moments: FloatArray) -> IntArray:
    """Places of (1, x_1 .. x_q) in moments (n, n) of (1, y, x_1 .. x_q)."""
    return np.delete(np.arange(len(moments)), 1)


def steep(moments: FloatArray) -> bool:
    """Whether the predictors are collinear as far as rounding lets one see, at given moments, (n, n)."""
    z = regressors(moments)
    return not np.linalg.cond(moments[np.ix_(z, z)]) < _STEEPEST


def half_space(moments: FloatArray, index: int, sign: float, references: FloatArray, t: float) -> HalfSpace | None:
    """All coefficients with beta_index (sign 1) at least t, or at most -t (sign -1); None for collinear predictors.

    Parameters
    ----------
    moments : (n, n), of the data of reference, in (1, y, x_1 .. x_q).
    index : 0 .. q, the coefficient; 0 is the intercept where all x are -`references`.
    sign : 1 or -1.
    references : (q,).
    t : where the half-space begins, but for roundings (`HalfSpace.r`).

    Notes
    -----
    All is written in theta = beta but for theta_0 = beta_0 - references beta_1 .. beta_q where the intercept is
    requested: then t is one of the coordinates throughout, and rests exactly in every d_k. O(q^3).
    """
    z = regressors(moments)
    to_beta = np.eye(len(z))
    if index == 0:
        to_beta[0, 1:] = references
    second = to_beta.T @ moments[np.ix_(z, z)] @ to_beta
    rest = np.delete(np.arange(len(z)), index)
    if steep(moments) or not np.linalg.cond(second) < _STEEPEST:
        return None
    theta = np.linalg.solve(second, to_beta.T @ moments[z, 1])
    length = np.sqrt(max(moments[1, 1] - theta @ (to_beta.T @ moments[z, 1]), _LEAST**2 * moments[1, 1], 1e-24))
    directions, faces = _fan(len(rest))
    generators = np.zeros((len(directions) + 2, len(z)))
    axes = np.linalg.inv(np.linalg.cholesky(second[np.ix_(rest, rest)]))
    generators[1:-1, rest] = length * directions @ axes
    tau = np.ones(len(z))
    tau[rest] = -np.linalg.solve(second[np.ix_(rest, rest)], second[rest, index])
    generators[-1] = sign * length / np.sqrt(tau @ second @ tau) * tau
    rise = float(sign * generators[-1, index])
    generators[0] = theta + (t - sign * theta[index]) / rise * generators[-1]
    residuals = np.zeros((len(generators), len(moments)))
    residuals[:, z] = -(generators @ to_beta.T)
    residuals[0, 1] = 1.0
    off = np.zeros_like(residuals)
    off[:, 0] = 4.0 * (len(z) + 2) * UNIT_ROUNDOFF * (np.abs(generators) @ np.abs(to_beta[0]))
    multipliers = np.zeros((len(z), len(moments)))
    multipliers[:, z] = np.linalg.inv(np.linalg.cholesky(moments[np.ix_(z, z)]))
    return HalfSpace(residuals, faces, off, moments, multipliers, float(sign * generators[0, index]), rise)


def _fan(dimensions: int) -> tuple[FloatArray, IntArray]:
    """Directions (D, dimensions) of length 1, and those of each cone (F, dimensions), counted from 1."""
    if dimensions <= _ORTHANTS:
        ways = [(2 * k + 1, 2 * k + 2) for k in range(dimensions)]
        both = np.asarray(np.kron(np.eye(dimensions), [[1.0], [-1.0]]), dtype=np.float64)
        return both, np.array(list(itertools.product(*ways)), dtype=np.int64)
    every = np.arange(1, dimensions + 2)
    return _simplex(dimensions), np.array([np.delete(every, k) for k in range(dimensions + 1)])


def _simplex(dimensions: int) -> FloatArray:
    """Corners of a regular simplex about the origin, (dimensions + 1, dimensions), each of length 1 (Helmert)."""
    k = np.arange(1, dimensions + 1)
    j = np.arange(dimensions + 1)[:, None]
    helmert = np.where(j < k, 1.0, np.where(j == k, -1.0 * k, 0.0)) / np.sqrt(k * (k + 1.0))
    return np.asarray(helmert * np.sqrt((dimensions + 1.0) / dimensions))
