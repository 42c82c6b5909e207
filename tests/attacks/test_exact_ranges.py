"""Counts and ranges of random releases contain the truth, in exact fractions by an oracle that imports nothing of ours.

A table is drawn, released by a random specification, and asked: the counts and statistics that the service answers, the
statistics that the job publishes, and what a reader of the file alone computes, all against the records themselves.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from app.errors import InfeasibleError, InvalidError
from surebox_core.errors import UndefinedStatisticError
from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import question
from surebox_verify.released.files import rows
from tests.attacks import drawn
from tests.attacks.exact import Table, contains, verdict
from tests.drawing import seeds
from tests.methods.in_process import Bench, Done

TYPES = {"number": pl.Float64, "integer": pl.Int64, "date": pl.Date, "text": pl.String, "ordinal": pl.String}
FORMATS = ["parquet", "csv", "csv.excel", "ndjson"]
ENDINGS = {"parquet": ".parquet", "csv": ".csv", "csv.excel": ".excel.csv", "ndjson": ".ndjson"}


Tables = Callable[[Random], dict[str, drawn.Column]]
Specified = Callable[[Random, dict[str, drawn.Column]], dict[str, Any]]


class Measured:
    """The comparisons that were made, by kind, and the false ones."""

    def __init__(self) -> None:
        self.compared: Counter[str] = Counter()
        self.false: list[str] = []
        self.tables: Counter[str] = Counter()

    def note(self, kind: str, holds: bool | None, about: object) -> None:
        if holds is None:
            return
        self.compared[kind] += 1
        if not holds:
            self.false.append(f"{kind}: {about}")


def framed(columns: Mapping[str, drawn.Column]) -> pl.DataFrame:
    kinds = TYPES | {"boolean": pl.Boolean, "extreme": pl.Float64, "weight": pl.Float64, "person": pl.Int64}
    return pl.DataFrame({name: pl.Series(one.cells, dtype=kinds[one.kind]) for name, one in columns.items()})


def released(columns: Mapping[str, drawn.Column], spec: Mapping[str, Any]) -> Table:
    """The records that are released: all of them, or those that lack nothing."""
    whole = Table({name: one.cells for name, one in columns.items()}, [1.0] * len(columns["design"].cells))
    there = whole.having(spec["quasi_identifiers"] if spec["missing_policy"] == "drop" else [])
    weights = columns["design"].cells if "survey_weight_column" in spec else whole.weights
    return Table(
        {name: [cells[row] for row in there] for name, cells in whole.columns.items()},
        [float(str(weights[row])) for row in there],
        drawn.classes(dict(spec)),
    )


def measure(
    seed: int,
    folder: Path,
    into: Measured,
    *,
    queries: int = 60,
    tables: Tables = drawn.table,
    specified: Specified = drawn.specification,
) -> None:
    """Release one random table, and compare all that is said of it."""
    draw = Random(seed)
    columns = tables(draw)
    spec = specified(draw, columns)
    bench = Bench(folder, seed=seed % 1000)
    bench.dataset("t", framed(columns))
    own = [one for one in drawn.statistics(draw, columns, {}) if _of_boxes(one, spec) and "interval" not in one]
    body = spec | {"formats": FORMATS, "statistics": own[:8]}
    if not own:
        del body["statistics"]
    if bench.accepted(body)[1]:
        into.tables["refused"] += 1
        return
    try:
        done = bench.run(body)
    except (InfeasibleError, InvalidError):
        into.tables["infeasible"] += 1
        return
    about = released(columns, spec)
    if done.rows().height != len(about.rows):
        into.tables["records left out"] += 1
        return
    if done.whole.get("suppressed_cells"):  # values that the release does not have
        into.tables["values left out"] += 1
        return
    into.tables["released"] += 1
    bench.keep("r", done)
    where = f"seed {seed}"
    if spec["rare_records"] != "mark":
        for said in done.whole.get("statistics") or ():
            _compare(into, "published ", about, said, where)
    groups = about.classes
    _counts(bench, [drawn.query(draw, columns, groups) for _ in range(queries)], about, into, where)
    some = drawn.statistics(draw, columns, groups)
    for said in answers(bench, some):
        _compare(into, "", about, said, where)
    if "survey_weight_column" not in spec:
        _offline(draw, done, spec, some, about, into, where)


def _of_boxes(one: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    return all(name in spec["quasi_identifiers"] for name in one["of"])


def _compare(into: Measured, kind: str, about: Table, said: Mapping[str, Any], where: str) -> None:
    if said["values"] is None and said["kind"] in ("share", "crosstab") and said.get("interval") is None:
        return  # a list of all values: `other` is one
    for name, value in zip(said["of"][-len(said["values"] or ()) :], said["values"] or (), strict=False):
        merged = value["class"] if isinstance(value, dict) and "class" in value else value
        if merged == "other" or (merged is not value and merged not in about.classes.get(name, {})):
            return  # all that was merged under this name
    into.note(f"{kind}{said['kind']}", verdict(about, said), (where, said))


def _counts(bench: Bench, queries: list[dict[str, Any]], about: Table, into: Measured, where: str) -> None:
    for some, answer in _accepted(bench, "count", "queries", queries):
        for query, count in zip(some, answer["counts"], strict=True):
            low, high = count["guaranteed"]
            truth = about.count(query)
            into.note("count", low <= truth <= high and low <= count["estimate"] <= high, (where, query, count, truth))


def answers(bench: Bench, statistics: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The answers to questions, but those that are refused."""
    for _, answer in _accepted(bench, "statistics", "statistics", statistics):
        yield from answer["statistics"]


