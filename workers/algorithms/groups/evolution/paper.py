"""One generation as in the paper (TC, "Evolutionary algorithm for building the fuzzy model of a group").

Notation as in rules.rules, and
--------
mu : size of the population.  lambda : individuals replaced in a generation.

The paper's outline speaks of lambda pairs of parents whose recombination yields two offspring each, and replaces lambda
individuals: lambda/2 pairs are drawn here (science.md section 2, "Evolution": 20 pairs to 40 children). Ties are won by
the first drawn in a tournament, and lost by the one that is first in the population when the worst are replaced.
The fitness has the guard of rules.rules, where that is not 0.
"""

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.rules.rules import Rules


def random_rules(count: int, terms: IntArray, rng: np.random.Generator) -> Rules:
    """(count, V), every term uniform on [0, L_v]: the initial population."""
    return rng.integers(0, terms + 1, size=(count, len(terms))).astype(np.int8)


def tournament(fitness: FloatArray, count: int, size: int, rng: np.random.Generator) -> IntArray:
    """(count,), winners of tournaments among `size` individuals drawn with replacement."""
    drawn = rng.integers(0, len(fitness), size=(count, size))
    winners: IntArray = drawn[np.arange(count), np.argmax(fitness[drawn], axis=1)]
    return winners


def crossed(one: Rules, other: Rules, probability: float, rng: np.random.Generator) -> tuple[Rules, Rules]:
    """Uniform crossover: each pair exchanges every term with probability 1/2, or is left as it is."""
    exchange = rng.random(one.shape) < 0.5
    exchange &= rng.random((len(one), 1)) < probability
    return np.where(exchange, other, one), np.where(exchange, one, other)


def reset(rules: Rules, terms: IntArray, probability: float, rng: np.random.Generator) -> Rules:
    """Random resetting: each term is drawn anew with the probability."""
    return np.where(rng.random(rules.shape) < probability, random_rules(len(rules), terms, rng), rules)


def offspring(
    population: Rules,
    fitness: FloatArray,
    terms: IntArray,
    *,
    count: int,
    size: int,
    crossover: float,
    mutation: float,
    rng: np.random.Generator,
) -> Rules:
    """(count, V), children of pairs that won tournaments of `size`, crossed and mutated (outline, steps 4 to 6)."""
    pairs = -(-count // 2)
    parents = population[tournament(fitness, 2 * pairs, size, rng)]
    children = np.concatenate(crossed(parents[:pairs], parents[pairs:], crossover, rng))[:count]
    return reset(children, terms, mutation, rng)


def survivors(fitness: FloatArray, count: int) -> IntArray:
    """Places of all but the `count` worst (step 7 of the outline)."""
    return np.sort(np.argsort(fitness, kind="stable")[count:])
