"""What each way to share scales costs and what it saves.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_schemes.py --data ../shared

For Adult (six numeric columns), prefixes of one gaussian mixture (gm10k, gm100k) and 20 clusters with outliers
(G20.D10K): mean scale over the columns' standard deviations, error of range queries with 101 to 200 true records,
accuracy of classification (10 best fits, a quarter of the records held back), and the linkage attack by an adversary
who knows the whole original: share of rank 1 and mean rank by fit alone, and after they have compared scales too.

The attack is computed here by brute force over all records for a sample of rows. An adversary who knows the original
computes all scales again, so matching leaves them the records of equal scale. A run of all data goes to
benchmarks/results.
"""

import argparse
import gzip
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.recorded import record
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.drawing import draw
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.queries.classification import classify
from workers.algorithms.uncertain.queries.counting import count

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_schemes.py --data ../shared"
HEADS = [
    *("data", "scales", "mean scale", "query error", "accuracy"),
    *("rank 1, fit", "mean rank, fit", "rank 1, matched", "mean rank, matched", "CPU s"),
]
#: Figures of a scheme in the order of the table, and how it writes them.
FORMS = {
    "scale": ".3f",
    "error": ".3f",
    "accuracy": ".3f",
    "fit_one": ".1%",
    "fit": ".1f",
    "match_one": ".1%",
    "match": ".1f",
    "seconds": ".1f",
}
K, MODEL = 10.0, "gaussian"
Matrix = NDArray[np.float64]
_ROWS = 1_000  # rows that are attacked
_QUERIES = 100
_ADULT = (0, 2, 4, 10, 11, 12)


@dataclass(frozen=True)
class Data:
    """Records and a class for each, where there is one."""

    name: str
    x: Matrix
    labels: NDArray[np.int64] | None


@dataclass(frozen=True)
class Scheme:
    """One way to share scales."""

    name: str
    request: CalibrationRequest


def adult(folder: Path) -> Data:
    """Six numeric columns of Adult, income as the class."""
    text = gzip.decompress((folder / "data/adult/adult.data.gz").read_bytes()).decode().strip()
    cells = [line.split(", ") for line in text.splitlines() if line.strip()]
    x = np.array([[float(row[i]) for i in _ADULT] for row in cells])
    return Data("Adult", x, np.array([row[14] == ">50K" for row in cells], dtype=np.int64))


