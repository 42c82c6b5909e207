"""A statement about sets in CSV holds in each file of a release, alone or beside others, or is refuted."""

import gzip
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.contracts.releases import ReleaseFormat, ending_of
from surebox_verify.keys import read_keys
from surebox_verify.released.files import format_of
from surebox_verify.released.formats import difference
from surebox_verify.report import Report
from surebox_verify.verification import verify
from tests.drawing import seeds
from tests.verify.made import Issuer, statement
from workers.frames.release import write_release
from workers.frames.rows import Taken

ISSUER = Issuer.new()
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "texts": (pa.large_string(), ["a", "b c", "x,5", "y;z", 'say "x"', "é"]),
    "texts that are misread": (pa.large_string(), ["a", "F", "01", "2020-01-01", "NA", ""]),
    "whole numbers": (pa.int64(), [0, -7, 2**62]),
    "numbers": (pa.float64(), [1.0, 2.5]),
    "truth values": (pa.bool_(), [False, True]),
}
SETS: dict[str, tuple[pa.DataType, list[list[Any] | None]]] = {
    "one value each": (pa.large_string(), [["a"], ["b"], None]),
    "several values": (pa.large_string(), [["a"], ["b", "c"], None]),
    "all missing": (pa.large_string(), [None, None]),
    "whole numbers": (pa.int64(), [[1], [2], None]),
    "truth values": (pa.bool_(), [[True], [False], None]),
    "numbers": (pa.float64(), [[1.0], [2.0], None]),
    "days": (pa.large_string(), [["2020-01-01"], ["2020-01-02"]]),
    "a missing value": (pa.large_string(), [[None], ["b"]]),
}
COLUMNS = {"box": "integer", "job_set": "list", "age_lo": "number", "age_hi": "number", "note": "string"}


def released(
    folder: Path, kind: pa.DataType, sets: list[list[Any] | None], delimiter: str = ","
) -> tuple[dict[str, bytes], bool]:
    """The files of a release by their names, and whether its sets are plain in CSV."""
    units = np.repeat(np.arange(len(sets)), 3)
    jobs = Taken(pa.array(sets, pa.large_list(kind)), units)
    columns = {
        "box": Taken(np.arange(1, len(sets) + 1), units),
        "job_set": jobs,
        "age_lo": Taken(np.arange(len(sets)) * 10 + 0.5, units),
        "age_hi": Taken(np.arange(len(sets)) * 10 + 5.25, units),
        "note": pa.array([str(row % 3) for row in range(len(units))]),
    }
    written = write_release(columns, folder, list(ReleaseFormat), delimiter=delimiter)
    return {f"release.{ending_of(name)}": file.path.read_bytes() for name, file in written.items()}, jobs.is_plain


def reported(files: dict[str, bytes], given: list[str], *, plain: bool, columns: dict[str, str] = COLUMNS) -> Report:
    """The report about some files of a release of which it is stated how CSV has its sets."""
    body = statement(files, [])
    body["predicate"]["release"] |= {
        "rows": files["release.csv"].count(b"\n") - 1,
        "flags": ["kept-columns-not-counted", "outer-bounds-from-data"],
        "columns": [
            {"name": name, "type": kind} | ({"plain_in_csv": plain} if name == "job_set" else {})
            for name, kind in columns.items()
        ],
    }
    body["predicate"]["parameters"] |= {
        "quasi_identifiers": ["job", "age"],
        "keep": ["note"],
        "k": 3,
        "k_counts_kept": False,
    }
    body["predicate"]["k"] = 3
    return verify({name: files[name] for name in given}, ISSUER.sign(body), read_keys(ISSUER.key_set()))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("case", SETS)
def test_each_file_of_a_release_verifies_alone_and_beside_the_others(tmp_path: Path, case: str, delimiter: str) -> None:
    files, plain = released(tmp_path, *SETS[case], delimiter)
    for given in (*([name] for name in files), list(files)):
        report = reported(files, given, plain=plain)
        assert (report.exit_code, report.problems) == (0, []), given


