"""The audit `influence`: which records are tried, what a run publishes, and how the numbers follow the records."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.releases import ReleaseFormat
from workers.frames.columns import numeric_columns
from workers.frames.variants import released_numbers
from workers.methods.outcome import Outcome

#: A record is moved outwards by so much of its distance from the median.
_FURTHER: Final = 0.25


@dataclass(frozen=True, slots=True)
class Extreme:
    """A record that is tried: its place, the column it is most extreme in, its value and where that is moved to."""

    row: int
    column: str
    value: float
    to: float


def extremes(path: Path, names: Sequence[str], count: int) -> list[Extreme]:
    """The most extreme records: farthest from the median in some column, in units of its typical distance.

    Parameters
    ----------
    path : the original.
    names : its numeric columns that are published in some way.
    count : records at most.
    """
    table = numeric_columns(path, names)
    centre = np.nanmedian(table.values, axis=0)
    distance = np.abs(table.values - centre)
    typical = np.nanmedian(distance, axis=0)
    spread = np.where(typical > 0.0, typical, np.nanstd(table.values, axis=0))
    score = np.nan_to_num(distance / np.where(spread > 0.0, spread, np.inf), nan=0.0)
    farthest = score.max(axis=1)
    records = []
    for row in np.argsort(-farthest, kind="stable")[:count]:
        column = int(score[row].argmax())
        value = float(table.values[row, column])
        step = (value - centre[column]) * _FURTHER
        records.append(Extreme(int(row), names[column], value, value + (step or float(spread[column]))))
    return records


def published_numbers(outcome: Outcome) -> dict[str, float]:
    """Every number that a run would publish of the data as a whole, by what it is."""
    draft = outcome.release
    if draft is None:
        return {}
    numbers = released_numbers(draft.files[ReleaseFormat.PARQUET].path)
    numbers["rows"] = float(draft.rows)
    for one in draft.statistics:
        name = f"{one['kind']}({', '.join(one['of'])})"
        numbers |= _parts(
            name, {part: value for part, value in one.items() if part not in {"kind", "of", "weight", "ddof"}}
        )
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _parts(name: str, parts: Mapping[str, Any]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for part, value in parts.items():
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float):
            numbers[f"{name} {part}"] = float(value)
        elif isinstance(value, list | tuple):
            numbers |= _parts(f"{name} {part}", {str(place): one for place, one in enumerate(value)})
    return numbers


@dataclass(frozen=True, slots=True)
class Effect:
    """What one record does to one number: by what share it changes without it, what share of a move it follows."""

    change: float
    slope: float


def effects(
    whole: Mapping[str, float], without: Mapping[str, float] | None, moved: Mapping[str, float] | None, one: Extreme
) -> dict[str, Effect]:
    """The effects of one record on every number of a release."""
    changes = {}
    for name, value in whole.items():
        change = slope = 0.0
        if without is not None and name in without:
            size = max(abs(value), abs(without[name]))
            change = abs(value - without[name]) / size if size > 0.0 else 0.0
        if moved is not None and name in moved:
            slope = abs((moved[name] - value) / (one.to - one.value))
        changes[name] = Effect(change, slope)
    return changes
