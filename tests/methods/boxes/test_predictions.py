"""Predictions: at which values they are made, and refused at the very value that does not fit."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import InvalidError
from tests.methods.in_process import Bench

ORDER = ["low", "mid", "high"]
SPEC: dict[str, Any] = {
    "method": "boxes", "dataset_id": "people", "k": 4, "quasi_identifiers": ["pay", "born", "job", "rank", "town"],
    "keep": ["club"], "nominal": {"job": {"values": ["clerk", "nurse", "smith"]}, "town": {}},
    "ordinal": {"rank": ORDER},
}  # fmt: skip


def people(n: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    born = [date(1980, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 9000, n)]
    town = rng.choice(["Bern", "Genf"], n)
    town[7] = "Chur"  # one record has it: the codebook from the data has `other` in its place
    return pl.DataFrame(
        {
            "pay": rng.normal(size=n).round(2),
            "born": born,
            "job": rng.choice(["clerk", "nurse"], n),
            "rank": rng.choice(ORDER, n),
            "town": town,
            "club": rng.choice(["chess", "golf"], n),
        }
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("predictions"))
    made.dataset("people", people())
    made.release("release", SPEC | {"statistics": [{"kind": "mean", "of": ["pay"]}], "max_suppressed": 0.1})
    return made


def predictions(bench: Bench, of: list[str], at: list[Any]) -> list[dict[str, Any]]:
    """Of the release."""
    first = {"kind": "mean", "of": ["pay"]}
    statistics = [first, {"kind": "prediction", "of": of, "at": at}]
    result = bench.run({"method": "statistics", "release_id": "release", "statistics": statistics}).result
    statistics_of: list[dict[str, Any]] = result["statistics"]
    return statistics_of


#: The predictor, what is no value of it, and what one is.
UNFIT = [
    ("born", 40, "a day"), ("born", "2020-1-1", "a day"), ("pay", "40", "a number"), ("pay", True, "a number"),
    ("rank", "highest", "order|no value"), ("rank", "", "order|no value"), ("rank", None, "order|not one value"),
]  # fmt: skip
OF_CODEBOOKS = [
    ("job", "pilot", "no value"), ("job", "", "no value"), ("job", 3, "no value"), ("job", None, "not one value"),
    ("town", "Chur", "no value"), ("town", "other", "no value"), ("town", "", "no value"),
    ("club", "darts", "no value"), ("club", "", "no value"), ("club", None, "not one value"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "says"), UNFIT + OF_CODEBOOKS)
@pytest.mark.parametrize("place", [0, 1])
def test_a_value_that_a_predictor_does_not_have_is_refused_at_its_place(
    bench: Bench, name: str, value: Any, says: str, place: int
) -> None:
    """Whatever finds out, the rules before the job or the worker, in a release's answers as in a job's statistics."""
    other = ("born", "1990-05-01") if name == "pay" else ("pay", 0.5)
    target = "pay" if name != "pay" else "rank"
    pairs = [other, (name, value)] if place else [(name, value), other]
    pairs = [(column, at) for column, at in pairs if column != target]
    of, at = [target, *(column for column, _ in pairs)], [each for _, each in pairs]
    where = f"/statistics/1/at/{of.index(name) - 1}"
    body = {"method": "statistics", "release_id": "release", "statistics": [
        {"kind": "mean", "of": ["pay"]}, {"kind": "prediction", "of": of, "at": at},
    ]}  # fmt: skip
    _, wrong = bench.accepted(body)
    if wrong:
        assert [one.pointer for one in wrong] == [where]
        return
    with pytest.raises(InvalidError, match=says) as raised:
        bench.run(body)
    assert [one.pointer for one in raised.value.errors] == [where]


@pytest.mark.parametrize(("name", "value", "says"), UNFIT)
def test_boxes_refuse_it_before_they_are_made(bench: Bench, name: str, value: Any, says: str) -> None:
    target = "pay" if name != "pay" else "rank"
    one = {"kind": "prediction", "of": [target, "job", name], "at": ["nurse", value]}
    _, wrong = bench.accepted(SPEC | {"statistics": [one]})
    assert [each.pointer for each in wrong] == ["/statistics/0/at/1"]
    assert any(word in wrong[0].detail for word in says.split("|"))


def test_ends_of_an_interval_are_refused_at_the_interval(bench: Bench) -> None:
    for name, interval in (("born", [0, 1]), ("pay", ["2020-01-01", None]), ("rank", [0, 1])):
        one = {"kind": "share", "of": [name], "interval": interval}
        _, wrong = bench.accepted(SPEC | {"statistics": [one]})
        assert [each.pointer for each in wrong] == ["/statistics/0/interval"]
        _, wrong = bench.accepted({"method": "statistics", "release_id": "release", "statistics": [one]})
        assert [each.pointer for each in wrong] == ["/statistics/0/interval"]


def test_values_of_each_kind_have_an_answer(bench: Bench) -> None:
    values = {"born": "1990-05-01", "job": "nurse", "rank": "high", "town": "Bern", "club": "golf"}
    for name, value in values.items():
        one = predictions(bench, ["pay", name], [value])[1]
        assert one["at"] == [value]
        assert one["guaranteed"] is not None or one["reason"]


@pytest.mark.parametrize("target", ["pay", "rank"])
def test_far_out_it_is_the_slope_that_decides_where_boxes_are_cut(bench: Bench, target: str) -> None:
    """At 1e70 derivatives are beyond float32, and boxes are those of 1e20: their shape depends on the direction."""
    predictor = "born" if target == "pay" else "pay"
    rows = []
    if target == "pay":
        spec = SPEC | {"quasi_identifiers": ["pay", "age", "height"], "keep": [], "nominal": {}, "ordinal": {}}
        rng = np.random.default_rng(2)
        bench.dataset("far", pl.DataFrame(rng.normal(size=(90, 3)) * [1.0, 10.0, 0.1], schema=["pay", "age", "height"]))
        spec, predictor = spec | {"dataset_id": "far"}, "height"
    else:
        spec = SPEC | {"nominal": {"job": {}, "town": {}}, "max_suppressed": 0.1}
    for at in (1e20, 1e70):
        one = {"kind": "prediction", "of": [target, predictor], "at": [at]}
        rows.append(bench.run(spec | {"statistics": [one]}, seed=1).rows())
    assert rows[0].equals(rows[1])
