"""Calibration of densities: CPU time next to the plain sum over all pairs, and what each scheme's scales cost.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/calibration.py speed [--largest 1000000] [--threads 2]
    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/calibration.py schemes [--model gaussian] [--k 10]

`speed`: the gaussian mixture of ../shared/bench (or one of our own, where there is none), d = 5, k = 10: scales per
record, common, and on levels without suppression; the plain sum (numpy, 60 halvings of the scale) is run at sizes up to
4,000. `schemes`: mean scale of every scheme over the mean of scales per record, for suppressed shares and cell sizes,
on Adult's six numeric columns, the mixture and 20 clusters in the unit cube (AG section III), with CPU seconds. Kernels
are compiled before the clock starts. A run of all sizes, or of all data, goes to benchmarks/results.
"""

import argparse
import gzip
import resource
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from benchmarks.boxes import mixture
from benchmarks.recorded import as_table, printed, record
from workers.algorithms.uncertain.calibration import calibration
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest

SHARED = Path(__file__).resolve().parents[1] / "../shared"
COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/calibration.py"
MODEL, K, THREADS = "gaussian", 10.0, 2
SIZES = (2_000, 4_000, 10_000, 32_000, 100_000, 1_000_000)
NAIVE = 4_000
SPEED = (
    *("records", "plain sum", "per record", "common", "levels", "certified error"),
    *("mean scale of levels", "longest step", "peak memory, MB"),
)


def gaussians(rows: int) -> np.ndarray:
    folder = SHARED / "bench"
    if not (folder / "gaussian_mixture.py").exists():
        return mixture(rows)
    sys.path.insert(0, str(folder))
    from gaussian_mixture import records  # type: ignore[import-not-found]

    return np.ascontiguousarray(records(rows))


def clusters(rows: int = 10_000) -> np.ndarray:
    """G20.D10K: 20 gaussian clusters in the unit cube, 1 % outliers (AG section III.A)."""
    rng = np.random.default_rng(20)
    centres, radii = rng.random((20, 5)), rng.uniform(0.0, 0.5, (20, 5))
    sizes = rng.uniform(0.5, 1.0, 20)
    label = rng.choice(20, rows, p=sizes / sizes.sum())
    x = centres[label] + rng.normal(size=(rows, 5)) * radii[label]
    outliers = rng.random(rows) < 0.01
    x[outliers] = rng.random((int(outliers.sum()), 5))
    return np.asarray(x)


def adult() -> np.ndarray | None:
    path = SHARED / "data/adult/adult.data.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt") as lines:
        rows = [line.split(", ") for line in lines if line.count(",") == 14]
    return np.array([[float(row[c]) for c in (0, 2, 4, 10, 11, 12)] for row in rows])


def naive(x: np.ndarray, k: float) -> np.ndarray:
    """Scales by the plain sum: all pairs, halving the logarithm of the scale."""
    y = x / x.std(axis=0)
    out = np.empty(len(y))
    for i, own in enumerate(y):
        half = 0.5 * np.sqrt(((y - own) ** 2).sum(axis=1))
        low, high = 1e-6, 1e3
        for _ in range(60):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if ndtr(-half / middle).sum() + 0.5 >= k else (middle, high)
        out[i] = high
    return out


def timed(x: np.ndarray, request: CalibrationRequest) -> tuple[Calibrated, float, float]:
    """Scales, CPU seconds, and those of the longest step."""
    start, longest = time.process_time(), 0.0
    state = calibration.init(x, request)
    while not calibration.done(state):
        before = time.process_time()
        state = calibration.step(state)
        longest = max(longest, time.process_time() - before)
    return calibration.result(state), time.process_time() - start, longest


