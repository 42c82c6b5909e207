"""CPU seconds, normalised widths and certain ranges of boxes over columns of all kinds.

    python benchmarks/mixed_boxes.py [adult] [bounds]

`adult`: 30,162 complete records (age, education, hours; sex, race, marital status, occupation, country), tight bounds:
NCP, boxes and CPU seconds of `optimal`, `fast` and `mondrian` (values by frequency), with hierarchies; ranges of 1,000
COUNT queries; mean hours by occupation, and what no release could be below. `bounds`: mean widths of Adult's six
numeric columns in deviations by kind of bounds. Both go to benchmarks/results.

NCP of a box: width over range, or values over the codebook's (0 for one value), its mean over columns and records.
"""

import gzip
import sys
import time
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.recorded import printed, record
from surebox_core.statistics import Statistic
from surebox_verify.released.codebooks import Codebook
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.partition import Method
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest
from workers.algorithms.boxes.sides import Boxes, Hierarchy, NominalColumn, NumericColumn
from workers.methods.queries.box_sides import SetColumn, Sided
from workers.methods.queries.count import counted_boxes

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/mixed_boxes.py"
PARTITIONS: tuple[Method, ...] = ("optimal", "fast", "mondrian")
BOUNDS: dict[tuple[Literal["cells", "tight", "grid"], int], str] = {
    ("cells", 2): "`cells`",
    ("grid", 1): "`grid` 1 %, one record",
    ("grid", 2): "`grid` 1 %, two records",
    ("tight", 2): "`tight`",
}
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


def ncp_statistics(x: np.ndarray, nominal: tuple[NominalColumn, ...]) -> tuple[Statistic, ...]:
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
    books = [Codebook(f"nominal {j}", tuple(range(column.values))) for j, column in enumerate(nominal)]
    numbers = np.arange(len(boxes.counts))
    sides = tuple(SetColumn(book, sets, numbers) for book, sets in zip(books, boxes.sets, strict=True))
    names = tuple(map(str, range(x.shape[1])))
    held = Sided(names, boxes.lower, boxes.upper, np.ones(len(names)), boxes.counts, boxes.box, sides, True)
    ready = counted_boxes(held)
    widths, errors = [], []
    for _ in range(1000):
        certain, possible = np.ones(len(boxes.counts)), np.ones(len(boxes.counts))
        truth = np.ones(len(x), dtype=bool)
        query: dict[str, Any] = {}
        for column in rng.choice(x.shape[1] + len(nominal), 2, replace=False):
            if column < x.shape[1]:
                low, high = np.sort(rng.choice(x[:, column], 2))
                a, b = boxes.lower[:, column], boxes.upper[:, column]
                certain *= (a >= low) & (b <= high)
                possible *= (a <= high) & (b >= low)
                query[str(column)] = [float(low), float(high)]
                truth &= (x[:, column] >= low) & (x[:, column] <= high)
            else:
                j = column - x.shape[1]
                chosen = rng.random(nominal[j].values) < 0.5
                sets = boxes.sets[j]
                certain *= ~(sets & ~chosen).any(axis=1)
                possible *= (sets & chosen).any(axis=1)
                query[f"nominal {j}"] = {"values": np.flatnonzero(chosen).tolist()}
                truth &= chosen[nominal[j].codes]
        widths.append(float((possible - certain) @ boxes.counts) / len(x))
        if truth.any():
            estimate = ready.count([query], threads=1).estimate[0]
            errors.append(abs(float(estimate) - truth.sum()) / truth.sum())
    return float(np.median(widths)), float(np.median(errors))


def measured(x: np.ndarray, request: BoxesRequest) -> tuple[BoxesOutcome, dict[str, float]]:
    """An outcome, with its NCP and CPU seconds."""
    outcome, seconds = anonymized(x, request)
    return outcome, {"ncp": ncp(outcome.boxes, np.ptp(x, axis=0)), "seconds": seconds}


