"""The stages for columns of all kinds: who takes part, cuts, bounds, certificates.

Notation as in boxes.costs and mixed.admission. A request that is `plain` goes through boxes.stages instead.
"""

from dataclasses import replace

import numpy as np

from surebox_verify.boxes import Meaning
from surebox_verify.core.errors import UndefinedStatisticError
from surebox_verify.core.influence import Influences, half_width_sums, influences, no_influences
from surebox_verify.core.moments import Moments, inflation, moments
from surebox_verify.core.statistics import OF_MOMENTS, Statistic, components, undefined_because
from surebox_verify.core.types import FloatArray
from surebox_verify.estimates import Estimate, affordable, estimates, reading_steps
from surebox_verify.readings import Readings
from workers.algorithms.boxes import costs as costing
from workers.algorithms.boxes.charges import Records, embedded, sides
from workers.algorithms.boxes.partition.mixed import partition as cutting
from workers.algorithms.boxes.partition.mixed.admission import admit
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.published import published, with_content
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import (
    BoxesOutcome,
    BoxesRequest,
    Certificate,
    Checked,
    Chosen,
    Finished,
    Mixed,
    MixedCertifying,
    MixedCutting,
)
from workers.algorithms.boxes.tiles import mixed_cells, mixed_tight
from workers.algorithms.boxes.uncertainty import statistical_uncertainty


def begin(state: Checked) -> MixedCutting:
    """Leave out who can be in no box, see what the statistics depend on, and start to cut."""
    x, request = state.x, state.request
    width = np.array([column.minimum_width for column in request.columns] or [0.0] * x.shape[1])
    given = admit(
        x, request.nominal, request.demands, request.k, request.suppress_at_most, width, patterns=request.patterns
    )
    survey = None if request.survey is None else request.survey[given.rows]
    request = replace(request, nominal=given.nominal, demands=given.demands, survey=survey)
    share = np.full(len(given.rows), 1.0 / len(given.rows)) if survey is None else survey / survey.sum()
    dummies = _dummies(request, x.shape[1])
    at = pairwise(embedded(given.x, given.nominal, dummies), share, request.ddof)
    records = Records(given.x, given.nominal, share, at, request.k / len(given.rows), survey, dummies)
    field = _derivatives(request.statistics, records)
    asked = sides(request.statistics, records)
    floored = costing.with_floor(asked, field, request.statistics, records, request.floor)
    worth, _ = costing.costs(floored, field, records, weighted=survey is not None)
    cuts = cutting.init(
        given.x,
        given.nominal,
        k=request.k,
        costs=worth,
        method=request.partition,
        demands=given.demands,
        groups=given.groups,
        minimum_width=width,
        everywhere=request.bounds != "cells",
    )
    return MixedCutting(Mixed(given, request, records, field, asked), cuts)


