"""What the types of a Parquet file become.

========================================  ==============================================================================
in the file                               in the typed copy
========================================  ==============================================================================
signed and unsigned integers              integer; string if a value is beyond 64 bits
half, single, double                      integer if all values are whole, up to 2^53 (a gap makes doubles of integers);
                                          else number, widened exactly; NaN is missing
decimal with no fraction digits           integer; string if a value is beyond 64 bits
decimal                                   number, the nearest double
boolean                                   boolean
date                                      date; years 0001 to 9999
timestamp                                 date if it has no time zone and every value is midnight, else string in
                                          ISO 8601 with the fraction its unit has, in UTC with ``Z`` if it has a time
                                          zone
time                                      string, ISO 8601
string, large or view, enum, UTF-8 bytes  string; the empty one is missing
dictionary                                as its values
null                                      string, all missing
list of plain values                      string: a set, as a JSON array (:mod:`~workers.frames.upload.lists`)
duration, interval, other bytes, other    refused by name
nested, types of programs (periods)
========================================  ==============================================================================
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.contracts.datasets import ColumnType
from workers.frames.upload import lists
from workers.frames.upload.building import ARROW_TYPES

_DAY: Final = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
#: Types of programs that mean what they are stored as.
_ALIKE: Final = {"arrow.json"}
_LARGEST: Final = 2**63 - 1
_EXACT: Final = 2**53


def is_text(kind: pa.DataType) -> bool:
    """Strings, and bytes that have to be UTF-8."""
    return kind in {pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()}


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, without dictionary or extension."""
    if isinstance(kind, pa.BaseExtensionType):
        return value_type(kind.storage_type)
    return value_type(kind.value_type) if pa.types.is_dictionary(kind) else kind


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists, of any type."""
    is_ = pa.types
    return bool(
        is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind)
        or is_.is_list_view(kind) or is_.is_large_list_view(kind)
    )  # fmt: skip


def _is_member(kind: pa.DataType) -> bool:
    """Whether values of the type can be members of sets."""
    kind, is_ = value_type(kind), pa.types
    number = is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind)
    word = (is_text(kind) and not is_.is_binary(kind) and not is_.is_large_binary(kind)) or is_.is_null(kind)
    return bool(number or word or is_.is_boolean(kind) or is_.is_date(kind))


def must_look(kind: pa.DataType) -> bool:
    """Whether the type to take depends on the values."""
    kind = value_type(kind)
    if pa.types.is_timestamp(kind):
        return kind.tz is None
    return bool(
        pa.types.is_floating(kind) or pa.types.is_uint64(kind) or (pa.types.is_decimal(kind) and kind.scale <= 0)
    )


def column_type(kind: pa.DataType) -> ColumnType | None:
    """The type to take if no value states otherwise; None: refused."""
    kind = value_type(kind)
    is_ = pa.types
    if is_list(kind):
        return ColumnType.STRING if _is_member(kind.value_type) else None
    if is_.is_integer(kind) or (is_.is_decimal(kind) and kind.scale <= 0):
        return ColumnType.INTEGER
    if is_.is_floating(kind) or is_.is_decimal(kind):
        return ColumnType.NUMBER
    if is_.is_boolean(kind):
        return ColumnType.BOOLEAN
    if is_.is_date(kind) or (is_.is_timestamp(kind) and kind.tz is None):
        return ColumnType.DATE
    if is_text(kind) or is_.is_null(kind) or is_.is_time(kind) or is_.is_timestamp(kind):
        return ColumnType.STRING
    return None


def are_whole(array: pa.Array) -> bool:
    """Whether all values of an array of floats are whole numbers that a double represents exactly."""
    numbers = array.cast(pa.float64()).drop_null().to_numpy(zero_copy_only=False)
    numbers = numbers[~np.isnan(numbers)]
    return bool((np.abs(numbers) <= _EXACT).all() and (numbers == np.rint(numbers)).all())


def fits(array: pa.Array) -> bool:
    """Whether the values of an array allow what :func:`column_type` states."""
    if pa.types.is_timestamp(array.type):
        stamps = array.cast(pa.int64())
        days = pc.multiply(pc.divide(stamps, _DAY[array.type.unit]), _DAY[array.type.unit])
        return pc.all(pc.equal(stamps, days)).as_py() is not False
    extremes = pc.min_max(array)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return low is None or (low >= -_LARGEST - 1 and high <= _LARGEST)


def plain(array: pa.Array) -> pa.Array:
    """An array without dictionary or extension."""
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def convert(array: pa.Array, column: ColumnType) -> pa.Array:
    """An array of the file as one of the typed copy.

    Raises
    ------
    pyarrow.ArrowInvalid
        A value cannot be held; the text of the error may show it, so it must not be passed on.
    """
    array = plain(array)
    if column is ColumnType.STRING:
        return to_text(array)
    if column is ColumnType.NUMBER:
        numbers = array.cast(pa.float64(), safe=False)  # the nearest doubles
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    if column is ColumnType.DATE:
        if pa.types.is_timestamp(array.type) and not fits(array):
            raise pa.ArrowInvalid("an instant that is not midnight")
        return _days(array.cast(pa.date32(), safe=False))
    if column is ColumnType.INTEGER and pa.types.is_floating(array.type):
        numbers = array.cast(pa.float64())
        array = pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    return array.cast(ARROW_TYPES[column])


_FIRST_DAY: Final = -719_162
_LAST_DAY: Final = 2_932_896


def _days(array: pa.Array) -> pa.Array:
    extremes = pc.min_max(array.cast(pa.int32()))
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if low is not None and (low < _FIRST_DAY or high > _LAST_DAY):
        raise pa.ArrowInvalid("a day outside the years 0001 to 9999")
    return array


def to_text(array: pa.Array) -> pa.Array:
    """An array as strings: numbers in full, instants in ISO 8601; the empty string is missing."""
    kind = array.type
    if is_list(kind):
        return lists.texts(array)
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp(kind.unit, "UTC" if kind.tz else None))
        _days(array.cast(pa.date32(), safe=False))
        text = pc.strftime(array, format="%Y-%m-%dT%H:%M:%S" + ("Z" if kind.tz else ""))
    else:
        text = array.cast(pa.string())
        text.validate(full=True)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A column that cannot be taken, and why."""

    name: str
    reason: str


def _own_type(field: pa.Field) -> str | None:
    """Return the type that a program of its own gave values which are stored as something else, such as periods."""
    if isinstance(field.type, pa.BaseExtensionType):
        name = field.type.extension_name
    else:
        name = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode("ascii", "replace")
    return name if name and name not in _ALIKE else None


def refusals(schema: pa.Schema) -> Iterable[Refusal]:
    """Columns whose types are not taken."""
    for field in schema:
        if own := _own_type(field):
            reason = f"values of the type {own}, which some programs alone know: write them as texts, or leave it out"
            yield Refusal(field.name, reason)
        elif column_type(field.type) is None:
            nested = pa.types.is_nested(value_type(field.type))
            reason = (
                "values inside its values: give each a column of its own (a list of plain values is read as a set)"
                if nested
                else f"values of the type {field.type}: write them as numbers or texts, or leave it out"
            )
            yield Refusal(field.name, reason)
