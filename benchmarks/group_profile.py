"""The profile of the rules masked, and what classifiers see of it all the same, on the American Community Survey 2024.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_profile.py [--states 37 53 13]
        [--search assignment|memetic] [--metric ordinal|categorical] [--alone]

For each state: rules by exhaustive search on all other states, `mask: "outliers"`, default profile and decoys, numbers
as ordinal attributes or all as categories, run as the service runs it, without the service. The figures are those of
the attack that follows: signals of the profile that expose a masked region, the precision@m of the best of twelve
signals (members, near-members and their ratio at 0.1 to 0.4), highest or lowest first, next to the 95 % quantile of the
same under random labels, distortion over that of the letter, and classifiers. `--alone` runs the algorithms alone on
North Carolina (no service, no decoys, no classifiers), for both metrics and three keys each. CPU seconds of one
thread: those of gradient boosting would count waiting for the others.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from benchmarks.group_families import learnt, masking_of
from benchmarks.group_swaps import DATA, ORDINAL, STATES, VARIABLES, records
from benchmarks.recorded import as_table, printed, record, span
from tests.methods.in_process import Bench, Done
from workers.algorithms.groups.signals.profile import ProfileSignal, precision

GIVING_AWAY = ["ESR", "OCCP", "INDP", "COW", "SERIALNO", "HICOV", "PRIVCOV", "PUBCOV"]
TWELVE = [(name, alpha) for name in ("members", "near", "near_ratio") for alpha in (0.1, 0.2, 0.3, 0.4)]


def best(signals: list[ProfileSignal], places: list[int]) -> float:
    return max(precision(one.values, places, largest=largest) for one in signals for largest in (True, False))


def quantile(signals: list[ProfileSignal], count: int) -> float:
    rng, places = np.random.default_rng(0), len(signals[0].values)
    drawn = [best(signals, rng.choice(places, count, replace=False).tolist()) for _ in range(2_000)]
    return float(np.quantile(drawn, 0.95))


def twelve(profiled: dict) -> list[ProfileSignal]:
    values = {(one["name"], one["alpha"]): one["values"] for one in profiled["signals"] if one["rules"] is None}
    return [ProfileSignal(*key, np.array(values[key])) for key in TWELVE]


#: What goes to benchmarks/results, and where: states, search and metric.
RECORDED = {
    ("37 53 13", "assignment", "ordinal"): "group_profile",
    ("37", "assignment", "categorical"): "group_profile_categorical",
    ("37", "memetic", "ordinal"): "group_profile_memetic",
}
COMMAND = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_profile.py"
KEYS = 3
HEADS = [
    "state", "masked regions", "swaps + decoys", "signals that expose one", "valid", "precision", "quantile",
    "distortion", "with decoys", "CPU s, masking", "CPU s, `swap_detection`",
]  # fmt: skip
CLASSIFIERS = ["state", "classifier", "AUC", "before", "after", "out of range", "moved, AUC"]
ALONE = ["metric", "swaps, letter", "swaps, profile", "signals that fail", "distortion", "CPU s"]


def prepared(folder: Path, wanted: str) -> Bench:
    """A service's folder with the state, all others, and the rules that these give."""
    bench = Bench(folder)
    others = pl.concat([pl.read_parquet(p) for p in sorted(DATA.glob("p_*.parquet")) if p.stem != f"p_{wanted}"])
    bench.dataset("others", others)
    bench.dataset("home", pl.read_parquet(DATA / f"p_{wanted}.parquet"))
    bench.job("model", {
        "method": "group", "auxiliary_dataset_id": "others", "target_dataset_id": "home", "variables": VARIABLES,
        "hidden_group": {"column": "MIL", "values": [1]}, "region_columns": ["PUMA"],
        "search": {"method": "exhaustive"},
    })  # fmt: skip
    return bench


def timed(bench: Bench, body: dict) -> tuple[Done, float]:
    start = time.process_time()
    done = bench.run(body)
    return done, time.process_time() - start


