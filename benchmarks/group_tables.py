"""Tables 5 to 7 of the paper on the American Community Survey 2024, and the attack across two years of tax files.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_tables.py [--states 37 53] [--only states|rules|years]

*states*: every state of ../shared is attacked with rules learned on all others (exhaustive search, thresholds of the
paper). A row each for those with more than 0.5 % of the group: outliers of the group's own signal by area, those
that the attack does not disclose, outliers of the auxiliary signal, those that are false, PA, J and MB; then all
of them together, as the paper has it; the same by Grubbs' test; and in how many of the searches each rule was among the
most general ones. *rules*: the rules of most support, learned on all states, as sentences. *years*: rules of the tax
file 2009-10 attack 2010-11: machinery operators and drivers (`Occ_code` 7) by region, whose column of occupations is
left out. Each part goes to a file of benchmarks/results.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from benchmarks.group_swaps import ALPHA, DATA, NAMES, STATES, VARIABLES, fuzzified, term
from benchmarks.recorded import as_table, printed, record
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.rules.fuzzified import Fuzzified, Graded, fuzzify
from workers.algorithms.groups.rules.generality import SearchOutcome
from workers.algorithms.groups.rules.rules import evaluate, memberships
from workers.algorithms.groups.signals.adequacy import Adequacy, adequacy, from_counts
from workers.algorithms.groups.signals.likeness import by_chance, distance
from workers.algorithms.groups.signals.outliers import Test, thompson_tau
from workers.algorithms.groups.signals.signals import concentration, signals

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_tables.py"
#: Rules that the table has.
SHOWN = 18
TESTS: tuple[Test, ...] = ("thompson_tau", "grubbs")
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
    shares = (one.prediction_accuracy, one.markedness, one.log_bayes_factor)
    return [*(str(each) for each in counts), *("-" if each is None else f"{each:.3f}" for each in shares)]


def counted(one: Adequacy) -> dict[str, Any]:
    return asdict(one) | {"outliers": one.tp + one.fp}


class People:
    """All in-range records of the survey."""

    def __init__(self) -> None:
        inside = pl.all_horizontal([pl.col(one["column"]).is_between(*one["range"]) for one in VARIABLES])
        paths = sorted(DATA.glob("p_*.parquet"))
        self.states = [path.stem.removeprefix("p_") for path in paths]
        frames = [
            pl.read_parquet(path, columns=["PUMA", "MIL", *NAMES]).filter(inside.fill_null(value=False))
            for path in paths
        ]
        self.state = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
        people = pl.concat(frames)
        self.vital = (people["MIL"] == 1).fill_null(value=False).to_numpy()
        self.area = people["PUMA"].to_numpy()
        self.data = fuzzified(people)
        self.terms = [(one["column"], [each["name"] for each in one["terms"]]) for one in VARIABLES]


def outliers(both: tuple[np.ndarray, np.ndarray], significance: float) -> dict[str, Adequacy]:
    """How well the attack does by either test, from the group's own signal and the auxiliary one."""
    tests: dict[str, Adequacy] = {}
    for test in TESTS:
        own, seen = (
            set(thompson_tau(one, alpha=significance, robust=test == "thompson_tau", test=test).indexes) for one in both
        )
        tests[test] = adequacy(own, seen, len(both[0]))
    return tests


def attacked(people: People, at: int, rules: np.ndarray) -> tuple[dict[str, float], dict[str, Adequacy]]:
    """Counts of one state, and by test how well the attack does."""
    mine = people.state == at
    membership = memberships(some(people.data, mine), rules, ALPHA)
    places, codes = np.unique(people.area[mine], return_inverse=True)
    both = signals(codes, len(places), people.vital[mine], membership, ALPHA)
    assert both.quantity is not None
    counts = {
        "share": float(people.vital[mine].sum() / people.vital.sum()),
        "records": int(mine.sum()),
        "areas": len(places),
        "empty": int((both.quantity == 0).sum()),
    }
    return counts, outliers((both.quantity, both.auxiliary), 0.01)


