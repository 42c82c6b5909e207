"""Codebooks of nominal columns: declared, of a hierarchy, or what k records have."""

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from app.contracts.columns import ColumnKind, typed
from app.contracts.datasets import ColumnType
from app.errors import InvalidError
from app.methods.boxes.check_statistics import wrong_statistics
from app.methods.boxes.nominal import Hierarchy, NominalColumn
from app.methods.boxes.spec import BoxesSpec
from tests.drawing import seeds
from tests.meta.project import ROOT
from workers.frames.codes import coded
from workers.methods.boxes.canonical_order import Order, in_canonical_order
from workers.methods.boxes.codebooks import Codebook, codebook, declared_codebook

ARX = ROOT.parent / "shared" / "data" / "adult" / "arx"
STRING = ColumnType.STRING


def book(
    cells: list[Any], k: int, column: ColumnType = STRING, people: list[int] | None = None, **declared: Any
) -> tuple[Codebook, list[Any]]:
    """The codebook, and the value that each record's code stands for."""
    encoded = coded(pa.chunked_array([pa.array(cells)]))
    persons = None if people is None else np.array(people, dtype=np.int64)
    made, codes = codebook("job", column, NominalColumn.model_validate(declared), encoded, people=persons, k=k)
    return made, ["missing" if code < 0 else made.values[code] for code in codes.tolist()]


def test_values_that_fewer_than_k_records_have_are_together() -> None:
    made, values = book([*"aaaabbbbccde", None], k=3)
    assert made.values == ("a", "b", "other")
    assert made.from_data
    assert values == [*"aaaabbbb", *["other"] * 4, "missing"]


def test_too_few_of_them_take_the_next_rarest_with_them() -> None:
    made, values = book([*"aaaabbbc"], k=3)
    assert made.values == ("a", "other")
    assert values == [*"aaaa", *["other"] * 4]


def test_a_frequent_value_called_other_stays_apart_from_the_others() -> None:
    made, values = book([*["other"] * 5, *"aaaabcd"], k=3)
    assert (made.values, made.merged_as) == (("a", "other", "other values"), "other values")
    assert (values.count("other"), values.count("other values")) == (5, 3)
    taken = [word for word in ("other", "other values", "other values 2") for _ in range(3)]
    assert book([*taken, *"bcd"], k=3)[0].merged_as == "other values 3"


def test_a_rare_value_called_other_changes_no_word() -> None:
    """The word follows from the listed values: it does not show whether someone has the value."""
    for rare in ("other", "b"):
        made, values = book([rare, *"aaaacd"], k=3)
        assert (made.values, made.merged_as, values.count("other")) == (("a", "other"), "other", 3)


def test_with_persons_a_value_of_one_person_is_rare() -> None:
    made, _ = book([*"aaabbbccc"], k=3, people=[1, 1, 1, 2, 3, 4, 2, 3, 5])
    assert "a" not in made.values
    assert made.values == ("c", "other")  # b goes with a: persons 1 to 4 are enough
    assert book([*"aaabbb"], k=3)[0].values == ("a", "b")


def test_persons_with_several_rare_values_count_once_among_the_others() -> None:
    made, _ = book([*"pqrsttttt"], k=3, people=[1, 1, 1, 2, 3, 4, 5, 6, 7])
    assert made.values == ("other",)  # p, q, r and s are two persons'


def test_a_declared_codebook_is_taken_as_it_is() -> None:
    made, values = book(["b", None, "b"], k=3, values=["z", "b", None])
    assert (made.values, made.from_data, values) == (("b", "z", None), False, ["b", None, "b"])  # as readers have it
    with pytest.raises(InvalidError) as raised:
        book(["a", "b"], k=1, values=["a"])
    assert raised.value.errors[0].pointer == "/nominal/job"
    assert "'b'" not in str(raised.value)


def test_missing_is_a_value_where_that_is_said() -> None:
    made, values = book([None, "a", None, "a"], k=2, missing_is_value=True)
    assert (made.values, values) == (("a", None), [None, "a", None, "a"])
    with pytest.raises(InvalidError, match="fewer than k"):
        book([None, "a", "a"], k=2, missing_is_value=True)


def test_values_of_other_types_stay_what_they_are() -> None:
    assert book([True, True], k=2, column=ColumnType.BOOLEAN)[0].values == (False, True)
    assert book([3, 1, 3, 1], k=2, column=ColumnType.INTEGER)[0].values == (1, 3)
    with pytest.raises(InvalidError, match="list the values"):
        book([3, 1, 3], k=2, column=ColumnType.INTEGER)


