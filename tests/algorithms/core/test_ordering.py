import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.boxes.cases import tables
from workers.algorithms.core import ordering
from workers.algorithms.core.ordering import canonical_order


@settings(deadline=None)
@given(table=tables(), seed=st.integers(0, 2**32))
def test_shuffled_records_are_brought_into_the_same_order(table: tuple[np.ndarray, int], seed: int) -> None:
    x = table[0]
    shuffled = x[np.random.default_rng(seed).permutation(len(x))]
    np.testing.assert_array_equal(x[canonical_order(x)], shuffled[canonical_order(shuffled)])
    assert sorted(canonical_order(x).tolist()) == list(range(len(x)))


def test_records_of_the_same_mixture_are_ordered_by_value(monkeypatch: object) -> None:
    x = np.random.default_rng(0).integers(0, 3, (50, 2)).astype(float)
    monkeypatch.setattr(ordering, "_mix", lambda mixed: mixed.fill(7))  # type: ignore[attr-defined]
    ordered = x[canonical_order(x)]
    np.testing.assert_array_equal(ordered, x[np.lexsort(x.T[::-1])])


def test_zero_has_no_sign() -> None:
    assert canonical_order(np.array([[-0.0], [5.0]])).tolist() == canonical_order(np.array([[0.0], [5.0]])).tolist()
