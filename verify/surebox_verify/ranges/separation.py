"""A direction in which all given vectors point backwards, if there is one.

Notation
--------
p_j : (J, n), vectors.  x : the point nearest to the origin of their convex hull, x = sum_j pi_j p_j.
corral : the vectors with pi_j > 0, at most n + 1.

-x has the largest margin: every p_j x is at least x x, and no other direction of that length does better. Where x = 0
there is no such direction, and pi states which vectors hold each other in check.

Source: Wolfe 1976, Finding the nearest point in a polytope.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray

_ROUNDS = 200
_NEAR = 0.95  # of the margin; a wider one is not worth the rounds
_NOTHING = 1e-9  # of the longest vector: the origin itself
_LEAST = 1e-12


@dataclass(frozen=True)
class Nearest:
    """The point of the hull nearest to the origin.

    Attributes
    ----------
    point : (n,), x; zeros where the hull contains the origin.
    weights : (J,), pi.
    """

    point: FloatArray
    weights: FloatArray


def nearest_to_origin(vectors: FloatArray) -> Nearest:
    """The point of the convex hull of (J, n) vectors that is nearest to the origin. O(J n) per round."""
    corral = np.zeros(vectors.shape[1] + 2, dtype=np.int32)
    shares = np.zeros(len(corral))
    size = _wolfe(np.ascontiguousarray(vectors), corral, shares)
    chosen, shares = corral[:size], shares[:size] / shares[:size].sum()
    point = shares @ vectors[chosen]
    longest = float(np.einsum("ij,ij->i", vectors, vectors).max())
    weights = np.zeros(len(vectors))
    weights[chosen] = shares
    return Nearest(point if point @ point > _NOTHING * _NOTHING * longest else np.zeros_like(point), weights)


@kernel
def _wolfe(vectors: FloatArray, corral: IndexArray, shares: FloatArray) -> int:  # noqa: C901 (a kernel)
    """Fill corral and its weights; returns its size."""
    count, n = vectors.shape
    point = np.empty(n)
    least = np.inf
    for j in range(count):
        square = 0.0
        for i in range(n):
            square += vectors[j, i] * vectors[j, i]
        if square < least:
            least, corral[0] = square, j
    shares[0] = 1.0
    size = 1
    for _ in range(_ROUNDS):
        square = 0.0
        for i in range(n):
            point[i] = 0.0
            for s in range(size):
                point[i] += shares[s] * vectors[corral[s], i]
            square += point[i] * point[i]
        most, least = -1, np.inf
        for j in range(count):
            along = 0.0
            for i in range(n):
                along += vectors[j, i] * point[i]
            if along < least:
                most, least = j, along
        if least >= _NEAR * square or size > n + 1:
            break
        for s in range(size):
            if corral[s] == most:
                return size
        corral[size], shares[size] = most, 0.0
        size = _settle(vectors, corral, shares, size + 1)
    return size


@inner_kernel
def _settle(vectors: FloatArray, corral: IndexArray, shares: FloatArray, size: int) -> int:
    """Move to the nearest point of the corral's flat, dropping vectors whose weight vanishes on the way."""
    while True:
        ideal = _flat(vectors, corral, size)
        step, first = 1.0, -1
        for s in range(size):
            if not ideal[s] > _LEAST:
                part = shares[s] / max(shares[s] - ideal[s], 1e-300)
                if first < 0 or part < step:
                    step, first = min(part, 1.0), s
        for s in range(size):
            shares[s] += step * (ideal[s] - shares[s])
        if first < 0:
            return size
        shares[first] = 0.0
        kept = 0
        for s in range(size):
            if shares[s] > _LEAST:
                corral[kept], shares[kept] = corral[s], shares[s]
                kept += 1
        size = kept


@inner_kernel
def _flat(vectors: FloatArray, corral: IndexArray, size: int) -> FloatArray:  # noqa: C901 (a kernel)
    """Weights, of sum 1, of the point nearest to the origin in the flat through the corral (Gauss, Jordan)."""
    n = vectors.shape[1]
    system = np.zeros((size + 1, size + 2))
    for s in range(size):
        for r in range(size):
            for i in range(n):
                system[s, r] += vectors[corral[s], i] * vectors[corral[r], i]
        system[s, size] = system[size, s] = 1.0
    system[size, size + 1] = 1.0
    for column in range(size + 1):
        pivot = column
        for row in range(column + 1, size + 1):
            if abs(system[row, column]) > abs(system[pivot, column]):
                pivot = row
        divisor = system[pivot, column]
        if divisor == 0.0:
            continue
        for k in range(size + 2):
            above = system[column, k]
            system[column, k] = system[pivot, k] / divisor
            if pivot != column:
                system[pivot, k] = above
        for row in range(size + 1):
            factor = system[row, column]
            if row != column and factor != 0.0:
                for k in range(size + 2):
                    system[row, k] -= factor * system[column, k]
    return system[:size, size + 1].copy()
