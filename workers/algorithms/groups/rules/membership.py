"""Membership functions of linguistic terms: how far a value belongs to a fuzzy set.

Notation
--------
x : (N,), values of one variable, in its units.
points : what a term is made from, in the variable's units, in rising order (gaussian: sigma, centre).
mu(x) : (N,), grades in [0, 1].

TC, section "Input variables identification" (GAUSSMF, TRAPMF, PIMF) and (28) (ZMF). Departure, science.md section 2,
"Fuzzy model": where two points of a shoulder are equal the shoulder is vertical and *the end belongs to the set*; the
printed forms give 0 there (with pi(1, 1, 530, 630) the value 1 has grade 1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import FloatArray

_LARGEST: Final = 1e150  # beyond it differences of points could overflow


@dataclass(frozen=True)
class Term:
    """A fuzzy set over one variable.

    Attributes
    ----------
    shape : `gaussian`, `trapezoid`, `triangle`, `pi`, `s`, `z` or `range`.
    points : gaussian (sigma, centre); trapezoid and pi (a, b, c, d): rises from a to b, falls from c to d; triangle
        (a, b, c); s (a, b): rises; z (a, b): falls; range (a, b): all of the closed interval.
    """

    shape: str
    points: tuple[float, ...]


def _linear(share: FloatArray) -> FloatArray:
    return share


def _curved(share: FloatArray) -> FloatArray:
    """Two parabolas that meet at (1/2, 1/2)."""
    return np.where(share <= 0.5, 2.0 * share**2, 1.0 - 2.0 * (1.0 - share) ** 2)


_Curve = Callable[[FloatArray], FloatArray]


def _rising(x: FloatArray, a: float, b: float, curve: _Curve) -> FloatArray:
    """0 below a, 1 from b on; the end b belongs to the set also where a = b."""
    with np.errstate(over="ignore"):
        share = np.clip((x - a) / (b - a), 0.0, 1.0) if a < b else np.zeros_like(x)
    return np.where(x >= b, 1.0, curve(share))


def _falling(x: FloatArray, c: float, d: float, curve: _Curve) -> FloatArray:
    return _rising(-x, -d, -c, curve)


def _gaussian(x: FloatArray, sigma: float, centre: float) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-0.5 * ((x - centre) / sigma) ** 2)


def _hill(x: FloatArray, points: tuple[float, ...], curve: _Curve) -> FloatArray:
    a, b, c, d = points
    return np.minimum(_rising(x, a, b, curve), _falling(x, c, d, curve))


_GRADES: Final[dict[str, tuple[int, Callable[[FloatArray, tuple[float, ...]], FloatArray]]]] = {
    "gaussian": (2, lambda x, p: _gaussian(x, *p)),
    "trapezoid": (4, lambda x, p: _hill(x, p, _linear)),
    "triangle": (3, lambda x, p: _hill(x, (p[0], p[1], p[1], p[2]), _linear)),
    "pi": (4, lambda x, p: _hill(x, p, _curved)),
    "s": (2, lambda x, p: _rising(x, p[0], p[1], _curved)),
    "z": (2, lambda x, p: _falling(x, p[0], p[1], _curved)),
    "range": (2, lambda x, p: np.where((x >= p[0]) & (x <= p[1]), 1.0, 0.0)),
}
SHAPES: Final = tuple(_GRADES)


def check_term(term: Term) -> None:
    """Whether the term is one.

    Raises
    ------
    ValueError
        Unknown shape, wrong number of points, points that are not finite or not in rising order, sigma not above 0.
    """
    if term.shape not in _GRADES:
        raise ValueError(f"unknown shape {term.shape!r}: one of {', '.join(SHAPES)}")
    expected, _ = _GRADES[term.shape]
    if len(term.points) != expected:
        raise ValueError(f"{term.shape} takes {expected} points, got {len(term.points)}")
    if not all(math.isfinite(point) and abs(point) <= _LARGEST for point in term.points):
        raise ValueError(f"points of {term.shape} must be finite and at most {_LARGEST:g} in size")
    if term.shape == "gaussian":
        if not term.points[0] > 0.0:
            raise ValueError("sigma of gaussian must be above 0")
    elif any(a > b for a, b in zip(term.points, term.points[1:], strict=False)):
        raise ValueError(f"points of {term.shape} must not fall: {', '.join(f'{point:g}' for point in term.points)}")


def grades(term: Term, x: FloatArray) -> FloatArray:
    """Grade of every value.

    Parameters
    ----------
    term : a term that `check_term` accepts.
    x : (N,), finite.

    Returns
    -------
    (N,), mu(x) in [0, 1]. O(N).

    Raises
    ------
    ValueError
        As `check_term`.
    """
    check_term(term)
    _, shape = _GRADES[term.shape]
    return shape(np.asarray(x, dtype=np.float64), term.points)
