"""Demands of a specification on every box, measured in the released rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.methods.boxes.spec import BoxesSpec
from workers.algorithms.boxes.overlays import sizes
from workers.frames.classes import classes
from workers.frames.codes import Codes
from workers.methods.boxes.exposure import SensitiveExposure
from workers.methods.released.demanded import Demanded


def demanded(
    spec: BoxesSpec, kept: Any, of_row: NDArray[np.signedinteger], exposure: SensitiveExposure,
    persons: Codes | None = None,
) -> Iterator[Demanded]:  # fmt: skip
    """Return the demands k, l, alpha and t with what was measured; of sensitive columns those that `exposure` is about.

    Least distances and widths are not measured again; nor is k of persons where it is not known whose the rows are.

    Parameters
    ----------
    spec
        The request.
    kept
        Kept columns of the released rows.
    of_row
        Box of each row.
    exposure
        What boxes show of sensitive columns.
    persons
        Whose record each row is; None where each row counts, or persons of rows are not known.
    """
    if persons is not None or spec.person_column is None:
        yield from _of_k(spec, kept, of_row, None if persons is None else persons.astype(np.int64))
    for name in exposure.t:
        if spec.l is not None:
            yield Demanded(f"values of {name!r} in a box", spec.l, exposure.least_values[name])
        if spec.alpha is not None:
            yield Demanded(
                f"share of a value of {name!r} in a box", spec.alpha, exposure.largest_share[name], most=True
            )
        if spec.t is not None:
            yield Demanded(f"distance of {name!r} in a box", spec.t, exposure.t[name], most=True)


def _of_k(
    spec: BoxesSpec, kept: Any, of_row: NDArray[np.signedinteger], persons: NDArray[np.int64] | None
) -> Iterator[Demanded]:
    who = "records" if persons is None else "persons"
    boxes = np.unique(of_row, return_inverse=True)[1].astype(np.int64)
    yield Demanded(f"{who} in the smallest box", spec.k, int(sizes(boxes, persons).min()))
    if spec.k_counts_kept and spec.keep:
        own = classes(kept).astype(np.int64)
        alike = np.unique(boxes * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1].astype(np.int64)
        yield Demanded(f"{who} that agree in box and kept columns", spec.k, int(sizes(alike, persons).min()))
