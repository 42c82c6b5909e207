"""Attackers who know the method score places by the counts masked against: no better than chance over many files."""

import math

import numpy as np
import pytest

from surebox_core.steps import finished
from tests.algorithms.groups.swapping import METRIC, records
from tests.algorithms.groups.test_profile import ALPHAS, drawing, exchanged, view
from tests.drawing import seeds
from workers.algorithms.groups.profile.inconspicuous import masking
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.problem import build
from workers.algorithms.groups.swaps.restrictions import Restriction

PLACES, MASKED = 30, (0, 1, 2, 3)
FAMILIES = {"members", "members_share", "rules", "rules_share", "confident", "confident_share"}


def masked_file(seed: int) -> tuple[list[list[float]], int]:
    """Signals of a made-up country that is masked, and how many of them fail. Places differ, bases stand out."""
    rng = np.random.default_rng([4106, seed])
    parameter, values = records(rng, [70] * PLACES)
    usual = rng.uniform(0.02, 0.12, PLACES)[parameter]
    grades = np.where(rng.random(len(parameter)) < usual, rng.random(len(parameter)), 0.0)
    for place in MASKED:
        count = int(rng.integers(25, 50))
        grades[np.flatnonzero(parameter == place)[:count]] = rng.choice([0.2, 0.35, 0.6, 0.95], count)
    band, nothing = bands(grades, np.array(ALPHAS)), np.zeros((len(ALPHAS), PLACES), dtype=np.int64)
    levels = Levels(band, nothing - 1, nothing, ALPHAS.index(0.5))
    restrictions = [Restriction(place, 8, 60) for place in MASKED]
    made = build(parameter, PLACES, band <= levels.at, values, METRIC, restrictions, levels=levels)
    seen = view(parameter, grades, MASKED)
    masked = finished(masking(made, seen, drawing(seed)))
    signals = seen.families.profile(exchanged(parameter, masked.swaps), PLACES)
    return [one.values.tolist() for one in signals if one.name in FAMILIES], len(masked.failures)


def rank(values: list[float], place: int) -> float:
    return sum(v > values[place] for v in values) + (sum(v == values[place] for v in values) + 1) / 2


def below_the_bar(ranks: list[float]) -> float:
    """High on average, and hardly ever among the two highest."""
    return -sum(ranks) / len(ranks) - (1e9 if sum(one <= 2 for one in ranks) >= 0.05 * len(ranks) else 0.0)


def on_average(ranks: list[float]) -> float:
    return -sum(ranks) / len(ranks)


@pytest.mark.long
def test_masked_places_are_found_no_better_than_by_chance() -> None:
    """Mann and Whitney's U of each file, over all files in standard deviations of chance."""
    deviations: dict[str, list[float]] = {"below": [], "mean": []}
    failing = 0
    for seed in seeds(12):
        signals, failures = masked_file(seed)
        failing += failures > 0
        ranks = [[rank(values, place) for values in signals] for place in range(PLACES)]
        for name, score in (("below", below_the_bar), ("mean", on_average)):
            values = [score(one) for one in ranks]
            pairs = [(values[mine], values[other]) for mine in MASKED for other in range(len(MASKED), PLACES)]
            area = sum((a > b) + 0.5 * (a == b) for a, b in pairs) / len(pairs)
            spread = math.sqrt((PLACES + 1) / (12 * len(MASKED) * (PLACES - len(MASKED))))
            deviations[name].append((area - 0.5) / spread)
    together = {name: sum(some) / math.sqrt(len(some)) for name, some in deviations.items()}
    assert failing <= len(deviations["below"]) / 4
    assert abs(together["below"]) <= 3.0, together
    assert abs(together["mean"]) <= 3.0, together
