"""Data frames to Parquet; which library a frame is of is looked at when it comes.

A frame is sent with what it means, or refused with the columns whose values Parquet cannot hold as they are meant: no
error of another library leaves this module. Types that Parquet has and the service does not take are the service's to
refuse, by name.
"""

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from surebox_client.errors import UploadError

_INSTALL: Final = "pip install 'surebox-client[pandas]' from your index"
_MAKE: Final = "Make them numbers, texts or days of one type, or leave the column out"
#: Types of values that are one kind; a column has values of one kind, or of two that stand together.
_KINDS: Final = {
    "int": "whole numbers", "float": "numbers", "bool": "booleans", "str": "texts", "Decimal": "decimals",
    "list": "lists", "tuple": "lists", "ndarray": "lists", "set": "lists", "date": "days", "Timestamp": "instants",
    "datetime": "instants",
}  # fmt: skip
_TOGETHER: Final = ({"whole numbers", "numbers"}, {"whole numbers", "decimals"})
_Orders = dict[str, list[Any]]


def parquet_of(frame: Any, index: str | None = None) -> tuple[bytes, _Orders]:
    """A frame as Parquet, and the order of its ordered categories.

    Raises
    ------
    UploadError
        It is no frame, has an index that would be lost, or a column that Parquet cannot hold as it is meant.
    """
    polars, pandas, arrow = (sys.modules.get(name) for name in ("polars", "pandas", "pyarrow"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _of_arrow(_of_pandas(frame, index))
    if index is not None:
        raise UploadError("`index` names the index of a pandas frame, and this is none: leave it out.")
    if polars is not None and isinstance(frame, polars.DataFrame | polars.LazyFrame):
        return _of_polars(frame, polars)
    if arrow is not None and isinstance(frame, arrow.Table):
        return _of_arrow(frame)
    raise UploadError(f"A {type(frame).__name__} is no path, no open file and no frame of polars, pandas or pyarrow.")


def _made(make: Callable[[list[int]], Any], names: Sequence[str]) -> Any:
    """Return the columns as a library makes them, or raise the error that names those of which it makes nothing."""
    try:
        return make([*range(len(names))])
    except Exception as error:  # whatever a library raises, or a value of the frame
        raise _refused([name for place, name in enumerate(names) if _fails(make, place)]) from error


def _fails(make: Callable[[list[int]], Any], place: int) -> bool:
    try:
        make([place])
    except Exception:  # noqa: BLE001 - as above
        return True
    return False


def _refused(
    names: Sequence[str], why: str = "values that cannot be sent as they are", make: str = _MAKE
) -> UploadError:
    if not names:
        return UploadError("The frame cannot be written as Parquet. Write it to a CSV file, and upload that.")
    which = f"Column {names[0]!r} has" if len(names) == 1 else f"Columns {', '.join(map(repr, names))} have"
    return UploadError(f"{which} {why}. {make}.")


def _checked(names: Sequence[Any]) -> list[str]:
    """Names of columns as texts; whole numbers are named by their digits."""
    for place, name in enumerate(names, 1):
        if isinstance(name, bool) or not (isinstance(name, str) or type(name).__name__.startswith(("int", "uint"))):
            raise UploadError(f"The name of column {place} is no text. Rename the column.")
    texts = [str(name) for name in names]
    twice = sorted({name for name in texts if texts.count(name) > 1}) if len(set(texts)) < len(texts) else []
    if twice:
        raise UploadError(f"Several columns are named {', '.join(map(repr, twice))}. Give each a name of its own.")
    for place, name in enumerate(texts, 1):
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise UploadError(f"The name of column {place} is no text that UTF-8 can hold. Rename the column.")
    return texts


def _known(values: Iterable[Any]) -> list[Any]:
    """Categories in their order, without those that count as missing."""
    return [value for value in dict.fromkeys(values) if value is not None and value != ""]


def _of_polars(frame: Any, polars: Any) -> tuple[bytes, _Orders]:
    try:
        frame = frame.lazy().collect()
    except Exception as error:
        raise UploadError("The lazy frame cannot be computed. `collect` it to see why, and upload that.") from error
    wide = (polars.Int128, polars.UInt128)
    lost = [name for name, kind in frame.schema.items() if _has(kind, (polars.Object, *wide), but=wide)]
    if lost:
        raise _refused(lost, "values that Parquet does not have")
    orders = {
        name: _known(kind.categories.to_list()) for name, kind in frame.schema.items() if isinstance(kind, polars.Enum)
    }

    def written(places: list[int]) -> bytes:
        output = io.BytesIO()
        casts = []
        for place in places:
            kind, column = frame.dtypes[place], polars.nth(place)
            if isinstance(kind, polars.Enum | polars.Categorical):
                column = column.cast(polars.String)
            casts.append(column.cast(polars.Decimal(38, 0)) if isinstance(kind, wide) else column)
        frame.select(casts).write_parquet(output)
        return output.getvalue()

    return _made(written, frame.columns), orders


def _has(kind: Any, kinds: tuple[Any, ...], *, but: tuple[Any, ...] = ()) -> bool:
    """Return whether a type of polars, or one inside it, is one of these; the outermost may be one of `but`."""
    if isinstance(kind, kinds) and not isinstance(kind, but):
        return True
    inner = [field.dtype for field in getattr(kind, "fields", ())] + [getattr(kind, "inner", None)]
    return any(_has(one, kinds) for one in inner if one is not None)


def _of_arrow(table: Any) -> tuple[bytes, _Orders]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = _checked(table.column_names)
    orders = {
        name: _order(name, table.column(place))
        for place, name in enumerate(names)
        if pa.types.is_dictionary(table.schema.types[place]) and table.schema.types[place].ordered
    }

    def written(places: list[int]) -> bytes:
        columns = [_plain(table.column(place)) for place in places]
        output = io.BytesIO()
        made = pa.table(columns, names=[names[place] for place in places]) if places else pa.table({})
        made.validate(full=True)
        pq.write_table(made, output)
        return output.getvalue()

    return _made(written, names), orders


def _plain(column: Any) -> Any:
    """A column of pyarrow without the ways of storing values that Parquet does not have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    while pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_run_end_encoded(column.type):
        return _plain(pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type))
    return column


def _order(name: str, column: Any) -> list[Any]:
    """The categories of a column whose order has a meaning."""
    orders = [_known(chunk.dictionary.to_pylist()) for chunk in column.chunks]
    longest = max(orders, key=len, default=[])
    if any(order != longest[: len(order)] for order in orders):
        raise _refused([name], "ordered categories in several orders", "Give its chunks the same categories")
    return longest


def _of_pandas(frame: Any, index: str | None) -> Any:
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise UploadError(f"Frames of pandas are sent by pyarrow: {_INSTALL}.") from None
    if frame.columns.nlevels > 1:
        raise UploadError(
            "The names of the columns have several levels. Join them, such as by "
            "frame.columns = ['_'.join(map(str, name)) for name in frame.columns]."
        )
    frame = _with_index(frame, index)
    names = _checked([*frame.columns])
    for place, name in enumerate(names):
        _check_kinds(name, frame.iloc[:, place])
    frame = frame.set_axis(names, axis=1)
    return _made(lambda places: pa.Table.from_pandas(frame.iloc[:, places], preserve_index=False), names)


def _with_index(frame: Any, index: str | None) -> Any:
    import pandas as pd

    counts_rows = isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))
    levels = frame.index.names
    if index is not None:
        if len(levels) > 1:
            raise UploadError("The index has several levels. Name them by .rename_axis([...]) instead of `index`.")
        frame = frame.rename_axis(_checked([index])[0])
    levels = frame.index.names
    if None in levels and not counts_rows:
        raise UploadError(
            "The frame has an index without a name. Name it (index=...) to have it as a column, or drop it by "
            ".reset_index(drop=True)."
        )
    if None in levels:
        return frame
    twice = [name for name in levels if name in frame.columns or levels.count(name) > 1]
    if twice:
        raise UploadError(
            f"The index has the name of a column or of another level, {twice[0]!r}. Rename it, or drop it by "
            ".reset_index(drop=True)."
        )
    return frame.reset_index()


def _check_kinds(name: str, column: Any) -> None:
    """Refuse objects, or categories, of several kinds: Parquet would have them as one of these, or not at all."""
    if str(column.dtype) == "category":
        column = column.cat.categories.to_series()
    if str(column.dtype).startswith("interval"):
        text = "Name them by .cat.rename_categories(str), or make the column texts by .astype(str)"
        raise _refused([name], "intervals", text)
    if str(column.dtype).startswith("Sparse"):
        raise _refused([name], "sparse values", "Make them dense by .sparse.to_dense()")
    if column.dtype != object:
        return
    values = column.dropna()
    kinds = {_KINDS.get(one, one) for one in (type(value).__name__ for value in _one_a_type(values))}
    if kinds == {"instants"} and len({value.tzinfo is None for value in values}) > 1:
        kinds = {"instants with a time zone", "instants without one"}
    if len(kinds) > 1 and kinds not in _TOGETHER:
        raise _refused([name], f"values of several types ({', '.join(sorted(kinds))})")


def _one_a_type(values: Iterable[Any]) -> Iterator[Any]:
    seen = {type(value): value for value in values}
    for value in seen.values():
        item = getattr(value, "item", None)  # of a scalar of numpy, what it is in Python
        yield item() if item is not None and getattr(value, "shape", None) == () else value
