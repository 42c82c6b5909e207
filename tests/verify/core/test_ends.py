"""Ends of intervals among values: compared as fractions compare them, whole numbers of any size and steps in tenths."""

from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from surebox_core.ends import Ends, are_multiples, at_least, inside, multiples
from tests.drawing import seeds


def an_end(draw: Random, near: Any) -> Any:
    """An end near a value: as it is, a unit in the last place beside it, a whole number, far away, or open."""
    value = float(near)
    ends = [near, value, np.nextafter(value, np.inf).item(), np.nextafter(value, -np.inf).item(), int(near) + 1, None]
    return draw.choice([*ends, 10**400, -(10**400), float("inf"), float("-inf"), value * 0.5, int(near)])


def within(value: Any, low: Any, high: Any) -> bool:
    """Return whether a number is in a closed interval, by fractions."""
    return (low is None or at_or_above(value, low)) and (high is None or at_or_above(high, value))


def at_or_above(one: Any, other: Any) -> bool:
    infinite = [each for each in (one, other) if isinstance(each, float) and np.isinf(each)]
    return one >= other if infinite else Fraction(one) >= Fraction(other)


@pytest.mark.parametrize("seed", seeds(20))
def test_a_span_has_the_values_that_fractions_have_in_an_interval(seed: int) -> None:
    draw = Random(seed)
    whole = sorted({draw.choice([2**53, 2**62, -(2**63) + 40, 5]) + draw.randint(-20, 20) for _ in range(12)})
    real = sorted({draw.choice([1e308, 2.0**53, 0.3, -1e-300]) * draw.choice([1.0, 0.5, -1.0]) for _ in range(12)})
    for values, held in ((whole, Ends(np.array(whole, dtype=np.int64))), (real, Ends(np.array(real)))):
        for _ in range(200):
            low, high = an_end(draw, draw.choice(values)), an_end(draw, draw.choice(values))
            first, last = held.span(low, high)
            chosen = [values[place] for place in range(max(first, 0), last + 1)]
            assert chosen == [value for value in values if within(value, low, high)], (low, high)


@pytest.mark.parametrize("seed", seeds(20))
def test_steps_are_counted_whole(seed: int) -> None:
    draw = Random(seed)
    for _ in range(200):
        step = Decimal(draw.choice(["0.1", "0.01", "0.7", "0.3", "1e-7", "12.5", "3"]))
        number = draw.randint(-500, 500)
        value = float(step * number)
        assert multiples(np.array([float(number)]), float(step))[0] == value
        low, high = an_end(draw, value), an_end(draw, value)
        low, high = (None if each in (10**400, -(10**400)) else each for each in (low, high))
        least, most = inside(low, high, float(step))
        for around in range(number - 3, number + 4):
            other = float(step * around)
            assert (least <= other <= most) == within(other, low, high), (step, around, low, high)


@pytest.mark.parametrize("step", ["0.1", "0.3", "0.3333333333333333", "0.007", "1e-5", "0.15", "5", "0.25"])
@pytest.mark.parametrize("seed", seeds(5))
def test_values_are_multiples_as_their_decimals_are_read(seed: int, step: str) -> None:
    draw = Random(seed)
    numbers = [draw.randint(-200, 200) for _ in range(60)]
    read = np.array([float(Decimal(step) * number) for number in numbers])
    assert are_multiples(read, float(step)).all()
    products = np.array([float(step) * number for number in numbers])
    assert are_multiples(products, float(step)).tolist() == (products == read).tolist()


def test_whole_numbers_beyond_all_doubles_are_infinite() -> None:
    assert (at_least(10**400), at_least(-(10**400)), at_least(2**53 + 1)) == (np.inf, -np.finfo(float).max, 2.0**53 + 2)
    least, most = inside(2**53 + 1, 2**53 + 1)
    assert least > most, "no double is this number"
    assert multiples(np.array([3.0]), 1e-310)[0] == pytest.approx(3e-310)
