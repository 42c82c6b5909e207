"""The whole story on real data: rules from other states find North Carolina's two largest bases, swaps hide them."""

import io
import json
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from tests.methods.asking import released, succeed
from tests.methods.bases import counts, in_range

#: A few states with bases of their own: Colorado, Georgia, Hawaii, Kansas, Kentucky, Virginia, Washington.
AUXILIARY = ("08", "13", "15", "20", "21", "51", "53")
TARGET = "37"
GIVEAWAYS = ["MIL", "ESR", "OCCP", "INDP", "COW", "SERIALNO", "HICOV", "PRIVCOV", "PUBCOV"]


@pytest.fixture(scope="module")
def acs(real_data: Path) -> Path:
    folder = real_data / "acs2024"
    if not (folder / f"p_{TARGET}.parquet").exists():
        pytest.skip("the American Community Survey (../shared/data/acs2024) is not on this machine")
    return folder


def upload(client: httpx.Client, frame: pl.DataFrame) -> str:
    body = io.BytesIO()
    frame.write_parquet(body)
    headers = {"Content-Type": "application/vnd.apache.parquet"}
    answer = client.post("/v1/datasets", content=body.getvalue(), headers=headers)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["id"])


def test_the_bases_of_north_carolina_are_found_hidden_and_not_found_again(client: httpx.Client, acs: Path) -> None:
    variables: list[dict[str, Any]] = json.loads((acs / "military-variables.json").read_text())
    columns = ["STATE", "PUMA", "MIL", *(variable["column"] for variable in variables)]
    others = pl.concat([pl.read_parquet(acs / f"p_{state}.parquet", columns=columns) for state in AUXILIARY])
    carolina = pl.read_parquet(acs / f"p_{TARGET}.parquet")
    auxiliary, whole, bare = (upload(client, frame) for frame in (others, carolina, carolina.drop(GIVEAWAYS)))

    attack = {
        "method": "group", "auxiliary_dataset_id": auxiliary, "target_dataset_id": bare,
        "hidden_group": {"column": "MIL", "values": [1]}, "region_columns": ["PUMA"], "variables": variables,
        "search": {"method": "evolution", "generations": 40, "runs": 5}, "seed": 1,
    }  # fmt: skip  # seeded: rules that another search learns may find a masked place again, seldom
    model = succeed(client, attack, kind="audits")
    audit, values = model["result"], model["result"]["regions"]
    kept = in_range(carolina, variables)
    assert values == [[puma] for puma in sorted(kept["PUMA"].unique())]
    assert audit["region_sizes"] == counts(kept, ["PUMA"], values)
    military = counts(kept.filter(MIL=1), ["PUMA"], values)
    largest = sorted(range(len(values)), key=military.__getitem__)[-2:]
    highest = sorted(range(len(values)), key=audit["auxiliary_signal"].__getitem__)[-2:]
    assert set(largest) == set(highest) <= set(audit["auxiliary_outliers"])
    walking = sum("JWTRNS is walked" in rule["text"] for rule in audit["rules"])
    assert walking > len(audit["rules"]) / 4, "as in the paper's data, many rules say that soldiers walk to work"

    # The model may be applied to the keeper's own file: the same records, and the columns that name the group.
    mask = {
        "method": "swaps", "dataset_id": whole, "region_columns": ["PUMA"], "model_job_id": model["id"],
        "drop": GIVEAWAYS,
        "mask": [{"region": values[place], "at_most": 8, "zero_at": 20} for place in largest],
        "search": {"method": "memetic", "generations": 60, "population": 40, "pairs": 16}, "seed": 1,
    }  # fmt: skip
    job = succeed(client, mask)
    result, rows = job["result"], released(client, job)
    assert result["signal_before"] == audit["crisp_auxiliary_signal"]
    assert all(result["signal_after"][place] <= 8 for place in largest)
    assert sum(result["signal_after"]) == sum(result["signal_before"])
    assert result["valid"]
    assert result["distortion"] >= result["assignment_distortion"] - 1e-9
    assert result["telltale_columns"] == {}
    for again in (result["attack_again"]["old_rules"], result["attack_again"]["new_rules"]):
        assert not set(again["detected"]) & set(largest)

    assert rows.columns == [name for name in carolina.columns if name not in GIVEAWAYS]
    assert rows["PUMA"].value_counts().sort("PUMA").rows() == carolina["PUMA"].value_counts().sort("PUMA").rows()
    others_kept = [name for name in rows.columns if name != "PUMA"]
    assert rows.select(others_kept).sort(others_kept).equals(carolina.select(others_kept).sort(others_kept))

    again = succeed(client, attack | {"target_dataset_id": upload(client, rows)}, kind="audits")["result"]
    assert again["regions"] == values
    assert not set(again["auxiliary_outliers"]) & set(largest), "attacked from outside, by whoever downloads the file"
