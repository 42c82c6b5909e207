"""What runners take from the typed copy, and the files of a release."""

import csv
import hashlib
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.contracts.datasets import FileFormat
from app.contracts.releases import ReleaseFormat
from tests.drawing import examples
from tests.frames.reading import read
from workers.frames.columns import numeric_columns, take_rows
from workers.frames.release import write_release
from workers.frames.rows import Taken


def test_numeric_columns_are_contiguous_doubles_with_nan_for_missing(tmp_path: Path) -> None:
    rows = 300_000
    text = "a,b,s,x\n" + "".join(f"{i},{'' if i % 3 == 0 else i / 4},t,\n" for i in range(rows))
    read(tmp_path, text.encode(), format="csv", type={"x": "number"})
    table = numeric_columns(tmp_path / "typed.parquet", ["b", "a", "x"])
    assert table.names == ("b", "a", "x")
    assert table.values.flags.f_contiguous
    assert table.missing.tolist() == [rows // 3, 0, rows]
    assert np.array_equal(table.values[:, 1], np.arange(rows))
    expected = np.where(np.arange(rows) % 3 == 0, np.nan, np.arange(rows) / 4)
    assert np.array_equal(table.values[:, 0], expected, equal_nan=True)
    for name in ("s", "absent"):
        with pytest.raises(ValueError, match=f"no numeric column '{name}'"):
            numeric_columns(tmp_path / "typed.parquet", ["a", name])


def test_kept_columns_come_in_the_order_given(tmp_path: Path) -> None:
    text = "a,b,c\n" + "".join(f"{i},{'' if i % 2 else 'w' + str(i % 5)},{i % 2 == 0}\n" for i in range(1_000))
    _, columns = read(tmp_path, text.encode(), format="csv")
    order = np.random.default_rng(3).permutation(1_000)[:900]
    taken = take_rows(tmp_path / "typed.parquet", ["c", "b"], order)
    assert taken.column_names == ["c", "b"]
    assert taken.to_pydict() == {name: [columns[name][i] for i in order] for name in ("c", "b")}


texts = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@settings(deadline=None, max_examples=examples(60))
@given(
    data=st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.floats(), min_size=n, max_size=n),
            st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n),
            st.lists(texts, min_size=n, max_size=n),
            st.lists(st.none() | st.dates(), min_size=n, max_size=n),
            st.lists(st.none() | st.booleans(), min_size=n, max_size=n),
        )
    )
)
def test_the_three_files_of_a_release_hold_the_same_rows(tmp_path_factory: pytest.TempPathFactory, data: tuple) -> None:
    folder = tmp_path_factory.mktemp("release")
    floats, integers, words, days, flags = data
    files = write_release(
        {
            'f,"': np.array(floats), "i": pa.array(integers, pa.int64()), "s": pa.array(words, pa.string()),
            "d": pa.array(days, pa.date32()), "b": pa.array(flags, pa.bool_()),
        },
        folder,
    )  # fmt: skip
    for file in files.values():
        content = file.path.read_bytes()
        assert (file.sha256, file.bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    known = [None if math.isnan(x) else x for x in floats]
    columns = [known, integers, words, days, flags]
    assert list(pq.read_table(files[FileFormat.PARQUET].path).to_pydict().values()) == columns
    with files[FileFormat.CSV].path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ['f,"', "i", "s", "d", "b"]
    assert [float(row[0]) if row[0] else None for row in rows] == known
    expected = [["" if x is None else str(x) for x in column] for column in (integers, words, days)]
    assert [list(column) for column in zip(*(row[1:4] for row in rows), strict=True)] == expected
    lines = files[FileFormat.NDJSON].path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    records = [json.loads(line, parse_constant=lambda _: pytest.fail("not JSON")) for line in lines]
    finite = [x if x is not None and math.isfinite(x) else None for x in known]
    assert [record['f,"'] for record in records] == finite
    assert [record["i"] for record in records] == integers
    assert [record["s"] for record in records] == words
    assert [record["b"] for record in records] == flags


def test_equal_columns_give_equal_bytes_and_reread_to_equal_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = 200_000  # several slices
    columns = {
        "box": rng.integers(0, 9_000, rows), "a": rng.normal(size=rows) * 10.0 ** rng.integers(-300, 300, rows),
        "k": pa.array(np.array(["x", "y,z"])[rng.integers(0, 2, rows)]),
    }  # fmt: skip
    results = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        files = write_release(columns, tmp_path / name)
        results.append({kind: (file.sha256, file.bytes) for kind, file in files.items()})
    assert results[0] == results[1]
    for kind, suffix in ((FileFormat.CSV, "csv"), (FileFormat.NDJSON, "ndjson")):
        profile, again = read(tmp_path, (tmp_path / "one" / f"release.{suffix}").read_bytes(), format=kind)
        assert profile.rows == rows
        assert np.array_equal(again["a"], columns["a"])
        assert np.array_equal(again["box"], columns["box"])


def test_a_release_without_rows_and_of_one_column_can_be_read(tmp_path: Path) -> None:
    files = write_release({"x": np.array([], np.float64)}, tmp_path)
    assert files[FileFormat.CSV].path.read_text().strip('"\n') == "x"
    assert pl.read_parquet(files[FileFormat.PARQUET].path).shape == (0, 1)
    assert files[FileFormat.NDJSON].bytes == 0
    write_release({"x": pa.array([1.5, None, None])}, tmp_path)
    assert read(tmp_path, (tmp_path / "release.csv").read_bytes(), format="csv")[1] == {"x": [1.5, None, None]}


def test_a_name_is_never_taken_for_a_pattern(tmp_path: Path) -> None:
    text = b"^.*$,*,a.b,a,^c5$\n1,2,3,x,\n4,5,6,,.5\n4,5,6.5,y,inf\n"
    profile, columns = read(tmp_path, text, format="csv")
    assert [column.distinct for column in profile.columns] == [2, 2, 3, 2, 2]
    names = ["^c5$", "a", "*", "^.*$", "a.b"]
    taken = take_rows(tmp_path / "typed.parquet", names, np.arange(3))
    assert taken.to_pydict() == {name: columns[name] for name in names}
    assert numeric_columns(tmp_path / "typed.parquet", ["a.b", "^.*$"]).values.tolist() == [[3, 1], [6, 4], [6.5, 4]]
    again = read(tmp_path, write_release(taken, tmp_path)[FileFormat.CSV].path.read_bytes(), format="csv")[1]
    assert again == taken.to_pydict()


@pytest.mark.parametrize("label", ["plain", "two\nlines", "return\r", "=1+1", 'quo"te, comma'])
def test_rows_of_few_units_make_the_same_files_as_rows(tmp_path: Path, label: str) -> None:
    """All formats; texts of several lines, which keep a row from being one line of a CSV file, among them."""
    units = np.random.default_rng(4).integers(0, 5, 150_000)
    places = np.array([2, 0, 0, 1, 2])
    few = {"x": np.array([1.5, np.nan, np.inf, -0.25, 1e300]), "n": np.arange(5)}
    labels, sets = pa.array([label, None, "b"]), pa.array([["a", label], [None], None])
    taken = {key: Taken(values, units) for key, values in few.items()}
    taken |= {"label": Taken(labels, units, places), "set": Taken(sets, units, places)}
    rows = {key: Taken(np.take(values, units), np.arange(len(units))) for key, values in few.items()}
    rows |= {"label": Taken(labels, np.take(places, units)), "set": Taken(sets, np.take(places, units))}
    hashes = []
    for name, columns in {"units": taken, "rows": rows}.items():
        (tmp_path / name).mkdir()
        files = write_release(columns, tmp_path / name, list(ReleaseFormat))
        hashes.append({kind: file.sha256 for kind, file in files.items()})
    assert hashes[0] == hashes[1]
    again = pl.read_parquet(tmp_path / "units" / "release.parquet")
    assert again["label"].to_list() == [labels[int(place)].as_py() for place in places[units]]


def test_columns_taken_from_few_values_make_the_same_files(tmp_path: Path) -> None:
    places = np.random.default_rng(4).integers(0, 5, 200_000)
    few = {"^a.*$": np.array([1.5, np.nan, np.inf, -0.25, 1e300]), "a1": np.arange(5) * 7}
    hashes = []
    for name, columns in {
        "whole": {key: np.take(values, places) for key, values in few.items()},
        "taken": {key: Taken(values, places) for key, values in few.items()},
        "mixed": {"^a.*$": Taken(few["^a.*$"], places), "a1": pa.array(few["a1"][places])},
    }.items():
        (tmp_path / name).mkdir()
        hashes.append([file.sha256 for file in write_release(columns, tmp_path / name).values()])
    assert hashes[0] == hashes[1] == hashes[2]
    with pytest.raises(ValueError, match="one length"):
        write_release({"a": Taken(few["a1"], places), "b": np.zeros(3)}, tmp_path)
