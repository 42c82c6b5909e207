"""The profile of the rules masked, and what classifiers see of it all the same, on the American Community Survey 2024.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_profile.py [--states 37] [--search assignment|memetic]

For each state: rules by exhaustive search on all other states, `mask: "outliers"`, default profile and decoys, numbers
as ordinal attributes or all as categories, run as the service runs it, without the service. Told are the figures of the
attack that follows: signals of the profile that expose a masked place, the precision@m of the best of twelve
signals (members, near-members and their ratio at 0.1 to 0.4), highest or lowest first, beside the 95 % quantile of the
same under random labels, distortion beside that of the letter, and classifiers. CPU seconds of one process.
"""

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from tests.methods.in_process import Bench
from workers.algorithms.groups.signals.profile import ProfileSignal, precision

DATA = Path(__file__).parents[1] / ".." / "shared" / "data" / "acs2024"
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


def state(folder: Path, wanted: str, search: str, metric: str) -> None:
    bench = Bench(folder)
    variables = json.loads((DATA / "military-variables.json").read_text())
    others = pl.concat([pl.read_parquet(p) for p in sorted(DATA.glob("p_*.parquet")) if p.stem != f"p_{wanted}"])
    bench.dataset("others", others)
    bench.dataset("home", pl.read_parquet(DATA / f"p_{wanted}.parquet"))
    del others
    bench.job("model", {
        "method": "group", "auxiliary_dataset_id": "others", "target_dataset_id": "home", "variables": variables,
        "hidden_group": {"column": "MIL", "values": [1]}, "region_columns": ["PUMA"],
        "search": {"method": "exhaustive"},
    })  # fmt: skip
    spec = {
        "method": "swaps",
        "dataset_id": "home",
        "region_columns": ["PUMA"],
        "model_job_id": "model",
        "drop": GIVING_AWAY,
    }
    spec |= {"search": {"method": search}}
    if metric == "categorical":
        spec |= {"metric": {"categorical": {one["column"]: 1.0 for one in variables}}}
    start = time.process_time()
    bench.release("masked", spec)
    seconds = time.process_time() - start
    result = bench.run(spec).result
    places = [result["regions"][place] for place in result["masked_regions"]]
    audit = {"method": "group_profile", "model_job_id": "model", "masked_regions": places}
    before, after = (bench.run(audit | which).result["inputs"][0] for which in (
        {"dataset_ids": ["home"]}, {"release_ids": ["masked"]}))  # fmt: skip
    standing = sum(bool(one["exposed"]) for one in after["signals"])
    start = time.process_time()
    seen = bench.run({"method": "swap_detection", "model_job_id": "model", "masked_regions": places,
                      "drop": GIVING_AWAY, "dataset_ids": ["home"]}).result["inputs"][0]  # fmt: skip
    detecting = time.process_time() - start
    letter, both = result["letter_distortion"], result["distortion"] + result["decoy_distortion"]
    line = (
        f"{wanted}, {search}, {metric}",
        f"{len(places)} of {len(result['regions'])}",
        f"{result['swap_count']} + {result['decoys']}",
        f"{result['valid']}, {standing} of {len(after['signals'])}",
        f"{best(twelve(before), before['masked_regions']):.2f} → {best(twelve(after), after['masked_regions']):.2f}",
        f"{quantile(twelve(after), len(places)):.2f}",
        f"{letter:.2f}, {result['distortion'] / letter:.2f}, {both / letter:.2f}",
        f"{seconds:.0f}, {detecting:.0f}",
    )
    print("|", " | ".join(line), "|", flush=True)
    for old, new in zip(seen["classifiers"], result["attack_again"]["classifiers"], strict=True):
        moved, driving = new["moved"], ", ".join(one["column"] for one in new["driving_columns"][:3])
        telling = ", ".join(f"{one['precision']:.2f}" for one in moved["precision_at_recall"])
        line = (
            f"{new['name']}, AUC {new['auc']:.3f}, driven by {driving}",
            f"all: ranks {shown(old['all_records'])} → {shown(new['all_records'])}",
            f"out of range: {shown(new['out_of_range'])}",
            f"moved {moved['moved']} of {moved['records']}: AUC {moved['auc']:.2f}, precision {telling}",
        )
        print("|", " | ".join(line), "|", flush=True)


def shown(scope: dict) -> str:
    ranks = ", ".join(f"{rank:.0f}" for rank in sorted(scope["ranks"])[:8])
    return f"{ranks} (precision {scope['precision']:.2f})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", nargs="+", default=["37"])
    parser.add_argument("--search", choices=["assignment", "memetic"], default="assignment")
    parser.add_argument("--metric", choices=["ordinal", "categorical"], default="ordinal")
    args = parser.parse_args()
    for name in args.states:
        with TemporaryDirectory() as scratch:
            state(Path(scratch), name, args.search, args.metric)
