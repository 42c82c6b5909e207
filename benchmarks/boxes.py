"""CPU seconds and mean normalised widths of the box partitions.

    python benchmarks/boxes.py [records.npy] [--k 10] [--rows 1000000]

Without a file: a correlated gaussian mixture of 5 columns. Widths are those of tight boxes, asking the means weighted
by 1 / range: (1/(N d)) sum_p sum_i width_i / range_i.
"""

import argparse
import time

import numpy as np

from workers.algorithms.boxes import anonymization, partition
from workers.algorithms.boxes.bounds import tight
from workers.algorithms.boxes.state import Request
from workers.algorithms.core.statistics import all_moments


def mixture(rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 8, rows)
    centres, factors = rng.normal(0, 4, (8, 5)), rng.normal(size=(8, 5, 5)) / 2
    return centres[label] + np.einsum("pij,pj->pi", factors[label], rng.normal(size=(rows, 5)))


def cut(x: np.ndarray, k: int, method: partition.Method) -> tuple[partition.Partition, float, float]:
    start, longest = time.process_time(), 0.0
    state = partition.init(x, k=k, worth=np.ones(x.shape[1]), method=method)
    while not partition.done(state):
        before = time.process_time()
        state = partition.step(state)
        longest = max(longest, time.process_time() - before)
    return partition.result(state), time.process_time() - start, longest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="?")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    x = np.load(asked.records)[: asked.rows].astype(np.float64) if asked.records else mixture(asked.rows)
    cut(x[:1000], asked.k, "fast")
    print(f"{len(x)} x {x.shape[1]}, k = {asked.k}")
    for method in ("fast", "mondrian"):
        found, seconds, longest = cut(x, asked.k, method)
        boxes = tight(x, found)
        width = ((boxes.upper - boxes.lower) / np.ptp(x, axis=0) * boxes.counts[:, None]).sum() / x.size
        print(f"{method:9} {len(boxes.counts):7} boxes  {seconds:.2f} CPU s (longest {longest:.2f}), width {width:.4f}")
    start, rng = time.process_time(), np.random.default_rng()
    state = anonymization.init(x, Request(asked.k, all_moments(x.shape[1])))
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    print(f"whole method, all moments: {time.process_time() - start:.2f} CPU s")


if __name__ == "__main__":
    main()
