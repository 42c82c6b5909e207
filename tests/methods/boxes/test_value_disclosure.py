"""Values that a release gives away: from its rows, one by one, as in the result, the certificate and answers."""

import base64
import json
import math
from random import Random
from typing import Any

import httpx
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.asking import anonymization, released, succeed, upload

GRADES = [1.0, 2.0, 4.0, 9.0]
NEAR = 1e-6


def a_table(draw: Random) -> str:
    """CSV of numbers, days, an order and texts; ages and towns are often the same, and the change may be missing."""
    lines = ["age,wage,change,since,grade,town"]
    for row in range(draw.choice([40, 400])):
        age = draw.choice([draw.randint(18, 90), 40])
        wage, change = round(draw.lognormvariate(7, 0.7), 2), draw.gauss(0, 3) if row % 7 else ""
        day = f"20{draw.randint(10, 24)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"
        grade, town = draw.choice([f"{one:g}" for one in GRADES]), draw.choice(["Ulm", "Bonn", "Trier"])
        lines.append(f"{age},{wage},{change},{day},{grade},{town}")
    return "\n".join(lines) + "\n"


def interval(row: dict[str, Any], name: str, count: int) -> tuple[float, float]:
    """Between what everybody knows a row's value to be, by the side of its box and the mean of the box's records."""
    low, high = float(row[f"{name}_lo"]), float(row[f"{name}_hi"])
    if row.get(f"{name}_mean_lo") is None:
        return low, high
    least, most = row[f"{name}_mean_lo"] * count, row[f"{name}_mean_hi"] * count
    return max(low, least - (count - 1) * high), min(high, most - (count - 1) * low)


def among(name: str, low: float, high: float) -> tuple[float, float]:
    """The first and the last value that a column may have in an interval."""
    if name == "grade":
        return min(one for one in GRADES if one > low - NEAR), max(one for one in GRADES if one < high + NEAR)
    if name in {"age", "since"}:
        return math.ceil(low - NEAR), math.floor(high + NEAR)
    return low, high


@pytest.mark.parametrize("seed", seeds(6))
def test_what_is_given_away_is_what_the_rows_give_away(client: httpx.Client, seed: int) -> None:
    draw = Random(seed)
    dataset = upload(client, a_table(draw), new_family=True, type=["grade:string"])
    columns = ["age", "wage", "since", "grade", "town", *draw.sample(["change"], draw.randint(0, 1))]
    means = draw.choice(["none", "rounded"]) if "change" not in columns else "none"
    ordinal = {"grade": [f"{one:g}" for one in GRADES]}
    more = {"k": draw.choice([2, 5]), "box_means": means, "missing_policy": "pattern", "publish": "auto"}
    job = succeed(client, anonymization("boxes", dataset["id"], columns, ordinal=ordinal, **more))
    disclosed = job["result"]["value_disclosure"]
    envelope = client.get(f"/v1/releases/{job['release_id']}/certificate").json()
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert statement["predicate"]["parameters"]["value_disclosure"] == disclosed
    assert set(disclosed) == set(columns)

    frame = released(client, job)
    counts = dict(frame.group_by("box").len().rows())
    single = (frame["town_set"].list.len() == 1).mean()
    none = {"within": None, "tolerance": None, "estimable": None}
    assert disclosed["town"] == {"exact": pytest.approx(single)} | none
    days = frame.with_columns(pl.col("since_lo", "since_hi").cast(pl.Int32))
    plain = days.with_columns(pl.col("grade_lo", "grade_hi").cast(pl.Float64))
    for name in set(columns) - {"town"}:
        shown = disclosed[name]
        rows = [row for row in plain.iter_rows(named=True) if row[f"{name}_lo"] is not None]
        known = [among(name, *interval(row, name, counts[row["box"]])) for row in rows]
        shares = [
            sum(high - low <= width(high) + NEAR * (name not in {"wage", "change"}) for low, high in known) / len(known)
            for width in (lambda _: 0.0, lambda _, at=shown["tolerance"]: at, lambda high: high / 10)
        ]
        assert [shown["exact"], shown["within"]] == pytest.approx(shares[:2]), name
        assert shown["estimable"] == (pytest.approx(shares[2]) if name in {"age", "wage"} else None), name

    question = {"statistics": [{"kind": "mean", "of": ["age"]}]}
    answer = client.post(f"/v1/releases/{job['release_id']}/statistics", json=question).json()
    assert answer["value_disclosure"] == {"age": disclosed["age"]}


def window(values: list[int], low: int, high: int, width: float) -> tuple[int, float]:
    """The window inside two values that holds most of the column, the first of several."""
    starts = range(low, high + 1)
    held = [sum(start <= each <= min(start + width, high) for each in values) for start in starts]
    start = starts[held.index(max(held))]
    return start, start + width


@pytest.mark.parametrize("seed", seeds(2))
def test_what_is_guessed_is_what_a_loop_over_records_guesses(client: httpx.Client, seed: int) -> None:
    draw = Random(seed)
    people = [(draw.randint(18, 90), draw.randint(0, 400), draw.choice(["Ulm", "Bonn", "Trier"])) for _ in range(300)]
    text = "age,wage,town\n" + "".join(f"{age},{wage},{town}\n" for age, wage, town in people)
    dataset = upload(client, text, new_family=True)
    names = ["age", "wage", "town"]
    job = succeed(client, anonymization("boxes", dataset["id"], names, k=5, publish="auto"))
    guessed, disclosed = job["result"]["guessed"], job["result"]["value_disclosure"]
    assert set(guessed) == set(names)

    boxes = released(client, job).unique("box").to_dicts()
    place = [
        next(box for box in boxes
             if box["age_lo"] <= age <= box["age_hi"] and box["wage_lo"] <= wage <= box["wage_hi"]
             and town in box["town_set"])
        for age, wage, town in people
    ]  # fmt: skip
    for at, name in enumerate(names[:2]):
        values, width = [int(person[at]) for person in people], disclosed[name]["tolerance"]
        guesses = {box["box"]: window(values, box[f"{name}_lo"], box[f"{name}_hi"], width) for box in boxes}
        right = sum(
            guesses[box["box"]][0] <= each <= guesses[box["box"]][1] for box, each in zip(place, values, strict=True)
        )
        anywhere = max(sum(start <= each <= start + width for each in values) for start in values)
        one = {"share": pytest.approx(right / 300), "baseline": pytest.approx(anywhere / 300), "tolerance": width}
        assert guessed[name] == one
    towns = [town for _, _, town in people]
    often = sorted({*towns}, key=lambda town: (-towns.count(town), town))
    right = sum(next(town for town in often if town in box["town_set"]) == own
                for box, own in zip(place, towns, strict=True))  # fmt: skip
    assert guessed["town"]["baseline"] == pytest.approx(towns.count(often[0]) / 300)
    assert guessed["town"]["share"] == pytest.approx(right / 300)


def test_what_is_guessed_is_for_the_owner_alone(client: httpx.Client) -> None:
    text = a_table(Random(1))
    dataset = upload(client, text, new_family=True)
    job = succeed(client, anonymization("boxes", dataset["id"], ["age", "wage"], k=5, publish="auto"))
    assert job["result"]["guessed"]
    release = f"/v1/releases/{job['release_id']}"
    envelope = client.get(f"{release}/certificate").json()
    public = [client.get(f"{release}{part}").text for part in ("", "/statistics", "/provenance", "/report")]
    public.append(base64.b64decode(envelope["payload"]).decode())
    assert all(each and "guessed" not in each for each in public)
    assert "Guessed without it" in client.get(f"/v1/jobs/{job['id']}/report").text
