"""The audits `influence` and `frontier`, on data with one far record."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from app.methods.boxes.spec import BoxesSpec
from app.methods.catalogue import METHODS
from tests.methods.in_process import Bench
from tests.methods.refusing import refused
from workers.methods.context import InputFile

COLUMNS = ["x", "y"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    rng = np.random.default_rng(9)
    values = rng.normal(size=(200, 2))
    values[17] = [40.0, 0.0]
    bench.dataset("far", pl.DataFrame(values, schema=COLUMNS))
    return bench


def influence_of(bench: Bench, **change: object) -> dict[str, dict[str, float]]:
    name = bench.release(str(change), {"dataset_id": "far", "quasi_identifiers": COLUMNS, "k": 4} | change)
    result = bench.run({"method": "influence", "release_ids": [name], "records": 2}).result
    assert result["releases"][0]["runs"] == 5
    assert result["passed"] == (not result["findings"])
    return {one["published_figure"]: one for one in result["releases"][0]["numbers"]}


def test_an_outer_bound_taken_from_the_data_is_the_far_records_value(bench: Bench) -> None:
    numbers = influence_of(bench, method="boxes")
    assert numbers["x_hi, greatest"]["slope"] == pytest.approx(1.0, abs=1e-3)
    assert numbers["x_hi, greatest"]["change"] > 0.9
    assert numbers["variance(x) estimate"]["change"] > 0.5  # one record is most of the variance
    assert numbers["rows"]["slope"] == 0.0


def test_declared_domains_take_the_outer_bound_from_the_record(bench: Bench) -> None:
    numbers = influence_of(bench, method="boxes", domains={"x": [-50.0, 100.0], "y": [-50.0, 50.0]})
    assert numbers["x_hi, greatest"]["slope"] == numbers["x_hi, greatest"]["change"] == 0.0


def test_suppression_mends_a_common_scale_that_one_record_decides(bench: Bench) -> None:
    noise = {"method": "uncertain", "scales": "common"}
    decided = influence_of(bench, **noise, suppress_share=0.0)["x_scale, greatest"]
    mended = influence_of(bench, **noise, suppress_share=0.05)["x_scale, greatest"]
    assert decided["change"] > 0.5
    assert mended["change"] < 0.2


def test_a_release_without_numbers_has_no_extreme_records(bench: Bench) -> None:
    bench.dataset("towns", pl.DataFrame({"town": ["a", "b"] * 20, "day": [date(2020, 1, 1)] * 40}))
    name = bench.release("of towns", {"method": "boxes", "dataset_id": "towns", "quasi_identifiers": ["town"], "k": 4})
    refused(bench, {"method": "influence", "release_ids": [name]}, "/release_ids/0", "no column of numbers")


def test_a_frontier_says_of_every_k_what_the_release_would_say(bench: Bench) -> None:
    spec = {"method": "frontier", "dataset_id": "far", "quasi_identifiers": COLUMNS, "k": [3, 20, 150]}
    result = bench.run(spec | {"domains": {"x": [-50.0, 100.0], "y": [-50.0, 50.0]}}).result
    three, twenty, all_in_one = result["points"]
    assert [one["k"] for one in result["points"]] == [3, 20, 150]
    assert three["ncp"] < twenty["ncp"] < all_in_one["ncp"] == pytest.approx(1.0)
    assert all_in_one["box_count"] == 1
    assert set(result["meaning"]) <= {*three, *three["statistics"][0], *result}
    narrow = {(one["kind"], *one["of"]): one["width"] for one in three["statistics"]}
    wide = {(one["kind"], *one["of"]): one["width"] for one in twenty["statistics"]}
    assert len(narrow) == 5
    assert narrow["mean", "x"] < wide["mean", "x"]
    assert result["passed"] is True
    assert result["demands"] == {"feasible": {"required": 3, "measured": 3, "met": True}}
    of_releases = {"formats", "delimiter", "publish", "gate", "accept_findings"}
    of_others = {"base_release_id", "previous_release_id"}
    fields = set(BoxesSpec.model_fields) - of_releases - of_others
    assert fields <= set(type(bench.spec(spec)).model_fields)


def test_the_detail_of_an_ordinal_column_is_measured_in_the_order_of_its_values(bench: Bench) -> None:
    order = ["none", "school", "college", "doctorate"]
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"age": rng.integers(20, 60, 400), "education": rng.choice(order, 400)})
    bench.dataset("pupils", frame)
    body = {"dataset_id": "pupils", "quasi_identifiers": ["age", "education"], "ordinal": {"education": order}}
    wanted = {}
    for k in (40, 120):
        name = bench.release(f"pupils at {k}", body | {"method": "boxes", "k": k}, seed=3)
        rows = pl.read_parquet(bench.files[InputFile.RELEASE, name])
        ranks = {end: [order.index(value) for value in rows[f"education_{end}"]] for end in ("lo", "hi")}
        spans = {
            "education": (np.array(ranks["hi"]) - np.array(ranks["lo"]), max(ranks["hi"]) - min(ranks["lo"])),
            "age": ((rows["age_hi"] - rows["age_lo"]).to_numpy(), rows["age_hi"].max() - rows["age_lo"].min()),
        }
        wanted[k] = np.mean([width.mean() / whole for width, whole in spans.values()])
        audit = {"method": "table", "release_id": name, "quasi_identifiers": ["age", "education"]}
        assert bench.run(audit).result["utility"]["ncp"] == pytest.approx(wanted[k])
    points = bench.run(body | {"method": "frontier", "k": [40, 120]}, seed=3).result["points"]
    assert {one["k"]: one["ncp"] for one in points} == pytest.approx(wanted)


def test_a_frontier_says_which_records_are_rare_and_why(bench: Bench) -> None:
    statistics = [{"kind": "mean", "of": ["x"], "weight": 1.0}, {"kind": "variance", "of": ["y"], "weight": 0.5}]
    spec = {"method": "frontier", "dataset_id": "far", "quasi_identifiers": COLUMNS, "k": [4], "statistics": statistics}
    records = bench.run(spec | {"records": "all"}).result["records"]
    assert (records["k"], records["measured"], len(records["listed"])) == (4, 200, 200)
    x = pl.read_parquet(bench.files[InputFile.DATASET, "far"]).to_numpy()
    a = np.column_stack([np.ones(200), 0.5 * 2.0 * np.abs(x[:, 1] - x[:, 1].mean())])
    mean = a.mean(axis=0)
    distance = (mean * np.abs(x[:, None] - x[None])).max(axis=2)
    near = np.argsort(distance, axis=1, kind="stable")[:, :33]  # itself and 32 more
    local = a[near].mean(axis=1)
    density = 31 * mean.prod() / (2.0 * np.sort(distance, axis=1)[:, 32]) ** 2
    c = 0.5 * np.sqrt(4.0 / density * local.prod(axis=1))
    order = np.argsort(-c)
    assert [one["row"] for one in records["listed"]] == order.tolist()
    assert records["listed"][0]["row"] == 17
    for one in records["listed"]:
        row = one["row"]
        assert one["cost"] == pytest.approx(c[row], rel=1e-5)
        assert one["density"] == pytest.approx(density[row], rel=1e-5)
        assert [one["half_widths"][name] for name in COLUMNS] == pytest.approx((c[row] / local[row]).tolist(), rel=1e-5)
        assert one["rare_by_density"] * one["rare_by_influence"] == pytest.approx(c[row] / np.median(c), rel=1e-5)
        assert one["rare_by_density"] == pytest.approx(np.sqrt(np.median(density) / density[row]), rel=0.01)
    few = bench.run(spec | {"records": [3, 17], "l": 2, "min_separation": {"x": 30.0}}).result["records"]
    assert [one["row"] for one in few["listed"]] == [17, 3]
    assert {one["half_widths"]["x"] for one in few["listed"]} == {30.0}  # l eps / 2


def test_a_frontier_lists_single_records_in_the_whole_result_only(bench: Bench) -> None:
    """What a job shows, in lists, streams and slices, is read without an entry in the log; the whole result is not."""
    spec = {"method": "frontier", "dataset_id": "far", "quasi_identifiers": COLUMNS, "k": [4]}
    for records in ("all", [17]):
        done = bench.run(spec | {"records": records})
        whole, shown = done.outcome.result, done.outcome.summary
        measured = 200 if records == "all" else 1
        assert shown["records"] == {"k": 4, "measured": measured}
        assert len(whole["records"]["listed"]) == measured
        assert {**shown, "records": None} == {**whole, "records": None}
        assert METHODS["frontier"].shown.model_validate(shown).model_dump(mode="json") == shown
    none = bench.run(spec).outcome
    assert (none.summary["records"], none.result["records"]) == (None, None)


def test_coinciding_records_share_their_figures_and_go_by_their_row(bench: Bench) -> None:
    """The same values have the same half-widths, whichever rows have them; 33 equal records have no finite density."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(150, 2))
    values[[3, 60, 61]] = [9.0, -9.0]  # three equal records far out
    values[100:140] = [0.25, 0.5]  # so many that the nearest 32 are at the same place
    bench.dataset("equal", pl.DataFrame(values, schema=COLUMNS))
    weighted = [{"kind": "mean", "of": [name], "weight": 1.0} for name in COLUMNS]
    spec = {"method": "frontier", "dataset_id": "equal", "quasi_identifiers": COLUMNS, "k": [4], "statistics": weighted}
    records = bench.run(spec | {"records": "all"}).result["records"]
    by_row = {one["row"]: {name: one[name] for name in one if name != "row"} for one in records["listed"]}
    assert by_row[3] == by_row[60] == by_row[61]
    heap = [by_row[row] for row in range(100, 140)]
    assert all(one == heap[0] for one in heap)
    order = [(-one["cost"], one["row"]) for one in records["listed"]]
    assert order == sorted(order), "of equal cost the lower row first"
    assert [one["row"] for one in records["listed"]][:3] == [3, 60, 61]
    assert [one["row"] for one in records["listed"]][-40:] == list(range(100, 140))
    for one in records["listed"]:
        figures = [one["cost"], one["rare_by_density"], one["rare_by_influence"], *one["half_widths"].values()]
        assert np.isfinite(figures).all()
        assert min(figures) >= 0.0
    assert heap[0]["density"] is None or heap[0]["density"] > 1e6 * by_row[3]["density"]
    few = bench.run(spec | {"records": [61, 3, 120, 3]}).result["records"]
    assert [one["row"] for one in few["listed"]] == [3, 61, 120]
    assert {one["row"]: one["cost"] for one in few["listed"]} == {row: by_row[row]["cost"] for row in (3, 61, 120)}


