"""Texts that a format could take for something else: each file of a release has them as they were."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from app.contracts.releases import ReleaseFormat
from surebox_verify.certify import certify
from surebox_verify.questions import question
from surebox_verify.released.files import format_of, names_in, rows, whole
from surebox_verify.released.formats import difference
from tests.drawing import seeds
from workers.frames.release import write_release
from workers.frames.rows import Taken

FORMATS = list(ReleaseFormat)

#: What cells may be made of: ends of lines to one reader or another, separators, quotes, signs, blanks.
PIECES = [
    *"\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\t\x01\x1f\x7f", *"=+-@\uff1d\uff0b\uff0d\uff20\ufe66\u207a\ufb29",
    *"'\"`,;|\\{}[]:", "''", " ", "\u00a0", "\ufeff", "\u200b", "\u3000", "null", "NULL", "NaN", "true", "1", "01",
    "1e5", "a", "é", "e\u0301", "\U0001f600", "2020-01-31", "home", "cmd|1!A0", '""', "\\u2028", "\\n",
]  # fmt: skip


def texts(draw: np.random.Generator, number: int) -> list[str]:
    """Hostile texts, each once."""
    lengths = draw.integers(0, 6, number)
    return list(dict.fromkeys("".join(draw.choice(PIECES, length)) for length in lengths))


@pytest.mark.parametrize("seed", seeds(12))
def test_a_line_of_ndjson_is_a_row_to_every_reader(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    words = texts(draw, 200)
    names = [f"x{word}" for word in words[:3]]
    columns = {name: pl.Series(draw.permutation(words).tolist()) for name in names}
    frame = pl.DataFrame(columns).with_columns(several=pl.Series([draw.choice(words, 2).tolist() for _ in words]))
    written = write_release(frame.to_arrow(compat_level=pl.CompatLevel.oldest()), tmp_path, [ReleaseFormat.NDJSON])
    lines = written[ReleaseFormat.NDJSON].path.read_bytes().decode().splitlines()
    assert [json.loads(line) for line in lines] == frame.to_dicts()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("seed", seeds(5))
def test_every_format_is_read_back_as_it_was_written(seed: int, delimiter: str, tmp_path: Path) -> None:
    draw = np.random.default_rng([seed, ord(delimiter)])
    hostile = ["@home", "'@home", "''@home", "+49", "'+49", "-5 h", " '=1", "a,=1", "a,'=1", "a\"''=1"]
    words = [*texts(draw, 300), *hostile]
    cells = [None if draw.random() < 0.1 else word for word in words]
    sets = [None if draw.random() < 0.1 else draw.choice(words, draw.integers(0, 3)).tolist() for _ in words]
    named = list(dict.fromkeys(["=a", "'=a", "''=a", *(f"{word}n" for word in words[:4])]))
    columns = {name: draw.permutation(np.array(cells, dtype=object)).tolist() for name in named}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(named, pl.String)).with_columns(
        pl.Series("number", range(len(cells))), pl.Series("some_set", sets, dtype=pl.List(pl.String))
    )
    types = dict.fromkeys(named, "string") | {"number": "integer", "some_set": "list"}
    written, parquet = _files(frame, tmp_path, delimiter)
    moved = pl.when(pl.col("number") == 3).then(pl.lit("'")).otherwise(pl.lit(""))
    changed, _ = _files(
        frame.with_columns(pl.concat_str(moved, pl.col(named[0]).fill_null("x"))), tmp_path / "changed", delimiter
    )
    for kind, raw in written.items():
        assert names_in(raw, kind) == frame.columns
        assert whole(raw, kind).column_names == frame.columns
        assert rows(raw, kind, types).to_pydict() == frame.to_dict(as_series=False), kind
        assert difference((parquet, "parquet"), (raw, kind), types) is None
        assert difference((parquet, "parquet"), (changed[kind], kind), types) is not None


def _files(frame: pl.DataFrame, folder: Path, delimiter: str) -> tuple[dict[str, bytes], bytes]:
    """The files of a release by format, and that in Parquet."""
    folder.mkdir(exist_ok=True)
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    columns = {name: table.column(name) for name in table.column_names}
    if "some_set" in columns:  # as a release has the sets of its boxes
        columns["some_set"] = Taken(table.column("some_set").combine_chunks(), np.arange(table.num_rows))
    written = write_release(columns, folder, FORMATS, delimiter=delimiter)
    files = {kind.value: file.path.read_bytes() for kind, file in written.items()}
    return files, files["parquet"]


@pytest.mark.parametrize("seed", seeds(10))
def test_a_share_of_a_hostile_text_is_the_same_from_every_format(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    words = ["@home", "+49", "'+49", "-5 h", "office", *texts(draw, 6)]
    number = 60
    place = draw.choice(words, number).tolist()
    frame = pl.DataFrame({
        "box": [row // 6 for row in range(number)], "age_lo": [20 + row // 6 for row in range(number)],
        "age_hi": [25 + row // 6 for row in range(number)], "place": place,
    })  # fmt: skip
    types = {"box": "integer", "age_lo": "integer", "age_hi": "integer", "place": "string"}
    for kind, raw in _files(frame, tmp_path, ",")[0].items():
        assert format_of(f"r.{kind}") == kind
        read = rows(raw, kind, types)
        for word in set(place):
            said = certify(read, [question({"kind": "share", "of": ["place"], "values": [word]})])
            low, high = said[0]["guaranteed"]
            assert low - 1e-9 <= place.count(word) / number <= high + 1e-9, (kind, word)
            assert high - low < 1e-9
