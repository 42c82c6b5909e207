"""What a least width of a quarter of each column's natural scale costs and protects, beside the same request without.

    python benchmarks/least_widths.py

Demo's census (means of hours and faminc), Adult's six numeric columns, Tarragona's thirteen and a gaussian mixture of
200,000 records (all means, variances and correlations). Demanded are columns of at least eight different values, of
whole numbers at least two of them. `exact` is the share of the people whose value boxes give away, of the column where
it is largest. `sides` are the mean widths of boxes in demands, of the columns that are narrower than the demand where
nothing is demanded. CPU seconds are of the whole method with its ranges.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from app.demo.sources import census
from benchmarks.boxes import SHARED, adult, mixture
from benchmarks.recorded import printed, record, span
from surebox_core.ladder import rung_from
from surebox_core.statistics import Statistic, all_moments
from surebox_core.types import FloatArray
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes, NumericColumn

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/least_widths.py"
SHARE = 0.25
FEWEST = 8


def tables() -> dict[str, tuple[FloatArray, tuple[Statistic, ...], int]]:
    """Records, statistics and k."""
    with tempfile.TemporaryDirectory() as folder:
        mothers = pl.read_csv(census(Path(folder)).path, columns=["age", "educ", "hours", "faminc"])
    hours = mothers.select(pl.all().cast(pl.Float64)).to_numpy()
    firms = pl.read_csv(SHARED / "data" / "sdc" / "Tarragona.csv").select(pl.all().cast(pl.Float64)).to_numpy()
    means = (Statistic("mean", (2,)), Statistic("mean", (3,)))
    return {
        "census, k = 5": (hours, means, 5),
        "Adult, k = 5": (adult(), all_moments(6), 5),
        "Tarragona, k = 3": (firms, all_moments(firms.shape[1]), 3),
        "mixture, k = 10": (mixture(200_000), all_moments(5), 10),
    }


def columns_of(x: FloatArray) -> tuple[NumericColumn, ...]:
    return tuple(NumericColumn(step=1.0 if (column == np.round(column)).all() else None) for column in x.T)


def demanded(x: FloatArray, columns: tuple[NumericColumn, ...]) -> tuple[NumericColumn, ...]:
    """The columns with what is demanded of them."""
    made = []
    for column, values in zip(columns, x.T, strict=True):
        width = SHARE * rung_from(float(values.std())) if len(np.unique(values)) >= FEWEST else 0.0
        least = 0.0 if column.step is None or width == 0.0 else column.step
        made.append(replace(column, min_width=max(width, least)))
    return tuple(made)


def measured(x: FloatArray, request: BoxesRequest) -> tuple[Boxes, float]:
    start, rng = time.process_time(), np.random.default_rng(1)
    state = anonymization.init(x, request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state).boxes, time.process_time() - start


def main() -> None:
    rows = []
    for name, (x, statistics, k) in tables().items():
        free = BoxesRequest(k, statistics, columns=columns_of(x), unlisted_column_weight=0.03)
        held = replace(free, columns=demanded(x, free.columns))
        if not rows:  # kernels are compiled
            for request in (free, held):
                measured(x[:2_000], request)
        (without, before), (boxes, after) = measured(x, free), measured(x, held)
        demands = np.array([column.min_width for column in held.columns])
        some = demands > 0.0
        sides = [each.counts @ (each.upper - each.lower)[:, some] / len(x) / demands[some] for each in (without, boxes)]
        exact = [(each.counts @ (each.upper == each.lower) / len(x))[some].max() for each in (without, boxes)]
        narrow = sides[0] < 1.0
        shown = [span(each[narrow], ".2f") if narrow.any() else "none" for each in sides]
        rows.append(
            printed(
                name,
                f"{len(without.counts):,} to {len(boxes.counts):,}",
                f"{100 * exact[0]:.0f} to {100 * exact[1]:.0f} %",
                f"{int(narrow.sum())} of {int(some.sum())}",
                f"{shown[0]}; {shown[1]}",
                f"{before:.2f} to {after:.2f}",
            )
        )
    heads = ["data", "boxes", "exact", "columns narrower than demanded", "sides without; with", "CPU s"]
    record("least_widths", COMMAND, {"table": {"heads": heads, "rows": rows}})


if __name__ == "__main__":
    main()
