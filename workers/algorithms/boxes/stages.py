"""One step of each stage of boxes.state: from records to influences, cuts, bounds, uncertainty and certificates.

Notation as in core.influence and boxes.partition. A step does work in proportion to derivatives or row values visited,
so that none takes longer than about half a second.
"""

import numpy as np

from workers.algorithms.boxes import partition as cutting
from workers.algorithms.boxes.bounds import cells, tight
from workers.algorithms.boxes.certificate import Certificate, affordable, estimates, ranges
from workers.algorithms.boxes.half_widths import asymptotic_uncertainty
from workers.algorithms.boxes.ranges.column import BoxColumn, box_column
from workers.algorithms.boxes.state import (
    Anticipating,
    Bounding,
    Certifying,
    Checked,
    Comparing,
    Cutting,
    Finished,
    Measuring,
    Outcome,
)
from workers.algorithms.boxes.uncertainty import record_delta, statistical_uncertainty
from workers.algorithms.core.influence import (
    Influences,
    absolute_influences,
    influence_deviations,
    influence_squares,
    influences,
)
from workers.algorithms.core.moments import moments
from workers.algorithms.core.types import FloatArray

_WORK = 30_000_000  # derivatives per step: about 0.2 s


def derive(state: Checked) -> Measuring:
    """Derivatives at the records' moments; a statistic that they leave undefined is refused here."""
    at = moments(state.x)
    field = influences(state.request.statistics, at)
    span = np.maximum(at.mean - at.low, at.high - at.mean)
    worth = field.bound(span) * (at.high - at.low)
    scale = (at.high - at.low) / worth.max() if worth.max() > 0.0 else np.zeros(len(worth))
    empty = np.empty((0 if _same_everywhere(field, state) else len(state.x), len(scale)), dtype=np.float32)
    return Measuring(
        x=state.x,
        request=state.request,
        field=field,
        scale=scale,
        worth=empty,
        squares=np.zeros((len(field.omega), 2)),
        row=0,
    )


def _same_everywhere(field: Influences, state: Checked) -> bool:
    return field.constant or state.request.partition == "mondrian"


def _rows(field: Influences) -> int:
    return max(_WORK // (len(field.beta) + len(field.quadratic) + 4 * len(field.mean)), 1024)


def measure(state: Measuring) -> Measuring | Cutting:
    """Influences of the next records; after the last one the partition begins."""
    last = min(state.row + _rows(state.field), len(state.x))
    block = state.x[state.row : last]
    state.squares[:] += influence_squares(state.field, block)
    if len(state.worth):
        state.worth[state.row : last] = absolute_influences(state.field, block, state.scale)
    if last < len(state.x):
        return Measuring(state.x, state.request, state.field, state.scale, state.worth, state.squares, last)
    request = state.request
    worth = state.worth if len(state.worth) else state.field.constants * state.scale
    deviations = influence_deviations(state.squares, len(state.x))
    cuts = cutting.init(state.x, k=request.k, worth=worth, method=request.partition, demands=request.demands)
    return Cutting(state.x, request, state.field, deviations, cuts)


def cut(state: Cutting) -> Cutting | Bounding:
    """Grow the tree of cuts a little."""
    cuts = cutting.step(state.cuts)
    if not cutting.done(cuts):
        return Cutting(state.x, state.request, state.field, state.deviations, cuts)
    return Bounding(state.x, state.request, state.field, state.deviations, cutting.result(cuts))


def bound(state: Bounding, rng: np.random.Generator) -> Anticipating:
    """Bounds of all boxes."""
    if state.request.bounds == "cells":
        domains = state.request.domains or (None,) * state.x.shape[1]
        boxes = cells(state.x, state.partition, domains, rng)
    else:
        boxes = tight(state.x, state.partition)
    return Anticipating(state.x, state.request, state.field, state.deviations, boxes)


def anticipate(state: Anticipating, rng: np.random.Generator) -> Comparing:
    """What the optimal half-widths at the estimated density promise."""
    asymptotic = asymptotic_uncertainty(state.x, state.field, state.request.k, rng)
    delta = np.zeros(len(state.field.omega))
    return Comparing(state.x, state.request, state.field, state.deviations, state.boxes, asymptotic, delta, 0)


def compare(state: Comparing) -> Comparing | Certifying:
    """Linear uncertainty over the next records."""
    last = min(state.row + _rows(state.field), len(state.x))
    state.delta[:] += record_delta(state.field, state.x, state.boxes, state.row, last)
    common = (state.x, state.request, state.field, state.deviations, state.boxes, state.asymptotic, state.delta)
    return Comparing(*common, last) if last < len(state.x) else Certifying(*common, (), ())


def certify(state: Certifying) -> Certifying | Finished:
    """Ranges of the next column's mean and variance, or the certificate of the next statistic."""
    columns, certificates = state.columns, state.certificates
    if len(columns) < state.x.shape[1]:
        columns = (*columns, _column(state, len(columns)))
    else:
        certificates = (*certificates, _certificate(state, len(certificates)))
    if len(certificates) == len(state.request.statistics):
        return Finished(_outcome(state, certificates))
    common = (state.x, state.request, state.field, state.deviations, state.boxes, state.asymptotic, state.delta)
    return Certifying(*common, columns, certificates)


def _column(state: Certifying, column: int) -> BoxColumn | None:
    if not any(column in statistic.of for statistic in state.request.statistics):
        return None
    counts = state.boxes.counts.astype(np.float64)
    return box_column(state.boxes.lower[:, column], state.boxes.upper[:, column], counts)


def _certificate(state: Certifying, index: int) -> Certificate:
    statistic = state.request.statistics[index]
    effort = affordable(state.request.statistics, len(state.boxes.counts))
    published = estimates(statistic, state.boxes, ranges(statistic, state.boxes, state.columns, effort))
    own = state.field.owner == index
    true = [
        part.guaranteed.clip(value) if part.guaranteed else value  # the exact value lies inside: only rounding goes
        for part, value in zip(published, _list(state.field.values, own), strict=True)
    ]
    return Certificate(
        statistic=statistic,
        published=published,
        omega=tuple(_list(state.field.omega, own)),
        true_value=tuple(true),
        shift=(0.0,) * len(true),
        delta=tuple(_list(state.delta, own)),
    )


def _list(values: FloatArray, own: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[float]:
    return [float(v) for v in values[own]]


def _outcome(state: Certifying, certificates: tuple[Certificate, ...]) -> Outcome:
    spread = statistical_uncertainty(state.field.omega, state.deviations, state.request.confidence, len(state.x))
    return Outcome(
        boxes=state.boxes,
        privacy_uncertainty=float(state.field.omega @ state.delta),
        asymptotic_uncertainty=state.asymptotic,
        statistical_uncertainty=spread,
        certificates=certificates,
    )
