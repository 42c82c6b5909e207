"""Figures 1 to 8 of Aggarwal 2008, with the paper's methods and ours: tables and curves.

OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_paper.py [--data u10k g20 adult] [--adult adult.data.gz]

`--draw` draws the last recorded run again. The sheet has the paper's methods and our boxes, the tables have all.
"""

import argparse
import gzip
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from benchmarks.recorded import record, recorded
from docs.plots import BLUE, GREEN, INK, RED, picture
from surebox_core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.queries import classification as box_classification
from workers.algorithms.boxes.queries import counting as box_counting
from workers.algorithms.boxes.state import BoxesRequest
from workers.algorithms.uncertain.calibration import calibration, drawing
from workers.algorithms.uncertain.calibration.state import CalibrationRequest
from workers.algorithms.uncertain.condensation import condensation
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.queries import classification, counting

ROOT = Path(__file__).parent.parent
COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_paper.py"
SIZES = ((51, 100), (101, 200), (201, 300), (301, 400))
LEVELS = (5, 10, 20, 50, 100)
QUERIES, VOTES, SEED = 100, 10, 20080407
NAMES = {"u10k": "U10K", "g20": "G20.D10K", "adult": "Adult"}
#: What the sheet shows.
LINES = {
    "uniform": (BLUE, "-", "o"),
    "gaussian": (RED, "--", "s"),
    "condensation": (GREEN, "-", "^"),
    "boxes": (INK, "-.", "x"),
}
WORDS = {"exact": "exact nearest neighbours"}
ERRORS = (2, 5, 10, 20, 50, 100, 200)


class Measured(NamedTuple):
    """A mean and its standard error over the queries, or over the points that were held out."""

    value: float
    error: float


Curves = dict[str, list[Measured]]
#: Heads, and rows of a method and its figures.
Table = dict[str, list[Any]]


@dataclass(frozen=True)
class Panel:
    """One figure of the sheet."""

    number: int
    title: str
    across: list[float]
    label: str
    side: str
    curves: Curves


def u10k(rng: np.random.Generator) -> tuple[np.ndarray, None]:
    return rng.random((10_000, 5)), None


def g20(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """20 gaussian clusters, radii per axis in [0, 0.5], 1 % outliers; the class of the cluster kept with 0.9."""
    centres, radii, share = rng.random((20, 5)), rng.uniform(0.0, 0.5, (20, 5)), rng.uniform(0.5, 1.0, 20)
    cluster = rng.choice(20, 9_900, p=share / share.sum())
    x = np.vstack([centres[cluster] + radii[cluster] * rng.normal(size=(9_900, 5)), rng.random((100, 5))])
    of_cluster = rng.integers(0, 2, 20)
    label = np.concatenate([of_cluster[cluster], rng.integers(0, 2, 100)])
    return x, np.where(rng.random(10_000) < 0.9, label, 1 - label)


def adult(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(path, "rt") as file:
        rows = [line.strip().split(", ") for line in file if line.count(",") == 14]
    x = np.array([[float(row[i]) for i in (0, 2, 4, 10, 11, 12)] for row in rows])
    return x, np.array([row[14].startswith(">") for row in rows]).astype(np.int64)


def queries_by_size(
    x: np.ndarray, low: np.ndarray, high: np.ndarray, whole: float, rng: np.random.Generator
) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """100 random ranges of each size within [low, high]: lower ends (`low` with chance `whole`), upper ends, counts."""
    ready = counting.index(Densities("uniform", x, np.zeros_like(x), None, np.ones(x.shape[1])))
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray, float]]] = {size: [] for size in SIZES}
    while min(len(held) for held in by_size.values()) < QUERIES:
        ends = np.sort(rng.uniform(low, high, (2, 4000, x.shape[1])), axis=0)
        ends[0] = np.where(rng.random(ends[0].shape) < whole, low, ends[0])
        true = counting.count_indexed(ready, ends[0], ends[1], threads=2).estimate
        for size, held in by_size.items():
            for q in np.flatnonzero((true >= size[0]) & (true <= size[1])):
                if len(held) < QUERIES:
                    held.append((ends[0, q], ends[1, q], true[q]))
    return {size: tuple(np.array(part) for part in zip(*held, strict=True)) for size, held in by_size.items()}


