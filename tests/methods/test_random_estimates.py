"""Jobs and questions drawn at random take no more than a few times what they are expected to."""

import itertools
import multiprocessing
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from app.errors import SureboxError
from app.jobs.needs import Estimate
from app.jobs.search_estimates import rules_of
from app.methods.group.spec import GroupSpec
from tests.drawing import seeds
from tests.methods import random_shapes
from tests.methods.in_process import Bench
from tests.methods.measured import FACTOR, Measured, Watched, bounded, measure

#: What is expected of a shape at most: it is measured in the time of a test.
MOST: Final = Estimate(40.0, 4e9)
#: A fork would inherit the locks of polars' threads, and wait for them.
FRESH: Final = multiprocessing.get_context("spawn")


def measured_here(kind: str, seed: int, answer: Connection) -> None:
    """Measure a shape in this process, which does nothing else."""
    bounded()
    shape = getattr(random_shapes, kind)(seed)
    with tempfile.TemporaryDirectory() as folder:
        bench = Watched(Path(folder), seed=1)
        body = random_shapes.fitting(bench, shape, most=MOST)
        try:
            one = None if body is None else measure(bench, body)
        except SureboxError:  # what it asks for is not there
            one = None
        answer.send((shape.name, one))


def measured(kind: str, seed: int) -> tuple[str, Measured]:
    """Measure a shape in a process of its own; one that is refused for what it asks is skipped."""
    here, there = FRESH.Pipe(duplex=False)
    child = FRESH.Process(target=measured_here, args=(kind, seed, there))
    child.start()
    there.close()
    try:
        name, one = here.recv()
    finally:
        child.join()
    if one is None:
        pytest.skip(f"{name}: it is refused for what it asks")
    return name, one


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(44, 44))
def test_no_random_job_takes_more_than_three_times_what_is_expected(seed: int) -> None:
    name, one = measured("job", seed)
    assert min(one.ratios) >= 1 / FACTOR, f"{name}: {one}"


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(20, 20))
def test_random_questions_take_what_is_expected_within_three_times(seed: int) -> None:
    name, one = measured("question", seed)
    assert min(one.ratios) >= 1 / FACTOR, f"{name}: {one}"
    assert max(one.ratios) <= FACTOR, f"{name}: {one}"


def attack(variables: int, terms: int, support: float) -> dict[str, Any]:
    ranges = [{"name": f"t{at}", "shape": "range", "points": [at / terms, (at + 1) / terms]} for at in range(terms)]
    return {
        "method": "group", "auxiliary_dataset_id": "d", "region_columns": ["region"], "min_support": support,
        "hidden_group": {"column": "job", "values": ["J3"]}, "search": {"method": "exhaustive"},
        "variables": [{"column": f"g{at}", "range": [0, 1], "terms": ranges} for at in range(variables)],
    }  # fmt: skip


@pytest.mark.parametrize("seed", seeds(12))
def test_rules_that_have_support_are_as_many_as_expected(bench: Bench, seed: int) -> None:
    """Counted one by one: every choice of a term of each variable, or of none, and the members that fit all."""
    draw = np.random.default_rng([seed, 9])
    variables, terms = int(draw.integers(2, 5)), int(draw.integers(2, 7))
    support, members = float(draw.choice([0.0, 0.002, 0.02, 0.1])), int(draw.integers(40, 400))
    cells = draw.random((members, variables))
    place = np.minimum((cells * terms).astype(int), terms - 1)
    counted = 0
    for rule in itertools.product(range(-1, terms), repeat=variables):
        fits = np.ones(members, dtype=bool)
        for column, term in enumerate(rule):
            fits &= (term < 0) | (place[:, column] == term)
        counted += any(term >= 0 for term in rule) and fits.sum() > support * members
    spec = bench.spec(attack(variables, terms, support))
    assert isinstance(spec, GroupSpec)
    assert counted / FACTOR <= rules_of(spec, members=members).alive <= counted * FACTOR


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
