"""Searches of group anonymity are packed in every state they can be in, the ended one too, and go on to one result."""

import io
from typing import Any

import numpy as np
import pytest

from app.methods.group.spec import GroupSpec
from app.methods.swaps.spec import SwapsSpec
from tests.methods.bases import VARIABLES, microfile
from workers.algorithms.groups.profile.decoys import Everybody
from workers.algorithms.groups.rules.fits import Fits
from workers.algorithms.groups.rules.fuzzified import Fuzzified, fuzzify
from workers.algorithms.groups.rules.membership import Term
from workers.algorithms.groups.signals.criteria import Judge
from workers.algorithms.groups.swaps.metric import Metric, encode
from workers.algorithms.groups.swaps.problem import Problem, build
from workers.algorithms.groups.swaps.restrictions import Restriction
from workers.engine.randomness import new_generator
from workers.methods.microfile.attack import Places, stand_out
from workers.methods.microfile.rule_search import Search, search_for
from workers.methods.protocol import Arrays
from workers.methods.swaps.hiding import Hiding, families_of
from workers.methods.swaps.keys import Keys
from workers.methods.swaps.mask import Masking
from workers.methods.swaps.search import SwapSearch, swap_search

SPEC = {
    "method": "group", "auxiliary_dataset_id": "ds_x", "hidden_group": {"column": "job", "values": ["army"]},
    "region_columns": ["region"], "variables": VARIABLES,
}  # fmt: skip
EVOLUTION = {"method": "evolution", "generations": 4, "runs": 3, "population": 20, "replaced": 8}


def stored(arrays: Arrays) -> Arrays:
    """As they come back from a checkpoint: no objects, no pickles."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


@pytest.fixture(scope="module")
def auxiliary() -> tuple[Fuzzified, Any]:
    frame = microfile(1, regions=6, bases={2: 50}).drop_nulls()
    terms = [
        [Term("pi", (10.0, 18.0, 24.0, 30.0)), Term("s", (38.0, 50.0))], [Term("s", (40.0, 50.0))],
        [Term("range", (1.0, 2.0)), Term("range", (3.0, 3.0))],
    ]  # fmt: skip
    columns = [frame[name].cast(float).to_numpy() for name in ("age", "hours", "way")]
    return fuzzify(columns, terms), (frame["job"] == "army").to_numpy()


def rules(search: Search) -> list[list[int]]:
    while not search.done:
        search = search.step()
    return search.result().rules.tolist()


@pytest.mark.parametrize("search_spec", [EVOLUTION, {"method": "exhaustive"}], ids=lambda case: case["method"])
def test_a_search_for_rules_goes_on_from_any_step(
    auxiliary: tuple[Fuzzified, Any], search_spec: dict[str, Any]
) -> None:
    spec = GroupSpec.model_validate({**SPEC, "search": search_spec})
    seen, vital = auxiliary
    expected = rules(search_for(spec, seen, vital, threads=1, rng=new_generator(3)))
    search, steps = search_for(spec, seen, vital, threads=1, rng=new_generator(3)), 0
    while not search.done:
        resumed = search_for(spec, seen, vital, threads=2, arrays=stored(search.pack()))
        assert rules(resumed) == expected, f"after {steps} steps"
        search, steps = search.step(), steps + 1
    ended = search_for(spec, seen, vital, threads=1, arrays=stored(search.pack()))
    assert ended.done
    assert ended.result().rules.tolist() == expected
    assert ended.result().over_thresholds == search.result().over_thresholds


@pytest.fixture(scope="module")
def hidden() -> tuple[Problem, Masking, Everybody]:
    rng = np.random.default_rng(5)
    parameter, member = np.repeat(np.arange(6), 40), np.zeros(240, dtype=np.bool_)
    member[:15] = member[40:52] = member[100:101] = True
    metric = Metric((1.0,), (1.0,))
    values = encode(metric, rng.random((240, 1)), rng.integers(0, 3, (240, 1)))
    restrictions = (Restriction(0, 2, 15), Restriction(1, 2, 12))
    made = build(parameter, 6, member, values, metric, restrictions)
    before = stand_out(made.crisp, SwapsSpec.model_validate(swaps("assignment")).outliers, ())
    masking = Masking(restrictions, None, None, {}, before, frozenset({0, 1}), ())
    return made, masking, Everybody(parameter, np.where(member, 0, 1), values, rng.permutation(240))


def swaps(method: str, **more: Any) -> dict[str, Any]:
    model = {"variables": VARIABLES, "rules": [{"terms": [1, 0, 0]}]}
    search = {"method": method} | more
    return {
        "method": "swaps",
        "dataset_id": "ds_x",
        "region_columns": ["region"],
        "rules_model": model,
        "search": search,
    }


def pairs(search: SwapSearch) -> list[tuple[int, int]]:
    while not search.done:
        search = search.step()
    chosen = search.result().chosen.swaps
    return sorted(zip(chosen.source_row.tolist(), chosen.partner_row.tolist(), strict=True))


@pytest.mark.parametrize(
    "spec",
    [swaps("memetic", generations=12, population=10, pairs=4, runs=2), swaps("assignment")],
    ids=["memetic", "assignment"],
)
def test_a_search_for_swaps_goes_on_from_any_step(
    hidden: tuple[Problem, Masking, Everybody], spec: dict[str, Any]
) -> None:
    made, masking, everybody = hidden
    swaps_spec = SwapsSpec.model_validate(spec | {"protected_alphas": [0.5], "decoys": 0})
    grade = 1.0 - everybody.band
    fits = Fits(grade, (grade >= 0.5).astype(np.int64), np.where(grade >= 0.5, 0, 1).astype(np.int64), 1)
    judge = Judge((0, 1), (), swaps_spec.outliers.significance_level, swaps_spec.outliers.robust, low=True)
    counted = families_of(fits, 0.5, (0.5,))
    hiding = Hiding(swaps_spec, masking, (0.5,), 0.5, everybody.parameter, fits, counted, judge, 6)

    def begun(threads: int) -> SwapSearch:
        return swap_search(made, made, hiding, Keys(bytes(32)), everybody, threads=threads)

    expected, search = pairs(begun(1)), begun(2)
    while not search.done:
        assert pairs(begun(1).resumed(stored(search.pack()))) == expected
        search = search.step()
    assert pairs(begun(1).resumed(stored(search.pack()))) == expected


def test_regions_are_read_by_the_type_of_their_column() -> None:
    places = Places(((1, "01"), (2, "01"), (2, "1")))
    assert [places.find(value) for value in (["1", "01"], [2, "1"], [2.0, "01"], [3, "01"])] == [0, 2, 1, None]
