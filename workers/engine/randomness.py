"""Where a job's randomness comes from: ChaCha20 under a key from the operating system.

The drawn value is published: a cut is at a random share of a gap, and whoever knows both neighbours of one gap knows
that share. From a few shares the state of an ordinary generator (PCG64, numpy's default) can be recovered, and with it
every other share, the order of the rows, and so values about cuts that they did not know. A stream cipher's output
reveals nothing about its key, nor about the rest of its output.
"""

import secrets
from typing import Any, Final

import numpy as np
from randomgen import ChaCha

from workers.methods.protocol import Arrays

_ROUNDS: Final = 20
_PARTS: Final = {"block": np.uint32, "keysetup": np.uint32, "ctr": np.uint64}


def new_generator(seed: int | None) -> np.random.Generator:
    """A generator under a fresh key of 256 bits, or under a given seed, for tests only."""
    bits = ChaCha(key=secrets.randbits(256), rounds=_ROUNDS) if seed is None else _seeded(seed)
    return np.random.Generator(bits)


def _seeded(seed: int) -> ChaCha:
    return ChaCha(np.random.SeedSequence(seed), rounds=_ROUNDS)


def pack_generator(rng: np.random.Generator) -> Arrays:
    """The state of a generator of `new_generator`, as arrays; it is as secret as what it draws."""
    state: Any = rng.bit_generator.state["state"]
    return {f"rng_{part}": np.array(state[part], dtype=kind) for part, kind in _PARTS.items()}


def unpack_generator(arrays: Arrays) -> np.random.Generator:
    """The generator again: it goes on with the very numbers that would have followed."""
    bits = _seeded(0)
    inner: dict[str, Any] = {part: arrays[f"rng_{part}"] for part in _PARTS}
    bits.state = {"bit_generator": "ChaCha", "state": inner | {"rounds": _ROUNDS}}
    return np.random.Generator(bits)
