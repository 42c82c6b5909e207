"""Reports: what stands in the public page and in the restricted one, and that a browser shows them to everybody."""

import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workers.methods.report import runner
from workers.methods.report.facts import JobFacts, ReleaseFacts
from workers.methods.report.page import policy, rendered

#: True values, which only the restricted page may show.
TRUE = {"mean": 38.581646755, "correlation": 0.068755707}
STATISTICS: list[dict[str, Any]] = [
    {"kind": "mean", "of": ["age"], "estimate": 38.6, "guaranteed": [38.1, 39.1], "attained": [38.1, 39.1],
     "sharp": True},
    {
        "kind": "correlation", "of": ["age", "hours"], "estimate": 0.07, "guaranteed": [-0.05, 0.2],
        "attained": [-0.04, 0.19], "sharp": False,
    },
    {
        "kind": "regression", "of": ["age", "hours"], "estimate": [30.0, None], "guaranteed": [[29.0, 31.0], None],
        "attained": [[29.5, 30.5], None], "sharp": False,
    },
]  # fmt: skip


@pytest.fixture
def release(tmp_path: Path) -> ReleaseFacts:
    """300 boxes of 5 records and one of 7; ages in boxes 4 years wide."""
    box = np.repeat(np.arange(1, 302), [5] * 300 + [7])
    age = np.linspace(20, 60, 301)[box - 1]
    hours = np.linspace(0, 90, 301)[box - 1]
    columns = {"box": box, "age_lo": age, "age_hi": age + 4, "hours_lo": hours, "hours_hi": hours + 9}
    pq.write_table(pa.table(columns), tmp_path / "release.parquet")
    shown = {
        "id": "rel_1", "name": "Löhne & <script>alert(1)</script>", "rows": len(box), "method": "boxes",
        "columns": [{"name": name, "type": "integer" if name == "box" else "number"} for name in columns],
        "files": {"csv": {"sha256": "a" * 64}}, "flags": ["outer-bounds-from-data"], "warnings": [],
    }  # fmt: skip
    parameters = {"method": "boxes", "quasi_identifiers": ["age", "hours"], "k": 5, "keep": []}
    return ReleaseFacts(shown, parameters, STATISTICS, {"surebox": "9.9.9"}, tmp_path / "release.parquet")


def job(**result: Any) -> dict[str, Any]:
    own = [one | {"true_value": TRUE.get(one["kind"]), "shift": 0.0} for one in STATISTICS[:2]]
    return {
        "id": "job_1", "kind": "anonymization", "method": "boxes", "spec": {}, "attempts": 1, "warnings": [],
        "created_at": "2026-01-01T00:00:00Z", "started_at": None, "finished_at": None,
        "result": {"statistics": own, "records": 1507} | result,
    }  # fmt: skip


