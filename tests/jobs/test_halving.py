"""No count of a request finds out how many records there are: keys without `jobs:read` are answered by one digit of it.

Every whole number of every example body is varied, so a new field that is compared with the number of records fails
here until its refusals have room.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from app.contracts.inputs import Given
from app.errors import FieldError, InvalidError
from app.jobs.refusals import refusals
from app.methods.rules import RULES
from tests.drawing import seeds
from tests.methods.examples import bench_of_examples, examples
from tests.methods.in_process import Bench
from tests.methods.refusing import wrong_types


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench_of_examples(tmp_path_factory.mktemp("halving"))


def counts_of(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Places of whole numbers in a body, and of fields that may have some."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from counts_of(inner, (*at, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from counts_of(inner, (*at, place))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield at


def changed(body: Any, at: tuple[str | int, ...], number: int) -> Any:
    if not at:
        return number
    copy = dict(body) if isinstance(body, dict) else list(body)
    copy[at[0]] = changed(copy[at[0]], at[1:], number)
    return copy


def with_rows(given: Given, rows: int) -> Given:
    """The same inputs with another number of records, as many of them complete as before."""

    def more(profile: Any) -> Any:
        return replace(profile, rows=rows) if hasattr(profile, "__dataclass_fields__") else profile.model_copy(
            update={"rows": rows}
        )  # fmt: skip

    datasets = {role: replace(one, profile=more(one.profile)) for role, one in given.datasets.items()}
    return replace(given, datasets=datasets, releases={r: replace(one, rows=rows) for r, one in given.releases.items()})


def answer(bench: Bench, body: dict[str, Any], rows: int) -> list[FieldError] | None:
    """Return the answer to a key without `jobs:read`; None where the body is refused whatever the data are."""
    if wrong_types(body):
        return None
    try:
        named = bench.named(body)
        return None if named is None else _refused(body, *named, rows)
    except (InvalidError, ValidationError):
        return None


def _refused(body: dict[str, Any], filled: Any, given: Given, rows: int) -> list[FieldError]:
    return sorted(refusals(RULES[body["method"]].check, filled, with_rows(given, rows), keeper=False), key=str)


@pytest.mark.parametrize("seed", seeds(10))
def test_halving_by_any_count_of_a_request_ends_at_one_digit_of_the_records(bench: Bench, seed: int) -> None:
    draw, compared = np.random.default_rng(seed), 0
    for name, body in examples():
        for more in ({}, {"records": [3]} if body["method"] == "frontier" else {}):
            whole = body | more
            for at in counts_of(whole):
                step = 10 ** int(draw.integers(3, 6))  # more than the records of any example
                least = int(draw.integers(1, 10)) * step
                few, many = sorted(int(each) for each in draw.integers(least, least + step, 2))
                varied = changed(whole, at, int(draw.integers(few, many + 2)))
                answers = [answer(bench, varied, rows) for rows in (few, many)]
                assert answers[0] == answers[1], (name, at, few, many)
                compared += answers[0] is not None
    assert compared > 10


@pytest.mark.parametrize("field", ["k", "cell_size"])
@pytest.mark.parametrize("count", [101, 613, 1237, 10_001])
def test_a_group_size_of_more_than_two_digits_is_refused_whatever_the_data_are(
    bench: Bench, tmp_path: Path, field: str, count: int
) -> None:
    example = next(body for _, body in examples() if body["method"] == "uncertain")
    body = example | ({"k": count} if field == "k" else {"scales": "shared", "cell_size": count})
    answers = [answer(bench, body, rows) for rows in (10, 1_000, 10**9)]
    assert all(one is not None and f"/{field}" in {error.pointer for error in one} for one in answers)
