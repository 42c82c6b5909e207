"""How kernels are declared: those that only kernels call have no way in from Python."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from surebox_core.compiling.cache import folder
from surebox_core.compiling.inner_kernels import InnerKernel
from surebox_core.compiling.kernels import TESTED, inner_kernel, kernel
from surebox_verify.certify import certify
from surebox_verify.ranges.separation import nearest_to_origin
from tests.meta.project import ROOT
from tests.verify.made import rows

#: A process whose numba says that it is of a minor version that nobody has tested: what it computes, where it keeps it,
#: and whether it touched the inner parts.
UNTESTED = """
import json, sys, numba
from numba.misc.init_utils import generate_version_info
numba.__version__ = "0.9999.0"
numba.version_info = generate_version_info(numba.__version__)
from surebox_core.compiling.cache import folder
from tests.verify.core.test_compiled import results
print(json.dumps([results(), str(folder()), type(sys.modules["surebox_verify.ranges.means"]._edge).__name__]))
"""


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


def results() -> list[Any]:
    """Of kernels of the reader's side that call inner ones: a range that is searched for, and a nearest point."""
    vectors = np.random.default_rng(5).normal(size=(40, 3)) + 1.0
    nearest = nearest_to_origin(vectors)
    return [certify(rows(), ["variance(age)"]), nearest.point.tolist(), nearest.weights.tolist()]


@pytest.mark.long
def test_the_numbers_are_the_same_where_numba_is_of_another_minor_version() -> None:
    assert numba.version_info.short == TESTED, "try `inner_kernels` with the locked numba, then raise TESTED"
    done = subprocess.run(
        [sys.executable, "-c", UNTESTED], capture_output=True, text=True, cwd=ROOT, timeout=500,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'verify'}", "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    computed, kept_in, kind = json.loads(done.stdout)
    try:
        assert (kind, Path(kept_in) == folder()) == ("CPUDispatcher", False)
        assert computed == json.loads(json.dumps(results()))
    finally:
        shutil.rmtree(kept_in)


def test_every_kernel_is_declared_so() -> None:
    declared_otherwise = [
        str(path.relative_to(ROOT))
        for folder in ("workers", "verify")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "compiled.py" and re.search(r"^\s*@(numba\.)?n?jit\b", path.read_text(), re.MULTILINE)
    ]
    assert declared_otherwise == []
