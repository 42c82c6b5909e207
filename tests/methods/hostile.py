"""Random tables of columns that computations stumble over, and a job of every method for each."""

import datetime as dt
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

Draw = np.random.Generator
NUMBERS, TEXTS, OTHERS = ("x", "y", "z"), ("s", "t"), ("d", "b")
COLUMNS = (*NUMBERS, *TEXTS, *OTHERS)
#: Statistics by the number of columns of each kind that they take: numbers first, then values.
_LARGEST = 1.7976931348623157e308
#: The largest and smallest that quasi-identifiers may have, and beyond.
_EXTREMES = (0.0, -0.0, 5e-324, 1e-300, 1e-150, 1e70, -1e70, 1.0)
_BEYOND = (*_EXTREMES, 1e155, 1e300, -1e300, _LARGEST, -_LARGEST)


def one(draw: Draw, *choices: Any) -> Any:
    """Return one of several things."""
    return choices[int(draw.integers(0, len(choices)))]


def _numbers(draw: Draw, rows: int) -> list[float | int | None]:
    huge = float(10.0 ** draw.integers(40, 70)) * float(draw.choice([1.0, -1.0]))
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: draw.integers(0, int(draw.integers(1, 60)), rows),
        lambda: draw.normal(0, 1, rows),
        lambda: np.full(rows, draw.choice(_EXTREMES)),
        lambda: draw.choice(draw.choice(_EXTREMES, 2), rows),
        lambda: draw.choice(_EXTREMES, rows),
        lambda: np.where(draw.random(rows) < 0.1, huge, draw.integers(0, 9, rows)),
        lambda: huge * draw.random(rows),
        lambda: 1e15 + draw.normal(0, 1, rows),
        lambda: draw.normal(0, 1, rows) * 10.0 ** -float(draw.integers(100, 308)),
        lambda: draw.lognormal(0, 30, rows),
        lambda: draw.integers(2**53 - 9, 2**53, rows),
    )
    beyond: tuple[Callable[[], Any], ...] = (
        lambda: draw.choice([math.inf, -math.inf, 1.0, 2.0], rows, p=[0.05, 0.05, 0.5, 0.4]),
        lambda: draw.choice([2**63 - 1, -(2**63), 0, 1], rows),
        lambda: np.full(rows, draw.choice(_BEYOND)),
        lambda: draw.choice(_BEYOND, rows),
        lambda: draw.lognormal(0, 60, rows),
        lambda: 1e308 * draw.normal(0, 1, rows).clip(-1.7, 1.7),
    )
    return one(draw, *(kinds if draw.random() < 0.85 else beyond))().tolist()


def _texts(draw: Draw, rows: int) -> list[str | None]:
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: ["a"] * rows,
        lambda: draw.choice(["a", "b"], rows).tolist(),
        lambda: draw.choice(["a", "b", "c,d", 'é"', "~", "other", "*", "null"], rows).tolist(),
        lambda: [f"v{row}" for row in range(rows)],
        lambda: [one(draw, "a", "b") if row else "only" for row in range(rows)],
    )
    return one(draw, *kinds)()


def _days(draw: Draw, rows: int) -> list[dt.date | None]:
    ends = (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29))
    near = [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in draw.integers(0, 40, rows)]
    return one(draw, near, [one(draw, *ends)] * rows, [one(draw, *ends) for _ in range(rows)])


def table(draw: Draw) -> pl.DataFrame:
    """Return a table of three numbers, two texts, days and booleans: any of them empty, constant, extreme, sparse."""
    rows = int(one(draw, 1, 2, 3, 5, 12, 40, 40, 80))
    columns: dict[str, pl.Series] = {}
    for name in NUMBERS:
        values = _numbers(draw, rows)
        whole = all(isinstance(value, int) for value in values)
        columns[name] = pl.Series(name, values, dtype=pl.Int64 if whole else pl.Float64)
    for name in TEXTS:
        columns[name] = pl.Series(name, _texts(draw, rows), dtype=pl.String)
    columns["d"] = pl.Series("d", _days(draw, rows), dtype=pl.Date)
    columns["b"] = pl.Series("b", (draw.random(rows) < draw.choice([0.0, 0.3, 1.0])).tolist(), dtype=pl.Boolean)
    frame = pl.DataFrame(columns)
    for name in COLUMNS:
        lacking = float(draw.choice([0.0, 0.0, 0.0, 0.0, 0.2, 0.97, 1.0]))
        if lacking:
            frame = frame.with_columns(pl.when(pl.Series(draw.random(rows) >= lacking)).then(pl.col(name)).alias(name))
    return frame


