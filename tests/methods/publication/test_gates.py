"""What the gate of a release demands of audits, and what becomes of it where that is not met."""

from typing import Any

import httpx
import numpy as np
import polars as pl

from tests.methods.asking import anonymization, succeed
from tests.methods.densities import upload_frame


def people(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng([121, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 90, 300), "wage": draw.lognormal(3, 1, 300), "job": draw.choice(["x", "y"], 300),
    })  # fmt: skip


def test_demands_of_audits_are_met_or_keep_the_release_a_draft(client: httpx.Client) -> None:
    """k = 5 is met by boxes of 5 and more; income is told by some box of five, and one age by some box."""
    spec: dict[str, Any] = {
        "method": "boxes", "dataset_id": upload_frame(client, people(1)), "quasi_identifiers": ["age", "wage"], "k": 5,
        "keep": ["job"],
    }  # fmt: skip
    met = succeed(client, spec | {"gate": [{"method": "table", "require": {"k": 5}}]})
    assert (met["findings"], client.get(f"/v1/releases/{met['release_id']}").json()["state"]) == ([], "published")
    gate = [
        {"method": "table", "require": {"k": 5, "unique": 0}, "quasi_identifiers": ["age", "wage", "job"]},
        {"method": "table", "require": {"l": 2}, "sensitive": ["nobody"]},
        {"method": "determination", "require": {"share_certain": 0.0}},
        {"method": "composition", "require": {"k": 5}},
    ]
    spec["dataset_id"] = upload_frame(client, people(2))
    job = succeed(client, spec | {"gate": gate})
    assert [(one["audit"], one["required"]) for one in job["findings"]] == [
        ("table", 5), ("table", 0), ("table", None), ("determination", 0.0)
    ]  # fmt: skip
    assert "'nobody'" in job["findings"][2]["detail"]
    at = f"/v1/releases/{job['release_id']}"
    assert client.get(at).json()["state"] == "draft"
    assert client.post(at + "/publish", json={"accept_findings": ["table"]}).status_code == 409
    taken = client.post(at + "/publish", json={"accept_findings": ["table", "determination"]}).json()
    assert (taken["state"], "composition-accepted" in taken["flags"]) == ("published", False)


def test_a_gate_that_lacks_what_it_needs_is_refused_at_its_place(client: httpx.Client) -> None:
    spec = {"method": "boxes", "dataset_id": "ds_1", "quasi_identifiers": ["age"], "k": 5}
    for demand, place in (
        ({"method": "table", "require": {"t": 0.2}}, "/gate/0/require/t"),
        ({"method": "linkage", "require": {"k": 5}}, "/gate/0/require/k"),
        ({"method": "influence", "require": {"slope": 0.5}}, "/gate/0/method"),
        ({"method": "determination", "require": {"k": 5}}, "/gate/0/require/k"),
    ):
        answer = client.post("/v1/anonymizations", json=spec | {"gate": [demand]})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, place), answer.text


#: Four persons at each of 100 places, with nobody near another place.
PLACES = pl.DataFrame({"x": np.repeat(np.arange(100.0) * 1000.0, 4), "y": np.repeat(np.arange(100.0) * 700.0, 4)})
BOUNDED: dict[str, Any] = {"mean_rank": 4.0, "share_rank_1": 0.0, "share_below_k": 0.0, "mean_posterior": 0.25}


def linked(client: httpx.Client, method: str, require: dict[str, Any], **change: Any) -> dict[str, Any]:
    """A job on the places, k = 4, with a gate that attacks its release."""
    spec = {"method": method, "dataset_id": upload_frame(client, PLACES), "quasi_identifiers": ["x", "y"], "k": 4}
    return succeed(client, spec | {"gate": [{"method": "linkage", "require": require}]} | change)


