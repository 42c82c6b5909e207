"""Where records of boxes are to be expected, the slow way: every box against every bin, as science says it."""

import numpy as np
import polars as pl

ROUNDS = 10


def share_of_interval(lower: np.ndarray, upper: np.ndarray, low: float, high: float, *, whole: bool) -> np.ndarray:
    """Which share of each row's interval is to be expected between two ends, by what all rows say (not tight ones)."""
    if whole:  # each whole number stands for all that round to it
        lower, upper = lower - 0.5, upper + 0.5
        low, high = np.ceil(low) - 0.5, np.floor(high) + 0.5
    edges = np.unique([lower, upper])
    if len(edges) < 2 or high < low:
        return ((low <= lower) & (upper <= high) & (low <= high)).astype(float)
    left, right = edges[:-1], edges[1:]
    inside = (lower[:, None] <= left) & (right <= upper[:, None])
    points = np.flatnonzero(lower == upper)
    inside[points, np.clip(np.searchsorted(edges, lower[points], side="right") - 1, 0, len(left) - 1)] = True
    density = (inside / (inside @ (right - left))[:, None]).mean(axis=0) * (right - left)
    for _ in range(ROUNDS):
        density = density * (inside / (inside @ density)[:, None]).mean(axis=0)
    common = np.clip(np.minimum(high, right) - np.maximum(low, left), 0.0, None) / (right - left)
    share = (inside @ (density * common)) / (inside @ density)
    share[points] = ((low <= lower) & (upper <= high))[points]
    return np.asarray(share)


def share_of_values(sets: pl.Series, wanted: set[str]) -> np.ndarray:
    """Which share of each row's set is to be expected among some values, by what all rows say; not of tight ones."""
    values = sorted({value for one in sets.to_list() for value in one})
    inside = np.array([[value in one for value in values] for one in sets.to_list()])
    density = (inside / inside.sum(axis=1, keepdims=True)).mean(axis=0)
    for _ in range(ROUNDS):
        density = density * (inside / (inside @ density)[:, None]).mean(axis=0)
    return np.asarray((inside * density) @ [value in wanted for value in values] / (inside @ density))
