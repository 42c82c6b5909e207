"""What the gate of a release demands of audits, and what becomes of it where that is not met."""

from typing import Any

import httpx
import numpy as np
import polars as pl

from tests.methods.asking import succeed
from tests.methods.densities import upload_frame


def people(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng([121, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 90, 300), "wage": draw.lognormal(3, 1, 300), "job": draw.choice(["x", "y"], 300),
    })  # fmt: skip


def test_demands_of_audits_are_met_or_keep_the_release_a_draft(client: httpx.Client) -> None:
    """k = 5 is met by boxes of 5 and more; income is told by some box of five, and one age by some box."""
    asked: dict[str, Any] = {
        "method": "boxes", "dataset_id": upload_frame(client, people(1)), "columns": ["age", "wage"], "k": 5,
        "keep": ["job"],
    }  # fmt: skip
    met = succeed(client, asked | {"gate": [{"method": "table", "require": {"k": 5}}]})
    assert (met["findings"], client.get(f"/v1/releases/{met['release_id']}").json()["state"]) == ([], "published")
    gate = [
        {"method": "table", "require": {"k": 5, "unique": 0}, "quasi_identifiers": ["age", "wage", "job"]},
        {"method": "table", "require": {"l": 2}, "sensitive": ["nobody"]},
        {"method": "determination", "require": {"share_certain": 0.0}},
        {"method": "composition", "require": {"k": 5}},
    ]
    asked["dataset_id"] = upload_frame(client, people(2))
    job = succeed(client, asked | {"gate": gate})
    assert [(one["audit"], one["limit"]) for one in job["findings"]] == [
        ("table", 5), ("table", 0), ("table", None), ("determination", 0.0)
    ]  # fmt: skip
    assert "nobody" in job["findings"][2]["detail"]
    at = f"/v1/releases/{job['release_id']}"
    assert client.get(at).json()["state"] == "draft"
    assert client.post(at + "/publish", json={"accept": ["table"]}).status_code == 409
    taken = client.post(at + "/publish", json={"accept": ["table", "determination"]}).json()
    assert (taken["state"], "repeated" in taken["flags"]) == ("published", False)


def test_a_gate_that_lacks_what_it_needs_is_refused_at_its_place(client: httpx.Client) -> None:
    asked = {"method": "boxes", "dataset_id": "ds_1", "columns": ["age"], "k": 5}
    for demand, place in (
        ({"method": "table", "require": {"t": 0.2}}, "/gate/0/require/t"),
        ({"method": "linkage", "require": {"k": 5}}, "/gate/0/method"),
        ({"method": "determination", "require": {"k": 5}}, "/gate/0/require/k"),
    ):
        answer = client.post("/v1/anonymizations", json=asked | {"gate": [demand]})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, place), answer.text
