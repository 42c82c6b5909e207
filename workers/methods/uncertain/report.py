"""What an uncertain release and its job state in words and numbers: result, public statistics, flags, schema."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import SuppressedRecords
from app.contracts.flags import Flag, raised
from app.methods.uncertain.spec import Anonymity, ScaleSharing, UncertainResult, UncertainSpec
from workers.algorithms.uncertain.calibration.state import Calibrated
from workers.algorithms.uncertain.density.densities import Densities
from workers.frames.records import CompleteRecords
from workers.methods.released.demanded import Demanded, verdict

_SPEC = frozenset({
    "method", "quasi_identifiers", "k", "k_column", "density", "scales", "suppress_share", "axes", "min_scale",
    "domains", "keep",
})  # fmt: skip


def result(
    spec: UncertainSpec,
    records: CompleteRecords,
    calibrated: Calibrated,
    *,
    demands: Sequence[Demanded],
    expected: tuple[Anonymity, float],
    release_number: int,
    with_kept: Anonymity | None,
    all_releases: Anonymity | None,
) -> dict[str, Any]:
    """The job's whole result.

    Parameters
    ----------
    spec : the specification.
    records : the complete records.
    calibrated : their densities.
    demands : what was demanded, as measured.
    expected : anonymity, and by how much the true one may exceed it.
    release_number : 1 for the first release of these data.
    with_kept : among records with the same kept columns, where any are kept.
    all_releases : given all releases of these data, where this is not the first.
    """
    made = UncertainResult(
        **verdict("uncertain", demands),
        records=records.total,
        released=len(calibrated.rows),
        suppressed=SuppressedRecords(
            missing=records.total - len(records.rows), rare=len(records.rows) - len(calibrated.rows)
        ),
        k=None if spec.k_column is not None else spec.k,
        density=spec.density,
        scales=spec.scales,
        axes=spec.axes,
        expected_anonymity=expected[0],
        certified_error=expected[1],
        zero_scale_records=calibrated.zero_scale,
        mean_scale=dict(zip(spec.quasi_identifiers, calibrated.scale.mean(axis=0).tolist(), strict=True)),
        cell_count=calibrated.cells,
        expected_anonymity_with_kept=with_kept,
        release_number=release_number,
        expected_anonymity_of_all_releases=all_releases,
    )
    return made.model_dump(mode="json")


def public_parameters(spec: UncertainSpec, unit: NDArray[np.float64], *, rows: int) -> dict[str, Any]:
    """What a release of so many rows may state about how it was made.

    The cells' size follows from the largest k where records have their own, and from the number of complete records
    where 8 k are more: neither is anyone's business. A cell with all that is released has no size worth telling.
    """
    shown = _SPEC - {"k"} if spec.k_column is not None else _SPEC
    if spec.k_column is None and (spec.cell_size is None or spec.cell_size < rows):
        shown |= {"cell_size"}
    return spec.model_dump(mode="json", include=set(shown)) | {
        "scaling_units": dict(zip(spec.quasi_identifiers, unit.tolist(), strict=True))
    }


def flags(spec: UncertainSpec, scale: NDArray[np.float64], *, release_number: int) -> list[Flag]:
    """What a reader of the release must know."""
    return raised(
        {
            Flag.SCALES_PER_RECORD: spec.scales is ScaleSharing.PER_RECORD,
            Flag.ZERO_SCALE: bool((scale == 0.0).any()),
            Flag.RARE_RECORDS_SUPPRESSED: bool(spec.suppress_share),
            Flag.KEPT_COLUMNS_NOT_COUNTED: bool(spec.keep),
            Flag.REPEATED_RELEASE: release_number > 1,
        }
    )


def release_columns(spec: UncertainSpec, densities: Densities) -> dict[str, NDArray[Any]]:
    """One row a record: where its density is centred, how wide it is and, rotated, along which axes."""
    columns: dict[str, NDArray[Any]] = {}
    for index, name in enumerate(spec.quasi_identifiers):
        columns[name] = np.ascontiguousarray(densities.z[:, index])
        columns[f"{name}_scale"] = np.ascontiguousarray(densities.scale[:, index])
        if densities.axes is not None:
            for axis in range(len(spec.quasi_identifiers)):
                columns[f"{name}_axis_{axis + 1}"] = np.ascontiguousarray(densities.axes[:, axis, index])
    return columns
