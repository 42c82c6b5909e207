"""What a specification of `uncertain` asks of the calibration: of the release, and of whoever calibrates again."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.uncertain import UncertainSpec
from workers.algorithms.uncertain.calibration.state import CalibrationRequest
from workers.algorithms.uncertain.density.scaling import units
from workers.frames.records import Records, complete_records


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
        model=spec.model.value,
        scales=spec.scales.value,
        scaling=spec.scaling.value,
        dismiss=spec.dismiss or 0.0,
        cell_size=spec.cell_size,
        minimum_scale=_minimum(spec, values, k),
        threads=threads,
    )


def wanted(path: Path, spec: UncertainSpec, records: Records) -> float | NDArray[np.float64]:
    """The k of all records, or of each, read from a dataset that has the records."""
    if spec.k_column is None:
        return spec.k or 1.0
    own = complete_records(path, [spec.k_column]).values[:, 0]
    return np.ascontiguousarray(own[records.rows])


def _minimum(spec: UncertainSpec, values: NDArray[np.float64], k: float | NDArray[np.float64]) -> float:
    """Least scale in scaled units, such that no column's is below what was asked: noise keeps its proportions."""
    asked = spec.minimum_scale
    least = [asked.get(name, 0.0) if isinstance(asked, dict) else asked for name in spec.columns]
    return float((np.array(least) / units(values, k)).max())