def statistics(draw: Draw, names: list[str]) -> list[dict[str, Any]]:
    """Return some statistics of the columns, of every kind that they allow."""
    numbers = [name for name in names if name in (*NUMBERS, "d")]
    values = [name for name in names if name in (*TEXTS, "b")]
    possible: list[dict[str, Any]] = [{"kind": "share", "of": [name]} for name in values]
    for name in numbers:
        possible += [{"kind": kind, "of": [name]} for kind in ("mean", "variance", "standard_deviation")]
        possible.append({"kind": "quantile", "of": [name], "p": float(draw.choice([0.001, 0.5, 0.999]))})
        end = "2020-01-09" if name == "d" else float(draw.choice([0.0, 1.0, 1e300, _LARGEST]))
        possible.append({"kind": "share", "of": [name], "interval": one(draw, [None, end], [end, end], [end, None])})
    for first, second in _pairs(draw, numbers):
        possible += [{"kind": kind, "of": [first, second]} for kind in ("covariance", "correlation", "regression")]
        at = "2020-01-09" if second == "d" else float(draw.choice([0.0, 1.0, 1e70]))
        possible.append({"kind": "prediction", "of": [first, second], "at": [at]})
    for first, second in _pairs(draw, values):
        possible.append({"kind": "crosstab", "of": [first, second]})
    for number in numbers:
        for value in values:
            possible.append({"kind": "domain_mean", "of": [number, value]})
            possible.append({"kind": "regression", "of": [number, value]})
    if len(numbers) > 2:
        possible.append({"kind": "regression", "of": numbers[:3]})
    chosen = draw.permutation(len(possible))[: int(draw.integers(1, 12))]
    return [possible[place] for place in chosen]


def _pairs(draw: Draw, names: list[str]) -> Iterator[tuple[str, str]]:
    mixed = [str(name) for name in draw.permutation(names)] if names else []
    yield from pairwise(mixed)


def boxes(draw: Draw) -> dict[str, Any]:
    """Return a specification of boxes."""
    names = [str(name) for name in draw.permutation(COLUMNS)[: int(draw.integers(1, 5))]]
    keep = [name for name in COLUMNS if name not in names and draw.random() < 0.4]
    body: dict[str, Any] = {
        "method": "boxes", "quasi_identifiers": names, "k": int(one(draw, 1, 1, 2, 3, 5)), "keep": keep,
        "partition": one(draw, "optimal", "fast", "mondrian"), "bounds": one(draw, "cells", "cells", "tight", "grid"),
        "missing_policy": one(draw, "drop", "pattern", "pattern"),
    }  # fmt: skip
    if draw.random() < 0.8:
        body["statistics"] = statistics(draw, [*names, *(keep if draw.random() < 0.5 else [])])
    if body["bounds"] == "grid":
        body["value_step"] = {name: float(one(draw, 1.0, 1e-300, 1e70)) for name in names if name in NUMBERS}
    if draw.random() < 0.3:
        body |= one(draw, {"rare_records": "mark"}, {"rare_records": "suppress"}, {"rare_records": "weigh"},
                    {"box_means": "rounded"}, {"box_means": "exact"}, {"survey_weight_column": "x"}, {"ddof": 1},
                    {"person_column": "t"}, {"k_counts_kept": True, "max_suppressed_classes": 0.9})  # fmt: skip
    if keep and draw.random() < 0.3:
        body |= {"sensitive": keep[:2]} | one(draw, {"l": 2}, {"t": 0.4}, {"alpha": 0.7})
    if draw.random() < 0.3:
        body["domains"] = {name: one(draw, [-1e70, 1e70], [0.0, 60.0]) for name in names if name in NUMBERS}
    if draw.random() < 0.2:
        body["unlisted_column_weight"] = float(one(draw, 0.0, 0.5, 1.0))
    return body


def other_anonymization(draw: Draw) -> dict[str, Any]:
    """Return a specification of another method that makes releases of numbers."""
    names = [str(name) for name in draw.permutation(NUMBERS)[: int(draw.integers(1, 4))]]
    keep = [name for name in COLUMNS if name not in names and draw.random() < 0.3]
    body = {"quasi_identifiers": names, "keep": keep, "missing_policy": "drop"}
    if draw.random() < 0.3:
        return {"method": "condensation", "k": int(one(draw, 1, 2, 3, 5)), **body}
    more = {
        "density": one(draw, "gaussian", "uniform"), "scales": one(draw, "common", "levels", "shared", "per_record"),
        "axes": one(draw, "global", "local", "rotated"),
    }  # fmt: skip
    if draw.random() < 0.3:
        more["min_scale"] = float(one(draw, 1e-300, 1.0, 1e70))
    if draw.random() < 0.3:
        more["suppress_share"] = 0.2
    return {"method": "uncertain", "k": float(one(draw, 1, 1.5, 2, 4)), **body, **more}


