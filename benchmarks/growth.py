"""How CPU seconds and peak memory of the box partitions grow with records and columns, and the curve in the docs.

    python benchmarks/growth.py [--most 10000000] [--draw] [--out docs/pictures/boxes-growth.svg]

10,000 to 10,000,000 records of 5 columns (k = 10) and 2 to 50 columns of 100,000 records, the means asked. Each size is
measured in a process of its own, twice: the first run compiles or loads the kernels. Memory is the process's peak less
what it held before, in multiples of the data (Linux). Up to a million records are those of the gaussian mixture
in ../shared/bench where it is there, all others a mixture of our own. `--draw` draws the last recorded run again.
"""

import argparse
import itertools
import json
import math
import runpy
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks.recorded import record, recorded
from docs.plots import BLUE, FAINT, GREY, RED, picture
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.arrays import usual

ROOT = Path(__file__).parents[1]
COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/growth.py"
SHARED = ROOT / ".." / "shared" / "bench" / "gaussian_mixture.py"
ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
COLUMNS = (2, 5, 10, 20, 50)
METHODS: tuple[partition.Method, ...] = ("optimal", "fast")
WIDE = 100_000
K = 10
#: Up to so many records `optimal` carries more than one cut of a node to the end.
FEWER_FROM = max(rows for rows in ROWS if usual(rows, mixed=False).breadth > 1)
NOTE: dict[str, Any] = {"textcoords": "offset points", "color": GREY, "fontsize": 8}
_TELLING = 5_000_000  # numbers below which the program itself is larger


@dataclass(frozen=True)
class Point:
    """One measurement."""

    method: str
    rows: int
    columns: int
    seconds: float
    longest: float
    memory: float


def mixture(rows: int, columns: int) -> np.ndarray:
    """Eight correlated gaussian clusters, a hundred thousand records at a time."""
    rng = np.random.default_rng(1)
    centres, factors = rng.normal(0, 4, (8, columns)), rng.normal(size=(8, columns, columns)) / 2
    x = np.empty((rows, columns))
    for first in range(0, rows, 100_000):
        part = x[first : first + 100_000]
        label = rng.integers(0, 8, len(part))
        z = rng.normal(size=part.shape)
        for cluster in range(8):
            part[label == cluster] = centres[cluster] + z[label == cluster] @ factors[cluster].T
    return x


def records(rows: int, columns: int) -> np.ndarray:
    if columns == 5 and rows <= 1_000_000 and SHARED.exists():
        return np.ascontiguousarray(runpy.run_path(str(SHARED))["records"](rows))
    return mixture(rows, columns)


