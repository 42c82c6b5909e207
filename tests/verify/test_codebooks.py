"""What a question means by a value, where several texts may be the same value and rare ones stand under `other`."""

import random
from typing import Any

import pytest

from surebox_verify.released.codebooks import Codebook, Meant, UnlistedValueError
from surebox_verify.released.naming import OTHER, may_be_merged, merged_word
from tests.drawing import seeds


@pytest.mark.parametrize(("shown", "value"), [("1", 1.0), ("true", True)])
def test_another_spelling_may_stand_under_other(shown: str, value: float) -> None:
    """`1.0`, or `TRUE`, may be one of the rare texts; nothing is certain of the records that have the shown one."""
    book = Codebook("c", (shown, OTHER))
    assert book.meant(value) == Meant(frozenset(), frozenset({0, 1}))
    assert book.meant(shown) == Meant(frozenset({0}), frozenset({0}))


def test_a_value_with_one_spelling_is_that_text() -> None:
    assert Codebook("c", ("1", OTHER)).meant(1) == Meant(frozenset({0}), frozenset({0}))
    assert Codebook("c", ("1", "2")).meant(1.0) == Meant(frozenset({0}), frozenset({0}))
    assert Codebook("c", ("1", OTHER), complete=True).meant(1.0) == Meant(frozenset({0}), frozenset({0}))


ICD = [["E10", "E10", "E", "*"], ["E10.1", "E10", "E", "*"], ["*", "E11", "E", "*"], ["I21", "I21", "I", "*"]]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("E10", {"E10"}),
        ({"value": "E10"}, {"E10"}),
        ({"class": "E10"}, {"E10", "E10.1"}),
        ("E", {"E10", "E10.1", "*"}),
        ("*", {"*"}),
        ({"class": "*"}, {"E10", "E10.1", "*", "I21"}),
    ],
)
def test_a_name_is_a_value_if_there_is_one_and_else_a_class(name: Any, values: set[str]) -> None:
    known = ["E10", "E10.1", "*", "I21", None]  # a missing value is in no class
    meant = Codebook("c", known, [row[0] for row in ICD], ICD).meant(name)
    codes = frozenset(known.index(value) for value in values)
    assert meant == Meant(codes, codes)


@pytest.mark.parametrize("name", [{"value": "E"}, {"class": "E10.1"}, "E12", {"class": "other"}])
def test_what_is_neither_is_refused(name: Any) -> None:
    with pytest.raises(UnlistedValueError, match=r"no (value|class) of column 'c'"):
        Codebook("c", ["E10", "E10.1"], [row[0] for row in ICD], ICD).meant(name)


def test_merged_values_are_a_class_and_their_word_is_no_value() -> None:
    book = Codebook("c", ("a", OTHER), merged=(OTHER,))
    assert book.meant({"class": OTHER}) == Meant(frozenset({1}), frozenset({1}))
    assert book.meant(OTHER) == book.meant("b") == Meant(frozenset(), frozenset({1}))
    assert [book.name_of(code) for code in (0, 1)] == ["a", {"class": OTHER}]
    frequent = Codebook("c", ("a", OTHER, "other values"), merged=("other values",))
    assert frequent.meant(OTHER) == Meant(frozenset({1}), frozenset({1}))
    with pytest.raises(UnlistedValueError, match="no value 'b' of column 'c' is shown"):
        Codebook("c", ("a", OTHER), merged=()).meant("b")


def test_whoever_has_the_file_alone_does_not_know_which_it_is() -> None:
    book = Codebook("c", ("a", OTHER))
    assert book.meant(OTHER) == book.meant({"class": OTHER}) == Meant(frozenset(), frozenset({1}))
    assert [book.is_unsure(code) for code in (0, 1)] == [False, True]


@pytest.mark.parametrize("seed", seeds(20))
def test_the_word_for_merged_values_is_none_of_them_and_known_as_one(seed: int) -> None:
    chance = random.Random(seed)
    words = [OTHER, "other values", *(f"other values {number}" for number in range(2, 9))]
    listed = chance.sample(words, chance.randrange(len(words)))
    word = merged_word(listed)
    assert word not in listed
    assert may_be_merged(word)
    assert not may_be_merged(chance.choice(["others", "other values 1", "other values 02", "other values ", "Other"]))
