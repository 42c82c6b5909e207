"""Masked places by how many rules fit: every family before and after, and by rules of states that were not used.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_families.py [--states 37 53]

For each state: rules by exhaustive search on all other states, every outlier masked, numbers as ordinal attributes,
the algorithms alone (no service, no decoys, no classifiers); then the same with rules of every second other state,
judged by rules of those left out. Two tables, which go to benchmarks/results when all states were measured. Counts
are the signals of 67 that fail the criteria: before, by the letter, by the profile. Distortion is relative to the
letter's. The best rank of a masked place is its mean over the families, and the least. Judged by rules of others,
*random* are the signals that fail for as many random places of the masked file.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from benchmarks.group_swaps import ALPHA, ORDINAL, STATES, brought_down, encoded, fuzzified, records
from benchmarks.recorded import record
from surebox_core.steps import finished
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.profile.inconspicuous import View, masking
from workers.algorithms.groups.rules.fits import Fits, confidence_order, fits
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.criteria import UNRANKED, Judge, Standing, failing
from workers.algorithms.groups.signals.families import Families, families
from workers.algorithms.groups.signals.portraits import PORTRAIT
from workers.algorithms.groups.signals.profile import GRID, ProfileSignal, ranks
from workers.algorithms.groups.swaps.assignment import cheapest, moves_needed
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.problem import Swaps, build

ALPHAS = tuple(sorted(GRID, reverse=True))


def learnt(frame: pl.DataFrame) -> Rules:
    vital = (frame["MIL"] == 1).fill_null(value=False).to_numpy()
    search = enumeration.init(fuzzified(frame), vital, enumeration.EnumerationRequest(min_membership=ALPHA))
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


#: Those that were looked at while the method was made, and others after it.
MEASURED = ("08", "17", "37", "53", "20", "39", "13", "51", "24", "21", "40", "36", "45")
OWN = [
    "state",
    "masked",
    "swaps, letter and profile",
    "signals that fail: before → letter → profile",
    "distortion",
    "CPU s",
]
OTHERS = [
    "state", "masked", "own rules: fail", "distortion", "others' rules: fail", "random", "not by chance", "best rank",
]  # fmt: skip


def best_ranks(standings: tuple[Standing, ...], masked: tuple[int, ...]) -> list[float]:
    """Mean over the families, and least."""
    joint = {*PORTRAIT, "outlier_count", *UNRANKED}
    best = [min(ranks(one.signal.values)[list(masked)]) for one in standings if one.signal.name not in joint]
    return [float(np.mean(best)), float(min(best))]


def failing_by_chance(signals: tuple[ProfileSignal, ...], masked: int, groups: int) -> list[float]:
    """Signals that fail for as many random places: median, and 95 % quantile of 100 draws."""
    rng = np.random.default_rng(0)
    drawn = [rng.choice(groups, masked, replace=False).tolist() for _ in range(100)]
    fail = [len(failing(Judge(tuple(places), (), 0.01, True).standings(signals))) for places in drawn]
    return [float(np.median(fail)), float(np.quantile(fail, 0.95))]


def masking_of(
    frame: pl.DataFrame, rules: Rules, judges: Rules | None, *, numbers: frozenset[str] = ORDINAL, key: int = 0
) -> dict[str, Any]:
    """Mask every outlier; empty where there is none."""
    places, codes = np.unique(frame["PUMA"].to_numpy(), return_inverse=True)
    groups, (fitted, profile) = len(places), counted(fuzzified(frame), rules)
    if not (restrictions := brought_down(np.bincount(codes[fitted.grade >= ALPHA], minlength=groups))):
        return {}
    masked = tuple(one.element for one in restrictions)
    metric, values = encoded(frame, numbers)
    given = (codes, groups, fitted.grade >= ALPHA, values, metric, restrictions)
    plain = build(*given)
    letter = cheapest(plain, moves_needed(plain))
    nothing = np.zeros((len(ALPHAS), groups), dtype=np.int64)
    levels = Levels(bands(fitted.grade, np.array(ALPHAS)), nothing - 1, nothing, ALPHAS.index(ALPHA))
    judge, start = Judge(masked, (), 0.01, True), time.process_time()
    view = View(profile, codes, judge, {}, letter.distortion)
    made = finished(masking(build(*given, levels=levels), view, lambda turn: np.random.default_rng([key, turn])))
    seconds = time.process_time() - start
    now = exchanged(codes, made.swaps)
    looks = [judge.standings(profile.profile(code, groups)) for code in (codes, exchanged(codes, letter), now)]
    figures = {
        "masked": len(masked),
        "places": groups,
        "swaps": [len(letter.source), len(made.swaps.source)],
        "fail": [len(failing(look)) for look in looks],
        "distortion": made.swaps.distortion / letter.distortion,
        "seconds": seconds,
    }
    return figures if judges is None else figures | by_others(counted(fuzzified(frame), judges)[1], judge, codes, now)


def by_others(theirs: Families, judge: Judge, codes: np.ndarray, now: np.ndarray) -> dict[str, Any]:
    """What rules that nothing was masked against see before and after."""
    groups = int(codes.max()) + 1
    seen = [judge.standings(theirs.profile(code, groups)) for code in (codes, now)]
    return {
        "others_fail": [len(failing(look)) for look in seen],
        "not_by_chance": [sum(not one.by_chance for one in look) for look in seen],
        "best_ranks": [best_ranks(look, judge.places) for look in seen],
        "random": failing_by_chance(theirs.profile(now, groups), len(judge.places), groups),
    }


def own_row(state: str, one: Mapping[str, Any]) -> list[str]:
    letter, profile = one["swaps"]
    fail = " → ".join(str(each) for each in one["fail"])
    figures = [f"{letter}, {profile}", fail, f"{one['distortion']:.2f}", f"{one['seconds']:.1f}"]
    return [STATES[state], f"{one['masked']} of {one['places']}", *figures]


def others_row(state: str, one: Mapping[str, Any]) -> list[str]:
    fail, theirs, not_by_chance = (" → ".join(map(str, one[name])) for name in ("fail", "others_fail", "not_by_chance"))
    random = ", ".join(f"{each:.0f}" for each in one["random"])
    best = " → ".join(f"{mean:.1f}, {least:.1f}" for mean, least in one["best_ranks"])
    masked = f"{one['masked']} of {one['places']}"
    return [STATES[state], masked, fail, f"{one['distortion']:.2f}", theirs, random, not_by_chance, best]


def measured(state: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """With rules of all other states, and of every second one judged by the rest."""
    frame, others = records(state, others=False), records(state, others=True)
    names = sorted(others["STATE"].unique().to_list())
    halves = [learnt(others.filter(pl.col("STATE").is_in(half))) for half in (names[0::2], names[1::2])]
    return masking_of(frame, learnt(others), None), masking_of(frame, *halves)


def main(states: Sequence[str]) -> None:
    own, others = {}, {}
    for state in states:
        own[state], others[state] = measured(state)
        for figures, row in ((own[state], own_row), (others[state], others_row)):
            print(
                "|",
                " | ".join(row(state, figures)) if figures else f"{STATES[state]} | no outlier",
                "|",
                flush=True,
            )
    if tuple(states) == MEASURED:
        figures = {
            "own": own,
            "others": others,
            "own_table": {"heads": OWN, "rows": [own_row(*each) for each in own.items() if each[1]]},
            "others_table": {"heads": OTHERS, "rows": [others_row(*each) for each in others.items() if each[1]]},
        }
        record("group_families", "python benchmarks/group_families.py", figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", nargs="+", default=MEASURED)
    main(parser.parse_args().states)
