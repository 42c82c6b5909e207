"""Several releases attacked jointly, against candidates that are counted one by one."""

import math

import numpy as np
import pytest

from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.linkage.several import Groups, Noisy, attack

RECORDS = 60


def log_density(model: str, z: np.ndarray, scale: np.ndarray, x: np.ndarray) -> float:
    """Up to the density's constant."""
    if np.isnan(x).any():
        return -math.inf
    if model == "gaussian":
        return -sum((a - b) ** 2 / (2 * s * s) for a, b, s in zip(x, z, scale, strict=True))
    return 0.0 if all(abs(a - b) <= s / 2 for a, b, s in zip(x, z, scale, strict=True)) else -math.inf


@pytest.mark.parametrize("seed", range(4))
def test_candidates_share_all_boxes_and_are_ranked_by_all_noisy_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (RECORDS, 3)).astype(float)  # many records alike
    x[:5, 2] = np.nan
    group, known = rng.integers(0, 4, RECORDS), rng.random(RECORDS) < 0.8
    noisy, releases = [], []
    for model, columns in (("gaussian", [0, 1]), ("uniform", [1, 2])):
        values = x[:, columns]
        behind = rng.permutation(np.flatnonzero(~np.isnan(values).any(axis=1)))[:40]
        scale = rng.uniform(1, 3, (40, 2))
        noise = rng.normal(size=(40, 2)) if model == "gaussian" else rng.uniform(-0.5, 0.5, (40, 2))
        z = values[behind] + noise * scale
        row = np.full(RECORDS, -1)
        row[behind] = np.arange(40)
        noisy.append(Noisy(Densities(model, z, scale, None, np.ones(2)), row, values))
        releases.append((model, z, scale, row, values))
    tried = np.flatnonzero(known)
    linkage = attack(noisy, Groups.of(group, known), tried)
    for place, i in enumerate(tried):
        fits = {}
        for j in tried:
            if group[j] == group[i]:
                fits[j] = sum(log_density(m, z[r[i]], s[r[i]], v[j]) for m, z, s, r, v in releases if r[i] >= 0)
        assert linkage.rank[place] == sum(fit >= fits[i] - 1e-12 for fit in fits.values())
        weights = {j: math.exp(fit) for j, fit in fits.items()}
        assert linkage.posterior[place] == pytest.approx(weights[i] / sum(weights.values()))
        assert linkage.best[place] == pytest.approx(max(weights.values()) / sum(weights.values()))
        assert linkage.right[place] == (fits[i] >= max(fits.values()) - 1e-12)


def test_boxes_alone_leave_their_records_and_one_box_leaves_all() -> None:
    group = np.array([0, 0, 0, 1, 1])
    linkage = attack([], Groups.of(group, np.ones(5, bool)), np.arange(5))
    assert linkage.rank.tolist() == [3, 3, 3, 2, 2]
    assert linkage.posterior.tolist() == pytest.approx([1 / 3] * 3 + [1 / 2] * 2)
