"""Equations of boxes: half-widths, cuts, dismissal and weights."""

from typing import Final

import numpy as np
from scipy.optimize import brentq

from surebox_core.influence import derivatives, influence_deviations, influence_squares, influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic
from surebox_verify.boxes import PublishedBoxes
from surebox_verify.disclosure import value_intervals
from tests.algorithms.boxes import test_core as boxes_of_a_core
from tests.algorithms.boxes.test_diverse_gain import predicted_cost
from tests.meta.equations.drawn import Drawn, Evaluated, check, printed, right_side
from tests.meta.printed_arithmetic import sides, value
from workers.algorithms.boxes.half_widths import asymptotic_half_widths, densest
from workers.algorithms.boxes.partition.constraints.l_diversity import spread
from workers.algorithms.boxes.rare.balance import prices, weigh, weigh_any
from workers.algorithms.boxes.rare.dismissal import dismiss
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.uncertainty import record_delta


def half_widths(draw: np.random.Generator) -> Drawn:
    n, k, rho = int(draw.integers(1, 5)), int(draw.integers(2, 50)), float(draw.lognormal(0, 3))
    a = draw.lognormal(0, 2, n)
    half = asymptotic_half_widths(k, np.log([rho]), a[None])[0]
    return Drawn({"c": half * a, "D_i": half, "k": k, "a_j": a, "rho": rho, "n": n})


def half_widths_on_whole_numbers(draw: np.random.Generator) -> Drawn:
    """The bound where it is attained."""
    n, k, f = int(draw.integers(1, 5)), int(draw.integers(2, 50)), int(draw.integers(1, 20))
    a, h = draw.lognormal(0, 2, n), draw.lognormal(0, 1, n)
    x = np.vstack([np.ones((f, n)), 2.0 + np.arange(3)[:, None] * np.ones(n)]) * h
    log_rho = densest(x, np.ones(n, dtype=np.bool_), h)[:1]
    c = asymptotic_half_widths(k, log_rho, a[None])[0] * a
    return Drawn({"c": c, "k": k, "f": f, "h_j": h, "a_j": a, "n": n})


def values_left(draw: np.random.Generator) -> Drawn:
    """Values that the means of a box leave."""
    n, members = int(draw.integers(1, 6)), draw.normal(size=6)
    x, off = members[:n], draw.exponential(size=2) / 3
    low, high, mean = x.min() - off[1], x.max() + off[1], x.mean()
    means = np.array([[mean - off[0]]]), np.array([[mean + off[0]]])
    left = value_intervals(PublishedBoxes(np.array([[low]]), np.array([[high]]), np.array([n]), means=means), 0)
    names = {"m": low, "M": high, "s": n * means[0][0, 0], "S": n * means[1][0, 0], "n": n}
    return Drawn({**names, "x_least": left[0][0], "x_most": left[1][0]}, close=1e-8, zero=1e-8)


def diverse(draw: np.random.Generator, *, crowded: bool = False) -> Drawn:
    """Half-widths with l values; `crowded`: where all columns at their least leave k records and more."""
    n, k, l = int(draw.integers(1, 5)), int(draw.integers(2, 50)), int(draw.integers(2, 5))  # noqa: E741
    a, eps = draw.lognormal(0, 1, n), draw.lognormal(0, 1, n)
    rho = k / float(l**n * eps.prod()) * float(draw.uniform(1.0, 9.0) if crowded else draw.uniform(0.01, 0.9))
    half = asymptotic_half_widths(k, np.log([rho]), a[None], l * eps / 2)[0]
    m = float((a * half).min())
    if not crowded:
        check(VOLUME, Drawn({"rho": rho, "n": n, "D_i": half, "k": k}))
    return Drawn({"D_i": half, "l": l, "eps_i": eps, "a_i": a, "m": m, "Delta": float(a @ half)}, attained=crowded)


