"""The audit `table` over HTTP, against the table taken apart row by row."""

import json
import math
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.contracts.quasi_identifiers import Form, all_understood, understood
from tests.algorithms.tables.slow import Table, measures
from tests.methods.asking import anonymization, released, succeed, upload

QI = ["age", "zone", "job"]


def audit(client: httpx.Client, dataset_id: str, **change: Any) -> dict[str, Any]:
    spec = {"method": "table", "dataset_id": dataset_id, "quasi_identifiers": QI} | change
    result: dict[str, Any] = succeed(client, spec, kind="audits")["result"]
    return result


@pytest.fixture(scope="module")
def people(client: httpx.Client) -> tuple[str, pl.DataFrame]:
    """Bounds, a set, a plain column; a disease and an income; households, weights; some of it missing."""
    rng = np.random.default_rng(8)
    n = 400
    low = rng.integers(2, 7, n) * 10
    zone = rng.choice(["a", "b", None], n, p=[0.6, 0.35, 0.05])
    frame = pl.DataFrame(
        {
            "age_lo": low,
            "age_hi": low + rng.choice([5, 10], n),
            "job_set": rng.choice([json.dumps(["x"]), json.dumps(["x", "y"]), json.dumps(["z", "y", "x"])], n),
            "zone": zone,
            "disease": rng.choice(["flu", "none", "rare"], n, p=[0.3, 0.69, 0.01]),
            "income": rng.integers(0, 30, n) * 100,
            "home": np.arange(n) // 2,
            "weight": rng.integers(5, 50, n) / 2,
        },
        strict=False,
    )
    frame = frame.with_columns(zone=pl.Series(zone.tolist(), dtype=pl.String))
    return upload(client, frame.write_csv())["id"], frame


def table_of(frame: pl.DataFrame, sensitive: str) -> Table:
    rows = frame.select(
        pl.struct("age_lo", "age_hi").rank("dense").cast(pl.Int64),
        pl.col("zone").rank("dense").cast(pl.Int64).fill_null(-1),
        pl.col("job_set").rank("dense").cast(pl.Int64),
    ).rows()
    return Table(tuple(rows), tuple((frame[sensitive].rank("dense").cast(pl.Int64) - 1).to_list()))


def test_regions_have_the_people_that_their_weights_stand_for(
    client: httpx.Client, people: tuple[str, pl.DataFrame]
) -> None:
    dataset_id, frame = people
    result = audit(
        client,
        dataset_id,
        region_columns=["disease"],
        survey_weight_column="weight",
        require={"region_population": 1e9},
    )
    least = frame.group_by("disease").agg(pl.col("weight").sum())["weight"].min()
    assert result["regions"] == {"region_count": 3, "smallest_region": pytest.approx(least)}
    assert result["demands"]["region_population"] == {"required": 1e9, "measured": pytest.approx(least), "met": False}


