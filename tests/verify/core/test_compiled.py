"""How kernels are declared: those that only kernels call have no way in from Python."""

import re
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from surebox_core.compiling.inner_kernels import InnerKernel
from surebox_core.compiling.kernels import inner_kernel, kernel

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


def test_an_inner_kernel_is_compiled_as_far_as_its_callers_need_it() -> None:
    assert sum_of_tenfolds(np.array([1.0, 2.5])) == 35.0
    (compiled,) = sum_of_tenfolds.overloads.values()  # type: ignore[attr-defined]
    assert has_address(compiled, compiled.fndesc.llvm_cpython_wrapper_name)
    assert not has_address(compiled, compiled.fndesc.llvm_cfunc_wrapper_name)
    tenfold.compile((numba.float64,))  # type: ignore[attr-defined]  # found compiled, its caller did not need it
    (lowered,) = tenfold.overloads.values()  # type: ignore[attr-defined]
    assert not has_address(lowered, lowered.fndesc.llvm_func_name)


def has_address(compiled: Any, name: str) -> bool:
    with global_compiler_lock:  # what no caller has needed yet is linked now
        return bool(compiled.library.get_pointer_to_function(name))


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