def _accepted(bench: Bench, method: str, field: str, some: list[Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Answers to all at once or, where something is refused, to each that is not."""
    for part in ([some], [[one] for one in some]):
        try:
            made = [(each, _answer(bench, method, field, each)) for each in part]
        except InvalidError:
            continue
        yield from ((each, answer) for each, answer in made if answer is not None)
        return
    for one in some:
        try:
            answer = _answer(bench, method, field, [one])
        except InvalidError:
            continue
        if answer is not None:
            yield [one], answer


def _answer(bench: Bench, method: str, field: str, some: list[Any]) -> dict[str, Any] | None:
    body = {"method": method, "release_id": "r", field: some}
    return None if bench.accepted(body)[1] else bench.run(body).whole


def _offline(
    draw: Random,
    done: Done,
    spec: Mapping[str, Any],
    some: list[dict[str, Any]],
    about: Table,
    into: Measured,
    where: str,
) -> None:
    """Compute as a reader of the file alone, from each format."""
    assert done.release is not None
    name = draw.choice(FORMATS)
    file = next(one for kind, one in done.release.files.items() if kind.value == name)
    table = rows(file.path.read_bytes(), name, {one["name"]: one["type"] for one in done.release.columns})
    for one in some:
        if any(each in spec["ordinal"] for each in one["of"]):
            continue
        try:
            said = certify(table, [question(one)], weight=False, nominal=spec["nominal"])
        except (UnreadableError, UndefinedStatisticError):
            continue
        for each in said:
            _compare(into, f"{name} ", about, each, where)


def test_the_oracle_refutes_a_range_that_is_too_narrow() -> None:
    table = Table({"x": [1, 2, None, 4], "y": [0.1, 0.2, 0.3, 0.4]}, [1.0, 1.0, 2.0, 2.0])
    mean = {"kind": "mean", "of": ["x"], "guaranteed": [2.75, 2.75]}
    assert verdict(table, mean) is True
    assert verdict(table, mean | {"guaranteed": [2.76, 3.0]}) is False
    assert table.count({"x": [None, None]}) == 3
    assert table.count({"y": [0.2, 0.30000000000000004]}) == 2
    assert contains([0.1, 0.1], Fraction(1, 10)) is False, "no double is a tenth"


@pytest.mark.parametrize("seed", seeds(6))
def test_counts_and_ranges_contain_the_truth(seed: int, tmp_path: Path, figures: Callable[..., None]) -> None:
    into = Measured()
    measure(seed, tmp_path, into)
    assert not into.false, into.false[:3]
    figures(compared=sum(into.compared.values()), **dict(into.compared))


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("tables", [drawn.stepped, drawn.nanoseconds])
def test_counts_of_steps_and_of_long_numbers_contain_the_truth(seed: int, tables: Tables, tmp_path: Path) -> None:
    into = Measured()
    measure(seed, tmp_path, into, queries=80, tables=tables, specified=drawn.of_steps)
    assert not into.false, into.false[:3]
    assert into.compared["count"] == 80


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_thousands_of_counts_and_ranges_contain_the_truth(
    seed: int, tmp_path: Path, figures: Callable[..., None]
) -> None:
    into = Measured()
    for turn in range(10):
        folder = tmp_path / str(turn)
        folder.mkdir()
        measure(seed * 10 + turn, folder, into, queries=200)
    assert not into.false, into.false[:3]
    assert into.tables["released"] > 3
    figures(compared=sum(into.compared.values()), **dict(into.compared))
