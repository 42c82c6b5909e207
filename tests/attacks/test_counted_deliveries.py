"""The finding of a composition counts those who came and those who left, whatever their numbers are."""

from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.asking import succeed, upload


def people(draw: np.random.Generator, rows: int) -> pl.DataFrame:
    """Records that no two have in common, by their pay."""
    return pl.DataFrame(
        {
            "age": draw.integers(18, 80, rows),
            "hours": draw.integers(5, 60, rows),
            "pay": draw.choice(10**7, rows, replace=False),
        }
    )


def boxes(client: httpx.Client, frame: pl.DataFrame) -> dict[str, Any]:
    dataset_id = upload(client, frame.write_csv())["id"]
    return succeed(client, {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours"], "k": 5})


@pytest.mark.parametrize("seed", seeds(10))
def test_a_delivery_is_counted_on_both_sides_and_its_remedies_keep_k(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng([seed, 77])
    came, left = (int(number) for number in draw.integers(1, 30, 2))
    frame = people(draw, 300 + came)
    first = boxes(client, frame.head(300))
    second = boxes(client, frame.tail(300 + came - left))
    (finding,) = [one for one in second["findings"] if one["audit"] == "composition"]
    assert finding["severity"] == "high"
    assert finding["detail"].count(".") <= 3, "a sentence, with a share in it"
    assert first["release_id"] in finding["detail"]
    stated = " ".join(finding["remedies"])
    assert f"({came} people are in these data only, {left} in earlier ones only)" in stated
    for remedy in ("version_of_dataset_id", f'"base_release_id": "{first["release_id"]}"', "/statistics"):
        assert remedy in stated
    for override in ("accept_findings", "erase", "anyway", "all the same"):
        assert override not in stated + finding["detail"]
    refused = client.post(f"/v1/releases/{second['release_id']}/publish")
    assert refused.status_code == 409
    assert "accept_findings" not in refused.text
    client.delete(f"/v1/releases/{second['release_id']}")
