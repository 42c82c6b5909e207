"""Swaps that mask the two largest bases of North Carolina: the memetic algorithm beside the cheapest assignment.

    python benchmarks/group_swaps.py [--runs 10] [--generations 1000] [--state 37] [--rules rules.npy]

The attack on every other state (American Community Survey 2024 of ../shared) gives the rules, by exhaustive search;
with --rules they are kept in a file. Then the state's crisp auxiliary signal, its two largest
outliers, and swaps that lower them to at_most 2 (zero at 12), with two metrics: all variables categorical, as in the
paper, and numbers as ordinal attributes; with roaming and without (the paper's letter). `assignment` in a row of the
memetic algorithm is the optimum for its own numbers moved. CPU seconds of one thread; kernels are compiled before.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import polars as pl

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
ALPHA = 0.5
ORDINAL = {"AGEP", "SCHL", "WKHP", "JWMNP", "WKWN", "PINCP"}


def term(given: dict) -> Term:
    return Term(given["shape"], tuple(given["points"]) if "points" in given else (given["sigma"], given["centre"]))


def records(state: str, variables: list[dict], *, others: bool) -> pl.DataFrame:
    names = [one["column"] for one in variables]
    paths = [path for path in sorted(DATA.glob("p_*.parquet")) if (path.stem != f"p_{state}") == others]
    frame = pl.concat([pl.read_parquet(path, columns=["STATE", "PUMA", "MIL", *names]) for path in paths])
    inside = pl.all_horizontal([pl.col(one["column"]).is_between(*one["range"]) for one in variables])
    return frame.filter(inside.fill_null(value=False))


def fuzzified(frame: pl.DataFrame, variables: list[dict]) -> Fuzzified:
    columns = [frame[one["column"]].cast(pl.Float64).to_numpy() for one in variables]
    return fuzzify(columns, [[term(given) for given in one["terms"]] for one in variables])


def learnt(state: str, variables: list[dict]) -> np.ndarray:
    frame = records(state, variables, others=True)
    vital = (frame["MIL"] == 1).fill_null(value=False).to_numpy()
    search = enumeration.init(fuzzified(frame, variables), vital, enumeration.EnumerationRequest(min_membership=ALPHA))
    while not enumeration.done(search):
        search = enumeration.step(search)
    return enumeration.result(search).rules


def searched(problem: Problem, request: MemeticRequest, seed: int) -> tuple[MemeticState, float, float]:
    start, longest = time.process_time(), 0.0
    state = memetic.init(problem, request, np.random.default_rng(seed))
    while not memetic.done(state):
        before = time.process_time()
        state = memetic.step(state)
        longest = max(longest, time.process_time() - before)
    return state, time.process_time() - start, longest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--generations", type=int, default=1000)
    parser.add_argument("--state", default="37")
    parser.add_argument("--rules", type=Path)
    parser.add_argument("--several", action="store_true", help="three groups masked at once, and nothing else")
    args = parser.parse_args()
    variables = json.loads((DATA / "military-variables.json").read_text())
    if args.rules and args.rules.exists():
        rules = np.load(args.rules)
    else:
        rules = learnt(args.state, variables)
        if args.rules:
            np.save(args.rules, rules)
    frame = records(args.state, variables, others=False)
    membership = memberships(fuzzified(frame, variables), rules, ALPHA)
    places, codes = np.unique(frame["PUMA"].to_numpy(), return_inverse=True)
    crisp = signals(codes, len(places), None, membership, ALPHA).crisp
    outliers = thompson_tau(crisp, alpha=0.01, robust=True)
    masked = outliers.order[:2]
    print(
        f"{len(rules)} rules, {len(frame)} records, {len(places)} regions; masked: {[int(crisp[e]) for e in masked]}\n"
    )
    names = [one["column"] for one in variables]
    head = ("metric", "runs", "Q_need", "swaps", "distortion", "assignment", "ratio", "worst", "CPU s a run", "step")
    if not args.several:
        print("|", " | ".join((*head, "valid", "mean of valid", "attribute values altered")), "|")
        print("|---" * (len(head) + 3) + "|")
    for title, numbers in (("categorical", set()), ("ordinal and categorical", ORDINAL)):
        ordinal, categorical = [n for n in names if n in numbers], [n for n in names if n not in numbers]
        metric = Metric((1.0,) * len(ordinal), (1.0,) * len(categorical))
        values = encode(
            metric,
            frame.select(ordinal).cast(pl.Float64).to_numpy() if ordinal else np.empty((len(frame), 0)),
            frame.select(categorical).cast(pl.Int64).to_numpy(),
        )
        if args.several:
            several(title, fuzzified(frame, variables), rules, codes, values, metric)
            continue
        restrictions = [Restriction(int(e), bound=2, zero=12) for e in masked]
        problem = build(codes, len(places), members(membership, ALPHA), values, metric, restrictions)
        people = pl.scan_parquet(DATA / f"p_{args.state}.parquet").select(pl.len()).collect().item()
        cells = 0 if ordinal else len(names) * people
        report(title, problem, masked, args.runs, args.generations, cells)


def report(title: str, problem: Problem, masked: tuple[int, ...], runs: int, generations: int, cells: int) -> None:
    """`cells`: attribute values of the file where the metric counts those that are altered; 0 where it does not."""

    def hidden(swaps: Swaps) -> bool:
        return not set(masked) & set(thompson_tau(after(problem, swaps), alpha=0.01, robust=True).indexes)

    searched(problem, MemeticRequest(generations=1), 0)
    cheapest(problem, moves_needed(problem))
    start = time.process_time()
    assigned = cheapest(problem, moves_needed(problem))
    assigning = time.process_time() - start
    for roaming in (MemeticRequest.roaming, 0.0):
        state, seconds, longest = searched(
            problem, MemeticRequest(generations=generations, runs=runs, roaming=roaming), 1
        )
        result = memetic.result(problem, state, hidden)
        bounds = [cheapest(problem, moves_made(problem, one.swaps)).distortion for one in result.runs]
        ratios = [one.swaps.distortion / bound for one, bound in zip(result.runs, bounds, strict=True)]
        own = next(ratio for one, ratio in zip(result.runs, ratios, strict=True) if one is result.best)
        valid = sum(one.valid_share for one in result.runs) / runs
        shares = [one.valid_share for one in result.runs if one.valid_distortion is not None]
        means = [one.valid_distortion for one in result.runs if one.valid_distortion is not None]
        mean = float(np.average(means, weights=shares)) if means else float("nan")
        best = result.best.swaps
        altered = f"{100 * mean / cells:.5f} %" if cells else ""
        print(
            f"| {title}, roaming {roaming} | {runs} | {problem.needed} | {len(best.source)} | {best.distortion:.3f} "
            f"| {best.distortion / own:.3f} | {own:.3f} | {max(ratios):.3f} | {seconds / runs:.1f} | {longest:.2f} "
            f"| {valid:.4f} | {mean:.3f} | {altered} |",
            flush=True,
        )
    print(
        f"| {title}, assignment | | {problem.needed} | {len(assigned.source)} | {assigned.distortion:.3f} "
        f"| {assigned.distortion:.3f} | 1 | 1 | {assigning:.3f} | | | | |",
        flush=True,
    )


#: Two more groups, by a rule each over the variables' terms: who goes far for a high income, and who works long hours
#: for one. They overlap.
_MORE = {"far": [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 3], "long hours": [0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 3]}


def several(
    title: str, data: Fuzzified, rules: np.ndarray, codes: np.ndarray, values: np.ndarray, metric: Metric
) -> None:
    """Outliers of three groups brought down to the largest value that is none: each alone, and all together."""
    models = {"soldiers": rules} | {name: np.array([rule], dtype=np.int8) for name, rule in _MORE.items()}
    member = np.stack([members(memberships(data, one, ALPHA), ALPHA) for one in models.values()])
    groups, restrictions = int(codes.max()) + 1, []
    for one in member:
        crisp = np.bincount(codes[one], minlength=groups)
        outliers = thompson_tau(crisp, alpha=0.01, robust=True).indexes
        usual = int(np.delete(crisp, list(outliers)).max())
        restrictions.append(tuple(Restriction(e, usual, usual + 10) for e in outliers if crisp[e] > usual))
    print(f"\n{title}: overlaps {(member.astype(int) @ member.T.astype(int)).tolist()}\n", flush=True)
    print("| groups | members | places | swaps | distortion | bound | integral | CPU s |\n" + "|---" * 8 + "|")
    order = np.random.default_rng(0).permutation(len(codes))
    for chosen in ([0], [1], [2], [0, 1, 2]):
        start = time.process_time()
        problem = SeveralGroups(
            codes, groups, member[chosen], values, metric, tuple(restrictions[i] for i in chosen), {}, order
        )
        ended = finished(masking_several(problem))
        names = ", ".join(list(models)[i] for i in chosen)
        places = sum(len(restrictions[i]) for i in chosen)
        line = f"{len(ended.swaps.source_row)} | {ended.swaps.distortion:.2f} | {ended.bound:.2f} | {ended.integral}"
        seconds = time.process_time() - start
        print(f"| {names} | {member[chosen].sum()} | {places} | {line} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
