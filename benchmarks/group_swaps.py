"""Swaps that mask the two largest bases of North Carolina: the memetic algorithm next to the cheapest assignment.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_swaps.py [--runs 10] [--generations 1000] [--state 37]
        [--rules rules.npy] [--several]

The attack on every other state (American Community Survey 2024 of ../shared) gives the rules, by exhaustive search;
with --rules they are kept in a file. Then the state's crisp auxiliary signal, its two largest outliers, and swaps that
lower them to at_most 2 (zero at 12), with two metrics: all variables categorical, as in the paper, and numbers as
ordinal attributes; with roaming and without (the paper's letter). `assignment` in a row of the memetic algorithm is the
optimum for its own numbers moved. --several masks three groups at once. CPU seconds of one thread; kernels are compiled
before. Both go to benchmarks/results.
"""

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from benchmarks.recorded import as_table, printed, record
from surebox_core.steps import finished
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.memetic import search as memetic
from workers.algorithms.groups.memetic.state import MemeticRequest, MemeticState
from workers.algorithms.groups.rules.fuzzified import Fuzzified, fuzzify
from workers.algorithms.groups.rules.membership import Term
from workers.algorithms.groups.rules.rules import memberships
from workers.algorithms.groups.signals.outliers import thompson_tau
from workers.algorithms.groups.signals.signals import members, signals
from workers.algorithms.groups.swaps.assignment import cheapest, moves_made, moves_needed
from workers.algorithms.groups.swaps.effect import after
from workers.algorithms.groups.swaps.metric import Metric, encode
from workers.algorithms.groups.swaps.problem import Problem, Swaps, build
from workers.algorithms.groups.swaps.restrictions import Restriction
from workers.algorithms.groups.swaps.several import SeveralGroups, masking_several

DATA = Path(__file__).parents[1] / ".." / "shared" / "data" / "acs2024"
#: The survey's states, by their numbers (FIPS 5-2).
_NUMBERED = (
    "01 Alabama, 02 Alaska, 04 Arizona, 05 Arkansas, 06 California, 08 Colorado, 09 Connecticut, 10 "
    "Delaware, 11 District of Columbia, 12 Florida, 13 Georgia, 15 Hawaii, 16 Idaho, 17 Illinois, 18 "
    "Indiana, 19 Iowa, 20 Kansas, 21 Kentucky, 22 Louisiana, 23 Maine, 24 Maryland, 25 Massachusetts, 26 "
    "Michigan, 27 Minnesota, 28 Mississippi, 29 Missouri, 30 Montana, 31 Nebraska, 32 Nevada, 33 New "
    "Hampshire, 34 New Jersey, 35 New Mexico, 36 New York, 37 North Carolina, 38 North Dakota, 39 Ohio, "
    "40 Oklahoma, 41 Oregon, 42 Pennsylvania, 44 Rhode Island, 45 South Carolina, 46 South Dakota, 47 "
    "Tennessee, 48 Texas, 49 Utah, 50 Vermont, 51 Virginia, 53 Washington, 54 West Virginia, 55 "
    "Wisconsin, 56 Wyoming"
)
STATES = dict(each.split(" ", 1) for each in _NUMBERED.split(", "))
_VARIABLES = DATA / "military-variables.json"
VARIABLES: list[dict] = json.loads(_VARIABLES.read_text()) if _VARIABLES.exists() else []
NAMES = [one["column"] for one in VARIABLES]
ALPHA = 0.5
ORDINAL = frozenset({"AGEP", "SCHL", "WKHP", "JWMNP", "WKWN", "PINCP"})
METRICS: dict[str, frozenset[str]] = {"categorical": frozenset(), "ordinal": ORDINAL}
COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_swaps.py"
STATE, RUNS, GENERATIONS = "37", 10, 1000
HEADS = [
    "metric", "swaps", "distortion", "assignment", "ratio, best run", "worst run", "CPU s a run", "longest step",
    "valid", "mean of the valid", "altered values",
]  # fmt: skip
#: Figures of the memetic algorithm as the table shows them.
FORMS = (
    "{swaps}", "{distortion:.4g}", "{bound:.4g}", "{ratio:.3f}", "{worst:.3f}", "{seconds:.1f}", "{step:.2f}",
    "{valid:.0%}", "{valid_mean:.4g}",
)  # fmt: skip
SEVERAL = ["metric", "groups", "members", "places", "swaps", "distortion", "bound", "CPU s"]
#: Two more groups, by a rule each over the variables' terms: people who go far for a high income, and people who work
#: long hours for one. They overlap.
_MORE = {"far": [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 3], "long hours": [0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 3]}


def term(given: dict) -> Term:
    return Term(given["shape"], tuple(given["points"]) if "points" in given else (given["sigma"], given["centre"]))