ROWS = (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"))


def test_a_set_is_its_lowest_common_class() -> None:
    made, _ = book([*"abc", None], k=1, hierarchy={"rows": ROWS}, missing_is_value=True)
    assert made.values == ("a", "b", "c", None)
    assert made.tree is not None
    above = {"a": "x", "b": "x", "c": "y"}
    for chosen in itertools.product([False, True], repeat=4):
        held = {value for value, is_in in zip(made.values, chosen, strict=True) if is_in}
        if held:
            label = made.labels[made.tree.covering(np.array([chosen]))[0]]
            if len(held) == 1:
                assert label == next(iter(held))
            else:
                classes = {above.get(value, "*") if value else "*" for value in held}
                assert label == (next(iter(classes)) if len(classes) == 1 else "*")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ((("a", "x", "*"), ("b", "y", "?")), "last entry"),
        ((("a", "x", "*"), ("a", "x", "*")), "twice"),
        ((("a", "x", "*"), ("b", "*")), "as many entries"),
        ((("a", "x", "p", "*"), ("b", "x", "q", "*")), "another class"),
    ],
)
def test_what_is_no_tree_is_refused(rows: tuple[tuple[str, ...], ...], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Hierarchy(rows=rows)


def test_a_hierarchy_that_no_line_can_be_read_of_is_refused() -> None:
    with pytest.raises(ValidationError, match="cannot be read"):
        Hierarchy.model_validate({"csv": "a;" + "b" * 200_000})


@pytest.mark.parametrize("column", [ColumnType.INTEGER, ColumnType.NUMBER])
def test_numbers_that_no_column_holds_are_no_values(column: ColumnType) -> None:
    for value in (10**400, "nan", "1e400", True):
        with pytest.raises(ValueError, match="not"):
            typed(value, column)
    assert (typed("40.0", column), typed(2**53 + 1, ColumnType.INTEGER)) == (40, 2**53 + 1)


def test_a_statistic_about_what_a_column_cannot_have_is_refused_at_its_place() -> None:
    book = Codebook("n", ColumnType.INTEGER, (1, 2, None))
    statistic = {"kind": "share", "of": ["n"], "values": [2, "abc", 3]}
    spec = BoxesSpec.model_validate(
        {
            "method": "boxes",
            "dataset_id": "ds_1",
            "quasi_identifiers": ["n"],
            "nominal": {"n": {}},
            "k": 2,
            "statistics": [statistic],
        }
    )
    with pytest.raises(InvalidError) as refused:
        in_canonical_order(spec, Order((), ("n",), np.empty((0, 0), np.uint32)), {"n": book}, {"n": book.type})
    assert [one.pointer for one in refused.value.errors] == [f"/statistics/0/values/{place}" for place in (1, 2)]


@pytest.mark.skipif(not ARX.is_dir(), reason="no ../shared/data/adult/arx beside the project")
def test_hierarchies_of_arx_are_read() -> None:
    for path in sorted(ARX.glob("adult_hierarchy_*.csv")):
        given = Hierarchy.model_validate({"csv": Path(path).read_text()})
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line]
        assert [";".join(row) for row in given.rows] == lines


@pytest.mark.parametrize("seed", seeds(12, 100))
def test_a_statistic_about_what_no_one_declared_is_refused_when_the_job_is_made(seed: int) -> None:
    draw = random.Random(seed)
    declared, texts = draw.sample(range(10), 4), draw.sample(["a", "B", "c d", "é", "0012", "1e5", "x"], 4)
    codebooks = {"code": {"values": declared}, "town": {"hierarchy": {"rows": [[text, "all"] for text in texts]}}}
    for column, known, unknown in (("code", declared, 10 + seed), ("town", [*texts, "all"], "nowhere")):
        share = {"kind": "share", "of": [column], "values": [draw.choice(known), unknown]}
        spec = BoxesSpec.model_validate({
            "method": "boxes", "dataset_id": "ds_1", "quasi_identifiers": ["age", "code", "town"], "k": 5,
            "nominal": codebooks, "statistics": [share],
        })  # fmt: skip
        kinds = {"age": ColumnKind.INTEGER, "code": ColumnKind.NOMINAL, "town": ColumnKind.NOMINAL}
        wrong = list(wrong_statistics(spec, kinds, {}, kinds))
        assert [error.pointer for error in wrong] == ["/statistics/0/values/1"]


@pytest.mark.parametrize("seed", seeds(200))
def test_the_front_refuses_no_value_that_a_job_understands(seed: int) -> None:
    draw = random.Random(seed)
    kind = draw.choice([ColumnType.INTEGER, ColumnType.STRING, ColumnType.NUMBER])
    pool: list[Any] = [0, 1, 2, 10, -3]
    if kind is STRING:
        pool = ["a", "A", " a", "\uff41", "12", "0012", "1e1", "true", "é"]
    pool = [each + 0.5 if kind is ColumnType.NUMBER and draw.random() < 0.5 else each for each in pool]
    values = draw.sample(pool, 3)
    named = draw.choice([*pool, 12, 12.0, "12.0", 1.0, "1", 10, "0010", True, "b", "E\u0301", "10.0"])
    spec = BoxesSpec.model_validate({
        "method": "boxes", "dataset_id": "ds_1", "quasi_identifiers": ["n"], "k": 2,
        "nominal": {"n": {"values": values}}, "statistics": [{"kind": "share", "of": ["n"], "values": [named]}],
    })  # fmt: skip
    book = declared_codebook("n", kind, spec.nominal["n"])
    early = list(wrong_statistics(spec, {"n": ColumnKind.NOMINAL}, {}, ["n"]))
    try:
        in_canonical_order(spec, Order((), ("n",), np.empty((0, 0), np.uint32)), {"n": book}, {"n": kind})
    except InvalidError:
        return
    assert early == []