@pytest.mark.parametrize("case", [name for name in SETS if name != "all missing"])
def test_a_false_statement_is_refuted_by_each_file(tmp_path: Path, case: str) -> None:
    files, plain = released(tmp_path, *SETS[case])
    for given in (*([name] for name in files), list(files)):
        report = reported(files, given, plain=not plain)
        assert report.exit_code == 1, given
        assert any("sets of 'job_set' are" in one for one in report.problems), report.problems


@pytest.mark.parametrize("seed", seeds(8))
def test_a_statement_holds_of_any_sets(tmp_path: Path, seed: int) -> None:
    draw = Random(seed)
    kind, values = KINDS[draw.choice(sorted(KINDS))]
    most = draw.choice([1, 1, 2])
    sets = [
        None if draw.random() < 0.2 else draw.sample(values, draw.randint(1, most)) for _ in range(draw.randint(1, 8))
    ]
    files, plain = released(tmp_path, kind, sets, draw.choice([",", ";"]))
    for given in (*([name] for name in files), list(files)):
        assert reported(files, given, plain=plain).problems == [], (given, sets)


@pytest.mark.parametrize("name", ["release.csv", "release.csv.gz", "release.excel.csv"])
def test_a_file_that_has_sets_otherwise_than_published_is_refuted_beside_one_that_has_not(
    tmp_path: Path, name: str
) -> None:
    """The same rows as arrays: no value differs, and a reader of the published form would read others."""
    files, plain = released(tmp_path, pa.large_string(), [["a"], ["b"], None])
    assert plain
    read, write = (gzip.decompress, gzip.compress) if name.endswith(".gz") else (bytes, bytes)
    raw = read(files[name])
    for value in (b"a", b"b"):
        raw = re.sub(rb'(?<=,)"?' + value + rb'"?(?=,)', b'"[""' + value + b'""]"', raw)
    files |= {name: write(raw)}
    assert difference((files["release.parquet"], "parquet"), (files[name], format_of(name)), COLUMNS) is None
    for given in (["release.parquet", name], [name]):
        expected = f"{name}: sets of 'job_set' are plain values as published, and JSON arrays in the file"
        assert reported(files, given, plain=True).problems == [expected], given


def test_of_a_column_without_sets_nothing_can_be_stated(tmp_path: Path) -> None:
    files, _ = released(tmp_path, *SETS["one value each"])
    for plain in (False, True):
        report = reported(files, ["release.parquet"], plain=plain, columns=COLUMNS | {"job_set": "string"})
        assert "columns: it is published how CSV has the sets of 'job_set', which is none of lists" in report.problems


def test_kept_texts_that_look_like_numbers_are_counted_as_the_texts_that_they_are(tmp_path: Path) -> None:
    """`1` and `1.0` are two values, and the same number."""
    units = np.repeat([0, 1], 4)
    columns = {
        "box": Taken(np.array([1, 2]), units),
        "age_lo": Taken(np.array([0.5, 10.5]), units),
        "age_hi": Taken(np.array([5.25, 15.25]), units),
        "code": pa.array(["1", "1.0"] * 4),
    }
    written = write_release(columns, tmp_path, list(ReleaseFormat))
    files = {f"release.{ending_of(name)}": file.path.read_bytes() for name, file in written.items()}
    body = statement(files, [])
    kinds = {"box": "integer", "age_lo": "number", "age_hi": "number", "code": "string"}
    body["predicate"]["release"] |= {
        "rows": 8,
        "flags": ["kept-columns-not-counted", "outer-bounds-from-data"],
        "columns": [{"name": name, "type": kind} for name, kind in kinds.items()],
    }
    body["predicate"]["parameters"] |= {
        "quasi_identifiers": ["age"],
        "keep": ["code"],
        "sensitive": ["code"],
        "k": 4,
        "k_counts_kept": False,
    }
    for demanded, expected in ((2, 0), (3, 1)):
        body["predicate"]["parameters"]["l"] = demanded
        for name, raw in files.items():
            report = verify({name: raw}, ISSUER.sign(body), read_keys(ISSUER.key_set()))
            assert report.exit_code == expected, (name, report.problems)
