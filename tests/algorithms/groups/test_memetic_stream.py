import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from workers.algorithms.groups.memetic.stream import below, draw, new_stream, uniform


def test_it_is_the_stream_of_an_independent_chacha20() -> None:
    key = np.random.default_rng(0).integers(0, 2**32, 8, dtype=np.uint32)
    stream = new_stream(key)
    ours = np.array([draw(stream) for _ in range(100)], dtype="<u4")
    cipher = Cipher(algorithms.ChaCha20(key.tobytes(), bytes(16)), mode=None).encryptor()
    np.testing.assert_array_equal(ours, np.frombuffer(cipher.update(bytes(400)), dtype="<u4"))


def test_a_copy_goes_on_with_the_very_words_that_follow_across_the_counters_carry() -> None:
    stream = new_stream(np.arange(8, dtype=np.uint32))
    stream[12] = 2**32 - 1
    words = [draw(stream) for _ in range(5)]
    copy = stream.copy()
    after = [draw(stream) for _ in range(40)]
    assert [draw(copy) for _ in range(40)] == after
    assert stream[13] == 1
    assert len(set(words + after)) == 45


def test_numbers_are_spread_evenly() -> None:
    stream = new_stream(np.arange(8, dtype=np.uint32))
    counts = np.bincount([below(stream, 10) for _ in range(20_000)], minlength=10)
    assert len(counts) == 10
    assert np.abs(counts - 2_000).max() < 6 * np.sqrt(2_000)
    values = np.array([uniform(stream) for _ in range(20_000)])
    assert values.min() > 0.0
    assert values.max() < 1.0
    assert abs(values.mean() - 0.5) < 6 * np.sqrt(1 / 12 / 20_000)