def show_adult() -> None:
    x, nominal = adult()
    base = BoxesRequest(5, ncp_statistics(x, nominal), bounds="tight", nominal=nominal)
    count: dict[str, dict[str, float]] = {}
    by_k: dict[int, dict[str, dict[str, float]]] = {k: {} for k in (5, 10, 50)}
    for partition in PARTITIONS:
        anonymized(x[:9000], replace(base, partition=partition, nominal=tuple(first(c, 9000) for c in nominal)))
        for k, line in by_k.items():
            outcome, line[partition] = measured(x, replace(base, k=k, partition=partition))
            if k == base.k:
                width, error = queries(x, nominal, outcome.boxes)
                count[partition] = {"width": width, "error": error}
    cells = {k: (f"{one['ncp']:.4f} ({one['seconds']:.1f})" for one in line.values()) for k, line in by_k.items()}
    table = {"heads": ["k", *PARTITIONS], "rows": [printed(str(k), *line) for k, line in cells.items()]}
    trees = measured(x, replace(base, nominal=adult(hierarchies=True)[1]))[1]
    trees["more"] = trees["ncp"] / by_k[base.k]["optimal"]["ncp"] - 1.0
    groups = of_groups(x, nominal, base)
    print(f"COUNT: {count}\nhierarchies: {trees}\nhours by occupation alone: {groups}", flush=True)
    figures = {"table": table, "by_k": {f"k{k}": line for k, line in by_k.items()}, "count": count}
    record("boxes_mixed", f"{COMMAND} adult", figures | {"hierarchies": trees, "groups": groups})


def of_groups(x: np.ndarray, nominal: tuple[NominalColumn, ...], base: BoxesRequest) -> dict[str, float]:
    """Mean hours by occupation listed alone, and what no release could be below."""
    occupation = nominal[3]
    only = (Statistic("domain_mean", (2, 3 + 3)),)
    outcome, seconds = anonymized(x, replace(base, statistics=only))
    widths = np.array([one.guaranteed.width if one.guaranteed else np.nan for one in outcome.certificates[0].published])
    persons = np.bincount(occupation.codes)
    rarest = int(np.argmin(persons))
    least = least_width(x[:, 2], occupation.codes, rarest, base.k)
    return {
        "mean": float(widths.mean()),
        "mean_over_persons": float(widths @ persons / persons.sum()),
        "median": float(np.median(widths)),
        "seconds": seconds,
        "rarest": int(persons[rarest]),
        "rarest_width": float(widths[rarest]),
        "rarest_least": float(least),
        "least_mean": float(least / len(widths)),
    }


def least_width(y: np.ndarray, codes: np.ndarray, group: int, k: int) -> float:
    """A width that the mean of y in a group cannot be below, where boxes are intervals of y times sets of groups.

    The group's records of a box are a run of its values in order. A run of k or more is best alone: its number is then
    certain, and one record is at each end. A shorter one shares its box with records of other groups: it has at least k
    records, every value of its set is that of a record, and the group's number in it is anything from 1 to what the
    others leave. The least of that over intervals and sets, with values no wider than the run's, over all ways to part
    the group into runs.
    """
    values, counts = np.unique(y[codes == group], return_counts=True)
    grid = np.unique(y)
    table = np.array([np.bincount(codes[y == value], minlength=codes.max() + 1) for value in grid])
    ways = []
    for cuts in product((False, True), repeat=len(values) - 1):
        ends = [0, *(place + 1 for place, is_cut in enumerate(cuts) if is_cut), len(values)]
        ways.append([_run(values, counts, i, j, grid, table, group, k) for i, j in pairwise(ends)])
    return min(_highest(way) + _highest([(-hi, -lo, *rest) for lo, hi, *rest in way]) for way in ways)


