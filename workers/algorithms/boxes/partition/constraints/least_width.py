"""Least width of boxes: the records of a box span at least so much of a column (kernel).

Definition. `min_width` of a column is the least distance between the published bounds of a box. It is no model of the
literature but a floor under what bounds state about a number, as `min_separation` is for sensitive ones (l_diversity).

Derivation. The published bounds contain the extremes of the box's records, so records that span the width suffice.
Bounds that follow the records (`tight`, `grid`) shrink with any cut: all columns are looked at (`everywhere`). Cells
shrink only along the column that is cut: places of such cuts are known beforehand (partition.candidates). Exact means
ask for the span of all columns as well, for a wide side does not hide records that lie at one end of it. More records
never span less.

With a least width w the search asks for 1.2 w (of whole steps the nearest number, of orders w): at w itself bounds
would have a record near each end. `optimal` takes the mean of two predictions, sides of 1.5 w at least and what k alone
allows; by the first alone all cuts cost the same once every column is at its least.

A spike, the value that more than half of the records have, cannot be hidden by width: records that all have it may be a
box (boxes.default_widths).

science.md section 5, "Cuts".
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.boxes.partition.selection import spans


@inner_kernel
def is_wide(
    extent: FloatArray,
    everywhere: bool,
    rows: FloatArray,
    base: int,
    line: IndexArray,
    s: int,
    e: int,
    axis: int,
) -> bool:
    """Test that columns span their least width or have the spike alone: all, or the one cut (`axis`, -1 for all)."""
    for i in range(rows.shape[1]):
        if extent[0, i] <= 0.0 or not (everywhere or i == axis or axis < 0):
            continue
        low, high = np.inf, -np.inf
        for z in range(s, e):
            value = rows[base + line[z], i]
            if value < low:
                low = value
            if value > high:
                high = value
        if high >= low and not spans(low, high, extent[0, i], extent[1, i]):
            return False
    return True
