"""The group attack, measured next to naive numpy in one run.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_attack.py [--rows 3200000] [--seeds 5] [--only rules]

Rules per second on 3.2 million records of 12 variables (the paper's size and terms), once with values as survey data
have them (ages, codes, minutes, dollars) and once with all values continuous, so that hardly two records are alike;
exhaustive search and both evolutions on acs2024 but North Carolina (../shared), with the recall of either evolution
against all most general rules; the evolution at the paper's size. CPU seconds of one process; kernels are compiled
before anything is timed. Peak memory is the largest until then: a row has no less than those before it. Each part goes
to a file of benchmarks/results.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.recorded import as_table, printed, record, span
from tests.algorithms.groups.searches import reference
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.evolution import search as evolution
from workers.algorithms.groups.evolution.request import EvolutionRequest
from workers.algorithms.groups.rules import patterns
from workers.algorithms.groups.rules.fuzzified import fuzzify
from workers.algorithms.groups.rules.generality import SearchOutcome
from workers.algorithms.groups.rules.membership import Term
from workers.algorithms.groups.rules.rules import judged

LOW_HIGH = [Term("trapezoid", (1, 1, 8, 10)), Term("trapezoid", (8, 10, 11, 11))]
TWO = [Term("range", (1, 1)), Term("range", (2, 2))]
THREE = [Term("range", (1, 1)), Term("range", (2, 2)), Term("range", (3, 3))]
AGES = [
    Term("pi", (7.05, 15.40, 22.50, 27.18)),
    Term("gaussian", (2.0, 27.5)),
    Term("gaussian", (2.0, 32.5)),
    Term("gaussian", (2.0, 37.5)),
    Term("pi", (37.85, 42.50, 47.51, 54.84)),
]
HOURS = [Term("pi", (0, 0, 29.9, 40.3)), Term("gaussian", (2.5, 40)), Term("pi", (40.2, 50.1, 100, 100))]
LEAVING = [Term("pi", (1, 1, 530, 630)), Term("pi", (530, 630, 800, 900)), Term("pi", (800, 900, 2359, 2359))]
MINUTES = [Term("pi", (1, 1, 10, 15)), Term("pi", (10, 15, 30, 45)), Term("pi", (35, 45, 120, 120))]
INCOME = [
    Term("pi", (0, 0, 9000, 12000)),
    Term("pi", (9000, 12000, 70000, 90000)),
    Term("pi", (70000, 90000, 200000, 200000)),
]
WEEKS = [Term("trapezoid", (1, 1, 5, 6)), Term("trapezoid", (5, 6, 6, 6))]
COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_attack.py"
ROWS, SEEDS = 3_200_000, 5
PER_SECOND = ["rules per second", "patterns", "naive", "without factors 1", "Surebox", "times"]
SEARCHES = ["search", "CPU s", "longest step", "rules judged", "over the thresholds", "most general that it has"]
LARGE = ["evolution", "CPU s, terms + the rest", "longest step", "peak memory, GB"]
TERMS = [AGES, LOW_HIGH, TWO, TWO, HOURS, TWO, TWO, THREE, LEAVING, MINUTES, WEEKS, INCOME]


def synthetic(rows: int, *, continuous: bool) -> tuple[list[np.ndarray], np.ndarray]:
    """The paper's 12 variables, correlated a little; about 0.4 % of the records are vital, most of them of one kind."""
    rng = np.random.default_rng(2)
    common = rng.normal(size=rows)

    def uniform(low: float, high: float) -> np.ndarray:
        mixed = 0.5 * common + rng.normal(size=rows)
        share = 1.0 / (1.0 + np.exp(-1.5 * mixed))
        return low + (high - low) * share

    columns = [
        uniform(18, 45), uniform(1, 11), 1.0 + (rng.random(rows) < 0.48), 1.0 + (rng.random(rows) < 0.13),
        np.clip(40 + rng.normal(0, 9, rows), 1, 100), 1.0 + (rng.random(rows) < 0.15),
        1.0 + (rng.random(rows) < 0.45), 1.0 + rng.choice(3, rows, p=[0.88, 0.07, 0.05]),
        np.clip(760 + rng.normal(0, 240, rows), 1, 2359), np.clip(rng.exponential(25, rows), 1, 119),
        np.clip(7 - rng.exponential(0.7, rows), 1, 6), np.clip(rng.lognormal(10.3, 0.9, rows), 0, 200_000),
    ]  # fmt: skip
    if not continuous:
        columns = [np.round(column) for column in columns]
        columns[-1] = np.round(columns[-1], -2)
    kind = (columns[0] < 27) & (columns[2] == 1) & (columns[7] == 3) & (columns[9] < 15)
    return columns, rng.random(rows) < np.where(kind, 0.5, 0.002)


def naive(columns: list[np.ndarray], vital: np.ndarray, skip: bool, rules: np.ndarray) -> np.ndarray:
    """What one would write: grades of every record beforehand, products rule by rule; `skip` leaves out factors 1."""
    sums = np.empty((len(rules), 2))
    for at, rule in enumerate(rules):
        product = np.ones(len(vital))
        for v in np.flatnonzero(rule) if skip else range(len(rule)):
            product *= columns[v][rule[v]]
        product[product < 0.5] = 0.0
        sums[at] = product[vital].sum(), product[~vital].sum()
    return sums


