"""The value of one record does not show in the shape of all others.

The story is "The record that was left out" of docs/explanation/attacks.md.

An adversary who knows the others, or only another sample of the population, anonymizes with one record here and there,
and looks at which place boxes, weights and refusals agree with the published ones. So tables are anonymized with all of
their k - 1 outermost values of a column moved up to 1e6 times as far out, under the same secrets and declared domains:
what is published of all other boxes is the same bit for bit, and so is every refusal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import SureboxError
from tests.methods.asking import anonymization
from tests.methods.boxes.versioned import K, Versions, people
from tests.methods.in_process import Bench

FAR = 1.0e7  # ends of domains
_names = count()


@dataclass(frozen=True)
class Table:
    """A table, and the ends that its search sees of every column with an order."""

    frame: pl.DataFrame
    k: int
    persons: bool

    def outermost(self, column: str, sign: int, rng: np.random.Generator) -> np.ndarray:
        """Rows of rank below k from an end, of ties any; with persons the rows of k - 1 persons at this end."""
        values = self.frame[column].to_numpy().astype(float) * sign
        order = np.lexsort([rng.random(len(values)), values])
        order = order[~np.isnan(values[order])]
        if not self.persons:
            return order[: min(self.k - 1, (len(order) - 1) // 2)]
        people = self.frame["person"].to_numpy()
        first = list(dict.fromkeys(people[order].tolist()))
        allowed = min(self.k - 1, (len(first) - 1) // 2)
        least = min(v for v, p in zip(values[order], people[order], strict=True) if p == first[allowed])
        return order[np.isin(people[order], first[:allowed]) & (values[order] <= least)]


def random_table(
    rng: np.random.Generator, *, missing: bool = False, persons: bool = False, weights: bool = False
) -> Table:
    """Numbers with heavy tails and ties at the k-th value of both ends; a class, a text, an id."""
    size, k = int(rng.integers(60, 140)), int(rng.integers(3, 7))
    income = np.round(np.exp(rng.normal(3.0, 1.2, size)), 1)
    age = rng.integers(18, 80, size)
    hours = np.round(rng.normal(0.0, 20.0, size) + 0.3 * age)
    for values in (income, hours):
        order = np.argsort(values)
        for end in (order, order[::-1]):
            tied = int(rng.integers(1, 5))
            values[end[k - 1 : k - 1 + tied]] = values[end[k - 1]]
            if rng.random() < 0.4:
                values[end[:k]] = values[end[k - 1]]  # the outermost tie with the k-th
    columns: dict[str, Any] = {
        "id": np.arange(size), "income": income, "age": age, "hours": hours,
        "sick": np.round(rng.gamma(0.5, 8.0, size)).astype(np.int64),
        "job": rng.choice(["a", "b", "c", "d"], size, p=[0.4, 0.3, 0.2, 0.1]),
        "class": rng.choice(["x", "y"], size),
    }  # fmt: skip
    if persons:
        columns["person"] = np.where(rng.random(size) < 0.25, 0, rng.integers(0, size // 2, size))
    if weights:
        columns["weight"] = np.round(np.exp(rng.normal(0.0, 0.8, size)), 3)
    frame = pl.DataFrame(columns)
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(size) > 0.2)).then(pl.col("hours")).otherwise(None).alias("hours")
        )
    return Table(frame, k, persons)


def moved(table: Table, rng: np.random.Generator, columns: list[str]) -> tuple[Table, set[int]]:
    """The same with the outermost values of some columns farther out; and whose these are."""
    frame, who = table.frame, set()
    for column in columns:
        values = frame[column].to_numpy().astype(float).copy()
        typical = float(np.nanstd(values)) or 1.0
        for sign in (-1, 1):
            if rng.random() < 0.3:
                continue
            rows = table.outermost(column, -sign, rng)
            away = typical * 10.0 ** rng.uniform(-1.0, 6.0, len(rows))
            if column == "weight":
                values[rows] = values[rows] * (1.0 + away) if sign > 0 else values[rows] / (1.0 + away)
            else:
                values[rows] = np.clip(np.round(values[rows] + sign * away), -FAR, FAR)
            who |= set(rows.tolist())
        integer = frame[column].dtype == pl.Int64
        frame = frame.with_columns(pl.Series(column, values.astype(np.int64) if integer else values, nan_to_null=True))
    return Table(frame, table.k, table.persons), who


CASES: dict[str, dict[str, Any]] = {
    "keep": {},
    "fast, tight": {"partition": "fast", "bounds": "tight"},
    "mondrian": {"partition": "mondrian"},
    "mark, tight": {"rare_records": "mark", "bounds": "tight"},
    "suppress": {"rare_records": "suppress", "max_suppressed": 0.2},
    "suppress, tight": {"rare_records": "suppress", "max_suppressed": 0.2, "bounds": "tight"},
    "suppress, letter": {"rare_records": "suppress", "objective": "paper", "bounds": "tight"},
    "weigh": {"rare_records": "weigh", "max_suppressed": 0.3},
    "weigh, letter, tight": {"rare_records": "weigh", "objective": "paper", "bounds": "tight"},
    "grid": {"bounds": "grid", "min_records_at_bound": 2},
    "l of values": {"l": 2, "sensitive": ["sick"], "bounds": "tight"},
    "l of values apart": {"l": 3, "min_separation": {"sick": 2.0}, "partition": "fast"},
    "t": {"t": 0.4, "sensitive": ["sick"]},
    "t, unordered": {"t": 0.6, "sensitive": ["sick"], "t_distance": {"sick": "equal"}, "partition": "mondrian"},
    "alpha": {"alpha": 0.7, "sensitive": ["sick"], "partition": "fast"},
    "minimum width": {"min_width": {"income": 3.0, "hours": 10.0}, "bounds": "tight"},
    "mixed": {"quasi_identifiers": ["income", "age", "job"], "mixed": True},
    "mixed, tight, mark": {
        "quasi_identifiers": ["income", "job", "hours"], "mixed": True, "bounds": "tight", "rare_records": "mark"
    },
    "mixed, mondrian, suppress": {
        "quasi_identifiers": ["income", "job"], "mixed": True, "partition": "mondrian", "rare_records": "suppress"
    },
    "kept classes": {"keep": ["class"], "k_counts_kept": True, "max_suppressed_classes": 0.5},
    "kept classes, tight, fast": {
        "keep": ["class"], "k_counts_kept": True, "max_suppressed_classes": 0.5, "bounds": "tight", "partition": "fast"
    },
    "persons": {"person_column": "person"},
    "persons, tight, t": {"person_column": "person", "bounds": "tight", "t": 0.5, "sensitive": ["sick"]},
    "weights": {"survey_weight_column": "weight"},
    "weights, tight, mark": {"survey_weight_column": "weight", "bounds": "tight", "rare_records": "mark"},
    "weights, persons, fast": {"survey_weight_column": "weight", "person_column": "person", "partition": "fast"},
    "missing": {"missing_policy": "pattern"},
    "missing, tight, width": {"missing_policy": "pattern", "bounds": "tight", "min_width": {"hours": 10.0}},
    "missing left out, unlisted columns": {
        "missing_policy": "drop", "statistics": [{"kind": "mean", "of": ["income"]}], "unlisted_column_weight": 0.5
    },
    "rounded means": {"box_means": "rounded"},
}  # fmt: skip


def spec_of(case: dict[str, Any], table: Table) -> dict[str, Any]:
    """A specification with all domains declared."""
    columns = case.get("quasi_identifiers", ["income", "age", "hours"])
    numeric = [name for name in columns if name != "job"]
    statistics: list[dict[str, Any]] = [{"kind": "mean", "of": [name]} for name in numeric]
    statistics += [{"kind": "variance", "of": [numeric[0]]}, {"kind": "correlation", "of": numeric[:2]}][: len(numeric)]
    if case.get("mixed"):
        statistics += [{"kind": "share", "of": ["job"]}, {"kind": "domain_mean", "of": [numeric[0], "job"]}]
        statistics += [{"kind": "quantile", "of": [numeric[0]], "p": 0.5}]
    spec = {
        "method": "boxes", "dataset_id": "t", "quasi_identifiers": columns, "k": table.k, "statistics": statistics,
        "domains": {name: [-FAR, FAR] for name in numeric}, "nominal": {}, "keep": ["id"],
    }  # fmt: skip
    if case.get("bounds") == "grid":
        spec["value_step"] = {}
    if "job" in columns:
        spec["nominal"] = {"job": {"values": ["a", "b", "c", "d"]}}
    spec["withheld"] = case.get("sensitive", [])  # what is published of it as it is follows its values
    return spec | {name: value for name, value in case.items() if name != "mixed"}


def made(folder: Path, table: Table, case: dict[str, Any]) -> tuple[pl.DataFrame, dict[str, Any]] | str:
    """Rows and what else is published, or the refusal."""
    place = folder / str(next(_names))
    place.mkdir()
    bench = Bench(place)
    bench.dataset("t", table.frame)
    try:
        done = bench.run(spec_of(case, table))
    except SureboxError as error:
        return str(error.detail) + str(getattr(error, "errors", ""))
    draft = done.release
    assert draft is not None
    return done.rows(), {"flags": draft.flags, "parameters": draft.parameters, "statistics": draft.statistics}


def same_elsewhere(one: Any, two: Any, who: set[int], *, cells: bool) -> bool:
    """Whether all that is published of boxes without a moved record agrees; of cells all bounds."""
    if isinstance(one, str) or isinstance(two, str):
        return bool(one == two) if isinstance(one, str) and isinstance(two, str) else False
    (a, said), (b, other) = one, two
    if not cells:  # which boxes leave one value follows from their bounds, as published
        said, other = (
            each | {"parameters": {**each["parameters"], "value_disclosure": None}} for each in (said, other)
        )
    if said["flags"] != other["flags"] or said["parameters"] != other["parameters"] or a.columns != b.columns:
        return False
    if cells:
        return bool(
            a.sort(a.columns, nulls_last=True).equals(b.sort(b.columns, nulls_last=True))
            and said["statistics"] == other["statistics"]
        )
    if "id" not in a.columns:
        theirs = [_by_box(rows) for rows in (a, b)]
        differing = {box for box in {*theirs[0], *theirs[1]} if theirs[0].get(box) != theirs[1].get(box)}
        return len(differing) <= len(who) and theirs[0].keys() == theirs[1].keys()
    a, b = a.sort("id"), b.sort("id")
    if not a.select("id", "box").equals(b.select("id", "box")):
        return False
    touched = a.filter(pl.col("id").is_in(list(who)))["box"].unique()
    return bool(
        a.filter(~pl.col("box").is_in(touched.implode())).equals(b.filter(~pl.col("box").is_in(touched.implode())))
    )


def _by_box(rows: pl.DataFrame) -> dict[int, str]:
    return {int(box): str(part.sort(part.columns).rows()) for (box,), part in rows.group_by("box")}


@pytest.mark.parametrize("name", CASES)
def test_nothing_of_the_other_boxes_follows_the_outermost_values(
    tmp_path: Path, name: str, scale: int, figures: Callable[..., None]
) -> None:
    case = CASES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    released = 0
    for _ in range(2 * scale):
        table = random_table(
            rng, missing="missing_policy" in case, persons="person_column" in case,
            weights="survey_weight_column" in case
        )  # fmt: skip
        columns = [n for n in case.get("quasi_identifiers", ["income", "age", "hours"]) if n != "job"]
        beside = [
            n for n in ("sick", "weight") if n in case.get("sensitive", []) or n in str(case.get("min_separation", ""))
        ]
        beside += ["weight"] if "survey_weight_column" in case else []
        if "t" in case:  # whether the search was made again, with a smaller t, may hang on an outermost one: privacy.md
            beside.remove("sick")
        before = made(tmp_path, table, case)
        for chosen in (columns + beside, beside or columns[:1]):
            other, who = moved(table, rng, chosen)
            own = "weight" not in chosen and "box_means" not in case
            after = made(tmp_path, other, case)
            cells = case.get("bounds", "cells") == "cells" and own
            assert same_elsewhere(before, after, who, cells=cells), (name, chosen)
        released += not isinstance(before, str)
    figures(tables=2 * scale, released=released)
    assert released > 0


def test_the_value_of_rank_k_may_change_the_others(tmp_path: Path) -> None:
    """The control: what the search sees does decide."""
    rng, changed = np.random.default_rng(8), 0
    for _ in range(6):
        table = random_table(rng, missing=False, persons=False, weights=False)
        values = table.frame["income"].to_numpy().copy()
        values[np.argsort(values)[-table.k :]] *= 30.0
        other = Table(table.frame.with_columns(pl.Series("income", values)), table.k, persons=False)
        before, after = (made(tmp_path, one, {"statistics": MEANS}) for one in (table, other))
        changed += not same_elsewhere(before, after, set(), cells=True)
    assert changed >= 3


MEANS = [{"kind": "mean", "of": [name]} for name in ("income", "age", "hours")]


@pytest.mark.parametrize("columns", [["income", "age", "hours"], ["income", "age", "job"]], ids=["numbers", "mixed"])
@pytest.mark.parametrize("partition", ["optimal", "fast"])
def test_nothing_follows_where_parts_are_too_large_to_sort(tmp_path: Path, partition: str, columns: list[str]) -> None:
    rng = np.random.default_rng(4)
    few = random_table(rng, missing=False, persons=False, weights=False)
    frame = pl.concat([few.frame.select(pl.exclude("id"))] * 90).with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))
    noise = np.round(rng.normal(0.0, 30.0, frame.height), 3)
    table = Table(frame.with_columns(income=pl.Series(noise) + pl.col("income")), 5, persons=False)
    case = {"quasi_identifiers": columns, "partition": partition, "k": 5, "statistics": MEANS[:2]}
    case |= {"unlisted_column_weight": 0.1}
    other, who = moved(table, rng, ["income", "age"])
    assert table.frame.height > 4_096 < frame.height
    assert same_elsewhere(made(tmp_path, table, case), made(tmp_path, other, case), who, cells=True)


@pytest.mark.parametrize("way", ["keep", "suppress", "weigh", "fast", "mondrian"])
def test_an_adversary_with_another_sample_recovers_nothing_from_the_shape(
    tmp_path: Path, way: str, scale: int, figures: Callable[..., None]
) -> None:
    """He lays incomes on a ladder into his own sample, and takes the one whose boxes are shaped most as published.

    Before, his estimates went with the truth; now they are the same, whatever that is.
    """
    case: dict[str, Any] = {"rare_records": way} if way in ("suppress", "weigh") else {}
    case |= {"partition": way} if way in ("fast", "mondrian") else {}
    ladder = 10.0 ** np.linspace(2.5, 6.5, 9)
    for number in range(scale):
        theirs, own = (_population(np.random.default_rng([seed, number])) for seed in (1, 2))
        guesses = np.array([_shape(tmp_path, own, income, case) for income in ladder])
        estimates = []
        for income in ladder[1::3]:
            shape = _shape(tmp_path, theirs, income, case)
            estimates.append(float(ladder[np.argmin(np.abs(guesses - shape).sum(axis=1))]))
        figures(way=way, different_estimates=len(set(estimates)))
        assert len(set(estimates)) == 1, "the shape goes with the income"


def _population(rng: np.random.Generator) -> Table:
    """People of whom the first is the richest."""
    size = 150
    income, age = np.round(np.exp(rng.normal(3.0, 0.8, size)), 1), rng.integers(18, 80, size)
    return Table(pl.DataFrame({"id": np.arange(size), "income": income, "age": age}), 5, persons=False)


def _shape(folder: Path, table: Table, income: float, case: dict[str, Any]) -> np.ndarray:
    """How many boxes there are without the widest ones, and how wide these are: logarithms, by column."""
    values = table.frame["income"].to_numpy().copy()
    values[0] = income
    frame = table.frame.with_columns(pl.Series("income", values))
    whole = {"quasi_identifiers": ["income", "age"], "statistics": [MEANS[0], MEANS[1]], **case}
    release = made(folder, Table(frame, table.k, persons=False), whole)
    assert not isinstance(release, str)
    boxes = release[0].unique("box").sort("box").filter((pl.col("income_hi") < FAR) & (pl.col("income_lo") > -FAR))
    widths = [np.log(1e-3 + (boxes[f"{n}_hi"] - boxes[f"{n}_lo"]).to_numpy()) for n in ("income", "age")]
    return np.array([np.log(1.0 + boxes.height), *(float(w.mean()) if len(w) else 0.0 for w in widths)])


def test_groups_of_a_condensed_release_do_not_follow_one_far_value(
    tmp_path: Path, scale: int, figures: Callable[..., None]
) -> None:
    """Under the same draws all rows are the same but those of the groups that hold a moved record.

    With plain deviations the unit of a column went with its farthest value, and all groups with the unit.
    """
    rng = np.random.default_rng(23)
    rows, changed = 0, 0
    for _ in range(4 * scale):
        table = random_table(rng)
        other, who = moved(table, rng, [str(rng.choice(["income", "age", "hours"]))])
        spec = {
            "method": "condensation", "dataset_id": "t", "quasi_identifiers": ["income", "age", "hours"], "k": table.k,
            "keep": ["id"],
        }  # fmt: skip
        one, two = (_condensed(tmp_path, each, spec) for each in (table, other))
        different = sum(a != b for a, b in zip(one.rows(), two.rows(), strict=True))
        assert one["id"].equals(two["id"]), "the same records are in the same groups"
        assert different <= len(who) * (2 * table.k), "no group but that of a moved record"
        rows, changed = rows + one.height, changed + different
    figures(rows=rows, changed=changed)
    assert 0 < changed < rows / 2, "the groups of moved records do change: their moments are published"


def test_the_record_of_rank_k_may_change_all_groups(tmp_path: Path) -> None:
    """The control: what is not among the outermost decides."""
    table = random_table(np.random.default_rng(5))
    values = table.frame["income"].to_numpy().copy()
    values[np.argsort(values)[-table.k :]] *= 30.0
    spec = anonymization("condensation", "t", ["income", "age"], k=table.k, keep=["id"])
    one = _condensed(tmp_path, table, spec)
    two = _condensed(tmp_path, Table(table.frame.with_columns(pl.Series("income", values)), table.k, False), spec)
    assert not one["id"].equals(two["id"])


def _condensed(folder: Path, table: Table, spec: dict[str, Any]) -> pl.DataFrame:
    place = folder / str(next(_names))
    place.mkdir()
    bench = Bench(place)
    bench.dataset("t", table.frame)
    return bench.run(spec, seed=3).rows()


@pytest.mark.parametrize(
    "demand", [{"l": 5}, {"alpha": 0.3}, {"l": 5, "person_column": "who"}], ids=["l", "alpha", "persons"]
)
def test_whether_a_version_shows_what_changed_does_not_follow_the_outermost_sensitive_values(
    tmp_path: Path, demand: dict[str, Any], scale: int, figures: Callable[..., None]
) -> None:
    """A box shows today's rows where they have enough sensitive values: the k - 1 outermost count as the k-th here too.

    To a small town came others, and the k - 1 sickest of all live there: alike or all different, these made the town's
    box show or wait.
    """
    shown = 0
    for seed in range(2 * scale):
        draw = np.random.default_rng([31, seed])
        base, crowd = ill(draw, seed, "abc", 160), ill(draw, seed + 50, "abc", 160).with_columns(pl.col("who") + 1_000)
        before, after = ill(draw, seed, "d", 8), ill(draw, seed + 100, "d", 13)
        tables = []
        for far in (np.full(K - 1, 9_999), 9_000 + np.arange(K - 1)):
            place = tmp_path / str(next(_names))
            place.mkdir()
            more = {"quasi_identifiers": ["town"], "domains": {}, "keep": [], "sensitive": ["sick"]} | demand
            versions = Versions(place, base.vstack(before), **more)
            sick = pl.Series("sick", np.concatenate([np.arange(9) % 3, far]))
            versions.add(base.vstack(crowd).vstack(after.with_columns(sick)))
            tables.append(versions.tables[-1].sort("box").drop("town_set"))
            shown += tables[-1].height > versions.tables[0].height
        assert tables[0].equals(tables[1])
    figures(versions=4 * scale, shown=shown)
    assert shown > 0


def ill(draw: np.random.Generator, seed: int, towns: str, rows: int) -> pl.DataFrame:
    """People of some towns with one of six illnesses each."""
    return people(seed, rows).with_columns(
        pl.Series("town", [towns[n % len(towns)] for n in range(rows)]),
        pl.Series("sick", draw.permutation(np.arange(rows) % 6)),
        pl.Series("who", 5_000 * ord(towns[0]) + np.arange(rows)),
    )
