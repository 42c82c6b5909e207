"""The same specification on the same rows: another order of rows, of columns or of statistics, or other threads.

Large nodes of columns of all kinds are halved by counting (`fast`), or compared by samples (`optimal`): each case says
which, and the tree of its cuts that it was so. What boxes and certificates are does not depend on any of these orders.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.embedded.worker import thread_settings
from tests.methods.boxes.large_mixed import CASES, COLUMNS, STATISTICS, boxes, digest_of, spec, table
from tests.methods.in_process import Bench


@pytest.fixture(scope="module")
def plainly(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """What a case makes in this process, computed once."""
    return cache(lambda case: digest_of(tmp_path_factory.mktemp("plainly"), table(case), spec(case)))


def in_a_process(folder: Path, case: str, *, cores: int) -> dict[str, Any]:
    """The same in a process with the threads that a worker has on so many cores."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.methods.boxes.large_mixed", str(folder), case],
        env={**os.environ, **thread_settings(each=cores)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


@pytest.mark.parametrize("case", CASES)
def test_rows_columns_and_statistics_in_another_order_have_the_same_boxes_bit_for_bit(
    tmp_path: Path, plainly: Callable[[str], dict[str, Any]], case: str
) -> None:
    frame, way = table(case), CASES[case][1]
    again = frame.sample(fraction=1.0, shuffle=True, seed=3).select(frame.columns[::-1])
    turned = spec(case, quasi_identifiers=[COLUMNS[i] for i in (4, 1, 3, 0, 2)], statistics=STATISTICS[::-1])
    one, two = plainly(case), digest_of(tmp_path, again, turned)
    assert one["nodes"][way] > 4
    assert one["box_count"] > 300
    assert one == two


@pytest.mark.parametrize("case", ["fast, missing values", "optimal, demands", "optimal, sampled, a survey"])
def test_the_number_of_threads_changes_no_bit(
    tmp_path: Path, plainly: Callable[[str], dict[str, Any]], case: str
) -> None:
    """This process has a thread for each core; on one core the other has three."""
    other = 1 if pl.thread_pool_size() > 1 else 3
    assert plainly(case)["nodes"][CASES[case][1]] > 4
    assert plainly(case) == in_a_process(tmp_path, case, cores=other)


@pytest.mark.parametrize(
    "change",
    [{}, {"person_column": "person"}, {"survey_weight_column": "weight"}],
    ids=lambda change: next(iter(change), "kept classes"),
)
def test_records_alike_in_all_columns_that_are_cut_are_told_apart_by_what_they_are(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """Six places for 400 records: weights are summed, persons left out, classes numbered in their own order."""
    for seed in range(8):
        draw = np.random.default_rng(seed)
        frame = pl.DataFrame({
            "age": draw.choice([20, 30, 40], 400), "sex": draw.choice(["f", "m"], 400),
            "person": pl.Series(draw.integers(0, 200, 400)).cast(pl.String), "weight": draw.uniform(0.5, 3.0, 400),
            "rare": np.where(np.arange(400) < 3, "rare", draw.choice(["a", "b"], 400)),
            "part": draw.choice(["p", "q"], 400),
        })  # fmt: skip
        body = {
            "method": "boxes", "dataset_id": "people", "quasi_identifiers": ["age", "sex"], "k": 10,
            "k_counts_kept": True, "max_suppressed_classes": 0.5, "partition": "fast",
        }  # fmt: skip
        made = []
        for keep, rows in (
            (("rare", "part"), frame),
            (("part", "rare"), frame.sample(fraction=1.0, shuffle=True, seed=1)),
        ):
            folder = tmp_path / f"{keep[0]}-{seed}"
            folder.mkdir()
            bench = Bench(folder)
            bench.dataset("people", rows)
            done = bench.run(body | change | {"keep": keep})
            assert done.release is not None
            made.append(boxes(done.release))
        assert made[0] == made[1]
