"""The guide to uncertain releases: its shell lines work as they stand, after those of the quickstart they lean on."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.clients.guides import blocks_of, differences, documents_in, run_blocks, shown_after
from tests.service import Service


@pytest.fixture(scope="module")
def ran(service: Service, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("uncertain-guide")
    start = [
        block for block in blocks_of("docs/tutorials/quickstart.md") if "field()" in block or "people.csv" in block
    ]
    assert len(start) == 2
    guide = blocks_of("docs/how-to/uncertain.md")
    return folder, run_blocks([*start, *guide], service, folder)[len(start) :]


def test_every_answer_that_the_guide_shows_comes_back(ran: tuple[Path, list[str]]) -> None:
    shown = shown_after("docs/how-to/uncertain.md")
    assert len(shown) == 4
    for number, answer in shown.items():
        tried = [differences(answer, document) for document in documents_in(ran[1][number])]
        assert [] in tried, (number, tried)


def test_the_result_says_how_many_fit(ran: tuple[Path, list[str]]) -> None:
    result = json.loads(next(text for text in ran[1] if "expected_anonymity" in text))
    assert result["expected_anonymity"]["min"] >= 10


def test_variance_by_hand_is_variance_by_the_service(ran: tuple[Path, list[str]]) -> None:
    statistics = json.loads(next(text for text in ran[1] if "scaling_unit" in text))["statistics"]
    (variance,) = (one["estimate"] for one in statistics if (one["kind"], one["of"]) == ("variance", ["wage"]))
    rows = pl.read_csv(ran[0] / "release.csv")
    noise = (rows["wage_scale"] ** 2).mean()
    by_hand = rows["wage"].var(ddof=0) - (1 - 1 / len(rows)) * noise
    assert variance == pytest.approx(by_hand, abs=1e-9 * noise)


def test_the_audit_says_where_the_true_records_stand(ran: tuple[Path, list[str]]) -> None:
    summary = json.loads(ran[1][-1])["result"]
    assert summary["mean_rank"] >= 9
    assert summary["after_scale_matching"]["share_rank_1"] < 0.3
