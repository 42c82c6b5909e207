"""An uncertain release as the densities it publishes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.methods.uncertain.spec import SCALING_UNIT
from workers.algorithms.uncertain.density.densities import Densities
from workers.frames.columns import numeric_columns
from workers.methods.context import JobContext


def released_densities(job: JobContext, *, field: str = "release_id") -> Densities:
    """The densities of the uncertain release that a field of the specification names.

    Parameters
    ----------
    job
        A job that works on the release.
    field
        The field.
    """
    release = job.releases[field]
    made = release.made
    names = made.quasi_identifiers
    read = numeric_columns(job.release_path(field), _published(names, rotated=made.axes == "rotated"))
    parts = np.ascontiguousarray(read.values).reshape(release.rows, len(names), -1)
    return Densities(
        model=made.density,
        z=np.ascontiguousarray(parts[:, :, 0]),
        scale=np.ascontiguousarray(parts[:, :, 1]),
        axes=np.ascontiguousarray(parts[:, :, 2:].transpose(0, 2, 1)) if parts.shape[2] > 2 else None,
        unit=_units(job, names, field=field),
    )


def _published(names: Sequence[str], *, rotated: bool) -> list[str]:
    extra = ["scale", *(f"axis_{i + 1}" for i in range(len(names)) if rotated)]
    return [part for name in names for part in (name, *(f"{name}_{one}" for one in extra))]


def _units(job: JobContext, names: Sequence[str], *, field: str) -> NDArray[np.float64]:
    """The published unit of each column: it is among the release's statistics."""
    statistics = job.release_statistics(field)
    units: Mapping[str, Any] = {one["of"][0]: one["estimate"] for one in statistics if one["kind"] == SCALING_UNIT}
    return np.array([float(units.get(name, 1.0)) for name in names])
