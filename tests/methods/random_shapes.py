"""Random jobs and questions over random tables: wide, tall, of many categories, statistics, swaps, rules and cases.

Everything follows from a seed. Sizes are drawn by powers, so that what dominates differs from one shape to the next.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from app.jobs.estimates import estimated
from app.jobs.needs import Estimate
from tests.methods.in_process import Bench

#: A request as it is sent.
Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """A table, `d`; releases to be made of it first, by name; and what is measured."""

    name: str
    frame: pl.DataFrame
    body: Body
    first: dict[str, Body] = field(default_factory=dict)


class _Drawn:
    """Draws of one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 4_302])

    def size(self, least: float, most: float) -> int:
        """A whole number, by its logarithm."""
        return int(np.exp(self.rng.uniform(np.log(least), np.log(most))))

    def one(self, *choices: Any) -> Any:
        """One of several."""
        return choices[int(self.rng.integers(len(choices)))]

    def some(self, names: list[str], least: int = 1) -> list[str]:
        """At least so many of some names, in any order."""
        many = int(self.rng.integers(least, len(names) + 1))
        return [str(name) for name in self.rng.permutation(names)[:many]]

    def numbers(self, rows: int, columns: int) -> pl.DataFrame:
        """Numbers `x0`, … that may hang together, be whole, or be skewed."""
        values = self.rng.normal(size=(rows, columns))
        if self.rng.random() < 0.5:
            values = values @ self.rng.normal(size=(columns, columns)) / columns**0.5
        if self.rng.random() < 0.3:
            values = np.exp(values.clip(-8, 8))
        digits = int(self.one(0, 1, 3))
        return pl.DataFrame(values.round(digits), schema=[f"x{at}" for at in range(columns)])

    def texts(self, rows: int, name: str, values: int) -> pl.Series:
        """A text of about so many values, evenly or unevenly common."""
        if self.rng.random() < 0.5:
            drawn = self.rng.integers(0, values, rows)
        else:
            drawn = (values * self.rng.random(rows) ** 2).astype(int)
        return pl.Series(name, [f"{name}{one}" for one in drawn.tolist()])

    def statistics(self, names: list[str], texts: list[str]) -> list[Body]:
        """A few statistics, or many, of numbers and texts."""
        made: list[Body] = []
        for _ in range(self.size(1, 40)):
            kinds = ["mean", "variance", "quantile"] + ["covariance", "correlation", "regression"] * (len(names) > 1)
            kinds += ["share", "domain_mean"] * (bool(texts)) + ["crosstab"] * (len(texts) > 1)
            made.append(self._statistic(str(self.one(*kinds)), names, texts))
        return made

    def _statistic(self, kind: str, names: list[str], texts: list[str]) -> Body:
        mixed = [str(name) for name in self.rng.permutation(names)]
        if kind == "quantile":
            return {"kind": kind, "of": mixed[:1], "p": round(float(self.rng.uniform(0.05, 0.95)), 3)}
        if kind == "regression":
            return {"kind": kind, "of": mixed[: int(self.rng.integers(2, min(5, len(mixed)) + 1))]}
        if kind in ("share", "domain_mean"):
            return {"kind": kind, "of": [*(mixed[:1] if kind == "domain_mean" else []), str(self.one(*texts))]}
        if kind == "crosstab":
            return {"kind": kind, "of": [str(name) for name in self.rng.permutation(texts)[:2]]}
        return {"kind": kind, "of": mixed[: 2 if kind in ("covariance", "correlation") else 1]}


def _boxes(drawn: _Drawn) -> Shape:
    """Boxes of numbers and texts, with statistics, or with a demand."""
    columns, many = drawn.size(1, 12), int(drawn.rng.integers(0, 4))
    rows = drawn.size(20_000, 1_000_000 / (1 + many) ** 2)
    frame = drawn.numbers(rows, columns)
    texts = [f"n{at}" for at in range(many)]
    frame = frame.with_columns(drawn.texts(rows, name, drawn.size(2, 600)) for name in texts)
    frame = frame.with_columns(drawn.texts(rows, "kept", drawn.size(2, 200)))
    names = frame.columns[:columns]
    body = {
        "method": "boxes", "dataset_id": "d", "quasi_identifiers": [*drawn.some(names), *texts],
        "k": drawn.size(2, 200), "partition": drawn.one("optimal", "optimal", "fast", "mondrian"),
    }  # fmt: skip
    used = [name for name in body["quasi_identifiers"] if name in names]
    if drawn.rng.random() < 0.8:
        body["statistics"] = drawn.statistics(used, [*texts, "kept"])
        body["keep"] = ["kept"]
    if drawn.rng.random() < 0.3:
        body["formats"] = [drawn.one("csv", "parquet", "ndjson")]
    return Shape("boxes", frame, body)


