"""What a question means by a value, where several texts may be the same value and rare ones stand under `other`."""

import pytest

from surebox_verify.released.codebooks import OTHER, Codebook, Meant


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
