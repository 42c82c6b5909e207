"""Functions that kernels call by one name, with a body for numbers alone and one for columns of all kinds.

Numba compiles a kernel for the types that it gets. Where numbers alone and columns of all kinds differ (what a side is,
what a record adds to it, in which orders records are cut) it takes the body for these types, and compiles all that
calls them for each kind: one search, and no test of the kind in a loop. scikit-learn's splitters do the same with a
fused type.

What is called for each record or each candidate is declared with `forceinline`: LLVM inlines most of it anyway, and an
eighth of the time of numbers alone goes into the calls that it leaves.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from numba import version_info
from numba.extending import overload

from surebox_core.compiling.kernels import TESTED
from workers.algorithms.boxes.partition.arrays import MixedRecords, MixedSide

_MIXED = (MixedRecords, MixedSide)


def by_kind(numeric: Callable[..., Any], mixed: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A function for kernels, of two bodies with the same parameters.

    Parameters
    ----------
    numeric : where no argument belongs to columns of all kinds.
    mixed : where one does.
    options : numba's, of both bodies.
    """
    return (_inner if version_info.short == TESTED else _overloaded)(numeric, mixed, options)


def _is_mixed(given: Iterable[Any]) -> bool:
    """Whether one of numba's types belongs to columns of all kinds."""
    return any(getattr(each, "instance_class", None) in _MIXED for each in given)


def _inner(numeric: Callable[..., Any], mixed: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Made of inner parts of numba, those of the minor version that is tested: both bodies are inner kernels."""
    from surebox_core.compiling.inner_kernels import InnerKernel

    of_numbers, of_all_kinds = InnerKernel(numeric, options), InnerKernel(mixed, options)

    class ByKind(InnerKernel):
        """To its callers' compiler one of two kernels, by the types that they pass."""

        def get_call_template(self, args: Any, kws: Any) -> Any:
            """What it returns for these types."""
            return (of_all_kinds if _is_mixed(args) else of_numbers).get_call_template(args, kws)

        def get_overload(self, sig: Any) -> Any:
            """Under which key its callers find it; `sig` are the types that they pass."""
            return (of_all_kinds if _is_mixed(sig) else of_numbers).get_overload(sig)

    return ByKind(numeric, options)


def _overloaded(numeric: Callable[..., Any], mixed: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Made as numba documents it: the same numbers, and more to compile."""

    def chosen(*given: object) -> NoReturn:  # noqa: ARG001 (as kernels call it)
        raise TypeError(f"{numeric.__qualname__} is called by kernels only")

    settings: Any = {"nogil": True, **options}

    @overload(chosen, strict=False, jit_options=settings)
    def choose(*given: Any) -> Callable[..., Any]:
        return mixed if _is_mixed(given) else numeric

    return chosen
