"""Shapes of jobs and questions whose cost is not in their rows and columns alone: what `benchmarks/estimates.py` adds.

Texts of many values, cross-tables, demands on sensitive columns, many statistics, exhaustive and evolving searches,
long recodings, and questions to releases of every method.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from tests.methods.in_process import Bench

#: What to call a job, and its body.
Bodies: TypeAlias = Iterator[tuple[str, dict[str, Any]]]
#: Records and values of each of three texts; the last is 113 bytes of specification, and a release of a gigabyte.
TEXTS: Final = {
    "texts, few values": (20_000, 100),
    "texts, more values": (20_000, 300),
    "texts": (20_000, 1_000),
    "texts, large": (100_000, 1_000),
}
#: Values of each of two texts whose cross-table takes less than a minute.
FOLLOWED: Final = 100
#: Records of texts of more than which only some jobs are measured.
MOST_MEASURED: Final = 50_000
#: Records of the tables that demands and statistics are about.
SENSITIVE: Final = {"demands": 5_000, "demands, large": 100_000}
#: Records that searches look at.
SEARCHED: Final = {"searches": 5_000, "searches, large": 100_000}
#: Records that the largest populations evolve on.
EVOLVING: Final = {"populations": 5_000}
#: Records of releases that are asked.
ASKED: Final = {"questions": 4_000, "questions, large": 60_000}


def texts(rows: int, values: int) -> pl.DataFrame:
    """Three texts of so many values each, at random."""
    drawn = np.random.default_rng(5).integers(0, values, size=(rows, 3))
    return pl.DataFrame({f"n{at}": [f"{'vwx'[at]}{value}" for value in drawn[:, at].tolist()] for at in range(3)})


def text_bodies(bench: Bench, values: int) -> Bodies:
    """Boxes of one, two and three texts, a cross-table, one format, and questions by values."""
    names = ["n0", "n1", "n2"]
    boxes = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": names, "k": 5}
    yield "boxes of three texts", boxes
    yield "of one text", boxes | {"quasi_identifiers": names[:1]}
    if bench.datasets["d"].rows > MOST_MEASURED:  # a cross-table of these, and what would fit for it, take an hour
        return
    yield "of three, k 50", boxes | {"k": 50}
    yield "of three, Parquet alone", boxes | {"formats": ["parquet"]}
    two = boxes | {"quasi_identifiers": names[:2], "statistics": [{"kind": "crosstab", "of": names[:2]}]}
    if values <= FOLLOWED:
        yield "of two, cross-table", two
        yield "of two, cross-table, fast", two | {"partition": "fast"}
    bench.release("r", boxes)
    yield "count by a value", {"method": "count", "release_id": "r", "queries": [{"n0": {"values": ["v1"]}}]}
    queries = [{"n0": {"values": [f"v{value % 100}"]}} for value in range(500)]
    yield "500 counts by a value", {"method": "count", "release_id": "r", "queries": queries}
    yield "shares", {"method": "statistics", "release_id": "r", "statistics": [{"kind": "share", "of": ["n0"]}]}


def numbers(rows: int, columns: int = 6) -> pl.DataFrame:
    """Numbers, an id, a few codes and a hundred."""
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(draw.normal(size=(rows, columns)).round(3), schema=[f"x{at}" for at in range(columns)])
    return frame.with_columns(
        id=pl.Series(draw.permutation(rows)),
        few=pl.Series(draw.integers(0, 6, rows).astype(str)),
        many=pl.Series(draw.integers(0, 100, rows).astype(str)),
        whole=pl.Series(draw.integers(0, 1_000, rows)),
    )


def demand_bodies(bench: Bench) -> Bodies:  # noqa: ARG001 - as all others
    """Demands on sensitive columns, and many statistics."""
    boxes = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": ["x0", "x1", "whole"], "k": 5}
    mean = [{"kind": "mean", "of": ["x0"]}]
    plain = boxes | {"statistics": mean}
    yield "l of few", plain | {"sensitive": ["few"], "l": 3}
    yield "t of few", plain | {"sensitive": ["few"], "t": 0.3}
    yield "t of many, ordered", plain | {"sensitive": ["id"], "t": 0.3, "t_distance": {"id": "ordered"}}
    yield "t of many, ordered, k 50", plain | {
        "sensitive": ["id"], "t": 0.3, "t_distance": {"id": "ordered"}, "k": 50,
    }  # fmt: skip
    yield "t of many, equal", plain | {"sensitive": ["id"], "t": 0.9, "t_distance": {"id": "equal"}}
    yield "alpha of few", plain | {"sensitive": ["few"], "alpha": 0.6}
    yield "all statistics", boxes
    quantiles = [{"kind": "quantile", "of": ["x0"], "p": (at + 1) / 102} for at in range(100)]
    yield "100 quantiles", boxes | {"statistics": quantiles}
    yield "100 quantiles, fast", boxes | {"statistics": quantiles, "partition": "fast"}
    yield "regressions", boxes | {"statistics": [{"kind": "regression", "of": ["x0", "x1", "whole"]}] * 5}
    yield "shares of many", boxes | {"keep": ["many"], "statistics": [{"kind": "share", "of": ["many"]}]}
    yield "fast", plain | {"partition": "fast"}
    yield "tight", plain | {"bounds": "tight"}
    yield "mondrian", plain | {"partition": "mondrian"}


def searched(rows: int) -> pl.DataFrame:
    """Eight numbers, a region for five records, one of thirty jobs, and three codes."""
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(draw.random(size=(rows, 8)).round(4), schema=[f"g{at}" for at in range(8)])
    return frame.with_columns(
        region=pl.Series([f"R{place}" for place in draw.integers(0, rows // 5, rows).tolist()]),
        job=pl.Series([f"J{row % 30}" for row in range(rows)]),
        code=pl.Series(draw.integers(0, 10_000, rows)),
        other=pl.Series(draw.integers(0, 50, rows)),
    )


def search_bodies(bench: Bench, *, large: bool) -> Bodies:  # noqa: ARG001 - as all others
    """Exhaustive searches of many variables and terms, large populations, long recodings, swaps of many places."""
    terms = [{"name": f"t{at}", "shape": "range", "points": [at / 20, (at + 1) / 20]} for at in range(20)]
    names = [f"g{at}" for at in range(8)]
    group = {
        "method": "group", "auxiliary_dataset_id": "d", "region_columns": ["region"],
        "hidden_group": {"column": "job", "values": ["J3"]}, "search": {"method": "exhaustive"},
    }  # fmt: skip

    def variables(many: int) -> list[dict[str, Any]]:
        return [{"column": name, "range": [0, 1], "terms": terms} for name in names[:many]]

    every = group | {"min_support": 0, "min_relative_confidence": 0}
    for many in (4, 6, 8):
        yield f"exhaustive, {many} x 20, every rule", every | {"variables": variables(many)}
    yield "exhaustive, 8 x 20", group | {"variables": variables(8)}
    cases = [{"when": {"code": [at], "other": list(range(5))}, "to": str(at % 7)} for at in range(10_000)]
    derived = {"made": {"columns": ["code", "other"], "cases": cases, "otherwise": "8"}}
    yield "recode, 10,000 cases", group | {
        "variables": variables(2), "recode": {"auxiliary": derived},
        "hidden_group": {"column": "made", "values": ["3"]},
    }  # fmt: skip
    for population in (100, 1_000) if large else (100, 1_000, 2_000):
        evolving = {"method": "evolution", "population": population, "replaced": population // 2, "generations": 20}
        yield f"evolution of {population:,}", group | {"variables": variables(6), "search": evolving | {"runs": 1}}
    swaps = {
        "method": "swaps", "dataset_id": "d", "region_columns": ["region"], "decoys": 10,
        "rules_model": {"variables": variables(2), "rules": [{"terms": [1, 1]}]}, "search": {"method": "assignment"},
    }  # fmt: skip
    yield "swaps of many places", swaps


def population_bodies(bench: Bench) -> Bodies:
    """Evolutions of the largest population, of which few rules are replaced, and half, with diversity and without."""
    evolving = next(body for name, body in search_bodies(bench, large=True) if name == "evolution of 1,000")
    for name, more in {
        "10,000, 40 replaced": {"generations": 100},
        "10,000, half replaced": {"replaced": 5_000, "generations": 4},
        "10,000, the paper's": {"replaced": 5_000, "generations": 40, "diversity": False},
    }.items():
        search = {"method": "evolution", "population": 10_000, "runs": 1} | more
        yield f"evolution of {name}", evolving | {"search": search}


def question_bodies(bench: Bench, rows: int) -> Bodies:
    """Questions of each kind to releases of each method."""
    names = ["x0", "x1", "x2", "x3"]
    draw = np.random.default_rng(1)
    common = {"dataset_id": "d", "quasi_identifiers": names, "k": 5, "keep": ["few", "many"]}
    bench.release("boxes", common | {"method": "boxes", "partition": "fast"})
    bench.release("uncertain", common | {"method": "uncertain", "k": 5.0})
    bench.release("condensation", common | {"method": "condensation"})
    if rows < 10_000:
        bench.release("rotated", common | {"method": "uncertain", "k": 5.0, "axes": "rotated", "scales": "per_record"})
    for of in bench.releases:
        for many in (1, 10_000 if of != "rotated" else 500):
            queries = [{"x0": [low, low + 0.5], "x1": [-1.0, 0.3]} for low in draw.normal(size=many).tolist()]
            yield f"{many:,} counts, {of}", {"method": "count", "release_id": of, "queries": queries}
        points = [dict.fromkeys(names, value) for value in draw.normal(size=1_000).tolist()]
        yield (
            f"1,000 points, {of}",
            {"method": "classify", "release_id": of, "target": "few", "neighbours": 10, "points": points},
        )
    questions = {
        "means": [{"kind": "mean", "of": [name]} for name in names],
        "quantiles": [{"kind": "quantile", "of": ["x0"], "p": at / 100} for at in range(1, 90)],
        "covariances": [{"kind": "covariance", "of": ["x0", name]} for name in names[1:]] * 10,
        "correlations": [{"kind": "correlation", "of": ["x0", name]} for name in names[1:]],
        "regressions": [{"kind": "regression", "of": draw.permutation(names).tolist()} for _ in range(4)],
        "shares": [{"kind": "share", "of": ["many"]}],
        "cross-table": [{"kind": "crosstab", "of": ["few", "many"]}],
        "means within": [{"kind": "domain_mean", "of": ["x0", "many"]}],
    }
    for kind, statistics in questions.items():
        yield kind, {"method": "statistics", "release_id": "boxes", "statistics": statistics}


def shapes() -> Iterator[tuple[str, pl.DataFrame, Any]]:
    """List the cases: the name of each, its table and its jobs."""
    for name, size in TEXTS.items():
        yield name, texts(*size), partial(text_bodies, values=size[1])
    for name, rows in SENSITIVE.items():
        yield name, numbers(rows), demand_bodies
    for name, rows in SEARCHED.items():
        yield name, searched(rows), partial(search_bodies, large=rows > 10_000)
    for name, rows in EVOLVING.items():
        yield name, searched(rows), population_bodies
    for name, rows in ASKED.items():
        yield name, numbers(rows), partial(question_bodies, rows=rows)
