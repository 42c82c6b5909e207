"""Moments and true values of statistics over records of all kinds of columns. Restricted, all of it.

Notation as in boxes.charges. A statistic is about the records that have its columns.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from surebox_core.extremes import extremes_present
from surebox_core.influence import Influences, influences, no_influences
from surebox_core.moments import Moments, inflation, moments
from surebox_core.statistics import OF_MOMENTS, Statistic, components, undefined_because
from surebox_core.types import FloatArray
from workers.algorithms.boxes.charges import ChargedRecords, embedded


def shares(survey: FloatArray | None, records: int) -> FloatArray:
    """(N,), weight of each record, summing to 1; `survey` are design weights, None for equal ones."""
    return np.full(records, 1.0 / records) if survey is None else survey / survey.sum()


def pairwise(x: FloatArray, share: FloatArray, ddof: int) -> Moments:
    """Moments of each column over the records that have it, covariances over those that have both.

    Parameters
    ----------
    x : (N, n), NaN where missing.
    share : (N,), weight of each record, summing to 1.
    ddof : as in surebox_core.moments.
    """
    there = ~np.isnan(x)
    if there.all() and x.shape[1]:
        equal = bool((share == share[0]).all())
        return moments(x, None if equal else share, ddof)
    mass = share @ there
    filled = np.where(there, x, 0.0)
    mean = np.divide(share @ filled, mass, out=np.zeros(len(mass)), where=mass > 0.0)
    u = np.where(there, x - mean, 0.0)
    together = (there * share[:, None]).T @ there
    second = (u * share[:, None]).T @ u
    covariance = np.divide(second, together, out=np.zeros_like(second), where=together > 0.0)
    low, high = extremes_present(x)
    some = low <= high
    low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    covariance[low == high, :] = 0.0
    covariance[:, low == high] = 0.0
    return Moments(mean, covariance, low, high, inflation(len(x), ddof))


def axes_of(of: tuple[int, ...], records: ChargedRecords) -> tuple[int, ...]:
    """Numeric columns and indicators that some columns represent.

    Parameters
    ----------
    of : columns, nominal ones numbered after the numeric ones.
    records : whose `dummies` the indicators are.
    """
    n = records.x.shape[1]
    axes: list[int] = []
    for column in of:
        own = [n + place for place, (j, _) in enumerate(records.dummies) if j == column - n]
        axes += [column] if column < n else own
    return tuple(axes)


def derivatives(statistics: Sequence[Statistic], records: ChargedRecords, deciding: Influences) -> Influences:
    """Derivatives of the statistics of moments that the records leave defined, at their own moments.

    Parameters
    ----------
    statistics : all that are requested.
    records : with their moments.
    deciding : of all statistics of moments, at the moments that decide; its weights are used, so that uncertainties are
        in one unit whichever records stay.
    """
    places, defined = [], []
    for index, one in enumerate(statistics):
        if one.kind in OF_MOMENTS:
            local = replace(one, of=axes_of(one.of, records), weight=1.0)
            if undefined_because(local, records.at) is None:
                places.append(index)
                defined.append(local)
    if not defined:
        return no_influences(records.at)
    known = np.isin(deciding.owner, places)
    return replace(influences(defined, records.at), omega=deciding.omega[known], owner=deciding.owner[known])


def true_values(
    statistic: Statistic, records: ChargedRecords, ddof: int, at_all: list[float | None]
) -> list[float | None]:
    """The numbers of a statistic over the records that have its columns; None where they leave it undefined.

    Parameters
    ----------
    statistic, records : any, and N records.
    ddof : as in surebox_core.moments.
    at_all : numbers of a statistic of moments at `records.at`, which are its own where all records have its columns;
        None where they are undefined there.
    """
    n = records.x.shape[1]
    there = np.logical_and.reduce(
        [~np.isnan(records.x[:, c]) if c < n else records.codes(c) >= 0 for c in statistic.of]
    )
    share = records.share[there]
    if statistic.kind in OF_MOMENTS:
        if there.all():
            return [*at_all]
        whole = embedded(records.x, records.nominal, records.dummies)
        return _of_moments(statistic, whole[there][:, list(axes_of(statistic.of, records))], share, ddof)
    if statistic.kind == "quantile":
        return [_quantile(records.x[there, statistic.of[0]], share, statistic.p or 0.5)]
    about = statistic.of[-1:] if statistic.kind == "domain_mean" else statistic.of
    codes, sizes = [records.codes(c)[there] for c in about], [records.size(c) for c in about]
    total = float(share.sum())
    if statistic.kind == "crosstab":
        mass = share * len(records.x) if records.survey is None else records.survey[there]
        cells = np.bincount(codes[0] * sizes[1] + codes[1], weights=mass, minlength=sizes[0] * sizes[1])
        return [float(each) for each in cells]
    weight = share if statistic.kind == "share" else share * records.x[there, statistic.of[0]]
    above = np.bincount(codes[-1], weights=weight, minlength=sizes[-1])
    of = np.bincount(codes[-1], weights=share, minlength=sizes[-1])
    if statistic.values:
        chosen = list(statistic.values)
        above, of = above[[chosen]].sum(axis=1), of[[chosen]].sum(axis=1)
    if statistic.kind == "share":
        return [float(each / total) if total > 0.0 else None for each in above]
    return [float(a / b) if b > 0.0 else None for a, b in zip(above, of, strict=True)]


def _of_moments(statistic: Statistic, x: FloatArray, share: FloatArray, ddof: int) -> list[float | None]:
    local = Statistic(statistic.kind, tuple(range(x.shape[1])), 1.0, at=statistic.at)
    numbers = x.shape[1] if statistic.kind == "regression" else 1
    if len(x) == 0:
        return [None] * numbers
    at = moments(x, None if bool((share == share[0]).all()) else share, ddof)
    if undefined_because(local, at) is not None:
        return [None] * numbers
    return [part.value for part in components(local, at)]


def _quantile(values: FloatArray, share: FloatArray, p: float) -> float | None:
    if len(values) == 0:
        return None
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(share[order])
    place = int(np.searchsorted(mass, p * mass[-1] * (1.0 - 1e-12)))
    return float(values[order[min(place, len(values) - 1)]])
