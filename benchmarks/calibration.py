"""Calibration of densities: CPU time beside the plain sum over all pairs, and what each scheme's scales cost.

    python benchmarks/calibration.py speed [--largest 1000000] [--threads 2]
    python benchmarks/calibration.py schemes [--model gaussian] [--k 10]

`speed`: the gaussian mixture of ../shared/bench (or one of our own, where there is none), d = 5, k = 10, scales per
record and common; the plain sum (numpy, 60 halvings of the scale) is run at sizes up to 4,000. `schemes`: mean scale of
every scheme over the mean of scales per record, for suppressed shares and cell sizes, on Adult's six numeric columns,
the mixture and 20 clusters in the unit cube (AG section III). Kernels are compiled before the clock starts.
"""

import argparse
import gzip
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from benchmarks.boxes import mixture
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest

SHARED = Path(__file__).resolve().parents[1] / "../shared"
SIZES = (2_000, 4_000, 10_000, 32_000, 100_000, 1_000_000)
NAIVE = 4_000


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


def timed(x: np.ndarray, request: CalibrationRequest) -> tuple[Calibrated, float]:
    start = time.process_time()
    calibrated = calibrate(x, request)
    return calibrated, time.process_time() - start


def speed(largest: int, threads: int) -> None:
    small = gaussians(600)
    for scales in ("per_record", "common", "levels"):
        calibrate(small, CalibrationRequest(k=10, scales=scales))  # type: ignore[arg-type]
    print("| N | plain sum, CPU s | per record, CPU s | common, CPU s | levels, CPU s | certified error | RSS, MB |")
    print("|---|---|---|---|---|---|---|")
    spent: list[tuple[int, float]] = []
    for rows in SIZES:
        if rows > largest:
            break
        x = gaussians(rows)
        plain = 0.0
        if rows <= NAIVE:
            start = time.process_time()
            naive(x, 10.0)
            plain = time.process_time() - start
        calibrated, own = timed(x, CalibrationRequest(k=10, scales="per_record", threads=threads))
        _, common = timed(x, CalibrationRequest(k=10, threads=threads))
        _, levels = timed(x, CalibrationRequest(k=10, scales="levels", suppress_share=0.0, threads=threads))
        spent.append((rows, own))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        cells = [f"{rows:,}", f"{plain:.1f}" if plain else "", f"{own:.2f}", f"{common:.2f}", f"{levels:.2f}"]
        print(f"| {' | '.join(cells)} | {calibrated.certified_error:.4f} | {memory} |", flush=True)
    (n, a), (m, b) = spent[-2:]
    print(f"\nGrowth from {n:,} to {m:,}: N^{np.log(b / a) / np.log(m / n):.2f}")


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
        yield f"shared, {scaling}", CalibrationRequest(k=k, model=model, scales="shared", scaling=scaling)  # type: ignore[arg-type]


def mean_scale(calibrated: Calibrated) -> float:
    """Geometric mean over the axes, mean over records: comparable between shapes."""
    scale = calibrated.scale if calibrated.axes is not None else calibrated.scale / calibrated.unit
    return float(np.exp(np.log(np.maximum(scale, 1e-300)).mean(axis=1)).mean())


def schemes(model: str, k: float) -> None:
    tables = {"Adult6": adult(), "gm100k": gaussians(100_000), "G20.D10K": clusters()}
    given = {name: x for name, x in tables.items() if x is not None}
    base = {
        name: mean_scale(calibrate(x, CalibrationRequest(k=k, model=model, scales="per_record")))
        for name, x in given.items()
    }
    print(f"| {model}, k = {k:g} | {' | '.join(given)} |\n|---|{'---|' * len(given)}")
    print(f"| per record: mean scale, in sd | {' | '.join(f'{base[name]:.4f}' for name in given)} |")
    for label, request in requests(k, model):
        cells = []
        for name, x in given.items():
            calibrated, seconds = timed(x, request)
            cells.append(f"{mean_scale(calibrated) / base[name]:.2f} ({len(calibrated.rows):,} kept, {seconds:.1f} s)")
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "schemes"])
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--model", default="gaussian", choices=["gaussian", "uniform"])
    parser.add_argument("--k", type=float, default=10.0)
    args = parser.parse_args()
    if args.what == "speed":
        speed(args.largest, args.threads)
    else:
        schemes(args.model, args.k)


if __name__ == "__main__":
    main()
