"""Compare tools by the values that they give away and by their accuracy: the same tables, k, tolerance and statistics.

    python benchmarks/equal_risk.py [table ...]

Tables that are not named stay as they were recorded.

Of each release: the values that everybody knows to within a tenth of the column's natural scale (`certain`), those that
a best guess hits to within half of that on either side, less what the same guess hits without a release (`guessed`),
both of the column where it is largest; NCP, the mean over columns of width over range; and the widths of the certain
ranges of means, in deviations, and of correlations. Of tools that promise nothing there are errors of estimates
instead. k = 5; tables of more than 10,000 records but the census are samples of 10,000, numbers alone.

Who made what: `Surebox` and `Mondrian` are this project's partitions (`optimal`, `mondrian`), without widths, and with
`min_width` of a quarter of each column's natural scale. `MDAV` (Domingo-Ferrer, Mateo-Sanz 2002, fixed size),
`recoding` (one hierarchy of doubling intervals a column for the whole table, at most 2 % of the records suppressed,
after Sweeney's Datafly) and `noise` (independent normal noise of 10 and of 150 % of a column's deviation, as sdcMicro's
`addNoise`) are this file's own. In the census the means of hours and family income are named, in the others the means
of all columns and the correlation of each with the next.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from app.demo.sources import census
from benchmarks.boxes import SHARED, adult
from benchmarks.columns import columns_of, demanded
from benchmarks.recorded import RESULTS, printed, record, recorded
from surebox_core.ladder import rung_from
from surebox_core.statistics import Statistic
from surebox_core.types import FloatArray, IntArray
from surebox_verify.disclosure import value_intervals
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.content import BoxMeans
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NumericColumn
from workers.algorithms.tables.guessing import guessed_numbers, guesses_by_means

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/equal_risk.py"
K: Final = 5
SAMPLED: Final = 10_000
TOLERANCE: Final = 0.1
SUPPRESSED: Final = 0.02
NOISE: Final = {"noise, 10 %": 0.1, "noise, 150 %": 1.5}
CENSUS: Final = "census"
NAMED: Final = ("hours", "faminc")
HOUSING: Final = (
    "longitude", "latitude", "housing_median_age", "total_rooms", "population", "households", "median_income",
    "median_house_value",
)  # fmt: skip
HEADS: Final = ["table", "tool", "records a box", "certain, %", "guessed, %", "mean", "correlation", "NCP"]
ACS: Final = ("AGEP", "WKHP", "JWMNP", "PINCP")


@dataclass(frozen=True)
class Table:
    """Records (N, n), what their columns are, and what is asked."""

    x: FloatArray
    columns: tuple[NumericColumn, ...]
    means: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """Means, then correlations."""
        return (
            *(Statistic("mean", (column,)) for column in self.means),
            *(Statistic("correlation", pair) for pair in self.pairs),
        )

    @property
    def tolerances(self) -> FloatArray:
        """Of each column, a tenth of its natural scale."""
        return np.array([TOLERANCE * rung_from(float(column.std())) for column in self.x.T])


@dataclass(frozen=True)
class Shown:
    """A tool's release of a table: its records, and the values that it leaves open of each in each column.

    Attributes
    ----------
    rows : released records.
    group : (R,), box or group of each; of noise each is its own.
    low, high : (B, n), ends of what is certain of a group's values; not certain where `promises` is false.
    point : (B, n), what else is guessed of them, NaN where nothing.
    promises : whether `low` and `high` are certain.
    """

    rows: IntArray
    group: IntArray
    low: FloatArray
    high: FloatArray
    point: FloatArray | None = None
    promises: bool = True


@dataclass(frozen=True)
class Cost:
    """Width of the certain range, or error of the estimate, of each mean and of each correlation."""

    means: FloatArray
    correlations: FloatArray
    ranges: tuple[tuple[float, float], ...] = ()


Released = tuple[Shown, Cost]


def of(x: FloatArray, means: tuple[int, ...] | None = None) -> Table:
    """A table of these records; of more than are sampled some, the same every time."""
    if means is None and len(x) > SAMPLED:
        x = x[np.sort(np.random.default_rng(1).permutation(len(x))[:SAMPLED])]
    x = np.asfortranarray(x)
    every = tuple(range(x.shape[1])) if means is None else means
    pairs = () if means is not None else tuple((one, one + 1) for one in range(x.shape[1] - 1))
    return Table(x, columns_of(x), every, pairs)


def tables() -> Iterator[tuple[str, Table]]:
    """Tables of numbers."""
    with tempfile.TemporaryDirectory() as folder:
        mothers = pl.read_csv(census(Path(folder)).path, columns=["age", "educ", "hours", "faminc"])
    yield CENSUS, of(_numbers(mothers), tuple(mothers.columns.index(name) for name in NAMED))
    yield "Adult", of(adult())
    yield "CASC", of(np.loadtxt(SHARED / "data" / "sdc" / "CASCrefmicrodata.csv", delimiter=",", skiprows=1))
    yield "housing", of(_numbers(pl.read_csv(SHARED / "data" / "housing" / "housing.csv.gz", columns=list(HOUSING))))
    people = pl.read_parquet(SHARED / "data" / "acs2024" / "p_37.parquet", columns=list(ACS))
    yield "ACS", of(_numbers(people))


def _numbers(frame: pl.DataFrame) -> FloatArray:
    return frame.select(pl.all().cast(pl.Float64)).drop_nulls().to_numpy()


def boxes(table: Table, *, mondrian: bool = False, widths: bool = False, means: BoxMeans = "none") -> Released:
    """Boxes of this project."""
    request = BoxesRequest(
        K,
        table.statistics,
        partition="mondrian" if mondrian else "optimal",
        columns=demanded(table.x, table.columns) if widths else table.columns,
        unlisted_column_weight=0.03,
        box_means=means,
    )
    state, rng = anonymization.init(table.x, request), np.random.default_rng(11)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    outcome = anonymization.result(state)
    made, lattices = outcome.boxes, [column.step for column in table.columns]
    ends = [value_intervals(made, index, lattice) for index, lattice in enumerate(lattices)]
    points = [guesses_by_means(made, index, lattice) for index, lattice in enumerate(lattices)]
    ranges = [one.published[0].guaranteed for one in outcome.certificates]
    known = [(-np.inf, np.inf) if one is None else (one.lower, one.upper) for one in ranges]
    width = np.array([high - low for low, high in known])
    shown = Shown(
        np.arange(len(table.x)) if outcome.chosen.rows is None else outcome.chosen.rows,
        made.box.astype(np.int64),
        np.column_stack([low for low, _ in ends]),
        np.column_stack([high for _, high in ends]),
        np.column_stack([point for point in points if point is not None]) if points[0] is not None else None,
    )
    scale, many = table.x[:, list(table.means)].std(axis=0), len(table.means)
    return shown, Cost(width[:many] / scale, width[many:], tuple(known[:many]))


def microaggregated(table: Table) -> Released:
    """MDAV: the k records nearest to the farthest one, and those nearest to the one farthest from it, repeatedly."""
    y = (table.x - table.x.mean(axis=0)) / table.x.std(axis=0)
    group, left, number = np.full(len(y), -1), np.arange(len(y)), 0
    while len(left) >= 3 * K:
        one = y[left[_farthest(y[left], y[left].mean(axis=0))]]
        left, number = _gathered(y, one, group, left, number)
        other = y[left[_farthest(y[left], one)]]
        left, number = _gathered(y, other, group, left, number)
    if len(left) >= 2 * K:
        one = y[left[_farthest(y[left], y[left].mean(axis=0))]]
        left, number = _gathered(y, one, group, left, number)
    group[left] = number
    return _averaged(table, group, number + 1)


def _farthest(y: FloatArray, point: FloatArray) -> int:
    return int(np.argmax(((y - point) ** 2).sum(axis=1)))


def _gathered(y: FloatArray, point: FloatArray, group: IntArray, left: IntArray, number: int) -> tuple[IntArray, int]:
    """Put the k records nearest to a point into a group; the records that are left, and the next group's number."""
    near = np.argpartition(((y[left] - point) ** 2).sum(axis=1), K - 1)[:K]
    group[left[near]] = number
    return np.delete(left, near), number + 1


