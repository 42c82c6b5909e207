"""How kernels are compiled: once an installation (see `surebox_verify.kernels`), without the lock of the interpreter.

A kernel that only kernels call is an `inner_kernel`. Numba makes no way into it from Python, which is a quarter of what
a kernel with some arrays costs to compile. No kernel has the wrapper that C programs would call.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeVar, overload

from numba import njit
from numba.core.registry import CPUDispatcher

Function = TypeVar("Function", bound=Callable[..., Any])


class InnerKernel(CPUDispatcher):
    """What numba knows of a kernel that only kernels call."""

    def __call__(self, *given: object, **named: object) -> NoReturn:  # noqa: ARG002 (as numba calls it)
        """Refuse: there is no way in."""
        raise TypeError(f"{self.py_func.__qualname__} is called by kernels only: declare it with `kernel`")


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function for callers in Python and in kernels; `options` are numba's, such as `fastmath`."""
    if function is None:
        return partial(kernel, **options)
    asked: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True} | options
    return njit(cache=True, **asked)(function)


@overload
def inner_kernel(function: Function, /) -> Function: ...
@overload
def inner_kernel(**options: Any) -> Callable[[Function], Function]: ...
def inner_kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function for callers in kernels alone."""
    if function is None:
        return partial(inner_kernel, **options)
    alone = {"nopython": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made = InnerKernel(function, targetoptions=alone | options)
    made.enable_caching()
    return made
