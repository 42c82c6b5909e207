"""Attack masked places with knowledge of the method: by the rules that were masked against.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_hidden.py [--states 18 22]

Rules by exhaustive search on eight states; in others every outlier is masked, numbers as ordinal attributes, the
algorithms alone, by two draws. Then places are scored from the masked file and the rules alone:

* `below`: never among the two highest of any count, but for one in twenty, and high on average (no training);
* `mean`: high on average over all counts and shares (no training);
* `counts`: logistic regression on the ranks of each count, number and share averaged;
* `portrait`: the same on the figures of the places' portraits and their squares;
* `all`: the same on every rank, numbers and shares apart, from which a place's size follows;
* `size`: in-range records, which swaps do not change, so that they say what they said before.

Regressions are trained on all draws of every second state, and measured on one draw of the others, and the other way
round. AUC is its mean over the states; its deviation is from chance, in standard deviations; *first 2M* are masked
places among the first 2M of a state, and how many chance puts there. The same is measured of files that are masked by
the letter. Signals that fail are counted by the rules that were masked against, and by rules of eight other states.
Goes to benchmarks/results when all states were measured.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from benchmarks.group_families import ALPHAS, counted, exchanged, learnt
from benchmarks.group_swaps import ALPHA, DATA, NAMES, ORDINAL, STATES, VARIABLES, brought_down, encoded, fuzzified
from benchmarks.recorded import record
from surebox_core.steps import finished
from workers.algorithms.groups.profile.inconspicuous import View, masking
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.criteria import UNRANKED, Judge, area, failing
from workers.algorithms.groups.signals.portraits import averaged, contrasts, counted_by, portraits
from workers.algorithms.groups.signals.profile import ProfileSignal, ranks
from workers.algorithms.groups.swaps.assignment import cheapest, moves_needed
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.problem import build

LEARNED = ("08", "13", "20", "21", "37", "45", "51", "53")
#: Where rules are learned that nothing is masked against.
OTHERS = ("01", "12", "15", "17", "25", "36", "39", "42")
MEASURED = (
    "04", "09", "18", "19", "22", "24", "26", "27", "28", "29", "34", "35", "40", "41", "47", "49",
)  # fmt: skip
DRAWS = 2
#: Weight of the squares of the coefficients, for each record that is learned from.
RIDGE = 0.02
SCORES = ("below", "mean", "counts", "portrait", "all", "size")
HEADS = ["score", "by the letter: AUC", "deviation", "first 2M", "masked: AUC", "deviation", "first 2M", "chance"]
COSTS = [
    "state", "masked", "swaps, letter and masked", "signals that fail: before → letter → masked", "by others' rules",
    "distortion", "valid",
]  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """A masked file as it is published: ranked signals, sizes, and which places were masked."""

    signals: tuple[ProfileSignal, ...]
    sizes: np.ndarray
    masked: np.ndarray

    @property
    def rank(self) -> np.ndarray:
        return np.array([ranks(one.values) for one in self.signals])

    def features(self, score: str) -> np.ndarray:
        """(P, F), what a regression reads of each place."""
        mean = averaged(self.rank, counted_by(self.signals))
        if score == "counts":
            return mean.T
        if score == "all":
            return self.rank.T / len(self.sizes)
        figures = portraits(self.rank, mean, contrasts(self.signals, ALPHA))
        order = np.array([ranks(row) for row in figures]).T / len(self.sizes)
        return np.hstack([order, (order - 0.5) ** 2])

    def score(self, score: str) -> np.ndarray:
        """(P,), of scores that need no training."""
        rank = self.rank
        if score == "size":
            return self.sizes.astype(np.float64)
        mean = -rank.mean(axis=0)
        return np.where((rank <= 2).mean(axis=0) < 0.05, 0.0, -1e9) + mean if score == "below" else mean


def records(*states: str) -> pl.DataFrame:
    columns = ["STATE", "PUMA", "MIL", *NAMES]
    frame = pl.concat([pl.read_parquet(DATA / f"p_{state}.parquet", columns=columns) for state in states])
    inside = pl.all_horizontal([pl.col(one["column"]).is_between(*one["range"]) for one in VARIABLES])
    return frame.filter(inside.fill_null(value=False))


def masked_files(state: str, rules: Rules, others: Rules) -> tuple[dict[str, Any], list[Seen]]:
    """Costs, and the file by the letter and by each draw."""
    frame = records(state)
    places, codes = np.unique(frame["PUMA"].to_numpy(), return_inverse=True)
    groups, (fitted, profile) = len(places), counted(fuzzified(frame), rules)
    restrictions = brought_down(np.bincount(codes[fitted.grade >= ALPHA], minlength=groups))
    masked = tuple(one.element for one in restrictions)
    metric, values = encoded(frame, ORDINAL)
    given = (codes, groups, fitted.grade >= ALPHA, values, metric, restrictions)
    plain = build(*given)
    letter = cheapest(plain, moves_needed(plain))
    nothing = np.zeros((len(ALPHAS), groups), dtype=np.int64)
    levels = Levels(bands(fitted.grade, np.array(ALPHAS)), nothing - 1, nothing, ALPHAS.index(ALPHA))
    judge = Judge(masked, (), 0.01, True)
    view, problem = View(profile, codes, judge, {}, letter.distortion), build(*given, levels=levels)
    made = [finished(masking(problem, view, lambda turn: np.random.default_rng([key, turn]))) for key in range(DRAWS)]  # noqa: B023
    among = np.isin(np.arange(groups), masked)
    files = []
    for swaps in (letter, *(one.swaps for one in made)):
        signals = profile.profile(exchanged(codes, swaps), groups)
        ranked = tuple(one for one in signals if one.name not in UNRANKED)
        files.append(Seen(ranked, np.bincount(codes, minlength=groups), among))
    figures = {
        "masked": len(masked),
        "places": groups,
        "swaps": [len(letter.source), len(made[0].swaps.source)],
        "distortion": [one.swaps.distortion / letter.distortion for one in made],
        "valid": [not one.failures for one in made],
    }
    theirs = counted(fuzzified(frame), others)[1]
    for name, seen in (("fail", profile), ("others_fail", theirs)):
        looks = [
            judge.standings(seen.profile(code, groups))
            for code in (codes, exchanged(codes, letter), exchanged(codes, made[0].swaps))
        ]
        figures[name] = [len(failing(look)) for look in looks]
        figures["signals"] = len(looks[0])
    return figures, files


def trained(features: np.ndarray, masked: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Coefficients of a logistic regression by Newton's method, an intercept last."""
    x = np.hstack([features - 0.5, np.ones((len(features), 1))])
    ridge = np.diag([RIDGE * weight.sum()] * (x.shape[1] - 1) + [1e-9])
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-x @ beta))
        slope = x.T @ (weight * (masked - p)) - ridge @ beta
        beta += np.linalg.solve(x.T @ (x * (weight * p * (1.0 - p))[:, None]) + ridge, slope)
    return beta