def _averaged(table: Table, group: IntArray, groups: int) -> Released:
    counts = np.bincount(group, minlength=groups)[:, None]
    centroid = np.column_stack([np.bincount(group, column, groups) for column in table.x.T]) / counts
    low, high = np.full(centroid.shape, np.inf), np.full(centroid.shape, -np.inf)
    np.minimum.at(low, group, table.x)
    np.maximum.at(high, group, table.x)
    shown = Shown(np.arange(len(group)), group, low, high, _on_lattice(table, centroid), promises=False)
    return shown, errors(table, centroid[group])


def _on_lattice(table: Table, points: FloatArray) -> FloatArray:
    """Points moved to the nearest value that their column may have."""
    whole = [column.step is not None for column in table.columns]
    return np.where(whole, np.round(points), points)


def errors(table: Table, y: FloatArray) -> Cost:
    """Errors of the statistics of released numbers, against those of the records."""
    means = np.abs(y.mean(axis=0) - table.x.mean(axis=0)) / table.x.std(axis=0)
    correlations = [abs(_correlation(y[:, pair]) - _correlation(table.x[:, pair])) for pair in table.pairs]
    return Cost(means[list(table.means)], np.array(correlations))


def _correlation(both: FloatArray) -> float:
    """0 of a column that has one value left."""
    return float(np.asarray(np.corrcoef(both.T))[0, 1]) if np.ptp(both, axis=0).min() > 0.0 else 0.0


