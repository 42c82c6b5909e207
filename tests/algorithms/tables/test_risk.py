"""Chances of adversaries, estimates of a population and rules for sums, against sums written out."""

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.tables.classes import histogram
from workers.algorithms.tables.magnitudes import sensitive_cells
from workers.algorithms.tables.population import alone_probability, log_likelihood, population_uniques
from workers.algorithms.tables.risk import journalist, marketer, prosecutor

SIZE = np.array([1, 4, 5, 10])


def test_each_adversary_has_the_chances_that_his_knowledge_leaves() -> None:
    people = np.array([10.0, 4.0, 20.0, 100.0])
    known = prosecutor(SIZE, SIZE, 0.2)
    assert (known.highest, known.average, known.share_above) == (1.0, pytest.approx(4 / 20), pytest.approx(5 / 20))
    anybody = journalist(SIZE, SIZE, people, 0.2)
    expected = sum(Fraction(f) / Fraction(F) for f, F in zip(SIZE.tolist(), people.tolist(), strict=True)) / 20
    assert anybody.highest == 0.25
    assert anybody.average == pytest.approx(float(max(expected, Fraction(4, 134))))
    assert anybody.share_above == pytest.approx(4 / 20)
    assert marketer(SIZE, SIZE, people, 0.2).average == pytest.approx(float(expected))
    assert journalist(SIZE, SIZE, people / 100, 0.2) == known  # a class holds at least whom the table shows


def test_pitmans_formula_is_what_it_says() -> None:
    size, number = histogram(np.array([1, 1, 1, 2, 3, 3, 6]))
    theta, alpha = 2.5, 0.3
    expected = (
        sum(math.log(theta + i * alpha) for i in range(1, 7))
        - sum(math.log(theta + i) for i in range(1, 17))
        + sum(n * sum(math.log(i - alpha) for i in range(1, j)) for j, n in ((1, 3), (2, 1), (3, 2), (6, 1)))
    )
    assert log_likelihood(theta, alpha, size, number) == pytest.approx(expected, rel=1e-12)
    product = math.prod((theta + i - 1 + alpha) / (theta + i) for i in range(1, 50))
    assert alone_probability(theta, alpha, 50) == pytest.approx(product, rel=1e-10)


def chinese_restaurant(theta: float, alpha: float, people: int, rng: np.random.Generator) -> np.ndarray:
    """Classes of a population that follows Pitman's formula, person by person."""
    of_person, count = [], []
    for i in range(people):
        if rng.random() < (theta + alpha * len(count)) / (theta + i):
            count.append(1)
            of_person.append(len(count) - 1)
            continue
        while True:  # one of those who came before, kept with probability (c - alpha)/c
            chosen = of_person[rng.integers(i)]
            if rng.random() < (count[chosen] - alpha) / count[chosen]:
                break
        count[chosen] += 1
        of_person.append(chosen)
    return np.array(of_person)


def test_uniques_of_a_population_of_pitmans_kind_are_estimated_from_a_sample() -> None:
    rng = np.random.default_rng(11)
    people = chinese_restaurant(60.0, 0.5, 20_000, rng)
    truth = int((np.bincount(people) == 1).sum())
    sample = rng.permutation(people)[:4_000]
    counts = np.bincount(sample)
    uniques = population_uniques(*histogram(counts[counts > 0]), 0.2)
    assert uniques.pitman == pytest.approx(truth, rel=0.15)


@settings(deadline=None, max_examples=examples(30))
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=30), fraction=st.sampled_from([0.1, 0.25, 0.5]))
def test_zayatz_is_the_posterior_of_a_class_of_one(sizes: list[int], fraction: float) -> None:
    n, alone = sum(sizes), sizes.count(1)
    people = round(n / fraction)
    chance = {
        j: Fraction(j * math.comb(people - j, n - 1), math.comb(people, n)) if people - j >= n - 1 else Fraction(0)
        for j in set(sizes)
    }
    uniques = population_uniques(*histogram(np.array(sizes)), fraction)
    if not alone:
        assert uniques.zayatz == 0.0
        return
    posterior = sizes.count(1) * chance[1] / sum(sizes.count(j) * chance[j] for j in set(sizes))
    assert uniques.zayatz == pytest.approx(float(min(alone * posterior * people / n, people)), rel=1e-9)


def test_a_table_of_everybody_has_the_uniques_that_it_has() -> None:
    uniques = population_uniques(*histogram(np.array([1, 1, 2])), 1.0)
    assert (uniques.pitman, uniques.zayatz) == (2.0, 2.0)


@settings(deadline=None, max_examples=examples(50))
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(-5, 20)), min_size=1, max_size=40),
    largest=st.integers(1, 3),
)
def test_rules_of_sums_are_those_of_each_cell_written_out(rows: list[tuple[int, int, int]], largest: int) -> None:
    given_by: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for cell, person, value in rows:
        given_by[cell][person] += abs(value)
    cells = sorted(given_by)
    arrays = np.array(rows)
    sensitive = sensitive_cells(
        np.searchsorted(cells, arrays[:, 0]), arrays[:, 1], arrays[:, 2].astype(float), largest=largest
    )
    for at, cell in enumerate(cells):
        x = sorted(given_by[cell].values(), reverse=True)
        total = sum(x)
        assert sensitive.contributors[at] == len(x)
        assert sensitive.dominated(75)[at] == (sum(x[:largest]) > 0.75 * total)
        assert sensitive.estimable(10)[at] == (total - x[0] - (x[1] if len(x) > 1 else 0) < 0.1 * x[0])