def _wide(drawn: _Drawn) -> Shape:
    """Many columns of few records."""
    columns = drawn.size(100, 1_500)
    rows = drawn.size(200, 1_000_000 / columns)
    frame = drawn.numbers(max(rows, 60), columns)
    method = drawn.one("boxes", "uncertain", "condensation")
    body = {"method": method, "dataset_id": "d", "quasi_identifiers": frame.columns, "k": drawn.size(3, 20)}
    if method == "boxes":
        body["statistics"] = [{"kind": "mean", "of": [name]} for name in drawn.some(frame.columns)[: drawn.size(1, 50)]]
    if method == "uncertain":
        body["k"] = float(body["k"])
    return Shape(f"wide {method}", frame, body)


def _demands(drawn: _Drawn) -> Shape:
    """Boxes with demands on sensitive columns of few values, or of many."""
    rows, columns = drawn.size(20_000, 400_000), drawn.size(1, 6)
    frame = drawn.numbers(rows, columns)
    values = drawn.size(2, rows)
    frame = frame.with_columns(s=pl.Series(drawn.rng.integers(0, values, rows)))
    body = {
        "method": "boxes", "dataset_id": "d", "quasi_identifiers": frame.columns[:columns], "k": drawn.size(4, 100),
        "partition": drawn.one("optimal", "fast"), "sensitive": ["s"], "statistics": [{"kind": "mean", "of": ["x0"]}],
    }  # fmt: skip
    demand = drawn.one("l", "t", "t", "alpha")
    if demand == "t":
        body |= {"t": round(float(drawn.rng.uniform(0.1, 0.9)), 2), "t_distance": {"s": drawn.one("equal", "ordered")}}
    body |= {"l": 2} if demand == "l" else {"alpha": 0.9} if demand == "alpha" else {}
    return Shape(f"boxes with {demand}", frame, body)


def _crosstab(drawn: _Drawn) -> Shape:
    """A cross-table of two texts, of the boxes or kept."""
    rows, values = drawn.size(10_000, 100_000), [drawn.size(20, 400), drawn.size(20, 400)]
    frame = pl.DataFrame([drawn.texts(rows, f"n{at}", many) for at, many in enumerate(values)])
    frame = frame.with_columns(drawn.numbers(rows, 1))
    body = {
        "method": "boxes", "dataset_id": "d", "k": drawn.size(3, 50),
        "partition": drawn.one("optimal", "fast"), "statistics": [{"kind": "crosstab", "of": ["n0", "n1"]}],
    }  # fmt: skip
    kept = drawn.some(["n0", "n1"])[: drawn.one(0, 1, 2)]
    own = [name for name in ("n0", "n1") if name not in kept]
    return Shape("cross-table", frame, body | {"keep": kept, "quasi_identifiers": [*own, "x0"]})


