"""Expected anonymity the plain way, all pairs at once, and small tables with duplicates and ties."""

import numpy as np
from hypothesis import strategies as st
from scipy.special import ndtr

from workers.algorithms.uncertain.calibration.state import Calibrated


def anonymity(x: np.ndarray, scale: np.ndarray, model: str, axes: np.ndarray | None, unit: np.ndarray) -> np.ndarray:
    """AG eqs. 8 and 15 for every record among all of x, each with its own scales (rows of `scale`)."""
    w = x[None, :, :] - x[:, None, :]
    if axes is not None:
        w = np.einsum("iaj,ikj->ika", axes, w / unit)
    same = (x[None, :, :] == x[:, None, :]).all(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.where(w == 0.0, 0.0, np.abs(w) / scale[:, None, :])
    p = ndtr(-0.5 * np.sqrt((e * e).sum(axis=2))) if model == "gaussian" else np.maximum(1.0 - e, 0.0).prod(axis=2)
    return np.asarray(np.where(same, 1.0, p).sum(axis=1))


def of(x: np.ndarray, calibrated: Calibrated, members: np.ndarray | None = None) -> np.ndarray:
    """Expected anonymity of kept records (or those at `members` among them) among one another."""
    chosen = np.arange(len(calibrated.rows)) if members is None else members
    axes = None if calibrated.axes is None else calibrated.axes[chosen]
    return anonymity(x[calibrated.rows[chosen]], calibrated.scale[chosen], calibrated.model, axes, calibrated.unit)


def groups(calibrated: Calibrated) -> list[np.ndarray]:
    """Kept records by published scale and shape: what an adversary can match."""
    shape = (
        calibrated.scale
        if calibrated.axes is None
        else np.c_[calibrated.scale, calibrated.axes.reshape(len(calibrated.scale), -1)]
    )
    _, label = np.unique(shape, axis=0, return_inverse=True)
    return [np.flatnonzero(label == each) for each in range(label.max() + 1)]


@st.composite
def tables(draw: st.DrawFn, least: int = 2) -> np.ndarray:
    rows, columns = draw(st.integers(least, 30)), draw(st.integers(1, 4))
    cell = draw(
        st.sampled_from([st.integers(0, 2), st.integers(-50, 50), st.floats(-1e6, 1e6).map(lambda v: round(v, 3))])
    )
    flat = draw(st.lists(cell, min_size=rows * columns, max_size=rows * columns))
    return np.array(flat, dtype=np.float64).reshape(rows, columns)


def mixture(rows: int, columns: int = 3, seed: int = 1) -> np.ndarray:
    """Clusters of different density, with a few records on their own."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, rows)
    spread = np.array([0.1, 0.3, 1.0, 3.0])[label][:, None]
    return np.asarray(rng.normal(size=(4, columns))[label] * 4.0 + rng.normal(size=(rows, columns)) * spread)
