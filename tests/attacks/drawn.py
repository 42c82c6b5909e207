"""Tables, specifications and questions of many kinds, drawn for the oracle in exact fractions; plain Python alone."""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

from tests.attacks.exact import Cell

STEPS = ["0.1", "0.01", "0.7", "0.25", "0.3", "1.1", "0.001", "7", "1e-7", "12.5"]
WORDS = ["a", "b", "c", "é", "Zoë", "@home", "+49", "'quoted'", "10", "true"]
GRADES = ["none", "low", "mid", "high"]
START = dt.date(1999, 12, 20)


class Column(NamedTuple):
    """A column: its cells, its kind, and what is declared of it."""

    cells: list[Cell]
    kind: str
    step: float | None = None


def _tenths(draw: Random, rows: int) -> Column:
    step = Decimal(draw.choice(STEPS))
    low, width = draw.choice([-40, 0, -3, 10**6]), draw.choice([3, 40, 400])
    return Column([float(step * draw.randint(low, low + width)) for _ in range(rows)], "number", float(step))


def _small(draw: Random, rows: int) -> Column:
    step, width = draw.choice([1, 1, 2, 5]), draw.choice([2, 9, 80])
    return Column([step * draw.randint(-4, width) for _ in range(rows)], "integer", None if step == 1 else float(step))


def _large(draw: Random, rows: int) -> Column:
    top = draw.choice([2**31, 2**40, 2**52, 2**53])
    return Column([top - draw.randint(0, draw.choice([9, 10**6])) for _ in range(rows)], "integer")


def _reals(draw: Random, rows: int) -> Column:
    kinds: list[Callable[[], float]] = [
        lambda: draw.gauss(0, 1),
        lambda: draw.lognormvariate(0, 4),
        lambda: 1e15 + draw.gauss(0, 1),
        lambda: draw.choice([0.1, 0.2, 0.30000000000000004, 1 / 3]),
        lambda: float(draw.randint(0, 2)),
        lambda: 0.0 if draw.random() < 0.8 else draw.gauss(0, 1e6),
        lambda: draw.gauss(0, 1) * draw.choice([1e-200, 1.0, 1e43]),
    ]
    kind = draw.choice(kinds)
    return Column([kind() for _ in range(rows)], "number")


def _days(draw: Random, rows: int) -> Column:
    width = draw.choice([5, 60, 20_000])
    return Column([START + dt.timedelta(days=draw.randint(0, width)) for _ in range(rows)], "date")


def _texts(draw: Random, rows: int) -> Column:
    some = draw.sample(WORDS, draw.randint(2, 6))
    weights = [draw.choice([1, 4, 20]) for _ in some]
    return Column(draw.choices(some, weights, k=rows), "text")


def _truths(draw: Random, rows: int) -> Column:
    return Column([draw.random() < 0.4 for _ in range(rows)], "boolean")


def _grades(draw: Random, rows: int) -> Column:
    return Column(draw.choices(GRADES[1:], k=rows), "ordinal")


def _long(draw: Random, rows: int) -> Column:
    """Nanoseconds, and identifiers of 18 digits."""
    start = draw.choice([1_700_000_000_000_000_000, 10**17, -(2**62), 2**63 - 1000])
    return Column([start + draw.randint(0, draw.choice([9, 900])) for _ in range(rows)], "integer")


def _extreme(draw: Random, rows: int) -> Column:
    return Column([draw.choice([1e305, -1e308, 5e-324, 0.0, -0.0, 1.5, 1e300]) for _ in range(rows)], "extreme")


IN_BOXES = [_tenths, _tenths, _small, _large, _reals, _days, _texts, _truths, _grades]
KEPT = [_tenths, _small, _long, _long, _reals, _days, _texts, _truths, _extreme]


