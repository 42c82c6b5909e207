"""The same people are recognised however their table was rewritten; other people are not, of any size and kind."""

import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from tests.people import INDEPENDENT, REWRITTEN, Drawn, population, table_of
from workers.algorithms.tables.identified import PersonSketch, compared_persons, person_sketch
from workers.algorithms.tables.recognition import Sameness, compared
from workers.frames.hashed_cells import lattice_of


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", sorted(INDEPENDENT))
def test_independent_tables_are_of_other_people(kind: str, seed: int) -> None:
    draw = np.random.default_rng([1, seed])
    for _ in range(6):
        one, other = INDEPENDENT[kind](Drawn.without_files(draw))
        agreement = compared(table_of(other), table_of(one).sketch, tables=1)
        assert agreement.sameness is Sameness.OTHER, (agreement, one.columns, one.shape, other.shape)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", sorted(REWRITTEN))
def test_the_same_people_are_recognised_or_asked_about(kind: str, seed: int) -> None:
    draw = np.random.default_rng([2, seed])
    for _ in range(6):
        one, other = REWRITTEN[kind](Drawn.without_files(draw))
        for first, second in ((one, other), (other, one)):
            agreement = compared(table_of(second), table_of(first).sketch, tables=60)
            assert agreement.sameness is not Sameness.OTHER, (agreement, one.columns, one.shape, other.shape)
            assert agreement.agreeing > agreement.expected


def test_more_tables_need_more_evidence_and_equal_names_less() -> None:
    draw = np.random.default_rng(3)
    one, other = INDEPENDENT["portal"](Drawn.without_files(draw))
    renamed = other.rename({name: f"own_{name}" for name in other.columns[1:]})
    needed = [
        compared(table_of(x), table_of(one).sketch, tables=n).needed for x, n in ((one, 1), (one, 64), (renamed, 1))
    ]
    assert needed[1] == pytest.approx(needed[0] + 6)
    assert needed[2] > needed[0]


@pytest.mark.parametrize("columns", [2, 30])
def test_a_column_that_identifies_alone_is_asked_about(columns: int) -> None:
    """Two tables of the same towns, or of the same persons: nothing but the names says which."""
    draw = np.random.default_rng([4, columns])
    codes = draw.choice(10**9, 300, replace=False)
    tables = [
        pl.DataFrame({"code": draw.permutation(codes)} | {f"x{at}": draw.integers(0, 50, 300) for at in range(columns)})
        for _ in range(2)
    ]
    agreement = compared(table_of(tables[0]), table_of(tables[1]).sketch, tables=1)
    assert (agreement.sameness, agreement.columns) == (Sameness.UNDECIDED, ("code",))


