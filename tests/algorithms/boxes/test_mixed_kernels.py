"""What the kernels for columns of all kinds cost an installation."""

import numpy as np

from surebox_core.statistics import Statistic
from tests.algorithms.boxes.mixed_tables import Case, anonymized
from workers.algorithms.boxes.partition.mixed import candidates, growing, holding, measure, orders, widths
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn


def test_kernels_are_compiled_once() -> None:
    """Zeros, True and False are constants to numba, for which it compiles all that they are passed to once more."""
    rng = np.random.default_rng(4)
    x, codes = rng.normal(size=(300, 2)), NominalColumn(rng.integers(0, 5, 300).astype(np.int32), 5)
    for method in ("optimal", "fast"):
        request = BoxesRequest(5, (Statistic("mean", (0,)), Statistic("share", (2,))), method, nominal=(codes,))
        anonymized(Case(x, request))
    for module in (candidates, growing, holding, measure, orders, widths):
        own = [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
        kernels = [each for each in own if hasattr(each, "signatures")]
        assert [each.__name__ for each in kernels if len(each.signatures) > 1] == []
