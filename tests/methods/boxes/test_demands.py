"""What boxes must hold beside k records, over HTTP on real data: l-diversity and kept columns that are counted."""

import httpx
import polars as pl
import pytest

from tests.methods.asking import released, run, succeed


@pytest.mark.parametrize("partition", ["optimal", "fast", "mondrian"])
def test_kept_columns_count_and_boxes_are_diverse_when_asked(
    client: httpx.Client, adult: tuple[str, pl.DataFrame], partition: str
) -> None:
    spec = {"method": "boxes", "dataset_id": adult[0], "quasi_identifiers": ["age", "hours-per-week"], "k": 8}
    spec |= {"partition": partition, "least_widths": "none"}
    counted = succeed(client, spec | {"keep": ["sex", "income"], "k_counts_kept": True})
    rows = released(client, counted)
    assert counted["result"]["k_with_kept"] == rows.group_by("box", "sex", "income").len()["len"].min() >= 8
    assert counted["result"]["box_count"] > 50
    assert "kept-columns-not-counted" not in client.get(f"/v1/releases/{counted['release_id']}").json()["flags"]

    demands = {"l": 3, "sensitive": ["occupation"], "min_separation": {"education-num": 2}}
    diverse = succeed(client, spec | demands | {"keep": ["occupation", "education-num"]})
    boxes = released(client, diverse).group_by("box").agg(pl.col("occupation").drop_nulls(), pl.col("education-num"))
    assert boxes.height > (100 if partition == "mondrian" else 500)
    assert boxes["occupation"].list.n_unique().min() >= 3
    for levels in boxes["education-num"].to_list():
        taken = [min(levels)]
        for level in sorted(levels):
            if level - taken[-1] >= 2:
                taken.append(level)
        assert len(taken) >= 3


@pytest.mark.parametrize("partition", ["optimal", "fast"])
def test_demands_no_box_can_meet_are_refused_with_what_could(
    client: httpx.Client, adult: tuple[str, pl.DataFrame], partition: str
) -> None:
    spec = {"method": "boxes", "dataset_id": adult[0], "quasi_identifiers": ["age"], "k": 5, "partition": partition}
    job = run(client, spec | {"l": 9, "sensitive": ["occupation"], "min_separation": {"education-num": 2}})
    assert job["state"] == "failed"
    assert "`l` = 9 requested, column 'education-num' has 8 values 2 apart" in job["error"]["detail"]
    answer = client.post("/v1/anonymizations", json=spec | {"l": 15, "sensitive": ["occupation"], "keep": ["sex"]})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, "the profile knows how many values there are"
    assert answer.json()["errors"] == [
        {"pointer": "/l", "detail": "`l` = 15 requested, column 'occupation' has 14 values: the largest l is 14."}
    ]
    job = run(client, spec | {"keep": ["native-country"], "k_counts_kept": True, "max_suppressed_classes": 0.0})
    assert job["state"] == "failed"
    assert [error["pointer"] for error in job["error"]["errors"]] == ["/keep"]
    assert "'native-country'" in job["error"]["detail"]
