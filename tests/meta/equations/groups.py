"""Equations of groups: signals, rules, swaps and their profile."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.stats import t as student

from tests.algorithms.groups.test_telling import profile
from tests.meta.equations.drawn import Drawn, Evaluated, check
from workers.algorithms.groups.memetic.board import Goal, Parts
from workers.algorithms.groups.memetic.kernels import product_fitness
from workers.algorithms.groups.rules.rules import metrics
from workers.algorithms.groups.signals.adequacy import from_counts
from workers.algorithms.groups.signals.criteria import Judge
from workers.algorithms.groups.signals.evidence import least_evidence, log_bayes_factors
from workers.algorithms.groups.signals.outliers import grubbs, tau, thompson_tau
from workers.algorithms.groups.signals.portraits import averaged
from workers.algorithms.groups.signals.telling import telling
from workers.algorithms.groups.swaps.metric import Metric, encode, influence


def thompson(draw: np.random.Generator) -> Drawn:
    m, alpha = int(draw.integers(3, 200)), float(draw.uniform(0.001, 0.2))
    return Drawn({"tau": tau(m, alpha), "t": student.ppf(1.0 - alpha / 2.0, m - 2), "m": m})


def spread_of_robust(draw: np.random.Generator) -> Drawn:
    """By the least distance from the median at which the largest element goes."""
    number = int(draw.integers(20, 60))
    values = np.arange(number) + draw.uniform(0.0, 1.0, number)
    half = values[: (number + 1) // 2], values[number // 2 :]
    low, high = float(np.median(values)), 10.0 * number
    for _ in range(80):
        values[-1] = 0.5 * (low + high)
        low, high = (low, values[-1]) if thompson_tau(values, alpha=0.001, robust=True).order else (values[-1], high)
    iqr = float(np.median(half[1]) - np.median(half[0]))
    return Drawn({"IQR": iqr}, (high - float(np.median(values))) / tau(number, 0.001))


def level_of(test: Callable[[int, float], float], m: int, alpha: float) -> Drawn:
    """Tail beyond the t that is in the critical value of a test."""
    share = (test(m, alpha) * np.sqrt(m) / (m - 1)) ** 2  # t^2 / (m - 2 + t^2)
    return Drawn({"alpha": alpha, "m": m}, student.sf(np.sqrt(share * (m - 2) / (1.0 - share)), m - 2))


def level_of_thompson(draw: np.random.Generator) -> Drawn:
    return level_of(tau, int(draw.integers(3, 200)), float(draw.uniform(0.001, 0.2)))


def level_of_grubbs(draw: np.random.Generator) -> Drawn:
    return level_of(grubbs, int(draw.integers(3, 200)), float(draw.uniform(0.001, 0.2)))


def lost_level(draw: np.random.Generator) -> Drawn:
    """A level of which the upper tail has nothing left, though the critical value follows from it."""
    alpha = float(10.0 ** draw.uniform(-20.0, -17.0))
    check("alpha / 2", level_of(tau, int(draw.integers(20, 200)), alpha))
    return Drawn({"alpha": alpha}, 1.0, close=0.0, zero=0.0)


def rules(draw: np.random.Generator) -> Drawn:
    sums = draw.gamma(1.0, 10.0, (20, 2))
    made = metrics(sums, records=1000, vital=300, guard=0.0)
    names = {"DF": made.discriminative_factor, "RCF": made.relative_confidence_factor, "fitness": made.fitness}
    names |= {"support": made.support, "coverage": made.coverage}
    return Drawn(names)


def adequacy(draw: np.random.Generator) -> Drawn:
    counts = {name: int(draw.integers(1, 60)) for name in ("TP", "FP", "FN", "TN")}
    judged = from_counts(*counts.values())
    return Drawn({**counts, "m": sum(counts.values()), "PA": judged.prediction_accuracy, "J": judged.markedness})


def priors(draw: np.random.Generator) -> Drawn:
    """All that are tried, among them the least."""
    counts = {name: int(draw.integers(1, 30)) for name in ("TP", "FP", "FN", "TN")}
    grid, least = log_bayes_factors(*counts.values()), least_evidence(*counts.values())
    np.testing.assert_allclose([grid[least.t1, least.t2], least.mb], grid.min(), rtol=1e-9)
    return Drawn({**counts, "t1": np.arange(grid.shape[0]), "t2": np.arange(grid.shape[1])})


def distortion(draw: np.random.Generator) -> Drawn:
    omega, gamma = draw.lognormal(0, 1, 3), draw.lognormal(0, 1, 4)
    ordinal, codes = draw.normal(0, 10, (2, 3)), draw.integers(0, 2, (2, 4))
    metric = Metric(tuple(omega), tuple(gamma))
    encoded = encode(metric, ordinal, codes)
    names = {"omega": omega, "gamma": gamma, "r": ordinal[0], "r_other": ordinal[1], "differ": codes[0] != codes[1]}
    return Drawn({**names, "InfM": influence(metric, encoded[:1], encoded[1:])[0, 0]})


def fitness_of(distortions: np.ndarray, needed: int, most: float) -> float:
    """Of swaps by which nothing is masked: cost and number count alone."""
    none = np.zeros(len(distortions), dtype=np.int32)
    unbound, one = np.full((1, 1), -1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    starts = np.array([0, 1], dtype=np.int64)
    parts = Parts(one, one, one, starts, starts, np.ones(1))
    goal = Goal(
        np.full((1, 1), 99, dtype=np.int64), unbound, unbound, np.zeros((1, 1), dtype=np.int64), 0,
        np.full(1, 99, dtype=np.int64), unbound[0], unbound[0], needed, most,
    )  # fmt: skip
    return float(product_fitness(parts, goal, none, none, distortions))


def number_of_swaps(draw: np.random.Generator) -> Drawn:
    needed, number = int(draw.integers(1, 40)), int(draw.integers(0, 80))
    return Drawn({"Psi": fitness_of(np.zeros(number), needed, 1.0), "Q": number, "Q_need": needed})


def cost_of_swaps(draw: np.random.Generator) -> Drawn:
    distortions, most = draw.gamma(1.0, 1.0, int(draw.integers(1, 60))), float(draw.uniform(10.0, 80.0))
    y = fitness_of(distortions, 500, most)  # so many are needed that their number counts nothing
    return Drawn({"Y": y, "InfM": distortions, "C_max": most})


def excess_with_goals(draw: np.random.Generator) -> Drawn:
    made, parameter = profile(int(draw.integers(2**31)))
    judged = telling(made, Judge((0, 5, 9), (), 0.01, True, True), np.bincount(parameter, minlength=26))
    counted = made.counted(parameter, 26)
    q = judged.spread(counted)
    goals = np.clip(q + draw.normal(0, 0.3, q.shape), 0.0, 1.0)
    computed = replace(judged, goals=goals).excess(counted)
    return Drawn({"excess": judged.excess(counted), "q_gi": q, "zeta_gi": goals, "M": 3}, computed)


def ranks_of_a_portrait(draw: np.random.Generator) -> Drawn:
    """Of counts that each are one signal, whose means are over it alone."""
    n = int(draw.integers(2, 40))
    ranks = np.array([draw.permutation(n) + 1.0 for _ in range(3)])
    return Drawn({"r_s": ranks, "n": n, "u_s": averaged(ranks, np.arange(3))})


def near_members(draw: np.random.Generator) -> Drawn:
    """Of each grade below that of the members."""
    made, parameter = profile(int(draw.integers(2**31)))
    by_name = {(one.name, one.alpha): one.values for one in made.profile(parameter, 26)}
    near = {alpha: values for (name, alpha), values in by_name.items() if name == "near"}
    names = {"near": np.array([*near.values()]), "members": by_name["members", 0.5]}
    return Drawn(names, np.array([by_name["near_ratio", alpha] for alpha in near]))


EVALUATED: Final[Evaluated] = {
    "tau =": thompson,
    "IQR / 1.349": spread_of_robust,
    "alpha / 2": level_of_thompson,
    "alpha / (2 m)": level_of_grubbs,
    "1 - alpha / 2": lost_level,
    "DF =": rules,
    "fitness =": rules,
    "PA =": adequacy,
    "J =": adequacy,
    "0 <= t1 <= TP + FP": priors,
    "0 <= t2 <= FN + TN": priors,
    "InfM(r, r*) =": distortion,
    "Psi =": number_of_swaps,
    "Y =": cost_of_swaps,
    "excess + sum_g max(0, sqrt(12 M) mean_i |q_gi - zeta_gi| - 1/2)"
    " + sum_g max(0, sqrt(12 M) |mean_i (q_gi - zeta_gi)| - 1/10)": excess_with_goals,
    "near / (members + 5)": near_members,
    "u_s = (r_s - 1/2) / n": ranks_of_a_portrait,
}
