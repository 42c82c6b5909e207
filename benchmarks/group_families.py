"""Masked places by how many rules fit: every family before and after, and by rules of states that were not used.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_families.py [--states 37 53] [--keys 1]

For each state: rules by exhaustive search on all other states, every outlier masked, numbers as ordinal attributes,
the algorithms alone (no service, no decoys, no classifiers); then the same with rules of every second other state,
judged by rules of those left out. A row each: masked places; swaps by the letter and by the profile; signals of 56 that
fail the criteria before, by the letter, by the profile; the best rank of a masked place, its mean over the families and
the least; AUC and its deviations in them; distortion relative to the letter's, and that; CPU seconds of the search.
Judged by rules of others, the signals that fail for as many random places come last.
"""

import argparse
import json
import time

import numpy as np
import polars as pl

from benchmarks.group_swaps import ALPHA, DATA, ORDINAL, fuzzified, records
from surebox_core.steps import finished
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.profile.inconspicuous import View, masking
from workers.algorithms.groups.rules.fits import Fits, confidence_order, fits
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.criteria import UNRANKED, Judge, Standing, failing
from workers.algorithms.groups.signals.families import Families, families
from workers.algorithms.groups.signals.outliers import thompson_tau
from workers.algorithms.groups.signals.profile import GRID, ProfileSignal, ranks
from workers.algorithms.groups.swaps.assignment import cheapest, moves_needed
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.metric import Metric, encode
from workers.algorithms.groups.swaps.problem import Swaps, build
from workers.algorithms.groups.swaps.restrictions import Restriction

VARIABLES = json.loads((DATA / "military-variables.json").read_text())
ALPHAS = tuple(sorted(GRID, reverse=True))


def learnt(frame: pl.DataFrame) -> Rules:
    vital = (frame["MIL"] == 1).fill_null(value=False).to_numpy()
    search = enumeration.init(fuzzified(frame, VARIABLES), vital, enumeration.EnumerationRequest(min_membership=ALPHA))
    while not enumeration.done(search):
        search = enumeration.step(search)
    result = enumeration.result(search)
    return result.rules[confidence_order(result.metrics.relative_confidence_factor)]


def counted(data: Fuzzified, rules: Rules) -> tuple[Fits, Families]:
    fitted = fits(data, rules, ALPHA, min(GRID))
    return fitted, families(fitted.grade, fitted.number, fitted.first, fitted.rules, ALPHA, GRID)


def exchanged(codes: np.ndarray, swaps: Swaps) -> np.ndarray:
    out = codes.copy()
    out[swaps.source_row], out[swaps.partner_row] = swaps.target, swaps.source
    return out


def encoded(frame: pl.DataFrame) -> tuple[Metric, np.ndarray]:
    names = [one["column"] for one in VARIABLES]
    ordinal, categorical = [n for n in names if n in ORDINAL], [n for n in names if n not in ORDINAL]
    metric = Metric((1.0,) * len(ordinal), (1.0,) * len(categorical))
    numbers = frame.select(ordinal).cast(pl.Float64).to_numpy()
    return metric, encode(metric, numbers, frame.select(categorical).cast(pl.Int64).to_numpy())


def best_ranks(standings: tuple[Standing, ...], masked: tuple[int, ...]) -> str:
    best = [min(ranks(one.signal.values)[list(masked)]) for one in standings[:-1] if one.signal.name not in UNRANKED]
    return f"{np.mean(best):.1f}, {min(best):.1f}"


def by_chance(signals: tuple[ProfileSignal, ...], masked: int, groups: int) -> str:
    """Signals that fail for as many random places: median, and 95 % quantile of 100 draws."""
    rng = np.random.default_rng(0)
    drawn = [rng.choice(groups, masked, replace=False).tolist() for _ in range(100)]
    fail = [len(failing(Judge(tuple(places), (), 0.01, True).standings(signals))) for places in drawn]
    return f"{np.median(fail):.0f}, {np.quantile(fail, 0.95):.0f}"


def row(name: str, frame: pl.DataFrame, rules: Rules, judges: Rules | None, key: int) -> None:
    data, (metric, values) = fuzzified(frame, VARIABLES), encoded(frame)
    places, codes = np.unique(frame["PUMA"].to_numpy(), return_inverse=True)
    groups, (fitted, profile) = len(places), counted(data, rules)
    member = fitted.grade >= ALPHA
    crisp = np.bincount(codes[member], minlength=groups)
    outliers = thompson_tau(crisp, alpha=0.01, robust=True)
    usual = int(np.delete(crisp, list(outliers.order)).max())
    masked = tuple(place for place in outliers.indexes if crisp[place] > usual)
    if not masked:
        print("|", name, "| nothing stands out |", flush=True)
        return
    restrictions = [Restriction(place, usual, max(int(crisp[place]), usual + 10)) for place in masked]
    plain = build(codes, groups, member, values, metric, restrictions)
    letter = cheapest(plain, moves_needed(plain))
    nothing = np.zeros((len(ALPHAS), groups), dtype=np.int64)
    levels = Levels(bands(fitted.grade, np.array(ALPHAS)), nothing - 1, nothing, ALPHAS.index(ALPHA))
    problem = build(codes, groups, member, values, metric, restrictions, levels=levels)
    judge, start = Judge(masked, (), 0.01, True), time.process_time()
    view = View(profile, codes, judge, {}, letter.distortion)
    made = finished(masking(problem, view, lambda turn: np.random.default_rng([key, turn])))
    seconds = time.process_time() - start
    now = exchanged(codes, made.swaps)
    looks = [judge.standings(profile.profile(code, groups)) for code in (codes, exchanged(codes, letter), now)]
    family = [one for one in looks[2] if one.signal.name not in UNRANKED]
    cells = [
        name,
        f"{len(masked)} of {groups}",
        f"{len(letter.source)}, {len(made.swaps.source)}",
        " → ".join(str(len(failing(look))) for look in looks),
        " → ".join(best_ranks(look, masked) for look in looks),
        f"{min(one.auc for one in family):.2f} to {max(one.auc for one in family):.2f}",
        f"{min(one.auc_deviation for one in family):.1f} to {max(one.auc_deviation for one in family):.1f}",
        f"{made.swaps.distortion / letter.distortion:.2f} ({letter.distortion:.1f})",
        f"{seconds:.1f}",
    ]
    if judges is not None:
        _, theirs = counted(data, judges)
        before, after = (judge.standings(theirs.profile(code, groups)) for code in (codes, now))
        chance = [sum(not one.by_chance for one in look) for look in (before, after)]
        cells[-1] += f" | {len(failing(before))} → {len(failing(after))}, by chance all but {chance[0]} → {chance[1]}"
        cells[-1] += f", ranks {best_ranks(before, masked)} → {best_ranks(after, masked)}"
        cells[-1] += f" | random places: {by_chance(theirs.profile(now, groups), len(masked), groups)}"
    print("|", " | ".join(cells), "|", flush=True)


def state(name: str, keys: int) -> None:
    frame, others = records(name, VARIABLES, others=False), records(name, VARIABLES, others=True)
    names = sorted(others["STATE"].unique().to_list())
    rules = learnt(others)
    halves = [learnt(others.filter(pl.col("STATE").is_in(half))) for half in (names[0::2], names[1::2])]
    for key in range(keys):
        row(name, frame, rules, None, key)
        row(f"{name}, half", frame, halves[0], halves[1], key)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", nargs="+", default=["37"])
    parser.add_argument("--keys", type=int, default=1)
    given = parser.parse_args()
    for one in given.states:
        state(one, given.keys)