def test_where_all_records_coincide_a_frontier_has_no_rare_ones(bench: Bench) -> None:
    same = pl.DataFrame({"x": [2.0] * 40, "y": [1.0, 2.0] * 20})
    bench.dataset("same", same)
    spec = {"method": "frontier", "dataset_id": "same", "quasi_identifiers": COLUMNS, "k": [4], "records": "all"}
    weighted = [{"kind": "mean", "of": [name], "weight": 1.0} for name in COLUMNS]
    records = bench.run(spec | {"statistics": weighted}).result["records"]
    if records is not None:
        assert len({one["cost"] for one in records["listed"]}) == 1
        assert [one["row"] for one in records["listed"]] == list(range(40))


def test_a_frontier_refuses_records_that_are_not_there(bench: Bench) -> None:
    spec = {"method": "frontier", "dataset_id": "far", "quasi_identifiers": COLUMNS, "k": [4]}
    with pytest.raises(AssertionError, match="/records/1"):
        bench.run(spec | {"records": [0, 200]})
    with pytest.raises(AssertionError, match="/records"):
        bench.run(spec | {"records": [0], "statistics": [{"kind": "quantile", "of": ["x"], "p": 0.5}]})


def test_what_boxes_refuse_a_frontier_refuses_at_the_same_place(bench: Bench) -> None:
    with pytest.raises(AssertionError, match="/k/1"):
        bench.run({"method": "frontier", "dataset_id": "far", "quasi_identifiers": COLUMNS, "k": [3, 500]})
    with pytest.raises(ValueError, match="twice"):
        bench.run({"method": "frontier", "dataset_id": "far", "quasi_identifiers": ["x", "x"]})
