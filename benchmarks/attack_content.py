"""What means inside boxes leave to an attacker who knows all records of a box but one.

    PYTHONPATH=. python benchmarks/attack_content.py [--secrets 3]

Adult's six numeric columns, the CASC census and Tarragona's companies, k = 5, means listed, `optimal`; each with its
values as whole numbers and as real ones. An attacker who knows all records of a box but one subtracts them from the
published interval of their sum: the last one's values are then in a part of the box, its width for real numbers, the
number of its values for whole ones. Printed are the part that is left on average and, in brackets, the share of the
values that are known exactly. benchmarks/results has also the share of the values whose box has a mean, what is left
of these, and the least average of a column. Values that the bounds reveal have nothing to lose and are not counted:
those of boxes of no width, and with `tight` a least or greatest value that no other record of the box has. Averages are
over several secrets.

`exact` means are there for comparison: nothing is left but where the rules publish no mean, or three sums together.
Ends with 1 where `rounded` leaves less than half on average.
"""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.mixed_boxes import SHARED, SIX, anonymized, lines
from benchmarks.recorded import printed, record
from surebox_core.statistics import Statistic
from workers.algorithms.boxes.content import box_means_fault
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes, NumericColumn

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/attack_content.py"
SECRETS = 3
K = 5
LEAST = 0.5  # of a box, on average
BOUNDS = {
    ("cells", 1): "`cells`",
    ("grid", 1): "`grid` 1 %, one record",
    ("grid", 2): "`grid` 1 %, two records",
    ("tight", 1): "`tight`",
}
HEADS = ["table, `bounds`"] + [
    f"{values}, `{means}`" for means in ("rounded", "exact") for values in ("whole numbers", "as real numbers")
]


@dataclass(frozen=True)
class Left:
    """What `part` is left of each value that bounds leave `open`, whether `one` value, whether the mean is `known`."""

    open: np.ndarray
    part: np.ndarray
    one: np.ndarray
    known: np.ndarray
    column: np.ndarray


def tables() -> dict[str, np.ndarray]:
    """Complete records of whole numbers."""
    by_name = {"Adult": np.array([[float(row[i]) for i in SIX] for row in lines()])}
    for name, file in (("CASC", "CASCrefmicrodata.csv"), ("Tarragona", "Tarragona.csv")):
        by_name[name] = np.loadtxt(SHARED / "sdc" / file, delimiter=",", skiprows=1)
    return by_name


def known_by_bounds(x: np.ndarray, boxes: Boxes, *, attained: bool) -> np.ndarray:
    """Values of boxes of no width; where ends are attained, an end that no other record of the box has."""
    known = (boxes.upper == boxes.lower)[boxes.box]
    for ends in (boxes.lower, boxes.upper) if attained else ():
        at = x == ends[boxes.box]
        with_it = np.stack([np.bincount(boxes.box, weights=column) for column in at.T], axis=1)
        known |= at & (with_it[boxes.box] == 1.0)
    return known


def left(x: np.ndarray, boxes: Boxes, *, whole: bool, attained: bool) -> Left:
    """What who knows the others is left with, from what is published and from nothing else."""
    assert boxes.means is not None
    sums = np.stack([np.bincount(boxes.box, weights=column) for column in x.T], axis=1)
    others = sums[boxes.box] - x
    low, high, least, most = (each[boxes.box] for each in (boxes.lower, boxes.upper, *boxes.means))
    count = boxes.counts[boxes.box][:, None]
    known = ~np.isnan(least)
    first = np.where(known, np.maximum(least * count - others, low), low)
    last = np.where(known, np.minimum(most * count - others, high), high)
    wide = ~known_by_bounds(x, boxes, attained=attained)
    if whole:
        # whole numbers are far below 2^53, and the ends are off by far less than 0.01
        values = np.floor(last + 0.01) - np.ceil(first - 0.01) + 1.0
        assert (values[wide] >= 1.0).all()
        part, one = values[wide] / (high - low + 1.0)[wide], values[wide] == 1.0
    else:
        part = np.clip((last - first)[wide] / (high - low)[wide], 0.0, 1.0)
        one = part < 1e-9
    return Left(wide.ravel(), part, one, known[wide], np.nonzero(wide)[1])


