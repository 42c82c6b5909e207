"""What holds of every method, asked of all of them: a method that is added is held to it without a line here."""

import json
import re
from datetime import UTC, datetime
from functools import partial
from html import unescape
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
import rfc8785

from app.certificates.issue import statement
from app.contracts.examples import DATASET, RELEASE
from app.contracts.findings import AuditResult
from app.contracts.flags import Flag
from app.contracts.jobs import JobKind, Queue
from app.contracts.releases import ReleaseFormat
from app.db.repositories.releases import ReleaseRow
from app.methods.catalogue import METHODS
from surebox_verify.certificate import exact
from tests.methods.asking import is_part
from tests.methods.examples import EXAMPLES, INCOMPLETE, bench_of_examples, examples
from tests.methods.in_process import Bench, Done
from tests.verify.schema import faults
from workers.methods.context import CancelRequestedError
from workers.methods.report.facts import JobFacts
from workers.methods.report.page import rendered
from workers.methods.report.runner import of_job

RELEASING = [pytest.param(body, id=name) for name, body in examples(making_releases=True)]
EACH = [pytest.param(body, id=name) for name, body in examples()]
SEEDED = {"seed": 4711}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench_of_examples(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def ran(there: Bench) -> dict[str, Done]:
    """Jobs that have run, by what was asked."""
    return {}


def run(there: Bench, ran: dict[str, Done], body: dict[str, Any]) -> Done:
    key = json.dumps(body, sort_keys=True)
    if key not in ran:
        ran[key] = there.run(body)
    return ran[key]


def numbered(body: dict[str, Any]) -> dict[str, Any]:
    """The same, with each record's number kept where a method keeps columns."""
    if "keep" not in METHODS[body["method"]].spec.model_fields:
        return body
    return body | {"keep": [*body.get("keep", ()), "row"]}


def test_every_method_has_two_examples() -> None:
    """Of those that are asked for by a body of their own; reports are asked for by an address."""
    names = [name for name, method in METHODS.items() if method.kind in {JobKind.ANONYMIZATION, JobKind.AUDIT}]
    names += ["count", "classify"]
    assert [name for name in names if len(EXAMPLES[name]) < 2] == []


@pytest.mark.parametrize("body", EACH)
def test_what_comes_of_a_job_is_what_its_method_says(there: Bench, ran: dict[str, Done], body: dict[str, Any]) -> None:
    done, method = run(there, ran, body), METHODS[body["method"]]
    assert json.loads(json.dumps(done.whole, allow_nan=False)) == method.result.model_validate(done.whole).model_dump(
        mode="json", by_alias=True
    )
    assert is_part(dict(done.outcome.summary), done.whole)
    assert (done.outcome.release is not None) == ("formats" in method.spec.model_fields)


@pytest.mark.parametrize("body", RELEASING)
def test_the_certificate_of_a_release_is_of_the_published_schema(
    there: Bench, ran: dict[str, Done], body: dict[str, Any]
) -> None:
    release = run(there, ran, body).release
    assert release is not None
    made = ReleaseRow(
        id=RELEASE, owner="owner", job_id="job", dataset_id=DATASET, method=body["method"], rows=release.rows,
        columns=release.columns, flags=[flag.value for flag in release.flags], tags={},
        statistics=release.statistics, parameters=release.parameters,
    )  # fmt: skip
    files = {name: file.sha256 for name, file in release.files.items()}
    body = statement(made, files, previous=None, at=datetime.now(UTC), issued="at publication")
    assert list(faults(json.loads(rfc8785.dumps(exact(body))))) == []


#: For each audit a body that demands something which cannot be met, and how its page names that demand.
UNMET: dict[str, tuple[dict[str, Any], str]] = {
    "table": ({"require": {"k": 10**6}}, "k"),
    "composition": ({"require": {"k": 10**6}}, "k"),
    "determination": ({"require": {"t": 0.0}}, "t"),
    "influence": ({"require": {"change": 0.0}}, "change"),
    "linkage": ({"require": {"mean_rank": 10**6}}, "mean_rank"),
    "frontier": ({"k": [2, 1700], "keep": ["job"], "k_counts_kept": True}, "feasible"),
    "group_profile": ({"masked_regions": [["R11"], ["R04"]]}, "detected"),
    "swap_detection": ({"masked_regions": [["R11"], ["R04"], ["R23"]]}, "detected"),
}
AUDITS = [pytest.param(name, id=name) for name, method in METHODS.items() if method.kind is JobKind.AUDIT]


def judged(there: Bench, body: dict[str, Any]) -> dict[str, Any]:
    """The whole result of an audit, of which the page says the same."""
    whole: dict[str, Any] = there.run(body).whole
    assert whole["passed"] is (all(one["met"] for one in whole["demands"].values()) if whole["demands"] else None)
    assert whole["verdict"].endswith(".")
    facts = {
        "id": "job_1", "kind": "audit", "method": body["method"], "spec": body, "attempts": 1, "warnings": [],
        "created_at": None, "started_at": None, "finished_at": None, "result": whole,
    }  # fmt: skip
    page = unescape(rendered(of_job(JobFacts(facts))))
    said = {True: "It passed.", False: "It did not pass.", None: "it neither passed nor failed"}
    assert [one for one, text in said.items() if text in page] == [whole["passed"]]
    assert whole["verdict"] in page
    assert not re.search(r">(None|True|False|null|\[\]|\{\}|nan)<|: None|\{'|\['", page), "a dump of Python"
    return whole


@pytest.mark.parametrize("name", AUDITS)
def test_every_audit_answers_its_demands_alike(there: Bench, name: str) -> None:
    """`passed`, each demand with what was measured, findings and a verdict: whatever the audit, and in its page."""
    assert issubclass(METHODS[name].result, AuditResult)
    body = EXAMPLES[name][0]
    judged(there, body)
    if name not in UNMET:
        assert name == "group", "it finds out which places matter: nothing can be required of them"
        return
    more, demand = UNMET[name]
    whole = judged(there, body | more)
    assert whole["passed"] is False
    assert whole["demands"][demand]["met"] is False
    assert whole["findings"]


@pytest.mark.parametrize("body", RELEASING)
def test_a_release_is_what_it_says_of_itself(there: Bench, ran: dict[str, Done], body: dict[str, Any]) -> None:
    done, method = run(there, ran, numbered(body)), METHODS[body["method"]]
    draft = done.outcome.release
    names = [column["name"] for column in draft.columns]
    assert set(draft.files) == {ReleaseFormat.PARQUET, ReleaseFormat.CSV, ReleaseFormat.NDJSON}
    assert list(pl.read_parquet_schema(draft.files[ReleaseFormat.PARQUET].path)) == names
    assert pl.read_csv(draft.files[ReleaseFormat.CSV].path, infer_schema=False).columns == names
    assert done.rows().height == draft.rows > 0
    assert set(draft.flags) <= set(method.flags)
    assert json.dumps(dict(draft.parameters), allow_nan=False)


@pytest.mark.parametrize("body", RELEASING)
def test_statistics_have_every_field_that_the_document_requires(
    there: Bench, ran: dict[str, Done], body: dict[str, Any]
) -> None:
    statistics, public = run(there, ran, body).outcome.release.statistics, METHODS[body["method"]].statistic
    assert bool(statistics) == (public is not None)
    for one in statistics:
        shown = {name: value for name, value in one.items() if name in public.model_fields}
        assert public.model_validate(shown).model_dump(mode="json") == shown


@pytest.mark.parametrize("body", RELEASING)
def test_rows_stand_in_random_order_and_keep_what_was_asked(
    there: Bench, ran: dict[str, Done], body: dict[str, Any]
) -> None:
    orders = [one.rows()["row"].to_list() for one in (run(there, ran, numbered(body)), there.run(numbered(body)))]
    for order in orders:
        assert len(set(order)) == len(order)
        assert set(order) <= set(range(there.datasets[DATASET].rows))
        ascents = sum(a < b for a, b in pairwise(order)) / (len(order) - 1)
        assert 0.4 < ascents < 0.6, "the order of the input shows"
    assert orders[0] != orders[1]


@pytest.mark.parametrize("body", RELEASING)
def test_a_seed_makes_a_release_again_and_no_seed_does_not(
    there: Bench, ran: dict[str, Done], body: dict[str, Any]
) -> None:
    jobs = run(there, ran, body | SEEDED), there.run(body | SEEDED), there.run(body | {"seed": 4712})
    once, again, other = ({name: file.sha256 for name, file in done.outcome.release.files.items()} for done in jobs)
    assert once == again
    assert all(once[name] != other[name] for name in once)


@pytest.mark.parametrize("body", RELEASING)
def test_the_seed_is_told_by_a_flag_of_the_service_and_by_nobody_else(
    there: Bench, ran: dict[str, Done], body: dict[str, Any]
) -> None:
    done = run(there, ran, body | SEEDED)
    assert Flag.REPRODUCIBLE not in done.outcome.release.flags, "publishing adds it, for all methods alike"
    assert "4711" not in json.dumps([done.whole, dict(done.outcome.release.parameters)])


@pytest.mark.parametrize("body", RELEASING)
def test_a_release_is_put_to_what_its_method_says_it_answers(
    there: Bench, ran: dict[str, Done], body: dict[str, Any]
) -> None:
    """Whether it can be answered hangs on the release, and then it is refused; what is accepted ends well."""
    kept = body | {"keep": ["job"]} if "keep" in METHODS[body["method"]].spec.model_fields else body
    name = there.keep(f"rel_of_{body['method']}", run(there, ran, kept))
    answered = set()
    for question in METHODS[body["method"]].answers:
        for one in EXAMPLES[question]:
            request = json.loads(json.dumps(one).replace(RELEASE, name))
            if request != one and not there.accepted(request)[1]:
                assert there.run(request).whole["method"] == question
                answered.add(question)
    assert METHODS[body["method"]].answers & {"count", "classify", "linkage", "influence"} <= answered


WITH_MISSING = [
    pytest.param(body, id=name)
    for name, body in examples()
    if {"missing_policy", "quasi_identifiers"} <= METHODS[body["method"]].spec.model_fields.keys()
]


@pytest.mark.parametrize("body", WITH_MISSING)
def test_missing_values_are_refused_at_their_column_or_left_out(there: Bench, body: dict[str, Any]) -> None:
    request = body | {"dataset_id": INCOMPLETE}
    _, wrong = there.accepted(request | {"missing_policy": "refuse"})
    assert [error.pointer for error in wrong] == [f"/quasi_identifiers/{body['quasi_identifiers'].index('income')}"]
    done = there.run(request | {"missing_policy": "drop"})
    assert "suppressed" not in METHODS[body["method"]].result.model_fields or done.whole["suppressed"]["missing"] == 7


@pytest.mark.parametrize("body", EACH)
def test_a_cancel_passes_through_a_runner(there: Bench, ran: dict[str, Done], body: dict[str, Any]) -> None:
    ticks = run(there, ran, body).ticks
    assert ticks or METHODS[body["method"]].queue is Queue.INTERACTIVE, "only the loop looks for a cancel"
    for last in sorted({1, (ticks + 1) // 2, ticks} if ticks else set()):
        with pytest.raises(CancelRequestedError):
            there.run(body, on_tick=partial(cancel, last))


def cancel(last: int, ticks: int) -> None:
    if ticks == last:
        raise CancelRequestedError


def test_what_a_method_cannot_answer_is_refused_by_name(there: Bench) -> None:
    body = next(one for one in EXAMPLES["swaps"] if "rules_model" in one)
    there.keep("rel_swaps", there.run(body))
    for name, method in METHODS.items():
        for one in EXAMPLES[name]:
            if one.get("release_id") and name not in METHODS["swaps"].answers:
                (error,) = there.accepted(one | {"release_id": "rel_swaps"})[1]
                assert "`swaps`" in error.detail
                assert method.name in error.detail