def scored(files: Mapping[str, Sequence[Seen]], score: str) -> dict[str, np.ndarray]:
    """(P,) for the first file of each state; regressions are trained on every other half."""
    if score in {"below", "mean", "size"}:
        return {state: some[0].score(score) for state, some in files.items()}
    out, halves = {}, (list(files)[0::2], list(files)[1::2])
    for mine, theirs in (halves, halves[::-1]):
        known = [one for state in theirs for one in files[state]]
        x, y = np.vstack([one.features(score) for one in known]), np.concatenate([one.masked for one in known])
        weight = np.where(y, 0.5 / y.sum(), 0.5 / (~y).sum()) * len(y)
        beta = trained(x, y.astype(np.float64), weight)
        for state in mine:
            seen = files[state][0].features(score) - 0.5
            out[state] = np.hstack([seen, np.ones((len(seen), 1))]) @ beta
    return out


def placed(files: Mapping[str, Sequence[Seen]], score: str) -> dict[str, float]:
    """Mean AUC, its deviation from chance, and the masked places among the first 2M of each state."""
    areas, deviations, first, chance = [], [], 0.0, 0.0
    for state, values in scored(files, score).items():
        among = files[state][0].masked
        auc, _ = area(values, among)
        m, n = int(among.sum()), int((~among).sum())
        areas.append(auc)
        deviations.append((m + n + 1) / (12 * m * n))
        first += among[np.argsort(-values, kind="stable")[: 2 * m]].sum()
        chance += 2 * m * m / (m + n)
    mean = float(np.mean(areas))
    deviation = (mean - 0.5) * len(areas) / float(np.sqrt(np.sum(deviations)))
    return {"auc": mean, "deviation": deviation, "first": float(first), "chance": chance}


def main(states: Sequence[str]) -> None:
    rules, others = learnt(records(*LEARNED)), learnt(records(*OTHERS))
    figures, letter, masked = {}, {}, {}
    for state in states:
        figures[state], files = masked_files(state, rules, others)
        letter[state], masked[state] = files[:1], files[1:]
        print(state, figures[state], flush=True)
    scores = {score: {"letter": placed(letter, score), "masked": placed(masked, score)} for score in SCORES}
    rows = [
        [f"`{score}`", *(text for one in both.values() for text in shown(one)), f"{both['masked']['chance']:.1f}"]
        for score, both in scores.items()
    ]
    print(*rows, sep="\n")
    if tuple(states) == MEASURED:
        ratios = [one["distortion"][0] for one in figures.values()]
        record(
            "group_hidden",
            "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/group_hidden.py",
            {
                "states": len(states),
                "masked": sum(one["masked"] for one in figures.values()),
                "valid": sum(one["valid"][0] for one in figures.values()),
                "median_distortion": float(np.median(ratios)),
                "within_target": sum(one <= 1.6 for one in ratios),
                "signals": next(iter(figures.values()))["signals"],
                "others_none": sum(not one["others_fail"][2] for one in figures.values()),
                "others_most": max(one["others_fail"][2] for one in figures.values()),
                "scores": scores,
                "own": figures,
                "table": {"heads": HEADS, "rows": rows},
                "costs": {"heads": COSTS, "rows": [cost_row(*each) for each in figures.items()]},
            },
        )


def shown(one: Mapping[str, float]) -> list[str]:
    return [f"{one['auc']:.2f}", f"{one['deviation']:.1f}", f"{one['first']:.0f}"]


def cost_row(state: str, one: Mapping[str, Any]) -> list[str]:
    swaps = ", ".join(map(str, one["swaps"]))
    masked = f"{one['masked']} of {one['places']}"
    fail, others = (" → ".join(map(str, one[name])) for name in ("fail", "others_fail"))
    return [
        STATES[state],
        masked,
        swaps,
        fail,
        others,
        f"{one['distortion'][0]:.2f}",
        "yes" if one["valid"][0] else "no",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", nargs="+", default=MEASURED)
    main(parser.parse_args().states)
