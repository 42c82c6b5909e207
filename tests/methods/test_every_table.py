"""No table ends a job by an error of ours, whatever its columns have: every method, question and audit over all kinds.

Tables are of columns without values, of one value, of one record, of numbers as large and as small as they may be, and
of what a release may keep beyond these. A specification may be refused and a job may find that it cannot be done; what
a statistic cannot be computed from is null with a reason, and the others are answered as if it had not been there.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from app.contracts.datasets import FileFormat
from app.contracts.examples import DATASET, RELEASE
from app.errors import SureboxError
from app.methods.catalogue import METHODS
from tests.drawing import seeds
from tests.methods import hostile
from tests.methods.in_process import Bench, Done
from workers.methods.report.facts import JobFacts
from workers.methods.report.page import rendered
from workers.methods.report.runner import of_job

INTERNAL = 500
#: Tables, and methods, from which on some of each must have come to a result.
ENOUGH = 5


def attempt(there: Bench, body: dict[str, Any]) -> Done | None:
    """Run a job that may be refused; what comes of it can be served, and shown on a page."""
    try:
        there.spec(body)
        if there.accepted(body)[1]:
            return None
        done = there.run(body)
    except ValidationError:
        return None
    except SureboxError as error:
        if error.status >= INTERNAL:
            raise
        return None
    METHODS[body["method"]].result.model_validate(json.loads(json.dumps(done.whole, allow_nan=False)))
    facts = {
        "id": "job_1", "kind": "audit", "method": body["method"], "spec": body, "attempts": 1, "warnings": [],
        "created_at": None, "started_at": None, "finished_at": None, "result": done.whole,
    }  # fmt: skip
    rendered(of_job(JobFacts(facts)))
    return done


def numbers_of(entry: dict[str, Any]) -> list[Any]:
    """The ranges of an entry, one for each number that it has."""
    ranges = entry["guaranteed"]
    several = entry["kind"] == "regression" and isinstance(ranges, list)
    return ranges if several else [ranges]


def check_reasons(entries: list[dict[str, Any]]) -> None:
    """Check that statistics without a range state a reason."""
    for entry in entries:
        assert entry["reason"] or None not in numbers_of(entry), entry


def check_alone(there: Bench, question: dict[str, Any], answers: list[dict[str, Any]]) -> None:
    """Each statistic has the answer that it has when nothing else is asked."""
    alone = [attempt(there, question | {"statistics": [one]}) for one in question["statistics"]]
    assert None not in alone, question
    entries = [entry for done in alone if done is not None for entry in done.whole["statistics"]]
    assert [(one["kind"], one["of"], one["values"]) for one in entries] == [
        (one["kind"], one["of"], one["values"]) for one in answers
    ]
    unanswered = [[one["guaranteed"] is None for one in each] for each in (entries, answers)]
    assert unanswered[0] == unanswered[1]


@pytest.fixture(scope="module")
def succeeded() -> Iterator[list[set[str]]]:
    """Methods that came to a result, table by table: a test in which all is refused tests nothing."""
    tables: list[set[str]] = []
    yield tables
    if len(tables) >= ENOUGH:
        methods = set().union(*tables)
        assert {"boxes", "statistics", "table"} <= methods, methods
        assert len(methods) >= ENOUGH, methods


def everything(there: Bench, draw: np.random.Generator) -> set[str]:
    """Run everything on a random table; the methods that came to a result."""
    methods: set[str] = set()
    frame = hostile.table(draw)
    there.upload(DATASET, frame, form=FileFormat.PARQUET)
    for place, make in enumerate((hostile.boxes, hostile.boxes, hostile.other_anonymization, hostile.swaps)):
        body = make(draw) | {"dataset_id": DATASET}
        done = attempt(there, body)
        if done is None or done.release is None:
            continue
        methods.add(body["method"])
        release = there.keep(RELEASE[:-1] + str(place), done)
        if body["method"] == "boxes":
            check_reasons(done.whole["statistics"])
        for question in hostile.questions(draw, body, release, DATASET):
            answer = attempt(there, question)
            methods |= set() if answer is None else {question["method"]}
            if answer is not None and question["method"] == "statistics":
                check_reasons(answer.whole["statistics"])
                check_alone(there, question, answer.whole["statistics"])
    methods |= {audit["method"] for audit in hostile.audits(draw, DATASET) if attempt(there, audit) is not None}
    return methods


@pytest.mark.parametrize("seed", seeds(5, 150))
def test_no_job_over_any_table_ends_by_an_error_of_ours(tmp_path: Path, seed: int, succeeded: list[set[str]]) -> None:
    succeeded.append(everything(Bench(tmp_path, seed=seed), np.random.default_rng(seed)))


@pytest.mark.parametrize("rows", [1, 40])
def test_a_column_without_values_is_released_with_reasons(tmp_path: Path, rows: int) -> None:
    there = Bench(tmp_path)
    frame = pl.DataFrame({"x": list(range(rows)), "s": [None] * rows}, schema={"x": pl.Int64, "s": pl.String})
    there.upload(DATASET, frame, form=FileFormat.PARQUET)
    body = {
        "method": "boxes", "dataset_id": DATASET, "quasi_identifiers": ["x", "s"], "k": 1, "missing_policy": "pattern",
        "statistics": [{"kind": "share", "of": ["s"]}, {"kind": "mean", "of": ["x"]},
                       {"kind": "domain_mean", "of": ["x", "s"]}],
    }  # fmt: skip
    done = attempt(there, body)
    assert done is not None
    share, mean, within = done.whole["statistics"]
    assert (share["guaranteed"], within["guaranteed"]) == (None, None)
    assert "no released record" in share["reason"]
    assert "no released record" in within["reason"]
    assert mean["guaranteed"][0] <= sum(range(rows)) / rows <= mean["guaranteed"][1]
