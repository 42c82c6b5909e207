"""Functions that kernels call by one name, with a body for numbers alone and one for columns of all kinds.

Numba compiles a kernel for the types that it gets. Where numbers alone and columns of all kinds differ (what a side is,
what a record adds to it, in which orders records are cut) it takes the body for these types, and compiles all that
calls them for each kind: one search, and no test of the kind in a loop. scikit-learn's splitters do the same with a
fused type.
"""

from collections.abc import Callable
from typing import Any

from surebox_core.compiling.inner_kernels import InnerKernel
from workers.algorithms.boxes.partition.arrays import MixedBlock, MixedRecords, MixedSide

_MIXED = (MixedBlock, MixedRecords, MixedSide)


class _ByKind(InnerKernel):
    """To its callers' compiler one of two kernels, by the types that they pass."""

    def __init__(self, numeric: Callable[..., Any], mixed: Callable[..., Any]) -> None:
        super().__init__(numeric, {})
        self._numeric, self._mixed = InnerKernel(numeric, {}), InnerKernel(mixed, {})

    def _of(self, given: Any) -> InnerKernel:
        of_mixed = any(getattr(each, "instance_class", None) in _MIXED for each in given)
        return self._mixed if of_mixed else self._numeric

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What it returns for these types."""
        return self._of(args).get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Under which key its callers find it; `sig` are the types that they pass."""
        return self._of(sig).get_overload(sig)


def by_kind(numeric: Callable[..., Any], mixed: Callable[..., Any]) -> Callable[..., Any]:
    """A function for kernels, of two bodies with the same parameters.

    Parameters
    ----------
    numeric : where no argument belongs to columns of all kinds.
    mixed : where one does.
    """
    return _ByKind(numeric, mixed)
