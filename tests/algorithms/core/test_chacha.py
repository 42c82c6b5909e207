import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from surebox_core.compiling.kernels import kernel
from workers.algorithms.core.chacha import CONSTANTS, fill_block


@kernel
def filled(state: np.ndarray, block: np.ndarray) -> None:
    fill_block(state, block)


def test_a_block_is_that_of_an_independent_chacha20() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        key, place = rng.integers(0, 2**32, 8, dtype=np.uint32), rng.integers(0, 2**32, 4, dtype=np.uint32)
        block = np.empty(16, dtype=np.uint32)
        filled(np.concatenate([CONSTANTS, key, place]).astype(np.uint32), block)
        cipher = Cipher(algorithms.ChaCha20(key.tobytes(), place.tobytes()), mode=None).encryptor()
        np.testing.assert_array_equal(block, np.frombuffer(cipher.update(bytes(64)), dtype="<u4"))