def test_whoever_fits_as_well_as_the_true_record_is_a_candidate(client: httpx.Client) -> None:
    """Four equal records are exact candidates of each other: the rank is 4 and the posterior 1/4, for every row."""
    job = linked(client, "boxes", BOUNDED, partition="mondrian", statistics=[{"kind": "mean", "of": ["x"]}])
    at = f"/v1/releases/{job['release_id']}"
    assert (job["findings"], client.get(at).json()["state"]) == ([], "published")
    missed = linked(client, "boxes", {"mean_rank": 1000.0, "share_rank_1": 0.0})
    (one,) = missed["findings"]
    assert (one["audit"], one["severity"], one["required"]) == ("linkage", "high", 1000.0)
    assert 4.0 <= one["measured"] <= 400.0, "candidates of a box are its records"
    at = f"/v1/releases/{missed['release_id']}"
    assert client.get(at).json()["state"] == "draft"
    assert client.post(at + "/publish", json={}).status_code == 409
    assert client.post(at + "/publish", json={"accept_findings": ["linkage"]}).json()["state"] == "published"


def test_noise_and_condensed_rows_are_linked_by_the_gate_that_holds_them_back(client: httpx.Client) -> None:
    """k = 4 equal records have scale 0: four candidates fit exactly. A scale of one's own is found again."""
    exact = linked(client, "uncertain", BOUNDED, suppress_share=0)
    assert (exact["findings"], client.get(f"/v1/releases/{exact['release_id']}").json()["state"]) == ([], "published")
    draw = np.random.default_rng(122).normal(size=(300, 2))
    alone = upload_frame(client, pl.DataFrame({"x": draw[:, 0], "y": draw[:, 1]}))
    named = linked(client, "uncertain", {"share_rank_1": 0.5}, dataset_id=alone, scales="per_record")
    (one,) = named["findings"]
    assert one["measured"] > 0.9, "no other record has that scale"
    assert client.get(f"/v1/releases/{named['release_id']}").json()["state"] == "draft"
    groups = linked(client, "condensation", {"mean_rank": 301.0, "share_rank_1": 1.0}, dataset_id=upload_frame(
        client, pl.DataFrame({"x": draw[:, 0] + 9.0, "y": draw[:, 1]})
    ))  # fmt: skip
    assert [(one["audit"], one["required"]) for one in groups["findings"] if one["audit"] == "linkage"] == [
        ("linkage", 301.0)
    ]


def test_what_no_attack_of_linkage_can_be_made_on_is_refused_or_said(client: httpx.Client) -> None:
    """Sets are linked like numbers. A later release of a series, and swaps: refused when asked."""
    demand = {"method": "linkage", "require": {"mean_rank": 2.0}}
    spec = anonymization("boxes", upload_frame(client, people(3)), ["age", "job"], k=5)
    assert succeed(client, spec | {"gate": [demand]})["findings"] == []
    (one,) = succeed(client, spec | {"gate": [{"method": "linkage", "require": {"mean_rank": 1000.0}}]})["findings"]
    assert one["audit"] == "linkage"
    assert 5.0 <= one["measured"] < one["required"] == 1000.0
    other = {"dataset_id": upload_frame(client, people(4)), "quasi_identifiers": ["age"]}
    base = succeed(client, spec | other)["release_id"]
    later = {"method": "boxes", "base_release_id": base, "quasi_identifiers": ["age"], "k": 10}
    swaps = {
        "method": "swaps", "dataset_id": spec["dataset_id"], "region_columns": ["job"],
        "rules_model": {"variables": [{"column": "age", "range": [0, 120],
                                 "terms": [{"name": "old", "shape": "range", "points": [60, 90]}]}],
                  "rules": [{"terms": [1]}], "min_membership": 0.5},
        "mask": [{"region": ["x"], "at_most": 2, "zero_at": 12}],
    }  # fmt: skip
    for body in (later, swaps):
        answer = client.post("/v1/anonymizations", json=body | {"gate": [demand]})
        places = [one["pointer"] for one in answer.json()["errors"]]
        assert (answer.status_code, "/gate/0/method" in places) == (422, True), answer.text


def test_the_audit_says_whether_it_passed(client: httpx.Client) -> None:
    """The same demands put to a release by themselves; k is what is to be expected where nothing is demanded."""
    job = linked(client, "boxes", {})
    spec = {"method": "linkage", "release_id": job["release_id"]}
    expected = succeed(client, spec, kind="audits")["result"]
    assert (expected["passed"], expected["findings"]) == (True, [])
    demanded = succeed(client, spec | {"require": {"mean_rank": 1000.0}}, kind="audits")["result"]
    assert (demanded["passed"], [one["required"] for one in demanded["findings"]]) == (False, [1000.0])
    assert "not met" in demanded["verdict"]
