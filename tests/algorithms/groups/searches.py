"""Microfiles to search, and searches run to their end."""

from pathlib import Path

import numpy as np
import pytest

from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.evolution import search as evolution
from workers.algorithms.groups.evolution.request import EvolutionRequest
from workers.algorithms.groups.rules.fuzzified import Fuzzified, fuzzify
from workers.algorithms.groups.rules.generality import SearchOutcome
from workers.algorithms.groups.rules.membership import Term

ACS = Path(__file__).parents[4] / "shared" / "data" / "acs2024"


def walk_through(state: enumeration.EnumerationState) -> SearchOutcome:
    while not enumeration.done(state):
        state = enumeration.step(state)
    return enumeration.result(state)


def evolve(state: evolution.EvolutionState, costs: float = evolution.STEP_COSTS) -> SearchOutcome:
    while not evolution.done(state):
        state = evolution.step(state, costs=costs)
    return evolution.result(state)


def planted(records: int = 3000, variables: int = 5) -> tuple[Fuzzified, np.ndarray]:
    """Three crisp terms to a variable; nine in ten of those with (1, 2, 3, any ...) are vital, and few others."""
    rng = np.random.default_rng(8)
    values = rng.integers(1, 4, size=(variables, records)).astype(np.float64)
    fits = (values[0] == 1) & (values[1] == 2) & (values[2] == 3)
    vital = rng.random(records) < np.where(fits, 0.9, 0.01)
    terms = [[Term("range", (value, value)) for value in (1.0, 2.0, 3.0)]] * variables
    return fuzzify(list(values), terms), vital


def fuzzy(records: int = 1500, variables: int = 6) -> tuple[Fuzzified, np.ndarray]:
    """Overlapping terms; the more terms of a kind, the likelier vital."""
    rng = np.random.default_rng(9)
    values = rng.random((variables, records))
    chance = 1.0 / (1.0 + np.exp(6.0 - 3.0 * (values[:3] > 0.6).sum(axis=0) - 2.0 * (values[3] < 0.3)))
    terms = [[Term("pi", (0.0, 0.0, 0.3, 0.5)), Term("gaussian", (0.15, 0.5)), Term("pi", (0.5, 0.7, 1.0, 1.0))]]
    return fuzzify(list(values), terms * variables), rng.random(records) < chance


SMALL = EvolutionRequest(
    population=30, replaced=10, generations=12, runs=3, min_relative_confidence=0.4, min_support=0.01
)


def reference() -> tuple[Fuzzified, np.ndarray]:
    """All states of acs2024 but North Carolina, seen through the variables of the attack."""
    import json

    import polars as pl

    variables = json.loads((ACS / "military-variables.json").read_text())
    inside = [pl.col(each["column"]).is_between(*each["range"]) for each in variables]
    columns = [each["column"] for each in variables]
    files = [path for path in sorted(ACS.glob("p_*.parquet")) if path.stem != "p_37"]
    people = pl.concat([pl.read_parquet(path, columns=[*columns, "MIL"]).filter(inside) for path in files])
    terms = [
        [
            Term(term["shape"], (term["sigma"], term["centre"]) if "sigma" in term else tuple(term["points"]))
            for term in each["terms"]
        ]
        for each in variables
    ]
    data = fuzzify([people[name].to_numpy().astype(np.float64) for name in columns], terms)
    return data, (people["MIL"] == 1).fill_null(value=False).to_numpy()


@pytest.fixture(scope="session")
def acs() -> tuple[Fuzzified, np.ndarray]:
    """`reference`, where there is the data."""
    if not ACS.is_dir():
        pytest.skip(f"no folder {ACS.name} in shared/data beside the project")
    return reference()