def _noise(drawn: _Drawn) -> Shape:
    """Noise, of one shape for all or of shapes of each record's own."""
    rotated = drawn.rng.random() < 0.5
    columns = drawn.size(2, 60 if rotated else 24)
    rows = drawn.size(5_000, 60_000 if rotated else 200_000)
    frame = drawn.numbers(min(rows, 4_000_000 // columns**2) if rotated else rows, columns)
    body = {"method": "uncertain", "dataset_id": "d", "quasi_identifiers": frame.columns, "k": float(drawn.size(2, 40))}
    body |= {"axes": "rotated", "scales": "per_record"} if rotated else {"scales": drawn.one("levels", "common")}
    return Shape("uncertain", frame, body)


def _condensed(drawn: _Drawn) -> Shape:
    columns = drawn.size(2, 120)
    frame = drawn.numbers(drawn.size(10_000, 16_000_000 / columns), columns)
    body = {"method": "condensation", "dataset_id": "d", "quasi_identifiers": frame.columns, "k": drawn.size(3, 200)}
    return Shape("condensation", frame, body)


def _people(drawn: _Drawn, rows: int, columns: int) -> pl.DataFrame:
    """Numbers from 0 to 1, a place and a job of each record, and codes."""
    places = drawn.size(20, max(21, rows / 5))
    return pl.DataFrame(
        drawn.rng.random((rows, columns)).round(4), schema=[f"g{at}" for at in range(columns)]
    ).with_columns(
        region=pl.Series([f"R{one}" for one in drawn.rng.integers(0, places, rows).tolist()]),
        job=pl.Series([f"J{one}" for one in drawn.rng.integers(0, 30, rows).tolist()]),
        code=pl.Series(drawn.rng.integers(0, 10_000, rows)),
        other=pl.Series(drawn.rng.integers(0, 50, rows)),
    )


def _variables(names: list[str], terms: int) -> list[Body]:
    ranges = [{"name": f"t{at}", "shape": "range", "points": [at / terms, (at + 1) / terms]} for at in range(terms)]
    return [{"column": name, "range": [0, 1], "terms": ranges} for name in names]


def _group(drawn: _Drawn) -> Shape:
    """The attack on a group: every rule, or rules that evolve; of columns recoded by many cases."""
    columns, terms = drawn.size(2, 8), drawn.size(3, 20)
    frame = _people(drawn, drawn.size(10_000, 300_000), columns)
    body: Body = {
        "method": "group", "auxiliary_dataset_id": "d", "region_columns": ["region"],
        "hidden_group": {"column": "job", "values": ["J3"]}, "search": {"method": "exhaustive"},
        "variables": _variables(frame.columns[:columns], terms),
    }  # fmt: skip
    if drawn.rng.random() < 0.5:
        body |= {"min_support": 0, "min_relative_confidence": 0}
    if drawn.rng.random() < 0.5:
        population = drawn.size(20, 2_000)
        body["search"] = {
            "method": "evolution", "population": population, "replaced": max(1, population // drawn.size(2, 6)),
            "generations": drawn.size(5, 200), "runs": drawn.size(1, 10), "diversity": bool(drawn.rng.random() < 0.7),
        }  # fmt: skip
    if drawn.rng.random() < 0.4:
        cases = [
            {"when": {"code": [at], "other": list(range(drawn.size(1, 40)))}, "to": str(at % 7)}
            for at in range(drawn.size(10, 10_000))
        ]
        derived = {"made": {"columns": ["code", "other"], "cases": cases, "otherwise": "8"}}
        body |= {"recode": {"auxiliary": derived}, "hidden_group": {"column": "made", "values": ["3"]}}
    return Shape(f"group by {body['search']['method']}", frame, body)


def _swaps(drawn: _Drawn) -> Shape:
    """Swaps of records that rules tell, among few places or many."""
    terms = drawn.size(3, 20)
    frame = _people(drawn, drawn.size(2_000, 60_000), 2)
    body: Body = {
        "method": "swaps", "dataset_id": "d", "region_columns": ["region"], "decoys": float(drawn.one(0, 1, 10)),
        "rules_model": {"variables": _variables(["g0", "g1"], terms), "rules": [{"terms": [1, 1]}]},
        "search": {"method": "assignment"},
    }  # fmt: skip
    if drawn.rng.random() < 0.5:
        body["search"] = {"method": "memetic", "generations": drawn.size(5, 100), "population": drawn.size(10, 200)}
    return Shape(f"swaps by {body['search']['method']}", frame, body)


def _audit(drawn: _Drawn) -> Shape:
    """An audit of releases, or of a table."""
    columns, rows = drawn.size(3, 10), drawn.size(10_000, 100_000)
    frame = drawn.numbers(rows, columns).with_columns(drawn.texts(rows, "n", drawn.size(2, 40)))
    common = {"dataset_id": "d", "quasi_identifiers": frame.columns[:columns], "k": drawn.size(3, 50)}
    mean = {"statistics": [{"kind": "mean", "of": ["x0"]}]}
    boxes, rows_of = common | mean | {"method": "boxes"}, common | {"method": "condensation"}
    noise = common | {"method": "uncertain", "k": float(common["k"])}
    which = drawn.one("frontier", "composition", "determination", "influence", "linkage", "linkage", "table")
    if which == "frontier":
        body = {name: value for name, value in boxes.items() if name != "k"}
        return Shape(which, frame, body | {"method": which, "k": [3, 10, 50][: drawn.size(1, 3)]})
    if which == "table":
        chosen = drawn.some(frame.columns)
        return Shape(which, frame, {"method": which, "dataset_id": "d", "quasi_identifiers": chosen})
    if which == "linkage":
        body = {"method": which, "release_id": "r", "knowledge_dataset_id": "d"}
        return Shape(which, frame, body, {"r": drawn.one(boxes, noise, rows_of)})
    body = {"method": which, "release_ids": ["r", "s"]} | ({} if which == "determination" else {"dataset_id": "d"})
    return Shape(which, frame, body, {"r": boxes, "s": boxes | {"k": common["k"] + 2}})


_JOBS: Final[tuple[Callable[[_Drawn], Shape], ...]] = (
    _boxes, _boxes, _wide, _demands, _crosstab, _noise, _condensed, _group, _group, _swaps, _audit,
)  # fmt: skip


def job(seed: int) -> Shape:
    """A random job."""
    return _JOBS[seed % len(_JOBS)](_Drawn(seed))


def question(seed: int) -> Shape:
    """A random question, as heavy as one can be, to a release of any method."""
    drawn = _Drawn(seed)
    rows, columns = drawn.size(20_000, 150_000), drawn.size(2, 6)
    frame = drawn.numbers(rows, columns)
    names = frame.columns
    frame = frame.with_columns(
        drawn.texts(rows, "few", drawn.size(2, 20)), drawn.texts(rows, "many", drawn.size(20, 150))
    )
    common = {"dataset_id": "d", "quasi_identifiers": names, "keep": ["few", "many"]}
    boxes = common | {"method": "boxes", "partition": "fast", "k": drawn.size(3, 50)}
    boxes |= {"statistics": [{"kind": "mean", "of": ["x0"]}]}
    noise = common | {"method": "uncertain", "k": float(drawn.size(3, 50))}
    if seed % 2:
        if drawn.rng.random() < 0.3:
            boxes |= {"quasi_identifiers": [*names, "many"], "keep": ["few"]}
        several = [one for _ in range(drawn.size(4, 20)) for one in drawn.statistics(names, ["few", "many"])]
        return Shape(
            "statistics", frame, {"method": "statistics", "release_id": "r", "statistics": several[:100]}, {"r": boxes}
        )
    made = drawn.one(boxes, noise, common | {"method": "condensation", "k": drawn.size(3, 50)})
    ranges = drawn.rng.normal(size=(drawn.size(3_000, 10_000), columns))
    if drawn.rng.random() < 0.5:
        queries = [
            {name: sorted([low, low + float(drawn.rng.random())]) for name, low in zip(names, lows, strict=True)}
            for lows in ranges.tolist()
        ]
        return Shape("count", frame, {"method": "count", "release_id": "r", "queries": queries}, {"r": made})
    points = [dict(zip(names, values, strict=True)) for values in ranges.tolist()]
    body = {
        "method": "classify",
        "release_id": "r",
        "target": "few",
        "neighbours": drawn.size(1, 100),
        "points": points,
    }
    return Shape("classify", frame, body, {"r": made})


def fitting(bench: Bench, shape: Shape, *, most: Estimate) -> Body | None:
    """Lay out a shape whose estimate is at most so much: with fewer rows where it is more.

    Parameters
    ----------
    bench
        Where the table and the releases are laid out.
    shape
        What is measured.
    most
        What may be expected of it.

    Returns
    -------
    dict or None
        The request; None where the service refuses it for what it says.
    """
    rows = shape.frame.height
    while rows > 50:
        bench.dataset("d", shape.frame.head(rows))
        for name, body in shape.first.items():
            if bench.accepted(body)[1]:
                return None
            bench.release(name, body)
        if bench.accepted(shape.body)[1]:
            return None
        named = bench.named(shape.body)
        need = None if named is None else estimated(*named)
        if need is not None and need.seconds <= most.seconds and need.bytes <= most.bytes:
            return shape.body
        rows //= 2
    return None
