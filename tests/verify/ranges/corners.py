"""All ways to divide the records of few boxes among the corners, and the moments they have."""

import itertools

import numpy as np


def corner_splits(counts: np.ndarray) -> list[np.ndarray]:
    """Every way of dividing the records of each box among its four corners, as shares (B, 4)."""
    ways = [[w for w in itertools.product(range(c + 1), repeat=4) if sum(w) == c] for c in counts]
    return [np.array(each, dtype=float) / counts.sum() for each in itertools.product(*ways)]


def moments_at_corners(lower: np.ndarray, upper: np.ndarray, splits: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    x = np.stack([lower[:, 0], lower[:, 0], upper[:, 0], upper[:, 0]], axis=1)
    y = np.stack([lower[:, 1], upper[:, 1], lower[:, 1], upper[:, 1]], axis=1)
    share = np.array(splits)
    mean_x, mean_y = (share * x).sum(axis=(1, 2)), (share * y).sum(axis=(1, 2))
    u, v = x - mean_x[:, None, None], y - mean_y[:, None, None]
    return (share * u * v).sum(axis=(1, 2)), (share * u * u).sum(axis=(1, 2)), (share * v * v).sum(axis=(1, 2))