def all_clamped(draw: np.random.Generator) -> Drawn:
    return diverse(draw, crowded=True)


def apart(draw: np.random.Generator) -> Drawn:
    """The least span of l values of which each two are eps apart."""
    l, eps = int(draw.integers(2, 9)), float(draw.integers(1, 99)) / 8.0  # noqa: E741
    values = eps * np.arange(l)
    assert spread(values, eps, l) == l
    assert spread(np.linspace(0.0, np.nextafter(values[-1], 0.0), 10 * l + 1), eps, l) < l
    return Drawn({"l": l, "eps": eps}, float(values[-1]))


def clamped_half_widths(draw: np.random.Generator) -> None:
    """The smallest of the sums of all admissible numbers of clamped columns is what the code finds."""
    n, k, l = int(draw.integers(1, 5)), int(draw.integers(2, 50)), int(draw.integers(2, 5))  # noqa: E741
    a, eps, rho = draw.lognormal(0, 1, n), draw.lognormal(0, 1, n), float(draw.lognormal(0, 1))
    rho = min(rho, 0.9 * k / float(l**n * eps.prod()))  # the volume of all least half-widths has fewer than k records
    order = np.argsort(-a * eps)
    a, eps = a[order], eps[order]
    first, last = right_side("t =").split(" .. ")
    widths = {}
    for t in range(int(value(first, {})), int(value(last, {"n": n})) + 1):
        names = {"k": k, "l": l, "rho": rho, "n": n, "t": t, "a_i": a, "eps_i": eps}
        names |= {"c_t": value(right_side("c_t ="), names), "a_{t+1}": a[t], "eps_{t+1}": eps[t]}
        enough, clamp = sides(printed(ADMITTED).removeprefix("admissible where "), names)
        if enough >= clamp:
            clamped = value(right_side(CLAMPED), names)
            widths[value(right_side("Delta(t) ="), names)] = np.where(np.arange(n) < t, clamped, names["c_t"] / a)
    computed = asymptotic_half_widths(k, np.log([rho]), a[None], l * eps / 2)[0]
    np.testing.assert_allclose(computed, widths[min(widths)], rtol=1e-9)
    np.testing.assert_allclose(a @ computed, min(widths), rtol=1e-9)


