"""How a kernel that only kernels call is compiled: as far as its callers need it.

Numba makes machine code of every kernel and a way in from Python. Of a kernel that only kernels call neither is ever
used: its callers contain what it was lowered to. Here it is left at that: mixed boxes take a third less to compile. It
is optimized all the same: where small kernels are not, their callers come out up to five times slower.

This is made of inner parts of numba: `kernels.inner_kernel` takes it of the minor version that is tested only.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering


class InnerKernel(CPUDispatcher):
    """What numba knows of such a kernel. It is not kept on disk: a kernel that is contains it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        alone = {"nopython": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=alone | options, pipeline_class=_Compiler)

    def __call__(self, *given: object, **named: object) -> NoReturn:  # noqa: ARG002 (as numba calls it)
        """Refuse: there is no way in."""
        raise TypeError(f"{self.py_func.__qualname__} is called by kernels only: declare it with `kernel`")

    def add_overload(self, compiled: Any) -> None:
        """Make it known to its callers, under a key of its own: it has no address."""
        known = compiled._replace(entry_point=object())
        known.target_context.insert_user_function(known.entry_point, known.fndesc, [known.library])
        self.overloads[tuple(known.signature.args)] = known


class _Library(JITCodeLibrary):
    """What a kernel was lowered to, linked with what it calls and optimized; no machine code is made of it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class _Compiler(CompilerBase):
    """Numba's own passes, but for the lowering."""

    def define_pipelines(self) -> list[PassManager]:
        passes, usual = PassManager("inner_kernel"), DefaultPassBuilder
        untyped, typed = usual.define_untyped_pipeline, usual.define_typed_pipeline
        for part in (untyped, typed, usual.define_nopython_lowering_pipeline):
            for one, description in part(self.state).passes:
                passes.add_pass(_Lowering if one is NativeLowering else one, description)
        passes.finalize()
        return [passes]