def _run(
    values: np.ndarray, counts: np.ndarray, i: int, j: int, grid: np.ndarray, table: np.ndarray, group: int, k: int
) -> tuple[float, float, int, int]:
    """Ends of a run, its certain records, and how many more there may be."""
    own = int(counts[i:j].sum())
    if own >= k:
        return values[i], values[j - 1], own, 0
    below = values[i - 1] if i else -np.inf
    above = values[j] if j < len(values) else np.inf
    starts = np.flatnonzero((grid > below) & (grid <= values[i]))
    stops = np.flatnonzero((grid < above) & (grid >= values[j - 1]))
    spare = min(_spare(np.delete(table[a : b + 1].sum(axis=0), group), k - own) for a in starts for b in stops)
    return values[i], values[j - 1], 1, own - 1 + spare


def _spare(others: np.ndarray, lacking: int) -> int:
    """Least number of records beyond one for each group taken, of groups that have as many as are lacking."""
    ones, more = int((others == 1).sum()), np.sort(others[others > 1])[:8].tolist()
    if ones >= lacking:
        return 0
    chosen = (some for r in range(1, len(more) + 1) for some in combinations(more, r) if sum(some) >= lacking - ones)
    return min((sum(some) - len(some) for some in chosen), default=10**9)


def _highest(way: list[tuple[float, float, int, int]]) -> float:
    """The largest mean: of the certain records, then of more of those that raise it."""
    total = sum(hi if n == 1 else lo + (n - 1) * hi for lo, hi, n, _ in way)
    size = sum(n for *_, n, _ in way)
    for _, hi, _, more in sorted(way, key=lambda run: -run[1]):
        if hi > total / size:
            total, size = total + hi * more, size + more
    return total / size


def first(column: NominalColumn, rows: int) -> NominalColumn:
    return replace(column, codes=column.codes[:rows])


def show_bounds() -> None:
    x = np.array([[float(row[i]) for i in SIX] for row in lines()])
    deviation = x.std(axis=0)
    domains = tuple(zip(x.min(axis=0).tolist(), x.max(axis=0).tolist(), strict=True))
    grids = tuple(NumericColumn(value_step=float(0.01 * (b - a))) for a, b in domains)
    rows = []
    for (bounds, records), words in BOUNDS.items():
        request = BoxesRequest(5, tuple(Statistic("mean", (i,)) for i in range(6)), bounds=bounds, domains=domains)
        means = []
        for columns in (tuple(replace(g, step=1.0) for g in grids), grids):
            outcome, _ = anonymized(x, replace(request, columns=columns, min_records_at_bound=records))
            width = (outcome.boxes.upper - outcome.boxes.lower) / deviation
            means.append(float((outcome.boxes.counts @ width / len(x)).mean()))
        rows.append(printed(words, *(f"{mean:.3f}" for mean in means)))
    heads = ["`bounds`", "whole numbers", "as real numbers"]
    record("boxes_bounds", f"{COMMAND} bounds", {"table": {"heads": heads, "rows": rows}})


def made_up(rows: int) -> tuple[np.ndarray, tuple[NominalColumn, ...]]:
    """Five correlated numbers of eight clusters, and nominal columns of 2, 16 and 60 values that go with these."""
    rng = np.random.default_rng(7)
    label = rng.integers(0, 8, rows)
    x = rng.normal(0, 4, (8, 5))[label] + np.einsum(
        "pij,pj->pi", (rng.normal(size=(8, 5, 5)) / 2)[label], rng.normal(size=(rows, 5))
    )
    codes = [((label * m) // 8 + rng.geometric(0.3, rows)) % m for m in (2, 16, 60)]
    return x, tuple(NominalColumn(c.astype(np.int32), m) for c, m in zip(codes, (2, 16, 60), strict=True))


if __name__ == "__main__":
    asked_for = sys.argv[1:] or ["adult", "bounds"]
    for name, shown in (("adult", show_adult), ("bounds", show_bounds)):
        if name in asked_for:
            shown()
