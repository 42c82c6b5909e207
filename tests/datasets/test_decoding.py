"""Decoding does not depend on how the body was cut, and never hands on a large piece."""

import gzip
import hashlib
import os
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.datasets.decoding import PIECE_BYTES, Decoder
from app.errors import TooLargeError, UnreadableError
from tests.drawing import examples


def decoder(*, gzipped: bool = True, max_bytes: int = 1 << 30, max_ratio: float = 200) -> Decoder:
    return Decoder(gzipped=gzipped, max_bytes=max_bytes, max_ratio=max_ratio)


def decode(body: bytes, cuts: Sequence[int], made: Decoder) -> bytes:
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    parts = [body[a:b] for a, b in pairwise(places)]
    decoded = b"".join(piece for part in parts for piece in made.feed(part))
    made.close()
    return decoded


@settings(deadline=None, max_examples=examples(150))
@given(
    members=st.lists(st.binary(max_size=300), min_size=1, max_size=4).filter(any),
    padding=st.integers(0, 20),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
)
def test_any_cut_gives_the_same_bytes(members: list[bytes], padding: int, cuts: list[int]) -> None:
    made = decoder()
    body = b"".join(gzip.compress(member) + b"\0" * padding for member in members)
    assert decode(body, cuts, made) == b"".join(members)
    assert made.bytes == len(b"".join(members))
    assert made.sha256 == hashlib.sha256(b"".join(members)).hexdigest()


@settings(deadline=None, max_examples=examples(100))
@given(size=st.integers(1, 400), cut=st.integers(1, 500), cuts=st.lists(st.integers(0, 2000), max_size=5))
def test_a_stream_that_is_cut_off_is_noticed_wherever_it_is_cut(size: int, cut: int, cuts: list[int]) -> None:
    whole = gzip.compress(os.urandom(size))
    with pytest.raises(UnreadableError):
        decode(whole[: max(0, len(whole) - cut)], cuts, decoder())


@settings(deadline=None, max_examples=examples(100))
@given(more=st.binary(min_size=1, max_size=30).filter(lambda b: b.strip(b"\0")), cuts=st.lists(st.integers(0, 500)))
def test_other_bytes_behind_the_stream_are_noticed(more: bytes, cuts: list[int]) -> None:
    with pytest.raises(UnreadableError):
        decode(gzip.compress(b"a,b\n1,2\n") + more, cuts, decoder())


def test_a_bomb_is_met_in_small_pieces_and_stopped_early() -> None:
    body = gzip.compress(bytes(300 << 20), 9)
    sizes: list[int] = []
    with pytest.raises(TooLargeError, match="200 times"):
        sizes.extend(len(piece) for piece in decoder().feed(body))
    assert max(sizes) <= PIECE_BYTES
    assert sum(sizes) < 100 << 20


def test_the_limit_on_bytes_is_exact() -> None:
    assert decode(b"x" * 100, [30], decoder(gzipped=False, max_bytes=100)) == b"x" * 100
    with pytest.raises(TooLargeError, match="100 bytes"):
        decode(b"x" * 101, [30], decoder(gzipped=False, max_bytes=100))


@pytest.mark.parametrize("gzipped", [False, True])
def test_an_empty_body_is_refused(gzipped: bool) -> None:
    with pytest.raises(UnreadableError, match="empty"):
        decode(b"", [], decoder(gzipped=gzipped))
