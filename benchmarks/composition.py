"""The audit `composition` of five box releases, in process: the files of the releases in, what they show together out.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/composition.py [--rows 1000000]

Other k, partitions, bounds and columns of one gaussian mixture of five columns. CPU seconds of the audit, its files
read, and of finding the box of every record; kernels are compiled before.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.recorded import record  # noqa: E402
from tests.methods.in_process import Bench  # noqa: E402
from workers.algorithms.tables import locating  # noqa: E402
from workers.frames import originals  # noqa: E402
from workers.methods.composition.runner import CompositionRunner  # noqa: E402

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/composition.py"
ROWS = 1_000_000
COLUMNS = [f"x{j}" for j in range(5)]


def mixture(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    of, centre = rng.integers(0, 20, rows), rng.normal(size=(20, 5)) * 3
    values = centre[of] + rng.normal(size=(rows, 5)) * rng.uniform(0.3, 1.2, (20, 5))[of]
    return pl.DataFrame(values, schema=COLUMNS)


def released(bench: Bench) -> list[str]:
    """Names of five releases."""
    means = [{"kind": "mean", "of": [name]} for name in COLUMNS]
    spreads = [{"kind": "variance", "of": [name]} for name in COLUMNS]
    base = {"method": "boxes", "dataset_id": "data", "quasi_identifiers": COLUMNS, "k": 5, "partition": "fast",
            "formats": ["parquet"], "statistics": means}  # fmt: skip
    others = [
        {}, {"k": 6}, {"k": 10, "partition": "optimal"}, {"quasi_identifiers": COLUMNS[:3], "statistics": means[:3]},
        {"k": 7, "bounds": "tight", "statistics": spreads},
    ]  # fmt: skip
    return [bench.release(f"r{place}", base | other, seed=place) for place, other in enumerate(others)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    CompositionRunner().warm()
    finding = 0.0

    def timed(*args: object) -> np.ndarray:
        nonlocal finding
        begun = time.process_time()
        located = locating.locate(*args)  # type: ignore[arg-type]
        finding += time.process_time() - begun
        return located

    originals.locate = timed
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.dataset("data", mixture(rows))
        names = released(bench)
        bench.run({"method": "composition", "release_ids": names[:1]})
        finding, begun = 0.0, time.process_time()
        made = bench.run({"method": "composition", "release_ids": names}).result
        whole = time.process_time() - begun
    if rows == ROWS:
        record("composition", COMMAND, {"seconds": whole, "finding": finding})
    left = f"{made['group_count']:,} groups, k {made['composed_k']:g}"
    print(f"{whole:.2f} CPU s, of which {finding:.2f} to find boxes; {left}")


if __name__ == "__main__":
    main()