def states(people: People, wanted: Sequence[str]) -> None:
    rows = [printed("state", "share of the group", *HEADS)]
    kept: Counter[tuple[int, ...]] = Counter()
    measured: list[tuple[dict[str, float], dict[str, Adequacy]]] = []
    searches = 0
    for at, name in enumerate(people.states):
        if wanted and name not in wanted:
            continue
        others = people.state != at
        rules = learnt(some(people.data, others), people.vital[others]).rules
        searches += 1
        kept.update(tuple(rule) for rule in rules.tolist())
        counts, tests = attacked(people, at, rules)
        if counts["share"] > 0.005:
            measured.append((counts, tests))
            rows.append(printed(STATES[name], f"{100 * counts['share']:.1f} %", *cells(tests["thompson_tau"])))
    together = {test: summed([tests[test] for _, tests in measured]) for test in TESTS}
    for test, label in (("thompson_tau", f"**all {len(measured)}**"), ("grubbs", f"all {len(measured)}, Grubbs' test")):
        rows.append(printed(label, "", *cells(together[test])))
    figures = {
        "states": len(measured),
        **{name: sum(counts[name] for counts, _ in measured) for name in ("records", "areas", "empty")},
        "table": as_table(rows),
        "together": {test: counted(one) for test, one in together.items()},
        "searches": {
            "count": searches,
            "rules": len(kept),
            "in_every_one": sum(count == searches for count in kept.values()),
        },
    }
    print({name: figures[name] for name in ("records", "areas", "empty", "searches")}, flush=True)
    if not wanted:
        record("group_tables", f"{COMMAND} --only states", figures)


def summed(each: list[Adequacy]) -> Adequacy:
    return from_counts(*(sum(getattr(one, name) for one in each) for name in ("tp", "fp", "fn", "tn")))


def rules_of(
    data: Fuzzified, vital: np.ndarray, terms: list[tuple[str, list[str]]], outcome: SearchOutcome
) -> list[list[str]]:
    """Table of the rules of most support, as sentences."""
    judged = evaluate(data, vital, outcome.rules, ALPHA)
    rows = [printed("rule", "DF", "RCF", "support")]
    for at in np.argsort(-judged.support)[:SHOWN].tolist():
        shares = (judged.discriminative_factor, judged.relative_confidence_factor, judged.support)
        figures = [format(share[at], form) for share, form in zip(shares, (".4f", ".3f", ".4f"), strict=True)]
        rows.append(printed(sentence(outcome.rules[at].tolist(), terms), *figures))
    return rows


def all_rules(people: People) -> None:
    """Rules of all states."""
    outcome = learnt(people.data, people.vital)
    figures = {
        "records": len(people.state),
        "group": int(people.vital.sum()),
        "states": len(people.states),
        "rules": len(outcome.rules),
        "table": as_table(rules_of(people.data, people.vital, people.terms, outcome)),
    }
    record("group_rules", f"{COMMAND} --only rules", figures)


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
    outcome = learnt(data[0], vital[0], min_relative_confidence=0.5, min_support=0.01)
    rules = rules_of(data[0], vital[0], said, outcome)
    places, codes = np.unique(new["Region"].to_numpy(), return_inverse=True)
    both = signals(codes, len(places), vital[1], memberships(data[1], outcome.rules, ALPHA), ALPHA)
    figures = {
        "records": [len(old), len(new)],
        "group": [int(one.sum()) for one in vital],
        "regions": len(places),
        "rules": len(outcome.rules),
        "rule": {"sentence": rules[1][0]},
        "apart": {"column": worst, "distance": apart[worst], "chance": by_chance(len(old), len(new))},
    }
    print(figures, flush=True)
    record("group_years", f"{COMMAND} --only years", figures | next_year(both))


def next_year(both: Any) -> dict[str, Any]:
    """How well rules of the year before do, by signal and test."""
    rows, counts = [printed("signal, test at 5 %", *HEADS, "rank correlation")], {}
    pairs = {
        "quantity": (both.quantity.astype(float), both.auxiliary),
        "concentration": tuple(concentration(one, both.sizes) for one in (both.quantity, both.auxiliary)),
    }
    for kind, pair in pairs.items():
        places_of = [np.argsort(np.argsort(signal)) for signal in pair]
        correlation = float(np.corrcoef(*places_of)[0, 1])
        for test, one in outliers(pair, 0.05).items():
            counts[f"{kind}_{test}"] = counted(one)
            label = f"{kind}, {test.capitalize().replace('_', ' ')}"
            rows.append(printed(label, *cells(one), f"{correlation:.2f}"))
    return {"table": as_table(rows), "signals": counts}


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
        all_rules(people)
    if args.only in {None, "states"}:
        states(people, args.states)


if __name__ == "__main__":
    main()
