"""Where to put the next plane: slopes that lower the bound at given means.

Notation
--------
X, Y : the means where a plane is wanted.
H(X, Y) : the largest E[g] of data with these means, records divided at will: concave, and the plane wanted is that of
    slopes p, q = dH/dX, dH/dY.
(X_j, Y_j, H_j) : means and E[g] of the data that touch plane j; points of the surface H, or below it.

Between three such points around (X, Y) the surface is at least their facet; the highest facet's slopes are the choice
of Kelley's cutting planes, exact where H is made of facets (few boxes decide) and a secant step where it is smooth.
Outside of all points: a Newton step from the nearest one, twice as far each time that point is used.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray

_NEAREST = 24


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
