"""CPU seconds, normalised widths and certain ranges of boxes over columns of all kinds.

    python benchmarks/mixed_boxes.py [adult] [bounds] [rows]

`adult`: 30,162 complete records (age, education, hours; sex, race, marital status, occupation, country), tight bounds:
NCP, boxes and CPU seconds of `optimal`, `fast` and `mondrian` (values by frequency), with hierarchies, and beside
anonypy where it is installed; ranges of 1,000 COUNT queries; mean hours by occupation. `bounds`: mean widths of Adult's
six numeric columns in deviations by kind of bounds. `rows`: 1,000,000 made-up records, five numeric and three nominal
columns.

NCP of a box: width over range, or values over the codebook's (0 for one value), its mean over columns and records.
"""

import gzip
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from surebox_verify.core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest
from workers.algorithms.boxes.sides import Boxes, Hierarchy, NominalColumn, NumericColumn

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"
NUMERIC, NOMINAL = (0, 4, 12), (9, 8, 5, 6, 13)
SIX = (0, 2, 4, 10, 11, 12)
TREES = {8: "race", 5: "marital-status", 6: "occupation", 13: "native-country"}


def lines() -> list[list[str]]:
    text = gzip.decompress((SHARED / "adult" / "adult.data.gz").read_bytes()).decode()
    return [line.split(", ") for line in text.splitlines() if line.strip()]


def adult(*, hierarchies: bool = False) -> tuple[np.ndarray, tuple[NominalColumn, ...]]:
    rows = [row for row in lines() if "?" not in row]
    x = np.array([[float(row[i]) for i in NUMERIC] for row in rows])
    columns = []
    for c in NOMINAL:
        values = sorted({row[c] for row in rows})
        place = {value: code for code, value in enumerate(values)}
        codes = np.array([place[row[c]] for row in rows], dtype=np.int32)
        columns.append(NominalColumn(codes, len(values), hierarchy(c, values) if hierarchies else None))
    return x, tuple(columns)


def hierarchy(column: int, values: list[str]) -> Hierarchy | None:
    """ARX's tree of a column: lines of leaf to root."""
    if column not in TREES:
        return None
    (path,) = (SHARED / "adult" / "arx").rglob(f"*hierarchy_{TREES[column]}.csv")
    paths = {line.split(";")[0]: line.split(";")[1:] for line in path.read_text().splitlines()}
    nodes = {("leaf", value): code for code, value in enumerate(values)}
    depth = max(map(len, paths.values()))
    for level in range(depth):
        for value in values:
            nodes.setdefault((str(level), paths[value][level]), len(nodes))
    parent = np.arange(len(nodes), dtype=np.int32)
    for value in values:
        above = [("leaf", value), *((str(level), paths[value][level]) for level in range(depth))]
        for child, up in pairwise(above):
            parent[nodes[child]] = nodes[up]
    return Hierarchy(parent)


def asked(x: np.ndarray, nominal: tuple[NominalColumn, ...]) -> tuple[Statistic, ...]:
    """Means by 1 / range and shares by 1 / codebook: the privacy uncertainty is half of the sum of NCP."""
    n, extent = x.shape[1], np.ptp(x, axis=0)
    means = [Statistic("mean", (i,), 1.0 / extent[i]) for i in range(n)]
    return (*means, *(Statistic("share", (n + j,), 1.0 / c.values) for j, c in enumerate(nominal)))


def anonymized(x: np.ndarray, request: BoxesRequest) -> tuple[BoxesOutcome, float]:
    start, rng = time.process_time(), np.random.default_rng(1)
    state = anonymization.init(x, request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state), time.process_time() - start


def ncp(boxes: Boxes, extent: np.ndarray) -> float:
    cost = ((boxes.upper - boxes.lower) / extent).sum(axis=1)
    for sets in boxes.sets:
        size = sets.sum(axis=1)
        cost += np.where(size > 1, size / sets.shape[1], 0.0)
    return float(cost @ boxes.counts / boxes.counts.sum() / (len(extent) + len(boxes.sets)))


def queries(x: np.ndarray, nominal: tuple[NominalColumn, ...], boxes: Boxes) -> tuple[float, float]:
    """Median width of the certain range over N, and median relative error of the estimate, of COUNT queries."""
    rng = np.random.default_rng(3)
    widths, errors = [], []
    for _ in range(1000):
        certain, possible = np.ones(len(boxes.counts)), np.ones(len(boxes.counts))
        expected, truth = np.ones(len(boxes.counts)), np.ones(len(x), dtype=bool)
        for column in rng.choice(x.shape[1] + len(nominal), 2, replace=False):
            if column < x.shape[1]:
                low, high = np.sort(rng.choice(x[:, column], 2))
                a, b = boxes.lower[:, column], boxes.upper[:, column]
                certain *= (a >= low) & (b <= high)
                possible *= (a <= high) & (b >= low)
                inside = np.maximum(np.minimum(b, high) - np.maximum(a, low) + 1.0, 0.0)
                expected *= np.minimum(inside / (b - a + 1.0), 1.0)
                truth &= (x[:, column] >= low) & (x[:, column] <= high)
            else:
                j = column - x.shape[1]
                chosen = rng.random(nominal[j].values) < 0.5
                sets = boxes.sets[j]
                certain *= ~(sets & ~chosen).any(axis=1)
                possible *= (sets & chosen).any(axis=1)
                expected *= (sets & chosen).sum(axis=1) / sets.sum(axis=1)
                truth &= chosen[nominal[j].codes]
        widths.append(float((possible - certain) @ boxes.counts) / len(x))
        if truth.any():
            errors.append(abs(float(expected @ boxes.counts) - truth.sum()) / truth.sum())
    return float(np.median(widths)), float(np.median(errors))