def table(draw: Random) -> dict[str, Column]:
    """Two to four columns for boxes, up to two to be kept, weights and persons."""
    rows = draw.choice([12, 30, 80, 160])
    columns = {f"x{place}": draw.choice(IN_BOXES)(draw, rows) for place in range(draw.randint(1, 3))}
    columns |= {f"kept{place}": draw.choice(KEPT)(draw, rows) for place in range(draw.randint(0, 2))}
    for name, column in columns.items():
        if draw.random() < 0.25:
            share = draw.choice([0.05, 0.3])
            cells = [None if draw.random() < share else cell for cell in column.cells]
            columns[name] = column._replace(cells=cells)
    columns["design"] = Column([draw.choice([0.5, 1.0, 1.5, 3.25]) for _ in range(rows)], "weight")
    columns["who"] = Column([draw.randint(0, rows * 2 // 3) for _ in range(rows)], "person")
    return columns


def stepped(draw: Random) -> dict[str, Column]:
    """A column of tenths, hundredths or other steps, without gaps."""
    step = Decimal(draw.choice(["0.1", "0.01", "0.7", "0.3", "1.1"]))
    return _with_weights({"x0": Column([float(step * draw.randint(0, 60)) for _ in range(300)], "number", float(step))})


def nanoseconds(draw: Random) -> dict[str, Column]:
    """A column for boxes, and two kept ones of 18 and 19 digits, one of them with gaps."""
    start = draw.choice([1_700_000_000_000_000_000, 10**17])
    long = [Column([start + draw.randint(0, 400) for _ in range(40)], "integer") for _ in range(2)]
    some = long[1]._replace(cells=[None if draw.random() < 0.3 else cell for cell in long[1].cells])
    return _with_weights({"x0": _small(draw, 40)._replace(step=None), "kept0": long[0], "kept1": some})


def of_steps(draw: Random, columns: dict[str, Column]) -> dict[str, Any]:
    """Return the options of a release of these two: by steps where there are any."""
    changed = {"bounds": draw.choice(["cells", "tight"]), "domains": {}, "box_means": "none", "partition": "fast"}
    spec = specification(draw, columns) | changed
    spec.pop("survey_weight_column", None)
    spec.pop("released_weights", None)
    spec.pop("k_counts_kept", None)
    step = columns["x0"].step
    return spec | {"value_step": {} if step is None else {"x0": step}}


def _with_weights(columns: dict[str, Column]) -> dict[str, Column]:
    rows = len(columns["x0"].cells)
    return columns | {
        "design": Column([0.5 + 0.5 * (row % 3) for row in range(rows)], "weight"),
        "who": Column(list(range(rows)), "person"),
    }


def specification(draw: Random, columns: dict[str, Column]) -> dict[str, Any]:
    """Draw a specification for a table."""
    own = [name for name in columns if name.startswith("x")]
    spec: dict[str, Any] = {
        "method": "boxes", "dataset_id": "t", "quasi_identifiers": own, "k": draw.randint(2, 5),
        "keep": [name for name in columns if name.startswith("kept")],
        "missing_policy": draw.choice(["drop", "pattern", "pattern"]),
        "bounds": draw.choice(["cells", "cells", "tight", "grid"]),
        "partition": draw.choice(["optimal", "fast", "mondrian"]),
        "rare_records": draw.choice(["keep", "keep", "mark"]),
        "value_step": {}, "domains": {}, "nominal": {}, "ordinal": {}, "max_suppressed_classes": 0.0,
    }  # fmt: skip
    for name in own:
        _declare(draw, spec, name, columns[name])
    if draw.random() < 0.25:
        spec["survey_weight_column"] = "design"
        spec["released_weights"] = draw.choice(["row", "box", "box"])
        spec["k_counts_kept"] = spec["released_weights"] == "row"
    elif draw.random() < 0.25:
        spec["box_means"] = "exact" if spec["k"] > 3 else "rounded"
    if draw.random() < 0.2:
        spec["person_column"] = "who"
    return spec


def _declare(draw: Random, spec: dict[str, Any], name: str, column: Column) -> None:
    """Steps, domains, codebooks and orders of a column."""
    known = [cell for cell in column.cells if cell is not None]
    match column.kind:
        case "ordinal":
            spec["ordinal"][name] = GRADES
        case "text":
            if draw.random() < 0.4:
                rows = [[word, f"#{index % 2}", "*"] for index, word in enumerate(WORDS)]
                spec["nominal"][name] = {"hierarchy": {"rows": rows}}
            elif draw.random() < 0.5:
                spec["nominal"][name] = {"values": [*WORDS, "nobody's"]}
        case "number" | "integer" | "date":
            if column.step is not None and draw.random() < 0.8:
                spec["value_step"][name] = column.step
            elif spec["bounds"] == "grid" and draw.random() < 0.5:
                spec["value_step"][name] = draw.choice([1.0, 3.0, 10.0])
            if known and draw.random() < 0.5:
                spec["domains"][name] = _domain(draw, column, known)


def _domain(draw: Random, column: Column, known: Sequence[Any]) -> list[Any]:
    if column.kind == "date":
        return [
            (min(known) - dt.timedelta(days=draw.randint(0, 9))).isoformat(),
            (max(known) + dt.timedelta(9)).isoformat(),
        ]
    room = draw.choice([0, 1, 37]) * (column.step or 1)
    low, high = float(min(known)) - room, float(max(known)) + room
    return [low, high if high > low else low + max(abs(low), 1.0)]


def classes(spec: dict[str, Any]) -> dict[str, dict[str, list[Cell]]]:
    """The values of each class of declared hierarchies."""
    trees = {name: one["hierarchy"]["rows"] for name, one in spec["nominal"].items() if "hierarchy" in one}
    return {
        name: {label: [row[0] for row in rows if label in row[1:]] for row in rows for label in row[1:]}
        for name, rows in trees.items()
    }


def end(draw: Random, column: Column) -> Any:
    """An end of an interval: a value, next to one, or anywhere."""
    known = [cell for cell in column.cells if cell is not None]
    value: Any = draw.choice(known or [0])
    if column.kind == "date":
        day: dt.date = value if isinstance(value, dt.date) else START
        return (day + dt.timedelta(days=draw.choice([-1, 0, 0, 1]))).isoformat()
    if isinstance(value, int):
        return draw.choice([value, value, value - 1, value + 1, value + 0.5, float(value), value * 3])
    step = column.step or 1.0
    near = [
        value,
        value,
        math.nextafter(value, math.inf),
        math.nextafter(value, -math.inf),
        value + step / 2,
        value + step,
    ]
    return draw.choice([*near, round(value), int(value) if abs(value) < 1e300 else value])


def interval(draw: Random, column: Column) -> list[Any]:
    """A closed interval, perhaps open at an end or at both."""
    low, high = end(draw, column), end(draw, column)
    low, high = (high, low) if high < low else (low, high)
    return draw.choice([[low, high], [None, high], [low, None], [low, low]])


def restriction(draw: Random, column: Column, groups: Sequence[str] = ()) -> Any:
    """An interval of numbers or days, or some values."""
    if column.kind in ("number", "integer", "date", "extreme"):
        return draw.choice([interval(draw, column)] * 9 + [[None, None]])
    values: list[Any] = (
        [True, False] if column.kind == "boolean" else GRADES if column.kind == "ordinal" else [*WORDS, *groups]
    )
    return {"values": draw.sample(values, draw.randint(1, min(3, len(values))))}


def query(draw: Random, columns: dict[str, Column], groups: dict[str, dict[str, list[Cell]]]) -> dict[str, Any]:
    """A count of records by one to three columns."""
    names = [name for name in columns if name[0] in "xk"]
    some = draw.sample(names, min(len(names), draw.choice([1, 1, 2, 3])))
    return {name: restriction(draw, columns[name], [*groups.get(name, ())]) for name in some}


def statistics(
    draw: Random, columns: dict[str, Column], groups: dict[str, dict[str, list[Cell]]]
) -> list[dict[str, Any]]:
    """Statistics of all kinds over the columns in boxes and next to them."""
    names = [name for name in columns if name[0] in "xk"]
    numeric = [name for name in names if columns[name].kind in ("number", "integer", "date")]
    extreme = [name for name in names if columns[name].kind == "extreme"]
    valued = [name for name in names if columns[name].kind in ("text", "boolean", "ordinal")]
    made: list[dict[str, Any]] = [
        {"kind": "share", "of": [name], "interval": interval(draw, columns[name])} for name in extreme
    ]
    for name in numeric:
        made += [{"kind": kind, "of": [name]} for kind in ("mean", "variance", "standard_deviation")]
        made += [{"kind": "quantile", "of": [name], "p": draw.choice([0.1, 0.25, 0.5, 0.9])}]
        made += [{"kind": "share", "of": [name], "interval": interval(draw, columns[name])} for _ in range(3)]
    for name in valued:
        about = restriction(draw, columns[name], [*groups.get(name, ())])
        made += [{"kind": "share", "of": [name], **about}]
        made += [{"kind": "domain_mean", "of": [one, name], **about} for one in numeric if one != name]
    for one in numeric:
        for other in numeric:
            if one < other:
                made += [{"kind": kind, "of": [one, other]} for kind in ("covariance", "correlation", "regression")]
                made += [{"kind": "domain_mean", "of": [one, other], "interval": interval(draw, columns[other])}]
    if len(valued) > 1:
        made.append({"kind": "crosstab", "of": valued[:2]})
    if len(numeric) > 2 and draw.random() < 0.1:
        made.append({"kind": "regression", "of": numeric[:3]})
    return made
