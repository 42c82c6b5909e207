"""Declared domains hold the records that are released: what is left out lies where it may, the others are counted."""

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import InvalidError
from app.jobs.refusals import WITHHELD, refusals
from app.methods.rules import RULES
from tests.drawing import seeds
from tests.methods.in_process import Bench, Done

ROWS = 60
FIRST = date(1970, 1, 1)


def table(draw: np.random.Generator, *, days: bool) -> pl.DataFrame:
    """Ages, or days of birth, and wages that mostly those at the ends lack."""
    ages = [int(age) for age in draw.integers(-20, 120, ROWS)]
    low, high = int(draw.integers(-10, 30)), int(draw.integers(70, 110))
    likely = [0.97 if age < low or age > high else 0.05 for age in ages]
    wages = [None if draw.uniform() < one else int(draw.integers(1, 90)) for one in likely]
    wages[0] = None  # someone is left out
    who = [FIRST + timedelta(days=age) for age in ages] if days else ages
    return pl.DataFrame({"who": who, "wage": wages}, schema_overrides={"wage": pl.Int64})


def domain_near(draw: np.random.Generator, kept: list[Any]) -> tuple[Any, Any]:
    """Ends at, within or beyond those of the kept records."""
    ordered = sorted(kept)
    step = timedelta(days=1) if isinstance(kept[0], date) else 1
    low = ordered[int(draw.choice([0, 0, 1, 5]))] - step * int(draw.integers(0, 2))
    high = ordered[-1 - int(draw.choice([0, 0, 1, 5]))] + step * int(draw.integers(1, 3))
    return low, high


def outside(kept: list[Any], low: Any, high: Any) -> dict[str, int]:
    """Count the records on each side one after the other, and omit sides without any."""
    counts = {f"less than {low}": 0, f"more than {high}": 0}
    for one in kept:
        if one < low:
            counts[f"less than {low}"] += 1
        if one > high:
            counts[f"more than {high}"] += 1
    return {side: number for side, number in counts.items() if number}


def stated(detail: str) -> dict[str, int]:
    """The sides that a refusal names, each with its number."""
    sides = re.findall(r"(\d+)(?: records?)?(?: has| have)? (less|more) than ([-\d]+)", detail)
    return {f"{side} than {end}": int(number) for number, side, end in sides}


def body_of(method: str, low: Any, high: Any, policy: str = "drop") -> dict[str, Any]:
    ends = [one.isoformat() if isinstance(one, date) else one for one in (low, high)]
    return {
        "method": method, "dataset_id": "people", "quasi_identifiers": ["who", "wage"], "k": 3,
        "missing_policy": policy, "domains": {"who": ends},
    }  # fmt: skip


def answer(bench: Bench, body: dict[str, Any]) -> Done | InvalidError:
    """The job that was made, or why it was not; the request itself is accepted."""
    try:
        return bench.run(body)
    except InvalidError as error:
        return error


@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize(("method", "days"), [("boxes", False), ("boxes", True), ("uncertain", False)])
def test_a_domain_is_of_the_records_that_are_kept_and_counts_those_outside(
    tmp_path: Path, method: str, days: bool, seed: int
) -> None:
    draw = np.random.default_rng([seed, 41])
    frame, bench = table(draw, days=days), Bench(tmp_path)
    bench.dataset("people", frame)
    kept = [who for who, wage in frame.iter_rows() if wage is not None]
    domains = [domain_near(draw, kept) for _ in range(3)]
    domains += [(min(kept), max(kept)), (sorted(kept)[3], max(kept)), (min(kept), sorted(kept)[-4])]
    for low, high in domains:
        if low >= high:
            continue
        given, expected = answer(bench, body_of(method, low, high)), outside(kept, low, high)
        if not expected:
            assert isinstance(given, Done), given
        else:
            assert isinstance(given, InvalidError)
            assert [(one.pointer, stated(one.detail)) for one in given.errors] == [("/domains/who", expected)]


@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize("method", ["boxes", "uncertain"])
def test_where_all_records_take_part_those_outside_are_counted_too(tmp_path: Path, method: str, seed: int) -> None:
    draw = np.random.default_rng([seed, 42])
    frame, bench = table(draw, days=False).with_columns(pl.col("wage").fill_null(50)), Bench(tmp_path)
    bench.dataset("people", frame)
    people = frame["who"].to_list()
    for policy in ("drop", "refuse"):
        low, high = domain_near(draw, people)
        given, expected = answer(bench, body_of(method, low, high, policy)), outside(people, low, high)
        if expected:
            assert isinstance(given, InvalidError)
            assert [(one.pointer, stated(one.detail)) for one in given.errors] == [("/domains/who", expected)]
        else:
            assert isinstance(given, Done), given


@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize("method", ["boxes", "uncertain"])
def test_a_key_without_figures_starts_no_job_that_its_domain_could_end(tmp_path: Path, method: str, seed: int) -> None:
    """Halving a domain through failing jobs would find the ends of the kept records."""
    draw = np.random.default_rng([seed, 43])
    frame, bench = table(draw, days=False), Bench(tmp_path)
    bench.dataset("people", frame)
    people = frame["who"].to_list()
    for reach in range(-6, 40, 3):
        low, high = min(people) - reach, max(people) + reach
        named = bench.named(body_of(method, low, high))
        assert named is not None
        errors = refusals(RULES[method].check, *named, keeper=False)
        assert {(one.pointer, one.detail) for one in errors} <= {("/domains/who", WITHHELD)}
        assert errors or reach >= 0
        assert not errors or reach < 20, "whole tens hold a column that spans less than a thousand"
