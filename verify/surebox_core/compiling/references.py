"""Named tuples that kernels get by reference: one word, whatever they contain.

Numba passes a named tuple word by word: seven for an array of one axis, nine for one of two, some four hundred for all
that the partition works on. Every call passes them, and the arrays' references are counted, one atomic operation each,
wherever a kernel takes one from its tuple: that is most of a partition's time, and a good part of compiling it.
Of a class declared with `by_reference` kernels get a pointer, and load what they use.

The tuple belongs to who called from Python, and with it its arrays, which are not counted again. So a kernel must not
return one of them, nor a part of one: nothing would keep it alive. Nor can a kernel make or change such a tuple; what
is in its arrays it can.

Made of what numba offers for types of one's own.
"""

import hashlib
from functools import cache
from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, register_model, typeof_impl, unbox

Class = TypeVar("Class", bound=type)


def by_reference(cls: Class) -> Class:
    """Have kernels get a reference to such tuples."""

    @typeof_impl.register(cls)
    def of_tuple(given: Any, context: Any) -> Reference:
        return _reference(cls, tuple(typeof(each, context.purpose) for each in given))

    return cls


class Reference(types.Type):
    """What numba knows of such a tuple: its class, and what its fields are."""

    def __init__(self, instance_class: Any, contents: tuple[Any, ...]) -> None:
        self.instance_class, self.contents = instance_class, contents
        whole = f"{instance_class.__module__}.{instance_class.__qualname__} {contents!r}"
        distinct = hashlib.sha256(whole.encode()).hexdigest()[:16]
        super().__init__(f"{instance_class.__name__}({distinct})")  # short: names of compiled functions contain it

    def place(self, field: str) -> int:
        """Which of its fields one is."""
        return int(self.instance_class._fields.index(field))


@cache
def _reference(cls: type, contents: tuple[Any, ...]) -> Reference:
    return Reference(cls, contents)


register_model(Reference)(models.OpaqueModel)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, field: str) -> Any:  # type: ignore[override]  # an example there
        """The type of a field."""
        return reference.contents[reference.place(field)] if field in reference.instance_class._fields else None


@unbox(Reference)
def _refer(reference: Reference, given: Any, c: Any) -> NativeValue:
    """Where the tuple is: its fields on the stack of the kernel's way in."""
    builder = c.builder
    space = cgutils.alloca_once(builder, _layout(c.context, reference))
    failed = cgutils.alloca_once_value(builder, cgutils.false_bit)
    fields = []
    for at, content in enumerate(reference.contents):
        field = c.unbox(content, c.pyapi.tuple_getitem(given, at))
        c.context.pack_value(builder, content, field.value, cgutils.gep_inbounds(builder, space, 0, at))
        with builder.if_then(field.is_error, likely=False):
            builder.store(cgutils.true_bit, failed)
        fields.append((content, field))

    def cleanup() -> None:
        for content, field in reversed(fields):
            if field.cleanup is not None:
                field.cleanup()
            c.context.nrt.decref(builder, content, field.value)

    pointer = builder.bitcast(space, cgutils.voidptr_t)
    return NativeValue(pointer, cleanup=cleanup, is_error=builder.load(failed))


@lower_getattr_generic(Reference)
def _load(context: Any, builder: Any, reference: Reference, pointer: Any, field: str) -> Any:
    """A field's value; of an array one that counts no references."""
    at = reference.place(field)
    content, space = reference.contents[at], builder.bitcast(pointer, _layout(context, reference).as_pointer())
    value = context.unpack_value(builder, content, cgutils.gep_inbounds(builder, space, 0, at))
    if not isinstance(content, types.Array):
        return impl_ret_borrowed(context, builder, content, value)
    array = context.make_array(content)(context, builder, value=value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()  # noqa: SLF001 (as numba's own code does)


def _layout(context: Any, reference: Reference) -> ir.Type:
    return ir.LiteralStructType([context.get_data_type(each) for each in reference.contents])
