"""Best guesses of values, against one loop over boxes, windows and records."""

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tests.drawing import seeds
from workers.algorithms.tables.guessing import guessed_codes, guessed_numbers

NOTHING = float("nan")


def held(values: Sequence[Fraction], first: Fraction, last: Fraction) -> int:
    return sum(first <= each <= last for each in values)


def slow(
    values: Sequence[Fraction], box: Sequence[int], sides: Sequence[tuple[Fraction, Fraction]], width: Fraction
) -> tuple[int, int]:
    """Records that the best window of their box holds, and that the best window of the column holds."""
    right = 0
    for number, (low, high) in enumerate(sides):
        inside = sorted(each for each in values if low <= each <= high)
        often = [held(values, first, min(first + width, high)) for first in inside]
        best = inside[often.index(max(often))]
        members = [each for each, of in zip(values, box, strict=True) if of == number]
        right += held(members, best, best + width)
    return right, max(held(values, first, first + width) for first in values)


@pytest.mark.parametrize("seed", seeds(150))
def test_guesses_are_those_of_a_loop(seed: int) -> None:
    draw = Random(seed)
    step, boxes = Fraction(draw.choice(["1", "0.1", "2.5"])), draw.randint(1, 5)
    spread = draw.choice([3, 12, 60])
    members = [[step * draw.randint(-spread, spread) for _ in range(draw.randint(1, 12))] for _ in range(boxes)]
    spare = [step * draw.randint(0, 4) for _ in range(2 * boxes)]
    sides = [(min(each) - spare[at], max(each) + spare[at + boxes]) for at, each in enumerate(members)]
    values = [each for those in members for each in those]
    box = [number for number, those in enumerate(members) for _ in those]
    width = draw.choice([Fraction(0), step, step * 2, step * Fraction(7, 2), step * 40])
    right, most = slow(values, box, sides, width)
    ends = np.array([[float(low), float(high)] for low, high in sides])
    x, of = np.array([*map(float, values), NOTHING]), np.array([*box, 0], dtype=np.int32)
    shares = guessed_numbers(x, of, (ends[:, 0], ends[:, 1]), float(width))
    assert (shares.share, shares.baseline) == pytest.approx((right / len(values), most / len(values)))
    narrow = sum(len(those) for those, (low, high) in zip(members, sides, strict=True) if high - low <= width)
    assert shares.share >= narrow / len(values) - 1e-12, "what is certain is guessed"

    means = [sum(those) / len(those) for those in members]
    near = sum(abs(each - means[of]) <= width / 2 for each, of in zip(values, box, strict=True))
    by_means = guessed_numbers(x, of, (ends[:, 0], ends[:, 1]), float(width), means=np.array([*map(float, means)]))
    assert by_means.share == pytest.approx(max(right, near) / len(values))


@pytest.mark.parametrize("seed", seeds(40))
def test_guesses_of_codes_are_those_of_a_loop(seed: int) -> None:
    draw = Random(seed)
    codes = [draw.randint(0, 5) for _ in range(draw.randint(1, 40))]
    box = [draw.randint(0, 3) for _ in codes]
    sets = np.array([[draw.random() < 0.3 or (number, code) in zip(box, codes, strict=True) for code in range(6)]
                     for number in range(4)])  # fmt: skip
    right = 0
    for number in range(4):
        best = max((code for code in range(6) if sets[number, code]), key=codes.count, default=-1)
        right += sum(code == best for code, of in zip(codes, box, strict=True) if of == number)
    ties = {codes.count(code) for code in range(6)}
    shares = guessed_codes(np.array([*codes, -1]), np.array([*box, 0], dtype=np.int32), sets)
    assert shares.baseline == pytest.approx(max(ties) / len(codes))
    assert shares.share == pytest.approx(right / len(codes))


def test_a_column_without_values_is_not_guessed() -> None:
    nothing, box = np.array([NOTHING, NOTHING]), np.zeros(2, dtype=np.int32)
    shares = guessed_numbers(nothing, box, (nothing[:1], nothing[:1]), 1.0)
    assert (shares.share, shares.baseline) == (0.0, 0.0)
