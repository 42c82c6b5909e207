"""Most places are masked: the others, whose counts the masked ones come near to, are fewer."""

from pathlib import Path

import numpy as np
import pytest

from tests.drawing import seeds
from tests.methods.bases import microfile
from tests.methods.in_process import Bench

RULES = {
    "variables": [{"column": "age", "range": [16, 66], "terms": [{"name": "young", "shape": "z", "points": [22, 30]}]}],
    "rules": [{"terms": [1]}], "min_membership": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("seed", seeds(4))
def test_more_places_are_masked_than_others_are_left(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng([4106, seed])
    others = int(draw.integers(2, 5))
    places = 2 * others + 1
    bases = {place: int(draw.integers(30, 60)) for place in range(others + 1)}
    bench = Bench(tmp_path, seed=seed)
    frame = microfile(seed, regions=places, people=100, bases=bases)
    bench.dataset("home", frame)
    before = frame.filter(frame["age"] < 26)["region"].to_list()
    names = [f"R{place:02}" for place in bases]
    mask = [{"region": [name], "at_most": before.count(name) - int(draw.integers(3, 9))} for name in names]
    made = bench.run({
        "method": "swaps", "dataset_id": "home", "region_columns": ["region"], "drop": ["state", "job"], "mask": mask,
        "rules_model": RULES, "search": {"method": "assignment"}, "protected_alphas": [0.1],
    })  # fmt: skip
    rows = made.rows()
    young = rows.filter(rows["age"] < 26)["region"].to_list()
    for one in mask:
        (name,) = one["region"]
        assert young.count(name) <= one["at_most"], "the bound holds though nothing hides so many places"
    assert sorted(rows["age"].to_list()) == sorted(frame["age"].to_list()), "records change their places alone"
