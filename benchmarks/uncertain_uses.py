"""What it takes to use uncertain releases, to condense, and to attack: CPU seconds at 100,000 records of five columns.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_uses.py [--records 100000]

The gaussian mixture of calibration.py, divided by its standard deviations. Densities that are counted, classified by
and attacked are gaussian and all of one scale, in standard deviations. Condensation and the whole linkage job (an
adversary who knows all records, and one who knows 90 % of them) keep k = 10, of five columns and of ten. Everything
runs once before it is timed on a tenth of the records, so that kernels are compiled. One thread. A run of all records
goes to benchmarks/results.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from benchmarks.calibration import gaussians
from benchmarks.recorded import as_table, printed, record
from benchmarks.uncertain_paper import condensed
from tests.methods.in_process import Bench
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.density.estimates import estimates
from workers.algorithms.uncertain.linkage import attack
from workers.algorithms.uncertain.queries import classification, counting

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_uses.py"
RECORDS, QUERIES, ATTACKED, VOTES, K = 100_000, 10_000, 4_096, 10, 10
Answer = tuple[str, Callable[[], str]]


def table(records: int, columns: int = 5) -> np.ndarray:
    """The mixture; more columns are those of other records of it."""
    x = gaussians(records * columns // 5).reshape(columns // 5, records, 5)
    x = np.concatenate(list(x), axis=1)
    return np.ascontiguousarray(x / x.std(axis=0))


def noisy(x: np.ndarray, scale: float) -> Densities:
    z = x + scale * np.random.default_rng(1).normal(size=x.shape)
    return Densities("gaussian", z, np.full_like(x, scale), None, np.ones(x.shape[1]))


def ranges(x: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Ranges about records, each side within 0.3 and 1 times `reach` standard deviations."""
    rng = np.random.default_rng(2)
    centre, half = x[rng.integers(len(x), size=QUERIES)], reach * rng.uniform(0.3, 1.0, (QUERIES, x.shape[1]))
    return centre - half, centre + half


def counted(x: np.ndarray, scale: float, reach: float) -> Answer:
    ready, (lower, upper) = counting.index(noisy(x, scale)), ranges(x, reach)

    def work() -> str:
        return f"{np.median(counting.count_indexed(ready, lower, upper).estimate):,.0f} records in the median"

    return f"{QUERIES:,} range counts, scale {scale}", work


def one_count(x: np.ndarray) -> Answer:
    ready, (lower, upper) = counting.index(noisy(x, 0.1)), ranges(x, 0.6)
    return (
        "one range count of a release that is ready",
        lambda: f"{counting.count_indexed(ready, lower[:1], upper[:1]).estimate[0]:,.0f} records",
    )


def classified(x: np.ndarray) -> Answer:
    ready, labels = classification.index(noisy(x, 0.1)), (x[:, 0] > 0).astype(np.int64)

    def work() -> str:
        answer = classification.classify(ready, labels, x[:QUERIES], VOTES)
        return f"{(answer.label == labels[:QUERIES]).mean():.2f} right"

    return f"{min(QUERIES, len(x)):,} points classified, {VOTES} votes", work


def linked(x: np.ndarray) -> Answer:
    """By fit alone, some rows against all records."""
    held, rows = noisy(x, 0.12), np.arange(min(ATTACKED, len(x)))

    def work() -> str:
        state = attack.init(held, x, x, np.random.default_rng(0), rows=rows)
        while not attack.done(state):
            state = attack.step(state)
        return f"mean rank {attack.result(state).rank.mean():,.0f}"

    return f"linkage of {len(rows):,} rows, scale 0.12", work


def job(columns: int, records: int, folder: Path) -> Answer:
    bench = Bench(folder)
    frame = pl.DataFrame(table(records, columns), schema=[f"x{at}" for at in range(columns)])
    bench.dataset("people", frame)
    spec = {"method": "condensation", "dataset_id": "people", "quasi_identifiers": frame.columns, "k": K}
    bench.release("sets", spec)

    def work() -> str:
        return f"mean rank {bench.run({'method': 'linkage', 'release_id': 'sets'}).result['mean_rank']:,.0f}"

    return f"a whole job `linkage` of a condensation, k = {K}, {columns} columns", work


def measured(records: int, scratch: Path) -> list[tuple[str, float, str]]:
    """What was done, CPU seconds, and what came out."""
    x = table(records)
    held = noisy(x, 0.1)
    answers: list[Answer] = [
        counted(x, 0.1, 0.6),
        counted(x, 0.25, 1.2),
        one_count(x),
        classified(x),
        *((f"condensation, k = {k}", lambda k=k: f"{len(condensed(x, k).z):,} rows") for k in (K, 10 * K)),
        ("moments of the original with errors", lambda: f"{len(estimates(held).mean)} means"),
        linked(x),
    ]
    for columns in (5, 10):
        (folder := scratch / f"{columns}-{records}").mkdir()
        answers.append(job(columns, records, folder))
    rows = []
    for name, work in answers:
        start = time.process_time()
        outcome = work()
        rows.append((name, time.process_time() - start, outcome))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=RECORDS)
    records = parser.parse_args().records
    with TemporaryDirectory() as scratch:
        measured(records // 10, Path(scratch))
        done = measured(records, Path(scratch))
    rows = [printed("what", "CPU s", "outcome")]
    rows += [printed(name, f"{seconds:.2g}", outcome) for name, seconds, outcome in done]
    figures: dict[str, Any] = {"records": records, "seconds": [seconds for _, seconds, _ in done]}
    if records == RECORDS:
        record("uncertain_uses", COMMAND, figures | {"table": as_table(rows)})


if __name__ == "__main__":
    main()
