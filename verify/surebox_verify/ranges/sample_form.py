"""Ranges of variances and covariances with the divisor N - ddof, from those with the divisor N."""

from surebox_core.intervals import Interval
from surebox_verify.ranges.guaranteed import Range, combine


def sample_form(population: Range, records: int, ddof: int) -> Range:
    """Range of the sample form from that of the population form: f times as large, rounded outward.

    Parameters
    ----------
    population : range of a variance or covariance, in its population form.
    records : N; without a range where it does not exceed `ddof`.
    ddof : 0 leaves the range as it is.

    Notes
    -----
    Values that were certainly not negative stay so.
    """
    if ddof == 0:
        return population
    if records <= ddof:
        return Range(None, None, None)
    whole, rest = float(records), float(records - ddof)
    f = Interval(whole, whole) / Interval(rest, rest)

    def times(part: Interval | None) -> Interval | None:
        if part is None:
            return None
        product = part * f
        return Interval(max(product.lower, 0.0) if part.lower >= 0.0 else product.lower, product.upper)

    return combine(times(population.outer), times(population.inner))
