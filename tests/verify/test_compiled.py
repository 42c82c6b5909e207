"""How kernels are declared: those that only kernels call have no way in from Python."""

import re
from pathlib import Path

import numba
import numpy as np
import pytest

from surebox_verify.core.compiled import InnerKernel, inner_kernel, kernel

ROOT = Path(__file__).parents[2]


@inner_kernel
def tenfold(x: float) -> float:
    return 10.0 * x


@kernel
def sum_of_tenfolds(values: np.ndarray) -> float:
    total = 0.0
    for each in values:
        total += tenfold(each)
    return total


def test_an_inner_kernel_is_compiled_without_a_way_in_from_python() -> None:
    assert sum_of_tenfolds(np.array([1.0, 2.5])) == 35.0
    tenfold.compile((numba.float64,))  # type: ignore[attr-defined]  # a kernel that was found compiled needs none of those it calls
    for made, has_way in [(tenfold, False), (sum_of_tenfolds, True)]:
        (compiled,) = made.overloads.values()
        described = compiled.fndesc
        assert bool(compiled.library.get_pointer_to_function(described.llvm_cpython_wrapper_name)) == has_way
        assert not compiled.library.get_pointer_to_function(described.llvm_cfunc_wrapper_name)


def test_a_call_from_python_is_refused() -> None:
    with pytest.raises(TypeError, match="tenfold is called by kernels only: declare it with `kernel`"):
        tenfold(1.0)


def test_options_are_numbas() -> None:
    quotient = inner_kernel(error_model="numpy")(lambda x, y: x / y)
    by_zero = kernel(error_model="numpy")(lambda x: quotient(x, 0.0))
    assert isinstance(quotient, InnerKernel)
    assert by_zero(1.0) == np.inf


def test_every_kernel_is_declared_so() -> None:
    declared_otherwise = [
        str(path.relative_to(ROOT))
        for folder in ("workers", "verify")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "compiled.py" and re.search(r"^\s*@(numba\.)?n?jit\b", path.read_text(), re.MULTILINE)
    ]
    assert declared_otherwise == []
