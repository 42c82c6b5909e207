"""Columns as classifiers take them: small codes, from what a sample shows of each column.

Notation
--------
==========  ========  ==============================================================================
symbol      shape     meaning
==========  ========  ==============================================================================
x           (n,)      a column: doubles (NaN where missing), or texts (None where missing)
code        (n, C)    uint8: 0 where missing, else 1 + bin of a number, or 1 + rank of a text
==========  ========  ==============================================================================

Bins of numbers are quantiles of the sample. Texts are ranked by how often the sample has them; all that it has not, or
that come after the 253rd, share a code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import FloatArray

#: Codes of one column, the missing value's among them.
CODES: Final = 255
Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class Coding:
    """How columns are coded, in their order: edges of bins, or the code of each text."""

    columns: tuple[FloatArray | dict[str, int], ...]

    @property
    def categorical(self) -> list[bool]:
        """Which columns have no order."""
        return [isinstance(one, dict) for one in self.columns]


def coding(columns: Sequence[NDArray[Any]]) -> Coding:
    """A coding made from a sample."""
    return Coding(tuple(_edges(one) if one.dtype.kind == "f" else _ranks(one) for one in columns))


def coded(how: Coding, columns: Sequence[NDArray[Any]]) -> Codes:
    """Columns as codes, (n, C) uint8."""
    out = np.zeros((len(columns[0]), len(columns)), dtype=np.uint8)
    for at, (one, values) in enumerate(zip(how.columns, columns, strict=True)):
        if isinstance(one, dict):
            known = _known(values)
            different, place = np.unique(np.where(known, values, "").astype(str), return_inverse=True)
            codes = np.array([one.get(text, CODES - 1) for text in different], dtype=np.uint8)
            out[:, at] = np.where(known, codes[place.ravel()], 0)
        else:
            out[:, at] = np.where(np.isnan(values), 0, 1 + np.searchsorted(one, values, side="right"))
    return out


def _edges(values: FloatArray) -> FloatArray:
    known = np.unique(values[np.isfinite(values)])
    if len(known) > CODES - 2:
        known = np.unique(np.quantile(values[np.isfinite(values)], np.linspace(0.0, 1.0, CODES - 1)))
    return known[1:]


def _ranks(values: NDArray[Any]) -> dict[str, int]:
    texts, counts = np.unique(values[_known(values)].astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[: CODES - 2]
    return {str(texts[place]): 1 + rank for rank, place in enumerate(order)}


def _known(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([value is not None for value in values], dtype=np.bool_)
