"""The guide from a raw file to a release: its shell lines work as they stand, after those of the quickstart."""

import gzip
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from tests.clients.guides import (
    blocks_of,
    differences,
    documents_in,
    lines_after,
    run_blocks,
    shorthands,
    shown_after,
    unlike,
)  # fmt: skip
from tests.meta.project import ROOT
from tests.service import Service

ADULT = ROOT.parent / "shared" / "data" / "adult" / "adult.data.gz"
pytestmark = pytest.mark.skipif(not ADULT.exists(), reason="the guide's file is not in ../shared/data")


@pytest.fixture(scope="module")
def ran(service: Service, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("table-guide")
    for name in ("adult.data", "adult.test"):
        (folder / name).write_bytes(gzip.decompress(ADULT.with_name(f"{name}.gz").read_bytes()))
    return folder, run_blocks([shorthands(), *blocks_of("docs/tutorials/publish-a-table.md")], service, folder)[1:]


def test_everything_that_the_guide_shows_comes_back(ran: tuple[Path, list[str]]) -> None:
    answers, lines = shown_after("docs/tutorials/publish-a-table.md"), lines_after("docs/tutorials/publish-a-table.md")
    assert sorted([*answers, *lines]) == [0, 2, 3, 4, 5, 6, 7, 8]
    for number, answer in answers.items():
        tried = [differences(answer, document) for document in documents_in(ran[1][number])]
        assert [] in tried, (number, tried)
    for number, shown in lines.items():
        assert unlike(shown, ran[1][number]) == [], (number, ran[1][number])


def test_the_file_is_read_as_the_guide_says(ran: tuple[Path, list[str]]) -> None:
    profile = json.loads(ran[1][0])
    missing = {column["name"]: column["missing"] for column in profile["columns"]}
    assert (profile["rows"], missing["occupation"], profile["warnings"]) == (32_561, 1_843, [])


def test_every_range_holds_the_truth_and_hours_by_occupation_are_narrow(ran: tuple[Path, list[str]]) -> None:
    result = json.loads((ran[0] / "result.json").read_text())
    ranges = [one for one in result["statistics"] if one["guaranteed"] and one["true_value"] is not None]
    assert all(one["guaranteed"][0] <= one["true_value"] <= one["guaranteed"][1] for one in ranges)
    (sales,) = (one for one in ranges if one["kind"] == "domain_mean" and one["values"] == ["Sales"])
    assert sales["guaranteed"][1] - sales["guaranteed"][0] < 14.0


def test_what_readers_compute_holds_the_truth(ran: tuple[Path, list[str]]) -> None:
    lines = [line.split(", ") for line in (ran[0] / "adult.data").read_text().splitlines() if line]
    rows = pl.DataFrame(
        {
            "education": [one[3] for one in lines],
            "occupation": [one[6] for one in lines],
            "race": [one[8] for one in lines],
            "sex": [one[9] for one in lines],
            "hours": [int(one[12]) for one in lines],
        }
    )
    counts, statistics, offline = (json.loads(text) for text in ran[1][-5:-2])
    few = rows["occupation"].is_in(["Sales", "Tech-support"])
    studied = rows["education"].is_in(["Bachelors", "Masters"])
    wanted = [few & (rows["sex"] == "Female"), studied & rows["hours"].is_between(35, 40), rows["occupation"] == "?"]
    for truth, one in zip(wanted, counts["counts"], strict=True):
        assert one["guaranteed"][0] <= truth.sum() <= one["guaranteed"][1]
    share, *by_value, ninth, correlation, regression = statistics["statistics"]
    assert share["guaranteed"][0] <= few.mean() <= share["guaranteed"][1]
    by_sex, cells = ([one for one in by_value if one["kind"] == kind] for kind in ("domain_mean", "crosstab"))
    assert [one["values"] for one in by_sex] == [["Female"], ["Male"]]
    for one in by_sex:
        mean = rows.filter(pl.col("sex").is_in(one["values"]))["hours"].mean()
        assert one["guaranteed"][0] <= mean <= one["guaranteed"][1]
    persons = Counter(zip(rows["sex"], rows["race"], strict=True))
    assert {tuple(one["values"]) for one in cells} == set(persons)
    for one in cells:
        assert one["guaranteed"][0] <= persons[tuple(one["values"])] <= one["guaranteed"][1]
    assert ninth["guaranteed"][0] <= rows["hours"].quantile(0.9, "lower") <= ninth["guaranteed"][1]
    male = (rows["sex"] == "Male").cast(pl.Int64).alias("male")
    truth = rows.with_columns(male).select(pl.corr("male", "hours")).item()
    assert correlation["guaranteed"][0] <= truth <= correlation["guaranteed"][1]
    assert [term["value"] for term in regression["terms"]] == [None, "Male"]
    assert (
        offline["statistics"][0]["guaranteed"][0] <= rows["hours"].mean() <= offline["statistics"][0]["guaranteed"][1]
    )


def test_the_next_delivery_continues_the_release_and_the_series_leads_to_it(ran: tuple[Path, list[str]]) -> None:
    later, latest = (json.loads(text) for text in ran[1][-2:])
    assert later["state"] == "succeeded"
    assert latest["id"] == later["release_id"] != latest["series_id"]
    assert (latest["state"], "new-version" in latest["flags"]) == ("published", True)
    assert 12_000 < latest["rows"] - 32_561 < 14_000, "about 13,000, as the guide says: cuts are drawn"
    most_wait = latest["rows"] - 32_561 < 16_281 / 2
    assert ("most_changes_wait" in {one["code"] for one in later["warnings"]}) is most_wait
    assert "<title>Release Adult: working hours</title>" in (ran[0] / "report.html").read_text()
