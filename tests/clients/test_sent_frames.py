"""Frames of pandas, polars and pyarrow arrive as what they mean, or are refused by the name of a column."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from app.errors import UnreadableError
from surebox_client import Surebox
from surebox_client.errors import ProblemError, SureboxError, UploadError
from surebox_client.frames import parquet_of
from surebox_client.rows import pandas_of, polars_of
from tests.drawing import seeds
from tests.frames.reading import read
from tests.service import Service
from tests.verify.test_formats import KINDS, cell, files

Draw = tuple[Any, list[Any] | None]
"""A column of a library, and the values that it means; None where it has to be refused."""


class _Own(enum.Enum):
    ONE = 1


def _some(draw: Random, rows: int, value: Callable[[], Any]) -> list[Any]:
    """Values, some of them missing, the first and the last not."""
    return [value() if row in {0, rows - 1} or draw.random() < 0.8 else None for row in range(rows)]


def _instant(draw: Random, zone: dt.tzinfo | None = None) -> dt.datetime:
    return dt.datetime(2024, draw.randrange(1, 13), draw.randrange(1, 29), draw.randrange(1, 24), 5, tzinfo=zone)


def _utc(values: list[Any]) -> list[Any]:
    return [None if one is None else f"{one.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S}Z" for one in values]


def _plain(values: list[Any]) -> list[Any]:
    return [None if one is None else f"{one:%Y-%m-%dT%H:%M:%S}" for one in values]


def _meant(draw: Random, rows: int) -> dict[str, tuple[list[Any], list[Any]]]:
    """Values that all libraries take, as Python has them and as they are kept."""
    day = _some(draw, rows, lambda: dt.date(2024, draw.randrange(1, 13), draw.randrange(1, 29)))
    zone = dt.timezone(dt.timedelta(hours=draw.randrange(-9, 9)))
    aware, naive = _some(draw, rows, lambda: _instant(draw, zone)), _some(draw, rows, lambda: _instant(draw))
    tenths = _some(draw, rows, lambda: decimal.Decimal(draw.randrange(1, 90)) + decimal.Decimal("0.5"))
    time = _some(draw, rows, lambda: dt.time(draw.randrange(24), 7))
    same = {
        "int": _some(draw, rows, lambda: draw.randrange(-(2**60), 2**60)),
        "float": _some(draw, rows, lambda: draw.randrange(90) + 0.25),
        "text": _some(draw, rows, lambda: draw.choice(["NA", "a,b", "é", "007", "1"])),
        "bool": _some(draw, rows, lambda: draw.random() < 0.5),
        "day": day,
    }
    return {name: (values, values) for name, values in same.items()} | {
        "decimal": (tenths, [None if one is None else float(one) for one in tenths]),
        "aware": (aware, _utc(aware)),
        "naive": (naive, _plain(naive)),
        "time": (time, [None if one is None else f"{one}" for one in time]),
    }


def _of_pandas(draw: Random, rows: int) -> Draw:
    values, kept = draw.choice([*_meant(draw, rows).values()])
    odd: Mapping[str, Callable[[], Draw]] = {
        "objects": lambda: (pd.Series(values, dtype=object), kept),
        "codes": lambda: (pd.Series(pd.Categorical([1, 2] * rows)[:rows]), ([1, 2] * rows)[:rows]),
        "nullable": lambda: (pd.Series([1, None] * rows, dtype="Int64")[:rows], ([1, None] * rows)[:rows]),
        "mixed": lambda: (pd.Series([draw.choice([1, 2.5, True]), "a"] * rows, dtype=object)[:rows], None),
        "times and days": lambda: (pd.Series([dt.date(2024, 1, 1), _instant(draw)] * rows, dtype=object)[:rows], None),
        "zones": lambda: (pd.Series([_instant(draw), _instant(draw, dt.UTC)] * rows, dtype=object)[:rows], None),
        "flags and numbers": lambda: (pd.Series([True, 2.5] * rows, dtype=object)[:rows], None),
        "mixed categories": lambda: (pd.Series(pd.Categorical([1, "a"] * rows)[:rows]), None),
        "intervals": lambda: (pd.Series(pd.cut(pd.Series([1.0, 2.0] * rows), 2))[:rows], None),
        "periods": lambda: (pd.Series(pd.period_range("2024-01", periods=rows, freq="M")), None),
        "period categories": lambda: (
            pd.Series(pd.Categorical(pd.period_range("2024-01", periods=rows, freq="M"))), None,
        ),
        "durations": lambda: (pd.Series(pd.to_timedelta([1] * rows, "s")), None),
        "complex": lambda: (pd.Series([1j] * rows), None),
        "sparse": lambda: (pd.Series(pd.arrays.SparseArray([0, 1] * rows))[:rows], None),
        "own": lambda: (
            pd.Series([draw.choice([_Own.ONE, object(), Path(), frozenset([1])])] * rows, dtype=object), None,
        ),
        "huge": lambda: (pd.Series([2**70] * rows, dtype=object), None),
        "nested": lambda: (pd.Series([draw.choice([{"a": 1}, [[1]], [1, "a"]])] * rows, dtype=object), None),
        "uuid": lambda: (pd.Series([uuid.UUID(int=draw.getrandbits(128))] * rows, dtype=object), None),
        "surrogates": lambda: (pd.Series(["\ud800"] * rows, dtype=object), None),
        "infinite": lambda: (pd.Series([decimal.Decimal("Infinity")] * rows, dtype=object), None),
    }  # fmt: skip
    return odd[draw.choice(["objects"] * 20 + [*odd])]()


def _of_polars(draw: Random, rows: int) -> Draw:
    values, kept = draw.choice([*_meant(draw, rows).values()])
    texts = [draw.choice("ab") for _ in range(rows)]
    odd: Mapping[str, Callable[[], Draw]] = {
        "plain": lambda: (pl.Series(values), kept),
        "category": lambda: (pl.Series(texts, dtype=draw.choice([pl.Categorical(), pl.Enum(["b", "a"])])), texts),
        "wide": lambda: (pl.Series([2**100, 5] * rows, dtype=pl.Int128)[:rows], ([str(2**100), "5"] * rows)[:rows]),
        "objects": lambda: (pl.Series([object()] * rows, dtype=pl.Object()), None),
        "lists of objects": lambda: (pl.Series([[2**100]] * rows, dtype=pl.List(pl.Int128)), None),
        "durations": lambda: (pl.Series([dt.timedelta(1)] * rows), None),
        "nested": lambda: (pl.Series([draw.choice([{"a": 1}, [[1]], [{"a": 1}]])] * rows), None),
        "bytes": lambda: (pl.Series([b"\xff"] * rows), None),
    }
    return odd[draw.choice(["plain"] * 8 + [*odd])]()


def _of_arrow(draw: Random, rows: int) -> Draw:
    values, kept = draw.choice([*_meant(draw, rows).values()])
    storage = pa.array([1] * rows, pa.int64())
    odd: Mapping[str, Callable[[], Draw]] = {
        "plain": lambda: (pa.array(values), kept),
        "runs": lambda: (pa.RunEndEncodedArray.from_arrays([rows], ["a"]), ["a"] * rows),
        "union": lambda: (pa.UnionArray.from_sparse(pa.array([0] * rows, pa.int8()), [storage]), None),
        "interval": lambda: (pa.array([(1, 2, 3)] * rows, pa.month_day_nano_interval()), None),
        "flags of bytes": lambda: (
            pa.ExtensionArray.from_storage(pa.bool8(), storage.cast(pa.int8())), None,
        ),
        "lists in categories": lambda: (
            pa.DictionaryArray.from_arrays(pa.array([0] * rows), pa.array([[1]])), None,
        ),
        "map": lambda: (pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())), None),
        "fixed": lambda: (pa.array([b"ab"] * rows, pa.binary(2)), None),
        "corrupt": lambda: (
            pa.array([b"\xff"] * rows).view(pa.string()), None,
        ),
    }  # fmt: skip
    return odd[draw.choice(["plain"] * 8 + [*odd])]()


@dataclasses.dataclass(frozen=True)
class _Library:
    column: Callable[[Random, int], Draw]
    frame: Callable[[dict[str, Any]], Any]


LIBRARIES = {
    "pandas": _Library(
        _of_pandas, lambda columns: pd.DataFrame({n: c.reset_index(drop=True) for n, c in columns.items()})
    ),
    "polars": _Library(_of_polars, pl.DataFrame),
    "lazy": _Library(_of_polars, pl.LazyFrame),
    "pyarrow": _Library(_of_arrow, pa.table),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_is_kept_as_it_is_meant_or_refused_by_the_name_of_a_column(tmp_path: Path, library: str) -> None:
    for seed in seeds(25, 250):
        draw = Random(seed)
        rows = draw.randrange(2, 12)
        columns = {f"c{place}": LIBRARIES[library].column(draw, rows) for place in range(draw.randrange(1, 4))}
        lost = [name for name, (_, kept) in columns.items() if kept is None]
        frame = LIBRARIES[library].frame({name: column for name, (column, _) in columns.items()})
        values, message = _sent(tmp_path, frame)
        if lost:
            assert any(f"'{name}'" in message for name in lost), (seed, message)
        else:
            assert values == {name: kept for name, (_, kept) in columns.items()}, (seed, message)


def _short(value: Any) -> Any:
    """A time or an instant without the noughts that its unit has."""
    return re.sub(r"(\d\d:\d\d)\.0+(Z?)$", r"\1\2", value) if isinstance(value, str) else value


def _sent(folder: Path, frame: Any) -> tuple[dict[str, list[Any]] | None, str]:
    """The values of a frame as the service keeps them, or the message by which the client or the service refuses it."""
    try:
        values = read(folder, parquet_of(frame)[0], format="parquet")[1]
        return {name: [_short(value) for value in column] for name, column in values.items()}, ""
    except (SureboxError, UnreadableError) as error:
        return None, str(error)


def _named(names: Any, **more: Any) -> pd.DataFrame:
    return pd.DataFrame([[1] * len(names)], columns=names, **more)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (_named(pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), "several levels"),
        (_named(["a", "a"]), "Several columns are named 'a'"),
        (_named(pd.Index([1, "1"], dtype=object)), "Several columns are named '1'"),
        (_named([None]), "The name of column 1 is no text"),
        (_named([1.5]), "The name of column 1 is no text"),
        (_named(["a", pd.Timestamp(0)]), "The name of column 2 is no text"),
        (_named(pd.Index(["\ud800"], dtype=object)), "The name of column 1 is no text that UTF-8"),
        (_named(["x"], index=pd.Index([5], name="x")), "The index has the name of a column"),
        (_named(["x"], index=pd.MultiIndex.from_tuples([(1, 2)], names=["a", "a"])), "The index has the name"),
        (_named(["x"], index=[7]), "an index without a name"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "Several columns are named 'a'"),
        (pl.LazyFrame({"x": ["a"]}).select(pl.col("x").cast(pl.Int64)), "cannot be computed"),
        (pl.scan_csv("/nowhere/at/all.csv"), "cannot be computed"),
        (pd.Series([1]), "A Series is no path"),
    ],
)  # fmt: skip
def test_names_and_indices_that_would_be_lost_are_refused(frame: Any, message: str) -> None:
    with pytest.raises(UploadError, match=message) as refused:
        parquet_of(frame)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("frame", [pl.DataFrame({"x": [1]}), pa.table({"x": [1]})], ids=["polars", "pyarrow"])
def test_an_index_is_named_of_pandas_frames_alone(frame: Any) -> None:
    with pytest.raises(UploadError, match="`index` names"):
        parquet_of(frame, index="number")
    levels = pd.MultiIndex.from_tuples([(1, 2)], names=["a", "b"])
    with pytest.raises(UploadError, match="several levels"):
        parquet_of(pd.DataFrame({"x": [1]}, index=levels), index="number")


def test_an_ordered_category_is_told_in_one_order() -> None:
    def chunk(order: Sequence[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(order), ordered=True)

    with pytest.raises(UploadError, match="'x' has ordered categories in several orders"):
        parquet_of(pa.table({"x": pa.chunked_array([chunk(["a", "b"]), chunk(["b", "a"])])}))
    assert parquet_of(pa.table({"x": pa.chunked_array([chunk(["a"]), chunk(["a", "b"])])}))[1] == {"x": ["a", "b"]}
    with_empty = pd.DataFrame({"x": pd.Categorical(["", "b"], categories=["", "b", "a"], ordered=True)})
    assert parquet_of(with_empty)[1] == {"x": ["b", "a"]}, "an empty text is a missing value"


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"x": []}), pl.DataFrame(), pa.table({"": [1]})])
def test_what_the_service_refuses_of_a_frame_is_the_clients_own_error(service: Service, frame: Any) -> None:
    with Surebox(service.address, key=service.new_key("frames")) as sb, pytest.raises(ProblemError):
        sb.upload(frame)


def _cells(column: Sequence[Any]) -> list[Any]:
    """Python's values of a column of either library."""
    return [None if value is None or value is pd.NA else value for value in column]