def pairwise(x: FloatArray, share: FloatArray, ddof: int) -> Moments:
    """Moments of each column over the records that have it, covariances over those that have both.

    Parameters
    ----------
    x : (N, n), NaN where missing.
    share : (N,), weight of each record, summing to 1.
    ddof : as in core.moments.
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
    low = np.where(there, x, np.inf).min(axis=0)
    high = np.where(there, x, -np.inf).max(axis=0)
    some = low <= high
    low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    covariance[low == high, :] = 0.0
    covariance[:, low == high] = 0.0
    return Moments(mean, covariance, low, high, inflation(len(x), ddof))


def _dummies(request: BoxesRequest, n: int) -> tuple[tuple[int, int], ...]:
    """Indicators that statistics of moments take: of all values of a nominal column but the first."""
    used = {column for one in request.statistics if one.kind in OF_MOMENTS for column in one.of if column >= n}
    return tuple((c - n, v) for c in sorted(used) for v in range(1, request.nominal[c - n].values))


def _axes(of: tuple[int, ...], records: Records) -> tuple[int, ...]:
    """Numeric columns and indicators that some columns stand for."""
    n = records.x.shape[1]
    found: list[int] = []
    for column in of:
        own = [n + place for place, (j, _) in enumerate(records.dummies) if j == column - n]
        found += [column] if column < n else own
    return tuple(found)


def _derivatives(statistics: tuple[Statistic, ...], records: Records) -> Influences:
    """Of the statistics of moments; `owner` counts among all statistics."""
    places = [index for index, one in enumerate(statistics) if one.kind in OF_MOMENTS]
    if not places:
        return no_influences(records.at)
    asked = [replace(statistics[index], of=_axes(statistics[index].of, records)) for index in places]
    try:
        field = influences(asked, records.at)
    except UndefinedStatisticError as error:
        place, n = places[error.index], records.x.shape[1]
        culprits = tuple(dict.fromkeys(c if c < n else n + records.dummies[c - n][0] for c in error.culprits))
        raise UndefinedStatisticError(place, error.kind, statistics[place].of, error.reason, culprits) from None
    return replace(field, owner=np.array(places, dtype=np.int64)[field.owner])


def cut(state: MixedCutting, rng: np.random.Generator) -> MixedCutting | MixedCertifying:
    """Grow the tree of cuts a little; when it is grown, bounds of all boxes."""
    cuts = cutting.step(state.cuts)
    if not cutting.done(cuts):
        return replace(state, cuts=cuts)
    mixed, partition = state.mixed, cutting.result(cuts)
    request, given = mixed.request, mixed.given
    keys = new_keys(given.x.shape[1] + len(given.nominal), rng) if request.keys is None else request.keys
    if request.bounds == "tight":
        boxes = mixed_tight(given.x, given.nominal, partition)
    else:
        domains = request.domains or (None,) * given.x.shape[1]
        boxes = mixed_cells(given.x, given.nominal, partition, domains, keys)
    boxes = with_content(published(boxes, given.x, request), given.x, request, keys)
    if request.survey is not None:
        boxes = replace(boxes, survey=np.bincount(boxes.box, weights=request.survey) / boxes.counts)
    delta = _delta(mixed, boxes)
    steps = tuple(column.step for column in request.columns)
    meaning = Meaning(request.bounds == "tight", steps, least=request.k)
    return MixedCertifying(mixed, boxes, delta, Readings(boxes, meaning), ())


def _delta(mixed: Mixed, boxes: Boxes) -> FloatArray:
    """Linear uncertainty of the statistics of moments at the true records."""
    records = mixed.records
    half = [np.nan_to_num(boxes.half_width)]
    half += [0.5 * (boxes.sets[j][:, v] & (boxes.sets[j].sum(axis=1) > 1))[:, None] for j, v in records.dummies]
    of_record = np.ascontiguousarray(np.column_stack(half)[boxes.box])
    everyone = np.arange(len(of_record), dtype=np.int32)
    return half_width_sums(mixed.field, records.filled, everyone, of_record, records.share)


def certify(state: MixedCertifying) -> MixedCertifying | Finished:
    """The certificate of the next statistic, a little further."""
    request, index = state.mixed.request, len(state.certificates)
    statistic = request.statistics[index]
    effort = affordable(statistic, request.statistics, len(state.boxes.counts))
    steps = state.ranges or reading_steps(statistic, state.readings, effort, request.ddof)
    steps.step()
    if steps.found is None:
        return replace(state, ranges=steps)
    return _certified(state, estimates(statistic, state.readings, steps.found, request.ddof))


def _certified(state: MixedCertifying, found: tuple[Estimate, ...]) -> MixedCertifying | Finished:
    """One more certificate, and the outcome after the last."""
    mixed, index = state.mixed, len(state.certificates)
    statistic, field = mixed.request.statistics[index], mixed.field
    own = field.owner == index
    omega = (
        field.omega[own] if own.any() else np.full(len(found), np.nan if statistic.weight is None else statistic.weight)
    )
    values = true_values(statistic, mixed.records, mixed.request.ddof, field.values[own].tolist())
    rounded = mixed.request.survey is None  # ranges are about the boxes' mean weights, values about the records' own
    true = tuple(
        part.guaranteed.clip(value) if part.guaranteed and value is not None and rounded else value
        for part, value in zip(found, values, strict=True)
    )
    left_out = len(mixed.given.rows) < mixed.given.of
    half = [None if part.linear is None else 0.5 * part.linear.width for part in found]
    certificate = Certificate(
        statistic=statistic,
        published=found,
        omega=tuple(omega),
        true_value=true,
        shift=tuple(None if value is None or left_out else 0.0 for value in true),
        delta=tuple(float(d) for d in state.delta[own]) if own.any() else tuple(half),
    )
    certificates = (*state.certificates, certificate)
    following = replace(state, certificates=certificates, ranges=None)
    return Finished(_outcome(following)) if len(certificates) == len(mixed.request.statistics) else following


def true_values(statistic: Statistic, records: Records, ddof: int, at_all: list[float]) -> list[float | None]:
    """The numbers of a statistic over the records that have its columns; None where they leave it undefined.

    Parameters
    ----------
    statistic, records : any, and N records.
    ddof : as in core.moments.
    at_all : numbers of a statistic of moments at `records.at`, which are its own where all records have its columns.
    """
    n = records.x.shape[1]
    there = np.logical_and.reduce(
        [~np.isnan(records.x[:, c]) if c < n else records.nominal[c - n].codes >= 0 for c in statistic.of]
    )
    share = records.share[there]
    if statistic.kind in OF_MOMENTS:
        if there.all():
            return [*at_all]
        whole = embedded(records.x, records.nominal, records.dummies)
        return _of_moments(statistic, whole[there][:, list(_axes(statistic.of, records))], share, ddof)
    if statistic.kind == "quantile":
        return [_quantile(records.x[there, statistic.of[0]], share, statistic.p or 0.5)]
    codes = [records.nominal[c - n].codes[there] for c in statistic.of if c >= n]
    sizes = [records.nominal[c - n].values for c in statistic.of if c >= n]
    total = float(share.sum())
    if statistic.kind == "crosstab":
        mass = share * len(records.x) if records.survey is None else records.survey[there]
        cells = np.bincount(
            codes[0].astype(np.int64) * sizes[1] + codes[1], weights=mass, minlength=sizes[0] * sizes[1]
        )
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
    local = Statistic(statistic.kind, tuple(range(x.shape[1])), 1.0)
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


def _outcome(state: MixedCertifying) -> BoxesOutcome:
    mixed, boxes = state.mixed, state.boxes
    given, records = mixed.given, mixed.records
    mass = np.bincount(boxes.box, weights=records.share, minlength=len(boxes.counts)).astype(np.float64)
    privacy = float(mixed.field.omega @ state.delta) + costing.nominal_uncertainty(mixed.asked, boxes, mass)
    if len(mixed.asked.worth):
        half = np.nan_to_num(boxes.half_width)[boxes.box]
        privacy += float(records.share @ (mixed.asked.worth * half).sum(axis=1))
    omega, deviations = costing.deviations(mixed.asked, mixed.field, records)
    effective = 1.0 / float(records.share @ records.share)
    return BoxesOutcome(
        boxes=boxes,
        chosen=Chosen(given.rows if len(given.rows) < given.of else None, mixed.field),
        privacy_uncertainty=privacy,
        asymptotic_uncertainty=None,
        statistical_uncertainty=statistical_uncertainty(omega, deviations, mixed.request.confidence, effective),
        certificates=state.certificates,
        suppressed=given.of - len(given.rows),
        blanked=given.blanked,
    )
