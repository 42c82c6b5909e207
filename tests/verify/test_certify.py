"""Certain ranges of a frame's rows: the same whatever library has the frame, and none for what is no statistic."""

import datetime as dt
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from surebox_core.errors import UndefinedStatisticError
from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from tests.verify.made import BOUNDS, means, parquet, rows

FRAME = rows()
STATISTICS = means(FRAME)
QUESTIONS = [
    "mean(age)",
    "variance(hours)",
    "correlation(age,hours)",
    "quantile(born,0.5)",
    "share(town=a)",
    "mean(gap)",
]


class Stream:
    """A frame of a library that nobody here knows."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


FRAMES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "pandas, with types of arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pandas, as it reads the file": lambda frame: pd.read_parquet(io.BytesIO(parquet(frame))),
    "pandas, rows of another order and index": lambda frame: (
        frame.to_pandas().set_index(pd.Index(range(100, 100 + frame.height), name="n")).sample(frac=1, random_state=1)
    ),
    "pyarrow": lambda frame: frame.to_arrow(),
    "whatever hands over Arrow": Stream,
}


def mixed() -> pl.DataFrame:
    """The release with days, sets, and a column that some boxes lack."""
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=int(box)) for box in FRAME["box"]]
    town = [["a"], ["a", "b"], ["b"]]
    return FRAME.with_columns(
        pl.Series("born_lo", days),
        pl.Series("born_hi", [day + dt.timedelta(days=3) for day in days]),
        pl.Series("town_set", [town[box % 3] for box in FRAME["box"]]),
        pl.when(pl.col("box") > 3).then(pl.col("age_lo")).alias("gap_lo"),
        pl.when(pl.col("box") > 3).then(pl.col("age_hi")).alias("gap_hi"),
    )


@pytest.fixture(scope="module")
def by_polars() -> list[dict[str, Any]]:
    statistics = certify(mixed(), QUESTIONS)
    assert all(each["guaranteed"] is not None for each in statistics)
    return statistics


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_all_libraries_have_the_same_ranges(by_polars: list[dict[str, Any]], library: str) -> None:
    assert certify(FRAMES[library](mixed()), QUESTIONS) == by_polars


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(UnreadableError, match="frame of polars, pandas or pyarrow"):
        certify([1, 2], ["mean(age)"])
    with pytest.raises(UnreadableError, match="instants within days"):
        certify(
            mixed().with_columns(pl.col("born_lo").cast(pl.Datetime) + dt.timedelta(hours=1)), ["quantile(born,0.5)"]
        )
    with pytest.raises(UnreadableError, match="no release of boxes"):
        certify(pa.table({"x": [1]}), ["mean(x)"])


def test_frames_of_polars_have_the_ranges_of_the_file() -> None:
    again = certify(FRAME, ["mean(age)", 'mean("hours")', "correlation(age,hours)", "regression(hours, age)"])
    for one, closed in zip(again, STATISTICS, strict=False):
        assert one["guaranteed"] == pytest.approx(closed["guaranteed"], rel=1e-15)
    corners = corner_correlations(FRAME)
    assert again[2]["guaranteed"][0] <= corners.min()
    assert again[2]["guaranteed"][1] >= corners.max()
    assert len(again[3]["guaranteed"]) == 2


def corner_correlations(frame: pl.DataFrame, draws: int = 500) -> np.ndarray:
    """Correlations of data drawn at corners of the boxes: none may lie outside what is certain."""
    draw = np.random.default_rng(1)
    bounds = frame.select(BOUNDS).to_numpy()
    pick = draw.random((draws, len(bounds), 2)) < 0.5
    x = np.where(pick[:, :, 0], bounds[:, 0], bounds[:, 1])
    y = np.where(pick[:, :, 1], bounds[:, 2], bounds[:, 3])
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y, strict=True)])


@pytest.mark.parametrize(
    "text", ["mean", "mean(age", "total(age)", "mean(income)", "correlation(age)", "mean(age,,hours)", '{"kind": 1}']
)
def test_what_is_no_statistic_is_refused(text: str) -> None:
    with pytest.raises((UnreadableError, UndefinedStatisticError)):
        certify(FRAME, [text])


def test_shares_follow_from_the_sets_of_the_file() -> None:
    """Boxes of 3, 4 and 5 records: {a}, {a, b}, {b}: between 3 and 7 of 12 are a."""
    frame = pl.DataFrame({"box": [1] * 3 + [2] * 4 + [3] * 5, "town_set": [["a"]] * 3 + [["a", "b"]] * 4 + [["b"]] * 5})
    (share,) = certify(frame, ["share(town=a)"])
    assert share["guaranteed"] == pytest.approx([3 / 12, 7 / 12], rel=1e-14)
    with pytest.raises(UnreadableError, match="no value 'c' of column 'town' is shown"):
        certify(frame, ["share(town=c)"])


def test_a_value_that_no_set_shows_may_stand_under_other() -> None:
    """Boxes of 3, 4 and 5 records: {a}, {a, other}, {other}: up to 9 of 12 may be c, and so may those of `other`."""
    sets = [["a"]] * 3 + [["a", "other"]] * 4 + [["other"]] * 5
    frame = pl.DataFrame({"box": [1] * 3 + [2] * 4 + [3] * 5, "town_set": sets})
    for value in ("c", "other"):
        (share,) = certify(frame, [f"share(town={value})"])
        assert share["guaranteed"] == pytest.approx([0.0, 9 / 12], rel=1e-14)
    (both,) = certify(frame, ["share(town=a|c)"])
    assert both["guaranteed"] == pytest.approx([3 / 12, 1.0], rel=1e-14)


def test_a_cell_of_values_that_may_stand_under_other_is_as_careful() -> None:
    """Towns {a}, {a, other}, {other} beside sexes {f}, {f}, {f, m} of 3, 4 and 5 records."""
    towns = [["a"]] * 3 + [["a", "other"]] * 4 + [["other"]] * 5
    sexes = [["f"]] * 7 + [["f", "m"]] * 5
    frame = pl.DataFrame({"box": [1] * 3 + [2] * 4 + [3] * 5, "town_set": towns, "sex_set": sexes})
    for town, sex, certain in (("c", "f", [0, 9]), ("c", "m", [0, 5]), ("a", "f", [3, 7])):
        (cell,) = certify(frame, [json.dumps({"kind": "crosstab", "of": ["town", "sex"], "values": [town, sex]})])
        assert cell["guaranteed"] == pytest.approx(certain, abs=1e-9)
