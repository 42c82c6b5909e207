"""The stages for columns of all kinds: who takes part, cuts, bounds, certificates.

Notation as in boxes.costs and partition.admission. A request that is `plain` goes through boxes.stages instead.
"""

from dataclasses import replace

import numpy as np

from surebox_core.errors import UndefinedStatisticError
from surebox_core.extremes import extremes_present
from surebox_core.influence import Influences, half_width_sums, no_influences
from surebox_core.statistics import OF_MOMENTS, Statistic
from surebox_core.types import FloatArray, IntArray
from surebox_verify.boxes import Meaning
from surebox_verify.estimates import Estimate, affordable, estimates, reading_steps
from surebox_verify.readings import Readings
from workers.algorithms.boxes import costs as costing
from workers.algorithms.boxes.charges import ChargedRecords, Sides, embedded, sides
from workers.algorithms.boxes.checks import check_left
from workers.algorithms.boxes.deciding import deciding_influences, on_rungs, tempered, weighed
from workers.algorithms.boxes.mixed_choosing import core_of, left_in
from workers.algorithms.boxes.partition import partition as cutting
from workers.algorithms.boxes.partition.admission import Admitted, admit
from workers.algorithms.boxes.partition.arrays import extents
from workers.algorithms.boxes.partition.places import KeyArray, new_keys
from workers.algorithms.boxes.published import bounds_of_records, published, with_content
from workers.algorithms.boxes.sides import Boxes, numbered_like
from workers.algorithms.boxes.state import (
    AnonymizationFinished,
    BoxesOutcome,
    BoxesRequest,
    Certificate,
    Checked,
    Chosen,
    Mixed,
    MixedCertifying,
    MixedCutting,
)
from workers.algorithms.boxes.tiles import mixed_cells, mixed_tight, outer
from workers.algorithms.boxes.uncertainty import statistical_uncertainty
from workers.algorithms.boxes.values import axes_of, derivatives, pairwise, shares, true_values
from workers.algorithms.boxes.weights import weight_intervals
from workers.algorithms.core.winsorized import winsorized


def begin(state: Checked) -> MixedCutting:
    """Leave out who can be in no box, see what the statistics depend on, and start to cut."""
    x, request = state.seen, state.request
    width = np.array([column.min_width for column in request.columns]) if request.columns else None
    extent = extents(x.shape[1], width, request.spikes)
    given = admit(
        x,
        request.nominal,
        request.demands,
        request.k,
        request.max_suppressed_classes,
        extent,
        patterns=request.patterns,
    )
    if len(given.rows) < given.of and not request.patterns:  # patterns were left out until they contain all
        check_left(given.x, request, given.demands)
    survey = None if request.survey is None else request.survey[given.rows]
    request = replace(request, nominal=given.nominal, demands=given.demands, survey=survey)
    dummies = _dummies(request, x.shape[1])
    records = _deciding_records(state, given, request, dummies)
    field = _deciding_field(request.statistics, records)
    charges = sides(request.statistics, records)
    cutting_field = weighed(field, request.mean_shares)
    floored = costing.with_floor(charges, cutting_field, request.statistics, records, request.unlisted_column_weight)
    worth, _ = costing.costs(floored, cutting_field, records, weighted=survey is not None)
    cuts = cutting.init_mixed(
        given.x,
        given.nominal,
        k=request.k,
        costs=worth,
        method=request.partition,
        demands=given.demands,
        groups=_groups(given.groups, survey) if request.weights_apart else given.groups,
        min_width=request.searched_widths,
        spikes=request.spikes,
        everywhere=not request.widths_by_cut,
        effort=request.effort,
        least=request.least_widths,
        cell=np.array(outer(given.x, request.every_domain(given.x.shape[1]))) if request.bounds == "cells" else None,
    )
    true_x = np.where(np.isnan(given.x), np.nan, state.x[given.rows])
    return MixedCutting(_mixed(given, true_x, request, field, charges, records), cuts)


def _deciding_records(
    state: Checked, given: Admitted, request: BoxesRequest, dummies: tuple[tuple[int, int], ...]
) -> ChargedRecords:
    """Records as what decides sees them: winsorized values and weights, moments on rungs."""
    persons = given.demands.persons
    survey = None
    if request.survey is not None:
        survey = _seen_weights(state.request)[given.rows]
    share = shares(survey, len(given.rows))
    table = tempered(given.x, request.k, persons)
    at = pairwise(embedded(table, given.nominal, dummies), share, request.ddof)
    at = on_rungs(at, request.every_domain(given.x.shape[1]))
    low, high = extremes_present(embedded(given.x, given.nominal, dummies))
    some = low <= high
    at = replace(at, low=np.where(some, low, 0.0), high=np.where(some, high, 0.0))
    least = request.k / len(given.rows)
    return ChargedRecords(given.x, given.nominal, share, at, least, survey, dummies, request.labels)


