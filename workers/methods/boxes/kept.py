"""Kept columns next to boxes: how few rows agree in both, and which of them a demand of variety protects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from app.contracts.stored import demands_variety
from app.methods.boxes.spec import BoxesSpec
from workers.frames.classes import smallest_class


@dataclass(frozen=True, slots=True)
class KeptClasses:
    """Rows in the smallest class of a box and kept values.

    Attributes
    ----------
    alone : with one kept column, by column.
    unprotected : with all kept columns that `l`, `t` and `alpha` are not about; None where there is none.
    """

    alone: Mapping[str, int] = field(default_factory=dict)
    unprotected: int | None = None


def protected(spec: BoxesSpec) -> Sequence[str]:
    """Sensitive columns of which boxes show variety: what is protected is not what k counts."""
    demanded = demands_variety(spec.l, spec.t, spec.alpha)
    return [name for name in spec.keep if name in spec.sensitive] if demanded else []


def kept_classes(kept: Any, of_row: npt.NDArray[Any], spec: BoxesSpec) -> KeptClasses:
    """The smallest classes of the rows of a release.

    Parameters
    ----------
    kept : the kept columns, row by row.
    of_row : box of each row.
    spec : the request.
    """
    hidden = protected(spec)
    others = [name for name in spec.keep if name not in hidden]
    return KeptClasses(
        {name: smallest_class(kept.select([name]), of_row) for name in spec.keep},
        smallest_class(kept.select(others), of_row) if others else None,
    )