def attacked(
    x: np.ndarray, box_means: str, bounds: str, min_records_at_bound: int, *, whole: bool, secrets: int
) -> Left | None:
    """Of a table, over several secrets; None where the rules refuse it."""
    n = x.shape[1]
    extent = np.ptp(x, axis=0)
    step = 1.0 if whole else None
    if box_means_fault(box_means, K, bounds, (step,) * n) is not None:  # type: ignore[arg-type]
        return None
    attacks = []
    for seed in range(secrets):
        request = BoxesRequest(
            K,
            tuple(Statistic("mean", (i,), 1.0 / extent[i]) for i in range(n)),
            bounds=bounds,  # type: ignore[arg-type]
            columns=tuple(NumericColumn(step, float(0.01 * extent[i])) for i in range(n)),
            min_records_at_bound=min_records_at_bound,
            box_means=box_means,  # type: ignore[arg-type]
            keys=new_keys(n, np.random.default_rng(seed)),
        )
        outcome, _ = anonymized(x, request)
        attacks.append(left(x, outcome.boxes, whole=whole, attained=bounds == "tight"))
    return Left(*(np.concatenate([getattr(one, name) for one in attacks]) for name in Left.__dataclass_fields__))


def part_left(rest: Left | None) -> str:
    """The part that is left on average, and the share of the values that are known exactly."""
    return "refused" if rest is None else f"{rest.part.mean():.3f} ({100 * rest.one.mean():.1f} %)"


def parts_left(rest: Left) -> dict[str, float | None]:
    """Shares of values open, of these with means and known exactly; parts left of all, with means, and of a column."""
    columns = np.bincount(rest.column, rest.part) / np.maximum(np.bincount(rest.column), 1)
    return {
        "open": rest.open.mean(),
        "with_means": rest.known.mean(),
        "left": rest.part.mean(),
        "left_with_means": rest.part[rest.known].mean() if rest.known.any() else None,
        "least_column": columns.min(),
        "exact": rest.one.mean(),
    }


def of_bounds(name: str, x: np.ndarray, bounds: str, sharing: int, secrets: int) -> dict[str, Any]:
    """A row of the table, and its figures by means and values; none where the rules refuse it."""
    row, figures = [f"{name}, {BOUNDS[bounds, sharing]}"], {}
    for box_means in ("rounded", "exact"):
        for values in ("whole", "real"):
            rest = attacked(x, box_means, bounds, sharing, whole=values == "whole", secrets=secrets)
            row.append(part_left(rest))
            if rest is not None:
                figures[f"{box_means}_{values}"] = parts_left(rest)
    return {"row": printed(*row), "figures": figures}


def main() -> int:
    """Attack, and print what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--secrets", type=int, default=SECRETS)
    secrets = parser.parse_args().secrets
    measured = {
        name: {f"{bounds}_{sharing}": of_bounds(name, x, bounds, sharing, secrets) for bounds, sharing in BOUNDS}
        for name, x in tables().items()
    }
    each = [one for of_table in measured.values() for one in of_table.values()]
    rounded = [one["figures"][f"rounded_{values}"] for one in each for values in ("whole", "real")]
    least = min(min(one["left"], one["left_with_means"] or 1.0) for one in rounded)
    column = min(one["least_column"] for one in rounded)
    print(f"rounded: {least:.3f} left at least, of a column {column:.3f}")
    if secrets == SECRETS:
        table = {"heads": HEADS, "rows": [one["row"] for one in each]}
        by_table = {name: {key: one["figures"] for key, one in rows.items()} for name, rows in measured.items()}
        record("attack_content", COMMAND, {"table": table, "least": least, "least_column": column, **by_table})
    return 1 if least < LEAST else 0


if __name__ == "__main__":
    raise SystemExit(main())