def records(state: str, *, others: bool) -> pl.DataFrame:
    paths = [path for path in sorted(DATA.glob("p_*.parquet")) if (path.stem != f"p_{state}") == others]
    frame = pl.concat([pl.read_parquet(path, columns=["STATE", "PUMA", "MIL", *NAMES]) for path in paths])
    inside = pl.all_horizontal([pl.col(one["column"]).is_between(*one["range"]) for one in VARIABLES])
    return frame.filter(inside.fill_null(value=False))


def fuzzified(frame: pl.DataFrame) -> Fuzzified:
    columns = [frame[name].cast(pl.Float64).to_numpy() for name in NAMES]
    return fuzzify(columns, [[term(given) for given in one["terms"]] for one in VARIABLES])


def encoded(frame: pl.DataFrame, numbers: frozenset[str]) -> tuple[Metric, np.ndarray]:
    """A metric that takes some columns as numbers and the others as categories, and the values that it compares."""
    ordinal, categorical = [n for n in NAMES if n in numbers], [n for n in NAMES if n not in numbers]
    metric = Metric((1.0,) * len(ordinal), (1.0,) * len(categorical))
    values = frame.select(ordinal).cast(pl.Float64).to_numpy() if ordinal else np.empty((len(frame), 0))
    return metric, encode(metric, values, frame.select(categorical).cast(pl.Int64).to_numpy())


def learnt(state: str) -> np.ndarray:
    frame = records(state, others=True)
    vital = (frame["MIL"] == 1).fill_null(value=False).to_numpy()
    search = enumeration.init(fuzzified(frame), vital, enumeration.EnumerationRequest(min_membership=ALPHA))
    while not enumeration.done(search):
        search = enumeration.step(search)
    return enumeration.result(search).rules


def kept(state: str, path: Path | None) -> np.ndarray:
    """The rules of all other states, from a file where there is one."""
    if path is not None and path.exists():
        return np.asarray(np.load(path))
    rules = learnt(state)
    if path is not None:
        np.save(path, rules)
    return rules


def searched(problem: Problem, request: MemeticRequest, seed: int) -> tuple[MemeticState, float, float]:
    start, longest = time.process_time(), 0.0
    state = memetic.init(problem, request, np.random.default_rng(seed))
    while not memetic.done(state):
        before = time.process_time()
        state = memetic.step(state)
        longest = max(longest, time.process_time() - before)
    return state, time.process_time() - start, longest


@dataclass(frozen=True)
class Home:
    """The state that is masked: its records, their regions, and the rules of all others."""

    state: str
    frame: pl.DataFrame
    rules: np.ndarray
    codes: np.ndarray
    regions: int
    member: np.ndarray
    crisp: np.ndarray

    @classmethod
    def of(cls, state: str, rules: np.ndarray) -> Self:
        frame = records(state, others=False)
        membership = memberships(fuzzified(frame), rules, ALPHA)
        places, codes = np.unique(frame["PUMA"].to_numpy(), return_inverse=True)
        crisp = signals(codes, len(places), None, membership, ALPHA).crisp
        return cls(state, frame, rules, codes, len(places), members(membership, ALPHA), crisp)


def two_largest(home: Home, runs: int, generations: int) -> None:
    """Both outliers brought down by the memetic algorithm and by the cheapest assignment."""
    masked = thompson_tau(home.crisp, alpha=0.01, robust=True).order[:2]
    people = pl.scan_parquet(DATA / f"p_{home.state}.parquet").select(pl.len()).collect().item()
    figures: dict[str, Any] = {
        "rules": len(home.rules),
        "records": len(home.frame),
        "people": people,
        "regions": home.regions,
        "masked": [int(home.crisp[e]) for e in masked],
    }
    rows = [printed(*HEADS)]
    for title, numbers in METRICS.items():
        metric, values = encoded(home.frame, numbers)
        restrictions = [Restriction(int(e), bound=2, zero=12) for e in masked]
        problem = build(home.codes, home.regions, home.member, values, metric, restrictions)
        cells = 0 if numbers else len(NAMES) * people
        figures["needed"] = problem.needed
        figures[title] = report(title, problem, masked, MemeticRequest(generations=generations, runs=runs), cells, rows)
    if (home.state, runs, generations) == (STATE, RUNS, GENERATIONS):
        record("group_swaps", COMMAND, figures | {"runs": runs, "table": as_table(rows)})


def report(
    title: str, problem: Problem, masked: tuple[int, ...], request: MemeticRequest, cells: int, rows: list[list[str]]
) -> dict[str, dict[str, float]]:
    """`cells`: attribute values of the file where the metric counts those that are altered; 0 where it does not."""
    searched(problem, MemeticRequest(generations=1), 0)
    cheapest(problem, moves_needed(problem))
    start = time.process_time()
    assigned = cheapest(problem, moves_needed(problem))
    assigning = time.process_time() - start
    figures = {}
    for name, roaming in (("roaming", MemeticRequest.roaming), ("letter", 0.0)):
        one = memetic_figures(problem, masked, replace(request, roaming=roaming))
        altered = {"altered": one["valid_mean"] / cells} if cells else {}
        figures[name] = one | altered
        rows.append(printed(f"{title}, roaming {roaming}", *(form.format(**one) for form in FORMS)))
        rows[-1].append(f"{100 * altered['altered']:.3f} %" if cells else "")
    swaps, distortion = len(assigned.source), assigned.distortion
    figures["assignment"] = {"swaps": swaps, "distortion": distortion, "seconds": assigning}
    best = (f"{title}, assignment", str(swaps), f"{distortion:.4g}", f"{distortion:.4g}", "1", "1")
    rows.append(printed(*best, f"{assigning:.2f}", *[""] * 4))
    return figures


