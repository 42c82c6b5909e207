"""What releases of Adult leave together, for choices of them that a publisher could make.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/overlays.py [--only TEXT]

Five box releases, k = 5 unless said otherwise: persons with fewer than five in the overlay of the boxes, and with fewer
than five rows, joined by what is kept. Boxes and an uncertain release, k = 10: records whose true row is below rank
ten. Each line is one choice of columns and partition, each column of figures one choice of kept columns.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.audits import adult, slug  # noqa: E402
from benchmarks.recorded import as_table, printed, record  # noqa: E402
from tests.methods.in_process import Bench  # noqa: E402

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/overlays.py"
FIVE_HEADS = ["five releases, k = 5", "partition", "overlay below five"]
BOTH_HEAD = "boxes and an uncertain release, k = 10"
THREE = ["age", "education-num", "hours-per-week"]
FOUR = [*THREE, "capital-gain"]
SIX = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
KEPT: tuple[list[str], ...] = ([], ["income"], ["income", "sex"], ["income", "sex", "race"])
SETS = {"three": THREE, "four": FOUR, "six": SIX}


def about(columns: list[str], kind: str = "mean", **more: Any) -> dict[str, Any]:
    """What one release says of itself."""
    return {"quasi_identifiers": columns, "statistics": [{"kind": kind, "of": [one]} for one in columns]} | more


def choices() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Names of choices, and what differs between the five releases of each."""
    for name, columns in SETS.items():
        yield f"{name} columns, k = 5, 6, 7, 8, 10", [about(columns, k=k) for k in (5, 6, 7, 8, 10)]
        yield (
            f"{name} columns, one statistic each",
            [about(columns) | {"statistics": [{"kind": kind, "of": [columns[at]]}]}
             for kind, at in (("mean", 0), ("variance", 0), ("mean", 1), ("variance", 1), ("mean", 2))],
        )  # fmt: skip
        yield (
            f"other k, statistics and columns of {name}",
            [about(columns), about(columns, k=6), about(columns, "variance", k=10), about(columns[:2]),
             about(columns[1:])],
        )  # fmt: skip
    for size, name in ((2, "pairs"), (3, "triples")):
        every = [list(one) for one in combinations(SIX, size)]
        for seed in range(3):
            drawn = np.random.default_rng([5, size, seed]).permutation(len(every))[:5]
            yield f"five {name} of six, draw {seed + 1}", [about(every[one]) for one in drawn]


def overlaid(frame: pl.DataFrame, five: list[dict[str, Any]], common: dict[str, Any]) -> dict[str, Any]:
    """The audit `composition` of five box releases."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.dataset("data", frame)
        for place, one in enumerate(five):
            bench.release(f"r{place}", {"method": "boxes", "dataset_id": "data", "k": 5} | common | one, seed=place)
        body = {"method": "composition", "release_ids": list(bench.releases), "k_required": 5, "sensitive": ["income"]}
        return dict(bench.run(body).result)


def linked(frame: pl.DataFrame, columns: list[str], kept: list[str]) -> dict[str, Any]:
    """The audit `linkage` of boxes and an uncertain release of the same columns."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.dataset("data", frame)
        common = {"dataset_id": "data", "quasi_identifiers": columns, "keep": kept, "k": 10, "formats": ["parquet"]}
        bench.release("boxes", common | about(columns) | {"method": "boxes"}, seed=0)
        bench.release("noise", common | {"method": "uncertain"}, seed=1)
        return dict(bench.run({"method": "linkage", "release_ids": ["boxes", "noise"]}).result)


def five_rows(frame: pl.DataFrame, only: str) -> Iterator[tuple[str, str, list[float]]]:
    """Each choice of five releases: its name, the partition, the overlay, and candidates by what is kept."""
    for name, five in choices():
        for partition in ("optimal", "mondrian") if only in name else ():
            made = [overlaid(frame, five, {"partition": partition, "keep": kept, "formats": ["parquet"]})
                    for kept in KEPT[1:]]  # fmt: skip
            yield name, partition, [made[0]["overlay_below"], *(one["candidates_below"] for one in made)]


def shown(*names: str, shares: list[float]) -> list[str]:
    return printed(*names, *(f"{one:.1%}" for one in shares))


def spread(shares: dict[str, dict[str, list[float]]]) -> dict[str, list[float]]:
    """The least and the largest figure of all choices, of the overlay and of the candidates."""
    every = [one for of in shares.values() for one in of.values()]
    overlay, candidates = [one[0] for one in every], [value for one in every for value in one[1:]]
    return {"overlay": [min(overlay), max(overlay)], "candidates": [min(candidates), max(candidates)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="choices whose name has it")
    only = parser.parse_args().only
    frame = adult().select(*SIX, "income", "sex", "race").drop_nulls()
    kept_heads = [", ".join(kept) for kept in KEPT[1:]]
    rows = [printed(*FIVE_HEADS, *(f"fewer than five rows, joined by {kept}" for kept in kept_heads))]
    shares: dict[str, dict[str, list[float]]] = {}
    for name, partition, figures in five_rows(frame, only):
        shares.setdefault(slug(name), {})[partition] = figures
        rows.append(shown(name, partition, shares=figures))
    both_rows, below = [printed(BOTH_HEAD, "nothing kept", *kept_heads)], {}
    for name, columns in SETS.items():
        if only in name:
            below[name] = [linked(frame, columns, kept)["share_below_k"] for kept in KEPT]
            both_rows.append(shown(f"{name} columns", shares=below[name]))
    if not only:
        five = {"table": as_table(rows), "shares": shares, "spread": spread(shares)}
        both = {"table": as_table(both_rows), "shares": below}
        record("overlays", COMMAND, {"five": five, "both": both})


if __name__ == "__main__":
    main()