def peak() -> int:
    """Peak resident bytes; of this program alone, where getrusage goes on from that of whoever started it."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def measure(x: np.ndarray, method: partition.Method) -> tuple[float, float]:
    """CPU seconds of a whole partition, and of its longest step."""
    begun, longest = time.process_time(), 0.0
    state = partition.init(x, k=K, worth=np.ones(x.shape[1]), method=method)
    while not partition.done(state):
        before = time.process_time()
        state = partition.step(state)
        longest = max(longest, time.process_time() - before)
    partition.result(state)
    return time.process_time() - begun, longest


def child(path: str, method: partition.Method) -> None:
    """What a process of its own prints; the file is the data."""
    rng = np.random.default_rng(0)
    size = np.load(path, mmap_mode="r").shape
    measure(rng.normal(size=(5000, size[1])), method)
    before = peak()
    x = np.load(path)
    seconds, longest = measure(x, method)
    print(json.dumps([seconds, longest, (peak() - before) / x.nbytes]))


def points(sizes: list[tuple[int, int]], folder: Path) -> list[Point]:
    measurements = []
    for rows, columns in sizes:
        path = folder / "growth.npy"
        np.save(path, records(rows, columns))
        for method in METHODS:
            command = [sys.executable, __file__, "--child", str(path), method]
            answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
            measurements.append(Point(method, rows, columns, *json.loads(answer)))
            print(shown(measurements[-1]), flush=True)
        path.unlink()
    return measurements


def shown(one: Point) -> str:
    held = f"  peak {one.memory:.1f} x the data" if one.rows * one.columns >= _TELLING else ""
    size = f"{one.rows:>10,} x {one.columns:<2}  {one.method:8}"
    return f"{size} {one.seconds:7.2f} CPU s (longest step {one.longest:.2f}){held}"


def exponents(measurements: list[Point], by: str) -> list[tuple[int, float]]:
    """Slope of log seconds on log size from each size to the next: one fit over changes of regime would hide them."""
    pairs = itertools.pairwise(measurements)
    return [
        (getattr(b, by), math.log(b.seconds / a.seconds) / math.log(getattr(b, by) / getattr(a, by))) for a, b in pairs
    ]


def figures(measurements: list[Point]) -> dict[str, dict[str, Any]]:
    """Measurements by method and size, as documents quote them."""
    return {f"{one.method}_{one.rows}x{one.columns}": asdict(one) for one in measurements}


def measured_last() -> list[Point]:
    """The measurements of the last recorded run."""
    return [Point(**each) for each in recorded("growth", ".points").values()]


def panel(axes: Axes, measurements: list[Point], by: str, words: str) -> None:
    """One log-log curve per method."""
    for method, colour, dash, mark in (("optimal", BLUE, "-", "o"), ("fast", RED, "--", "s")):
        own = [one for one in measurements if one.method == method]
        sizes, seconds = [getattr(one, by) for one in own], [one.seconds for one in own]
        axes.loglog(sizes, seconds, color=colour, linestyle=dash, marker=mark, markersize=4)
        at = (sizes[-1], seconds[-1])
        axes.annotate(method, at, xytext=(-4, 6), textcoords="offset points", ha="right", color=colour)
    sizes = sorted({getattr(one, by) for one in measurements})
    axes.set_xticks(sizes, [str(size) if by == "columns" else thousands(size) for size in sizes])
    axes.minorticks_off()
    axes.set(xlabel=words, ylabel="CPU seconds")
    axes.grid(visible=True)


def thousands(value: int) -> str:
    return f"{value // 1_000_000}M" if value >= 1_000_000 else f"{value // 1000}k"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=ROWS[-1])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures" / "boxes-growth.svg")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args: Any = parser.parse_args()
    if args.child:
        child(*args.child)
        return
    if not SHARED.exists():
        print("../shared/bench/gaussian_mixture.py is not there: a mixture of our own instead")
    if args.draw:
        measured = measured_last()
    else:
        sizes = [(rows, 5) for rows in ROWS if rows <= args.most] + [(WIDE, each) for each in COLUMNS if each != 5]
        with tempfile.TemporaryDirectory() as folder:
            measured = points(sizes, Path(folder))
        if args.most == ROWS[-1]:
            record("growth", COMMAND, {"points": figures(measured)})
    longer = sorted((one for one in measured if one.columns == 5), key=lambda one: one.rows)
    wider = sorted((one for one in measured if one.rows == WIDE), key=lambda one: one.columns)
    for measurements, by in ((longer, "rows"), (wider, "columns")):
        for method in METHODS:
            slopes = exponents([one for one in measurements if one.method == method], by)
            print(f"{method}, exponent of {by} up to: " + ", ".join(f"{size:,} {slope:.2f}" for size, slope in slopes))
    title = "CPU seconds of the box partitions by records and by columns"
    about = "Log-log curves of optimal and fast: seconds grow about in proportion to records and to columns."
    with picture(args.out, title, size=(8.2, 3.6), description=about, grid=(1, 2)) as both:
        panel(both[0], longer, "rows", "records of 5 columns (k = 10)")
        both[0].axvline(FEWER_FROM, color=FAINT, linewidth=1.2)
        both[0].annotate("optimal tries fewer cuts\nper record from here", (FEWER_FROM, 0.01), xytext=(6, -6), **NOTE)
        panel(both[1], wider, "columns", "columns of 100,000 records (k = 10)")
    print(f"wrote {args.out.relative_to(ROOT) if args.out.is_relative_to(ROOT) else args.out}")


if __name__ == "__main__":
    main()