@pytest.mark.parametrize("seed", seeds(12))
def test_a_release_is_the_same_frame_whatever_file_it_was_read_from(tmp_path: Path, seed: int) -> None:
    draw = Random(seed)
    flat = [name for name in KINDS if KINDS[name][0] != "list"]
    names = draw.sample(flat, draw.randrange(2, len(flat)))
    finite = [None, 0.1, -1.5, 1e300, 2.0**-1074, 3.0]
    cells = {name: [draw.choice(finite) if name == "number" else cell(draw, name) or "a" if name == "text" else
                    cell(draw, name) for _ in range(150)] for name in names}  # fmt: skip
    frame = pl.DataFrame(cells, {name: KINDS[name][1] for name in names})
    types = {name: KINDS[name][0] for name in names}
    for form, data in files(frame, tmp_path / "files").items():
        if form == "csv.excel":
            with pytest.raises(SureboxError, match="spreadsheets"):
                polars_of(data, form, types)
            continue
        assert polars_of(data, form, types).to_dict(as_series=False) == cells, form
        read_by_pandas = pandas_of(data, form, types)
        assert {name: _cells(read_by_pandas[name].tolist()) for name in read_by_pandas.columns} == cells, form
    assert json.loads(files(frame, tmp_path / "again")["ndjson"].split(b"\n")[0]).keys() == cells.keys()
