"""Versions of a table in the boxes of the last of them: a box of an earlier one is one of these, or a part of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, IntArray
from workers.frames.generalized import Generalized, generalized, kept_together
from workers.frames.ledger import Ledger

#: Where a box is none of the last version's, nor a part of one.
NO_BOX = -1


@dataclass(frozen=True)
class VersionRows:
    """Rows of a version as its ledger has them; (rows,) each.

    Attributes
    ----------
    box
        Box of the last version that the row's box is, or is a part of; `NO_BOX`.
    kept
        Number of the kept values, the same in all versions.
    times
        How often it occurs.
    """

    box: IntArray
    kept: IntArray
    times: IntArray


def version_rows(
    last: Path, ledgers: Sequence[Ledger], *, of_row: IntArray | None = None, more: Sequence[Path] = ()
) -> tuple[list[VersionRows], list[IntArray]]:
    """Read versions in the boxes of the last one.

    Parameters
    ----------
    last
        The last one: its file, or its ledger.
    ledgers
        Of the versions, all made with the same columns.
    of_row
        Number of the box of each row of `last`; None: as `generalized` numbers them.
    more
        Other files whose kept values are numbered too.

    Returns
    -------
    list[VersionRows], list[IntArray]
        The versions; numbers of the kept values of `more`, and of `last` at the end.
    """
    if not ledgers:
        return [], []
    first = ledgers[0]
    whole = generalized(last, first.regions, first.meanings)
    number = np.arange(int(whole.of_row.max(initial=-1)) + 1)
    if of_row is not None:
        number[whole.of_row] = of_row
    kept = kept_together([*(one.path for one in ledgers), *more, last], first.keep)
    versions: list[VersionRows] = []
    for one, values in zip(ledgers, kept, strict=False):
        parts = generalized(one.path, one.regions, one.meanings)
        inside = _inside(whole, parts)
        box = np.where(inside == NO_BOX, NO_BOX, number[inside])
        versions.append(VersionRows(box[parts.of_row], values, one.rows))
    return versions, kept[len(ledgers) :]


def _inside(whole: Generalized, parts: Generalized) -> IntArray:
    """Return the box that each part is, or is in."""
    sets = _sets(whole, parts)
    keys = [_keys(boxes, held) for boxes, held in zip((whole, parts), sets, strict=True)]
    same = np.unique(np.concatenate(keys), return_inverse=True)[1].reshape(-1)
    mine, theirs = np.split(same, [len(keys[0])])
    box = np.full(int(same.max(initial=-1)) + 1, NO_BOX, dtype=np.int64)
    box[mine] = np.arange(len(mine))
    inside = box[theirs]
    alone = np.ones(len(mine), dtype=np.bool_)
    alone[inside[inside != NO_BOX]] = False
    larger = np.flatnonzero(alone)  # boxes that several became
    for part in np.flatnonzero(inside == NO_BOX):
        within = (sets[0][larger] >= sets[1][part]).all(axis=1)
        within &= (whole.lower[larger] <= parts.lower[part]).all(axis=1)
        within &= (whole.upper[larger] >= parts.upper[part]).all(axis=1)
        if within.any():
            inside[part] = larger[np.argmax(within)]
    return inside


def _keys(boxes: Generalized, held: BoolArray) -> NDArray[np.void]:
    """A key of each box: the same for those with the same sides."""
    ends = np.ascontiguousarray(np.hstack([boxes.lower, boxes.upper]) + 0.0).view(np.uint8)
    keys = np.ascontiguousarray(np.hstack([ends.reshape(len(held), -1), np.packbits(held, axis=1)]))
    return keys.view(np.dtype((np.void, keys.shape[1]))).reshape(-1)


def _sets(one: Generalized, other: Generalized) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The sets of both, by the same values."""
    arranged: list[list[BoolArray]] = [[np.zeros((len(each.lower), 0), dtype=np.bool_)] for each in (one, other)]
    for column in range(len(one.nominal)):
        values = {value: at for at, value in enumerate(sorted({*one.books[column], *other.books[column]}))}
        for each, columns in zip((one, other), arranged, strict=True):
            held = np.zeros((len(each.lower), len(values) + 1), dtype=np.bool_)
            held[:, [*(values[value] for value in each.books[column]), -1]] = each.sets[column]
            columns.append(held)
    return np.hstack(arranged[0]), np.hstack(arranged[1])


def fewest_apart(last: Ledger, versions: Sequence[Ledger]) -> int | None:
    """Fewest rows, but none, that came to a box, left it or stayed while others did, between a version and one before.

    Parameters
    ----------
    last
        Of the version; boxes of earlier ones are boxes of it, or parts of them.
    versions
        Of those before, in any order. Rows count by kept values; where these count in k, each class by itself.

    Returns
    -------
    int or None
        None: there is no other version, or none differs.
    """
    read, (mine,) = version_rows(last.path, versions) if versions else ([], [np.zeros(0, np.int64)])
    box, times = generalized(last.path, last.regions, last.meanings).of_row, last.rows
    figures = []
    for one in read:
        at = np.flatnonzero(one.box != NO_BOX)
        span = int(max(mine.max(initial=0), one.kept.max(initial=0))) + 1
        pairs = np.concatenate([box * span + mine, one.box[at] * span + one.kept[at]])
        cells, of = np.unique(pairs, return_inverse=True)
        of_mine, of_theirs = np.split(of.reshape(-1), [len(box)])
        now = np.bincount(of_mine, weights=times, minlength=len(cells))
        was = np.bincount(of_theirs, weights=one.times[at], minlength=len(cells))
        unit = np.arange(len(cells)) if last.counts_kept else cells // span
        differs = np.bincount(unit, weights=now != was) > 0
        for seen in (np.maximum(now - was, 0.0), np.maximum(was - now, 0.0), np.minimum(was, now)):
            total = np.bincount(unit, weights=seen)[differs]
            figures += [int(total[total > 0].min())] if total.any() else []
    return min(figures, default=None)