@pytest.mark.parametrize("missing_matches", ["own_value", "matches_anything", "drop_records"])
def test_every_measure_is_that_of_the_rows(
    client: httpx.Client, people: tuple[str, pl.DataFrame], missing_matches: str
) -> None:
    dataset_id, frame = people
    result = audit(
        client,
        dataset_id,
        sensitive=["disease", "income"],
        missing_matches=missing_matches,
        person_column="home",
        survey_weight_column="weight",
    )
    kept = frame.drop_nulls("zone") if missing_matches == "drop_records" else frame
    anything = missing_matches == "matches_anything"
    table = table_of(kept, "disease")
    every = [table.neighbourhood(at, anything=anything) for at in range(len(kept))]
    assert (result["records"], result["suppressed"]["missing"]) == (len(kept), len(frame) - len(kept))
    assert result["quasi_identifiers"] == QI
    assert result["k_records"] == min(map(len, every))
    home, weight = kept["home"].to_list(), kept["weight"].to_list()
    assert result["k"] == min(len({home[at] for at in rows}) for rows in every)
    assert result["unique"] == sum(len(rows) == 1 for rows in every)
    people_of = [sum(weight[at] for at in rows) for rows in every]
    assert result["population_k"] == pytest.approx(min(people_of))
    assert result["risk"]["prosecutor"]["average"] == pytest.approx(np.mean([1 / len(rows) for rows in every]))
    assert result["risk"]["prosecutor"]["share_above"] == pytest.approx(np.mean([len(rows) < 5 for rows in every]))
    marketed = [1 / max(one, len(rows)) for one, rows in zip(people_of, every, strict=True)]
    assert result["risk"]["marketer"]["average"] == pytest.approx(np.mean(marketed))
    assert result["utility"]["discernibility"] == sum(map(len, every)) + result["suppressed"]["missing"] * len(frame)
    for column, ordered in (("disease", False), ("income", True)):
        entry = next(one for one in result["sensitive"] if one["column"] == column)
        table = table_of(kept, column)
        by_class = [measures(table, rows, sorted(set(table.sensitive))) for rows in every]
        assert entry["l_diversity"]["distinct"] == min(one["distinct"] for one in by_class)
        assert entry["l_diversity"]["entropy"] == pytest.approx(math.exp(min(one["entropy"] for one in by_class)))
        assert entry["alpha"] == pytest.approx(max(one["top"] for one in by_class))
        assert entry["t_closeness"]["equal"] == pytest.approx(max(one["equal"] for one in by_class))
        expected = pytest.approx(max(one["ordered"] for one in by_class)) if ordered else None
        assert entry["t_closeness"]["ordered"] == expected
        assert entry["beta"]["basic"] == pytest.approx(max(one["beta"] for one in by_class))
        assert entry["delta_disclosure"] == pytest.approx(max(one["delta"] for one in by_class))
    singled = table.minimal_uniques(3, anything=anything)
    shown = {tuple(one["columns"]): one["records"] for one in result["sample_uniques"]["combinations"]}
    assert shown == {tuple(QI[at] for at in columns): len(rows) for columns, rows in singled.items() if rows}
    assert set(result["meaning"]) <= set(result)
    assert result["verdict"].endswith(".")


def test_bounds_and_sets_are_one_quasi_identifier_however_they_are_named(
    client: httpx.Client, people: tuple[str, pl.DataFrame]
) -> None:
    dataset_id, frame = people
    by_base = audit(client, dataset_id, quasi_identifiers=["age", "job"])
    by_ends = audit(client, dataset_id, quasi_identifiers=["age_lo", "age_hi", "job_set"])
    assert by_base == by_ends
    width = (frame["age_hi"] - frame["age_lo"]) / (frame["age_hi"].max() - frame["age_lo"].min())
    members = frame["job_set"].map_elements(lambda text: len(json.loads(text)), return_dtype=pl.Int64)
    share = [one / 3 if one > 1 else 0 for one in members]
    assert by_base["utility"]["ncp"] == pytest.approx((width.mean() + np.mean(share)) / 2)
    columns = ["age_lo", "age_hi", "job_set", "sex", "x_lo"]
    assert understood("sex", columns).form is Form.PLAIN
    assert understood("x_lo", columns).form is Form.PLAIN
    assert understood("town", columns) is None
    assert [one.name for one in all_understood(["job", "age_hi", "age"], columns)] == ["job", "age"]


def test_utility_of_a_table_in_the_words_of_other_programs_is_read(client: httpx.Client) -> None:
    rows = ['20-39,"[0, 10[",*'] * 6 + ['40-59,"[10, 30[",Male'] * 6 + ['60,"[30, 40[",Male'] * 3
    dataset_id = upload(client, "\n".join(["age,home,sex", *rows]))["id"]
    result = audit(client, dataset_id, quasi_identifiers=["age", "home", "sex"])
    ages = (12 * 19 / 40) / 15
    homes = (6 * 10 + 6 * 20 + 3 * 10) / 40 / 15
    assert result["utility"]["ncp"] == pytest.approx((ages + homes + 6 / 15) / 3)
    assert (result["k"], result["utility"]["not_measured"]) == (3, [])
    masked = "town,sex\n" + "Sw*,f\n" * 3 + "Norway,f\n" * 3
    result = audit(client, upload(client, masked)["id"], quasi_identifiers=["town", "sex"])
    assert (result["utility"]["ncp"], result["utility"]["not_measured"]) == (None, ["town"])
    assert "may be the class of a hierarchy" in result["meaning"]["utility"]


