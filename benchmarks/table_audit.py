"""The audit of tables, compared with pyCANON where that is installed; prints a Markdown table.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/table_audit.py [--rows 1000000]

k, l, t and uniques of a million records of six quasi-identifiers and a sensitive column; minimal sample uniques of
100,000 records of 12 columns, up to three columns together. CPU seconds of one process, kernels compiled before.
With pyCANON (`pip install pycanon`) its measures of a small table without missing values are compared with these: all
agree but recursive diversity, for which it sorts counts the wrong way round.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.recorded import record
from workers.algorithms.tables.classes import classes, histogram
from workers.algorithms.tables.closeness import Closeness, closeness
from workers.algorithms.tables.matching import histograms
from workers.algorithms.tables.uniques import minimal_uniques

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/table_audit.py"
ROWS = 1_000_000
DISTINCT = (74, 16, 7, 5, 41, 99)


def census(rows: int, distinct: tuple[int, ...] = DISTINCT) -> tuple[np.ndarray, np.ndarray]:
    """Codes as Adult has them, skewed; and a sensitive column of 15 values."""
    rng = np.random.default_rng(7)
    codes = [np.minimum((m * rng.random(rows) ** 2).astype(np.int32), m - 1) for m in distinct]
    return np.array(codes, dtype=np.int32), (15 * rng.random(rows) ** 1.5).astype(np.int64)


def report(codes: np.ndarray, sensitive: np.ndarray) -> tuple[np.ndarray, np.ndarray, Closeness]:
    """What demands of k, l, t and uniques need."""
    groups = classes(codes)
    shares = np.bincount(sensitive) / len(sensitive)
    return *histogram(groups.size), closeness([histograms(groups, sensitive)], shares, len(groups.size))


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def line(what: str, rows: int, columns: int, taken: float) -> None:
    print(f"| {what} | {rows:,} | {columns} | {taken:.2f} |")


def measures(sensitive: np.ndarray, sizes: np.ndarray, here: Closeness) -> dict[str, float]:
    """Our measures by pyCANON's names; a blank after a name marks the one of a column of numbers."""
    least_share = float(np.bincount(sensitive).min()) / len(sensitive)
    return {
        "k_anonymity": sizes[0],
        "alpha_k_anonymity": here.top.max(),
        "l_diversity": here.distinct.min(),
        "entropy_l_diversity": math.floor(math.exp(here.entropy.min()) + 1e-9),
        "basic_beta_likeness": here.beta.max(),
        "enhanced_beta_likeness": min(here.beta.max(), -math.log(least_share)),
        "delta_disclosure": here.delta.max(),
        "t_closeness": here.equal.max(),
        "t_closeness ": here.ordered.max(),
    }


def against_pycanon(rows: int) -> None:
    """Its time, and whether its measures equal ours."""
    try:
        import pandas as pd
        from pycanon import anonymity
    except ImportError:
        print("\npyCANON is not installed: not compared")
        return
    codes, sensitive = census(rows, (3, 3, 2))
    frame = pd.DataFrame({f"q{j}": column for j, column in enumerate(codes)} | {"number": sensitive})
    frame["text"] = [f"v{one:02d}" for one in sensitive]
    qi, (sizes, _, here) = [f"q{j}" for j in range(3)], report(codes, sensitive)
    ours, whole = measures(sensitive, sizes, here), 0.0
    for name, value in ours.items():
        of = ["number"] if name.endswith(" ") else ["text"]
        arguments: tuple[Any, ...] = (frame, qi) if name == "k_anonymity" else (frame, qi, of)
        begun = time.process_time()
        theirs = getattr(anonymity, name.strip())(*arguments)
        whole += time.process_time() - begun
        theirs = theirs[0] if isinstance(theirs, tuple) else theirs
        print(f"{name}: {theirs:.9g} there, {value:.9g} here")
        assert math.isclose(theirs, value, rel_tol=1e-9), name
    same = seconds(lambda: report(codes, sensitive))
    line("all of these by pyCANON", rows, 3, whole)
    line("the same here", rows, 3, same)
    record("table_audit_pycanon", COMMAND, {"records": rows, "measures": len(ours), "theirs": whole, "here": same})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    small = census(200)
    report(*small)
    list(minimal_uniques(small[0], depth=3))
    print("| what | records | columns | CPU s |\n|---|---|---|---|")
    codes, sensitive = census(rows)
    demands = min(seconds(lambda: report(codes, sensitive)) for _ in range(3))
    line("k, l, t, uniques", rows, 6, demands)
    many, _ = census(rows // 10, DISTINCT * 2)
    uniques = seconds(lambda: list(minimal_uniques(many, depth=3)))
    line("minimal sample uniques", len(many[0]), 12, uniques)
    if rows == ROWS:
        record("table_audit", COMMAND, {"measures": demands, "minimal_uniques": uniques})
    against_pycanon(2_000)


if __name__ == "__main__":
    main()
