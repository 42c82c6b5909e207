"""The paper's searches to the letter, concentrations, Grubbs' test, and what swaps do to statistics by region."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from app.jobs.submit import echo
from tests.methods.bases import VARIABLES, counts, in_range, member, microfile
from tests.methods.in_process import Bench, Done
from tests.methods.refusing import refused

RULE = [1, 3, 2]
BASES = {4: 40, 11: 34, 23: 45}
PAPER = {"method": "memetic", "paper": True, "generations": 25, "population": 20, "pairs": 8}
NAMES = ("age", "income", "way")


@pytest.fixture(scope="module")
def home() -> pl.DataFrame:
    """Thirty regions of one size, three with bases, and a village with a barracks."""
    village = microfile(8, regions=1, people=40, bases={0: 14}).with_columns(region=pl.lit("V"), state=pl.lit("S9"))
    return pl.concat([microfile(2, bases=BASES), village])


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, home: pl.DataFrame) -> Bench:
    made = Bench(tmp_path_factory.mktemp("letter"))
    made.dataset("home", home)
    return made


def swaps(**more: Any) -> dict[str, Any]:
    return {
        "method": "swaps", "dataset_id": "home", "region_columns": ["region"], "drop": ["job", "state"],
        "rules_model": {"variables": VARIABLES, "rules": [{"terms": RULE}]},
        "metric": {"ordinal": {"age": 1, "income": 1}, "categorical": {"way": 1}},
    } | more  # fmt: skip


def group(**search: Any) -> dict[str, Any]:
    return {
        "method": "group", "auxiliary_dataset_id": "home", "hidden_group": {"column": "job", "values": ["army"]},
        "region_columns": ["region"], "variables": VARIABLES, "search": {"method": "evolution", **search},
    }  # fmt: skip


@pytest.fixture(scope="module")
def masked(bench: Bench) -> Done:
    return bench.run(swaps(search=PAPER))


def after(home: pl.DataFrame, result: Any) -> pl.DataFrame:
    """The file with the regions of the listed pairs exchanged, in its own order."""
    region = home["region"].to_list()
    for one, other in result["swap_list"]:
        region[one], region[other] = region[other], region[one]
    return home.with_columns(region=pl.Series(region))


def crisp(frame: pl.DataFrame, regions: Any) -> np.ndarray:
    kept = in_range(frame)
    fits = pl.Series([member(record, [RULE], VARIABLES) > 0 for record in kept.iter_rows(named=True)])
    return np.array(counts(kept.filter(fits), ["region"], regions))


def outlying(values: np.ndarray, alpha: float, test: str) -> set[int]:
    """Outliers one by one; with Grubbs the mean and the deviation, and t at alpha / (2 m)."""
    left = list(range(len(values)))
    while len(left) > 2:
        some, m = values[left], len(left)
        if test == "grubbs":
            centre, spread, level = some.mean(), some.std(ddof=1), alpha / (2 * m)
        else:
            half = (m + 1) // 2
            middle = np.sort(some)
            centre, level = np.median(some), alpha / 2
            spread = (np.median(middle[-half:]) - np.median(middle[:half])) / 1.349
        quantile = student.isf(level, m - 2)
        critical = (m - 1) / math.sqrt(m) * math.sqrt(quantile**2 / (m - 2 + quantile**2))
        worst = max(left, key=lambda i: (abs(values[i] - centre), values[i], -i))
        if abs(values[worst] - centre) <= critical * spread:
            break
        left.remove(worst)
    return set(range(len(values))) - set(left)


def test_the_papers_search_masks_members_alone_and_says_what_the_paper_reports(masked: Done) -> None:
    spec, result = echo(masked.spec), masked.result
    assert (spec["protected_alphas"], spec["decoys"], spec["signal"]) == ([0.5], 0.0, "quantity")
    assert result["decoys"] == 0
    assert result["valid"]
    (run,) = result["runs"]
    assert run["valid_share"] > 0
    assert run["valid_mean_distortion"] >= result["assignment_distortion"]


def test_statistics_by_region_are_those_of_both_files(home: pl.DataFrame, masked: Done) -> None:
    result, utility = masked.result, masked.result["utility"]
    old, new = in_range(home), in_range(after(home, result))
    regions = [region for (region,) in result["regions"]]
    moved = {home["region"][row] for pair in result["swap_list"] for row in pair}
    assert utility["exchanged_regions"] == len(moved)
    pairs = [(home.row(one, named=True), home.row(other, named=True)) for one, other in result["swap_list"]]
    altered = sum(x[name] != y[name] for x, y in pairs for name in NAMES)
    assert utility["altered_values"] == altered > 0
    assert utility["share_altered"] == pytest.approx(altered / (3 * home.height))

    for one in utility["columns"]:
        column = old[one["column"]]
        if one["statistic"] == "mean":
            means = [
                dict(frame.group_by("region").agg(pl.col(one["column"]).mean()).iter_rows()) for frame in (old, new)
            ]
            change = {name: abs(means[1][name] - means[0][name]) / column.std(ddof=0) for name in regions}
            place = regions[one["region_index"]]
            assert (one["mean_before"], one["mean_after"]) == pytest.approx((means[0][place], means[1][place]))
        else:
            assert (one["mean_before"], one["mean_after"]) == (None, None)
            change = {}
            for name in regions:
                ways = [frame.filter(region=name)[one["column"]] for frame in (old, new)]
                shares = [[(way == value).mean() for value in (1, 2, 3)] for way in ways]
                change[name] = sum(abs(x - y) for x, y in zip(*shares, strict=True)) / 2
        assert one["largest_change"] == pytest.approx(max(change.values()))
        assert change[regions[one["region_index"]]] == pytest.approx(max(change.values()))
        assert one["median_change"] == pytest.approx(np.median([change[name] for name in moved]))
    assert {one["column"] for one in utility["columns"]} == set(NAMES)


@pytest.mark.parametrize("search", [{"method": "assignment"}, PAPER], ids=["assignment", "memetic"])
def test_a_concentration_is_masked_by_bounds_on_the_number(
    bench: Bench, home: pl.DataFrame, search: dict[str, Any]
) -> None:
    result = bench.run(swaps(signal="concentration", search=search, protected_alphas=[0.5], decoys=0)).result
    assert result["signal_kind"] == "concentration"
    sizes = np.array(counts(in_range(home), ["region"], result["regions"]))
    before, now = crisp(home, result["regions"]), crisp(after(home, result), result["regions"])
    stood_out = outlying(before / sizes, 0.01, "thompson_tau")
    village = result["regions"].index(["V"])
    assert village in stood_out
    assert before[village] < before.max() / 2, "by its number it is no base like others"
    assert set(result["outliers_before"]) == stood_out
    assert result["valid"]
    assert not stood_out & outlying(now / sizes, 0.01, "thompson_tau")
    usual = max(before[place] / sizes[place] for place in range(len(sizes)) if place not in stood_out)
    for place, (_, most) in zip(result["masked_regions"], result["bounds"], strict=True):
        assert most == math.floor(usual * sizes[place] + 1e-12)
        assert now[place] <= most
    assert result["signal_after"] == now.tolist()


def test_grubbs_test_decides_what_stands_out(bench: Bench) -> None:
    spec = group(generations=10, runs=1) | {"outliers": {"test": "grubbs", "robust": False}}
    result = bench.run(spec).result
    for name, signal in (("outliers", "signal"), ("auxiliary_outliers", "auxiliary_signal")):
        assert set(result[name]) == outlying(np.array(result[signal]), 0.01, "grubbs")
    assert result["outliers"]


def test_the_papers_evolution_has_no_floor_and_no_diversity(bench: Bench) -> None:
    done = bench.run(group(paper=True, generations=10, runs=2, population=40, replaced=16))
    assert echo(done.spec)["search"]["diversity"] is False
    assert done.result["denominator_floor"] == 0.0
    assert done.result["evaluation_count"] == 2 * (40 + 16 * 10)
    assert bench.run(group(diversity=False, generations=2, runs=1)).result["denominator_floor"] == 1.0


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        (group(paper=True, diversity=True), "/search/diversity", "leave `diversity` out"),
        (swaps(search=PAPER, decoys=0.1), "/decoys", "leave `decoys` out"),
        (swaps(search=PAPER, protected_alphas=[0.5, 0.3]), "/protected_alphas", "[0.5]"),
        (swaps(search=PAPER | {"mutation": [0.1, 0.2, 0.3]}), "/search/mutation/3", "required"),
        (swaps(search=PAPER | {"crossover": 1.5}), "/search/crossover", ""),
        (group() | {"outliers": {"test": "luck"}}, "/outliers/test", "grubbs"),
    ],
)
def test_what_is_not_the_papers_is_refused(bench: Bench, body: dict[str, Any], pointer: str, says: str) -> None:
    refused(bench, body, pointer, says)


def test_each_mutation_may_have_its_own_probability(bench: Bench) -> None:
    result = bench.run(swaps(search=PAPER | {"mutation": [0.0, 0.01, 0.02, 0.0], "crossover": 0.9})).result
    assert result["valid"]