def test_a_class_beside_its_set_says_nothing_in_its_place(client: httpx.Client) -> None:
    """A class of a hierarchy is one name for many sets: the audit goes by the sets."""
    rng = np.random.default_rng(3)
    rows = [[town, group, "*"] for group, towns in (("north", "abcde"), ("south", "vwxyz")) for town in towns]
    frame = pl.DataFrame({"age": rng.integers(18, 60, 90), "town": rng.choice([row[0] for row in rows], 90)})
    dataset_id = upload(client, frame.write_csv())["id"]
    spec = anonymization(
        "boxes", dataset_id, ["age", "town"], k=4, bounds="tight", statistics=[{"kind": "mean", "of": ["age"]}]
    )
    job = succeed(client, spec | {"nominal": {"town": {"hierarchy": {"rows": rows}}}})
    shown = released(client, job)
    sets = pl.Series([json.dumps(sorted(members)) for members in shown["town_set"].to_list()])
    assert shown["town"].n_unique() < sets.n_unique(), "classes would tell less"
    alone = shown.select("age_lo", "age_hi", town_set=sets)
    expected = audit(client, upload(client, alone.write_csv())["id"], quasi_identifiers=["age", "town"])
    by_release = {"method": "table", "release_id": job["release_id"]}
    for names in (["age", "town"], ["age", "town_set"], ["town_set", "age_lo", "town"]):
        result = succeed(client, by_release | {"quasi_identifiers": names}, kind="audits")["result"]
        same = ("k", "classes", "risk")
        assert [result[name] for name in same] == [expected[name] for name in same]
        assert result["utility"]["ncp"] == pytest.approx(expected["utility"]["ncp"])
    again = alone.with_columns(town=shown["town"])
    assert audit(client, upload(client, again.write_csv())["id"], quasi_identifiers=["age", "town"])["k"] == result["k"]


def test_a_column_that_is_only_called_a_set_is_another_one(client: httpx.Client) -> None:
    """`town_set` has no sets: who names `town` asks about that column alone."""
    frame = pl.DataFrame({"town": ["a"] * 4 + ["b"] * 4, "town_set": [*"stuvwxyz"]})
    dataset_id = upload(client, frame.write_csv())["id"]
    assert audit(client, dataset_id, quasi_identifiers=["town"])["k"] == 4


def test_demands_are_answered_and_what_fails_is_a_finding(
    client: httpx.Client, people: tuple[str, pl.DataFrame]
) -> None:
    dataset_id, frame = people
    require = {"k": 500, "l": 1, "t": 1.0, "population_k": 1, "recursive": {"c": 1e9, "l": 1}, "sensitive_cells": 0}
    sums = [{"of": "income", "by": ["zone"]}, {"of": "income", "by": ["home"]}]
    spec = {"method": "table", "dataset_id": dataset_id, "quasi_identifiers": QI, "sensitive": ["disease"]}
    job = succeed(client, spec | {"survey_weight_column": "weight", "sums": sums, "require": require}, kind="audits")
    result = job["result"]
    met = {"k": False, "l": True, "t": True, "population_k": True, "recursive": True, "sensitive_cells": False}
    assert {name: one["met"] for name, one in result["demands"].items()} == met
    assert result["passed"] is False
    assert (result["demands"]["k"]["required"], result["demands"]["k"]["measured"]) == (500, result["k"])
    page = client.get(f"/v1/jobs/{job['id']}/report").text
    assert "It did not pass." in page
    assert "It passed." not in page
    failed = {one["required"]: one for one in result["findings"] if one["severity"] == "high"}
    assert failed[500.0]["measured"] == result["k"]
    by_zone, by_home = result["sums"]
    assert (by_zone["cells"], by_zone["sensitive_cells"]) == (3, 0)
    pairs = frame.group_by("home").agg(pl.col("income"))["income"].to_list()
    assert by_home["estimable"] == sum(sum(one) - max(one) - min(one) < 0.1 * max(one) for one in pairs)
    failing = {home for home, pay in frame.group_by("home").agg(pl.col("income")).iter_rows() if _dominated(pay)}
    assert len(failing) == by_home["sensitive_cells"] > 100
    assert [one["home"] for one in by_home["first_sensitive_cells"]] == [str(home) for home in sorted(failing)[:100]]
    assert by_zone["first_sensitive_cells"] == []
    assert "fail" in result["verdict"]


