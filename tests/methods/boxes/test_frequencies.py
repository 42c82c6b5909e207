"""A table of counts against the table with a row for each person: everything that a job makes of either is the same."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pytest

from app.contracts.datasets import FileFormat
from tests.drawing import seeds
from tests.methods.in_process import Bench, Done
from tests.methods.refusing import refused

#: What boxes may be made with; survey weights and kept values are columns of the persons.
OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "fast": {"partition": "fast"},
    "least widths": {"least_widths": "none", "min_width": {"age": 3}},
    "diverse": {"sensitive": ["job"], "l": 2, "alpha": 0.9},
    "close": {"sensitive": ["job"], "t": 0.6},
    "separated": {"min_separation": {"pay": 2.0}, "l": 2},
    "kept and counted": {"keep": ["job"], "k_counts_kept": True, "max_suppressed_classes": 0.9},
    "survey weights": {"survey_weight_column": "weight"},
    "exact means": {"box_means": "exact"},
    "rounded means": {"box_means": "rounded"},
    "suppressed": {"rare_records": "suppress"},
    "marked": {"rare_records": "mark"},
    "weighed": {"rare_records": "weigh", "quasi_identifiers": ["age", "pay"]},
    "tight": {"bounds": "tight"},
    "incomplete": {"missing_policy": "drop", "quasi_identifiers": ["age", "pay", "town", "gap"]},
    "patterns": {"missing_policy": "pattern", "quasi_identifiers": ["age", "town", "gap"]},
}
#: Those that alone refuse some tables.
MAY_FAIL: Final = frozenset({"close", "separated", "diverse"})

_ENDS: Final = ("lo", "hi", "mean_lo", "mean_hi")


def counts_of(seed: int, *, most: int = 9) -> pl.DataFrame:
    """Rows that differ and how many persons each stands for, at least one of them one."""
    draw = np.random.default_rng([31, seed])
    rows = int(draw.integers(40, 120))
    frame = pl.DataFrame({
        "age": draw.integers(18, 60, rows), "pay": np.round(draw.lognormal(1, 1, rows), 2),
        "town": draw.choice(["a", "b", "c"], rows), "job": draw.choice(["x", "y", "z", "u"], rows),
        "weight": draw.integers(1, 5, rows) * 0.5, "gap": np.where(draw.random(rows) < 0.1, np.nan, 7.0 + rows % 3),
    }).with_columns(pl.col("gap").fill_nan(None))  # fmt: skip
    count = draw.integers(1, most, rows)
    count[0] = 1
    return frame.with_columns(n=pl.Series(count))


def persons_of(counts: pl.DataFrame, seed: int) -> pl.DataFrame:
    """A row for each person, in an order of their own."""
    places = [place for place, times in enumerate(counts["n"].to_list()) for _ in range(times)]
    shuffled = np.random.default_rng([32, seed]).permutation(places)
    return counts.drop("n")[shuffled]


def two(folder: Path, seed: int, counts: pl.DataFrame) -> Bench:
    bench = Bench(folder, seed=seed)
    bench.upload("counts", counts, form=FileFormat.PARQUET)
    bench.upload("persons", persons_of(counts, seed), form=FileFormat.PARQUET)
    return bench


def body(option: str, **more: Any) -> dict[str, Any]:
    given = {"method": "boxes", "dataset_id": "persons", "quasi_identifiers": ["age", "pay", "town"], "k": 5}
    return given | OPTIONS[option] | more


def grouped(body: dict[str, Any]) -> dict[str, Any]:
    return body | {"dataset_id": "counts", "frequency_column": "n"}


def rows_of(done: Done) -> list[str]:
    """The rows of a release, whatever their order and the numbers of boxes."""
    return sorted(map(str, done.rows().drop("box").rows()))


def parameters_of(done: Done) -> dict[str, Any]:
    assert done.release is not None
    return {name: value for name, value in done.release.parameters.items() if name != "frequency_column"}


def in_any_order(value: Any) -> Any:
    """Figures without the last digits of sums, which follow the order of what is added up."""
    if isinstance(value, dict):
        return {name: in_any_order(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [in_any_order(one) for one in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def attempted(bench: Bench, spec: dict[str, Any]) -> Done | str:
    """A job, or why there is none."""
    try:
        return bench.run(spec)
    except Exception as error:  # noqa: BLE001 - both jobs fail alike, whatever with
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("option", OPTIONS)
def test_boxes_of_counts_are_those_of_a_row_for_each_person(tmp_path: Path, option: str, seed: int) -> None:
    bench = two(tmp_path, seed, counts_of(seed))
    expected, made = (attempted(bench, one(body(option))) for one in (dict, grouped))
    if isinstance(expected, str) or isinstance(made, str):
        assert made == expected
        assert option in MAY_FAIL, expected
        return
    assert rows_of(made) == rows_of(expected)
    assert made.result == expected.result
    assert parameters_of(made) == parameters_of(expected)
    assert made.outcome.warnings == expected.outcome.warnings


@pytest.mark.parametrize("seed", seeds(3))
def test_the_frontier_of_counts_is_that_of_a_row_for_each_person(tmp_path: Path, seed: int) -> None:
    bench = two(tmp_path, seed, counts_of(seed))
    spec = {"method": "frontier", "dataset_id": "persons", "quasi_identifiers": ["age", "pay", "town"], "k": [2, 5, 20]}
    assert bench.run(grouped(spec)).whole == bench.run(spec).whole


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("named", [(), ("age", "town")])
def test_the_audit_of_counts_is_that_of_a_row_for_each_person(
    tmp_path: Path, seed: int, named: tuple[str, ...]
) -> None:
    bench = two(tmp_path, seed, counts_of(seed))
    spec = {
        "method": "table", "dataset_id": "persons", "quasi_identifiers": named, "sampling_fraction": 0.1,
        "sensitive": ["job"], "survey_weight_column": "weight", "region_columns": ["town"],
        "sums": [{"of": "pay", "by": ["town"]}],
    }  # fmt: skip
    made, expected = bench.run(grouped(spec)).whole, bench.run(spec).whole
    assert in_any_order(made) == in_any_order(expected)


@pytest.mark.parametrize("widths", ["none", "auto"])
def test_one_row_of_k_persons_is_a_box_and_means_are_of_persons(tmp_path: Path, widths: str) -> None:
    """Each row but one has k persons: where no width forbids it each of these is a box of its own, and else none is."""
    bench = Bench(tmp_path)
    persons = {20: 1} | dict.fromkeys(range(21, 30), 7)
    counts = pl.DataFrame({"age": list(persons), "n": list(persons.values())})
    bench.upload("counts", counts, form=FileFormat.PARQUET)
    spec = {"method": "boxes", "dataset_id": "counts", "quasi_identifiers": ["age"], "k": 7, "least_widths": widths}
    rows = bench.run(grouped(spec) | {"box_means": "exact", "statistics": [{"kind": "mean", "of": ["age"]}]}).rows()
    boxes = rows.group_by("box").agg(pl.len().alias("rows"), *(pl.col(f"age_{end}").first() for end in _ENDS))
    for _, size, low, high, mean, again in boxes.rows():
        inside = [age for age, times in persons.items() for _ in range(times) if low <= age <= high]
        assert size == len(inside) >= 7
        assert mean is None or (mean <= np.mean(inside) <= again and again - mean < 1e-9)
    alone = set(boxes.filter(pl.col("age_lo") == pl.col("age_hi"))["age_lo"])
    assert alone == (set(range(22, 30)) if widths == "none" else set())
    assert boxes["age_mean_lo"].is_not_null().any() is (widths == "auto")


def test_values_are_counted_by_l_and_persons_by_k(tmp_path: Path) -> None:
    """A row of nine persons has one job: two such rows in a box have two, and no box has three."""
    bench = Bench(tmp_path)
    counts = pl.DataFrame({"age": [1, 2, 3, 4], "job": ["x", "y", "x", "y"], "n": [9, 1, 1, 9]})
    bench.upload("counts", counts, form=FileFormat.PARQUET)
    spec = grouped({"method": "boxes", "dataset_id": "counts", "quasi_identifiers": ["age"], "k": 10, "l": 2})
    done = bench.run(spec | {"sensitive": ["job"], "least_widths": "none"})
    assert sorted(done.rows().group_by("box").len()["len"].to_list()) == [10, 10]
    assert {len(set(jobs)) for jobs in done.rows().group_by("box").agg("job")["job"].to_list()} == {2}
    assert [one.pointer for one in bench.accepted(spec | {"sensitive": ["job"], "l": 3})[1]] == ["/l"]


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"frequency_column": "m"}, "/frequency_column", "no column 'm'"),
        ({"frequency_column": "job"}, "/frequency_column", "not numeric"),
        ({"frequency_column": "zero"}, "/frequency_column", "counts below 1"),
        ({"frequency_column": "half"}, "/frequency_column", "fractions"),
        ({"frequency_column": "gaps"}, "/frequency_column", "1 missing value"),
        ({"frequency_column": "many"}, "/frequency_column", "4,000,000,001 persons"),
        ({"frequency_column": "most"}, "/frequency_column", "counts above 2,147,483,647"),
        ({"frequency_column": "tens"}, "/frequencies_are_exact", "multiples of 10"),
        ({"frequency_column": "threes"}, "/frequencies_are_exact", "multiples of 3"),
        ({"frequency_column": "fours"}, "/frequencies_are_exact", "below 3"),
        ({"person_column": "job"}, "/person_column", "one row each"),
        ({"frequency_column": None, "frequencies_are_exact": True}, "/frequencies_are_exact", "name one"),
        ({"quasi_identifiers": ["age", "n"]}, "/quasi_identifiers/1", "no column of the persons"),
        ({"keep": ["n"]}, "/keep/0", "no column of the persons"),
        ({"survey_weight_column": "n"}, "/survey_weight_column", "no column of the persons"),
        ({"sensitive": ["n"], "l": 2}, "/sensitive/0", "no column of the persons"),
        ({"sensitive": ["job", "n"], "withheld": ["n"], "l": 2}, "/withheld/0", "no column of the persons"),
        ({"min_separation": {"n": 1.0}, "l": 2}, "/min_separation/n", "no column of the persons"),
        ({"statistics": [{"kind": "mean", "of": ["n"]}]}, "/statistics/0/of/0", "no column of the persons"),
        ({"domains": {"n": [0, 9]}}, "/domains/n", "no column of the persons"),
        ({"min_width": {"n": 2}}, "/min_width/n", "no column of the persons"),
        ({"value_step": {"n": 2}}, "/value_step/n", "no column of the persons"),
        ({"nominal": {"n": {}}}, "/nominal/n", "no column of the persons"),
        ({"ordinal": {"n": [1, 2]}}, "/ordinal/n", "no column of the persons"),
        ({"k": 40}, "/k", "the largest k is 29"),
        ({"method": "frontier", "k": [2], "records": "all"}, "/records", "stands for several"),
        ({"method": "table", "k": None, "region_columns": ["n"]}, "/region_columns/0", "no column of the persons"),
        (
            {"method": "table", "k": None, "sums": [{"of": "n", "by": ["job"]}]},
            "/sums/0/of",
            "no column of the persons",
        ),
        ({"method": "table", "k": None, "sums": [{"of": "age", "by": ["n"]}]}, "/sums/0/by/0", "no column of the"),
        ({"method": "table", "k": None, "tolerances": {"n": 1}}, "/tolerances/n", "no column of the persons"),
        ({"method": "table", "k": None, "microaggregated": ["n"]}, "/microaggregated/0", "no column of the persons"),
    ],
)
def test_counts_that_count_no_persons_are_refused_where_they_are_named(
    tmp_path: Path, change: dict[str, Any], pointer: str, says: str
) -> None:
    bench = Bench(tmp_path)
    counts = pl.DataFrame({
        "age": range(8), "job": ["x", "y"] * 4, "n": [1, 2, 3, 4, 4, 5, 5, 5], "zero": [0, *[1] * 7],
        "half": [1.5, *[1.0] * 7], "gaps": [None, *[1] * 7], "many": [500_000_001, *[500_000_000] * 7],
        "most": [2**54] * 8, "tens": [10] * 8, "threes": [3, 9] * 4, "fours": [4, 7] * 4,
    })  # fmt: skip
    bench.upload("counts", counts, form=FileFormat.PARQUET)
    spec = {"method": "boxes", "dataset_id": "counts", "quasi_identifiers": ["age"], "k": 5, "frequency_column": "n"}
    refused(bench, {name: value for name, value in (spec | change).items() if name != "k" or value}, pointer, says)


def test_counts_of_nothing_are_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.upload("counts", pl.DataFrame({"n": [1, 2, 3]}), form=FileFormat.PARQUET)
    refused(
        bench, {"method": "table", "dataset_id": "counts", "frequency_column": "n"}, "/frequency_column", "group by"
    )


@pytest.mark.parametrize("column", ["tens", "fours", "doubles"])
def test_counts_of_which_none_is_one_are_taken_once_they_are_confirmed(tmp_path: Path, column: str) -> None:
    """Doubles too: a sum of counts is one in some warehouses."""
    bench = Bench(tmp_path)
    counts = pl.DataFrame({"age": range(8), "tens": [10] * 8, "fours": [4, 7] * 4, "doubles": [2.0, 3.0] * 4})
    bench.upload("counts", counts, form=FileFormat.PARQUET)
    spec = {"method": "boxes", "dataset_id": "counts", "quasi_identifiers": ["age"], "k": 5, "frequency_column": column}
    assert bench.accepted(spec)[1]
    done = bench.run(spec | {"frequencies_are_exact": True})
    assert done.result["released"] == counts[column].sum()
    assert done.release is not None
    assert done.release.parameters["frequencies_are_exact"] is True