def predicted_widths(draw: np.random.Generator) -> None:
    """Compare the cost of a side of m records with boxes of the printed widths; without u these meet the volume."""
    n, k, l = int(draw.integers(1, 5)), int(draw.integers(2, 12)), int(draw.integers(2, 5))  # noqa: E741
    m = int(k * draw.integers(2, 60) + draw.integers(0, k))
    a, width = draw.lognormal(0, 1, n), draw.lognormal(0, 1, n)
    eps = width * draw.choice([0.0, 0.01, 0.2, 0.7, 1.5], n) / (l - 1)
    names = {"a_i": a, "w_i": width, "eps_i": eps, "l": l, "k": k, "m": m}
    names["e_i"] = value(right_side("e_i ="), names)

    def excess(log_t: float) -> float:
        unshrunk = value(right_side("d_i ="), {**names, "t": np.exp(log_t), "u": 1.0})
        return float(np.log(unshrunk / width).sum() + np.log(m // k))

    low, high = np.log(1e-12), np.log((a * width).max())
    over = bool(eps.all()) and excess(low) >= 0.0  # the clamps alone exceed the volume
    names |= {"t": 0.0 if over else np.exp(brentq(excess, low, high, xtol=1e-14)), "u": value(right_side("u ="), names)}
    cost = m * float(a @ value(right_side("d_i ="), names))
    np.testing.assert_allclose(predicted_cost(a, width, (l - 1) * eps, m, k), cost, rtol=1e-9)


def privacy_uncertainty(draw: np.random.Generator) -> Drawn:
    x = draw.normal(size=(int(draw.integers(5, 40)), 2)) * draw.lognormal(0, 1, 2)
    half = draw.lognormal(0, 1, x.shape)
    boxes = Boxes(
        x - half,
        x + half,
        np.ones(len(x), dtype=np.int64),
        np.arange(len(x), dtype=np.int32),
        np.zeros(2, dtype=np.bool_),
    )
    made = influences((Statistic("covariance", (0, 1), 1.0),), moments(x))
    b = (x - x.mean(axis=0))[:, ::-1]
    delta = float(record_delta(made, x, boxes, 0, len(x))[0])
    names = {"Delta": delta, "slope": b / len(x), "a_i": abs(b), "D_i": half, "N": len(x)}
    return Drawn(names, close=1e-6)


def correlated(draw: np.random.Generator) -> np.ndarray:
    return np.asarray(draw.normal(size=(int(draw.integers(5, 40)), 2)) @ draw.normal(size=(2, 2)))


def derivative_of(x: np.ndarray, statistic: Statistic) -> Drawn:
    names = {"x_i": x[:, 0], "x_j": x[:, 1], "E_i": x[:, 0].mean(), "E_j": x[:, 1].mean()}
    names |= {"C_ij": np.cov(x.T, ddof=0)[0, 1], "sigma_i": x[:, 0].std(), "sigma_j": x[:, 1].std()}
    return Drawn(names, derivatives(influences((statistic,), moments(x)), 0, x)[:, 0], zero=1e-9)


def derivative_of_variance(draw: np.random.Generator) -> Drawn:
    return derivative_of(correlated(draw), Statistic("variance", (0,), 1.0))


def derivative_of_correlation(draw: np.random.Generator) -> Drawn:
    return derivative_of(correlated(draw), Statistic("correlation", (0, 1), 1.0))


def deviation_of_variance(draw: np.random.Generator) -> Drawn:
    """Of its influence function."""
    x = draw.gamma(1.0, 1.0, (int(draw.integers(5, 200)), 1))
    field = influences((Statistic("variance", (0,), 1.0),), moments(x))
    deviation = influence_deviations(influence_squares(field, x), len(x))[0]
    return Drawn({"m4": ((x - x.mean()) ** 4).mean(), "V": x.var()}, deviation)


def rare_boxes(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    number = int(draw.integers(3, 30))
    g = np.append(draw.gamma(1.0, 2.0, number), 1e6)  # the last is left out always
    return g, draw.integers(2, 9, number + 1), float(draw.lognormal(1, 1))


def dismissal(draw: np.random.Generator) -> Drawn:
    g, counts, statistical = rare_boxes(draw)
    made = dismiss(g, counts, statistical=statistical)
    kept = np.repeat(g[made.kept], counts[made.kept])
    return Drawn({"#S": len(kept), "g": kept, "A": statistical}, made.objective)


def weights(draw: np.random.Generator) -> Drawn:
    """Of all records; M and the sums of K and lambda are over those of positive weight."""
    g, counts, statistical = rare_boxes(draw)
    made = weigh(g, counts, statistical=statistical)
    w, per_record = np.repeat(made.weights, counts), np.repeat(g, counts)
    some = float((w[w > 0] / (made.optimum - per_record[w > 0]))[0])
    return Drawn({"w": w, "g": per_record, "A": statistical, "lambda": made.optimum, "K": some}, made.optimum, 1e-7)


def weights_alone(draw: np.random.Generator) -> Drawn:
    return Drawn({"w": weights(draw).names["w"]})


def least_weight(draw: np.random.Generator) -> Drawn:
    return Drawn({"w": weights(draw).names["w"].min()})


def weighed(draw: np.random.Generator) -> Drawn:
    names = dict(weights(draw).names)
    names["g"] = names["g"][names["w"] > 0]
    size = float((names["g"] ** 2).sum()) + names["A"] ** 2
    return Drawn({**names, "M": len(names["g"])}, close=1e-7, zero=1e-9 * size)


def core_with_shift(draw: np.random.Generator) -> Drawn:
    points, counts, g = boxes_of_a_core.table(int(draw.integers(2**31)), int(draw.integers(5, 12)))
    statistical = float(draw.uniform(0.5, 4.0))
    made, core = boxes_of_a_core.core_of(points, counts, g, statistical)
    kept = core.kept
    names = {"J": core.objective, "#S": counts[kept].sum(), "g": np.repeat(g[kept], counts[kept]), "A": statistical}
    names |= {"omega_C": made.omega, "C_all": boxes_of_a_core.values(points, counts)}
    return Drawn({**names, "C_kept": boxes_of_a_core.values(points[kept], counts[kept])})


def weights_with_shift(draw: np.random.Generator, statistics: int = 3) -> Drawn:
    """The least objective is the lambda of the prices."""
    g, counts, statistical = rare_boxes(draw)
    influence = draw.normal(0.0, 2.0, (len(g), statistics))
    influence -= counts @ influence / counts.sum()
    omega = draw.lognormal(0.0, 1.0, statistics)
    u = prices(g, influence, omega, counts, statistical=statistical)
    made = weigh_any(g + influence @ u, counts, statistical=statistical)
    w, per_record = np.repeat(made.weights, counts), np.repeat(g, counts)
    names = {"w": w, "g": per_record, "A": statistical, "lambda": made.optimum, "u": u, "omega_C": omega}
    return Drawn({**names, "IF_C": np.repeat(influence, counts, axis=0).T}, made.optimum, close=5e-3)


def priced_weights(draw: np.random.Generator) -> Drawn:
    """Of one statistic, so that there is one price; K is of the costs with it."""
    names = dict(weights_with_shift(draw, 1).names)
    names |= {"IF": names["IF_C"][0], "u": float(names["u"][0])}
    cost = (names["g"] + names["IF"] * names["u"])[names["w"] > 0]
    names["K"] = value(right_side("K ="), {"M": len(cost), "lambda": names["lambda"], "g": cost})
    return Drawn(names, names["w"], close=1e-7)


ADMITTED: Final = "admissible where 2 c_t / l >="
CLAMPED: Final = "D_i = l eps_i / 2"
VOLUME: Final = "rho(x) 2^n prod D_i = k"
EVALUATED: Final[Evaluated] = {
    "c(x) =": half_widths,
    VOLUME: half_widths,
    "c(x) >=": half_widths_on_whole_numbers,
    "x_least =": values_left,
    "x_most =": values_left,
    "D_i >= l eps_i / 2": all_clamped,
    "D_i = max(l eps_i / 2, m / a_i)": diverse,
    "Delta = l/2 sum a_i eps_i": all_clamped,
    "(l - 1) eps": apart,
    "Delta =": privacy_uncertainty,
    "2 (x_i - E_i)": derivative_of_variance,
    "[(x_j - E_j) - (C_ij / sigma_i^2)(x_i - E_i)] / (sigma_i sigma_j)": derivative_of_correlation,
    "sqrt(m4 - V^2)": deviation_of_variance,
    "(1/#S) sum_S g + A / sqrt(#S)": dismissal,
    "sum w g + A sqrt(sum w^2)": weights,
    "sum w =": weights_alone,
    "w >=": least_weight,
    "w =": weights,
    "K =": weighed,
    "M lambda^2 - 2 lambda sum g + sum g^2 - A^2 =": weighed,
    "J(S) =": core_with_shift,
    "sum w g + A sqrt(sum w^2) + sum_C omega_C |sum w IF_C|": weights_with_shift,
    "max(K (lambda - g - IF u), 0)": priced_weights,
}
#: Equations that are one computation together.
TOGETHER: Final = {
    ("c_t =", ADMITTED, "Delta(t) =", "t =", CLAMPED): clamped_half_widths,
    ("e_i =", "u =", "d_i ="): predicted_widths,
}
