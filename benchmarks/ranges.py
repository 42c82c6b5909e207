"""Gaps and CPU seconds of the guaranteed ranges.

    python benchmarks/ranges.py [records.npy] [--rows 100000] [--k 5]
    python benchmarks/ranges.py --table
    python benchmarks/ranges.py --boxes 10000000

Without a file: a correlated gaussian mixture of 5 columns. For every two columns, and regressions on one to three,
over the cells of the partition `fast` under a fixed secret: gap between what is certain and what is reached, and CPU
time. Kernels are compiled on the first run and cached; quote the second. `--table` does so with three sizes of the
mixture and Adult's six numeric columns. `--boxes` makes as many narrow boxes, 0.06 deviations wide on average and of 5
to 9 records, without a partition: passes, gap and CPU time of a covariance and a correlation. The last two write what
they measured to benchmarks/results.
"""

import argparse
import itertools
import time
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from benchmarks.boxes import adult, cut, mixture
from benchmarks.recorded import printed, record
from surebox_core.statistics import Kind, Statistic, all_moments
from surebox_verify.estimates import affordable, range_steps, ranges
from surebox_verify.ranges.column import BoxColumn, box_column
from workers.algorithms.boxes.bounds import cells
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.sides import Boxes

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/ranges.py"
MANY = 10_000_000
#: Statistics of two columns, and regressions on one, two and three others.
PAIRS: dict[str, tuple[Kind, int]] = {"covariance": ("covariance", 2), "correlation": ("correlation", 2)}
REGRESSIONS: dict[str, tuple[Kind, int]] = {
    "one predictor": ("regression", 2),
    "two": ("regression", 3),
    "three": ("regression", 4),
}

Measurements: TypeAlias = list[tuple[float | None, float]]


def boxes_of(x: np.ndarray, k: int) -> Boxes:
    parts, _, _ = cut(x, k, "fast")
    return cells(x, parts, (None,) * x.shape[1], new_keys(x.shape[1], np.random.default_rng(1)))


def measured(boxes: Boxes, columns: list[BoxColumn], kind: Kind, size: int = 2) -> Measurements:
    """Gap and CPU seconds of the ranges of every `size` columns (regression: the widest gap of its numbers)."""
    statistics = [Statistic(kind, of, 1.0) for of in itertools.combinations(range(len(columns)), size)]
    measurements: Measurements = []
    for statistic in statistics:
        start = time.process_time()
        parts = ranges(statistic, columns, affordable(statistic, statistics, len(boxes.counts)))
        spent = time.process_time() - start
        gaps = [part.gap for part in parts]
        measurements.append((None if None in gaps else max(g for g in gaps if g is not None), spent))
    return measurements


def described(measurements: Measurements) -> str:
    """Median and largest gap in percent, mean and longest CPU seconds; how many have no certain range."""
    gaps = [100.0 * gap for gap, _ in measurements if gap is not None]
    seconds = [spent for _, spent in measurements]
    lacking = len(measurements) - len(gaps)
    without = [f"{lacking} of {len(measurements)} without a certain range"] if lacking else []
    gap = [f"{np.median(gaps):.2f} % ({max(gaps):.2f})"] if gaps else []
    return "; ".join([*without, *gap, f"{np.mean(seconds):.2f} s ({max(seconds):.2f})"])


def of_table(name: str, x: np.ndarray, k: int) -> tuple[list[str], list[str]]:
    """Rows of both tables: pairs, and regressions."""
    boxes = boxes_of(x, k)
    columns = [box_column(boxes.lower[:, i], boxes.upper[:, i], boxes.counts.astype(float)) for i in range(x.shape[1])]
    rows = []
    for kinds, first in ((PAIRS, [name, str(k), f"{len(boxes.counts):,}"]), (REGRESSIONS, [name, str(k)])):
        for kind, size in kinds.values():
            measured(boxes, columns[:size], kind, size)
        rows.append(printed(*first, *(described(measured(boxes, columns, *each)) for each in kinds.values())))
    return rows[0], rows[1]


def inputs() -> Iterator[tuple[str, np.ndarray, int]]:
    for rows, k in ((10_000, 5), (100_000, 5), (1_000_000, 10)):
        yield f"gaussian mixture, {rows:,} x 5", mixture(rows), k
    people = adult()
    yield from ((f"Adult, {len(people):,} x 6", people, k) for k in (5, 10))


def table() -> None:
    rows = [of_table(*each) for each in inputs()]
    pairs, regressions = ([each[part] for each in rows] for part in (0, 1))
    figures = {
        "pairs": {"heads": ["data", "k", "boxes", *PAIRS], "rows": pairs},
        "regressions": {"heads": ["data", "k", *REGRESSIONS], "rows": regressions},
    }
    record("ranges", f"{COMMAND} --table", figures)


def many(count: int) -> None:
    rng = np.random.default_rng(0)
    x = mixture(count)[:, :2]
    width = 0.06 * x.std(axis=0) * rng.gamma(2.0, 0.5, x.shape)
    lower = x - width * rng.random(x.shape)
    counts = rng.integers(5, 10, count).astype(float)
    columns = [box_column(lower[:, i], lower[:, i] + width[:, i], counts) for i in (0, 1)]
    rows = []
    for kind, _ in PAIRS.values():
        statistic = Statistic(kind, (0, 1), 1.0)
        steps = range_steps(statistic, columns, affordable(statistic, all_moments(5), count))
        start = time.process_time()
        (certified,) = steps.finish()
        spent = time.process_time() - start
        gap = "none" if certified.gap is None else f"{100 * certified.gap:.2f} %"
        rows.append(printed(kind, str(steps.passes), gap, f"{spent:.1f}"))
    if count == MANY:
        heads = ["statistic", "passes", "gap", "CPU s"]
        record("ranges_many", f"{COMMAND} --boxes {MANY}", {"table": {"heads": heads, "rows": rows}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="?")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--boxes", type=int)
    args = parser.parse_args()
    if args.table:
        table()
    elif args.boxes:
        many(args.boxes)
    else:
        x = np.load(args.records)[: args.rows].astype(np.float64) if args.records else mixture(args.rows)
        of_table(f"{len(x):,} x {x.shape[1]}", x, args.k)


if __name__ == "__main__":
    main()
