"""Swaps that do not hide a place: their release is a draft until that is accepted, which it states from then on."""

import httpx
import numpy as np
import pytest

from tests.drawing import seeds
from tests.methods.asking import succeed, upload
from tests.methods.bases import VARIABLES, microfile


@pytest.mark.parametrize("seed", seeds(2))
def test_a_mask_that_failed_is_a_draft_with_its_findings(client: httpx.Client, seed: int) -> None:
    """A bound that hardly lowers a base leaves it an outlier, and the job says so."""
    draw = np.random.default_rng([4105, seed])
    base, soldiers = int(draw.integers(0, 20)), int(draw.integers(40, 70))
    frame = microfile(int(draw.integers(1, 10**6)), regions=20, bases={base: soldiers})
    dataset = upload(client, frame.write_csv())["id"]
    model = succeed(client, {
        "method": "group", "auxiliary_dataset_id": dataset, "hidden_group": {"column": "job", "values": ["army"]},
        "region_columns": ["region"], "variables": VARIABLES, "search": {"method": "exhaustive"},
    }, kind="audits")  # fmt: skip
    place = model["result"]["regions"].index([f"R{base:02}"])
    most = model["result"]["crisp_auxiliary_signal"][place]
    job = succeed(client, {
        "method": "swaps", "dataset_id": dataset, "region_columns": ["region"], "model_job_id": model["id"],
        "protected_alphas": [0.5], "decoys": 0.0, "drop": ["state"], "search": {"method": "assignment"},
        "mask": [{"region": [f"R{base:02}"], "at_most": int(most) - 1}], "publish": "auto",
    })  # fmt: skip
    assert not job["result"]["valid"]
    at = f"/v1/releases/{job['release_id']}"
    release = client.get(at).json()
    assert release["state"] == "draft"
    audits = sorted({one["audit"] for one in release["findings"]})
    assert "swaps" in audits
    assert audits == sorted({one["audit"] for one in job["findings"]})
    others = [one for one in audits if one != "swaps"]
    assert client.post(at + "/publish", json={"accept_findings": others}).status_code == httpx.codes.CONFLICT
    taken = client.post(at + "/publish", json={"accept_findings": audits}).json()
    assert (taken["state"], "protection-failed" in taken["flags"]) == ("published", True)
    entries = client.get("/v1/log", params={"subject": job["release_id"]}).json()["items"]
    (entry,) = [one for one in entries if one["subject"] == job["release_id"] and one["action"] == "published"]
    assert entry["facts"]["accepted"] == audits
