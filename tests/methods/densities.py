"""Uncertain releases read back, and what they promise computed the slow way: by numpy, over all pairs."""

import io
import math
import secrets
from typing import Any

import httpx
import numpy as np
import polars as pl
from scipy.special import erfc

from tests.methods.asking import released, upload


def upload_frame(client: httpx.Client, frame: pl.DataFrame) -> str:
    """Upload a frame as data that were never seen before: a second draw from the same bytes would be refused."""
    text = io.BytesIO()
    frame.with_columns(pl.lit(0).alias(f"nonce{secrets.token_hex(8)}")).write_csv(text)
    return str(upload(client, text.getvalue())["id"])


def statistics(client: httpx.Client, job: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The public statistics of a job's release, by kind and columns."""
    entries = client.get(f"/v1/releases/{job['release_id']}/statistics").json()["statistics"]
    return {(one["kind"], *one["of"]): one for one in entries}


def scales_of(rows: pl.DataFrame, columns: list[str]) -> np.ndarray:
    """Published scales, (M, n)."""
    return rows.select([f"{name}_scale" for name in columns]).to_numpy()


def axes_of(rows: pl.DataFrame, columns: list[str]) -> np.ndarray | None:
    """[p, i, j]: component along column j of the i-th axis of row p; None where densities are not rotated."""
    n = len(columns)
    names = [f"{column}_axis_{i + 1}" for i in range(n) for column in columns]
    return rows.select(names).to_numpy().reshape(-1, n, n) if names[0] in rows.columns else None


def along(offset: np.ndarray, scale: np.ndarray, axes: np.ndarray | None, unit: np.ndarray) -> np.ndarray:
    """Offsets (m, n) in units of the scales, along one density's axes; 0 where there is no offset."""
    turned = offset if axes is None else (offset / unit) @ axes.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(turned == 0.0, 0.0, turned / scale)


def noise(rows: pl.DataFrame, truth: np.ndarray, columns: list[str], unit: np.ndarray) -> np.ndarray:
    """What was added to the true records, in units of the scales, (M, n)."""
    offset, scale, axes = rows.select(columns).to_numpy() - truth, scales_of(rows, columns), axes_of(rows, columns)
    parts = [along(offset[i : i + 1], scale[i], None if axes is None else axes[i], unit) for i in range(len(offset))]
    return np.concatenate(parts)


def expected_anonymity(
    rows: pl.DataFrame,
    truth: np.ndarray,
    columns: list[str],
    *,
    density: str,
    unit: np.ndarray,
    by_cell: bool = False,
    subset: np.ndarray | None = None,
) -> np.ndarray:
    """Expected number of the true records that fit each released row as well as its own does (AG, Definition 2.4).

    `truth`: the record of each row, (M, n); those are all candidates. With `by_cell`, only rows of the same scales are.
    `subset`: the rows to compute it for; all by default.
    """
    scale, axes = scales_of(rows, columns), axes_of(rows, columns)
    wanted = np.arange(len(truth)) if subset is None else subset
    anonymity = np.empty(len(wanted))
    for place, i in enumerate(wanted):
        mine = (scale == scale[i]).all(axis=1) if by_cell else np.ones(len(truth), dtype=bool)
        e = along(truth[mine] - truth[i], scale[i], None if axes is None else axes[i], unit)
        if density == "gaussian":
            half = np.sqrt((e * e).sum(axis=1)) / 2.0
            anonymity[place] = np.where(half == 0.0, 1.0, 0.5 * erfc(half / math.sqrt(2.0))).sum()
        else:
            anonymity[place] = np.maximum(1.0 - np.abs(e), 0.0).prod(axis=1).sum()
    return anonymity


def units(client: httpx.Client, job: dict[str, Any], columns: list[str]) -> np.ndarray:
    """The published unit of each column."""
    published = statistics(client, job)
    return np.array([published["scaling_unit", name]["estimate"] for name in columns])


def true_records(
    client: httpx.Client, job: dict[str, Any], frame: pl.DataFrame, columns: list[str]
) -> tuple[pl.DataFrame, np.ndarray]:
    """Released rows, and the record behind each: told by a column `id` that was kept for this purpose."""
    rows = released(client, job)
    place = {name: i for i, name in enumerate(frame["id"].to_list())}
    chosen = np.array([place[name] for name in rows["id"].to_list()])
    return rows, frame.select(columns).to_numpy().astype(float)[chosen]
