"""Work that is done a little at a time: a generator that yields between two pieces of it, and returns what it found."""

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")


def finished(steps: Generator[Any, None, T]) -> T:
    """All of it at once."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
