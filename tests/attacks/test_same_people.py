"""Over HTTP: the same people are recognised however their table was rewritten, other people are published.

Where the evidence does not decide, someone who may publish answers.
"""

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.drawing import LONG, seeds
from tests.methods.asking import ended, succeed, upload
from tests.service import Service

K = 5


def census(draw: np.random.Generator, rows: int) -> pl.DataFrame:
    age = draw.integers(18, 90, rows)
    return pl.DataFrame({
        "age": age, "sex": draw.choice(["m", "f"], rows), "school": np.clip(draw.normal(4, 2, rows).round(), 0, 9),
        "town": draw.choice(12, rows, p=np.arange(12, 0, -1) / 78), "job": draw.integers(0, 20, rows),
        "income": (draw.lognormal(9, 0.7, rows) + 10 * age).round(),
    })  # fmt: skip


def less(frame: pl.DataFrame, draw: np.random.Generator) -> pl.DataFrame:
    return frame[pl.Series(draw.permutation(frame.height)[1:])]


def stamped(frame: pl.DataFrame, draw: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    return frame.with_columns(month=pl.lit("2026-01")), less(frame, draw).with_columns(month=pl.lit("2026-02"))


def pseudonymous(frame: pl.DataFrame, draw: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    one, other = (
        each.with_columns(code=pl.Series(draw.integers(0, 10**12, each.height))) for each in (frame, less(frame, draw))
    )
    return one, other


def in_other_units(frame: pl.DataFrame, draw: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    return frame, less(frame, draw).with_columns(pl.col("income") * 100, pl.col("town") + 1000)


def renamed(frame: pl.DataFrame, draw: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    return frame, less(frame, draw).rename({name: f"{name}_2026" for name in frame.columns[2:]})


def halved(frame: pl.DataFrame, draw: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    half = frame[pl.Series(draw.permutation(frame.height)[::2])]
    return frame.with_columns(month=pl.lit("2026-01")), half.with_columns(month=pl.lit("2026-02"))


REWRITTEN = [stamped, pseudonymous, in_other_units, renamed, halved]


def made(client: httpx.Client, frame: pl.DataFrame, columns: list[str], **more: Any) -> dict[str, Any]:
    options = more.pop("options", {})
    dataset = upload(client, frame.write_csv(), **options)["id"]
    spec = {"method": "boxes", "dataset_id": dataset, "k": K, "quasi_identifiers": columns}
    return succeed(client, spec | more)


def state(client: httpx.Client, job: dict[str, Any]) -> str:
    return str(client.get(f"/v1/releases/{job['release_id']}").json()["state"])


@pytest.mark.parametrize("seed", seeds(5))
def test_the_same_people_in_another_extract_are_a_draft(service: Service, seed: int) -> None:
    draw = np.random.default_rng([1, seed])
    rewrite: Callable[..., tuple[pl.DataFrame, pl.DataFrame]] = REWRITTEN[seed % len(REWRITTEN)]
    one, other = rewrite(census(draw, int(draw.integers(1500, 3000))), draw)
    with service.client(owner=f"same people {seed}") as client:
        first = made(client, one, ["sex", "school"])
        columns = [name for name in other.columns if name.startswith("town")]
        second = made(client, other, columns)
        assert [state(client, job) for job in (first, second)] == ["published", "draft"], rewrite.__name__
        assert {"composition", "recognition"} & {one["audit"] for one in second["findings"]}


@pytest.mark.parametrize("seed", seeds(2))
def test_the_same_bytes_typed_otherwise_are_the_same_people(service: Service, seed: int) -> None:
    draw = np.random.default_rng([2, seed])
    sizes = draw.integers(2, 9, 6).tolist()
    frame = pl.DataFrame({f"code{at}": draw.integers(0, size, 1500) for at, size in enumerate(sizes)})
    with service.client(owner=f"typed {seed}") as client:
        made(client, frame, frame.columns[:3])
        texts = {"type": [f"{name}:string" for name in frame.columns]}
        second = made(client, frame, frame.columns[3:], options=texts)
        assert (state(client, second), second["findings"][0]["audit"]) == ("draft", "composition")


@pytest.mark.parametrize("seed", seeds(4))
def test_the_same_persons_are_recognised_by_their_ids_alone(service: Service, seed: int) -> None:
    """Nothing else is the same but what a person keeps, where ids are numbers that are given in turn."""
    draw = np.random.default_rng([3, seed])
    rows = int(draw.integers(400, 1500))
    ids = draw.choice(10**9, rows, replace=False) if seed % 2 else np.arange(1, rows + 1)
    frame = census(draw, rows).with_columns(pl.Series("person", ids))
    later = less(frame, draw).with_columns(
        pl.col("age") + 1, pl.col("income") + pl.Series(draw.integers(90, 900, rows - 1))
    )
    strangers = census(draw, rows).with_columns(pl.Series("person", ids if seed % 2 == 0 else ids + 10**9))
    names = ["person", "age", "income", "town"]
    with service.client(owner=f"ids {seed}") as client:
        jobs = [
            made(client, each.select(names), ["age", "income"], person_column="person")
            for each in (frame, strangers, later)
        ]
        assert [state(client, job) for job in jobs] == ["published", "published", "draft"]


@pytest.mark.parametrize("seed", seeds(1))
def test_small_tables_of_other_people_are_all_published(service: Service, seed: int) -> None:
    draw = np.random.default_rng([4, seed])
    with service.client(owner=f"portal {seed}") as client:
        for number in range(60 if LONG else 8):
            rows = int(draw.integers(300, 501))
            table = pl.DataFrame({
                "age": draw.integers(18, 81, rows), "job": draw.choice(["nurse", "clerk"], rows),
                f"v{number}": draw.integers(0, 10**6, rows),
            })  # fmt: skip
            job = made(client, table, table.columns)
            assert (state(client, job), job["findings"]) == ("published", [])


def undecided(draw: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two tables with the same codes, of towns or of persons, and nothing else in common."""
    codes = draw.choice(10**9, 300, replace=False)
    one, other = (
        pl.DataFrame(
            {"code": draw.permutation(codes), "age": draw.integers(18, 90, 300), "hours": draw.integers(0, 80, 300)}
        )
        for _ in range(2)
    )
    return one, other


@pytest.mark.parametrize("people", ["same", "other"])
def test_who_may_publish_answers_what_the_evidence_does_not_decide(service: Service, people: str) -> None:
    one, other = undecided(np.random.default_rng([5, len(people)]))
    owner = f"asked {people}"
    with service.client(owner=owner) as client:
        first, second = (made(client, frame, ["age", "hours"]) for frame in (one, other))
        assert (state(client, first), state(client, second)) == ("published", "draft")
        (finding,) = second["findings"]
        assert (finding["audit"], finding["severity"]) == ("recognition", "high")
        assert "`code`" in finding["detail"]
        assert "chance gives" in finding["detail"]
        at = f"/v1/releases/{second['release_id']}"
        accepted = client.post(at + "/publish", json={"accept_findings": ["recognition"]})
        assert accepted.status_code == 409, "it is answered, not accepted"
        family_id = client.get(at).json()["family_id"]
        (question,) = client.get(f"/v1/families/{family_id}").json()["questions"]
        assert (question["columns"], question["people"]) == (["code"], None)
        body = {"other_family_id": question["other_family_id"], "people": people}
        with service.client(owner=owner, scopes=["jobs:read", "datasets:read", "releases:write"]) as lesser:
            assert lesser.post(f"/v1/families/{family_id}/answer", json=body).status_code == 403
        wrong = client.post(f"/v1/families/{family_id}/answer", json=body | {"other_family_id": "fam_1"})
        assert wrong.status_code == 409
        family = client.post(f"/v1/families/{family_id}/answer", json=body).json()
        assert len(family["datasets"]) == (2 if people == "same" else 1)
        entry = client.get("/v1/log", params={"action": "declared"}).json()["items"][0]
        assert (entry["subject"], entry["facts"]) == (family_id, body)
        answer = client.post(at + "/publish", headers={"Prefer": "wait=30"})
        if answer.status_code == 202:
            ended(client, answer.json())
        shown = client.get(at).json()
        if people == "same":
            assert [one["audit"] for one in shown["findings"]] == ["composition"]
            assert shown["state"] == "draft"
        else:
            assert (shown["state"], shown["findings"]) == ("published", [])
            assert "declared-data" in shown["flags"]


def test_an_answer_is_not_asked_for_again(service: Service) -> None:
    one, other = undecided(np.random.default_rng(6))
    with service.client(owner="asked once") as client:
        made(client, one, ["age", "hours"])
        second = made(client, other, ["age", "hours"])
        family_id = client.get(f"/v1/releases/{second['release_id']}").json()["family_id"]
        (question,) = client.get(f"/v1/families/{family_id}").json()["questions"]
        body = {"other_family_id": question["other_family_id"], "people": "other"}
        assert client.post(f"/v1/families/{family_id}/answer", json=body).status_code == 200
        again = made(client, other.sample(fraction=1, shuffle=True, seed=1), ["age", "hours"])
        assert (state(client, again), again["findings"]) == ("published", [])