def recoded(table: Table) -> Released:
    """Intervals that double by level: the column with most of them is coarsened until few records are alone."""
    unit = 0.25 * np.array([rung_from(float(column.std())) for column in table.x.T])
    unit = np.array([max(one, column.step or 0.0) for one, column in zip(unit, table.columns, strict=True)])
    level = np.zeros(len(unit))
    while True:
        step = unit * 2.0**level
        cell = np.floor(table.x / step)
        _, group, counts = np.unique(cell, axis=0, return_inverse=True, return_counts=True)
        group = group.reshape(-1)
        if (counts[group] < K).mean() <= SUPPRESSED:
            break
        level[np.argmax([len(np.unique(column)) for column in cell.T])] += 1.0
    rows = np.flatnonzero(counts[group] >= K)
    steps = np.array([column.step or 0.0 for column in table.columns])
    low = np.maximum(cell[rows] * step, table.x.min(axis=0))
    high = np.minimum((cell[rows] + 1.0) * step - steps, table.x.max(axis=0))
    number = np.unique(group[rows], return_inverse=True)[1].reshape(-1)
    first = np.unique(number, return_index=True)[1]
    low, high = low[first], high[first]
    middle = (0.5 * low + 0.5 * high)[number]
    width = (high - low)[number].mean(axis=0) / table.x.std(axis=0)
    return Shown(rows, number, low, high), replace(errors(table, middle), means=width[list(table.means)])


def noisy(share: float) -> Callable[[Table], Released]:
    """Independent normal noise of this share of each column's deviation."""

    def made(table: Table) -> Released:
        rng = np.random.default_rng(7)
        y = table.x + rng.normal(size=table.x.shape) * share * table.x.std(axis=0)
        nothing = np.full(y.shape, np.nan)
        rows = np.arange(len(y))
        return Shown(rows, rows, nothing, nothing, _on_lattice(table, y), promises=False), errors(table, y)

    return made


TOOLS: Final[dict[str, Callable[[Table], Released]]] = {
    "Surebox": boxes,
    "Surebox, widths": lambda table: boxes(table, widths=True),
    "Surebox, widths, means": lambda table: boxes(table, widths=True, means="rounded"),
    "Mondrian": lambda table: boxes(table, mondrian=True),
    "Mondrian, widths": lambda table: boxes(table, mondrian=True, widths=True),
    "Mondrian, widths, means": lambda table: boxes(table, mondrian=True, widths=True, means="rounded"),
    "MDAV": microaggregated,
    "recoding": recoded,
    **{name: noisy(share) for name, share in NOISE.items()},
}