def mixture(folder: Path, n: int) -> Data:
    """A prefix of the gaussian mixture."""
    spec = spec_from_file_location("gaussian_mixture", folder / "bench/gaussian_mixture.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return Data(f"gm{n // 1000}k", np.ascontiguousarray(module.records(n)), None)


def clusters(n: int = 10_000, d: int = 5, groups: int = 20) -> Data:
    """G20.D10K of the paper: gaussian clusters in the unit cube, 1 % outliers, a class per cluster kept with 0.9."""
    rng = np.random.default_rng(20)
    centre, radius = rng.random((groups, d)), rng.uniform(0.0, 0.5, (groups, d))
    size = rng.uniform(0.5, 1.0, groups)
    of = rng.choice(groups, n, p=size / size.sum())
    x = centre[of] + radius[of] * rng.normal(size=(n, d))
    outlier = rng.random(n) < 0.01
    x[outlier] = rng.random((int(outlier.sum()), d))
    kept = rng.random(n) < 0.9
    group_class = rng.integers(0, 2, groups)
    labels = np.where(kept & ~outlier, group_class[of], rng.integers(0, 2, n))
    return Data("G20.D10K", x, labels)


def schemes(k: float, model: str) -> list[Scheme]:
    """The ways that are compared."""
    base = CalibrationRequest(k=k, model=model, scales="common", suppress_share=0.0)  # type: ignore[arg-type]
    cells = replace(base, scales="shared", suppress_share=0.01)
    return [
        Scheme("per_record", replace(base, scales="per_record")),
        Scheme("per_record, local", replace(base, scales="per_record", scaling="local")),
        *(
            Scheme(f"common, {100 * share:g} %", replace(base, suppress_share=share))
            for share in (0.0, 0.01, 0.05, 0.1)
        ),
        *(
            Scheme(f"levels, {100 * share:g} %", replace(base, scales="levels", suppress_share=share))
            for share in (0.0, 0.01, 0.05)
        ),
        *(
            Scheme(f"shared, {m} k, {scaling}, 1 %", replace(cells, scaling=scaling, cell_size=int(m * k)))  # type: ignore[arg-type]
            for m in (4, 8, 16, 32)
            for scaling in ("global", "local")
        ),
    ]


def queries(x: Matrix, rng: np.random.Generator) -> tuple[Matrix, Matrix, NDArray[np.float64]]:
    """Ranges about records with 101 to 200 of them inside, and how many are."""
    spread = x.std(axis=0)
    ranges: list[tuple[Matrix, Matrix, int]] = []
    while len(ranges) < _QUERIES:
        centre, shape = x[rng.integers(len(x))], spread * rng.uniform(0.3, 1.0, x.shape[1])
        distance = (np.abs(x - centre) / np.where(shape > 0, shape, 1.0)).max(axis=1)
        reach = np.partition(distance, 150)[150]
        inside = int((distance <= reach).sum())
        if 101 <= inside <= 200:
            ranges.append((centre - reach * shape, centre + reach * shape, inside))
    lower, upper, inside = zip(*ranges, strict=True)
    return np.array(lower), np.array(upper), np.array(inside, dtype=float)


def attack(x: Matrix, made: Calibrated, released: Densities, rng: np.random.Generator) -> tuple[float, ...]:
    """Share of rank 1 and mean rank, by fit among all records and among those of equal scale."""
    chosen = rng.choice(len(made.rows), min(_ROWS, len(made.rows)), replace=False)
    shape = made.scale if made.axes is None else np.hstack([made.scale, made.axes.reshape(len(made.scale), -1)])
    equal = np.unique(shape, axis=0, return_inverse=True)[1].ravel()
    ranks = np.empty((len(chosen), 2))
    for place, row in enumerate(chosen):
        offset = x - released.z[row]
        if released.axes is not None:
            offset = (offset / released.unit) @ released.axes[row].T
        with np.errstate(divide="ignore", invalid="ignore"):
            e = np.where(offset == 0.0, 0.0, offset / released.scale[row])
        misfit = (e * e).sum(axis=1) if released.model == "gaussian" else (np.abs(e) > 0.5).any(axis=1).astype(float)
        fits = misfit <= misfit[made.rows[row]] * (1 + 1e-12)
        ranks[place] = fits.sum(), fits[made.rows[equal == equal[row]]].sum()
    (fit, match), (fit_one, match_one) = ranks.mean(axis=0), (ranks == 1).mean(axis=0)
    return float(fit_one), float(fit), float(match_one), float(match)


def accuracy(x: Matrix, labels: NDArray[np.int64], request: CalibrationRequest, rng: np.random.Generator) -> float:
    """Of classification by a release of three quarters of the records, for the others."""
    order = rng.permutation(len(x))
    test, train = order[: min(len(order) // 4, 2_000)], order[len(order) // 4 :]
    known = np.ascontiguousarray(x[train])
    made = calibrate(known, request)
    released = densities(known, made, rng)
    answer = classify(released, labels[train][made.rows], np.ascontiguousarray(x[test]), neighbours=10)
    return float((answer.label == labels[test]).mean())


def densities(x: Matrix, made: Calibrated, rng: np.random.Generator) -> Densities:
    """What would be released."""
    return Densities(made.model, draw(x, made, rng), made.scale, made.axes, made.unit)


def measure(data: Data, scheme: Scheme, ranges: tuple[Matrix, Matrix, NDArray[np.float64]]) -> dict[str, float]:
    """What a scheme costs and saves, by name; no `accuracy` where there is no class."""
    rng = np.random.default_rng(1)
    begun = time.process_time()
    made = calibrate(data.x, scheme.request)
    seconds = time.process_time() - begun
    released = densities(data.x, made, rng)
    lower, upper, inside = ranges
    error = np.abs(count(released, lower, upper).estimate - inside) / inside
    relative = made.scale if made.axes is not None else made.scale / made.unit
    fit_one, fit, match_one, match = attack(data.x, made, released, rng)
    classes = {} if data.labels is None else {"accuracy": accuracy(data.x, data.labels, scheme.request, rng)}
    return classes | {
        "scale": float(relative.mean()),
        "error": float(error.mean()),
        "fit_one": fit_one,
        "fit": fit,
        "match_one": match_one,
        "match": match,
        "seconds": seconds,
    }


def row(data: Data, scheme: Scheme, measured: dict[str, float]) -> list[str]:
    """One line of the table."""
    cells = [format(measured[name], form) if name in measured else "" for name, form in FORMS.items()]
    return [data.name, scheme.name, *cells]


def key(name: str) -> str:
    """How documents that quote figures name data or a scheme."""
    return re.sub(r"\W+", "_", name).strip("_").lower()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--k", type=float, default=K)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    sources: dict[str, Callable[[], Data]] = {
        "Adult": lambda: adult(options.data),
        "gm10k": lambda: mixture(options.data, 10_000),
        "gm100k": lambda: mixture(options.data, 100_000),
        "G20.D10K": clusters,
    }
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    figures: dict[str, dict[str, dict[str, float]]] = {}
    rows = []
    for name, source in sources.items():
        if options.only in name:
            data = source()
            ranges = queries(data.x, np.random.default_rng(0))
            for scheme in schemes(options.k, options.model):
                try:
                    measured = measure(data, scheme, ranges)
                except ValueError as error:
                    print(f"| {data.name} | {scheme.name} | {error} |", flush=True)
                    continue
                figures.setdefault(key(name), {})[key(scheme.name)] = measured
                rows.append(row(data, scheme, measured))
                print(f"| {' | '.join(rows[-1])} |", flush=True)
    if len(figures) == len(sources) and (options.k, options.model) == (K, MODEL):
        record("uncertain_schemes", COMMAND, figures | {"table": {"heads": HEADS, "rows": rows}})


if __name__ == "__main__":
    main()
