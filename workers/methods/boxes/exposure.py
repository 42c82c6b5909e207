"""What boxes show of each column: widths, how often they leave one value, and what they show of sensitive ones."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import typed_values
from surebox_core.types import FloatArray
from surebox_verify.disclosure import days_of, value_disclosure, value_intervals
from surebox_verify.released.boxes import meaning_of
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.tables.guessing import guessed_codes, guessed_numbers, guesses_by_means
from workers.algorithms.tables.homogeneity import homogeneity
from workers.frames.codes import Coded, coded, coded_columns, numbered
from workers.frames.spellings import has_texts, spelled_as_one, without_gaps
from workers.methods.boxes.columns import Shown, release_types
from workers.methods.boxes.constraints import ordered


@dataclass(frozen=True, slots=True)
class SensitiveExposure:
    """What boxes show of sensitive columns, by name."""

    share_certain: Mapping[str, float] = field(default_factory=dict)
    share_nearly_certain: Mapping[str, float] = field(default_factory=dict)
    t: Mapping[str, float] = field(default_factory=dict)
    least_values: Mapping[str, int] = field(default_factory=dict)
    largest_share: Mapping[str, float] = field(default_factory=dict)
    share_above_60_percent: Mapping[str, float] = field(default_factory=dict)

    @property
    def guesses(self) -> dict[str, dict[str, float]]:
        """Shares of right guesses, as results and certificates state them."""
        return {name: dict(getattr(self, name)) for name in ("largest_share", "share_above_60_percent")}

    def guesses_of(self, names: Collection[str]) -> dict[str, dict[str, float]]:
        """The same of some columns; nothing where it is of none."""
        some = {
            figure: {name: value for name, value in shares.items() if name in names}
            for figure, shares in self.guesses.items()
        }
        return {figure: shares for figure, shares in some.items() if shares}


def exposure_of(path: Path, shown: Shown, rows: NDArray[np.int64], box: NDArray[np.signedinteger]) -> SensitiveExposure:
    """What boxes show of the specification's sensitive columns.

    Parameters
    ----------
    path
        The typed copy.
    shown
        The columns.
    rows, box
        The released records, and the box of each.
    """
    columns = zip(shown.spec.sensitive, coded_columns(path, shown.spec.sensitive), strict=True)
    return _exposure({name: column.taking(rows) for name, column in columns}, shown, box)


def exposure_in(kept: Any, shown: Shown, box: NDArray[np.signedinteger]) -> SensitiveExposure:
    """The same of the sensitive columns that are published, as far as they are.

    Parameters
    ----------
    kept
        The kept columns of the released rows.
    shown, box
        As of `exposure_of`.
    """
    names = [name for name in shown.spec.sensitive if name in kept.column_names]
    return _exposure({name: coded(kept.column(name)) for name in names}, shown, box)


def _exposure(columns: Mapping[str, Coded], shown: Shown, box: NDArray[np.signedinteger]) -> SensitiveExposure:
    spec, measures = shown.spec, {}
    for name, column in columns.items():
        kind = shown.types[name]
        order = typed_values(spec.ordinal[name], kind) if name in spec.ordinal else None
        codes, values = numbered(column, order)
        ranks = values if ordered(spec, name, kind) else None
        measures[name] = homogeneity(box.astype(np.int64), codes, ranks=ranks)
        if has_texts(column.values):  # t is of texts as they are, all else of what they mean
            one = homogeneity(box.astype(np.int64), without_gaps(spelled_as_one(column)))
            measures[name] = replace(one, t=measures[name].t)
    return SensitiveExposure(
        {name: one.share_certain for name, one in measures.items()},
        {name: one.share_nearly_certain for name, one in measures.items()},
        {name: one.t for name, one in measures.items()},
        {name: one.least_values for name, one in measures.items()},
        {name: one.largest_share for name, one in measures.items()},
        {name: one.share_above_60_percent for name, one in measures.items()},
    )


def side_measures(shown: Shown, boxes: Boxes) -> dict[str, Any]:
    """Mean width, what is given away of values, and normalized certainty penalty of every column.

    Parameters
    ----------
    shown
        The columns.
    boxes
        In the specification's order.

    Notes
    -----
    science.md section 5, "Influence": NCP is width/range, or |S|/m, 0 if |S| = 1. Rows without a value do not count.
    """
    mean_width, ncp = {}, {}
    for index, name in enumerate(shown.numeric):
        lower, upper = boxes.lower[:, index], boxes.upper[:, index]
        there = ~np.isnan(lower)
        width, counts = (upper - lower)[there], boxes.counts[there]
        extent = float(upper[there].max() - lower[there].min()) if there.any() else 0.0
        mean_width[name] = _mean(width, counts)
        ncp[name] = mean_width[name] / extent if extent > 0.0 else 0.0
    for index, name in enumerate(shown.nominal):
        size = boxes.sets[index].sum(axis=1)
        there = size > 0
        size, counts = size[there], boxes.counts[there]
        ncp[name] = _mean(np.where(size == 1, 0.0, size / boxes.sets[index].shape[1]), counts)
    types = release_types(shown)
    meaning = meaning_of(shown.spec.model_dump(mode="json"), types)
    disclosed = value_disclosure(boxes, meaning, shown.numeric, shown.nominal, days_of(types))
    return {
        "mean_width": mean_width,
        "value_disclosure": {name: asdict(disclosed[name]) for name in shown.spec.quasi_identifiers},
        "least_widths": dict(shown.widths),
        "ncp": _in_order(shown.spec.quasi_identifiers, ncp),
    }


def guessed(
    shown: Shown,
    boxes: Boxes,
    values: Callable[[str], NDArray[Any]],
    disclosed: Mapping[str, Mapping[str, float | None]],
) -> dict[str, dict[str, float | None]]:
    """Shares of best guesses that are right, by column. Restricted.

    Parameters
    ----------
    shown, boxes
        As of `side_measures`.
    values
        Of a column, the released records' numbers or codes, in the order of `Boxes.box`.
    disclosed
        What the boxes give away, whose tolerances are the guesses'.
    """
    meaning = meaning_of(shown.spec.model_dump(mode="json"), release_types(shown))
    made: dict[str, dict[str, float | None]] = {}
    for index, name in enumerate(shown.numeric):
        intervals, tolerance = value_intervals(boxes, index, meaning.lattice(index)), disclosed[name]["tolerance"]
        means = guesses_by_means(boxes, index, meaning.lattice(index))
        made[name] = asdict(guessed_numbers(values(name), boxes.box, intervals, tolerance or 0.0, means=means))
        made[name]["tolerance"] = tolerance
    for index, name in enumerate(shown.nominal):
        made[name] = asdict(guessed_codes(values(name), boxes.box, boxes.sets[index])) | {"tolerance": None}
    return {name: made[name] for name in shown.spec.quasi_identifiers}


def _in_order(names: Sequence[str], by_name: Mapping[str, float]) -> dict[str, float]:
    return {name: by_name[name] for name in names}


def _mean(values: FloatArray, counts: NDArray[np.int64]) -> float:
    total = float(counts.sum())
    return float(values @ counts) / total if total else 0.0
