"""Gaps and CPU seconds of the guaranteed ranges.

    python benchmarks/ranges.py [records.npy] [--rows 100000] [--k 5]
    python benchmarks/ranges.py --boxes 10000000

Without a file: a correlated gaussian mixture of 5 columns. For every two columns, and regressions on two and three,
over the cells of the partition `fast`: gap between what is certain and what is reached, and CPU time. Kernels are
compiled on the first run and cached; quote the second. `--boxes` makes as many narrow boxes, 0.06 deviations wide on
average and of 5 to 9 records, without a partition: passes, gap and CPU time of a covariance and a correlation.
"""

import argparse
import itertools
import time
from typing import TypeAlias

import numpy as np

from benchmarks.boxes import cut, mixture
from surebox_core.statistics import Kind, Statistic, all_moments
from surebox_verify.estimates import affordable, range_steps, ranges
from surebox_verify.ranges.column import BoxColumn, box_column
from workers.algorithms.boxes.bounds import cells
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.sides import Boxes

Measurements: TypeAlias = list[tuple[float | None, float]]


def boxes_of(x: np.ndarray, k: int) -> Boxes:
    parts, _, _ = cut(x, k, "fast")
    return cells(x, parts, (None,) * x.shape[1], new_keys(x.shape[1], np.random.default_rng()))


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


def many(count: int) -> None:
    rng = np.random.default_rng(0)
    x = mixture(count)[:, :2]
    width = 0.06 * x.std(axis=0) * rng.gamma(2.0, 0.5, x.shape)
    lower = x - width * rng.random(x.shape)
    counts = rng.integers(5, 10, count).astype(float)
    columns = [box_column(lower[:, i], lower[:, i] + width[:, i], counts) for i in (0, 1)]
    kinds: tuple[Kind, ...] = ("covariance", "correlation")
    for kind in kinds:
        statistic = Statistic(kind, (0, 1), 1.0)
        steps = range_steps(statistic, columns, affordable(statistic, all_moments(5), count))
        start = time.process_time()
        (certified,) = steps.finish()
        spent = time.process_time() - start
        print(f"{kind:11} {count} boxes: {steps.passes} passes, gap {certified.gap:.5f}; CPU s {spent:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="?")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--boxes", type=int)
    args = parser.parse_args()
    if args.boxes:
        many(args.boxes)
        return
    x = np.load(args.records)[: args.rows].astype(np.float64) if args.records else mixture(args.rows)
    boxes = boxes_of(x, args.k)
    start = time.process_time()
    columns = [box_column(boxes.lower[:, i], boxes.upper[:, i], boxes.counts.astype(float)) for i in range(x.shape[1])]
    print(f"{len(x)} x {x.shape[1]}, k = {args.k}: {len(boxes.counts)} boxes")
    print(f"columns, means and variances: {time.process_time() - start:.2f} CPU s")
    kinds: tuple[tuple[Kind, int], ...] = (
        ("covariance", 2),
        ("correlation", 2),
        ("regression", 2),
        ("regression", 3),
        ("regression", 4),
    )
    for kind, size in kinds:
        measured(boxes, columns[:size], kind, size)
        measurements = measured(boxes, columns, kind, size)
        gaps = [gap for gap, _ in measurements if gap is not None] or [np.nan]
        seconds = [spent for _, spent in measurements]
        print(
            f"{kind:11} {len(measurements)} of {size} columns,"
            f" {sum(g is None for g, _ in measurements)} without certain range:"
            f" gap median {np.median(gaps):.4f}, largest {max(gaps):.4f};"
            f" CPU s {sum(seconds):.2f}, longest {max(seconds):.2f}"
        )


if __name__ == "__main__":
    main()
