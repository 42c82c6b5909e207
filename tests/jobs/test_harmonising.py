"""Values of a body as columns hold them."""

import pytest

from app.contracts.columns import parsed, unparsable
from app.contracts.datasets import ColumnType

LONG = 2**53 + 1  # the first whole number that a double cannot hold


@pytest.mark.parametrize("value", [LONG, str(LONG), f"+{LONG}", f" {LONG} "])
def test_a_long_integer_is_taken_as_it_stands(value: object) -> None:
    assert parsed(value, ColumnType.INTEGER) == LONG
    assert parsed(str(-(2**63)), ColumnType.INTEGER) == -(2**63)


@pytest.mark.parametrize(("value", "wanted"), [(3.0, 3), ("3.0", 3), ("1e3", 1000), ("-7", -7)])
def test_a_whole_number_is_an_integer_however_it_is_written(value: object, wanted: int) -> None:
    assert parsed(value, ColumnType.INTEGER) == wanted


@pytest.mark.parametrize("value", [2**63, str(-(2**63) - 1), 0.5, "1e400", "nan", "+-5", "", True, "9" * 5000])
def test_what_no_integer_column_holds_is_refused(value: object) -> None:
    assert unparsable(value, ColumnType.INTEGER)
