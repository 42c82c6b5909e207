"""One step of each stage of boxes.state: from records to influences, cuts, bounds, uncertainty and certificates.

Notation as in surebox_core.influence and partition.partition. The work of a step grows with derivatives or row values
visited, so that none takes longer than about half a second.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from surebox_core.extremes import extremes
from surebox_core.influence import (
    Influences,
    absolute_influences,
    influence_deviations,
    influence_squares,
)
from surebox_core.moments import add, begin
from surebox_core.types import FloatArray, SingleArray
from surebox_verify.boxes import Meaning
from surebox_verify.estimates import affordable, estimates, reading_steps
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.steps import RangeSteps
from surebox_verify.readings import Readings
from workers.algorithms.boxes.bounds import cells, outer_bounds, tight
from workers.algorithms.boxes.choosing import chosen
from workers.algorithms.boxes.deciding import deciding_influences, on_rungs, tempered, weighed
from workers.algorithms.boxes.half_widths import asymptotic_uncertainty
from workers.algorithms.boxes.partition import partition as cutting
from workers.algorithms.boxes.partition.places import KeyArray, new_keys
from workers.algorithms.boxes.published import bounds_of_records, with_content
from workers.algorithms.boxes.published import published as as_published
from workers.algorithms.boxes.rare.rarity import derivatives_at_records
from workers.algorithms.boxes.sides import Boxes, numbered_like
from workers.algorithms.boxes.state import (
    AnonymizationFinished,
    Anticipating,
    Averaging,
    Bounding,
    BoxesOutcome,
    BoxesRequest,
    Certificate,
    Certifying,
    Checked,
    Choosing,
    Chosen,
    Comparing,
    Cutting,
    Measuring,
    rows_of_derivatives,
)
from workers.algorithms.boxes.uncertainty import record_delta, statistical_uncertainty

STEP_DERIVATIVES: Final = 20_000_000  # computed in a step: about 0.2 s
_MULTIPLICATIONS = 600_000_000  # of a covariance, per step: about 0.2 s


def average(state: Checked | Averaging) -> Averaging | Measuring:
    """Moments of the next records; after the last one the derivatives."""
    if isinstance(state, Checked):
        table = tempered(state.seen, state.request.k, state.request.demands.persons)
        state = Averaging(state.x, state.seen, table, state.request, begin(state.x), begin(table))
    rows = max(_MULTIPLICATIONS // state.x.shape[1] ** 2, 8192) // 2
    sums, deciding = add(state.sums, state.x, rows), add(state.deciding, state.tempered, rows)
    following = replace(state, sums=sums, deciding=deciding)
    return derive(following) if sums.complete else following


def derive(state: Averaging) -> Measuring:
    """Derivatives at the moments that decide, and at the records' own."""
    request = state.request
    at = on_rungs(state.deciding.moments(request.ddof), request.domains)
    field = deciding_influences(request.statistics, at)
    cutting_field = weighed(field, request.mean_shares)
    low, high = extremes(state.seen)
    worth = cutting_field.bound(np.maximum(at.mean - low, high - at.mean)) * (high - low)
    scale = (high - low) / worth.max() if worth.max() > 0.0 else np.zeros(len(worth))
    true = derivatives_at_records(request.statistics, state.sums.moments(request.ddof), field)
    return Measuring(
        x=state.x,
        seen=state.seen,
        request=request,
        field=field,
        weighed=cutting_field,
        true=true,
        scale=scale,
        deviation=at.deviation,
        worth=np.empty((0 if _same_everywhere(field, state) else len(state.x), len(scale)), dtype=np.float32),
        squares=np.zeros((len(true.omega), 2)),
        row=0,
    )


def _same_everywhere(field: Influences, state: Averaging) -> bool:
    return field.constant or state.request.partition == "mondrian"


