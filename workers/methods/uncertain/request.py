"""What a specification of `uncertain` asks of the calibration: of the release, and of whoever calibrates again."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.methods.uncertain.spec import UncertainSpec
from surebox_core.errors import InvalidColumnError
from surebox_core.moments import LARGEST
from workers.algorithms.uncertain.calibration.state import CalibrationRequest
from workers.algorithms.uncertain.density.scaling import units
from workers.frames.records import CompleteRecords, complete_records


def request(
    spec: UncertainSpec, values: NDArray[np.float64], k: float | NDArray[np.float64], *, threads: int
) -> CalibrationRequest:
    """The calibration that a specification asks for.

    Parameters
    ----------
    spec : the specification.
    values : (M, n), records that are calibrated.
    k : one for all, or (M,).
    threads : granted.
    """
    return CalibrationRequest(
        k=k,
        model=spec.density.value,
        scales=spec.scales.value,
        scaling=spec.axes.value,
        suppress_share=spec.suppress_share or 0.0,
        cell_size=spec.cell_size,
        min_scale=_minimum(spec, values, k),
        threads=threads,
    )


def wanted(path: Path, spec: UncertainSpec, records: CompleteRecords) -> float | NDArray[np.float64]:
    """The k of all records, or of each, read from a dataset that has the records."""
    if spec.k_column is None:
        return spec.k or 1.0
    own = complete_records(path, [spec.k_column]).values[:, 0]
    return np.ascontiguousarray(own[records.rows])


def _minimum(spec: UncertainSpec, values: NDArray[np.float64], k: float | NDArray[np.float64]) -> float:
    """Least scale in scaled units, such that no column's is below its `min_scale`: noise keeps its proportions."""
    min_scale = spec.min_scale
    least = [min_scale.get(name, 0.0) if isinstance(min_scale, dict) else min_scale for name in spec.quasi_identifiers]
    with np.errstate(over="ignore"):
        scales = np.array(least) / units(values, k)
    if (scales > LARGEST).any():
        raise InvalidColumnError(int(np.argmax(scales)), "its `min_scale` is far beyond its values; name a smaller one")
    return float(scales.max())