def _group(draw: Draw) -> dict[str, Any]:
    """Return what the attack on a group and the methods after it name: who is in it, where, and how they are told."""
    name = str(draw.choice(NUMBERS))
    low, high = sorted(float(end) for end in draw.choice([-1e70, -5.0, 0.0, 1.0, 9.0, 1e70], 2, replace=False))
    middle = low / 2 + high / 2
    terms = [
        {"name": "low", "shape": "z", "points": [low, middle]},
        {"name": "bell", "shape": "gaussian", "sigma": float(one(draw, 1e-300, 1.0, 1e70)), "centre": middle},
        {"name": "high", "shape": "s", "points": [middle, high]},
        {"name": "between", "shape": "trapezoid", "points": [low, low, middle, high]},
    ]
    hidden = str(draw.choice(TEXTS))
    return {
        "variables": [{"column": name, "range": [low, high], "terms": terms[: int(draw.integers(1, 5))]}],
        "hidden_group": [{"column": hidden, "values": ["a"]}],
        "region_columns": ["t" if hidden == "s" else "s"],
    }


def audits(draw: Draw, dataset: str) -> Iterator[dict[str, Any]]:
    """Yield a job of each audit that looks at a dataset."""
    boxed = {name: value for name, value in boxes(draw).items() if name not in ("formats", "k", "method")}
    yield {"method": "frontier", "dataset_id": dataset, "k": [1, 2, 3], **boxed}
    yield {"method": "frontier", "dataset_id": dataset, "k": [2], "records": "all", **boxed}
    names = [str(name) for name in draw.permutation(COLUMNS)[: int(draw.integers(1, 5))]]
    others = [name for name in COLUMNS if name not in names]
    table_audit: dict[str, Any] = {"method": "table", "dataset_id": dataset, "quasi_identifiers": names}
    if draw.random() < 0.5:
        table_audit |= {
            "sensitive": others[:2],
            "missing_matches": one(draw, "own_value", "matches_anything", "drop_records"),
        }
    if draw.random() < 0.5:
        table_audit |= one(draw, {"sampling_fraction": float(one(draw, 0.1, 1e-9, 1e-300))},
                           {"survey_weight_column": "x"}, {"region_columns": ["s"]},
                           {"sums": [{"of": "x", "by": ["s"]}]}, {"person_column": "t"})  # fmt: skip
    yield table_audit
    group = _group(draw)
    signal = one(draw, "quantity", "concentration")
    yield {
        "method": "group", "auxiliary_dataset_id": dataset, **group, "signal": signal,
        "search": one(draw, {"method": "exhaustive"}, {"method": "evolution", "runs": 1, "generations": 3}),
        "min_relative_confidence": float(one(draw, 0.0, 1.0)),
        "outliers": {"test": one(draw, "thompson_tau", "grubbs")},
    }  # fmt: skip
    yield {
        "method": "group_profile",
        "dataset_ids": [dataset],
        "region_columns": group["region_columns"],
        "rules_model": {"variables": group["variables"], "rules": [{"terms": [1]}], "min_membership": 0.5},
    }


def swaps(draw: Draw) -> dict[str, Any]:
    """Return a specification of swaps that mask one region."""
    group = _group(draw)
    return {
        "method": "swaps", "region_columns": group["region_columns"], "mask": [{"region": ["a"], "at_most": 1}],
        "rules_model": {"variables": group["variables"], "rules": [{"terms": [1]}], "min_membership": 0.5},
        "protected_alphas": [0.5], "search": {"method": "assignment"},
    }  # fmt: skip


def questions(draw: Draw, spec: dict[str, Any], release: str, dataset: str) -> Iterator[dict[str, Any]]:
    """Yield a question, or an audit, of each kind about a release."""
    names = [*spec.get("quasi_identifiers", NUMBERS), *spec.get("keep", ())]
    yield {"method": "statistics", "release_id": release, "statistics": statistics(draw, names)}
    yield {"method": "count", "release_id": release, "queries": [_query(draw, names) for _ in range(4)]}
    points = [{name: _value(draw, name) for name in spec.get("quasi_identifiers", ())} for _ in range(3)]
    for target in spec.get("keep", ())[:1]:
        yield {"method": "classify", "release_id": release, "target": target, "neighbours": 3, "points": points}
    yield {"method": "influence", "release_ids": [release], "dataset_id": dataset, "records": 3}
    yield {"method": "linkage", "release_id": release}
    yield {"method": "determination", "release_ids": [release]}
    yield {"method": "composition", "release_ids": [release]}
    yield {"method": "composition", "release_ids": [release], "dataset_id": dataset, "join_columns": names[:1]}
    yield {"method": "table", "release_id": release}


def _query(draw: Draw, names: list[str]) -> dict[str, Any]:
    chosen = names[: int(draw.integers(1, 3))]
    query: dict[str, Any] = {}
    for name in chosen:
        if name in (*TEXTS, "b"):
            query[name] = {"values": [_value(draw, name)]}
        else:
            low, high = _value(draw, name), _value(draw, name)
            query[name] = one(draw, [None, high], [low, None], sorted([low, high]), [low, low])
    return query


def _value(draw: Draw, name: str) -> Any:
    if name in TEXTS:
        return str(one(draw, "a", "b", "only", "nowhere"))
    if name == "b":
        return bool(draw.random() < 0.5)
    if name == "d":
        return one(draw, "2020-01-09", "0001-01-01", "9999-12-31")
    return float(draw.choice((*_BEYOND, 1.0, 3.0)))
