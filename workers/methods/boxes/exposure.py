"""What boxes show of each column: widths, how often they leave one value, and what they show of sensitive ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import typed_values
from surebox_core.types import FloatArray
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.tables.homogeneity import homogeneity
from workers.frames.codes import coded_columns, numbered
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.constraints import ordered


@dataclass(frozen=True, slots=True)
class SensitiveExposure:
    """What boxes show of sensitive columns, by name."""

    share_certain: Mapping[str, float] = field(default_factory=dict)
    share_nearly_certain: Mapping[str, float] = field(default_factory=dict)
    t: Mapping[str, float] = field(default_factory=dict)


def exposure_of(path: Path, shown: Shown, rows: NDArray[np.int64], box: NDArray[np.signedinteger]) -> SensitiveExposure:
    """What boxes show of the specification's sensitive columns.

    Parameters
    ----------
    path
        The typed copy.
    shown
        The columns.
    rows, box
        The released records, and the box of each.
    """
    spec, measures = shown.spec, {}
    for name, column in zip(spec.sensitive, coded_columns(path, spec.sensitive), strict=True):
        kind = shown.types[name]
        order = typed_values(spec.ordinal[name], kind) if name in spec.ordinal else None
        codes, values = numbered(column.taking(rows), order)
        ranks = values if ordered(spec, name, kind) else None
        measures[name] = homogeneity(box.astype(np.int64), codes, ranks=ranks)
    return SensitiveExposure(
        {name: one.share_certain for name, one in measures.items()},
        {name: one.share_nearly_certain for name, one in measures.items()},
        {name: one.t for name, one in measures.items()},
    )


def side_measures(shown: Shown, boxes: Boxes) -> dict[str, Any]:
    """Mean width, share of single values and normalized certainty penalty of every column.

    Parameters
    ----------
    shown
        The columns.
    boxes
        In the specification's order.

    Notes
    -----
    science.md section 5, "Influence": NCP is width/range, or |S|/m, 0 if |S| = 1. Rows without a value do not count.
    """
    mean_width, single, ncp = {}, {}, {}
    for index, name in enumerate(shown.numeric):
        lower, upper = boxes.lower[:, index], boxes.upper[:, index]
        there = ~np.isnan(lower)
        width, counts = (upper - lower)[there], boxes.counts[there]
        extent = float(upper[there].max() - lower[there].min()) if there.any() else 0.0
        mean_width[name] = _mean(width, counts)
        single[name] = _mean((width == 0.0).astype(np.float64), counts)
        ncp[name] = mean_width[name] / extent if extent > 0.0 else 0.0
    for index, name in enumerate(shown.nominal):
        size = boxes.sets[index].sum(axis=1)
        there = size > 0
        size, counts = size[there], boxes.counts[there]
        single[name] = _mean((size == 1).astype(np.float64), counts)
        ncp[name] = _mean(np.where(size == 1, 0.0, size / boxes.sets[index].shape[1]), counts)
    return {
        "mean_width": mean_width,
        "share_single_value": _in_order(shown.spec.quasi_identifiers, single),
        "ncp": _in_order(shown.spec.quasi_identifiers, ncp),
    }


def _in_order(names: Sequence[str], by_name: Mapping[str, float]) -> dict[str, float]:
    return {name: by_name[name] for name in names}


def _mean(values: FloatArray, counts: NDArray[np.int64]) -> float:
    total = float(counts.sum())
    return float(values @ counts) / total if total else 0.0
