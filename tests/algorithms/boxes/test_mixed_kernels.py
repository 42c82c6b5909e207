"""What the kernels for columns of all kinds cost an installation."""

import subprocess
import sys
from typing import Any

import numpy as np
from numba.types import Array

from surebox_core.compiling.inner_kernels import InnerKernel
from surebox_core.compiling.references import Reference
from surebox_core.statistics import Statistic
from tests.algorithms.boxes.mixed_tables import Case, anonymized
from tests.meta.project import ROOT
from workers.algorithms.boxes.partition import candidates, fixed, gain, orders, search, tree
from workers.algorithms.boxes.partition.arrays import MixedRecords, MixedSide, ValueOrders
from workers.algorithms.boxes.partition.constraints import holding, k_anonymity, l_diversity
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn

MIXED = (MixedRecords, MixedSide, ValueOrders)


def test_kernels_are_compiled_once() -> None:
    """In a process of its own: other tests call kernels with whatever they need."""
    code = f"from {__name__} import count; count()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def count() -> None:
    """For numbers alone, and for columns of all kinds.

    Zeros, True and False are constants to numba, for which it compiles all that they are passed to once more.
    """
    rng = np.random.default_rng(4)
    x, codes = rng.normal(size=(300, 2)), NominalColumn(rng.integers(0, 5, 300).astype(np.int32), 5)
    for method in ("optimal", "fast"):
        request = BoxesRequest(5, (Statistic("mean", (0,)), Statistic("share", (2,))), method, nominal=(codes,))
        anonymized(Case(x, request))
    for module in (candidates, fixed, gain, holding, k_anonymity, l_diversity, orders, search, tree):
        own = [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
        for each in (one for one in own if hasattr(one, "signatures")):
            kinds = [
                any(getattr(given, "instance_class", None) in MIXED for given in signature)
                for signature in each.signatures
            ]
            assert (each.__name__, kinds.count(True) > 1, kinds.count(False) > 1) == (each.__name__, False, False)
            assert not any(of_a_reference(each, kernel) for kernel in each.overloads.values()), each.__name__


def of_a_reference(dispatcher: Any, kernel: Any) -> bool:
    """Whether Python gets arrays of a tuple that was passed by reference, which nothing would keep alive."""
    returned = kernel.signature.return_type
    arrays = [returned, *getattr(returned, "types", ())]
    return (
        not isinstance(dispatcher, InnerKernel)
        and any(isinstance(each, Reference) for each in kernel.signature.args)
        and any(isinstance(each, Array) for each in arrays)
    )
