"""CPU seconds and mean normalised widths of the box partitions.

    python benchmarks/boxes.py [records.npy] [--k 10] [--rows 1000000]
    python benchmarks/boxes.py --table
    python benchmarks/boxes.py --demands

Without a file: a correlated gaussian mixture of 5 columns. Widths are those of tight boxes, asking the means weighted
by 1 / range: (1/(N d)) sum_p sum_i width_i / range_i. `--table` measures the data sets of ../shared that the figures to
reach are quoted on: Adult's six numeric columns, prefixes of the gaussian mixture there, and one correlation.
`--demands` measures what l-diversity and counted kept columns cost. Each prints a table, and writes it to
benchmarks/results where no option restricts it.
"""

import argparse
import gzip
import runpy
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recorded import printed, record
from surebox_core.statistics import Statistic, all_moments
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.bounds import cells, tight
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.arrays import Effort
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.state import BoxesRequest

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/boxes.py"
ROWS, K = 1_000_000, 10
METHODS: tuple[partition.Method, ...] = ("optimal", "fast", "mondrian")
SHARED = Path(__file__).parents[1] / ".." / "shared"
ADULT = (0, 2, 4, 10, 11, 12)  # age, fnlwgt, education-num, capital-gain, capital-loss, hours-per-week


def mixture(rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 8, rows)
    centres, factors = rng.normal(0, 4, (8, 5)), rng.normal(size=(8, 5, 5)) / 2
    return centres[label] + np.einsum("pij,pj->pi", factors[label], rng.normal(size=(rows, 5)))


def cut(
    x: np.ndarray,
    k: int,
    method: partition.Method,
    demands: BoxConstraints | None = None,
    effort: Effort | None = None,
    cell: np.ndarray | None = None,
) -> tuple[partition.Partition, float, float]:
    start, longest = time.process_time(), 0.0
    ones = np.ones(x.shape[1])
    state = partition.init(x, k=k, worth=ones, method=method, demands=demands, effort=effort, cell=cell)
    while not partition.done(state):
        before = time.process_time()
        state = partition.step(state)
        longest = max(longest, time.process_time() - before)
    return partition.result(state), time.process_time() - start, longest


def adult() -> np.ndarray:
    text = gzip.decompress((SHARED / "data" / "adult" / "adult.data.gz").read_bytes()).decode()
    return np.array([[float(line.split(", ")[i]) for i in ADULT] for line in text.splitlines() if line.strip()])


def width(x: np.ndarray, parts: partition.Partition) -> float:
    boxes = tight(x, parts)
    return float(((boxes.upper - boxes.lower) / np.ptp(x, axis=0) * boxes.counts[:, None]).sum() / x.size)


def cell_width(x: np.ndarray, parts: partition.Partition) -> float:
    """As `width`, of cells; none has a declared domain."""
    boxes = cells(x, parts, (None,) * x.shape[1], new_keys(x.shape[1], np.random.default_rng(1)))
    return float((boxes.counts @ ((boxes.upper - boxes.lower) / np.ptp(x, axis=0))).sum() / x.size)


def one_correlation(x: np.ndarray, method: partition.Method) -> float:
    request = BoxesRequest(5, (Statistic("correlation", (0, 1)),), partition=method, bounds="tight")
    state, rng = anonymization.init(x, request), np.random.default_rng()
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state).privacy_uncertainty


def table() -> None:
    mixed = runpy.run_path(str(SHARED / "bench" / "gaussian_mixture.py"))["records"]()
    people = adult()
    cases = [("Adult6", people, k) for k in (5, 10, 50)]
    cases += [("gm10k", mixed[:10_000], 5), ("gm100k", mixed[:100_000], 5), ("gm1m", mixed, 10)]
    for method in METHODS:
        cut(people[:1000], 5, method)
    longest, rows = 0.0, []
    for name, x, k in cases:
        cells = []
        for method in METHODS:
            parts, seconds, step = cut(x, k, method)
            longest = max(longest, step)
            cells.append(f"{width(x, parts):.4f} ({seconds:.2f})")
        rows.append(printed(f"{name}, {k}", *cells))
    three = np.ascontiguousarray(mixed[:100_000, :3])
    theirs = one_correlation(three, "mondrian")
    correlation = {method: one_correlation(three, method) / theirs for method in METHODS[:2]}
    print(f"longest step {longest:.2f} CPU s; one correlation, relative to mondrian: {correlation}")
    figures = {"table": {"heads": ["data, k", *METHODS], "rows": rows}, "longest": longest, "correlation": correlation}
    record("boxes_table", f"{COMMAND} --table", figures)


def demanding(x: np.ndarray, k: int) -> dict[str, Any]:
    rng, n = np.random.default_rng(2), len(x)
    cases = {
        "nothing": BoxConstraints(),
        "3 of 8 equally frequent values": BoxConstraints(3, codes=rng.integers(0, 8, (n, 1)).astype(np.int32)),
        "3 values of a normal column, 0.5 deviations apart": BoxConstraints(
            3, values=rng.normal(size=(n, 1)), apart=np.array([0.5])
        ),
        "k of each of three classes that it contains": BoxConstraints(kept=rng.integers(0, 3, n).astype(np.int32)),
    }
    longest, rows = 0.0, []
    for name, demands in cases.items():
        few = BoxConstraints() if demands.none else BoxConstraints(1, codes=np.zeros((1000, 1), dtype=np.int32))
        cells = []
        for method in METHODS[1:]:
            cut(x[:1000], k, method, few)
            parts, seconds, step = cut(x, k, method, demands)
            longest = max(longest, step)
            cells.append(f"{len(parts.counts):,} ({seconds:.2f})")
        rows.append(printed(name, *cells))
    return {"table": {"heads": ["demanded", *METHODS[1:]], "rows": rows}, "longest": longest}


def whole_seconds(x: np.ndarray, k: int) -> float:
    start, rng = time.process_time(), np.random.default_rng()
    state = anonymization.init(x, BoxesRequest(k, all_moments(x.shape[1]), partition="fast"))
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return time.process_time() - start


def whole(x: np.ndarray, k: int) -> dict[str, Any]:
    """Each method's boxes, and CPU seconds of the whole method with `fast` and all moments."""
    for method in METHODS:
        cut(x[:1000], k, method)
    rows = []
    for method in METHODS:
        parts, seconds, longest = cut(x, k, method)
        cells = f"{len(parts.counts):,}", f"{width(x, parts):.4f}", f"{seconds:.2f}", f"{longest:.2f}"
        rows.append(printed(method, *cells))
    seconds = [whole_seconds(records, k) for records in (x[:1000], x)][-1]
    print(f"whole method with fast, all moments: {seconds:.2f} CPU s")
    return {"table": {"heads": ["partition", "boxes", "width", "CPU s", "longest step"], "rows": rows}, "all": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="?")
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--demands", action="store_true")
    args = parser.parse_args()
    if args.table:
        table()
        return
    x = np.load(args.records)[: args.rows].astype(np.float64) if args.records else mixture(args.rows)
    figures = demanding(x, args.k) if args.demands else whole(x, args.k)
    if args.records is None and (args.k, args.rows) == (K, ROWS):
        name, command = ("boxes_demands", f"{COMMAND} --demands") if args.demands else ("boxes_million", COMMAND)
        record(name, command, figures)


if __name__ == "__main__":
    main()
