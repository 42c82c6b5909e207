"""Tables 5 to 7 of the paper on the American Community Survey 2024, and the attack across two years of tax files.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_tables.py [--states 37 53] [--only states|rules|years]

*states*: every state of ../shared is attacked with rules learned on all others (exhaustive search, thresholds of the
paper). A line each for those with more than 0.5 % of the group: outliers of the group's own signal by area, those
that the attack does not disclose, outliers of the auxiliary signal, those that are false, PA, J and MB; then all
lines together, as the paper has it; the same by Grubbs' test; both go to benchmarks/results. *rules*: the rules of
most support, learned on all states, as sentences; and in how many of the searches each was among the most general
ones. *years*: rules of the tax file 2009-10 attack 2010-11: machinery operators and drivers (`Occ_code` 7) by region,
whose column of occupations is left out.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from benchmarks.group_swaps import ALPHA, DATA, STATES, VARIABLES, term
from benchmarks.recorded import record
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.rules.fuzzified import Fuzzified, Graded, fuzzify
from workers.algorithms.groups.rules.generality import SearchOutcome
from workers.algorithms.groups.rules.rules import evaluate, memberships
from workers.algorithms.groups.signals.adequacy import Adequacy, adequacy, from_counts
from workers.algorithms.groups.signals.likeness import by_chance, distance
from workers.algorithms.groups.signals.outliers import Test, thompson_tau
from workers.algorithms.groups.signals.signals import concentration, signals

TAX = DATA.parent / "tax"
#: Terms of the tax file, by quartiles and codes of its data dictionary.
TAX_VARIABLES: list[dict] = [
    {"column": "Gender", "terms": [("a man", "range", (0, 0)), ("a woman", "range", (1, 1))]},
    {
        "column": "age_range",
        "terms": [("old", "range", (0, 3)), ("middle aged", "range", (4, 7)), ("young", "range", (8, 11))],
    },
    {"column": "Partner_status", "terms": [("partnered", "range", (1, 1)), ("single", "range", (0, 0))]},
    {
        "column": "Sw_amt",
        "terms": [("low", "z", (20e3, 45e3)), ("middle", "pi", (30e3, 45e3, 65e3, 90e3)), ("high", "s", (65e3, 110e3))],
    },
    {"column": "WRE_uniform_amt", "terms": [("none", "range", (0, 0)), ("some", "s", (0, 300))]},
    {"column": "WRE_trvl_amt", "terms": [("none", "range", (0, 0)), ("some", "s", (0, 3000))]},
    {"column": "WRE_car_amt", "terms": [("none", "range", (0, 0)), ("some", "s", (0, 3000))]},
    {"column": "WRE_self_amt", "terms": [("none", "range", (0, 0)), ("some", "s", (0, 1000))]},
    {"column": "WRE_other_amt", "terms": [("none", "range", (0, 0)), ("some", "s", (0, 1000))]},
    {"column": "Gross_rent_amt", "terms": [("none", "range", (0, 0)), ("some", "s", (0, 5000))]},
    {"column": "Rep_frng_ben_amt", "terms": [("none", "range", (0, 0)), ("some", "s", (0, 5000))]},
]


def some(data: Fuzzified, chosen: np.ndarray) -> Fuzzified:
    return Fuzzified(tuple(Graded(one.codes[chosen], one.grades) for one in data.variables))


def learnt(data: Fuzzified, vital: np.ndarray, **thresholds: float) -> SearchOutcome:
    search = enumeration.init(data, vital, enumeration.EnumerationRequest(min_membership=ALPHA, **thresholds))
    while not enumeration.done(search):
        search = enumeration.step(search)
    return enumeration.result(search)


def sentence(rule: Sequence[int], names: Sequence[tuple[str, Sequence[str]]]) -> str:
    said = [f"{column} is {terms[at - 1]}" for at, (column, terms) in zip(rule, names, strict=True) if at]
    return " and ".join(said)


HEADS = ["areas", "outliers", "undisclosed", "auxiliary outliers", "false", "PA", "J", "MB"]


def cells(one: Adequacy) -> list[str]:
    """As `HEADS` has them; FP are outliers that the attack missed, FN such as it made up."""
    counts = (one.tp + one.fp + one.fn + one.tn, one.tp + one.fp, one.fp, one.tp + one.fn, one.fn)
    shares = (one.prediction_accuracy, one.youden_j, one.bayes_mb)
    return [*(str(each) for each in counts), *("-" if each is None else f"{each:.3f}" for each in shares)]


def counted(one: Adequacy) -> dict[str, Any]:
    return asdict(one) | {"outliers": one.tp + one.fp}


def line(*cells: str) -> None:
    print("|", " | ".join(cells), "|", flush=True)


class People:
    """All in-range records of the survey."""

    def __init__(self) -> None:
        self.names = [one["column"] for one in VARIABLES]
        inside = pl.all_horizontal([pl.col(one["column"]).is_between(*one["range"]) for one in VARIABLES])
        paths = sorted(DATA.glob("p_*.parquet"))
        self.states = [path.stem.removeprefix("p_") for path in paths]
        frames = [
            pl.read_parquet(path, columns=["PUMA", "MIL", *self.names]).filter(inside.fill_null(value=False))
            for path in paths
        ]
        self.state = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
        people = pl.concat(frames)
        self.vital = (people["MIL"] == 1).fill_null(value=False).to_numpy()
        self.area = people["PUMA"].to_numpy()
        columns = [people[name].cast(pl.Float64).to_numpy() for name in self.names]
        self.data = fuzzify(columns, [[term(given) for given in one["terms"]] for one in VARIABLES])
        self.terms = [(one["column"], [each["name"] for each in one["terms"]]) for one in VARIABLES]


def attacked(people: People, at: int, rules: np.ndarray) -> tuple[float, int, dict[Test, tuple[set[int], set[int]]]]:
    """Share of the group, areas, and by test the outliers of both signals."""
    mine = people.state == at
    membership = memberships(some(people.data, mine), rules, ALPHA)
    places, codes = np.unique(people.area[mine], return_inverse=True)
    both = signals(codes, len(places), people.vital[mine], membership, ALPHA)
    tests: dict[Test, tuple[set[int], set[int]]] = {}
    for test in ("thompson_tau", "grubbs"):
        own, seen = (
            set(thompson_tau(one, alpha=0.01, robust=test == "thompson_tau", test=test).indexes)  # type: ignore[arg-type]
            for one in (both.quantity, both.auxiliary)
        )
        tests[test] = (own, seen)  # type: ignore[index]
    return float(people.vital[mine].sum() / people.vital.sum()), len(places), tests


def states(people: People, wanted: Sequence[str]) -> None:
    heads = ["state", "share of the group", *HEADS]
    line(*heads)
    line(*["---"] * len(heads))
    totals: dict[Test, np.ndarray] = {"thompson_tau": np.zeros(4, int), "grubbs": np.zeros(4, int)}
    kept: Counter[tuple[int, ...]] = Counter()
    rows: list[list[str]] = []
    searches = 0
    for at, name in enumerate(people.states):
        if wanted and name not in wanted:
            continue
        others = people.state != at
        rules = learnt(some(people.data, others), people.vital[others]).rules
        searches += 1
        kept.update(tuple(rule) for rule in rules.tolist())
        share, areas, tests = attacked(people, at, rules)
        if share <= 0.005:
            continue
        for test, (own, seen) in tests.items():
            totals[test] += [len(own & seen), len(own - seen), len(seen - own), areas - len(own | seen)]
        rows.append([STATES[name], f"{100 * share:.1f} %", *cells(adequacy(*tests["thompson_tau"], areas))])
        line(*rows[-1])
    together = {test: from_counts(*counts.tolist()) for test, counts in totals.items()}
    for test, label in (("thompson_tau", f"**all {len(rows)}**"), ("grubbs", f"all {len(rows)}, Grubbs' test")):
        of_all = [label, "", *cells(together[test])]  # type: ignore[index]
        line(*of_all)
        rows.append(of_all)
    every, most = len(kept), sum(count == searches for count in kept.values())
    print(f"\n{searches} searches, {every} different rules, {most} of them in every one", flush=True)
    if not wanted:
        figures = {
            "states": len(rows) - len(together),
            "table": {"heads": heads, "rows": rows},
            "together": {test: counted(one) for test, one in together.items()},
            "searches": {"count": searches, "rules": every, "in_every_one": most},
        }
        record("group_tables", "python benchmarks/group_tables.py --only states", figures)


def shown_rules(data: Fuzzified, vital: np.ndarray, terms: list[tuple[str, list[str]]], outcome: SearchOutcome) -> None:
    judged = evaluate(data, vital, outcome.rules, ALPHA)
    print("\n| rule | DF | RCF | support |\n|---|---|---|---|")
    for at in np.argsort(-judged.support)[:18].tolist():
        factor = f"{judged.relative_confidence_factor[at]:.3f}"
        line = f"{judged.discriminative_factor[at]:.4f} | {factor} | {judged.support[at]:.4f}"
        print(f"| {sentence(outcome.rules[at].tolist(), terms)} | {line} |", flush=True)


def years() -> None:
    names = [one["column"] for one in TAX_VARIABLES]
    terms = [[term({"shape": shape, "points": points}) for _, shape, points in one["terms"]] for one in TAX_VARIABLES]
    said = [(one["column"], [name for name, _, _ in one["terms"]]) for one in TAX_VARIABLES]
    old, new = (pl.read_parquet(TAX / f"sample_file_{year}.parquet") for year in ("0910", "1011"))
    columns = [[frame[name].cast(pl.Float64).to_numpy() for name in names] for frame in (old, new)]
    data = [fuzzify(each, terms) for each in columns]
    vital = [(frame["Occ_code"] == 7).to_numpy() for frame in (old, new)]
    apart = {name: distance(x, y) for name, x, y in zip(names, *columns, strict=True)}
    worst = max(apart, key=apart.__getitem__)
    print(f"\nfarthest apart: {worst} {apart[worst]:.4f}; by chance {by_chance(len(old), len(new)):.4f}")
    outcome = learnt(data[0], vital[0], min_relative_confidence=0.5, min_support=0.01)
    print(f"{len(outcome.rules)} rules, {vital[0].sum()} of {len(old)} and {vital[1].sum()} of {len(new)} records")
    if not len(outcome.rules):
        return
    shown_rules(data[0], vital[0], said, outcome)
    places, codes = np.unique(new["Region"].to_numpy(), return_inverse=True)
    both = signals(codes, len(places), vital[1], memberships(data[1], outcome.rules, ALPHA), ALPHA)
    assert both.quantity is not None
    heads = ["signal, test at 5 %", *HEADS, "rank correlation"]
    line(*heads)
    line(*["---"] * len(heads))
    rows, counts = [], {}
    for kind, pair in (
        ("quantity", (both.quantity.astype(float), both.auxiliary)),
        ("concentration", tuple(concentration(one, both.sizes) for one in (both.quantity, both.auxiliary))),
    ):
        places_of = [np.argsort(np.argsort(signal)) for signal in pair]
        correlation = float(np.corrcoef(*places_of)[0, 1])
        for test, label in (("thompson_tau", "Thompson tau"), ("grubbs", "Grubbs")):
            own, seen = (
                set(thompson_tau(one, alpha=0.05, robust=test == "thompson_tau", test=test).indexes)  # type: ignore[arg-type]
                for one in pair
            )
            counts[f"{kind}_{test}"] = counted(one := adequacy(own, seen, len(places)))
            rows.append([f"{kind}, {label}", *cells(one), f"{correlation:.2f}"])
            line(*rows[-1])
    record(
        "group_years",
        "python benchmarks/group_tables.py --only years",
        {"table": {"heads": heads, "rows": rows}, "signals": counts},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", nargs="*", default=[])
    parser.add_argument("--only", choices=["states", "rules", "years"])
    args = parser.parse_args()
    if args.only in {None, "years"}:
        years()
    if args.only == "years":
        return
    people = People()
    print(f"{len(people.state)} records, {people.vital.sum()} of the group, {len(people.states)} states\n", flush=True)
    if args.only in {None, "rules"}:
        shown_rules(people.data, people.vital, people.terms, learnt(people.data, people.vital))
    if args.only in {None, "states"}:
        states(people, args.states)


if __name__ == "__main__":
    main()