def _seen_weights(request: BoxesRequest) -> FloatArray:
    """Design weights of all records, winsorized as a column is."""
    whole = np.empty((0, 1)) if request.survey is None else request.survey[:, None]
    return np.asarray(winsorized(whole, request.k, request.demands.persons)[:, 0])


def _mixed(
    given: Admitted, x: FloatArray, request: BoxesRequest, deciding: Influences, charges: Sides, seen: ChargedRecords
) -> Mixed:
    """The records that take part, as they are next to as they are seen."""
    share = shares(request.survey, len(x))
    at = pairwise(embedded(x, given.nominal, seen.dummies), share, request.ddof)
    records = ChargedRecords(x, given.nominal, share, at, seen.least, request.survey, seen.dummies, request.labels)
    field = derivatives(request.statistics, records, deciding)
    return Mixed(given, x, request, records, field, charges, deciding, seen.survey)


def _groups(patterns: IntArray, survey: FloatArray | None) -> IntArray:
    """Records of one pattern of missing values and one design weight, numbered."""
    weights = np.zeros(len(patterns)) if survey is None else survey
    _, each = np.unique(weights, return_inverse=True)
    _, number = np.unique(patterns * (int(each.max()) + 1) + each, return_inverse=True)
    return np.asarray(number, dtype=np.int64)


def _weighed(boxes: Boxes, survey: FloatArray, request: BoxesRequest, judged: Boxes, key: KeyArray) -> Boxes:
    """The boxes with an interval for their mean design weight; where all of their records have one, with that.

    Where an interval ends follows from the boxes that the search sees: a value that is farther out moves none.
    """
    if not request.weights_apart:
        ends = weight_intervals(survey, judged, key, request.demands.persons)
        return replace(boxes, survey=0.5 * ends[0] + 0.5 * ends[1], survey_ends=ends)
    weights = np.empty(len(boxes.counts))
    weights[boxes.box] = survey
    return replace(boxes, survey=weights)


def _dummies(request: BoxesRequest, n: int) -> tuple[tuple[int, int], ...]:
    """Indicators that statistics of moments take: of all values of a nominal column but the first."""
    used = {column for one in request.statistics if one.kind in OF_MOMENTS for column in one.of if column >= n}
    return tuple((c - n, v) for c in sorted(used) for v in range(1, request.nominal[c - n].values))


def _deciding_field(statistics: tuple[Statistic, ...], records: ChargedRecords) -> Influences:
    """Of the statistics of moments; `owner` counts among all statistics."""
    places = [index for index, one in enumerate(statistics) if one.kind in OF_MOMENTS]
    if not places:
        return no_influences(records.at)
    moment_statistics = [replace(statistics[index], of=axes_of(statistics[index].of, records)) for index in places]
    try:
        field = deciding_influences(moment_statistics, records.at)
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
    columns = given.x.shape[1] + len(given.nominal)
    keys = new_keys(columns + 1, rng) if request.keys is None else request.keys
    judged = boxes = _bounds(given.x, given, partition, request, keys)
    if bounds_of_records(request, given.x.shape[1]):
        boxes = numbered_like(_bounds(mixed.x, given, partition, request, keys), judged)
    boxes = with_content(boxes, mixed.x, request, keys)
    if request.survey is not None and mixed.seen_weights is not None:
        seen = request.survey if request.weights_apart else mixed.seen_weights
        boxes = _weighed(boxes, request.survey, request, judged, keys[-1])
        judged = _weighed(judged, seen, request, judged, keys[-1])
    return _chosen(mixed, boxes, judged)


def _bounds(
    x: FloatArray, given: Admitted, partition: cutting.Partition, request: BoxesRequest, keys: KeyArray
) -> Boxes:
    """The groups' bounds by their records, the true ones or those that the search sees."""
    if request.bounds == "tight":
        boxes = mixed_tight(x, given.nominal, partition)
    else:
        boxes = mixed_cells(x, given.nominal, partition, request.every_domain(x.shape[1]), keys)
    return published(boxes, x, request)


def _chosen(mixed: Mixed, boxes: Boxes, judged: Boxes) -> MixedCertifying:
    """The boxes to publish and the core among them, as their readers will have them."""
    request = mixed.request
    steps = tuple(column.step for column in request.columns)
    # a box of a survey is a mass that is anywhere within its bounds: no record of the box's weight is at an end
    attained = request.bounds == "tight" and (request.survey is None or request.weights_apart)
    meaning = Meaning(attained, steps, least=request.k, labels=request.labels)
    everyone = core = marked = None
    if request.rare_records != "keep":
        kept = core_of(judged, request)
        if request.rare_records == "mark":
            marked = kept
            core = Readings(boxes.taking(np.flatnonzero(kept), np.zeros(0, dtype=np.int32)), meaning)
        else:
            everyone = mixed
            mixed, boxes = left_in(mixed, boxes, judged, kept)
    return MixedCertifying(
        mixed, boxes, _delta(mixed, boxes), Readings(boxes, meaning), (), core=core, marked=marked, everyone=everyone
    )