def _dominated(pay: list[float]) -> bool:
    """Return whether the second largest of a cell can estimate the largest, or the largest is most of it."""
    ordered = sorted((abs(one) for one in pay), reverse=True)
    return sum(ordered[2:]) < 0.1 * ordered[0] or ordered[0] > 0.75 * sum(ordered)


def test_what_the_columns_cannot_bear_is_refused_at_its_place(
    client: httpx.Client, people: tuple[str, pl.DataFrame]
) -> None:
    dataset_id, _ = people
    spec = {"method": "table", "dataset_id": dataset_id, "quasi_identifiers": ["age", "town"], "sensitive": ["age_lo"]}
    answer = client.post(
        "/v1/audits",
        json=spec | {"survey_weight_column": "disease", "person_column": "who", "region_columns": ["county"]},
    )
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    pointers = {one["pointer"] for one in answer.json()["errors"]}
    assert pointers == {
        "/quasi_identifiers/1",
        "/sensitive/0",
        "/survey_weight_column",
        "/person_column",
        "/region_columns/0",
    }
    answer = client.post("/v1/audits", json={"method": "table", "quasi_identifiers": ["age"]})
    assert answer.json()["errors"][0]["pointer"] == "/dataset_id"
    spec = {"method": "table", "dataset_id": dataset_id, "quasi_identifiers": ["age"], "require": {"t": 0.3}}
    answer = client.post("/v1/audits", json=spec)
    assert answer.json()["errors"][0]["pointer"] == "/require/t"


def test_a_missing_value_makes_a_record_alone_where_others_do_not_see_it(client: httpx.Client) -> None:
    """pyCANON leaves rows with a missing value out, and says 3."""
    dataset = upload(client, "age,sex\n" + "30,f\n30,f\n30,f\n40,m\n40,m\n40,m\n,m\n")
    spec = {"method": "table", "dataset_id": dataset["id"], "quasi_identifiers": ["age", "sex"]}
    expected = {"own_value": 1, "matches_anything": 3, "drop_records": 3}
    for missing, k in expected.items():
        assert succeed(client, spec | {"missing_matches": missing}, kind="audits")["result"]["k"] == k


def test_a_release_of_boxes_is_read_by_the_names_of_its_columns(
    client: httpx.Client, adult: tuple[str, pl.DataFrame]
) -> None:
    dataset_id, _ = adult
    columns = ["age", "education-num", "hours-per-week"]
    made = succeed(
        client, {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": columns, "k": 10, "keep": ["income"]}
    )
    spec = {"method": "table", "release_id": made["release_id"], "quasi_identifiers": columns, "sensitive": ["income"]}
    result = succeed(client, spec | {"require": {"k": 10}}, kind="audits")["result"]
    assert result["passed"] is True
    assert result["demands"]["k"] == {"required": 10, "measured": result["k"], "met": True}
    assert result["k"] == made["result"]["smallest_box"]
    assert result["classes"]["count"] == made["result"]["box_count"]
    assert 0 < result["utility"]["ncp"] < 0.2
