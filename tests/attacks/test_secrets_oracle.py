"""A key that uploads guesses and sees what becomes of them: neither cuts nor states say whether a guess is right."""

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import polars as pl

from tests.methods.asking import SECONDS, released, run, succeed, upload
from tests.service import Service

LESSER = ("datasets:write", "jobs:write", "releases:read")
SPEC: dict[str, Any] = {
    "method": "boxes",
    "publish": "auto",
    "k": 5,
    "quasi_identifiers": ["age", "wage"],
    "partition": "mondrian",
}


def persons(seed: int, rows: int = 300) -> pl.DataFrame:
    draw = np.random.default_rng([162, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 90, rows), "wage": np.round(draw.lognormal(3, 1, rows), 1),
        "other": draw.normal(size=rows).round(3),
    })  # fmt: skip


def cuts(rows: pl.DataFrame, column: str) -> set[float]:
    return set(rows[f"{column}_lo"].to_list()) | set(rows[f"{column}_hi"].to_list())


def ended_unseen(client: httpx.Client, spec: dict[str, Any]) -> dict[str, Any]:
    """A job of a key that sees of it whether it has ended."""
    answer = client.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=30"})
    assert answer.status_code in {200, 202}, answer.text
    return dict(answer.json())


def test_a_column_guessed_apart_has_cuts_of_its_own(service: Service, figures: Callable[..., None]) -> None:
    """The guess has the column and nothing else of the table: no family is found by it, nor are its cuts."""
    truth = persons(1)
    guess = truth.select("age", pl.Series("wage", np.random.default_rng(9).lognormal(3, 1, len(truth)).round(1)))
    with service.client(owner="guessed columns") as keeper:
        real = succeed(keeper, SPEC | {"dataset_id": upload(keeper, truth.write_csv())["id"]})
        apart = succeed(keeper, SPEC | {"dataset_id": upload(keeper, guess.write_csv())["id"]})
        mine, theirs = (cuts(released(keeper, job), "age") for job in (real, apart))
        inner = {one for one in mine if not float(one).is_integer()}
        figures(equal=len(inner & theirs), of=len(inner))
        assert not inner & theirs
        again = succeed(
            keeper, SPEC | {"dataset_id": upload(keeper, truth.sample(fraction=1.0, seed=1).write_csv())["id"]}
        )
        columns = ["age_lo", "age_hi", "wage_lo", "wage_hi"]
        assert (
            released(keeper, again)
            .select(columns)
            .sort(columns)
            .equals(released(keeper, real).select(columns).sort(columns))
        ), "the same rows are the same release for their keeper"


def test_a_lesser_key_sees_the_same_of_right_and_of_wrong_guesses(service: Service) -> None:
    truth = persons(2)
    with service.client(owner="guesses") as keeper, service.client(owner="guesses", scopes=LESSER) as lesser:
        real = succeed(keeper, SPEC | {"dataset_id": upload(keeper, truth.write_csv())["id"]})
        noise = {"method": "uncertain", "publish": "auto", "quasi_identifiers": ["age", "wage"], "k": 3}
        succeed(
            keeper, noise | {"dataset_id": upload(keeper, truth.write_csv())["id"], "accept_findings": ["composition"]}
        )
        seen = []
        for guess in (truth, persons(3)):
            dataset = upload(lesser, guess.write_csv())
            assert dataset["family_id"] is None
            boxes = ended_unseen(lesser, SPEC | {"dataset_id": dataset["id"]})
            for _ in range(int(SECONDS)):
                job = keeper.get(f"/v1/jobs/{boxes['id']}", headers={"Prefer": "wait=10"}).json()
                if job["state"] == "succeeded":
                    break
            drawn = lesser.post("/v1/anonymizations", json=noise | {"dataset_id": dataset["id"]})
            seen.append(
                [
                    boxes["state"], boxes["findings"], boxes["warnings"], boxes["result"], drawn.status_code,
                    lesser.get(f"/v1/releases/{job['release_id']}").status_code,
                    lesser.get("/v1/releases", params={"dataset_id": dataset["id"]}).json()["items"],
                    keeper.get(f"/v1/releases/{job['release_id']}").json()["state"],
                ]
            )  # fmt: skip
        assert seen[0] == seen[1]
        assert seen[0][5:] == [404, [], "draft"]
        guessed = keeper.get(f"/v1/datasets/{dataset['id']}").json()
        family = keeper.get(f"/v1/families/{guessed['family_id']}").json()
        assert (family["confirmed"], family["dataset_ids"]) == (False, [dataset["id"]])
        assert real["release_id"] not in {one["release_id"] for one in family["published"]}


def test_a_keeper_confirms_and_the_draft_is_composed_with_what_it_is_the_same_as(service: Service) -> None:
    truth = persons(4)
    with service.client(owner="confirming") as keeper, service.client(owner="confirming", scopes=LESSER) as lesser:
        succeed(keeper, SPEC | {"dataset_id": upload(keeper, truth.write_csv())["id"]})
        dataset = upload(lesser, truth.write_csv())["id"]
        answer = lesser.post(
            "/v1/anonymizations", json=SPEC | {"dataset_id": dataset, "quasi_identifiers": ["age", "other"]}
        )
        job = keeper.get(f"/v1/jobs/{answer.json()['id']}", headers={"Prefer": "wait=30"}).json()
        assert [(one["audit"], one["severity"]) for one in job["findings"]] == [("publication", "low")]
        address = f"/v1/releases/{job['release_id']}/publish"
        early = keeper.post(address)
        assert (early.status_code, "/confirm" in early.json()["detail"]) == (409, True)
        family_id = keeper.get(f"/v1/datasets/{dataset}").json()["family_id"]
        assert lesser.post(f"/v1/families/{family_id}/confirm").status_code == 403
        assert keeper.post(f"/v1/families/{family_id}/confirm").json()["confirmed"]
        again = keeper.post(address)
        assert again.status_code == 202
        keeper.get(f"/v1/jobs/{again.json()['id']}", headers={"Prefer": "wait=30"})
        release = keeper.get(f"/v1/releases/{job['release_id']}").json()
        assert release["state"] == "draft"
        assert "composition" in {one["audit"] for one in release["findings"]}
        joined = keeper.get(f"/v1/families/{release['family_id']}").json()
        assert (len(joined["dataset_ids"]), len(joined["published"])) == (2, 1)


def test_only_keepers_say_which_data_are_the_same(service: Service) -> None:
    with service.client(owner="words") as keeper, service.client(owner="words", scopes=LESSER) as lesser:
        known = upload(keeper, persons(5).write_csv())["id"]
        for word in ({"new_family": True}, {"same_data_as_dataset_id": known}, {"version_of_dataset_id": known}):
            refused = lesser.post("/v1/datasets", params=word, content=b"a\n1\n", headers={"Content-Type": "text/csv"})
            assert refused.status_code == 403, word
        repeated = lesser.post(
            "/v1/anonymizations", json=SPEC | {"dataset_id": known, "accept_findings": ["composition"]}
        )
        assert repeated.status_code == 403
        apart = upload(keeper, persons(5).write_csv(), new_family=True)["id"]
        job = run(keeper, SPEC | {"dataset_id": apart})
        assert "declared-data" in keeper.get(f"/v1/releases/{job['release_id']}").json()["flags"]
        (entry,) = [one for one in keeper.get("/v1/log").json()["items"] if one["action"] == "declared"]
        assert (entry["subject"], entry["facts"]) == (apart, {"new_family": True})
