"""Probability that a density gives to an interval, exactly, also far out in a tail; and a fit of the normal one.

Notation
--------
z, s : centre and scale along one axis; s = 0 is a point mass.
[a, b], [l, u] : the interval requested and the domain that is known to contain the value, a and b within it; ends may
    be infinite and belong to their interval.
F : cumulative distribution (gaussian, or uniform on z +- s/2).
P : (F(b) - F(a)) / (F(u) - F(l)), one factor of AG eq. 21; without a domain l, u are infinite: eq. 19.
R(t) : erfcx(t / sqrt 2), so that the upper tail of the normal distribution is exp(-t^2 / 2) R(t) / 2.
"""

import math

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel

LIMIT = 6.5  # the fitted tail ends here; the part beyond has 4e-11
FITTED_ERROR = 3e-10  # of one F by the fit, the part beyond LIMIT included

_C0 = -3.54148623261753e-15
_C1 = 1.9649980741450315e-13
_C2 = -4.9498393401406984e-12
_C3 = 7.45041691488448e-11
_C4 = -7.379663590407244e-10
_C5 = 4.924895992290507e-09
_C6 = -2.0764699749207528e-08
_C7 = 3.3935554110730186e-08
_C8 = 2.127626692117891e-07
_C9 = -1.8276873727503634e-06
_C10 = 6.437939584433411e-06
_C11 = 7.812731704196782e-06
_C12 = -6.843642493704303e-05
_C13 = 0.001386058238260893
_C14 = 0.010258039197294696
_C15 = 0.02493389215032211
_C16 = 1.000000000004049

_ROOT_HALF = math.sqrt(0.5)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@kernel(error_model="numpy", fastmath={"contract"})
def normal_distribution(t: float) -> float:
    """Normal distribution, absolute error below FITTED_ERROR.

    Parameters
    ----------
    t : standard units; beyond LIMIT the value at LIMIT.

    Notes
    -----
    After Abramowitz, Stegun 7.1.28, refitted: arithmetic only, so that a loop over densities is a vector loop. v is the
    Chebyshev interpolant of degree 16 of (2 F(-t))^(-1/32) on [0, LIMIT], written in powers.
    """
    x = min(abs(t), LIMIT)
    v = _C0 * x + _C1
    v = v * x + _C2
    v = v * x + _C3
    v = v * x + _C4
    v = v * x + _C5
    v = v * x + _C6
    v = v * x + _C7
    v = v * x + _C8
    v = v * x + _C9
    v = v * x + _C10
    v = v * x + _C11
    v = v * x + _C12
    v = v * x + _C13
    v = v * x + _C14
    v = v * x + _C15
    v = v * x + _C16
    v *= v
    v *= v
    v *= v
    v *= v
    v *= v
    tail = 0.5 / v
    return 1.0 - tail if t > 0.0 else tail


@inner_kernel
def _scaled_tail(t: float) -> float:
    """R(t) for t >= 0."""
    x = t * _ROOT_HALF
    if x < 25.0:
        return math.exp(x * x) * math.erfc(x)
    v = 1.0 / (2.0 * x * x)
    return (1.0 - v * (1.0 - 3.0 * v * (1.0 - 5.0 * v))) / (x * math.sqrt(math.pi))


@inner_kernel
def _relative(a: float, b: float, c: float) -> float:
    """Integral of exp(-(t^2 - c^2) / 2) over a narrow [a, b]."""
    half = 0.5 * (b - a)
    middle = 0.5 * (a + b)
    total = 0.0
    for i in range(len(_NODES)):
        t = middle + half * _NODES[i]
        total += _WEIGHTS[i] * math.exp(-0.5 * (t - c) * (t + c))
    return half * total


@inner_kernel
def _normal_share(a: float, b: float, low: float, high: float) -> float:
    """Share of [a, b] in the normal mass of [low, high], in standard units, |low| <= high."""
    if high - low < 1.0 / (1.0 + abs(low)):
        whole = _relative(low, high, low)
        return _relative(a, b, low) / whole if whole > 0.0 else 1.0
    if low > 1.0:
        top = math.exp(-0.5 * (a - low) * (a + low)) * _scaled_tail(a)
        whole = _scaled_tail(low)
        if b < math.inf:
            top -= math.exp(-0.5 * (b - low) * (b + low)) * _scaled_tail(b)
        if high < math.inf:
            whole -= math.exp(-0.5 * (high - low) * (high + low)) * _scaled_tail(high)
        return top / whole
    whole = math.erfc(low * _ROOT_HALF) - math.erfc(high * _ROOT_HALF)
    return (math.erfc(a * _ROOT_HALF) - math.erfc(b * _ROOT_HALF)) / whole


@inner_kernel
def _gaussian(z: float, s: float, a: float, b: float, low: float, high: float) -> float:
    left = (low - z) / s
    right = (high - z) / s
    start = (a - z) / s
    end = (b - z) / s
    if left + right < 0.0:
        left, right, start, end = -right, -left, -end, -start
        near = b >= high
    else:
        near = a <= low
    if left > 1e150:
        return 1.0 if near else 0.0
    if start > 1e150:
        return 0.0
    return min(max(_normal_share(start, end, left, right), 0.0), 1.0)


@kernel
def interval_mass(gaussian: bool, z: float, s: float, a: float, b: float, low: float, high: float) -> float:
    """P along one axis.

    Parameters
    ----------
    gaussian : normal density, or uniform.
    z, s : centre and scale.
    a, b : the interval, closed.
    low, high : the domain, closed; infinite where there is none.

    Returns
    -------
    float in [0, 1], relative error below 1e-12 of max(P, 1e-3). A density without any mass in the domain (a point mass
    or a cube outside it) counts as the point of the domain that is nearest to it.

    Notes
    -----
    AG eqs. 19 and 21. Far in a tail both numerator and denominator of eq. 21 are below the smallest float: their ratio
    is taken by scaled complementary error functions, in intervals narrow against s by Gauss-Legendre quadrature.
    """
    a = max(a, low)
    b = min(b, high)
    if a > b:
        return 0.0
    if a <= low and b >= high:
        return 1.0
    if gaussian and s > 0.0:
        return _gaussian(z, s, a, b, low, high)
    left = max(low, z - 0.5 * s)
    right = min(high, z + 0.5 * s)
    if left < right:
        return max(min(b, right) - max(a, left), 0.0) / (right - left)
    nearest = min(max(z, low), high)
    return 1.0 if a <= nearest <= b else 0.0
