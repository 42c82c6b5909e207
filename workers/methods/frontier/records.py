"""The best box about each record, by XF slide 8 and, with `l`, slides 11 and 12: which records are rare, and why."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.contracts.statistics import Statistic
from app.methods.boxes.spec import BoxesSpec
from app.methods.frontier.spec import (
    FrontierRecords,
    FrontierSpec,
    RecordHalfWidths,
    measured_columns,
    measured_statistics,
)
from surebox_core.errors import UndefinedStatisticError
from surebox_core.influence import Influences, influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic as CoreStatistic
from surebox_verify.released.intervals import number_of
from workers.algorithms.boxes.half_widths import Surroundings, surroundings
from workers.frames.columns import numeric_columns
from workers.methods.context import JobContext

_LISTED = 1_000
_AT_ONCE = 20_000  # records between two ticks
_LARGEST = 700.0  # logarithm of the largest number


def rare_records(job: JobContext, spec: FrontierSpec) -> FrontierRecords | None:
    """Half-widths, c and density of the records that a specification names.

    Parameters
    ----------
    job : gives the dataset, and hears of the progress.
    spec : with `records`.

    Notes
    -----
    science.md section 1, "Half-widths around a point". Records that lack one of the columns are left out.
    """
    first = spec.at(spec.k[0])
    names = measured_columns(first, job.datasets["dataset_id"].profile)
    values = numeric_columns(job.dataset_path(), names).values
    complete = np.flatnonzero(~np.isnan(values).any(axis=1))
    x = np.ascontiguousarray(values[complete])
    chosen = np.arange(len(x))
    if spec.records is not None and spec.records != "all":
        chosen = np.flatnonzero(np.isin(complete, spec.records))
    field = _influences(measured_statistics(first, names), names, x)
    if field is None or not len(chosen):
        return None
    parts: list[Surroundings] = []
    for start in range(0, len(chosen), _AT_ONCE):
        job.tick(0.98, "records")
        near = surroundings(x, field, np.random.default_rng(0), chosen[start : start + _AT_ONCE])
        if near is None:
            return None
        parts.append(near[0])
    return _records(parts, first, names, complete[chosen])


def _influences(statistics: Sequence[Statistic], names: Sequence[str], x: NDArray[np.float64]) -> Influences | None:
    """Derivatives of those that the records leave defined; None of none."""
    place = {name: index for index, name in enumerate(names)}
    at = moments(x) if len(x) else None
    defined = []
    for one in statistics:
        where = tuple(float(number_of(value)) for value in one.at or ())
        core = CoreStatistic(one.kind.value, tuple(place[name] for name in one.of), one.weight, at=where)
        try:
            if at is not None:
                influences([core], at)
                defined.append(core)
        except UndefinedStatisticError:
            continue
    return influences(defined, at) if defined and at is not None else None


def _records(
    parts: Sequence[Surroundings], spec: BoxesSpec, names: Sequence[str], rows: NDArray[np.int64]
) -> FrontierRecords:
    """The rarest first; nothing of it follows the order of the rows but their numbers."""
    one = parts[0]
    used = [name for name, is_used in zip(names, one.used, strict=True) if is_used]
    c = np.concatenate([part.c(spec.k) for part in parts]) * one.largest
    log_density = np.concatenate([part.log_density for part in parts])
    least = 0.5 * (spec.l or 0) * np.array([spec.min_separation.get(name, 0.0) for name in used]) / one.unit
    half = np.concatenate([part.half_widths(spec.k, least) for part in parts]) * one.unit
    median = float(np.median(c))
    by_density = np.exp((np.median(log_density) - log_density) / len(used))
    in_units = log_density - np.log(one.unit).sum()
    listed = [
        RecordHalfWidths(
            row=int(rows[place]),
            c=float(c[place]),
            density=float(np.exp(in_units[place])) if in_units[place] < _LARGEST else None,
            half_widths=dict(zip(used, half[place].tolist(), strict=True)),
            rare_by_density=float(by_density[place]),
            rare_by_influence=_ratio(float(c[place]), median * float(by_density[place])),
        )
        for place in np.lexsort((rows, -c))[:_LISTED]
    ]
    return FrontierRecords(k=spec.k, measured=len(rows), median_c=median, listed=tuple(listed))


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0.0 else 1.0
