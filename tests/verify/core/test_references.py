"""Named tuples that kernels get by reference."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.core.errors import TypingError

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.compiling.references import by_reference


@by_reference
class Inner(NamedTuple):
    counts: np.ndarray
    nothing: tuple[()]


@by_reference
class Outer(NamedTuple):
    rows: np.ndarray
    inner: Inner
    factor: float
    places: int
    marked: bool


@by_reference
class Exchanged(NamedTuple):
    """The same types in the same order, under other names."""

    inner: np.ndarray
    rows: Inner
    places: float
    factor: int
    marked: bool


@inner_kernel
def _counted(inner: Inner, at: int) -> float:
    inner.counts[at] += 1
    return float(inner.counts[at])


@kernel
def summed(given: Outer) -> float:
    total = 0.0
    for i in range(given.rows.shape[0]):
        line = given.rows[i, 1:]
        total += line[0] * given.factor + _counted(given.inner, i)
    return total + given.places if given.marked else -total


@kernel
def exchanged(given: Exchanged) -> float:
    return given.places * given.inner[0, 1] + given.factor * given.rows.counts[0]


@kernel
def quotient(given: Outer) -> float:
    return given.rows[0, 1] / given.factor  # type: ignore[no-any-return]


@kernel
def unknown(given: Outer) -> float:
    return given.column  # type: ignore[attr-defined, no-any-return]


def outer(*, factor: float = 0.5, marked: bool = True, kind: type = np.float64) -> Outer:
    rows = np.arange(6, dtype=kind).reshape(3, 2)
    return Outer(rows, Inner(np.array([4, 5, 6]), ()), factor, 7, marked)


def by_hand(given: Outer) -> float:
    total = float(given.rows[:, 1].sum() * given.factor + (given.inner.counts + 1).sum())
    return total + given.places if given.marked else -total


def test_fields_are_read_and_arrays_changed() -> None:
    given = outer()
    expected = by_hand(given)
    assert summed(given) == expected
    assert given.inner.counts.tolist() == [5, 6, 7]
    assert summed(given) == expected + 3  # the arrays as they are now, not as they were


@pytest.mark.parametrize("changed", [outer(factor=3.25), outer(marked=False), outer(kind=np.float32)])
def test_each_call_gets_its_own(changed: Outer) -> None:
    assert summed(outer()) == by_hand(outer())
    expected = by_hand(changed)
    assert summed(changed) == expected


def test_classes_of_the_same_types_are_distinguished() -> None:
    given = outer()
    other = Exchanged(*given)
    assert exchanged(other) == given.factor * given.rows[0, 1] + given.places * given.inner.counts[0]
    with pytest.raises(TypingError):
        exchanged(given)  # type: ignore[arg-type]  # its `inner` is no array


def test_arrays_are_let_go_of() -> None:
    given = outer()
    summed(given)
    arrays = (given.rows, given.inner.counts)
    before = [sys.getrefcount(each) for each in arrays]
    for _ in range(100):
        summed(given)
    assert [sys.getrefcount(each) for each in arrays] == before


def test_arrays_are_let_go_of_where_a_kernel_raises() -> None:
    given = outer(factor=0.0)
    arrays = (given.rows, given.inner.counts)
    before = [sys.getrefcount(each) for each in arrays]
    for _ in range(100):
        with pytest.raises(ZeroDivisionError):
            quotient(given)
    assert [sys.getrefcount(each) for each in arrays] == before


def test_what_it_has_not_is_refused() -> None:
    with pytest.raises(TypingError, match="column"):
        unknown(outer())
    with pytest.raises(TypingError, match="shape"):
        summed(outer()._replace(rows="text"))  # type: ignore[arg-type]


def test_classes_of_one_name_are_distinguished() -> None:
    made = [by_reference(NamedTuple("Made", [("x", int), ("y", int)])) for _ in range(2)]
    made[0].__qualname__ = "another.Made"
    first, second = (typeof(each(1, 2)) for each in made)
    assert first != second
    assert first == typeof(made[0](3, 4))
