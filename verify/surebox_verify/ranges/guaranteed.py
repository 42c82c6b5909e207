"""A guaranteed range: the certain range, the reached one, and how far they are apart."""

from dataclasses import dataclass

from surebox_core.intervals import Interval

_NOISE = 2.0**-44  # outward rounding, relative to the range's ends: not a gap
_EXACT = 1e-9


@dataclass(frozen=True)
class Range:
    """Range of one number over all data consistent with the boxes.

    Attributes
    ----------
    outer : certain to contain the number; None where no bound could be proven.
    inner : reached, at both ends, by some data consistent with the (closed) boxes; None where no data was found that
        leaves the number defined.
    gap : (width of outer - width of inner) / width of outer, outward rounding aside; None without both.
    """

    outer: Interval | None
    inner: Interval | None
    gap: float | None

    @property
    def exact(self) -> bool:
        """Whether the gap is below 1e-9."""
        return self.gap is not None and self.gap < _EXACT


@dataclass(frozen=True)
class Ends:
    """The upper end of a range: certain, and reached."""

    certain: float
    reached: float


def certain(interval: Interval | None) -> Interval:
    """The outer range of a mean or a variance."""
    if interval is None:
        msg = "means and variances always have certain ranges"
        raise TypeError(msg)
    return interval


def combine(outer: Interval | None, inner: Interval | None, noise: float = 0.0) -> Range:
    """Return a range from its two parts; the reached range is in the certain range, whatever its own rounding.

    Parameters
    ----------
    outer, inner : certain, and reached.
    noise : how much of the outer width is the rounding of a longer computation.
    """
    if outer is None or inner is None:
        return Range(outer, inner, None)
    inside = Interval(outer.clip(inner.lower), outer.clip(inner.upper))
    excess = outer.width - inside.width - _NOISE * max(abs(outer.lower), abs(outer.upper)) - noise
    return Range(outer, inside, max(excess, 0.0) / outer.width if outer.width > 0.0 else 0.0)
