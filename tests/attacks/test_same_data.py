"""Upload both, then publish both: the same persons in two files are recognised, however the files differ."""

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import succeed, upload
from tests.service import Service

K = 5
SPEC: dict[str, Any] = {"method": "boxes", "k": K, "quasi_identifiers": ["age", "hours", "wage"]}


def persons(seed: int, rows: int) -> pl.DataFrame:
    draw = np.random.default_rng([160, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 90, rows), "hours": draw.integers(0, 80, rows),
        "wage": np.round(draw.lognormal(3, 1, rows), 1), "town": draw.choice(["a", "b", "c"], rows),
    })  # fmt: skip


def halves(seed: int, rows: int, drawn: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two files with half of their rows in common, each with a column of its own, in an order of its own."""
    whole = persons(seed, rows + rows // 2)
    own = np.random.default_rng([161, seed, drawn])
    first = whole.head(rows).with_columns(pl.Series("height", own.normal(170, 9, rows).round(1)))
    second = whole.tail(rows).with_columns(pl.Series("visits", own.poisson(4, rows)))
    return first.sample(fraction=1.0, shuffle=True, seed=seed), second.sample(fraction=1.0, shuffle=True, seed=seed + 1)


def state(client: httpx.Client, job: dict[str, Any]) -> str:
    return str(client.get(f"/v1/releases/{job['release_id']}").json()["state"])


@pytest.mark.parametrize(
    ("columns", "others"),
    [
        (["age", "hours", "wage"], ["age", "hours", "wage"]),
        (["age", "wage", "height"], ["hours", "wage", "visits"]),
    ],
    ids=["the same columns", "columns that are not the other file's"],
)
def test_half_of_the_rows_in_common_are_recognised_at_upload(
    service: Service, figures: Callable[..., None], columns: list[str], others: list[str]
) -> None:
    first, second = halves(1, 600, len(columns[-1]))
    with service.client(owner=f"both {columns[-1]}") as client:
        one, two = (upload(client, frame.write_csv())["id"] for frame in (first, second))
        families = [client.get(f"/v1/datasets/{each}").json()["family_id"] for each in (one, two)]
        assert families[0] == families[1]
        jobs = [
            succeed(client, SPEC | {"dataset_id": one, "quasi_identifiers": columns}),
            succeed(client, SPEC | {"dataset_id": two, "quasi_identifiers": others}),
        ]
        states = [state(client, job) for job in jobs]
        figures(published_second=float(states[1] == "published"))
        joined = client.get(f"/v1/families/{client.get(f'/v1/datasets/{two}').json()['family_id']}").json()
        assert sorted(joined["dataset_ids"]) == sorted([one, two])
        assert any("same people" in one["reason"] for one in joined["datasets"])
        if columns == others:  # of an earlier release with other columns the gate says what it cannot place
            assert states == ["published", "draft"]
            (finding,) = jobs[1]["findings"]
            assert finding["audit"] == "composition"
            assert finding["remedies"], "what keeps the promise"


def test_drafts_of_both_are_composed_when_the_second_is_published(service: Service) -> None:
    first, second = halves(2, 600)
    with service.client(owner="drafts of both") as client:
        made = [
            succeed(client, SPEC | {"dataset_id": upload(client, frame.write_csv())["id"], "publish": "draft"})
            for frame in (first, second)
        ]
        answers = [
            client.post(f"/v1/releases/{job['release_id']}/publish", headers={"Prefer": "wait=30"}) for job in made
        ]
        assert answers[0].status_code == 200
        assert answers[1].status_code in {202, 409}
        job = answers[1].json()
        while answers[1].status_code == 202 and job["state"] in {"queued", "running"}:
            job = client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=10"}).json()
        assert [state(client, each) for each in made] == ["published", "draft"]


def test_what_a_deleted_file_has_published_is_found_in_one_that_was_there_before(service: Service) -> None:
    first, second = halves(3, 600)
    with service.client(owner="a deleted half") as client:
        one, two = (upload(client, frame.write_csv())["id"] for frame in (first, second))
        assert state(client, succeed(client, SPEC | {"dataset_id": one})) == "published"
        assert client.delete(f"/v1/datasets/{one}").status_code == 204
        assert state(client, succeed(client, SPEC | {"dataset_id": two})) == "draft"


def test_other_persons_of_the_same_population_are_other_data(service: Service) -> None:
    """The control: two samples without a person in common are published both."""
    whole = persons(4, 1200)
    with service.client(owner="two samples") as client:
        jobs = []
        for number, frame in enumerate((whole.head(600), whole.tail(600))):
            extra = frame.with_columns(pl.lit(number).alias(f"only_{number}"))
            jobs.append(upload(client, extra.write_csv())["id"])
        assert [state(client, succeed(client, SPEC | {"dataset_id": each})) for each in jobs] == ["published"] * 2
