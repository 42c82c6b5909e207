"""Kept columns next to boxes: how few rows agree in both, and which of them a demand of variety protects.

Variety protects what nobody knows of a person. A column in which nearly every row is alone is an identifier, whatever
is demanded of it (`workers.methods.released.kept`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from app.contracts.stored import demands_variety
from app.methods.boxes.spec import BoxesSpec
from workers.frames.classes import smallest_class
from workers.frames.codes import coded
from workers.methods.released.kept import nearly_unique


@dataclass(frozen=True, slots=True)
class KeptClasses:
    """Rows in the smallest class of a box and kept values.

    Attributes
    ----------
    alone : with one kept column that is not protected, by column.
    unprotected : with all of these; None where there is none.
    protected : sensitive columns of which boxes show variety, and which are no identifiers: k does not count them.
    """

    alone: Mapping[str, int] = field(default_factory=dict)
    unprotected: int | None = None
    protected: Sequence[str] = ()


def kept_classes(kept: Any, of_row: npt.NDArray[Any], spec: BoxesSpec) -> KeptClasses:
    """The smallest classes of the rows of a release.

    Parameters
    ----------
    kept : the kept columns, row by row.
    of_row : box of each row.
    spec : the request.
    """
    varied = demands_variety(spec.l, spec.t, spec.alpha)
    hidden = [name for name in spec.keep if varied and name in spec.sensitive and not _identifies(kept, name, spec.k)]
    others = [name for name in spec.keep if name not in hidden]
    return KeptClasses(
        {name: smallest_class(kept.select([name]), of_row) for name in others},
        smallest_class(kept.select(others), of_row) if others else None,
        hidden,
    )


def _identifies(kept: Any, name: str, k: int) -> bool:
    """Return whether values that fewer than k rows have are those of most rows, or nearly as many as rows."""
    counts = np.bincount(coded(kept.column(name)).codes.astype(np.int64) + 1)
    rare = counts[(counts > 0) & (counts < max(2, k))]
    return nearly_unique(float(rare.sum() / counts.sum()), float(len(rare) / counts.sum()))