def densities(x: np.ndarray, k: int | np.ndarray, model: str, scales: str) -> tuple[Densities, np.ndarray]:
    """A release and the record of each of its rows."""
    wanted = k if isinstance(k, np.ndarray) else float(k)
    calibrated = calibration.calibrate(x, CalibrationRequest(k=wanted, model=model, scales=scales, threads=2))
    z = drawing.draw(x, calibrated, np.random.default_rng([SEED, 1]))  # never the data's own stream
    return Densities(model, z, calibrated.scale, calibrated.axes, calibrated.unit), calibrated.rows


def condensed(x: np.ndarray, k: int) -> condensation.Condensed:
    rng = np.random.default_rng([SEED, 2])
    state = condensation.init(x, k, rng)
    while not condensation.done(state):
        state = condensation.step(state, rng)
    return condensation.result(state, rng)


def boxed(x: np.ndarray, k: int) -> anonymization.BoxesOutcome:
    statistics = tuple(Statistic("mean", (j,), weight=1.0 / x[:, j].std()) for j in range(x.shape[1]))
    state = anonymization.init(x, BoxesRequest(k=k, statistics=statistics, partition="optimal"))
    while not anonymization.done(state):
        state = anonymization.step(state, rng=np.random.default_rng([SEED, 3]))
    return anonymization.result(state)


def errors(x: np.ndarray, k: int, queries: dict) -> dict[str, dict[tuple[int, int], Measured]]:
    """Mean of |S - S'| / S in percent (eq. 22), by method and size."""
    domain = (x.min(axis=0), x.max(axis=0))  # as the paper takes it; a service takes what is declared
    counts: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {}
    for name, model, scales in (
        ("uniform", "uniform", "per_record"),
        ("gaussian", "gaussian", "per_record"),
        ("gaussian common", "gaussian", "common"),
    ):
        ready = counting.index(densities(x, k, model, scales)[0], domain)
        counts[name] = lambda a, b, ready=ready: counting.count_indexed(ready, a, b, threads=2).estimate
        if name == "gaussian":
            counts["naive"] = lambda a, b, ready=ready: counting.count_indexed(ready, a, b, threads=2).naive
    z = condensed(x, k).z
    points = counting.index(Densities("uniform", z, np.zeros_like(z), None, np.ones(z.shape[1])))
    counts["condensation"] = lambda a, b: counting.count_indexed(points, a, b, threads=2).estimate
    boxes = boxed(x, k).boxes
    held = box_counting.index(boxes.lower, boxes.upper, boxes.counts)
    counts["boxes"] = lambda a, b: box_counting.count(held, a, b, threads=2).estimate
    return {
        name: {size: mean(100.0 * np.abs(count(a, b) - s) / s) for size, (a, b, s) in queries.items()}
        for name, count in counts.items()
    }


