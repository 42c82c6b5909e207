"""Shares, cross-tables, means within a set and quantiles of published boxes: ranges, estimates, linear uncertainty.

Notation as in readings; the ranges are those of ranges.shares, ranges.domains and ranges.quantiles.
q_b : (B,), how probable it is that a record of box b is in the set; y_b its expected value; D_b the half-width of y.
An ordinal column is the set of the values between the two ends of each box.
Delta : 1/N sum over records of 1/2 (max - min of the influence over its box), the linear uncertainty: of a share or the
    count of a cell 1/2 for a record that may or may not be in it, of the mean theta within a set of share p
    (q_b D_b + 1/2 |y_b - theta| where that is open) / p, of a quantile the half-widths of the boxes about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surebox_core.intervals import Interval
from surebox_core.statistics import Statistic
from surebox_core.types import BoolArray, FloatArray
from surebox_verify.ranges.domains import domain_mean_range
from surebox_verify.ranges.guaranteed import Range, combine
from surebox_verify.ranges.mass import Mass
from surebox_verify.ranges.members import Members, members_of
from surebox_verify.ranges.quantiles import quantile_range
from surebox_verify.ranges.shares import count_range, cross_table, share_range
from surebox_verify.ranges.steps import Work
from surebox_verify.readings import Axis, Reading

_ABOUT = 0.05  # of the records, to either side of a quantile, that decide how far it can move


@dataclass(frozen=True)
class Guess:
    """Estimate and linear uncertainty of one number; None where there is none."""

    value: float | None
    delta: float | None


def counted_work(reading: Reading, statistic: Statistic) -> Work:
    """Ranges of all numbers of a statistic, in the order of its values; yields passes over the boxes as they are made.

    Parameters
    ----------
    reading : the boxes that have its columns.
    statistic : share, crosstab, domain_mean or quantile.
    """
    mass, counts = reading.mass, reading.counts
    if statistic.kind == "quantile":
        yield 2
        lower, upper = reading.bounds(Axis(statistic.of[0]))
        p = 0.5 if statistic.p is None else statistic.p
        return (quantile_range(lower, upper, counts, mass, p, attained=reading.meaning.attained),)
    if statistic.kind == "crosstab":
        yield 8
        return _cells(reading, statistic, mass)
    ranges = []
    for values in _sets(reading, statistic):
        members = _members(reading, statistic.of[-1], values, statistic.perhaps)
        if statistic.kind == "share":
            yield 1
            ranges.append(share_range(members, mass))
        else:
            yield 4
            lower, upper = reading.bounds(Axis(statistic.of[0]))
            whole = domain_mean_range(lower, upper, members, mass, attained=reading.meaning.attained)
            ranges.append(whole.range)
    return tuple(ranges)


def guesses(reading: Reading, statistic: Statistic) -> tuple[Guess, ...]:
    """Estimates of all numbers of a statistic, in the order of its values."""
    if statistic.kind == "quantile":
        return (_quantile_guess(reading, statistic),)
    if statistic.kind == "crosstab":
        return _cell_guesses(reading, statistic)
    estimates = []
    for values in _sets(reading, statistic):
        held = reading.probable(statistic.of[-1], values)
        members = _members(reading, statistic.of[-1], values, statistic.perhaps)
        is_open = members.least < members.most
        if statistic.kind == "share":
            estimates.append(Guess(float(reading.share @ held), 0.5 * float(reading.share @ is_open)))
        else:
            estimates.append(_domain_guess(reading, statistic, held, is_open))
    return tuple(estimates)


def may_be_empty(reading: Reading, statistic: Statistic) -> tuple[bool, ...]:
    """Of each set of a domain_mean, whether data consistent with the boxes have no record in it."""
    return tuple(
        not (_members(reading, statistic.of[-1], values, statistic.perhaps).least > 0.0).any()
        for values in _sets(reading, statistic)
    )


def _sets(reading: Reading, statistic: Statistic) -> list[tuple[int, ...]]:
    """The set requested, or every value on its own."""
    if statistic.values or statistic.perhaps is not None:
        return [statistic.values]
    return [(value,) for value in range(reading.values(statistic.of[-1]).possible.shape[1])]


def _members(reading: Reading, column: int, values: tuple[int, ...], perhaps: tuple[int, ...] | None = None) -> Members:
    """Records in the set: at least those of its values, at most those of the values that may be in it too."""
    sets = reading.values(column)
    inside = np.zeros(sets.possible.shape[1], dtype=np.bool_)
    inside[list(values)] = True
    members = members_of(sets, inside, reading.counts)
    if not perhaps:
        return members
    inside[list(perhaps)] = True
    return replace(members, most=members_of(sets, inside, reading.counts).most)


def cell_of(reading: Reading, of: tuple[int, int], sets: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> Range:
    """Range of the records (or their weights) that have a value of a set in each of two columns: exact.

    Parameters
    ----------
    reading : the boxes that have both columns.
    of : the columns.
    sets : of each the codes that are in its set, and those that may be in it too.
    """
    first, second = (_members(reading, column, *each) for column, each in zip(of, sets, strict=True))
    unit = 1.0 if reading.weights is None else float(reading.weights[0] / reading.mass.of_record[0])
    count = count_range(first.both(second), reading.mass).outer
    ends = Interval(0.0, 0.0) if count is None else Interval(count.lower * unit, count.upper * unit)
    return combine(ends, ends)


def _cells(reading: Reading, statistic: Statistic, mass: Mass) -> tuple[Range, ...]:
    first, second = (reading.values(column) for column in statistic.of)
    table = cross_table(first, second, mass, reading.counts)
    unit = 1.0 if reading.weights is None else float(reading.weights[0] / mass.of_record[0])  # a power of two
    pairs = zip((table.least * unit).ravel().tolist(), (table.most * unit).ravel().tolist(), strict=True)
    return tuple(combine(Interval(least, most), Interval(least, most)) for least, most in pairs)


def _cell_guesses(reading: Reading, statistic: Statistic) -> tuple[Guess, ...]:
    """Counts; none of a cell of fewer than k records (by its estimate): that would be about single persons."""
    first, second = (reading.shares(column) for column in statistic.of)
    sets = [reading.values(column) for column in statistic.of]
    weight = reading.counts if reading.weights is None else reading.counts * reading.weights
    value = (first * weight[:, None]).T @ second
    records = value if reading.weights is None else (first * reading.counts[:, None]).T @ second
    possible = _both(sets[0].possible, sets[1].possible, weight)
    certain = _both(sets[0].alone, sets[1].alone, weight)
    delta = 0.5 * (possible - certain)
    enough = records >= reading.meaning.least
    rows = zip(value.ravel().tolist(), delta.ravel().tolist(), enough.ravel().tolist(), strict=True)
    return tuple(Guess(v, d) if ok else Guess(None, None) for v, d, ok in rows)


def _both(first: BoolArray, second: BoolArray, weight: FloatArray) -> FloatArray:
    return np.asarray((first * weight[:, None]).T @ second.astype(np.float64))


def _domain_guess(reading: Reading, statistic: Statistic, held: FloatArray, is_open: BoolArray) -> Guess:
    """Mean of the expected values, each as probable as its record is in the set."""
    share = reading.share * held
    p = float(share.sum())
    if p == 0.0 or _too_few(reading, statistic, held):
        return Guess(None, None)
    side = reading.side(Axis(statistic.of[0]))
    y = side.expected.mean
    theta = float(share @ y) / p
    half = 0.5 * (side.upper - side.lower)
    delta = float(share @ half + 0.5 * (reading.share * is_open) @ np.abs(y - theta)) / p
    return Guess(theta, delta)


def _too_few(reading: Reading, statistic: Statistic, held: FloatArray) -> bool:
    """Least frequency k, and the p %-rule at expected values.

    By the rule what remains next to the two largest is at least p % of the largest. Who has
    the second largest would otherwise know the largest within p %.
    """
    number = reading.counts * held
    if float(number.sum()) < reading.meaning.least:
        return True
    if reading.meaning.percentage == 0.0:
        return False
    size = np.abs(reading.side(Axis(statistic.of[0])).expected.mean)
    order = np.argsort(-np.where(number > 0.0, size, -1.0), kind="stable")
    first = float(size[order[0]])
    total, left = float(number @ size), 2.0
    for b in order[:2]:
        taken = min(left, float(number[b]))
        total, left = total - taken * float(size[b]), left - taken
    return total < 0.01 * reading.meaning.percentage * first


def _quantile_guess(reading: Reading, statistic: Statistic) -> Guess:
    """The quantile of the expected values; Delta is the mean half-width of the boxes about it."""
    p = 0.5 if statistic.p is None else statistic.p
    side = reading.side(Axis(statistic.of[0]))
    order = np.argsort(side.expected.mean, kind="stable")
    after = np.cumsum(reading.share[order])
    place = min(int(np.searchsorted(after, p)), len(order) - 1)
    about = np.maximum(np.minimum(after, p + _ABOUT) - np.maximum(after - reading.share[order], p - _ABOUT), 0.0)
    half = 0.5 * (side.upper - side.lower)[order]
    value = float(side.expected.mean[order][place])
    delta = float(about @ half) / float(about.sum())
    lattice = reading.meaning.lattice(statistic.of[0]) or reading.meaning.probable_step(statistic.of[0])
    if isinstance(lattice, tuple):
        return Guess(min(lattice, key=lambda label: abs(label - value)), delta)
    return Guess(value if lattice is None else lattice * round(value / lattice), delta)