def measured(table: Table, shown: Shown, cost: Cost) -> dict[str, Any]:
    """Values that are certain, and guessed beyond the baseline, of the column where it is most; cost; sizes."""
    x, group = table.x[shown.rows], shown.group
    counts = np.bincount(group).astype(np.float64)
    width, extent = np.maximum(shown.high - shown.low, 0.0), np.ptp(table.x, axis=0)
    certain, more = [], []
    for column, tolerance in enumerate(table.tolerances):
        ends = (shown.low[:, column], shown.high[:, column])
        everything = (np.full(len(counts), -np.inf), np.full(len(counts), np.inf))
        point = None if shown.point is None else shown.point[:, column]
        guessed = guessed_numbers(
            x[:, column], group.astype(np.int32), ends if shown.promises else everything, tolerance, means=point
        )
        certain.append(float(counts @ (width[:, column] <= tolerance) / len(x)) if shown.promises else 0.0)
        more.append(guessed.share - guessed.baseline)
    is_box = bool(np.isfinite(width).all())
    return {
        "certain": max(certain),
        "guessed": max(more),
        "ncp": float((counts @ (width / extent) / len(x)).mean()) if is_box else None,
        "mean": float(cost.means.mean()),
        "correlation": float(np.minimum(cost.correlations, 2.0).mean()) if len(cost.correlations) else None,
        "promises": shown.promises,
        "records_a_box": len(x) / len(counts),
        "boxes": len(counts),
        "released": len(x),
        "suppressed": 1.0 - len(x) / len(table.x),
        "ranges": [list(one) for one in cost.ranges],
    }


def shown_row(name: str, tool: str, one: dict[str, Any]) -> list[str]:
    """A line of the table of all tables; errors are in brackets."""
    form = "{:.3f}" if one["promises"] else "({:.3f})"
    correlation = "-" if one["correlation"] is None else "{:.3f}" if one["promises"] else "({:.3f})"
    if tool == "recoding":
        correlation = correlation.replace("{:.3f}", "({:.3f})")
    return printed(
        name,
        tool,
        f"{one['records_a_box']:.1f}",
        f"{100 * one['certain']:.0f}",
        f"{100 * one['guessed']:.0f}",
        form.format(one["mean"]),
        correlation.format(one["correlation"]),
        "-" if one["ncp"] is None else f"{one['ncp']:.3f}",
    )


def first_page(figures: dict[str, Any]) -> list[list[str]]:
    """The three lines of README: both partitions under the same widths, and ours with means."""
    rows = []
    for tool, words in (
        ("Mondrian, widths", "Mondrian"),
        ("Surebox, widths", "Surebox"),
        ("Surebox, widths, means", "Surebox with `box_means: rounded`"),
    ):
        one = figures[tool]
        hours, income = ([f"{end:.2f}" for end in ends] for ends in one["ranges"])
        rows.append(
            [
                words,
                f"{one['boxes']:,}",
                f"{100 * one['certain']:.0f} %",
                f"{100 * one['guessed']:.0f} %",
                " to ".join(hours),
                " to ".join(income),
            ]
        )
    return rows


def main() -> None:
    """Measure the named tables, or all; the others stay as they were recorded."""
    print("|", " | ".join(HEADS), "|")
    for name, table in tables():
        if name in sys.argv[1:] or not sys.argv[1:]:
            made = {tool: measured(table, *make(table)) for tool, make in TOOLS.items()}
            written({**_before(), name: made}, table if name == CENSUS else None)


def _before() -> dict[str, Any]:
    return dict(recorded("equal_risk", ".tables")) if (RESULTS / "equal_risk.json").exists() else {}


def written(figures: dict[str, Any], people: Table | None) -> None:
    """Record the figures of all tables measured so far."""
    rows = [shown_row(name, tool, one) for name, tools in figures.items() for tool, one in tools.items()]
    tools = figures[CENSUS].items()
    ranges = {tool: dict(zip(NAMED, one["ranges"], strict=True)) for tool, one in tools if one["ranges"]}
    ours, theirs = ranges["Surebox, widths"], ranges["Mondrian, widths"]
    narrower = {name: _width(theirs[name]) / _width(ours[name]) for name in NAMED}
    known = None if people is None else people.x[:, list(people.means)].mean(axis=0).tolist()
    truths = recorded("equal_risk", ".truths") if known is None else known
    page = ["", "boxes", "values known", "guessed beyond chance", "mean hours between", "mean income between"]
    made = {
        "table": {"heads": HEADS, "rows": rows},
        "first_page": {"heads": page, "rows": first_page(figures[CENSUS])},
        "tables": figures,
        "narrower": narrower,
        "hours": {tool.split(",")[0]: ranges[tool]["hours"] for tool in ("Surebox, widths", "Mondrian, widths")},
        "truths": truths,
        "records": figures[CENSUS]["MDAV"]["released"],
    }
    record("equal_risk", COMMAND, made)


def _width(ends: list[float]) -> float:
    return ends[1] - ends[0]


if __name__ == "__main__":
    main()