def measure(state: Measuring, derivatives: int) -> Measuring | Cutting:
    """Influences of the next records; after the last one the partition begins."""
    last = min(state.row + rows_of_derivatives(state.field, derivatives), len(state.x))
    state.squares[:] += influence_squares(state.true, state.x[state.row : last])
    if len(state.worth):
        state.worth[state.row : last] = absolute_influences(state.weighed, state.seen[state.row : last], state.scale)
    if last < len(state.x):
        return replace(state, row=last)
    request, seen = state.request, state.seen
    worth = _floored(state, state.worth if len(state.worth) else state.weighed.constants * state.scale)
    deviations = influence_deviations(state.squares, len(state.x))
    cell = np.array(outer_bounds(seen, request.every_domain(seen.shape[1]))) if request.bounds == "cells" else None
    cuts = cutting.init(
        seen,
        k=request.k,
        worth=worth,
        method=request.partition,
        demands=request.demands,
        effort=request.effort,
        cell=cell,
        least=request.least_widths,
        min_width=request.searched_widths,
        spikes=request.spikes,
    )
    return Cutting(state.x, seen, request, state.field, state.true, deviations, cuts)


def _floored(state: Measuring, worth: FloatArray | SingleArray) -> FloatArray | SingleArray:
    """Worth of columns that no statistic names: a_i sigma_i is a share of the least mean a_j sigma_j of those named."""
    named = {column for statistic in state.request.statistics for column in statistic.of}
    varies = (state.scale > 0.0) & (state.deviation > 0.0)
    others = [i for i in range(len(state.scale)) if i not in named and varies[i]]
    if not others or state.request.unlisted_column_weight == 0.0:
        return worth
    mean = worth if worth.ndim == 1 else worth.mean(axis=0, dtype=np.float64)
    per_sigma = [mean[j] / state.scale[j] * state.deviation[j] for j in sorted(named) if varies[j] and mean[j] > 0.0]
    least = min(per_sigma, default=0.0)
    for i in others:
        worth[..., i] = state.request.unlisted_column_weight * least * state.scale[i] / state.deviation[i]
    return worth


def cut(state: Cutting) -> Cutting | Bounding:
    """Grow the tree of cuts a little."""
    cuts = cutting.step(state.cuts)
    common = (state.x, state.seen, state.request, state.field, state.true, state.deviations)
    return Bounding(*common, cutting.result(cuts)) if cutting.done(cuts) else Cutting(*common, cuts)


def bound(state: Bounding, rng: np.random.Generator) -> Choosing | Anticipating:
    """Bounds of all boxes, and by what they are judged where rare ones are not kept."""
    request = state.request
    keys = new_keys(state.x.shape[1], rng) if request.keys is None else request.keys
    judged = boxes = _bounds(state.seen, state, keys)
    if bounds_of_records(request, state.x.shape[1]):
        boxes = numbered_like(_bounds(state.x, state, keys), judged)
    return chosen(state, with_content(boxes, state.x, request, keys), judged)


def _bounds(x: FloatArray, state: Bounding, keys: KeyArray) -> Boxes:
    """The groups' bounds by their records, the true ones or those that the search sees."""
    if state.request.bounds == "tight":
        return tight(x, state.partition)
    made = cells(x, state.partition, state.request.every_domain(x.shape[1]), keys)
    return as_published(made, x, state.request)


def anticipate(state: Anticipating, rng: np.random.Generator) -> Comparing:
    """What the optimal half-widths at the kept records' estimated density promise."""
    chosen, boxes = state.chosen, state.boxes
    weight = None if chosen.weights is None else chosen.weights[boxes.box]
    asymptotic = asymptotic_uncertainty(
        state.x, chosen.field, state.request.k, rng, weight, state.request.least_half_widths
    )
    delta = np.zeros(len(chosen.field.omega))
    return Comparing(state.x, state.request, state.true, state.deviations, boxes, chosen, asymptotic, delta, 0)


