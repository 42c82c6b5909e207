"""Gaps and CPU seconds of the guaranteed ranges.

    python benchmarks/ranges.py [records.npy] [--rows 100000] [--k 5]

Without a file: a correlated gaussian mixture of 5 columns. For every pair of columns, over the cells of the partition
`fast`: width of the certain range, its gap to what is reached, and CPU time. Kernels are compiled on the first run and
cached; quote the second.
"""

import argparse
import itertools
import time
from typing import TypeAlias

import numpy as np

from benchmarks.boxes import cut, mixture
from workers.algorithms.boxes.bounds import Boxes, cells
from workers.algorithms.boxes.certificate import affordable, ranges
from workers.algorithms.boxes.ranges.column import BoxColumn, box_column
from workers.algorithms.core.statistics import Kind, Statistic

Found: TypeAlias = list[tuple[float, float | None, float]]


def boxes_of(x: np.ndarray, k: int) -> Boxes:
    found, _, _ = cut(x, k, "fast")
    return cells(x, found, (None,) * x.shape[1], np.random.default_rng())


def measured(boxes: Boxes, columns: list[BoxColumn], kind: Kind) -> Found:
    """Width, gap and CPU seconds of every pair's range (regression: the slope's)."""
    asked = [Statistic(kind, pair, 1.0) for pair in itertools.combinations(range(len(columns)), 2)]
    effort = affordable(asked, len(boxes.counts))
    found: Found = []
    for statistic in asked:
        start = time.process_time()
        last = ranges(statistic, columns, effort)[-1]
        spent = time.process_time() - start
        found.append((last.outer.width if last.outer else np.inf, last.gap, spent))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="?")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=5)
    asked = parser.parse_args()
    x = np.load(asked.records)[: asked.rows].astype(np.float64) if asked.records else mixture(asked.rows)
    boxes = boxes_of(x, asked.k)
    start = time.process_time()
    columns = [box_column(boxes.lower[:, i], boxes.upper[:, i], boxes.counts.astype(float)) for i in range(x.shape[1])]
    print(f"{len(x)} x {x.shape[1]}, k = {asked.k}: {len(boxes.counts)} boxes")
    print(f"columns, means and variances: {time.process_time() - start:.2f} CPU s")
    kinds: tuple[Kind, ...] = ("covariance", "correlation", "regression")
    for kind in kinds:
        measured(boxes, columns[:2], kind)
        found = measured(boxes, columns, kind)
        gaps = [gap for _, gap, _ in found if gap is not None]
        seconds = [spent for _, _, spent in found]
        print(
            f"{kind:11} {len(found)} pairs: gap median {np.median(gaps):.4f}, largest {max(gaps):.4f};"
            f" CPU s {sum(seconds):.2f}, longest {max(seconds):.2f}"
        )


if __name__ == "__main__":
    main()
