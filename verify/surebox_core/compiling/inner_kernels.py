"""How a kernel that only kernels call is compiled: as far as its callers need it.

Numba makes machine code of every kernel and a way in from Python, and to that end optimizes it with all that it calls.
Of a kernel that only kernels call this is done again in each of its callers, and the rest is never used. Here it is
left at what it was lowered to: a kernel that Python calls is optimized once, with all inner kernels that it reaches.

This is made of inner parts of numba: `kernels.inner_kernel` takes it of the minor version that is tested only.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering


class InnerKernel(CPUDispatcher):
    """What numba knows of such a kernel. It is not kept on disk: a kernel that is contains it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        usual = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=usual | options, pipeline_class=_Compiler)

    def __call__(self, *given: object, **named: object) -> NoReturn:  # noqa: ARG002 (as numba calls it)
        """Refuse: there is no way in."""
        raise TypeError(f"{self.py_func.__qualname__} is called by kernels only: declare it with `kernel`")

    def add_overload(self, compiled: Any) -> None:
        """Make it known to its callers, under a key of its own: it has no address.

        They link it, and what it calls: that is linked to nothing else.
        """
        known = compiled._replace(entry_point=object())
        linked = [known.library, *known.library._linking_libraries]  # noqa: SLF001 (numba has no other name for it)
        known.target_context.insert_user_function(known.entry_point, known.fndesc, linked)
        self.overloads[tuple(known.signature.args)] = known


class _Library(JITCodeLibrary):
    """What a kernel was lowered to; nothing is linked to it, and no machine code is made of it."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = state.flags.no_cpython_wrapper = True
        state.flags.forceinline = state.pipeline.inlined
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class _Flags(Flags):
    """Numba's flags, compared by those that are set.

    Numba looks functions up by them at every call that it types, and asks for all forty of them each time.
    """

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Flags) and self._values == other._values) or bool(super().__eq__(other))


_HASH = hash(Flags())  # that of the options' names: the same for all


class _Compiler(CompilerBase):
    """Numba's own passes, but for the lowering.

    Up to there all kernels have the same flags: what they share of numpy's is compiled once for each set of flags.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.inlined = self.state.flags.forceinline
        self.state.flags = _Flags(self.state.flags)
        self.state.flags.discard("forceinline")

    def define_pipelines(self) -> list[PassManager]:
        passes, usual = PassManager("inner_kernel"), DefaultPassBuilder
        untyped, typed = usual.define_untyped_pipeline, usual.define_typed_pipeline
        for part in (untyped, typed, usual.define_nopython_lowering_pipeline):
            for one, description in part(self.state).passes:
                passes.add_pass(_Lowering if one is NativeLowering else one, description)
        passes.finalize()
        return [passes]