def per_second(work: Callable[[np.ndarray], object], rules: np.ndarray) -> float:
    start = time.process_time()
    work(rules)
    return len(rules) / (time.process_time() - start)


def some_rules(terms: np.ndarray, count: int, active: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    rules = rng.integers(1, terms + 1, size=(count, len(terms)))
    on = rng.permuted(np.tile(np.arange(len(terms)) < active, (count, 1)), axis=1)
    return np.where(on, rules, 0).astype(np.int8)


def rules_per_second(rows: int) -> None:
    shown, figures = [printed(*PER_SECOND)], {}
    for name, continuous in (("as survey data have values", False), ("continuous values", True)):
        columns, vital = synthetic(rows, continuous=continuous)
        data = fuzzify(columns, TERMS)
        grades = [np.ascontiguousarray(v.grades.T)[:, v.codes] for v in data.variables]
        start = time.process_time()
        collection = patterns.collect(data, vital, 0.5)
        collected = f"{collection.distinct:,} in {time.process_time() - start:.1f} s"
        for active in (12, 4):
            few, many = some_rules(data.terms, 12, active), some_rules(data.terms, 4000, active)
            letter = per_second(partial(naive, grades, vital, False), few)
            skipping = per_second(partial(naive, grades, vital, True), few)
            fast = per_second(partial(judged, collection), many)
            assert np.allclose(naive(grades, vital, True, few), judged(collection, few), rtol=1e-9)
            rates = (f"{letter:.1f}", f"{skipping:.1f}", f"{fast:,.0f}")
            times = f"{fast / letter:,.0f}, {fast / skipping:,.0f}"
            shown.append(printed(f"{name}, {active} active", collected, *rates, times))
            figures[f"{'continuous' if continuous else 'survey'}_{active}"] = fast
    if rows == ROWS:
        keep("rules", figures | {"rows": rows, "table": as_table(shown)})


def run(module: object, state: object) -> tuple[SearchOutcome, float, float]:
    start, longest = time.process_time(), 0.0
    while not module.done(state):
        before = time.process_time()
        state = module.step(state)
        longest = max(longest, time.process_time() - before)
    return module.result(state), time.process_time() - start, longest


def searches(seeds: int) -> None:
    data, vital = reference()
    every, seconds, longest = run(enumeration, enumeration.init(data, vital, enumeration.EnumerationRequest()))
    known = {rule.tobytes() for rule in every.rules}

    def row(name: str, ended: list[tuple[SearchOutcome, float, float]]) -> list[str]:
        results, spent, steps = zip(*ended, strict=True)
        true = [len(known & {rule.tobytes() for rule in one.rules}) for one in results]
        over, evaluated = ([getattr(one, what) for one in results] for what in ("over_thresholds", "evaluations"))
        counts = (span(evaluated, ",d"), span(over, ",d"), ", ".join(str(each) for each in true))
        return printed(name, span(spent, ".2f"), f"{max(steps):.2f}", *counts)

    rows = [printed(*SEARCHES), row("exhaustive", [(every, seconds, longest)])]
    for name, diversity in (("evolution to the paper's letter", False), ("evolution with diversity", True)):
        request = EvolutionRequest(diversity=diversity)
        states = (evolution.init(data, vital, request, np.random.default_rng(seed)) for seed in range(seeds))
        rows.append(row(f"{name}, {seeds} seeds", [run(evolution, state) for state in states]))
    if seeds == SEEDS:
        keep("searches", {"records": data.records, "table": as_table(rows)})


def large(rows: int) -> None:
    shown = [printed(*LARGE)]
    for values, continuous in (("as survey data have values", False), ("continuous values", True)):
        for kind, diversity in (("the paper's letter", False), ("with diversity", True)):
            columns, vital = synthetic(rows, continuous=continuous)
            start = time.process_time()
            data = fuzzify(columns, TERMS)
            fuzzified = time.process_time() - start
            state = evolution.init(data, vital, EvolutionRequest(diversity=diversity), np.random.default_rng(1))
            _, seconds, longest = run(evolution, state)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            spent = (f"{fuzzified:.1f} + {seconds:.1f}", f"{longest:.2f}", f"{peak:.2f}")
            shown.append(printed(f"{values}, {kind}", *spent))
    if rows == ROWS:
        keep("large", {"rows": rows, "table": as_table(shown)})


def keep(part: str, figures: dict[str, Any]) -> None:
    record(f"group_attack_{part}", f"{COMMAND} --only {part}", figures)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", choices=["rules", "searches", "large"])
    args = parser.parse_args()
    small, group = synthetic(2000, continuous=False)
    warm = fuzzify(small, TERMS)
    run(enumeration, enumeration.init(warm, group, enumeration.EnumerationRequest()))
    run(evolution, evolution.init(warm, group, EvolutionRequest(generations=2), np.random.default_rng(0)))
    if args.only in {None, "large"}:
        large(args.rows)
    if args.only in {None, "rules"}:
        rules_per_second(args.rows)
    if args.only in {None, "searches"}:
        searches(args.seeds)


if __name__ == "__main__":
    main()
