"""Random numbers inside kernels: the ChaCha20 stream cipher under a run's own key.

Notation
--------
======  =======  =============================================================================
symbol  shape    meaning
======  =======  =============================================================================
stream  (33,)    uint32: constants (4), key (8), block counter (2), nonce (2), then the block
                 last made (16) and how many of its words are used up
======  =======  =============================================================================

A search draws too many numbers, and too few at a time, to fetch them from a numpy generator; an ordinary generator in
a kernel could be run backwards from what it steered. The stream is its own state: a search goes on bit by bit from a
copy. Source: Bernstein 2008; RFC 8439 with a 64-bit counter (the original layout).
"""

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import kernel
from workers.algorithms.core.chacha import CONSTANTS, fill_block

#: Shape and type of a stream.
WORDS = 33


def new_stream(key: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A stream at its beginning, under an (8,) uint32 key."""
    out = np.zeros(WORDS, dtype=np.uint32)
    out[:4] = CONSTANTS
    out[4:12] = key
    out[32] = 16
    return out


@kernel
def draw(stream: NDArray[np.uint32]) -> int:
    """The next word, uniform on [0, 2^32)."""
    if stream[32] >= 16:
        fill_block(stream[:16], stream[16:32])
        stream[12] = (stream[12] + np.uint32(1)) & 0xFFFFFFFF
        if stream[12] == 0:
            stream[13] = (stream[13] + np.uint32(1)) & 0xFFFFFFFF
        stream[32] = 0
    word = stream[16 + stream[32]]
    stream[32] += np.uint32(1)
    return np.int64(word)  # type: ignore[return-value]


@kernel
def below(stream: NDArray[np.uint32], count: int) -> int:
    """An integer on [0, count), count up to 2^31 (bias below count / 2^32)."""
    return (draw(stream) * count) >> 32


@kernel
def uniform(stream: NDArray[np.uint32]) -> float:
    """A number in (0, 1), one of 2^32."""
    return (draw(stream) + 0.5) / 4294967296.0
