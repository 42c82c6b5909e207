"""Equations of the measures of a table: diversity and closeness of its classes, risks, special uniques, sums."""

from typing import Any, Final

import numpy as np

from surebox_core.types import FloatArray, IntArray
from tests.meta.equations.drawn import right_side
from tests.meta.printed_arithmetic import value
from workers.algorithms.tables.classes import grouped
from workers.algorithms.tables.closeness import Closeness, closeness, recursive_c
from workers.algorithms.tables.magnitudes import sensitive_cells
from workers.algorithms.tables.matching import Histograms, histograms
from workers.algorithms.tables.population import alone_probability, population_uniques
from workers.algorithms.tables.risk import journalist, marketer, prosecutor
from workers.algorithms.tables.special_uniques import intrusion, record_risks, weight


def two_classes(draw: np.random.Generator) -> tuple[Closeness, FloatArray, FloatArray, IntArray, Histograms]:
    """Measures of two classes without missing values, shares of the first and of all, counts."""
    values = int(draw.integers(3, 7))
    one, other = (draw.integers(1, 12, values) for _ in range(2))
    codes = np.repeat(np.arange(values), one), np.repeat(np.arange(values), other)
    of_class = np.repeat([0, 1], [len(each) for each in codes])
    held = histograms(grouped(of_class), np.concatenate(codes))
    whole = (one + other) / (one.sum() + other.sum())
    return closeness([held], whole, 2), one / one.sum(), whole, one, held


def of_a_class(draw: np.random.Generator) -> None:
    made, p, q, _, _ = two_classes(draw)
    names = {"p_v": p, "q_v": q, "g_v": p, "P_v": np.cumsum(p), "Q_v": np.cumsum(q), "m": len(p)}
    for start, computed in (
        ("alpha_g =", made.top[0]), ("l_entropy =", np.exp(made.entropy[0])), ("t_equal =", made.equal[0]),
        ("t_ordered =", made.ordered[0]), ("delta_g =", made.delta[0]), ("beta_g =", made.beta[0]),
    ):  # fmt: skip
        np.testing.assert_allclose(value(right_side(start), names), computed, rtol=1e-9, atol=1e-12)


def recursive(draw: np.random.Generator) -> None:
    """The largest of both classes, each of whose counts are in descending order."""
    *_, held = two_classes(draw)
    least = int(draw.integers(2, 4))
    counts = [np.sort(held.count[held.start[g] : held.start[g + 1]])[::-1].astype(float) for g in range(2)]
    each = [value(right_side("c_least ="), {"r_1": count[0], "r_i": count, "t": least - 1}) for count in counts]
    np.testing.assert_allclose(max(each), recursive_c([held], least), rtol=1e-12)


def risks(draw: np.random.Generator) -> None:
    size = draw.integers(1, 9, int(draw.integers(2, 20)))
    people = size * draw.uniform(1.0, 20.0, len(size))
    names = {"n_g": size, "F_g": people, "N": size.sum()}
    least = {"prosecutor": prosecutor(size, size, 0.1), "journalist": journalist(size, size, people, 0.1)}
    for who, risk in least.items():
        np.testing.assert_allclose(np.max(value(right_side(f"r_{who} ="), names)), risk.highest, rtol=1e-12)
    expected = value(right_side("r_marketer ="), names)
    np.testing.assert_allclose(expected, marketer(size, size, people, 0.1).average, rtol=1e-12)


def special(draw: np.random.Generator) -> None:
    d = int(draw.integers(3, 9))
    s = int(draw.integers(1, d))
    names: dict[str, Any] = {"d": d, "i": np.arange(s, d)}
    np.testing.assert_allclose(value(right_side("score_s ="), names), weight(s, d, d), rtol=1e-12)
    alone, pairs, f = int(draw.integers(1, 9)), int(draw.integers(0, 9)), float(draw.uniform(0.01, 0.9))
    size = np.array([1] * alone + [2] * pairs + [5])
    names |= {"U": alone, "P": 2 * pairs, "f": f}
    names["DIS"] = value(right_side("DIS ="), names)
    np.testing.assert_allclose(names["DIS"], np.float64(intrusion(size, f) or np.nan), rtol=1e-12)
    scores = draw.integers(1, 40, alone).astype(float)
    names["h"] = value(right_side("h ="), names)
    computed = record_risks(np.append(scores, 0.0), size, f, d)
    for place, score in enumerate(scores):
        of_record = value(right_side("r_suda ="), names | {"score": score, "score_j": scores})
        np.testing.assert_allclose(of_record, computed[place], rtol=1e-9)


def population(draw: np.random.Generator) -> None:
    people, theta, alpha = int(draw.integers(20, 400)), float(draw.uniform(0.1, 30.0)), float(draw.uniform(0.01, 0.9))
    names = {"theta": theta, "alpha": alpha, "i": np.arange(1, people)}
    np.testing.assert_allclose(value(right_side("pitman ="), names), alone_probability(theta, alpha, people), rtol=1e-7)
    size, number = np.array([1, 2, 4]), draw.integers(2, 9, 3)
    n = int((size * number).sum())
    fraction = float(draw.uniform(0.1, 0.6))
    whole = max(round(n / fraction), n)
    h = np.array([value(right_side("H_j ="), {"j": j, "N": whole, "n": n}) for j in size])
    chance = value(right_side("zayatz ="), {"c_1": number[0], "H_1": h[0], "c_j": number, "H_j": h})
    estimate = population_uniques(size, number, fraction).zayatz
    np.testing.assert_allclose(min(number[0] * chance * whole / n, whole), np.float64(estimate or np.nan), rtol=1e-7)


def cell(draw: np.random.Generator) -> None:
    given = np.sort(draw.uniform(0.1, 50.0, int(draw.integers(3, 9))))[::-1]
    largest = int(draw.integers(1, 3))
    computed = sensitive_cells(np.zeros(len(given), np.int64), np.arange(len(given)), given, largest=largest)
    names = {"X": given.sum(), "x_1": given[0], "x_2": given[1], "x_i": given, "t": largest}
    np.testing.assert_allclose(value(right_side("p_cell ="), names), 100 * computed.remainder[0], rtol=1e-9)
    np.testing.assert_allclose(value(right_side("k_cell ="), names), 100 * computed.share[0], rtol=1e-9)


#: Equations that are one computation together.
TOGETHER: Final = {
    ("alpha_g =", "l_entropy =", "t_equal =", "t_ordered =", "delta_g =", "beta_g ="): of_a_class,
    ("c_least =",): recursive,
    ("r_prosecutor =", "r_journalist =", "r_marketer ="): risks,
    ("score_s =", "DIS =", "h =", "r_suda ="): special,
    ("pitman =", "H_j =", "zayatz ="): population,
    ("p_cell =", "k_cell ="): cell,
}
