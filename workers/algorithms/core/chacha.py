"""The ChaCha20 block function, inside kernels: 512 pseudo-random bits from a key and a place.

Notation
--------
state : (16,) uint32, constants (4), key (8), and what distinguishes blocks (4): counter and nonce.
block : (16,) uint32, what the state is turned into.

Whoever sees any number of blocks and their places learns nothing of the key, nor of any other block. Source: Bernstein
2008; RFC 8439, section 2.3 (its nonce has one word more, its counter one less; the words are the same).
"""

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel

CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4")
_ROUNDS = 20


@inner_kernel
def _mix(x: NDArray[np.uint32], a: int, b: int, c: int, d: int) -> None:
    """A quarter round; each sum and rotation is cut to 32 bits."""
    for i in range(2):
        first, second = (16, 12) if i == 0 else (8, 7)
        x[a] = (x[a] + x[b]) & 0xFFFFFFFF
        word = np.uint64(x[d] ^ x[a])
        x[d] = ((word << np.uint64(first)) | (word >> np.uint64(32 - first))) & np.uint64(0xFFFFFFFF)
        x[c] = (x[c] + x[d]) & 0xFFFFFFFF
        word = np.uint64(x[b] ^ x[c])
        x[b] = ((word << np.uint64(second)) | (word >> np.uint64(32 - second))) & np.uint64(0xFFFFFFFF)


@inner_kernel
def fill_block(state: NDArray[np.uint32], block: NDArray[np.uint32]) -> None:
    """Write the block of a state; both are (16,) and must not overlap."""
    for i in range(16):
        block[i] = state[i]
    for _ in range(_ROUNDS // 2):
        for i in range(8):  # four columns, then four diagonals
            a, turn = i & 3, i >> 2
            _mix(block, a, 4 + ((a + turn) & 3), 8 + ((a + 2 * turn) & 3), 12 + ((a + 3 * turn) & 3))
    for i in range(16):
        block[i] = (block[i] + state[i]) & 0xFFFFFFFF
