"""SipHash-2-4 (Aumasson, Bernstein 2012) of rows of 64-bit words."""

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel

Words = NDArray[np.uint64]


@inner_kernel
def _rotated(word: np.uint64, by: np.uint64) -> np.uint64:
    return (word << by) | (word >> (np.uint64(64) - by))


@inner_kernel
def _round(v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64) -> tuple[np.uint64, ...]:
    v0 += v1
    v1 = _rotated(v1, np.uint64(13)) ^ v0
    v0 = _rotated(v0, np.uint64(32))
    v2 += v3
    v3 = _rotated(v3, np.uint64(16)) ^ v2
    v0 += v3
    v3 = _rotated(v3, np.uint64(21)) ^ v0
    v2 += v1
    v1 = _rotated(v1, np.uint64(17)) ^ v2
    v2 = _rotated(v2, np.uint64(32))
    return v0, v1, v2, v3


@kernel
def hashed_rows(rows: Words, key: Words) -> Words:
    """SipHash-2-4 of each row, its words in order.

    Parameters
    ----------
    rows : (N, m).
    key : (2,).

    Returns
    -------
    (N,); O(N m).
    """
    hashes = np.empty(len(rows), np.uint64)
    for i in range(len(rows)):
        v0 = key[0] ^ np.uint64(0x736F6D6570736575)
        v1 = key[1] ^ np.uint64(0x646F72616E646F6D)
        v2 = key[0] ^ np.uint64(0x6C7967656E657261)
        v3 = key[1] ^ np.uint64(0x7465646279746573)
        for word in rows[i]:
            v3 ^= word
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0 ^= word
        last = np.uint64((rows.shape[1] * 8) & 0xFF) << np.uint64(56)
        v3 ^= last
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= last
        v2 ^= np.uint64(0xFF)
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        hashes[i] = v0 ^ v1 ^ v2 ^ v3
    return hashes