def _delta(mixed: Mixed, boxes: Boxes) -> FloatArray:
    """Linear uncertainty of the statistics of moments at the true records."""
    records = mixed.records
    half = [np.nan_to_num(boxes.half_width)]
    half += [0.5 * (boxes.sets[j][:, v] & (boxes.sets[j].sum(axis=1) > 1))[:, None] for j, v in records.dummies]
    of_record = np.take(np.column_stack(half), boxes.box, axis=0)
    everyone = np.arange(len(of_record), dtype=np.int32)
    return half_width_sums(mixed.field, records.filled, everyone, of_record, records.share)


def certify(state: MixedCertifying) -> MixedCertifying | AnonymizationFinished:
    """The certificate of the next statistic, a little further; of a marked release about all, then about the core."""
    request, index = state.mixed.request, len(state.certificates)
    statistic = request.statistics[index]
    readings = state.readings if state.core is None or state.estimates is None else state.core
    effort = min(affordable(statistic, request.statistics, len(state.boxes.counts)), request.range_passes)
    steps = state.ranges or reading_steps(statistic, readings, effort, request.ddof)
    steps.step()
    if steps.ranges is None:
        return replace(state, ranges=steps)
    estimated = estimates(statistic, readings, steps.ranges, request.ddof)
    if state.core is not None and state.estimates is None:
        return replace(state, ranges=None, estimates=estimated)
    if state.estimates is None:
        return _certified(state, estimated, None)
    return _certified(state, state.estimates, estimated)


def _certified(
    state: MixedCertifying, about_all: tuple[Estimate, ...], of_core: tuple[Estimate, ...] | None
) -> MixedCertifying | AnonymizationFinished:
    """One more certificate, and the outcome after the last."""
    mixed, index = state.mixed, len(state.certificates)
    statistic, field = mixed.request.statistics[index], mixed.field
    own = field.owner == index
    weight = np.nan if statistic.weight is None else statistic.weight
    omega = field.omega[own] if own.any() else np.full(len(about_all), weight)
    values = _values(mixed, index, len(about_all))
    rounded = mixed.request.survey is None  # ranges are about the boxes' mean weights, values about the records' own
    true = tuple(
        part.guaranteed.clip(value) if part.guaranteed and value is not None and rounded else value
        for part, value in zip(about_all, values, strict=True)
    )
    half = [None if part.linear is None else 0.5 * part.linear.width for part in about_all]
    certificate = Certificate(
        statistic=statistic,
        published=about_all,
        omega=tuple(omega),
        true_value=true,
        shift=_shift(state, index, values),
        delta=tuple(float(d) for d in state.delta[own]) if own.any() else tuple(half),
        core=of_core,
    )
    certificates = (*state.certificates, certificate)
    following = replace(state, certificates=certificates, ranges=None, estimates=None)
    return (
        AnonymizationFinished(_outcome(following)) if len(certificates) == len(mixed.request.statistics) else following
    )


def _values(mixed: Mixed, index: int, numbers: int) -> list[float | None]:
    """The records' numbers of a statistic."""
    known = mixed.field.values[mixed.field.owner == index].tolist() or [None] * numbers
    return true_values(mixed.request.statistics[index], mixed.records, mixed.request.ddof, known)


def _shift(state: MixedCertifying, index: int, values: list[float | None]) -> tuple[float | None, ...]:
    """All records' numbers less those of the records that are published; None where some took no part."""
    given = (state.everyone or state.mixed).given
    if len(given.rows) < given.of:
        return (None,) * len(values)
    if state.everyone is None:
        return tuple(None if value is None else 0.0 for value in values)
    before = _values(state.everyone, index, len(values))
    return tuple(None if a is None or b is None else a - b for a, b in zip(before, values, strict=True))


def _outcome(state: MixedCertifying) -> BoxesOutcome:
    mixed, boxes = state.mixed, state.boxes
    given, records = (state.everyone or mixed).given, mixed.records
    rows = mixed.given.rows
    mass = np.bincount(boxes.box, weights=records.share, minlength=len(boxes.counts)).astype(np.float64)
    privacy = float(mixed.field.omega @ state.delta) + costing.nominal_uncertainty(mixed.charges, boxes, mass)
    if len(mixed.charges.worth):
        half = np.nan_to_num(boxes.half_width)[boxes.box]
        privacy += float(records.share @ (mixed.charges.worth * half).sum(axis=1))
    omega, deviations = costing.deviations(mixed.charges, mixed.field, records)
    effective = 1.0 / float(records.share @ records.share)
    return BoxesOutcome(
        boxes=boxes,
        chosen=Chosen(rows if len(rows) < given.of else None, mixed.field, core=state.marked),
        privacy_uncertainty=privacy,
        asymptotic_uncertainty=None,
        statistical_uncertainty=statistical_uncertainty(omega, deviations, mixed.request.confidence, effective),
        certificates=state.certificates,
        suppressed=given.of - len(given.rows),
        blanked=mixed.given.blanked,
    )
