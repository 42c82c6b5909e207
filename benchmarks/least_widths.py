"""Compare default least widths with the same request without them, and with rounded means: cost and protection.

    python benchmarks/least_widths.py [table ...]

Tables that are not named stay as they were recorded. Six tables and a gaussian mixture of 200,000 records; of the
census the means of hours and faminc are named, of the mixture, Tarragona and once Adult all moments, of the others the
means of all columns and the correlation of each with the next. k is 5, of Tarragona 3 and of the mixture 10. Adult has
its six numeric columns; CASC has 1,080 records, the others of equal_risk.py are samples of 10,000.

`exact` is the share of the people whose value boxes give away, of the column where it is largest; in brackets those in
boxes that all have the spike. `sides` are mean widths in demands, of the columns where more than a tenth of the people
off the spike are in boxes narrower than the demand if nothing is demanded, over these people; `records` is what the
records of their boxes span of that. `ranges` are means over the statistics of the certain widths: of means in
deviations, of all others in those without widths. CPU seconds are of the whole method with its ranges.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import equal_risk
from benchmarks.boxes import SHARED, adult, mixture
from benchmarks.columns import columns_of, demanded
from benchmarks.recorded import RESULTS, printed, record, recorded, span
from surebox_core.statistics import Statistic, all_moments
from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.content import BoxMeans
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes, NumericColumn

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/least_widths.py"
HEADS = ["data", "boxes", "exact", "columns narrower than demanded", "sides", "records", "NCP", "ranges", "CPU s"]
NARROWER = 0.1  # share of people from which on a column counts as narrower than demanded


def tables() -> Iterator[tuple[str, tuple[FloatArray, tuple[Statistic, ...], int]]]:
    """Records, statistics and k."""
    for name, table in equal_risk.tables():
        yield f"{name}, k = 5", (table.x, table.statistics, 5)
    firms = np.loadtxt(SHARED / "data" / "sdc" / "Tarragona.csv", delimiter=",", skiprows=1)
    yield "Tarragona, k = 3", (firms, all_moments(firms.shape[1]), 3)
    yield "Adult, all, k = 5", (adult(), all_moments(6), 5)
    yield "mixture, k = 10", (mixture(200_000), all_moments(5), 10)


class Made:
    """The boxes of one request, and what it cost."""

    def __init__(self, x: FloatArray, request: BoxesRequest) -> None:
        start, rng = time.process_time(), np.random.default_rng(1)
        state = anonymization.init(x, request)
        while not anonymization.done(state):
            state = anonymization.step(state, rng=rng)
        outcome = anonymization.result(state)
        self.boxes: Boxes = outcome.boxes
        self.seconds = time.process_time() - start
        ranges = [one.published[0].guaranteed for one in outcome.certificates]
        self.widths = np.array([np.nan if one is None else one.upper - one.lower for one in ranges], dtype=np.float64)

    def widths_of(self, index: int, of: BoolArray | None = None) -> float:
        """Mean width of some boxes in a column, by records; of all of them by default."""
        boxes = self.boxes
        counts = boxes.counts if of is None else boxes.counts * of
        return float(counts @ (boxes.upper - boxes.lower)[:, index] / max(int(counts.sum()), 1))

    def others(self, x: FloatArray, index: int, spike: float | None) -> BoolArray:
        """Boxes with a record that has another value than the spike."""
        return np.bincount(self.boxes.box, x[:, index] != spike, len(self.boxes.counts)) > 0.0

    def sides(self) -> FloatArray:
        """Widths of each person's box, (N, n)."""
        widths: FloatArray = self.boxes.upper - self.boxes.lower
        return widths[self.boxes.box]

    def spans(self, x: FloatArray) -> FloatArray:
        """Extents of the records of each person's box, (N, n)."""
        lower: FloatArray = np.full(self.boxes.lower.shape, np.inf)
        upper: FloatArray = -lower
        np.minimum.at(lower, self.boxes.box, x)
        np.maximum.at(upper, self.boxes.box, x)
        return np.asarray(upper - lower, dtype=np.float64)[self.boxes.box]

    def exact(self, x: FloatArray, columns: tuple[NumericColumn, ...]) -> tuple[float, float]:
        """Largest share of people whose value is given away off the spike, and largest share in boxes of the spike."""
        boxes, off, alone = self.boxes, [0.0], [0.0]
        for index, column in enumerate(columns):
            point = boxes.upper[:, index] == boxes.lower[:, index]
            others = self.others(x, index, column.spike)
            off.append(float(boxes.counts @ (point & others)) / len(x))
            alone.append(float(boxes.counts @ ~others) / len(x))
        return max(off), max(alone)


def measured(x: FloatArray, statistics: tuple[Statistic, ...], k: int) -> list[Any]:
    """One row of the table."""
    free = BoxesRequest(k, statistics, columns=columns_of(x), unlisted_column_weight=0.03)
    held = replace(free, columns=demanded(x, free.columns, k))
    means: BoxMeans = "rounded"
    without, wide, averaged = (Made(x, one) for one in (free, held, replace(held, box_means=means)))
    some = [(index, column) for index, column in enumerate(held.columns) if column.min_width > 0.0]
    of_people = [without.sides(), wide.sides(), wide.spans(x)]
    ratios = []
    for index, column in some:
        off = wide.others(x, index, column.spike)[wide.boxes.box]
        narrower = off & (of_people[0][:, index] < column.min_width)
        if narrower.sum() > NARROWER * off.sum():
            ratios.append([float(each[narrower, index].mean()) / column.min_width for each in of_people])
    sides, extent = np.array(ratios).reshape(-1, 3).T, np.ptp(x, axis=0)
    exact = [each.exact(x, held.columns) for each in (without, wide)]
    unit = np.array(
        [
            x[:, one.of[0]].std() if one.kind == "mean" else width
            for one, width in zip(statistics, without.widths, strict=True)
        ]
    )
    ranges = [float(np.nanmean(each.widths / unit)) for each in (without, wide, averaged)]
    ncp = [
        float(np.mean([each.widths_of(i) / extent[i] for i in range(x.shape[1]) if extent[i] > 0.0]))
        for each in (without, wide)
    ]
    return [
        f"{len(without.boxes.counts):,} to {len(wide.boxes.counts):,}",
        f"{100 * exact[0][0]:.0f} to {100 * exact[1][0]:.0f} % ({100 * exact[1][1]:.0f} %)",
        f"{len(ratios)} of {len(some)}",
        "; ".join(span(each, ".2f") if ratios else "none" for each in sides[:2]),
        span(sides[2], ".2f") if ratios else "none",
        f"{ncp[0]:.3f} to {ncp[1]:.3f}",
        f"{ranges[0]:.3f}, {ranges[1]:.3f}; with means {ranges[2]:.3f}",
        f"{without.seconds:.1f} to {wide.seconds:.1f}",
    ]


def main(names: list[str]) -> None:
    """Measure the tables whose names start so, or all."""
    before = recorded("least_widths", ".table.rows") if names and (RESULTS / "least_widths.json").exists() else []
    rows = {row[0]: row for row in before}
    for name, (x, statistics, k) in tables():
        if names and not any(name.startswith(one) for one in names):
            continue
        if name not in rows:
            measured(x[:2_000], statistics, k)  # kernels are compiled
        rows[name] = printed(name, *measured(x, statistics, k))
    record("least_widths", COMMAND, {"table": {"heads": HEADS, "rows": list(rows.values())}})


if __name__ == "__main__":
    main(sys.argv[1:])
