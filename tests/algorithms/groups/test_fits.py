"""How many rules records fit, and how well, beside products taken one by one in plain Python."""

import math

import numpy as np
import pytest

from tests.algorithms.groups.rules_oracle import grade
from workers.algorithms.groups.rules.fits import confidence_order, fits
from workers.algorithms.groups.rules.fuzzified import fuzzify
from workers.algorithms.groups.rules.membership import Term

TERMS = [
    [Term("pi", (10, 18, 24, 30)), Term("gaussian", (4.0, 35.0)), Term("s", (38, 50))],
    [Term("z", (20, 34)), Term("triangle", (30, 40, 50)), Term("trapezoid", (40, 50, 80, 80))],
    [Term("range", (1, 2)), Term("range", (3, 3))],
]


@pytest.mark.parametrize("seed", range(3))
def test_fits_are_those_of_products_taken_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(16, 60, 200), rng.integers(1, 80, 200), rng.integers(1, 4, 200)]
    data = fuzzify([column.astype(np.float64) for column in columns], TERMS)
    rules = np.unique(rng.integers(0, [4, 4, 3], (25, 3)), axis=0).astype(np.int8)
    rules = rng.permutation(rules[rules.any(axis=1)])
    fitted = fits(data, rules, 0.5, 0.1)
    some = fits(data, rules, 0.5, 0.1, start=50, stop=120)
    assert fitted.rules == len(rules)
    for p, record in enumerate(zip(*columns, strict=True)):
        products = [
            math.prod(grade(TERMS[v][t - 1], float(record[v])) for v, t in enumerate(rule) if t) for rule in rules
        ]
        fitting = [r for r, product in enumerate(products) if product >= 0.5]
        best = max(products)
        assert fitted.grade[p] == pytest.approx(best if best >= 0.1 else 0.0)
        assert fitted.number[p] == len(fitting)
        assert fitted.first[p] == min(fitting, default=len(rules))
    np.testing.assert_array_equal(some.number, fitted.number[50:120])
    np.testing.assert_array_equal(some.first, fitted.first[50:120])


def test_the_most_confident_rules_come_first_and_equals_as_they_stand() -> None:
    assert confidence_order(np.array([1.0, np.inf, 0.8, 1.0, np.inf])).tolist() == [1, 4, 0, 3, 2]


def test_alphas_that_contradict_are_refused() -> None:
    data = fuzzify([np.array([20.0])], TERMS[:1])
    with pytest.raises(ValueError, match="lowest must not exceed alpha"):
        fits(data, np.array([[1]], dtype=np.int8), 0.3, 0.5)
