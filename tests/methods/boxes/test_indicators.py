"""Columns of values in correlations and regressions: as 0 and 1, for the keeper and for readers alike."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import InfeasibleError
from surebox_verify.certify import certify
from tests.methods.in_process import Bench

STATISTICS: list[dict[str, Any]] = [
    {"kind": "regression", "of": ["hours", "sex", "age"]},
    {"kind": "regression", "of": ["hours", "job"]},
    {"kind": "regression", "of": ["sex", "hours"]},
    {"kind": "correlation", "of": ["sex", "hours"]},
    {"kind": "covariance", "of": ["hours", "sex"]},
    {"kind": "prediction", "of": ["hours", "job", "age"], "at": ["nurse", 41]},
]
JOBS = ["clerk", "nurse", "smith"]
#: Declared in another order than readers have them.
SPEC: dict[str, Any] = {
    "method": "boxes", "dataset_id": "people", "quasi_identifiers": ["hours", "age", "sex", "job"], "k": 3,
    "bounds": "tight",
    "nominal": {"job": {"values": ["smith", "clerk", "nurse"]}, "sex": {"values": ["m", "f"]}},
}  # fmt: skip


def people(n: int = 240) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    sex, job, age = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(20, 60, n)
    hours = 30 + 4 * sex + 3 * job + 0.1 * age + rng.normal(0, 3, n)
    return pl.DataFrame({"hours": hours, "age": age, "sex": np.array(["f", "m"])[sex], "job": np.array(JOBS)[job]})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("indicators"))
    made.dataset("people", people())
    return made


@pytest.fixture(scope="module")
def released(bench: Bench) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    outcome = bench.run(SPEC | {"statistics": STATISTICS})
    assert outcome.release is not None
    (path,) = (each.path for name, each in outcome.release.files.items() if name == "parquet")
    return outcome.result["statistics"], pl.read_parquet(path)


def design(frame: pl.DataFrame, predictors: list[str]) -> np.ndarray:
    """Intercept, numbers, and a dummy for each value but the first."""
    columns = [np.ones(frame.height)]
    for name in predictors:
        if name in ("sex", "job"):
            columns += [(frame[name] == value).to_numpy() * 1.0 for value in frame[name].unique().sort()[1:]]
        else:
            columns.append(frame[name].to_numpy())
    return np.column_stack(columns)


def number(frame: pl.DataFrame, name: str) -> np.ndarray:
    return np.asarray((frame[name] == "m").to_numpy() * 1.0 if name == "sex" else frame[name].to_numpy())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_coefficients_of_dummies_lie_in_their_ranges(
    released: tuple[list[dict[str, Any]], pl.DataFrame], place: int
) -> None:
    frame, one = people(), released[0][place]
    target, *predictors = one["of"]
    truth = np.linalg.lstsq(design(frame, predictors), number(frame, target), rcond=None)[0]
    assert one["true_value"] == pytest.approx(truth.tolist())
    assert all(low <= value <= high for value, (low, high) in zip(truth, one["guaranteed"], strict=True))


def test_it_is_said_what_each_coefficient_is_of(released: tuple[list[dict[str, Any]], pl.DataFrame]) -> None:
    named = [[(term["column"], term["value"]) for term in one["terms"] or ()] for one in released[0]]
    assert named[0] == [(None, None), ("sex", "m"), ("age", None)]
    assert named[1] == [(None, None), ("job", "nurse"), ("job", "smith")]
    assert named[2:] == [[]] * 4


def test_pairs_with_two_values_are_those_of_an_indicator(released: tuple[list[dict[str, Any]], pl.DataFrame]) -> None:
    frame = people()
    x, y = number(frame, "sex"), number(frame, "hours")
    for one, truth in ((released[0][3], np.corrcoef(x, y)[0, 1]), (released[0][4], np.cov(x, y, ddof=0)[0, 1])):
        assert one["true_value"] == pytest.approx(truth)
        assert one["guaranteed"][0] <= truth <= one["guaranteed"][1]


def test_a_reader_of_the_file_finds_the_same_coefficients(released: tuple[list[dict[str, Any]], pl.DataFrame]) -> None:
    statistics, rows = released
    again = certify(rows, ["regression(hours, job)", "correlation(sex, hours)"])
    assert again[0]["terms"] == statistics[1]["terms"]
    for one, other in ((again[0], statistics[1]), (again[1], statistics[3])):
        # a file does not say that its bounds are tight; how far is searched hangs on all that is asked
        ranges = [one["guaranteed"]] if one["kind"] == "correlation" else one["guaranteed"]
        known = [other["guaranteed"]] if one["kind"] == "correlation" else other["guaranteed"]
        for (low, high), (least, most) in zip(ranges, known, strict=True):
            assert low <= least + 0.01 * (most - least)
            assert most <= high + 0.01 * (most - least)


def test_a_prediction_takes_a_value_of_each_column(released: tuple[list[dict[str, Any]], pl.DataFrame]) -> None:
    statistics, rows = released
    frame, one = people(), statistics[5]
    truth = float(np.linalg.lstsq(design(frame, ["job", "age"]), frame["hours"], rcond=None)[0] @ [1.0, 1.0, 0.0, 41.0])
    assert one["true_value"] == pytest.approx(truth)
    assert one["guaranteed"][0] <= truth <= one["guaranteed"][1]
    assert one["at"] == ["nurse", 41]
    again = certify(rows, ["prediction(hours, job=nurse, age=41)"])[0]
    assert again["at"] == ["nurse", 41]
    assert again["guaranteed"][0] <= one["guaranteed"][0] + 0.01
    assert one["guaranteed"][1] <= again["guaranteed"][1] + 0.01


def test_a_prediction_is_at_values_that_there_are(bench: Bench) -> None:
    one = {"kind": "prediction", "of": ["hours", "job"], "at": ["pilot"]}
    _, wrong = bench.accepted(SPEC | {"statistics": [one]})
    assert [each.pointer for each in wrong] == ["/statistics/0/at/0"]


def test_a_column_of_several_values_is_no_number(bench: Bench) -> None:
    for statistic in ({"kind": "correlation", "of": ["job", "hours"]}, {"kind": "regression", "of": ["job", "hours"]}):
        with pytest.raises(InfeasibleError, match="3 values: it takes 2") as raised:
            bench.run(SPEC | {"statistics": [statistic]})
        assert raised.value.errors[0].pointer == "/statistics/0"


def test_a_file_with_an_order_that_it_does_not_say_is_read_without_that_column(bench: Bench) -> None:
    spec = SPEC | {"ordinal": {"job": JOBS}, "nominal": {}, "statistics": [{"kind": "mean", "of": ["hours"]}]}
    release = bench.run(spec).release
    assert release is not None
    (path,) = (each.path for name, each in release.files.items() if name == "parquet")
    (statistic,) = certify(pl.read_parquet(path), ["mean(hours)"])
    assert statistic["guaranteed"][0] <= people()["hours"].mean() <= statistic["guaranteed"][1]
