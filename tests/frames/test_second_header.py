"""A first record that looks like a header is asked about, and a file is read for that no further than it has to be."""

import csv
import io
import time
from collections import Counter
from pathlib import Path

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.contracts.advice import MISSING_WORDS, NUMBERS, UNREAD
from app.contracts.datasets import FileFormat, ReadOptions
from tests.drawing import examples
from workers.frames.upload.advice import BOOLEANS, DAYS, PLAIN_DAYS, SIGNED, Sent, fitting, kinds_of
from workers.frames.upload.layouts import second_header
from workers.frames.upload.names import looks_like_data

OPTIONS = ReadOptions(format=FileFormat.CSV, delimiter=",", decimal=".")
some = settings(deadline=None, max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
CELLS = st.sampled_from(["", "1", "2.5", "kg", "cm", "NA", "red", "2024-01-01", "blue sky"])
RECORDS = st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=9)


def is_asked(records: list[list[str]]) -> bool:
    """Whether the second of all records stands out, with every record at hand."""
    records = [record for record in records if record]
    widths = Counter(len(record) for record in records if len(record) > 1).most_common(1)
    if len(records) <= 3 or not widths or 2 * widths[0][1] <= len(records):
        return False
    while records and len(records[-1]) != widths[0][0]:
        records = records[:-1]
    if any(len(record) != widths[0][0] for record in records):
        return False
    _, first, *others = records
    if any(cell and (looks_like_data(cell) or cell in {other[j] for other in others}) for j, cell in enumerate(first)):
        return False
    return any(
        cell not in {"", *MISSING_WORDS} and sum(looks_like_data(other[j]) for other in others) >= 0.9 * len(others)
        for j, cell in enumerate(first)
    )


@some
@given(records=RECORDS)
def test_it_is_asked_about_exactly_where_it_stands_out(tmp_path: Path, records: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows(records)
    path = tmp_path / "x.csv"
    path.write_text(text.getvalue())
    assert (second_header(path, OPTIONS) is not None) == is_asked(records)


def test_a_first_record_of_data_ends_the_search(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c,d\n" + "1,two,3.5,four\n" * 15_000)

    def seconds(records: bool) -> float:
        began = time.process_time()
        if records:
            list(csv.reader(io.StringIO(path.read_text())))
        else:
            second_header(path, OPTIONS)
        return time.process_time() - began

    assert min(seconds(False) for _ in range(5)) < min(seconds(True) for _ in range(5))


WORDS = st.one_of(
    st.text(alphabet="0123456789", min_size=1, max_size=4),
    st.text(alphabet="0123456789+-.,'_ ()%€:/hTQ\u2212\u0663\u00b7", min_size=1, max_size=12),
    st.text(alphabet="janfebmrNIyit 12,.", min_size=1, max_size=11),
    st.sampled_from(["true", "False", "inf", "-Infinity", "nan", "+NAN", "Mon, 5 May 2020", "5. März 2020", "EUR 5"]),
    st.sampled_from(["12 Jan 2020", "JAN 3, 2020", "2020Feb01", "red", "job 12", "Q3 2021", "1.234,5", "(12)", "5 kg"]),
)


@some
@given(words=st.lists(WORDS, min_size=1, max_size=6, unique=True))
def test_no_kind_that_a_word_is_of_is_left_out(tmp_path: Path, words: list[str]) -> None:
    series = pl.Series("word", words)
    sent = Sent(tmp_path, OPTIONS, ["x"], [], [], {}, [])
    likely = kinds_of(series)
    coded = any(word.lstrip("+-")[:1] == "0" and word.lstrip("+-")[1:2].isdigit() for word in words)
    signed = 0 < sum(word.startswith("+") for word in words) < len(words)
    numbers = () if coded else (*NUMBERS, *(SIGNED if signed else ()))
    for kind in (*numbers, PLAIN_DAYS, *DAYS, BOOLEANS, *UNREAD):
        assert kind in likely or not fitting(kind, series, sent).any(), kind


def test_words_alone_are_of_one_kind() -> None:
    assert kinds_of(pl.Series("word", ["red", "blue sky", "north", "job 12"])) == [BOOLEANS]
