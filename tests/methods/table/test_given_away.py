"""What the audit `table` says that everybody knows of values: counted row by row, from files of any tool."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.asking import succeed, upload


def audited(client: httpx.Client, text: str, names: Sequence[str], **more: Any) -> dict[str, Any]:
    dataset = upload(client, text, new_family=True)["id"]
    audit = {"method": "table", "dataset_id": dataset, "quasi_identifiers": list(names)} | more
    result: dict[str, Any] = succeed(client, audit, kind="audits")["result"]
    return result


def written(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def share(rows: Sequence[Any], known: Sequence[bool]) -> float:
    having = [one for one, value in zip(known, rows, strict=True) if value is not None]
    return sum(having) / len(having)


@pytest.mark.parametrize("seed", seeds(6))
def test_intervals_sets_and_plain_cells_of_another_tool_are_counted_row_by_row(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng(seed)
    count = int(draw.integers(40, 200))
    ages, wages, towns = [], [], []
    for _ in range(count):
        low, wide = int(draw.integers(10, 80)), int(draw.choice([0, 0, 5, 20]))
        ages.append(None if draw.random() < 0.1 else (low, low + wide))
        start, width = round(float(draw.uniform(0, 900)), 1), float(draw.choice([0.0, 0.5, 60.0]))
        wages.append((start, round(start + width, 1)))
        towns.append(sorted(draw.choice(["a", "b", "c", "d"], size=draw.integers(1, 4), replace=False).tolist()))
    ages[0], wages[0], towns[0] = (20, 40), (10.0, 70.0), ["a", "b"]
    rows = [
        {
            "age": "" if age is None else str(age[0]) if age[0] == age[1] else f"{age[0]}-{age[1]}",
            "wage_lo": wage[0], "wage_hi": wage[1], "town_set": json.dumps(town), "sex": str(draw.choice(["f", "m"])),
        }
        for age, wage, town in zip(ages, wages, towns, strict=True)
    ]  # fmt: skip
    tolerances = {"age": float(draw.choice([0, 5, 19])), "wage": 0.6}
    result = audited(client, written(rows), ["age", "wage", "town", "sex"], tolerances=tolerances)
    shown = result["value_disclosure"]
    lengths = [None if one is None else one[1] - one[0] for one in ages]
    assert shown["age"]["exact"] == pytest.approx(share(lengths, [one == 0 for one in lengths]))
    near = [one is not None and one <= tolerances["age"] for one in lengths]
    assert shown["age"]["within"] == pytest.approx(share(lengths, near))
    widths = [high - low for low, high in wages]
    assert shown["wage"]["exact"] == pytest.approx(share(widths, [one == 0 for one in widths]))
    assert shown["wage"]["within"] == pytest.approx(share(widths, [one <= 0.6 for one in widths]))
    assert shown["wage"]["estimable"] == pytest.approx(
        share(widths, [high - low <= high / 10 for low, high in wages]), abs=1 / count
    )
    assert shown["town"]["exact"] == pytest.approx(share(towns, [len(one) == 1 for one in towns]))
    assert (shown["sex"]["exact"], shown["sex"]["within"]) == (1.0, None)
    worst = max(shown[name]["exact"] for name in ("age", "wage", "town"))
    given_away = [one for one in result["findings"] if "give away values" in one["detail"]]
    assert [one["measured"] for one in given_away] == [pytest.approx(worst)]


@pytest.mark.parametrize("seed", seeds(4))
def test_an_own_release_gives_away_what_its_result_its_rows_and_its_audits_say(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng(seed)
    count, k = int(draw.integers(100, 400)), int(draw.integers(2, 6))
    people = pl.DataFrame({
        "hours": draw.choice([20, 38, 40, 40, 40, 60], count), "wage": draw.lognormal(3, 1, count).round(2),
        "town": draw.choice(["a", "b"], count),
    })  # fmt: skip
    dataset = upload(client, people.write_csv(), new_family=True)["id"]
    names = ["hours", "wage", "town"]
    spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": names, "k": k}
    spec |= {"box_means": str(draw.choice(["none", "rounded"]))}
    made = succeed(client, spec)
    audit = {"method": "table", "release_id": made["release_id"]}
    result = succeed(client, audit, kind="audits")["result"]
    assert result["value_disclosure"] == made["result"]["value_disclosure"]
    text = client.get(f"/v1/releases/{made['release_id']}/data", params={"format": "csv"}).raise_for_status().text
    rows = list(csv.DictReader(io.StringIO(text)))
    exact = float(np.mean([row["hours_lo"] == row["hours_hi"] for row in rows]))
    assert result["value_disclosure"]["hours"]["exact"] >= exact
    if spec["box_means"] == "none":
        assert result["value_disclosure"]["hours"]["exact"] == pytest.approx(exact)
        tolerance = result["value_disclosure"]["hours"]["tolerance"]
        within = float(np.mean([float(row["hours_hi"]) - float(row["hours_lo"]) <= tolerance for row in rows]))
        assert result["value_disclosure"]["hours"]["within"] == pytest.approx(within)
    for limit, met in ((1.0, True), (exact / 2 - 1e-6, False)):
        if limit < 0:
            continue
        demanded = succeed(client, audit | {"require": {"exact": limit}}, kind="audits")["result"]
        assert (demanded["passed"], demanded["demands"]["exact"]["met"]) == (met, met)


def test_a_gate_on_values_leaves_a_draft_that_says_how_many_it_gives_away(client: httpx.Client) -> None:
    draw = np.random.default_rng(44)
    people = pl.DataFrame({"hours": draw.choice([20, 40, 40, 40], 200), "wage": draw.lognormal(3, 1, 200).round(2)})
    dataset = upload(client, people.write_csv(), new_family=True)["id"]
    spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["hours", "wage"], "k": 3, "bounds": "tight"}
    gate = [{"method": "table", "require": {"exact": 0.0}, "tolerances": {"hours": 2}}]
    job = succeed(client, spec | {"gate": gate})
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    exact = max(one["exact"] for one in job["result"]["value_disclosure"].values())
    assert exact > 0.0
    assert release["state"] == "draft"
    (finding,) = [one for one in release["findings"] if "`exact` is" in one["detail"]]
    assert finding["measured"] == pytest.approx(exact)


def test_a_gate_that_names_a_column_of_no_release_says_so(client: httpx.Client) -> None:
    dataset = upload(client, "age,sex\n" + "30,f\n41,m\n" * 9, new_family=True)["id"]
    gate = [{"method": "table", "require": {"within": 1.0}, "tolerances": {"nobody": 2}}]
    spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "sex"], "k": 3, "gate": gate}
    release = client.get(f"/v1/releases/{succeed(client, spec)['release_id']}").json()
    assert release["state"] == "draft"
    assert any("no column 'nobody'" in one["detail"] for one in release["findings"])


def test_an_open_end_leaves_all_that_the_column_has_beyond_it(client: httpx.Client) -> None:
    text = "age_lo,age_hi,sex\n" + "60,inf,f\n" * 4 + "-inf,20,m\n" * 4 + "30,30,f\n" * 2
    shown = audited(client, text, ["age", "sex"], tolerances={"age": 1})["value_disclosure"]["age"]
    assert (shown["exact"], shown["within"]) == (pytest.approx(0.2), pytest.approx(0.2))


def test_means_of_several_records_give_nothing_away_for_certain(client: httpx.Client) -> None:
    rows = [{"age": 30 + number % 4 + 0.5, "sex": "f"} for number in range(40)]
    shown = audited(client, written(rows), ["age", "sex"], microaggregated=["age"])["value_disclosure"]
    assert (shown["age"]["exact"], shown["age"]["within"], shown["sex"]["exact"]) == (0.0, 0.0, 1.0)
    plain = audited(client, written(rows), ["age", "sex"])["value_disclosure"]
    assert plain["age"]["exact"] == 1.0


@pytest.mark.parametrize("method", ["uncertain", "condensation"])
def test_releases_of_drawn_values_give_none_away_for_certain(client: httpx.Client, method: str) -> None:
    draw = np.random.default_rng(7)
    people = pl.DataFrame({"hours": draw.normal(40, 9, 120), "wage": draw.lognormal(3, 1, 120)})
    dataset = upload(client, people.write_csv(), new_family=True)["id"]
    spec = {"method": method, "dataset_id": dataset, "quasi_identifiers": ["hours", "wage"], "k": 4}
    release = succeed(client, spec)["release_id"]
    shown = succeed(client, {"method": "table", "release_id": release}, kind="audits")["result"]["value_disclosure"]
    assert {name: (one["exact"], one["within"]) for name, one in shown.items()} == {
        "hours": (0.0, 0.0), "wage": (0.0, 0.0)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"microaggregated": ["sex"]}, "/microaggregated/0"),
        ({"microaggregated": ["nobody"]}, "/microaggregated/0"),
        ({"tolerances": {"nobody": 1}}, "/tolerances/nobody"),
        ({"tolerances": {"age": -1}}, "/tolerances/age"),
    ],
)
def test_columns_that_are_none_are_refused_with_the_place(
    client: httpx.Client, more: dict[str, Any], pointer: str
) -> None:
    dataset = upload(client, "age,sex\n" + "30,f\n41,m\n" * 9, new_family=True)["id"]
    audit = {"method": "table", "dataset_id": dataset, "quasi_identifiers": ["age", "sex"]} | more
    answer = client.post("/v1/audits", json=audit)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert [one["pointer"] for one in answer.json()["errors"]] == [pointer]