def mean(values: np.ndarray) -> Measured:
    return Measured(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def accuracies(x: np.ndarray, label: np.ndarray, k: int, rng: np.random.Generator) -> dict[str, Measured]:
    """Share of a fifth of the records, held out, whose class is found by the releases of the others."""
    order = rng.permutation(len(x))
    test, train = order[: len(x) // 5], order[len(x) // 5 :]
    known, own, points = np.ascontiguousarray(x[train]), label[train], x[test]
    unit = known.std(axis=0)
    exact = classification.nearest_index(known, unit)
    predictions = {"exact": classification.classify_by_nearest(exact, own, points, VOTES)}
    for name, model, scales in (
        ("uniform", "uniform", "per_record"),
        ("gaussian", "gaussian", "per_record"),
        ("gaussian common", "gaussian", "common"),
    ):
        held, rows = densities(known, k, model, scales)
        predictions[name] = classification.classify(held, own[rows], points, VOTES, threads=2)
    pseudo = condensed(known, k)
    nearest = classification.nearest_index(pseudo.z, pseudo.z.std(axis=0))
    predictions["condensation"] = classification.classify_by_nearest(
        nearest, own[pseudo.stands_for], points, VOTES, threads=2
    )
    boxes = boxed(known, k).boxes
    votes = np.zeros((len(boxes.lower), 2), dtype=np.int64)
    np.add.at(votes, (boxes.box, own), 1)
    result = box_classification.classify(box_classification.index(boxes.lower, boxes.upper, votes), points, VOTES)
    return {name: mean(one.label == label[test]) for name, one in (predictions | {"boxes": result}).items()}


def plot(axes: Axes, panel: Panel) -> None:
    """One figure; bars are two standard errors each way."""
    for name, (colour, dashes, mark) in LINES.items():
        points = panel.curves[name]
        values, errors = [one.value for one in points], [2.0 * one.error for one in points]
        style: dict[str, Any] = {
            "color": colour,
            "linestyle": dashes,
            "marker": mark,
            "markersize": 4,
            "linewidth": 1.4,
        }
        axes.errorbar(panel.across, values, errors, capsize=2, elinewidth=0.8, label=name, **style)
    axes.set_title(f"{panel.number}. {panel.title}")
    better = "lower" if panel.side.startswith("error") else "higher"
    axes.set(xlabel=panel.label, ylabel=f"{panel.side} ({better} is better)")
    axes.set_xscale("log" if panel.label == "k" else "linear")
    sizes = [f"{a}-{b}" for a, b in SIZES]
    axes.set_xticks(panel.across, [f"{value:g}" for value in panel.across] if panel.label == "k" else sizes)
    if better == "lower":
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_yticks(shown := [each for each in ERRORS if low <= each <= high], [str(each) for each in shown])
    axes.minorticks_off()
    axes.grid(visible=True, axis="y")


def sheet(panels: list[Panel]) -> None:
    """All figures on docs/pictures/uncertain-paper.svg, with one legend."""
    rows = -(-len(panels) // 2)
    title = "Errors of counts and accuracy of classes, by method"
    about = "One line a method, with error bars, by data set and by k; lower errors and higher accuracy are better."
    with picture(
        ROOT / "docs/pictures/uncertain-paper.svg",
        title,
        size=(8.2, 2.7 * rows + 0.5),
        description=about,
        grid=(rows, 2),
    ) as all_:
        flat = list(np.ravel(all_))
        for axes, panel in zip(flat, sorted(panels, key=lambda one: one.number), strict=False):
            plot(axes, panel)
        for axes in flat[len(panels) :]:
            axes.set_axis_off()
        named = {name: mark for axes in flat for mark, name in zip(*axes.get_legend_handles_labels(), strict=True)}
        flat[0].figure.legend(named.values(), named.keys(), loc="outside upper center", ncols=4, fontsize=8.5)


def measured_last() -> list[Panel]:
    """The figures of the last recorded run."""
    panels = []
    for one in recorded("uncertain_paper", ".panels"):
        curves = {name: [Measured(*each) for each in points] for name, points in one["curves"].items()}
        panels.append(Panel(**one | {"curves": curves}))
    return panels


def table(title: str, heads: list[str], curves: Curves, form: str) -> None:
    print(f"\n{title}\n\n| method | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    for name, values in curves.items():
        print(f"| {name} | " + " | ".join(format(one.value, form) for one in values) + " |", flush=True)


def tables(panels: list[Panel]) -> dict[str, Table]:
    """The tables of benchmarks/uncertain-experiments.md: `u10k`, `g20` and `adult`, and those of classes."""
    numbered, made = {one.number: one.curves for one in panels}, {}
    levels = [f"k = {LEVELS[0]}", *map(str, LEVELS[1:])]
    for name, first in (("u10k", 1), ("g20", 3), ("adult", 5)):
        heads = [NAMES[name], *(f"{a}-{b}" for a, b in SIZES), *levels]
        sizes, by_level = numbered[first], numbered[first + 1]
        rows = [[method, *(one.value for one in sizes[method] + by_level[method])] for method in sizes]
        made[name] = {"heads": heads, "rows": rows}
    for name, number in (("g20", 7), ("adult", 8)):
        rows = [[WORDS.get(method, method), *(one.value for one in ends)] for method, ends in numbered[number].items()]
        made[f"{name}_classes"] = {"heads": [NAMES[name], *levels], "rows": rows}
    return made


def count_figures(
    name: str, x: np.ndarray, low: np.ndarray, high: np.ndarray, whole: float, first: int, levels: list[int]
) -> list[Panel]:
    """Figures 1 and 2, 3 and 4, or 5 and 6."""
    queries = queries_by_size(x, low, high, whole, np.random.default_rng([SEED, 4]))
    at = {k: errors(x, k, queries) for k in levels}
    sizes = {method: [at[10][method][size] for size in SIZES] for method in at[10]}
    by_level = {method: [at[k][method][SIZES[1]] for k in levels] for method in at[10]}
    middles = [0.5 * (a + b) for a, b in SIZES]
    table(f"{NAMES[name]}: error of counts in %, k = 10, by true count", [f"{a}-{b}" for a, b in SIZES], sizes, ".1f")
    table(f"{NAMES[name]}: error of counts of 101-200 in %, by k", [str(k) for k in levels], by_level, ".1f")
    return [
        Panel(first, f"{NAMES[name]}: counts, k = 10", middles, "true count", "error in %", sizes),
        Panel(first + 1, f"{NAMES[name]}: counts of 101-200", list(levels), "k", "error in %", by_level),
    ]


def class_figure(name: str, x: np.ndarray, label: np.ndarray, number: int, levels: list[int]) -> Panel:
    """Figure 7 or 8."""
    at = {k: accuracies(x, label, k, np.random.default_rng([SEED, 5])) for k in levels}
    curves = {method: [at[k][method] for k in levels] for method in at[10]}
    table(f"{NAMES[name]}: accuracy of classes, {VOTES} votes, by k", [str(k) for k in levels], curves, ".3f")
    return Panel(number, f"{NAMES[name]}: classes", list(levels), "k", "accuracy", curves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--levels", nargs="+", type=int, default=list(LEVELS), help="k, 10 among them")
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared/data/adult/adult.data.gz")
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args()
    if given.draw:
        sheet(measured_last())
        return
    panels: list[Panel] = []
    makers = {"u10k": u10k, "g20": g20, "adult": lambda _: adult(given.adult)}
    for place, name in enumerate(NAMES):
        if name not in given.data:
            continue
        x, label = makers[name](np.random.default_rng(SEED))
        spread = x.std(axis=0)
        x = np.ascontiguousarray(x / spread)
        low, high = (x.min(axis=0), x.max(axis=0)) if name == "adult" else (np.zeros_like(spread), 1.0 / spread)
        # Adult's gains and losses are 0 for nearly all: a range that never begins at the least value would have none
        panels += count_figures(name, x, low, high, 0.5 if name == "adult" else 0.0, 2 * place + 1, given.levels)
        if label is not None:
            panels.append(class_figure(name, x, label, 7 if name == "g20" else 8, given.levels))
    if set(given.data) == set(NAMES) and given.levels == list(LEVELS):
        record("uncertain_paper", COMMAND, {"panels": [asdict(one) for one in panels], "tables": tables(panels)})
    sheet(panels)


if __name__ == "__main__":
    main()
