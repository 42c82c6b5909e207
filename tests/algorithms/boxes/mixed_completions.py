"""Tiny tables of whole numbers whose every completion is known: all data that fit the boxes and means published."""

import math
from itertools import combinations_with_replacement, product

import numpy as np

from surebox_core.statistics import Statistic
from tests.algorithms.boxes.mixed_tables import REFUSED, Case, anonymized, with_content
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn, NumericColumn

_MOST_TABLES = 20_000  # of a box
_MOST_SUMS = 2_000_000  # of some boxes together


def tiny(seed: int) -> Case:
    """A table of one or two columns of a few whole numbers, some with a nominal one; most have means inside boxes."""
    rng = np.random.default_rng(seed + 4 * 10**6)
    n, k = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    size = int(rng.integers(k, 3 * k if n == 1 else 2 * k + 2))
    x = rng.integers(0, 5 - n, (size, n)) * rng.integers(1, 3) + rng.integers(-2, 3) + 0.0
    kinds = ["mean", "variance", "standard_deviation"]
    statistics = [Statistic(kind, (i,), 1.0) for kind in kinds for i in range(n)]  # type: ignore[arg-type]
    if n > 1:
        statistics += [Statistic("covariance", (0, 1), 1.0), Statistic("correlation", (0, 1), 1.0)]
    nominal = (NominalColumn(rng.integers(0, 2, size).astype(np.int32), 2),) if rng.random() < 0.3 else ()
    request = BoxesRequest(
        k,
        tuple(statistics),
        ("optimal", "fast", "mondrian")[seed % 3],
        ("cells", "tight", "grid")[seed // 3 % 3],
        columns=tuple(NumericColumn(1.0, 2.0) for _ in range(n)),
        nominal=nominal,
        ddof=int(rng.integers(2)),
        unlisted_column_weight=0.03,
        domains=tuple((-6.0, 12.0) if rng.random() < 0.1 else None for _ in range(n)),
    )
    return Case(x, with_content(request, n + len(nominal), rng))


def tables_of(outcome: BoxesOutcome, b: int, *, attained: bool) -> list[tuple[tuple[int, ...], ...]] | None:
    """Every table of records that a box may have, by its bounds and means; None of too many."""
    boxes, c = outcome.boxes, int(outcome.boxes.counts[b])
    sides = [range(int(low), int(high) + 1) for low, high in zip(boxes.lower[b], boxes.upper[b], strict=True)]
    rows = list(product(*sides))
    if math.comb(len(rows) + c - 1, c) > _MOST_TABLES:
        return None
    least, most = boxes.means or (np.full_like(boxes.lower, np.nan),) * 2
    sums = [
        (-math.inf, math.inf)
        if np.isnan(least[b, j])
        else (math.ceil(c * least[b, j] - 1e-6), math.floor(c * most[b, j] + 1e-6))
        for j in range(len(sides))
    ]
    tables = []
    for table in combinations_with_replacement(rows, c):
        columns = list(zip(*table, strict=True))
        if attained and any(not {side[0], side[-1]} <= set(own) for side, own in zip(sides, columns, strict=True)):
            continue
        if all(low <= sum(own) <= high for (low, high), own in zip(sums, columns, strict=True)):
            tables.append(table)
    return tables


def power_sums(table: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Sums of x, y, x^2, y^2 and xy; y is x where there is one column."""
    pairs = [(row[0], row[-1]) for row in table]
    moments = [(x, y, x * x, y * y, x * y) for x, y in pairs]
    return tuple(map(sum, zip(*moments, strict=True)))


def completions(outcome: BoxesOutcome, *, attained: bool) -> np.ndarray | None:
    """(any, 5), the power sums of all data that fit; None of too many."""
    total = np.zeros((1, 5), dtype=np.int64)
    for b in range(len(outcome.boxes.counts)):
        tables = tables_of(outcome, b, attained=attained)
        if tables is None:
            return None
        own = np.array(sorted(set(map(power_sums, tables))), dtype=np.int64)
        if len(own) * len(total) > _MOST_SUMS:
            return None
        every = (total[:, None] + own[None]).reshape(-1, 5)
        shifted = every + 2**10  # a few records of numbers below 13: power sums are below that
        code = shifted @ 2 ** (12 * np.arange(5, dtype=np.int64))
        total = every[np.unique(code, return_index=True)[1]]
    return total


def values_of(statistic: Statistic, sums: np.ndarray, count: int, ddof: int) -> np.ndarray:
    """A statistic of all completions where it is defined; O(1) operations on whole numbers below 2^53."""
    x, y, xx, yy, xy = sums.T
    if statistic.of == (1,):
        x, xx = y, yy
    if statistic.kind == "mean":
        return x / count
    spread = count * xx - x * x
    if statistic.kind in ("variance", "standard_deviation"):
        variance = spread / count / (count - ddof)
        return variance if statistic.kind == "variance" else np.sqrt(variance)
    product_ = count * xy - x * y
    if statistic.kind == "covariance":
        return product_ / count / (count - ddof)
    other = count * yy - y * y
    there = (spread > 0) & (other > 0)
    return product_[there] / np.sqrt(spread[there].astype(float) * other[there])


def check_completions(case: Case) -> int:
    """Certain ranges hold for every completion; how many there are, 0 where they are too many or it is refused."""
    try:
        outcome = anonymized(case)
    except REFUSED:
        return 0
    sums = completions(outcome, attained=case.request.bounds == "tight")
    if sums is None:
        return 0
    assert outcome.suppressed == 0
    for certificate in outcome.certificates:
        values = values_of(certificate.statistic, sums, len(case.x), case.request.ddof)
        (said,) = certificate.published
        if said.guaranteed is not None and len(values):
            assert said.guaranteed.lower - 1e-9 <= values.min(), certificate.statistic
            assert values.max() <= said.guaranteed.upper + 1e-9, certificate.statistic
    return len(sums)
