"""Cells as they are published: drawn in where snug bounds are asked for, whole where values are, numbered.

Notation as in boxes.bounds.
"""

from surebox_verify.core.types import FloatArray
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes, NumericColumn
from workers.algorithms.boxes.snug import snug
from workers.algorithms.boxes.tiles import numbered, on_grid, outer


def published(boxes: Boxes, x: FloatArray, request: BoxesRequest) -> Boxes:
    """Bounds as they are published.

    Parameters
    ----------
    boxes : half-open cells, or tight bounds, which stay.
    x : (N, n) their records, NaN where missing.
    request : `bounds`, `columns`, `nominal` of these records, `domains`, `snug_records`.
    """
    if request.bounds == "tight":
        return numbered(boxes)
    n = x.shape[1]
    corners = outer(x, request.domains or (None,) * n)
    columns = request.columns or (NumericColumn(),) * n
    if request.bounds == "snug":
        boxes = snug(boxes, x, columns, request.nominal, corners, request.snug_records)
    return numbered(on_grid(boxes, [column.step for column in columns], corners[1]))