def compare(state: Comparing, derivatives: int) -> Comparing | Certifying:
    """Linear uncertainty over the next records."""
    last = min(state.row + rows_of_derivatives(state.true, derivatives), len(state.x))
    chosen = state.chosen
    state.delta[:] += record_delta(chosen.field, state.x, state.boxes, state.row, last, chosen.weights)
    common = (state.x, state.request, state.true, state.deviations, state.boxes, chosen, state.asymptotic, state.delta)
    if last < len(state.x):
        return Comparing(*common, last)
    return Certifying(*common, *_readings(state.request, state.boxes, chosen), ())


def certify(state: Certifying) -> Certifying | AnonymizationFinished:
    """The certificate of the next statistic, a little further; of a marked release about all, then about the core."""
    steps = state.ranges or _ranges(state, len(state.certificates))
    steps.step()
    if steps.ranges is None:
        return replace(state, ranges=steps)
    if state.core is not None and state.about_all is None:
        return replace(state, ranges=None, about_all=steps.ranges)
    about_all, about_core = (steps.ranges, None) if state.about_all is None else (state.about_all, steps.ranges)
    certificate = _certificate(state, len(state.certificates), about_all, about_core)
    certificates = (*state.certificates, certificate)
    if len(certificates) == len(state.request.statistics):
        return AnonymizationFinished(_outcome(state, certificates))
    return replace(state, certificates=certificates, ranges=None, about_all=None)


def _readings(request: BoxesRequest, boxes: Boxes, chosen: Chosen) -> tuple[Readings, Readings | None]:
    """Boxes as their readers will have them: all, and those of the core."""
    steps = tuple(column.step for column in request.columns)
    meaning = Meaning(request.bounds == "tight", steps, least=request.k, labels=request.labels)
    if chosen.core is None:
        return Readings(boxes, meaning, chosen.weights), None
    core = boxes.taking(np.flatnonzero(chosen.core), np.zeros(0, dtype=np.int32))
    return Readings(boxes, meaning), Readings(core, meaning)


def _ranges(state: Certifying, index: int) -> RangeSteps:
    statistics = state.request.statistics
    effort = min(affordable(statistics[index], statistics, len(state.boxes.counts)), state.request.range_passes)
    readings = state.readings if state.core is None or state.about_all is None else state.core
    return reading_steps(statistics[index], readings, effort, state.request.ddof)


def _certificate(
    state: Certifying, index: int, ranges: tuple[Range, ...], of_core: tuple[Range, ...] | None
) -> Certificate:
    statistic, ddof = state.request.statistics[index], state.request.ddof
    published = estimates(statistic, state.readings, ranges, ddof)
    kept = state.chosen.field
    own, among = kept.owner == index, state.true.owner == index
    nothing = (None,) * len(published)  # what the kept records leave undefined
    true = [
        part.guaranteed.clip(value)
        if part.guaranteed and value is not None
        else value  # the exact value is inside: only rounding goes
        for part, value in zip(published, _list(kept.values, own) or nothing, strict=True)
    ]
    return Certificate(
        statistic=statistic,
        published=published,
        omega=tuple(_list(state.true.omega, among)) or (statistic.weight or 0.0,) * len(published),
        true_value=tuple(true),
        shift=tuple((state.true.values[among] - kept.values[own]).tolist()) if own.any() and among.any() else nothing,
        delta=tuple(_list(state.delta, own)) or nothing,
        core=None if of_core is None or state.core is None else estimates(statistic, state.core, of_core, ddof),
    )


def _list(values: FloatArray, own: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[float]:
    return [float(v) for v in values[own]]


def _outcome(state: Certifying, certificates: tuple[Certificate, ...]) -> BoxesOutcome:
    chosen = state.chosen
    squares = 1.0 / len(state.x) if chosen.weights is None else float(state.boxes.counts @ chosen.weights**2)
    spread = statistical_uncertainty(state.true.omega, state.deviations, state.request.confidence, 1.0 / squares)
    return BoxesOutcome(
        boxes=state.boxes,
        chosen=chosen,
        privacy_uncertainty=float(chosen.field.omega @ state.delta),
        asymptotic_uncertainty=state.asymptotic,
        statistical_uncertainty=spread,
        certificates=certificates,
    )
