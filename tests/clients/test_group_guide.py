"""The guide to group anonymity: its shell lines work as they stand, after the shorthands of the quickstart."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.clients.guides import blocks_of, differences, documents_in, run_blocks, shorthands, shown_after
from tests.service import Service

BASES = ("R08", "R21")


@pytest.fixture(scope="module")
def ran(service: Service, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("group-guide")
    return folder, run_blocks([shorthands(), *blocks_of("docs/how-to/group-anonymity.md")], service, folder)[1:]


def test_every_answer_that_the_guide_shows_comes_back(ran: tuple[Path, list[str]]) -> None:
    shown = shown_after("docs/how-to/group-anonymity.md")
    assert sorted(shown) == [1, 2]
    for number, answer in shown.items():
        tried = [differences(answer, document) for document in documents_in(ran[1][number])]
        assert [] in tried, (number, tried)


def test_the_bases_of_the_guide_are_found_and_hidden(ran: tuple[Path, list[str]]) -> None:
    audit, swaps = json.loads(ran[1][1]), json.loads(ran[1][2])
    places = {audit["regions"].index([base]) for base in BASES}
    assert places <= set(audit["auxiliary_outliers"])
    assert places <= set(swaps["masked_regions"])
    assert swaps["valid"]
    assert not places & set(swaps["attack_again"]["new_rules"]["detected"])


def test_the_file_for_publication_names_nobody_and_keeps_every_region_s_size(ran: tuple[Path, list[str]]) -> None:
    home, published = (pl.read_csv(ran[0] / name) for name in ("home.csv", "published.csv"))
    assert published.columns == ["region", "age", "hours", "way"]
    for columns in (["region"], ["age", "hours", "way"]):
        assert published.select(columns).sort(columns).equals(home.select(columns).sort(columns))
