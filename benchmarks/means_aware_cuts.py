"""Measure the gain of other statistics where cuts know that means are published, at equal records a box.

    python benchmarks/means_aware_cuts.py

With rounded means the certain range of a mean follows from records a box, so cuts count less of its weight where no
other statistic names its column (workers.algorithms.boxes.deciding.mean_shares). Demo's census, Adult's six numeric
columns, the first five columns of Tarragona and CASC, and a gaussian mixture of 20,000 records; without least widths,
and with those of least_widths.py. Requested are

- `two`: all means, and of the last two columns variances, correlation and the regression of one on the other;
- `all`: all means, variances and correlations. Every column has another statistic, so cuts count means as a release
  without does; compared is what happens if means are left out.

Both sides have rounded means of the same secrets; before, boxes are those of a release without. A figure is the
geometric mean over variances, correlations and coefficients of the width over that before, and the largest of these
ratios; then both of the means. Widths that are unbounded in one of both do not count.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.boxes import SHARED, adult, mixture
from benchmarks.columns import columns_of, demanded
from benchmarks.equal_risk import CENSUS
from benchmarks.equal_risk import tables as real_tables
from benchmarks.recorded import printed, record
from surebox_core.statistics import Statistic, all_moments
from surebox_core.types import FloatArray
from surebox_verify.boxes import Meaning
from surebox_verify.estimates import affordable, estimates, reading_steps
from surebox_verify.readings import Readings
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.published import with_content
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import Certifying

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/means_aware_cuts.py"
FIVE = 5
HEADS = ["data, statistics, k", "least widths", "records a box, before and after", "others, most", "means, most"]
CASES = [("two", k, held) for k in (5, 10) for held in (False, True)] + [("all", 5, False)]


def data() -> dict[str, FloatArray]:
    """Tables whose ranges take seconds."""
    sdc = {
        name: pl.read_csv(SHARED / "data" / "sdc" / file).select(pl.all().cast(pl.Float64)).to_numpy()[:, :FIVE]
        for name, file in (("Tarragona", "Tarragona.csv"), ("CASC", "CASCrefmicrodata.csv"))
    }
    ours = {"census": dict(real_tables())[CENSUS].x, "Adult": adult()}
    return {name: np.ascontiguousarray(x) for name, x in (ours | sdc | {"mixture": mixture(20_000)}).items()}


def statistics_of(columns: int, which: str) -> tuple[Statistic, ...]:
    """All moments, or all means with what is about the last two columns."""
    if which == "all":
        return all_moments(columns)
    pair = (columns - 2, columns - 1)
    means = tuple(Statistic("mean", (i,)) for i in range(columns))
    singles = tuple(Statistic("variance", (i,)) for i in pair)
    return (*means, *singles, Statistic("correlation", pair), Statistic("regression", pair[::-1]))


def boxes_of(x: FloatArray, request: BoxesRequest) -> Boxes:
    """The boxes of a request, without its ranges."""
    state, rng = anonymization.init(x, request), np.random.default_rng(1)
    while not isinstance(state, Certifying):
        state = anonymization.step(state, rng=rng)
    return state.boxes


def widths(boxes: Boxes, request: BoxesRequest, statistics: tuple[Statistic, ...]) -> dict[str, FloatArray]:
    """Of the means and of the other statistics; infinite where unbounded."""
    steps = tuple(column.step for column in request.columns)
    readings = Readings(boxes, Meaning(steps=steps, least=request.k, labels=request.labels), None)
    of_kind: dict[str, list[float]] = {"means": [], "others": []}
    for one in statistics:
        work = reading_steps(one, readings, affordable(one, statistics, len(boxes.counts)), 0)
        while work.ranges is None:
            work.step()
        for part in estimates(one, readings, work.ranges, 0):
            of = of_kind["means" if one.kind == "mean" else "others"]
            of.append(np.inf if part.guaranteed is None else part.guaranteed.width)
    return {name: np.array(each) for name, each in of_kind.items()}


def compared(after: Mapping[str, FloatArray], before: Mapping[str, FloatArray]) -> dict[str, float]:
    """Geometric means of ratios of widths, and the largest ratios."""
    figures = {}
    for name in after:
        bounded = np.isfinite(after[name]) & np.isfinite(before[name]) & (before[name] > 0.0)
        ratios = after[name][bounded] / before[name][bounded]
        figures |= {name: float(np.exp(np.log(ratios).mean())), f"{name}_most": float(ratios.max())}
    return figures


def measured(x: FloatArray, k: int, which: str, *, held: bool) -> tuple[str, dict[str, float]]:
    """Records a box before and after, and what cuts that know of the means give."""
    statistics, columns = statistics_of(x.shape[1], which), columns_of(x)
    columns = demanded(x, columns) if held else columns
    keys = new_keys(x.shape[1], np.random.default_rng(2))
    old = BoxesRequest(k, statistics, columns=columns, unlisted_column_weight=0.03, keys=keys)
    averaged = replace(old, box_means="rounded")
    others = tuple(one for one in statistics if one.kind != "mean")
    before = with_content(boxes_of(x, old), x, averaged, keys)
    after = boxes_of(x, averaged if which == "two" else replace(averaged, statistics=others))
    sizes = " and ".join(f"{len(x) / len(boxes.counts):.1f}" for boxes in (before, after))
    return sizes, compared(*(widths(boxes, averaged, statistics) for boxes in (after, before)))


def main() -> None:
    rows, figures = [], []
    for name, x in data().items():
        for which, k, held in CASES:
            sizes, one = measured(x, k, which, held=held)
            shown = [f"{one[kind]:.2f}, {one[f'{kind}_most']:.2f}" for kind in ("others", "means")]
            rows.append(printed(f"{name}, {which}, {k}", "a quarter" if held else "none", sizes, *shown))
            figures.append({"which": which, "held": held, **one})
    summary = {
        f"{which}_{'held' if held else 'free'}": spread_of(
            [one for one in figures if (one["which"], one["held"]) == (which, held)]
        )
        for which, held in dict.fromkeys((which, held) for which, _, held in CASES)
    }
    print(summary)
    record("means_aware_cuts", COMMAND, {"table": {"heads": HEADS, "rows": rows}, **summary})


def spread_of(figures: list[dict[str, Any]]) -> dict[str, float]:
    """Over tables and k: geometric mean, least and largest of the others, and the largest ratios of single ones."""
    others = [one["others"] for one in figures]
    most = {name: max(one[name] for one in figures) for name in ("others_most", "means", "means_most")}
    return {
        "others": float(np.exp(np.mean(np.log(others)))),
        "least": min(others),
        "largest": max(others),
        **most,
    }


if __name__ == "__main__":
    main()
