"""Pages of reports of each kind as a browser shows and prints them, to everybody."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workers.methods.report import runner
from workers.methods.report.facts import JobFacts, ReleaseFacts
from workers.methods.report.page import rendered

KINDS = ("release of boxes", "job of boxes", "release of uncertain", "job of swaps", "audit group", "audit linkage")
STATISTICS: list[dict[str, Any]] = [
    {"kind": "mean", "of": ["age"], "estimate": 38.6, "guaranteed": [38.1, 39.1], "attained": [38.1, 39.1],
    "sharp": True},
    {
        "kind": "correlation", "of": ["age", "hours"], "estimate": 0.07, "guaranteed": [-0.05, 0.2],
        "attained": [-0.04, 0.19], "sharp": False,
    },
]  # fmt: skip
PLACES = [[f"Länggasse {place}"] for place in range(12)]
SWAPPED: dict[str, Any] = {
    "signal_before": [40, *range(11)], "signal_after": [10, *range(11)], "regions": PLACES, "masked_regions": [0],
    "swap_count": 29, "rules": [{"text": "AGEP is young", "relative_confidence_factor": None, "support": 0.04}],
    "findings": [{"severity": "high", "detail": "The composed k is 1.", "measured": 1, "required": 5}], "passed": False,
}  # fmt: skip
GROUP: dict[str, Any] = {
    "crisp_auxiliary_signal": [40, *range(11)], "regions": PLACES, "auxiliary_outliers": [0],
    "rules": [{"text": "AGEP is young and WKHP is long", "relative_confidence_factor": 0.98, "support": 0.04}],
}  # fmt: skip
LINKAGE: dict[str, Any] = {
    "rank_quantiles": [1, 3, 9], "sampled": 1000, "candidates": 32_561, "mean_rank": 7.1, "share_rank_1": 0.01,
    "share_below_k": 0.2, "mean_posterior": 0.13,
}  # fmt: skip


def job(kind: str, method: str, result: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "job_1", "kind": kind, "method": method, "spec": {"k": 5}, "attempts": 1, "warnings": [],
        "created_at": "2026-01-01T00:00:00Z", "started_at": None, "finished_at": None, "result": result,
        "accepted": [{"audit": "composition", "by": "key_7", "at": "2026-01-02T00:00:00Z"}],
        "composed": {"composed_k": 3.0, "overlay": 3, "candidates": 11, "release_count": 2, "exact": True,
        "expected": None},
    }  # fmt: skip


def release(folder: Path, method: str) -> ReleaseFacts:
    """60 boxes of 5 records; towns in sets of one to three."""
    box = np.repeat(np.arange(1, 61), 5)
    age = np.linspace(20, 60, 60)[box - 1]
    towns = [["Zürich"], ["Bern", "Genf"], ["Bern", "Genf", "Zürich"]]
    columns = {"box": box, "age_lo": age, "age_hi": age + 4, "town_set": [towns[each % 3] for each in box]}
    path = folder / f"{method}.parquet"
    pq.write_table(pa.table(columns), path)
    shown = {
        "id": "rel_1", "name": "Löhne", "rows": len(box), "method": method, "files": {"csv": {"sha256": "a" * 64}},
        "columns": [{"name": name, "type": "string" if name == "town_set" else "number"} for name in columns],
        "flags": ["outer-bounds-from-data"], "warnings": [{"detail": "Bounds are wide."}],
    }  # fmt: skip
    parameters = {"method": method, "quasi_identifiers": ["age", "town"], "k": 5, "keep": []}
    blurred = [{"kind": "mean", "of": ["age"], "estimate": 38.6, "standard_error": 0.4}]
    return ReleaseFacts(shown, parameters, STATISTICS if method == "boxes" else blurred, {"surebox": "9"}, path)


def page(kind: str, folder: Path) -> str:
    """The HTML of one kind."""
    boxes = release(folder, "boxes")
    own = [one | {"true_value": 38.5, "shift": 0.0} for one in STATISTICS]
    made = {
        "release of boxes": lambda: runner.of_release(boxes),
        "job of boxes": lambda: runner.of_job(JobFacts(job("anonymization", "boxes", {"statistics": own}), boxes)),
        "release of uncertain": lambda: runner.of_release(release(folder, "uncertain")),
        "job of swaps": lambda: runner.of_job(JobFacts(job("anonymization", "swaps", SWAPPED))),
        "audit group": lambda: runner.of_job(JobFacts(job("audit", "group", GROUP))),
        "audit linkage": lambda: runner.of_job(JobFacts(job("audit", "linkage", LINKAGE))),
    }
    return rendered(made[kind]())


@pytest.mark.parametrize("kind", KINDS)
def test_a_browser_shows_and_prints_it_to_everybody(browser: Any, kind: str, tmp_path: Path) -> None:
    """At two widths: nothing is asked for or complained of, nothing sticks out, axe finds nothing; and on paper."""
    from axe_playwright_python.sync_playwright import Axe

    target = tmp_path / "report.html"
    target.write_text(page(kind, tmp_path), encoding="utf-8")
    for width in (1280, 390):
        shown = browser.new_page(viewport={"width": width, "height": 900})
        urls, messages = [], []
        shown.on("request", lambda one, urls=urls: urls.append(one.url))
        shown.on("console", lambda one, messages=messages: messages.append(one.text))
        shown.goto(target.as_uri())
        assert [url for url in urls if not url.startswith("data:")] == [target.as_uri()]
        assert messages == []  # neither the policy nor the page complains
        assert shown.evaluate("document.documentElement.scrollWidth") == width
        violations = Axe().run(shown).response["violations"]
        assert [(one["id"], one["impact"]) for one in violations] == []
    for paper in ("A4", "Letter"):
        assert shown.pdf(format=paper).startswith(b"%PDF")
    shown.emulate_media(media="print")
    assert shown.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