def state(folder: Path, wanted: str, search: str, metric: str) -> tuple[list[str], list[list[str]]]:
    """A row of masking, and one of each classifier."""
    bench = prepared(folder, wanted)
    spec: dict[str, Any] = {
        "method": "swaps",
        "dataset_id": "home",
        "region_columns": ["PUMA"],
        "model_job_id": "model",
    }
    spec |= {"drop": GIVING_AWAY, "search": {"method": search}}
    if metric == "categorical":
        spec |= {"metric": {"categorical": {one["column"]: 1.0 for one in VARIABLES}}}
    masked, seconds = timed(bench, spec)
    bench.keep("masked", masked)
    result = masked.result
    places = [result["regions"][place] for place in result["masked_regions"]]
    audit = {"method": "group_profile", "model_job_id": "model", "masked_regions": places}
    files = ({"dataset_ids": ["home"]}, {"release_ids": ["masked"]})
    before, after = (bench.run(audit | which).result["inputs"][0] for which in files)
    detected, detecting = timed(bench, audit | {"method": "swap_detection", "drop": GIVING_AWAY} | files[0])
    exposing = sum(bool(one["exposed"]) for one in after["signals"])
    letter, both = result["members_distortion"], result["distortion"] + result["decoy_distortion"]
    row = printed(
        STATES[wanted],
        f"{len(places)} of {len(result['regions'])}",
        f"{result['swap_count']} + {result['decoys']}",
        f"{exposing} of {len(after['signals'])}",
        "yes" if result["valid"] else "no",
        f"{best(twelve(before), before['masked_regions']):.2f} → {best(twelve(after), after['masked_regions']):.2f}",
        f"{quantile(twelve(after), len(places)):.2f}",
        *(f"{value / letter:.2f}" for value in (result["distortion"], both)),
        *(f"{value:.0f}" for value in (seconds, detecting)),
    )
    old, new = detected.result["inputs"][0]["classifiers"], result["attack_again"]["classifiers"]
    return row, [classified(wanted, *pair) for pair in zip(old, new, strict=True)]


def classified(wanted: str, old: dict, new: dict) -> list[str]:
    """What a classifier sees of the file before and after."""
    shares = (old["all_records"], new["all_records"], new["out_of_range"])
    precisions = (f"{scope['precision']:.2f}" for scope in shares)
    return printed(STATES[wanted], new["name"], f"{new['auc']:.3f}", *precisions, f"{new['moved']['auc']:.2f}")


def services(states: list[str], search: str, metric: str) -> None:
    rows, classifiers = [printed(*HEADS)], [CLASSIFIERS]
    for name in states:
        with TemporaryDirectory() as scratch:
            row, seen = state(Path(scratch), name, search, metric)
            rows.append(row)
            classifiers += seen
    if (part := RECORDED.get((" ".join(states), search, metric))) is not None:
        options = f"--states {' '.join(states)} --search {search} --metric {metric}"
        tables = {"table": as_table(rows), "classifiers": as_table(classifiers)}
        record(part, f"{COMMAND} {options}", tables)


def alone() -> None:
    frame, rules = records("37", others=False), learnt(records("37", others=True))
    rows, figures = [printed(*ALONE)], {}
    for metric, numbers in (("categorical", frozenset()), ("ordinal", ORDINAL)):
        made = [masking_of(frame, rules, None, numbers=numbers, key=key) for key in range(KEYS)]
        figures[metric] = made
        spans = (span([one["swaps"][1] for one in made], "d"), span([one["distortion"] for one in made], ".2f"))
        fail = " → ".join(span([one["fail"][at] for one in made], "d") for at in range(3))
        seconds = span([one["seconds"] for one in made], ".1f")
        rows.append(printed(metric, str(made[0]["swaps"][0]), spans[0], fail, spans[1], seconds))
    record("group_keys", f"{COMMAND} --alone", {"keys": KEYS, "runs": figures, "table": as_table(rows)})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", nargs="+", default=["37", "53", "13"])
    parser.add_argument("--search", choices=["assignment", "memetic"], default="assignment")
    parser.add_argument("--metric", choices=["ordinal", "categorical"], default="ordinal")
    parser.add_argument("--alone", action="store_true", help="the algorithms alone, on North Carolina")
    args = parser.parse_args()
    if args.alone:
        alone()
    else:
        services(args.states, args.search, args.metric)
