"""Array types that the algorithms share."""

from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
IndexArray: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]
ByteArray: TypeAlias = NDArray[np.uint8]

#: np.int64, to be used in kernels. A plain 0 is a constant to numba, for which it compiles every kernel that it is
#: passed to once more.
whole = cast("Callable[[float], int]", np.int64)
#: np.bool_, likewise: True and False are constants too.
truth = cast("Callable[[bool], bool]", np.bool_)