def speed_of(rows: int, threads: int) -> tuple[dict[str, float], list[str]]:
    """Figures of one size by name, and as the table shows them."""
    x, figures = gaussians(rows), {}
    if rows <= NAIVE:
        start = time.process_time()
        naive(x, 10.0)
        figures["plain"] = time.process_time() - start
    cells = [f"{rows:,}", f"{figures['plain']:.1f}" if figures else ""]
    for scales in ("per_record", "common", "levels"):
        request = CalibrationRequest(k=10, scales=scales, suppress_share=0.0, threads=threads)  # type: ignore[arg-type]
        calibrated, figures[scales], longest = timed(x, request)
        figures |= {f"{scales}_step": longest, f"{scales}_scale": float((calibrated.scale / calibrated.unit).mean())}
        figures[f"{scales}_error"] = calibrated.certified_error
        cells.append(f"{figures[scales]:.2f}")
    figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    steps = max(value for name, value in figures.items() if name.endswith("_step"))
    error, scale = f"{figures['per_record_error']:.4f}", f"{figures['levels_scale']:.4f}"
    return figures, [*cells, error, scale, f"{steps:.2f}", str(figures["memory"])]


def speed(largest: int, threads: int) -> None:
    small = gaussians(600)
    for scales in ("per_record", "common", "levels"):
        calibrate(small, CalibrationRequest(k=10, scales=scales))  # type: ignore[arg-type]
    figures, rows = {}, [printed(*SPEED)]
    for size in SIZES:
        if size <= largest:
            figures[size], cells = speed_of(size, threads)
            rows.append(printed(*cells))
    growth = {
        f"{scales}_{m}": float(np.log(b[scales] / a[scales]) / np.log(m / n))
        for (n, a), (m, b) in pairwise(figures.items())
        for scales in ("per_record", "common", "levels")
    }
    print({name: round(power, 2) for name, power in growth.items()})
    if tuple(figures) == SIZES and threads == THREADS:
        sizes = {f"n{size}": of_size for size, of_size in figures.items()}
        record("calibration_speed", f"{COMMAND} speed", sizes | {"growth": growth, "table": as_table(rows)})


def requests(k: float, model: str) -> Iterator[tuple[str, CalibrationRequest]]:
    for scales in ("common", "levels"):
        for share in (0.0, 0.01, 0.05, 0.1):
            yield (
                f"{scales}, {share:.0%} suppressed",
                CalibrationRequest(k=k, model=model, scales=scales, suppress_share=share),  # type: ignore[arg-type]
            )
    for size in (2, 4, 8, 16, 32):
        yield (
            f"shared, cells of {size} k",
            CalibrationRequest(k=k, model=model, scales="shared", cell_size=int(size * k)),
        )
    for scaling in ("local", "rotated"):
        yield f"shared, cells of 8 k, {scaling}", CalibrationRequest(k=k, model=model, scales="shared", scaling=scaling)  # type: ignore[arg-type]


def mean_scale(calibrated: Calibrated) -> float:
    """Geometric mean over the axes, mean over records: comparable between shapes."""
    scale = calibrated.scale if calibrated.axes is not None else calibrated.scale / calibrated.unit
    return float(np.exp(np.log(np.maximum(scale, 1e-300)).mean(axis=1)).mean())


def schemes(model: str, k: float) -> None:
    sources = {"Adult6": adult(), "gm100k": gaussians(100_000), "G20.D10K": clusters()}
    given = {name: x for name, x in sources.items() if x is not None}
    own = CalibrationRequest(k=k, model=model, scales="per_record")  # type: ignore[arg-type]
    base = {name: mean_scale(calibrate(x, own)) for name, x in given.items()}
    rows = [
        printed("scheme", *given),
        printed("per record, in standard deviations", *(f"{base[name]:.4f}" for name in given)),
    ]
    for label, request in requests(k, model):
        cells = []
        for name, x in given.items():
            calibrated, seconds, _ = timed(x, request)
            cells.append(f"{mean_scale(calibrated) / base[name]:.2f} ({seconds:.1f})")
        rows.append(printed(label, *cells))
    if len(given) == len(sources) and (model, k) == (MODEL, K):
        record("calibration_schemes", f"{COMMAND} schemes", {"table": as_table(rows)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "schemes"])
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--model", default=MODEL, choices=["gaussian", "uniform"])
    parser.add_argument("--k", type=float, default=K)
    args = parser.parse_args()
    if args.what == "speed":
        speed(args.largest, args.threads)
    else:
        schemes(args.model, args.k)


if __name__ == "__main__":
    main()