def show_adult() -> None:
    x, nominal = adult()
    extent = np.ptp(x, axis=0)
    base = BoxesRequest(5, asked(x, nominal), bounds="tight", nominal=nominal)
    for partition in ("optimal", "fast", "mondrian"):
        anonymized(x[:9000], replace(base, partition=partition, nominal=tuple(first(c, 9000) for c in nominal)))
        for k in (5, 10, 50):
            found, seconds = anonymized(x, replace(base, k=k, partition=partition))
            said = f"NCP {ncp(found.boxes, extent):.4f}, {len(found.boxes.counts)} boxes, {seconds:.2f} CPU s"
            if k == 5:
                width, error = queries(x, nominal, found.boxes)
                said += f"; COUNT: width {width:.3f} N, error {100 * error:.1f} %"
            print(f"Adult, k = {k:2}, {partition:8}: {said}", flush=True)
    trees = adult(hierarchies=True)[1]
    found, seconds = anonymized(x, replace(base, nominal=trees))
    print(f"Adult, k =  5, hierarchies: NCP {ncp(found.boxes, extent):.4f}, {seconds:.2f} CPU s", flush=True)
    only = (Statistic("domain_mean", (2, 3 + 3)),)
    found, seconds = anonymized(x, replace(base, statistics=only))
    widths = [one.guaranteed.width for one in found.certificates[0].published if one.guaranteed]
    print(f"hours by occupation asked alone: mean width {np.mean(widths):.2f} h, {seconds:.2f} CPU s", flush=True)
    beside(x, nominal)


def first(column: NominalColumn, rows: int) -> NominalColumn:
    return replace(column, codes=column.codes[:rows])


def beside(x: np.ndarray, nominal: tuple[NominalColumn, ...]) -> None:
    """The same by anonypy's Mondrian, where that is installed (it is no dependency)."""
    try:
        import anonypy
        import pandas as pd
    except ImportError:
        print("anonypy is not installed")
        return
    names = [f"n{i}" for i in range(x.shape[1])] + [f"c{j}" for j in range(len(nominal))]
    frame = pd.DataFrame(dict(zip(names, [*x.T, *(c.codes.astype(str) for c in nominal)], strict=True)))
    for name in names[x.shape[1] :]:
        frame[name] = frame[name].astype("category")
    frame["s"] = 0
    for k in (5, 10, 50):
        start = time.process_time()
        parts = anonypy.Preserver(frame, names, "s").mondrian.partition(k)
        cost = 0.0
        for part in parts:
            rows = frame.index.get_indexer(part)
            cost += len(rows) * float((np.ptp(x[rows], axis=0) / np.ptp(x, axis=0)).sum())
            for column in nominal:
                size = len(np.unique(column.codes[rows]))
                cost += len(rows) * (size / column.values if size > 1 else 0.0)
        print(f"anonypy, k = {k}: NCP {cost / len(x) / len(names):.4f}, {time.process_time() - start:.1f} CPU s")


def show_bounds() -> None:
    x = np.array([[float(row[i]) for i in SIX] for row in lines()])
    deviation = x.std(axis=0)
    low, high = x.min(axis=0), x.max(axis=0)
    domains = tuple(zip(low.tolist(), high.tolist(), strict=True))
    grids = tuple(NumericColumn(snug=float(0.01 * (b - a))) for a, b in domains)
    for bounds, records in (("cells", 2), ("snug", 1), ("snug", 2), ("tight", 2)):
        request = BoxesRequest(5, tuple(Statistic("mean", (i,)) for i in range(6)), bounds=bounds, domains=domains)
        for name, columns in (("real", grids), ("whole", tuple(replace(g, step=1.0) for g in grids))):
            found, _ = anonymized(x, replace(request, columns=columns, snug_records=records))
            width = (found.boxes.upper - found.boxes.lower) / deviation
            mean = float((found.boxes.counts @ width / len(x)).mean())
            print(f"Adult6, k = 5, {bounds} ({records}), {name} numbers: mean width {mean:.3f} sd", flush=True)


def show_rows() -> None:
    rng, rows = np.random.default_rng(7), 1_000_000
    label = rng.integers(0, 8, rows)
    x = rng.normal(0, 4, (8, 5))[label] + np.einsum(
        "pij,pj->pi", (rng.normal(size=(8, 5, 5)) / 2)[label], rng.normal(size=(rows, 5))
    )
    codes = [((label * m) // 8 + rng.geometric(0.3, rows)) % m for m in (2, 16, 60)]
    nominal = tuple(NominalColumn(c.astype(np.int32), m) for c, m in zip(codes, (2, 16, 60), strict=True))
    for partition in ("fast", "optimal"):
        request = BoxesRequest(10, asked(x, nominal), partition=partition, bounds="tight", nominal=nominal)
        few = tuple(first(column, 9000) for column in nominal)
        anonymized(x[:9000], replace(request, nominal=few))
        found, seconds = anonymized(x, request)
        said = f"{len(found.boxes.counts)} boxes, NCP {ncp(found.boxes, np.ptp(x, axis=0)):.4f}"
        print(f"1,000,000 x (5 + 3), k = 10, {partition}: {said}, {seconds:.1f} CPU s", flush=True)


if __name__ == "__main__":
    asked_for = sys.argv[1:] or ["adult", "bounds"]
    for name, shown in (("adult", show_adult), ("bounds", show_bounds), ("rows", show_rows)):
        if name in asked_for:
            shown()
