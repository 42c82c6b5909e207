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
