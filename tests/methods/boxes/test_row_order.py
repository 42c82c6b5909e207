"""The same specification on the same rows: another order of rows, of columns or of statistics, or other threads.

Large nodes of columns of all kinds are halved by counting (`fast`), or compared by samples (`optimal`): each case says
which, and the tree of its cuts that it was so. What boxes and certificates are does not depend on any of these orders.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.embedded.worker import thread_settings
from tests.methods.boxes.large_mixed import CASES, COLUMNS, STATISTICS, boxes, digest_of, spec, table
from tests.methods.in_process import Bench


def in_a_process(folder: Path, case: str, *, cores: int) -> dict[str, Any]:
    """The same in a process with the threads that a worker has on so many cores."""
    folder.mkdir()
    ran = subprocess.run(
        [sys.executable, "-m", "tests.methods.boxes.large_mixed", str(folder), case],
        env={**os.environ, **thread_settings(each=cores)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


@pytest.mark.parametrize("case", CASES)
def test_rows_columns_and_statistics_in_another_order_have_the_same_boxes_bit_for_bit(
    tmp_path: Path, case: str
) -> None:
    frame, way = table(case), CASES[case][1]
    again = frame.sample(fraction=1.0, shuffle=True, seed=3).select(frame.columns[::-1])
    turned = spec(case, quasi_identifiers=[COLUMNS[i] for i in (4, 1, 3, 0, 2)], statistics=STATISTICS[::-1])
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = digest_of(tmp_path / "one", frame, spec(case)), digest_of(tmp_path / "two", again, turned)
    assert one["nodes"][way] > 4
    assert one["box_count"] > 300
    assert one == two


@pytest.mark.parametrize("case", ["fast, missing values", "optimal, demands", "optimal, sampled, a survey"])
def test_the_number_of_threads_changes_no_bit(tmp_path: Path, case: str) -> None:
    one, three = (in_a_process(tmp_path / str(cores), case, cores=cores) for cores in (1, 3))
    assert one["nodes"][CASES[case][1]] > 4
    assert one == three


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
