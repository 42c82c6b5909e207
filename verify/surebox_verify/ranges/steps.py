"""Ranges that take many passes over the boxes, made a few passes at a time.

Notation
--------
pass : every box visited once, for one or a few values of it.

How many passes are made depends on the boxes and on the effort allowed, never on a clock: whoever computes the ranges
again from the same boxes, on a slower machine or in other steps, makes the same passes and comes to the same.
"""

from collections.abc import Generator
from typing import TypeAlias

from surebox_verify.ranges.guaranteed import Range

Work: TypeAlias = Generator[int, None, tuple[Range, ...]]

_VISITED = 20_000_000  # values of boxes per step; a pass costs _FIXED besides
_FIXED = 20_000


class RangeSteps:
    """Ranges of a statistic's numbers, in steps.

    Parameters
    ----------
    work : yields passes as they are made, returns the ranges.
    values : bounds of boxes that a pass visits.

    Attributes
    ----------
    ranges : of the numbers, once they are there.
    passes : made so far.
    """

    def __init__(self, work: Work, values: int) -> None:
        self.ranges: tuple[Range, ...] | None = None
        self.passes = 0
        self._work = work
        self._values = values

    def step(self) -> None:
        """Work on for about 0.2 s."""
        visited = 0
        try:
            while visited < _VISITED:
                passes = next(self._work)
                self.passes += passes
                visited += passes * (self._values + _FIXED)
        except StopIteration as finished:
            self.ranges = finished.value

    def finish(self) -> tuple[Range, ...]:
        """All remaining steps at once."""
        while self.ranges is None:
            self.step()
        return self.ranges
