import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.groups.signals.signals import concentration, members, signals

RECORD = st.tuples(st.integers(0, 4), st.booleans(), st.sampled_from([0.0, 0.2, 0.5, 0.5000001, 0.8, 1.0]))


@given(st.lists(RECORD, max_size=40), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=examples(60))
def test_signals_are_those_counted_record_by_record(records: list[tuple[int, bool, float]], alpha: float) -> None:
    codes = np.array([r[0] for r in records], dtype=np.int64)
    vital = np.array([r[1] for r in records], dtype=bool)
    grade = np.array([r[2] for r in records], dtype=np.float64)
    computed = signals(codes, 5, vital, grade, alpha)
    size, quantity, auxiliary, crisp = [0] * 5, [0] * 5, [0.0] * 5, [0] * 5
    for code, in_group, mu in records:
        size[code] += 1
        quantity[code] += in_group
        if mu >= alpha and mu > 0:
            auxiliary[code] += mu
            crisp[code] += 1
    assert computed.sizes.tolist() == size
    assert computed.quantity is not None
    assert computed.quantity.tolist() == quantity
    assert computed.crisp.tolist() == crisp
    np.testing.assert_allclose(computed.auxiliary, auxiliary, rtol=1e-12)
    assert np.count_nonzero(members(grade, alpha)) == sum(crisp)


def test_without_vital_columns_there_is_no_quantity() -> None:
    computed = signals(np.array([0, 1, 1]), 3, None, np.array([1.0, 0.7, 0.0]), 0.5)
    assert computed.quantity is None
    assert computed.auxiliary.tolist() == [1.0, 0.7, 0.0]


def test_concentrations_divide_by_the_size_and_refuse_empty_submicrofiles() -> None:
    assert concentration(np.array([1, 3]), np.array([4, 4])).tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match="1 submicrofiles have no records"):
        concentration(np.array([1, 0]), np.array([4, 0]))
    with pytest.raises(ValueError, match="one length"):
        concentration(np.array([1, 0]), np.array([4]))


@pytest.mark.parametrize(
    ("codes", "grades", "alpha", "says"),
    [
        ([0, 3], [0.5, 0.5], 0.5, r"\[0, 3\)"),
        ([0, -1], [0.5, 0.5], 0.5, r"\[0, 3\)"),
        ([0, 1], [0.5, 1.5], 0.5, "membership"),
        ([0, 1], [0.5, np.nan], 0.5, "membership"),
        ([0, 1], [0.5, 0.5], 1.5, "alpha"),
        ([0, 1], [0.5], 0.5, "one length"),
    ],
)
def test_what_cannot_be_is_refused(codes: list[int], grades: list[float], alpha: float, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        signals(np.array(codes), 3, None, np.array(grades), alpha)
