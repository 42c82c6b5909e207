"""Small swapping problems for tests, and slow ways to look at them."""

import itertools

import numpy as np

from workers.algorithms.groups.swaps.metric import Metric, encode
from workers.algorithms.groups.swaps.problem import Problem, build
from workers.algorithms.groups.swaps.restrictions import Restriction

METRIC = Metric(ordinal=(1.0, 0.5), categorical=(1.0, 2.0))


def records(rng: np.random.Generator, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Submicrofile and encoded attributes of made-up records."""
    parameter = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    ordinal = rng.integers(-3, 9, (len(parameter), 2)).astype(np.float64)
    return parameter, encode(METRIC, ordinal, rng.integers(0, 3, (len(parameter), 2)))


def problem(rng: np.random.Generator, sizes: list[int], crisp: list[int], restrictions: list[Restriction]) -> Problem:
    """`crisp` members among `sizes` records per submicrofile."""
    parameter, values = records(rng, sizes)
    member = np.zeros(len(parameter), dtype=np.bool_)
    for code, count in enumerate(crisp):
        member[np.flatnonzero(parameter == code)[:count]] = True
    return build(parameter, len(sizes), member, values, METRIC, restrictions)


def slow_influence(x: np.ndarray, y: np.ndarray) -> float:
    """InfM of two encoded records under METRIC, from the definition."""
    total = 0.0
    for weight, a, b in zip(METRIC.categorical, x[:2], y[:2], strict=True):
        total += weight * (a != b)
    for weight, a, b in zip(METRIC.ordinal, x[2:], y[2:], strict=True):
        if abs(a) + abs(b) > 0:
            total += weight * ((a - b) / (abs(a) + abs(b))) ** 2
    return total


def cheapest_by_trying(given: Problem, moves: np.ndarray, capacities: np.ndarray | None = None) -> float:
    """Least distortion over all choices of source records and all orders of partners."""
    groups = len(given.crisp)
    quantity = int(moves.sum())
    floors = {r.element: r.bound - int(given.crisp[r.element]) for r in given.restrictions if r.raises}
    best = np.inf
    for ours in itertools.combinations(range(len(given.source_rows)), quantity):
        out = np.bincount(given.source_code[list(ours)], minlength=groups)
        if given.fixed == "sources" and np.any(out != moves):
            continue
        if given.fixed == "targets" and np.any(out < np.maximum(given.needs, 0)):
            continue
        for theirs in itertools.permutations(range(len(given.partner_rows)), quantity):
            into = np.bincount(given.partner_code[list(theirs)], minlength=groups)
            if given.fixed == "targets" and np.any(into != moves):
                continue
            if capacities is not None and np.any(into > capacities):
                continue
            if any(into[element] < floor for element, floor in floors.items()):
                continue
            pairs = zip(ours, theirs, strict=True)
            best = min(best, sum(slow_influence(given.source_values[s], given.partner_values[p]) for s, p in pairs))
    return best