class Cells(HTMLParser):
    """The texts of a page's tables, and every address in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action", "style"}]

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def test_the_public_page_has_every_range_and_no_true_value(release: ReleaseFacts) -> None:
    page = Cells(rendered(runner.of_release(release)))
    at = page.texts.index("mean of age")
    row = [text for text in page.texts[at : at + 12] if text]
    assert row[:6] == ["mean of age", "38.1", "39.1", "38.6", "no", "yes"]
    assert {"Value is known", "Narrowest range", "Note"} <= set(page.texts)
    assert any("It does not state that the value is known: such a range may be wide." in text for text in page.texts)
    assert "regression of age on hours: intercept" in page.texts
    assert not any("38.58" in text or "0.0687" in text for text in page.texts)
    assert not any("True value" in text for text in page.texts)


def test_the_public_page_first_says_what_is_protected_at_what_cost_and_what_remains(release: ReleaseFacts) -> None:
    first = runner.of_release(release).sections[0]
    protected, cost, remains = first.points
    assert first.title == "At a glance"
    assert "age and hours" in protected
    assert "at least 5 records" in protected
    # The mean, the correlation and the intercept have ranges; the slope has none.
    assert cost.startswith("At what cost: 3 of 4 statistics have a guaranteed range")
    # Half the widths over the estimates: 0.5 / 38.6, 0.125 / 0.07 and 1 / 30; the median is the last.
    assert "to within 3.3 % of their estimate" in cost
    assert "differential privacy" in remains


def test_the_public_page_states_that_rows_are_persons_whom_a_column_counted(release: ReleaseFacts) -> None:
    counted = replace(release, parameters={**release.parameters, "frequency_column": "persons"})
    protected = runner.of_release(counted).sections[0].points[0]
    assert "finds at least 5 people" in protected
    assert "The file proves it. Each row is one person, of those whom persons counted in the original." in protected


def test_the_restricted_page_has_the_true_values(release: ReleaseFacts) -> None:
    page = Cells(rendered(runner.of_job(JobFacts(job(), release))))
    assert "38.5816" in page.texts
    assert "0.0687557" in page.texts
    assert any("contains true values" in text for text in page.texts)


def test_sizes_and_widths_are_those_of_the_file(release: ReleaseFacts) -> None:
    page = Cells(rendered(runner.of_release(release)))
    assert "301 boxes contain 5 to 7 records, half of them at most 5." in page.texts
    at = page.texts.index("Bounds")
    row = [text for text in page.texts[at:] if text][7:13]
    assert row == ["age", "20", "64", "4", f"{4 / 44:.6g}", "0"]
    assert any("No box leaves one value only" in text for text in page.texts)


def test_where_boxes_leave_one_value_the_page_says_of_how_many(release: ReleaseFacts, tmp_path: Path) -> None:
    """Ages of 4 of 5 rows, and texts of 2 of 5, are those of a box of one value: they are published."""
    path = tmp_path / "release.parquet"
    box = np.repeat(np.arange(1, 6), 4)
    age = 20 + 5 * box
    towns = [["Bern"], ["Bern"], ["Bern", "Genf"], ["Bern", "Genf"], ["Genf", "Bern"]]
    columns = {"box": box, "age_lo": age, "age_hi": age + (box == 5), "town_set": [towns[each - 1] for each in box]}
    pq.write_table(pa.table(columns), path)
    facts = replace(release, data=path, parameters={**release.parameters, "quasi_identifiers": ["age", "town"]})
    page = Cells(rendered(runner.of_release(facts)))
    said = next(text for text in page.texts if "In some boxes all records have one value" in text)
    assert "80 % of the records in age and 40 % of the records in town" in said


def test_sets_are_told_with_how_many_records_they_give_away(tmp_path: Path) -> None:
    """Boxes of 6, 3 and 1 records: {a}, {a, b}, {a, b, c}."""
    town = [["a"]] * 6 + [["a", "b"]] * 3 + [["a", "b", "c"]]
    pq.write_table(pa.table({"box": [1] * 6 + [2] * 3 + [3], "town_set": town}), tmp_path / "release.parquet")
    columns = [{"name": "box", "type": "integer"}, {"name": "town_set", "type": "string"}]
    shown = {"id": "rel_2", "rows": 10, "method": "boxes", "columns": columns, "files": {}, "flags": []}
    facts = ReleaseFacts(shown, {"quasi_identifiers": ["town"], "k": 1}, [], {}, tmp_path / "release.parquet")
    page = Cells(rendered(runner.of_release(facts)))
    row = [text for text in page.texts[page.texts.index("Sets") :] if text][6:11]
    assert row == ["town", "3", f"{(6 * 1 + 3 * 2 + 3) / 10:.6g}", "3", "0.6"]


def test_who_accepted_findings_and_what_is_composed_stand_in_the_restricted_page_only(release: ReleaseFacts) -> None:
    record = job() | {
        "accepted": [{"audit": "composition", "by": "key_7", "at": "2026-01-02T00:00:00Z"}],
        "composed": {"composed_k": 3.0, "overlay": 3, "candidates": 11, "release_count": 2, "exact": True,
        "expected": None},
    }  # fmt: skip
    page = Cells(rendered(runner.of_job(JobFacts(record, release))))
    row = [text for text in page.texts[page.texts.index("Findings that were accepted") :] if text][4:7]
    assert row == ["composition", "key_7", "2026-01-02T00:00:00Z"]
    at = page.texts.index("Persons that are left (composed k)")
    assert [text for text in page.texts[at:] if text][:2] == ["Persons that are left (composed k)", "3"]
    assert "key_7" not in rendered(runner.of_release(release))


def test_names_are_text_and_never_markup(release: ReleaseFacts) -> None:
    text = rendered(runner.of_release(release))
    assert "<script" not in text
    assert "Löhne &amp; &lt;script&gt;" in text


def test_a_page_asks_nothing_of_the_network(release: ReleaseFacts) -> None:
    page = Cells(rendered(runner.of_job(JobFacts(job(), release))))
    assert page.addresses
    assert all(address.startswith(("#", "data:image/svg+xml;base64,")) for address in page.addresses)
    assert not {"script", "link", "iframe", "object", "form"} & set(page.tags)
    assert policy().startswith("default-src 'none'; style-src 'sha256-")


def test_every_picture_says_what_it_shows_and_has_its_table(release: ReleaseFacts) -> None:
    text = rendered(runner.of_release(release))
    pictures = re.findall(r'base64,([^"]+)" alt="([^"]+)"', text)
    assert len(pictures) == 4
    for encoded, caption in pictures:
        drawn = ET.fromstring(b64decode(encoded))
        title, described = list(drawn)[:2]
        assert (title.tag.split("}")[1], described.tag.split("}")[1]) == ("title", "desc")
        assert title.text
        assert described.text
        assert len(caption) > 20
        assert b"http://matplotlib" not in b64decode(encoded)
    for section in text.split("<section")[1:]:
        assert section.count("<figure>") == 0 or "<table>" in section


def test_the_same_release_has_the_same_page(release: ReleaseFacts) -> None:
    assert rendered(runner.of_release(release)) == rendered(runner.of_release(release))


def test_findings_signals_and_rules_stand_in_the_restricted_page_only(release: ReleaseFacts) -> None:
    fields = {
        "findings": [{"severity": "high", "detail": "The composed k is 1.", "measured": 1, "required": 5}],
        "passed": False,
        "signal_before": [10, 40], "signal_after": [10, 11], "regions": [["north"], ["south"]], "masked_regions": [1],
        "swap_count": 29, "rules": [{"text": "AGEP is young", "relative_confidence_factor": None, "support": 0.04}],
    }  # fmt: skip
    own = Cells(rendered(runner.of_job(JobFacts(job(**fields), release))))
    assert "It did not pass." in own.texts
    assert "The composed k is 1." in own.texts
    row = [text for text in own.texts[own.texts.index("south") :] if text][:4]
    assert row == ["south", "40", "11", "yes"]
    assert "1 places were to be masked; 29 pairs of records exchanged their places." in own.texts
    assert any("If AGEP is young, the group is likely" in text for text in own.texts)
    public = rendered(runner.of_release(release))
    assert "south" not in public


def test_the_public_page_says_when_and_never_how_long(release: ReleaseFacts) -> None:
    dates = {
        "created_at": "2026-01-01T00:00:00Z",
        "certified_at": "2026-01-02T00:00:00Z",
        "timestamped_at": "2026-01-03",
    }
    facts = ReleaseFacts(
        {**release.release, **dates, "timestamped_at": "2026-01-03"}, release.parameters, STATISTICS, {}, release.data
    )
    page = Cells(rendered(runner.of_release(facts)))
    row = [text for text in page.texts[page.texts.index("Made") :] if text][:6]
    assert row[:4] == ["Made", "2026-01-01T00:00:00Z", "Certified", "2026-01-02T00:00:00Z"]
    assert row[4:] == ["Certificate seen by a timestamping authority", "2026-01-03"]
    record = job() | {"seconds": 12.345, "created_at": "2026-01-01T00:00:00Z"}
    own = Cells(rendered(runner.of_job(JobFacts(record, release))))
    assert [text for text in own.texts[own.texts.index("Seconds from begin to end") :] if text][1] == "12.345"
    assert "Timings" not in page.texts


def test_an_audit_without_a_release_has_a_page(release: ReleaseFacts) -> None:
    audit = job(records=3, risk={"prosecutor": 0.25}, meaning="One of four.", classes=[1, 2]) | {
        "kind": "audit", "method": "table", "spec": {"quasi_identifiers": ["age"]},
    }  # fmt: skip
    page = Cells(rendered(runner.of_job(JobFacts(audit))))
    assert "Audit table, job job_1" in page.texts
    assert page.texts[page.texts.index("risk: prosecutor") :][1:2] == ["0.25"] or "0.25" in page.texts
