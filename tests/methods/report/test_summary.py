"""At a glance: the first section of a page promises what the method of its release promises, and no more."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workers.methods.report import runner
from workers.methods.report.facts import JobFacts, ReleaseFacts
from workers.methods.report.page import rendered

RELEASE: dict[str, Any] = {
    "id": "rel_1", "name": "", "rows": 40, "state": "published", "columns": [], "files": {}, "flags": [],
    "warnings": [],
}  # fmt: skip


def release(method: str, *, flags: tuple[str, ...] = (), about: dict[str, Any] | None = None, **parameters: Any) -> Any:
    """A release of one method without its file."""
    shown = RELEASE | {"method": method, "flags": list(flags)} | (about or {})
    given = {"method": method, "quasi_identifiers": ["age", "pay"], "k": 5} | parameters
    return ReleaseFacts(shown, given, [], {}, None)


def glance(facts: ReleaseFacts | JobFacts) -> str:
    """The first section as the page has it, markup removed; it is `At a glance`."""
    page = runner.of_release(facts) if isinstance(facts, ReleaseFacts) else runner.of_job(facts)
    html = rendered(page)
    text = html[html.index("<main") :].split("</section>")[0]
    assert "At a glance</h2>" in text
    for question in ("Protected against:", "At what cost:", "What remains:"):
        assert question in text
    return " ".join(text.replace("&#39;", "'").split())


#: What each method promises, by what was required of it; and what its page must not say.
PROMISES: list[tuple[str, ReleaseFacts, list[str], list[str]]] = [
    (
        "boxes with k",
        release("boxes"),
        ["An attacker who knows age and pay of a person finds at least 5 records in the person's box. The file",
         "Inference of values is not limited"],
        ["at least 5 people", "diversity", "closeness", "unchanged"],
    ),
    (
        "boxes that count people",
        release("boxes", person_column="id"),
        ["at least 5 people in the person's box", "Readers cannot count people"],
        ["The file proves it"],
    ),
    ("boxes with k of 1", release("boxes", k=1), ["no singling out: k is 1"], ["at least 1"]),
    (
        "boxes with l",
        release("boxes", sensitive=["job"], l=3),
        ["Inference, to this extent: every box has at least 3 distinct values of job (l-diversity).",
         "Within these limits, values can be inferred with some probability."],
        ["t-closeness", "(alpha)", "is not limited"],
    ),
    (
        "boxes with l that leaves a guess",
        release(
            "boxes", keep=["job"], sensitive=["job"], l=2, largest_share={"job": 0.9},
            share_above_60_percent={"job": 0.125},
        ),
        ["In the worst box one value of job is that of 90 % of its records; 12.5 % of all records are in boxes where"],
        [],
    ),
    (
        "boxes with l of values apart",
        release("boxes", min_separation={"pay": 100.0}, l=2),
        ["every box has at least 2 values of pay that are 100 or more apart"],
        ["distinct values of"],
    ),
    (
        "boxes with t",
        release("boxes", sensitive=["job"], t=0.25),
        ["the distribution of job in a box differs from that in all boxes by at most 0.25 (t-closeness)"],
        ["l-diversity", "(alpha)"],
    ),
    (
        "boxes with alpha",
        release("boxes", sensitive=["job"], alpha=0.5),
        ["no value of job is that of more than 50 % of a box (alpha)"],
        ["l-diversity", "t-closeness"],
    ),
    (
        "boxes with a kept column",
        release("boxes", keep=["town"], flags=("kept-columns-not-counted",)),
        ["town published unchanged and not counted in k: an attacker who knows them too may find", "to one."],
        ["that also agree"],
    ),
    (
        "boxes that count a kept column",
        release("boxes", keep=["town"], k_counts_kept=True),
        ["at least 5 records in the person's box that also agree in town", "town published unchanged and counted in k"],
        ["not counted in k"],
    ),
    (
        "boxes with rare records suppressed, means and tight bounds",
        release("boxes", rare_records="suppress", flags=("means-inside-boxes", "tight-bounds")),
        ["ranges are about the released records", "learns more from its means", "Bounds are values of records"],
        [],
    ),
    (
        "uncertain",
        release("uncertain", scales="levels"),
        ["in expectation only. Averaged over the noise, at least 5 original records fit a published row",
         "The attacker may know the original.", "among the rows with noise of the same size", "k is an average"],
        ["finds at least 5", "certain.", "proves"],
    ),
    (
        "uncertain with one scale",
        release("uncertain", scales="common", k=2.5),
        ["at least 2.5 original records", "comparing sizes reveals nothing"],
        ["of the same cell"],
    ),
    (
        "uncertain with cells",
        release("uncertain", scales="shared"),
        ["among the records of the same cell, which the size of the noise reveals"],
        ["reveals nothing"],
    ),
    (
        "uncertain with a scale per record",
        release("uncertain", scales="per_record", flags=("scales-per-record",)),
        ["against an attacker who does not know the original", "by which an attacker with the original finds it"],
        ["The attacker may know the original"],
    ),
    (
        "uncertain with a k per record, kept columns and values without noise",
        release("uncertain", k=None, k_column="own_k", keep=["town"], flags=("zero-scale", "repeated-release")),
        ["as many original records as its record demands", "Some values carry no noise", "not counted in k",
         "fewer than k records may fit both"],
        ["None"],
    ),
    (
        "condensation",
        release("condensation", k=20, keep=["town"]),
        ["groups of at least 20 records. That is all that is promised.",
         "No bound on singling out, linkage or inference",
         "no range is guaranteed", "each row has the values of a record of its group"],
        ["An attacker who knows age", "fit a published row"],
    ),
    (
        "condensation of groups of one",
        release("condensation", k=1, flags=("groups-of-one",)),
        ["Protected against: nothing: k was 1, so the rows are the records."],
        ["at least 1"],
    ),
    (
        "swaps",
        release("swaps", region_columns=["county"], flags=("regions-swapped", "records-not-anonymous")),
        ["locating a group by the rules that the owner named; no individual is protected.",
         "Values of county were exchanged", "an attacker who knows a person's values finds the row"],
        ["at least 5", "singling out"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "promised", "never"), [one[1:] for one in PROMISES], ids=[one[0].replace(" ", "-") for one in PROMISES]
)
def test_a_page_promises_what_its_method_does_and_no_more(
    facts: ReleaseFacts, promised: list[str], never: list[str]
) -> None:
    text = glance(facts)
    for part in promised:
        assert part in text, text
    for part in never:
        assert part not in text, text
    assert "this is not differential privacy" in text


@pytest.mark.parametrize("method", ["boxes", "uncertain", "condensation", "swaps"])
def test_a_release_with_a_given_seed_protects_against_no_one_who_knows_it(method: str) -> None:
    text = glance(release(method, flags=("reproducible",)))
    assert "Protected against: no attacker who knows the seed" in text


def test_a_draft_and_a_withdrawn_release_say_so_first() -> None:
    draft = glance(release("boxes", about={"state": "draft"}))
    assert draft.index("This release is a draft: it is not published") < draft.index("Protected against")
    assert "required number remains" not in draft
    withdrawn = glance(release("boxes", about={"state": "withdrawn"}))
    assert "Copies that readers have made remain" in withdrawn


def test_several_releases_are_told_from_one() -> None:
    """One, accepted ones, a later one of a series, a new version: each states what was combined."""
    alone = glance(release("boxes"))
    assert "The answers are about this release alone." in alone
    assert "the required number remains" in alone
    accepted = glance(release("boxes", flags=("composition-accepted", "declared-data")))
    assert "The owner accepted that fewer than k remain" in accepted
    assert "the required number remains" not in accepted
    assert "The owner declared which other data are of the same people" in accepted
    series = glance(release("boxes", about={"base_release_id": "rel_0"}))
    assert "made from the published release rel_0 and nothing else: it reveals no more than that one" in series
    assert "the required number remains" not in series
    version = glance(release("boxes", flags=("new-version",)))
    assert "changes of no row or of at least k rows" in version


def job(method: str, **others: Any) -> dict[str, Any]:
    own = {"id": "job_1", "kind": "anonymization", "method": method, "spec": {}, "warnings": [], "result": {}}
    return own | {"attempts": 1, "created_at": None, "started_at": None, "finished_at": None} | others


def test_the_owners_page_adds_how_many_remain_together() -> None:
    composed = {"composed_k": 3.0, "overlay": 3, "candidates": 11, "release_count": 2, "exact": True, "expected": None}
    accepted = [{"audit": "composition", "by": "key_7", "at": "2026-01-02T00:00:00Z"}]
    facts = release("boxes", flags=("composition-accepted",))
    text = glance(JobFacts(job("boxes", composed=composed, accepted=accepted), facts))
    assert "at least 3 remain (2 combined)." in text
    assert "Findings that were accepted: composition." in text
    assert "remain (2 combined)" not in glance(facts)
    unplaced = glance(JobFacts(job("boxes", composed=composed | {"exact": False}), facts))
    assert "Some people could not be located in earlier releases and count as alone." in unplaced


def test_a_table_as_it_was_given_is_measured_and_not_protected() -> None:
    result = {"verdict": "All 9 records are alone.", "records": 9}
    audit = job("table", kind="audit", result=result)
    text = glance(JobFacts(audit | {"spec": {"dataset_id": "ds_1"}}))
    assert "Protected against: nothing by this audit. It measures the table as it was uploaded" in text
    assert "What remains: All 9 records are alone." in text
    released = glance(JobFacts(audit | {"spec": {"release_id": "rel_9"}}))
    assert "what the report of rel_9 states. This audit adds no protection." in released


def test_the_cell_that_one_value_is_left_of_is_named(tmp_path: Path) -> None:
    """Ages of 4 of 5 boxes are one value."""
    box = np.repeat(np.arange(1, 6), 4)
    pq.write_table(pa.table({"box": box, "age_lo": box, "age_hi": box + (box == 5)}), tmp_path / "release.parquet")
    facts = replace(release("boxes", quasi_identifiers=["age"]), data=tmp_path / "release.parquet")
    assert "most often age: a single value for 80 % of the records" in glance(facts)