def memetic_figures(problem: Problem, masked: tuple[int, ...], request: MemeticRequest) -> dict[str, float]:
    """Of the best run, all runs next to the assignment of the same numbers, and all individuals that are valid."""

    def hidden(swaps: Swaps) -> bool:
        return not set(masked) & set(thompson_tau(after(problem, swaps), alpha=0.01, robust=True).indexes)

    state, seconds, longest = searched(problem, request, 1)
    result = memetic.result(problem, state, hidden)
    bounds = [cheapest(problem, moves_made(problem, one.swaps)).distortion for one in result.runs]
    ratios = [one.swaps.distortion / bound for one, bound in zip(result.runs, bounds, strict=True)]
    own = next(ratio for one, ratio in zip(result.runs, ratios, strict=True) if one is result.best)
    valid = [(one.valid_distortion, one.valid_share) for one in result.runs if one.valid_distortion is not None]
    means, shares = zip(*valid, strict=True) if valid else ((float("nan"),), (1.0,))
    best = result.best.swaps
    return {
        "swaps": len(best.source),
        "distortion": best.distortion,
        "bound": best.distortion / own,
        "ratio": own,
        "worst": max(ratios),
        "seconds": seconds / request.runs,
        "step": longest,
        "valid": sum(one.valid_share for one in result.runs) / request.runs,
        "valid_mean": float(np.average(means, weights=shares)),
    }


def several(home: Home) -> None:
    """Outliers of three groups brought down to the largest value that is none: each alone, and all together."""
    data = fuzzified(home.frame)
    models = {"soldiers": home.rules} | {name: np.array([rule], dtype=np.int8) for name, rule in _MORE.items()}
    member = np.stack([members(memberships(data, one, ALPHA), ALPHA) for one in models.values()])
    restrictions = [brought_down(np.bincount(home.codes[one], minlength=home.regions)) for one in member]
    order = np.random.default_rng(0).permutation(len(home.codes))
    rows: list[list[str]] = [printed(*SEVERAL)]
    figures: dict[str, Any] = {"overlaps": (member.astype(int) @ member.T.astype(int)).tolist()}
    for title, numbers in METRICS.items():
        metric, values = encoded(home.frame, numbers)
        of_metric = []
        for chosen in ([0], [1], [2], [0, 1, 2]):
            start = time.process_time()
            wanted = tuple(restrictions[i] for i in chosen)
            problem = SeveralGroups(home.codes, home.regions, member[chosen], values, metric, wanted, {}, order)
            ended = finished(masking_several(problem))
            names = ", ".join(list(models)[i] for i in chosen)
            seconds, swaps = time.process_time() - start, ended.swaps
            of_metric.append({"swaps": len(swaps.source_row), "distortion": swaps.distortion, "bound": ended.bound})
            counts = (f"{member[chosen].sum():,}", str(sum(len(each) for each in wanted)), str(len(swaps.source_row)))
            costs = (f"{swaps.distortion:.2f}", f"{ended.bound:.2f}", f"{seconds:.1f}")
            rows.append(printed(title, names, *counts, *costs))
        figures[title] = of_metric
        figures[f"{title}_one_by_one"] = sum(one["distortion"] for one in of_metric[:3])
    if home.state == STATE:
        record("group_several", f"{COMMAND} --several", figures | {"table": as_table(rows)})


def brought_down(crisp: np.ndarray) -> tuple[Restriction, ...]:
    """Each outlier to the largest value that is none."""
    outliers = thompson_tau(crisp, alpha=0.01, robust=True).indexes
    usual = int(np.delete(crisp, list(outliers)).max())
    return tuple(Restriction(e, usual, max(int(crisp[e]), usual + 10)) for e in outliers if crisp[e] > usual)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--generations", type=int, default=GENERATIONS)
    parser.add_argument("--state", default=STATE)
    parser.add_argument("--rules", type=Path)
    parser.add_argument("--several", action="store_true", help="three groups masked at once, and nothing else")
    args = parser.parse_args()
    home = Home.of(args.state, kept(args.state, args.rules))
    print(f"{len(home.rules)} rules, {len(home.frame)} records, {home.regions} regions\n")
    if args.several:
        several(home)
    else:
        two_largest(home, args.runs, args.generations)


if __name__ == "__main__":
    main()
