"""What releases of Adult leave together, for choices of them that a publisher could make; prints Markdown.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/overlays.py [--only TEXT]

Five box releases, k = 5 unless said otherwise: persons with fewer than five in the overlay of the boxes, and with fewer
than five rows, joined by what is kept. Boxes beside an uncertain release, k = 10: records whose true row stands below
rank ten. Each line is one choice of columns, kept columns and partition.
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

from benchmarks.audits import adult  # noqa: E402
from tests.methods.in_process import Bench  # noqa: E402

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="choices whose name has it")
    only = parser.parse_args().only
    frame = adult().select(*SIX, "income", "sex", "race").drop_nulls()
    print("| five releases | partition | kept | overlay below 5 | candidates below 5 | one income |")
    print("|---|---|---|---|---|---|")
    for name, five in choices():
        for partition in ("optimal", "mondrian") if only in name else ():
            for kept in KEPT:
                made = overlaid(frame, five, {"partition": partition, "keep": kept, "formats": ["parquet"]})
                figures = (made["overlay_below"], made["candidates_below"], made["sensitive"][0]["homogeneous"])
                cells = " | ".join(f"{one:.1%}" for one in figures)
                print(f"| {name} | {partition} | {', '.join(kept) or 'nothing'} | {cells} |", flush=True)
    print("\n| boxes and an uncertain release | kept | below rank 10 | rank 1 |\n|---|---|---|---|")
    for name, columns in SETS.items():
        for kept in KEPT if only in name else ():
            made = linked(frame, columns, kept)
            cells = f"{made['share_below_k']:.1%} | {made['share_rank_1']:.1%}"
            print(f"| {name} columns | {', '.join(kept) or 'nothing'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
