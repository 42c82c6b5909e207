"""The demo's tables keep their numbers at any width, and it ends with the next command for a person."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from app.demo.report import how_to_go_on, show, show_rare
from app.demo.sources import Source
from tests.drawing import seeds


def statistic(draw: np.random.Generator, kind: str, of: list[str], **more: Any) -> dict[str, Any]:
    middle, half = float(draw.normal(0, 10.0 ** draw.integers(-6, 9))), float(draw.uniform(0, 1e5))
    ends = [middle - half, middle + half]
    return {"kind": kind, "of": of, "values": None, "base": "records", "n": 1, "estimate": middle, "guaranteed": ends,
            "true_value": middle, "domain_may_be_empty": False} | more  # fmt: skip


def given_away(draw: np.random.Generator) -> dict[str, Any]:
    share = dict(zip(("exact", "within", "share", "baseline"), draw.random(4).tolist(), strict=True))
    known = {"exact": share["exact"], "within": share["within"]}
    return {
        "value_disclosure": {"hours-per-week-of-the-main-job": known, "occupation": known | {"within": None}},
        "least_widths": {"hours-per-week-of-the-main-job": {"width": float(draw.choice([1.25, 12_500.0]))}},
        "guessed": dict.fromkeys(("hours-per-week-of-the-main-job", "occupation"), share),
    }


def results(draw: np.random.Generator) -> list[dict[str, Any]]:
    state = draw.bit_generator.state
    made = []
    for _ in range(3):
        draw.bit_generator.state = state
        statistics = [
            statistic(draw, "mean", ["hours-per-week-of-the-main-job"]),
            statistic(draw, "share", ["occupation"], values=["Handlers-cleaners"]),
            statistic(draw, "covariance", ["capital-gain", "education-num"]),
        ]
        made.append(
            given_away(draw)
            | {"statistics": statistics, "released": 1_234_567, "box_count": 9, "smallest_box": 5, "largest_box": 9,
             "suppressed": {"rare": 98_765}, "uncertainty": {"privacy": 123.45, "statistical": 0.00012345}}
        )  # fmt: skip
    return made


@pytest.mark.parametrize("width", [80, 100, 180])
@pytest.mark.parametrize("seed", seeds(12))
def test_every_number_is_whole(seed: int, width: int) -> None:
    ours, theirs, third = results(np.random.default_rng([439, seed]))
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    source = Source(name="x", what="A census extract", path=Path("x.csv"))
    jobs = [{"result": one, "spec": {"k": 5}} for one in (ours, theirs)]
    show(console, source, *jobs, {"Surebox": 1.0, "Mondrian": 2.0})
    show_rare(console, {"keep": ours, "suppress": theirs, "weigh": third})
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in printed
    assert max(map(len, printed.splitlines())) <= width
    for one in ours["statistics"]:
        for end in one["guaranteed"]:
            assert printed.count(f"{end:.5g}") >= 5
        assert f"{one['true_value']:.5g}" in printed
    for mine, his in zip(ours["statistics"], theirs["statistics"], strict=True):
        (low, high), (lower, upper) = mine["guaranteed"], his["guaranteed"]
        assert re.search(rf"(?<!\S){(high - low) / (upper - lower):.2f}(?!\S)", printed)
    for measure, figure in (("value_disclosure", "exact"), ("guessed", "share")):
        shares = (f"{one[measure]['occupation'][figure]:.0%}" for one in (ours, theirs))
        assert " / ".join(shares) in printed.split("Values given away")[1]
    for label in ("records released", "records suppressed", "privacy uncertainty", "statistical uncertainty"):
        assert all(word in printed.split("Rare records")[1] for word in label.split())


def test_the_last_line_is_a_command_for_a_table_of_ones_own(tmp_path: Path) -> None:
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    how_to_go_on(console, data_dir=tmp_path, released=tmp_path / "r.csv", job={"id": "job_1", "release_id": "rel_1"})
    last = console.file.getvalue().strip().splitlines()[-1]  # type: ignore[attr-defined]
    assert last.strip().endswith("surebox profile your.csv")