def draw_ids(draw: np.random.Generator, kind: str, persons: int) -> list[int] | list[str]:
    """Ids of persons; of `turn`, `check` and `site` any two tables have the same ones."""
    made = {
        "numbers": lambda: draw.choice(10**10, persons, replace=False),
        "texts": lambda: [f"{one:010x}" for one in draw.choice(1 << 40, persons, replace=False)],
        "turn": lambda: np.arange(1, persons + 1), "third": lambda: draw.choice(3 * persons, persons, replace=False),
        "check": lambda: [100 * at + 98 - 100 * at % 97 for at in range(1, persons + 1)],
        "site": lambda: [10**6 * (1 + at // 50) + at % 50 for at in range(persons)],
        "names": lambda: [f"{one}{at}" for at, one in enumerate(draw.choice(["ann", "bob"], persons))],
    }[kind]()  # fmt: skip
    return list(made)


def visits_of(draw: np.random.Generator, ids: list[int] | list[str], name: str) -> pl.DataFrame:
    """Records of persons, some of each or the same number, whose values are drawn anew."""
    each = draw.integers(2, 9, len(ids)) if draw.random() < 0.5 else np.full(len(ids), int(draw.integers(2, 12)))
    rows = int(each.sum())
    frame = pl.DataFrame({
        name: pl.Series(ids).gather(np.repeat(np.arange(len(ids)), each)), "pulse": draw.integers(50, 120, rows),
        "drug": draw.choice([*"abcde"], rows), "weight": draw.normal(70, 9, rows).round(1),
    })  # fmt: skip
    return frame[draw.permutation(rows)]


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("name", ["patient_id", "HHID", "id"])
@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_ids_of_several_records_alone_are_asked_about(kind: str, name: str, seed: int) -> None:
    """Nine of ten persons are still there, and none of their values; never are tables united for it."""
    draw = np.random.default_rng([6, seed])
    ids = draw_ids(draw, kind, int(draw.integers(80, 2000)))
    later = visits_of(draw, ids[len(ids) // 10 :], name)
    agreement = compared(table_of(later), table_of(visits_of(draw, ids, name)).sketch, tables=60)
    assert (agreement.sameness, agreement.columns) == (Sameness.UNDECIDED, (name,))
    assert agreement.agreeing > 0.8
    assert agreement.expected < 0.6
    once = pl.DataFrame({name: ids, "born": draw.integers(1930, 2010, len(ids))})
    for one, other in ((once, later), (later, once)):  # what each person is, and what was measured
        assert compared(table_of(one), table_of(other).sketch, tables=60).sameness is Sameness.UNDECIDED


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("kind", ["numbers", "texts", "turn", "third", "check", "site", "names"])
def test_ids_of_other_people_are_not_asked_about(kind: str, seed: int) -> None:
    """Numbers in turn, with check digits or by site, are the same in all tables."""
    draw = np.random.default_rng([7, seed])
    for _ in range(20):
        one, other = (
            table_of(visits_of(draw, draw_ids(draw, kind, int(draw.integers(80, 900))), "patient_id")) for _ in range(2)
        )
        assert compared(one, other.sketch, tables=1).sameness is Sameness.OTHER


@pytest.mark.parametrize("name", ["school_id", "doctor_id", "tract", "x7", "plan_id"])
def test_codes_of_places_that_other_people_share_are_not_asked_about(name: str) -> None:
    draw = np.random.default_rng([8, len(name)])
    codes = draw_ids(draw, "numbers", 400)
    one, other = (table_of(visits_of(draw, codes, name)) for _ in range(2))
    assert compared(one, other.sketch, tables=1).sameness is Sameness.OTHER


@pytest.mark.parametrize("seed", seeds(6))
def test_persons_are_recognised_by_their_ids_when_their_values_have_changed(seed: int) -> None:
    """Ids far apart by themselves; numbers given in turn, which all tables have, by what a person keeps."""
    draw = np.random.default_rng([5, seed])
    frame = population(draw, int(draw.integers(300, 3000)))
    if seed % 3 == 2:
        frame = frame.sort("town")
    numbers = np.arange(frame.height) if seed % 2 else draw.choice(10**9, frame.height, replace=False)
    frame = frame.with_columns(pl.Series("id", numbers))
    later = frame.sample(fraction=0.97, shuffle=True, seed=seed).with_columns(pl.col("age") + 1, pl.col("income") + 7)
    strangers = population(draw, frame.height)
    strangers = (strangers.sort("town") if seed % 3 == 2 else strangers).with_columns(
        pl.Series("id", numbers if seed % 2 else draw.choice(10**9, frame.height, replace=False))
    )
    first, second, third = (persons_of(one) for one in (frame, later, strangers))
    assert compared_persons(second, first, tables=60).sameness is Sameness.SAME
    assert compared_persons(third, first, tables=60).sameness is Sameness.OTHER


def persons_of(frame: pl.DataFrame) -> PersonSketch:
    columns = {one.sketch.name: one for one in table_of(frame).columns}
    order = frame["id"].arg_sort().to_numpy().astype(np.int64)
    return person_sketch(columns.pop("id"), list(columns.values()), order=order, lattice=lattice_of(frame["id"]))


def test_a_part_of_a_table_with_units_in_several_records_is_not_drawn_as_other_people() -> None:
    drawn = Drawn.without_files(np.random.default_rng(3))
    drawn.tables = {**drawn.tables, "months": pl.DataFrame({"month": [1, 2] * 400, "unit": sorted([*range(400)] * 2)})}
    drawn.panels = ("months",)
    pairs = [INDEPENDENT["a part and others"](drawn) for _ in range(40)]
    assert not any("unit" in frame.columns for pair in pairs for frame in pair)
