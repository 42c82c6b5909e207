"""What audits are expected to need follows from what they will do: so many runs, so many releases, so many sets."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from app.jobs.estimates import Estimate, estimated
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
    return estimated(*named, share=share)


def test_a_frontier_needs_what_the_boxes_of_each_k_need(bench: Bench) -> None:
    frontier = {"method": "frontier", "dataset_id": "d", "quasi_identifiers": COLUMNS}
    several = need(bench, **frontier, k=[5, 50, 500])
    each = [need(bench, **(BOXES | {"k": k})) for k in (5, 50, 500)]
    assert several.seconds == pytest.approx(sum(one.seconds for one in each), rel=0.3)
    assert several.bytes < sum(one.bytes for one in each)  # one after the other


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


def test_linkage_of_noisy_rows_takes_longer_with_many_columns(bench: Bench) -> None:
    values = np.random.default_rng(1).normal(size=(400, 24)).round(3)
    bench.dataset("wide", pl.DataFrame(values, schema=[f"x{at}" for at in range(24)]))
    for name, columns in (("narrow noise", 8), ("wide noise", 24)):
        names = [f"x{at}" for at in range(columns)]
        bench.release(name, {"method": "uncertain", "dataset_id": "wide", "quasi_identifiers": names, "k": 5.0})
    audit = {"method": "linkage", "knowledge_dataset_id": "wide"}
    narrow, wide = (need(bench, **audit, release_id=name) for name in ("narrow noise", "wide noise"))
    assert wide.seconds == pytest.approx(3 * narrow.seconds, rel=0.1)


def test_linkage_of_boxes_is_counting_and_of_rows_searching(bench: Bench) -> None:
    counted, searched = (
        need(bench, method="linkage", knowledge_dataset_id="d", release_id=one) for one in ("boxes", "rows")
    )
    assert 20 * counted.seconds < searched.seconds
