"""How much generalized cells leave open, by hand; and texts that do not say it."""

import numpy as np
import pytest

from workers.frames.widths import is_generalized, left_open


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["20-39", "40-59", "20", "*"], [19 / 39, 19 / 39, 0.0, 1.0]),
        (["20 - 39", "40 – 60"], [19 / 40, 20 / 40]),  # noqa: RUF001 - as reports write it
        (["[20, 40[", "[40, 60)", "(60, 80]", "]80,100]"], [0.25] * 4),
        (["[20, 40[", "*"], [1.0, 1.0]),
        (["<20", "20-59", ">=60", "80"], [0.0, 39 / 60, 20 / 60, 0.0]),
        (["60+", "0-59", "60"], [0.0, 59 / 60, 0.0]),
        (["-10--1", "0-9"], [9 / 19, 9 / 19]),
        (["1.5-2.5", "3.5"], [0.5, 0.0]),
        (["479**", "47900", "48199"], [99 / 299, 0.0, 0.0]),
        (["[2020-01-01, 2020-01-11]", "2020-01-21"], [0.5, 0.0]),
        (["2020-01-01 - 2020-01-11", "2020-01-21"], [0.5, 0.0]),
        (["{a, b}", "a", "{c}", "*"], [2 / 3, 0.0, 0.0, 1.0]),
        (['["a", "b", null]', '["c"]'], [3 / 4, 0.0]),
        (["{b, a}", "{a, b, c, d}"], [0.5, 1.0]),
        (["Male", "*"], [0.0, 1.0]),
        (["*", "***"], [1.0, 1.0]),
    ],
)
def test_what_cells_leave_open(values: list[str], expected: list[float]) -> None:
    assert is_generalized(values)
    penalties = left_open(values)
    assert penalties is not None
    np.testing.assert_allclose(penalties, expected)


@pytest.mark.parametrize(
    "values",
    [
        ["20-39", "young"], ["Sw*", "Norway"], ["{a, b}", "c*"], ["20-39", "<2020-13-45"], ["20-39", "1" + "*" * 400],
        ["20-39", "1" * 5_000 + "*"], ["20-39", "<" + "9" * 400],
    ],
)  # fmt: skip
def test_words_among_intervals_and_masked_words_cannot_be_measured(values: list[str]) -> None:
    assert is_generalized(values)
    assert left_open(values) is None


@pytest.mark.parametrize(
    "values",
    [["Male", "Female"], ["1", "2.5"], ["2020-01-01"], ["39-20"], ["a-b", "{", "[1"], ["1-1"], ["[" * 100_000], []],
)
def test_values_as_they_are_are_not_generalized(values: list[str]) -> None:
    assert not is_generalized(values)
