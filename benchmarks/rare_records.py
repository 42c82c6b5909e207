"""Which threshold keeps statistics narrow, on c or on the density; and what l-diversity costs: claims of XF measured.

OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/rare_records.py [--adult adult.data.gz]

Threshold (XF slide 10): boxes of k = 10 of Adult's age, years of education and hours; boxes are left out by the largest
c (as `rare_records: suppress` does) or by the smallest density, the same share of records each time; widths of certain
ranges over the kept records, in natural scales. Diversity (XF slides 11 and 12): the same boxes with l = 3 values of
age and hours, 5 years and 5 hours apart; and with cuts that predict half-widths by k alone. Both tables go to
benchmarks/results.
"""

import argparse
import gzip
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recorded import printed, record
from surebox_core.statistics import Statistic
from surebox_verify.estimates import ranges
from surebox_verify.ranges.column import box_column
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/rare_records.py"
COLUMNS = (0, 4, 12)  # age, years of education, hours
ROOT = Path(__file__).parent.parent
SHARES = (0.0, 0.01, 0.02, 0.05)
STATISTICS = {
    "mean(hours)": Statistic("mean", (2,)),
    "variance(hours)": Statistic("variance", (2,)),
    "covariance(age, hours)": Statistic("covariance", (0, 2)),
    "correlation(education, hours)": Statistic("correlation", (1, 2)),
}


def adult(path: Path) -> np.ndarray:
    with gzip.open(path, "rt") as file:
        rows = [line.split(", ") for line in file if line.count(",") == 14]
    return np.array([[float(row[i]) for i in COLUMNS] for row in rows])


def boxed(
    x: np.ndarray, statistics: tuple[Statistic, ...], demands: BoxConstraints, apart: tuple[float, ...] = ()
) -> BoxesOutcome:
    request = BoxesRequest(10, statistics, bounds="tight", demands=demands, separation=apart)
    state = anonymization.init(x, request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=np.random.default_rng(1))
    return anonymization.result(state)


def width(statistic: Statistic, lower: np.ndarray, upper: np.ndarray, counts: np.ndarray, scale: float) -> float:
    columns = [box_column(lower[:, i], upper[:, i], counts.astype(float)) for i in range(lower.shape[1])]
    (one,) = ranges(statistic, columns)
    return float("nan") if one.outer is None else one.outer.width / scale


def scale_of(statistic: Statistic, sigma: np.ndarray) -> float:
    if statistic.kind == "correlation":
        return 1.0
    i, j = statistic.of[0], statistic.of[-1]
    return float(sigma[i] if statistic.kind == "mean" else sigma[i] * sigma[j])


def influence(statistic: Statistic, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """a_i at the boxes' centres, (B, n), of the closed forms (XK slide 7)."""
    u, sigma, a = z - x.mean(axis=0), x.std(axis=0), np.zeros_like(z)
    i, j = statistic.of[0], statistic.of[-1]
    if statistic.kind == "mean":
        a[:, i] = 1.0
    elif statistic.kind == "variance":
        a[:, i] = 2.0 * np.abs(u[:, i])
    elif statistic.kind == "covariance":
        a[:, i], a[:, j] = np.abs(u[:, j]), np.abs(u[:, i])
    else:
        c = np.cov(x[:, [i, j]].T, bias=True)[0, 1]
        a[:, i] = np.abs(u[:, j] - c / sigma[i] ** 2 * u[:, i]) / (sigma[i] * sigma[j])
        a[:, j] = np.abs(u[:, i] - c / sigma[j] ** 2 * u[:, j]) / (sigma[i] * sigma[j])
    return a


def widths_kept(x: np.ndarray, statistic: Statistic) -> list[list[float]]:
    """Of each share left out: widths where boxes are left out by c, and by density."""
    scale = scale_of(statistic, x.std(axis=0))
    boxes = boxed(x, (statistic,), BoxConstraints()).boxes
    half = 0.5 * (boxes.upper - boxes.lower)
    used = sorted(set(statistic.of))
    cost = (influence(statistic, x, 0.5 * (boxes.lower + boxes.upper)) * half).sum(axis=1)
    sparse = np.prod(np.maximum(half[:, used], 1e-9), axis=1) / boxes.counts
    widths = []
    for share in SHARES:
        pair = []
        for order in (np.argsort(cost), np.argsort(sparse)):
            kept = order[np.cumsum(boxes.counts[order]) <= (1.0 - share) * len(x)]
            pair.append(width(statistic, boxes.lower[kept], boxes.upper[kept], boxes.counts[kept], scale))
        widths.append(pair)
    return widths


def thresholds(x: np.ndarray) -> dict[str, Any]:
    rows = []
    for name, statistic in STATISTICS.items():
        (every, _), *kept = widths_kept(x, statistic)
        rows.append(printed(name, f"{every:.4f}", *(f"{by_c:.4f}, {by_density:.4f}" for by_c, by_density in kept)))
    first, *others = (f"{100 * share:.0f} %" for share in SHARES[1:])
    return {"heads": ["statistic", "none suppressed", f"{first} by c, by density", *others], "rows": rows}


def diversity(x: np.ndarray) -> dict[str, Any]:
    sigma, statistics = x.std(axis=0), tuple(STATISTICS.values())
    values = BoxConstraints(3, values=np.ascontiguousarray(x[:, [0, 2]]), apart=np.array([5.0, 5.0]))
    # without `separation`, cuts predict as they do for k alone
    demanded = ((BoxConstraints(), ()), (values, (5.0, 0.0, 5.0)), (values, ()))
    made = [boxed(x, statistics, demands, apart) for demands, apart in demanded]
    rows = []
    for name, statistic in STATISTICS.items():
        scale = scale_of(statistic, sigma)
        of = [width(statistic, one.boxes.lower, one.boxes.upper, one.boxes.counts, scale) for one in made]
        rows.append(printed(name, *(f"{each:.3f}" for each in of)))
    rows += [
        printed(f"`uncertainty.{name}`", *(f"{getattr(one, f'{name}_uncertainty'):.3f}" for one in made))
        for name in ("privacy", "asymptotic")
    ]
    rows.append(printed("boxes", *(f"{len(one.boxes.counts):,}" for one in made)))
    return {"heads": ["", "k = 10", "and l = 3", "and l = 3, cuts that predict by k alone"], "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared/data/adult/adult.data.gz")
    x = adult(parser.parse_args().adult)
    record("rare_records", COMMAND, {"thresholds": thresholds(x), "diversity": diversity(x)})


if __name__ == "__main__":
    main()
