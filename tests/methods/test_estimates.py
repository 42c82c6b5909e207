"""What audits are expected to need follows from what they will do: so many runs, so many releases, so many sets."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.jobs.estimates import estimated
from app.jobs.needs import Estimate
from app.methods.frequencies import counted
from tests.methods.in_process import Bench

COLUMNS = ["a", "b", "c"]
BOXES = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": COLUMNS, "k": 5}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A table and three releases of it."""
    made = Bench(tmp_path_factory.mktemp("estimates"))
    values = np.random.default_rng(0).integers(0, 40, (4_000, 9))
    made.dataset("d", pl.DataFrame(values, schema=[*COLUMNS, *"defghi"]))
    made.release("boxes", BOXES)
    made.release("more", BOXES | {"k": 7})
    made.release("rows", {"method": "condensation", "dataset_id": "d", "quasi_identifiers": COLUMNS, "k": 5})
    return made


def need(bench: Bench, *, share: float = 2_500.0, **body: Any) -> Estimate:
    """Of ten million rows, so that what every job takes does not count."""
    named = bench.named(body)
    assert named is not None
    spec, given = named
    return estimated(spec, counted(given, dict(spec)), share=share)


def test_a_frontier_needs_what_the_boxes_of_each_k_need(bench: Bench) -> None:
    frontier = {"method": "frontier", "dataset_id": "d", "quasi_identifiers": COLUMNS}
    several = need(bench, **frontier, k=[5, 50, 500], compare_means=False)
    each = [need(bench, **(BOXES | {"k": k})) for k in (5, 50, 500)]
    assert several.seconds == pytest.approx(sum(one.seconds for one in each), rel=0.3)
    twice = need(bench, **frontier, k=[5, 50, 500])
    assert twice.seconds > 1.9 * several.seconds  # with means and without
    assert several.bytes < sum(one.bytes for one in each)  # one after the other


@pytest.mark.parametrize("method", ["boxes", "frontier", "table"])
def test_a_table_of_counts_needs_what_its_persons_need_and_to_be_written_out(tmp_path: Path, method: str) -> None:
    bench, draw = Bench(tmp_path), np.random.default_rng(5)
    counts = pl.DataFrame(
        {"age": draw.integers(0, 90, 500), "pay": draw.normal(size=500), "n": draw.integers(1, 99, 500)}
    )
    bench.dataset("counts", counts)
    bench.dataset("persons", counts.drop("n")[np.repeat(np.arange(500), counts["n"])])
    body = {"method": method, "quasi_identifiers": ["age", "pay"]} | {"boxes": {"k": 5}, "frontier": {}, "table": {}}[
        method
    ]
    plain = need(bench, share=1.0, **body, dataset_id="persons")
    of_counts = need(bench, share=1.0, **body, dataset_id="counts", frequency_column="n")
    for name in ("seconds", "bytes", "scratch"):
        assert getattr(plain, name) < getattr(of_counts, name), name
    assert of_counts.seconds < 2 * plain.seconds
    assert of_counts.written == plain.written


def test_an_influence_needs_two_runs_for_each_record_and_one_before(bench: Bench) -> None:
    once = need(bench, **BOXES)
    for records in (1, 5):
        audit = need(bench, method="influence", dataset_id="d", release_ids=["boxes"], records=records)
        assert audit.seconds == pytest.approx((1 + 2 * records) * once.seconds, rel=0.3)
        assert audit.bytes < 2.5 * once.bytes


def test_an_influence_of_condensed_rows_is_not_taken_to_write_them(bench: Bench) -> None:
    once = need(bench, method="condensation", dataset_id="d", quasi_identifiers=COLUMNS, k=5)
    audit = need(bench, method="influence", dataset_id="d", release_ids=["rows"], records=1)
    assert audit.seconds < 3 * once.seconds / 2


@pytest.mark.parametrize("method", ["composition", "determination", "influence"])
def test_two_releases_need_more_than_one(bench: Bench, method: str) -> None:
    audit: dict[str, Any] = {"method": method} | ({} if method == "determination" else {"dataset_id": "d"})
    one, two = (need(bench, **audit, release_ids=names, share=1e5) for names in (["boxes"], ["boxes", "more"]))
    assert one.seconds < two.seconds < 2.5 * one.seconds


def test_a_table_needs_what_its_sets_of_columns_need_of_which_there_are_not_too_many(bench: Bench) -> None:
    audit, every = {"method": "table", "dataset_id": "d"}, [*COLUMNS, *"defghi"]
    few, many = (need(bench, **audit, quasi_identifiers=names, share=250.0) for names in (COLUMNS, every))
    assert many.seconds > 3 * few.seconds  # 129 sets of up to three of nine columns, 7 of three
    assert need(bench, **audit, share=250.0).seconds <= many.seconds
    assert need(bench, **audit, quasi_identifiers=every).seconds < 100.0  # of ten million rows it looks at smaller sets


@pytest.fixture(scope="module")
def by_columns(bench: Bench) -> Bench:
    """Noisy rows of 5 columns and of 24."""
    values = np.random.default_rng(1).normal(size=(400, 24)).round(3)
    bench.dataset("wide", pl.DataFrame(values, schema=[f"x{at}" for at in range(24)]))
    for columns in (5, 24):
        names = [f"x{at}" for at in range(columns)]
        bench.release(f"noise {columns}", noise(columns) | {"quasi_identifiers": names})
    return bench


def noise(columns: int) -> dict[str, Any]:
    """A job of noisy rows."""
    names = [f"x{at}" for at in range(columns)]
    return {"method": "uncertain", "dataset_id": "wide", "quasi_identifiers": names, "k": 5.0}


def test_in_few_columns_the_near_records_are_compared_and_in_many_all(by_columns: Bench) -> None:
    """Ten times as many records: of all pairs there are a hundred times as many."""
    for columns, least, most in ((5, 10.0, 50.0), (24, 80.0, 110.0)):
        audit = {"method": "linkage", "knowledge_dataset_id": "wide", "release_id": f"noise {columns}"}
        few, many = (need(by_columns, **audit, share=share) for share in (250.0, 2_500.0))
        assert least < many.seconds / few.seconds < most
        few, many = (need(by_columns, **noise(columns), share=share) for share in (2_500.0, 25_000.0))
        assert least < many.seconds / few.seconds < most


def test_regressions_that_compete_are_proven_for_all_and_each_alone(bench: Bench) -> None:
    line = {"kind": "regression", "of": COLUMNS}
    one, three = (
        need(bench, **(BOXES | {"statistics": [line | {"weight": 1.0 + at} for at in range(many)]}), share=1.0)
        for many in (1, 3)
    )
    assert three.seconds > 3 * one.seconds


def test_a_regression_takes_long_of_few_boxes_too_and_longer_with_more_predictors(bench: Bench) -> None:
    def seconds(of: list[str]) -> float:
        body = {"method": "statistics", "release_id": "boxes", "statistics": [{"kind": "regression", "of": of}]}
        return need(bench, **body, share=1.0).seconds

    two, one = seconds(COLUMNS), seconds(COLUMNS[:2])
    assert two > 1.0  # measured: 1 to 3 s of 100 boxes as of 800
    assert two > 2 * one


def test_linkage_of_boxes_is_counting_and_of_rows_searching(bench: Bench) -> None:
    counted, searched = (
        need(bench, method="linkage", knowledge_dataset_id="d", release_id=one) for one in ("boxes", "rows")
    )
    assert 20 * counted.seconds < searched.seconds
