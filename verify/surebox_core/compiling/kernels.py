"""How kernels are declared. They are compiled once an installation and kept (see `surebox_core.compiling.cache`).

None takes the lock of the interpreter, and none has the wrapper that C programs would call. Where a kernel copies one
array to a part of another it does so element by element: for an assignment numba compiles what puts its error messages
together as well, for two seconds.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from numba import njit, version_info

from surebox_core.compiling.cache import located

#: The minor version of numba whose inner parts `inner_kernels` is made of. With another, which may have other parts,
#: inner kernels are plain ones: the same numbers, and more to compile.
TESTED = (0, 68)

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function for callers in Python and in kernels; `options` are numba's, such as `fastmath`."""
    if function is None:
        return partial(kernel, **options)
    settings: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True} | options
    with located():
        return njit(cache=True, **settings)(function)


@overload
def inner_kernel(function: Function, /) -> Function: ...
@overload
def inner_kernel(**options: Any) -> Callable[[Function], Function]: ...
def inner_kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function for callers in kernels alone."""
    if function is None:
        return partial(inner_kernel, **options)
    if version_info.short != TESTED:
        return njit(nogil=True, **options)(function)
    from surebox_core.compiling.inner_kernels import InnerKernel

    return InnerKernel(function, options)
