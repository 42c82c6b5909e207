"""All that was published of a family, composed: every person of all tables in every release.

Source: science.md section 6, "Composed k" and "Placing persons".
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from app.contracts.stored import StoredSpec
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.tables.composition import ABSENT, UNPLACED, Composed, CompositionRequest, Placed, compose
from workers.frames.codes import coded_columns
from workers.frames.columns import numeric_columns
from workers.frames.generalized import kept_together
from workers.frames.hashed_cells import columns_of
from workers.frames.ledger import Ledger, is_read_alike, read_ledger
from workers.frames.originals import Originals
from workers.frames.persons import Cells, read_fingerprints
from workers.frames.spellings import spelled_as_one
from workers.methods.released.all_persons import AllPersons, Table, all_persons
from workers.methods.released.earlier import Earlier, FamilyTerms
from workers.methods.released.release_exposure import (
    ReleaseExposure,
    everywhere,
    exposure_of_copy,
    exposure_of_fingerprints,
    kept_now,
    noise,
    placed,
    scale_of,
)
from workers.methods.released.same_persons import DeclaredColumns, Known, alike_in, same_columns


@dataclass(frozen=True)
class Left:
    """What all releases leave together: by the answer to who is who that leaves least, where there are several.

    Attributes
    ----------
    left
        The figures.
    unplaced, new, gone
        Persons of whom it is not known where they were, who were not in some table before, who are not in today's.
    """

    left: Composed
    unplaced: int
    new: int
    gone: int


@dataclass(frozen=True)
class _Before:
    """An earlier table with what releases show of its records; None: nothing is known of them."""

    table: Table
    exposures: tuple[ReleaseExposure, ...]
    columns: Mapping[str, str]


class Family:
    """Today's table with a release of it, and those of before with theirs.

    Parameters
    ----------
    dataset
        Today's typed copy.
    spec, own, scale
        Of the release that is made of it, its ledger, and the noise of each record.
    earlier
        Releases with ledgers.
    terms
        What the family states about its tables.
    more
        Tables of others, as they place today's records.
    continued
        Releases that show the changes by themselves, and are not compared with today's records.
    """

    def __init__(
        self,
        dataset: Path,
        spec: Mapping[str, Any],
        own: Path | None,
        earlier: Sequence[Earlier],
        terms: FamilyTerms,
        scale: FloatArray | None = None,
        *,
        more: Sequence[Placed] = (),
        continued: Collection[str] = (),
    ) -> None:
        self._dataset, self._spec, self._own, self._terms, self._scale = dataset, spec, own, terms, scale
        self._more, self._continued = more, continued
        unique = {(one.ledger, one.dataset_id): one for one in earlier}  # the same boxes again reveal no more
        self._here = [one for one in unique.values() if one.dataset_id and one.dataset_id == terms.dataset_id]
        self._others = [one for one in unique.values() if one not in self._here]

    @cached_property
    def _original(self) -> Originals:
        return Originals(self._dataset)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self._dataset, self._terms.key)

    @property
    def rows(self) -> int:
        """Records of today."""
        return self._cells.rows

    @property
    def releases(self) -> int:
        """How many can be composed."""
        return len(self._here) + len(self._others) + len(self._more) + (self._own is not None)

    @cached_property
    def _today(self) -> tuple[ReleaseExposure, ...]:
        """The shown part of today's records: by the release that is made, then by earlier ones."""
        own = [] if self._own is None else [self._exposure_of(read_ledger(self._own), scale=self._scale)]
        return (
            *own,
            *(self._exposure_of(read_ledger(one.ledger), one) for one in self._here if one.ledger is not None),
        )

    def _exposure_of(
        self, ledger: Ledger, release: Earlier | None = None, *, scale: FloatArray | None = None
    ) -> ReleaseExposure:
        if release is not None and not ledger.columns:
            scale = _kept_scale(release, self._cells)
        exposure = exposure_of_copy(self._original, self._dataset, ledger, scale=scale)
        return exposure if release is None else replace(exposure, release_id=release.release_id)

    @cached_property
    def _before(self) -> tuple[_Before, ...]:
        """Earlier tables, the latest first."""
        groups: dict[tuple[str, str], list[Earlier]] = {}
        for one in reversed(self._others):
            groups.setdefault(_table(one), []).append(one)
        return tuple(self._table(one) for one in groups.values())

    def _table(self, releases: Sequence[Earlier]) -> _Before:
        known, exposures = _records(releases, self._terms.key)
        alike = alike_in(*(one.alike for one in exposures)) if exposures else np.zeros(0, np.int64)
        columns = same_columns(Known(self._cells), known, self._terms.columns) if exposures else {}
        unread = tuple(ReleaseExposure(read_ledger(one.ledger)) for one in releases if one.ledger is not None)
        exposures = tuple(
            replace(one, release_id=of.release_id) for one, of in zip(exposures, releases, strict=bool(exposures))
        )
        return _Before(Table(known, alike), exposures or unread, columns)

    @cached_property
    def _sensitive(self) -> list[str]:
        kept = {name for one in self._exposures for name in one.ledger.keep}
        return sorted({*StoredSpec.of(self._spec).sensitive, *kept} & set(columns_of(self._dataset)))

    @property
    def sensitive(self) -> list[str]:
        """Columns of today whose diversity is looked at."""
        return self._sensitive if self.releases else []

    @property
    def _exposures(self) -> list[ReleaseExposure]:
        return [*self._today, *(exposure for one in self._before for exposure in one.exposures)]

    def composed(self, rng: np.random.Generator) -> Left:
        """What all releases leave together."""
        answers = [
            Left(
                _of_persons(compose(request, rng=rng), request),
                unplaced=_unplaced(request),
                new=one.new + _lost(request),
                gone=one.left,
            )
            for one, request in ((one, self._request(one)) for one in all_persons(
                Known(self._cells), self._alike(), [one.table for one in self._before],
                DeclaredColumns(self._terms.persons, self._terms.columns),
            ))
        ]  # fmt: skip
        return min(answers, key=_least)

    def _alike(self) -> IntArray:
        """Numbers of today's records that are as good as each other: by stated facts, and whose they are."""
        persons = [codes for codes in self._persons_today.values() if len(np.unique(codes)) < self.rows]
        return alike_in(np.zeros(self.rows, np.int64), *(one.alike for one in self._today), *persons)

    @cached_property
    def _persons_today(self) -> dict[str, IntArray]:
        """Keys of today's persons, by the family's names of the columns that state it."""
        return Known(self._cells).person(self._terms.persons)

    def _request(self, persons: AllPersons) -> CompositionRequest:
        where: list[tuple[ReleaseExposure, int | None]] = [(exposure, None) for exposure in self._today]
        where += [(exposure, at) for at, one in enumerate(self._before) for exposure in one.exposures]
        boxes = [(exposure, at) for exposure, at in where if exposure.ledger.columns]
        kept = [set(exposure.ledger.keep) for exposure, _ in boxes]
        common = sorted(set.intersection(*kept)) if kept and not self._more else []
        shown = kept_together([exposure.ledger.path for exposure, _ in boxes], common)
        noisy = [
            noise(exposure, everywhere(persons, at), self._values(exposure, at, persons))
            for exposure, at in where
            if not exposure.ledger.columns
        ]
        codes = self._persons(persons)
        return CompositionRequest(
            releases=[
                *(self._placed(exposure, at, persons, one) for (exposure, at), one in zip(boxes, shown, strict=True)),
                *(replace(one, places=_extended(one.places, persons.number)) for one in self._more),
            ],
            k=StoredSpec.of(self._spec).least_k,
            persons=codes[0] if codes else None,
            sensitive=[spelled_as_one(one).astype(np.int64) for one in coded_columns(self._dataset, self._sensitive)],
            noise=[one for one, _ in noisy],
            presence=[one for _, one in noisy if one.any()],
            today=persons.today,
            others=codes[1:],
        )

    def _placed(self, exposure: ReleaseExposure, at: int | None, persons: AllPersons, shown: IntArray) -> Any:
        of = everywhere(persons, at)
        if exposure.places is None:  # nothing is known of the records that it was made from
            unread = ReleaseExposure(
                exposure.ledger, np.zeros(0, np.int64), np.zeros(exposure.ledger.rows.shape, np.int64)
            )
            return placed(unread, of, shown, None)
        if exposure.release_id in self._continued or (self._own is not None and exposure is self._today[0]):
            return placed(exposure, of, shown, None)
        names = self._cells.names
        columns = dict(zip(names, names, strict=True)) if at is None else self._before[at].columns
        return placed(exposure, of, shown, kept_now(self._dataset, exposure, columns))

    def _values(self, exposure: ReleaseExposure, at: int | None, persons: AllPersons) -> FloatArray | None:
        """Values of noise whose table is gone: of those who were found by what they are, not by an id."""
        if at is None or exposure.values is not None or persons.certain[at]:
            return None
        columns = self._before[at].columns
        if any(name not in columns for name in exposure.ledger.names):
            return None
        return numeric_columns(self._dataset, [columns[name] for name in exposure.ledger.names]).values

    def _persons(self, persons: AllPersons) -> list[IntArray]:
        """Numbers of all persons by each column that states it; of those who left one each where it is not known."""
        numbers = []
        for name, today in self._persons_today.items():
            codes = np.concatenate([today, -2 - np.arange(persons.left)])
            for pool in persons.pools[1:]:
                theirs = pool.known.person({name: None}).get(name)
                if theirs is not None:
                    codes[pool.persons] = theirs[pool.records]
            numbers.append(codes)
        return numbers


def _extended(places: IntArray, number: int) -> IntArray:
    """Places with those who have left: nowhere."""
    return np.concatenate([places, np.full(number - len(places), ABSENT, dtype=np.int64)])


def _unplaced(request: CompositionRequest) -> int:
    """Persons of whom it is not known where they were in some release: of today's, or where these are, of others."""
    lost = _lost_of(request)
    return int(np.count_nonzero(lost[: request.today]) or np.count_nonzero(lost))


def _lost(request: CompositionRequest) -> int:
    """Persons of today's who are not seen in some release: they came, or their values changed."""
    return int(np.count_nonzero(_lost_of(request)[: request.today]))


def _lost_of(request: CompositionRequest) -> BoolArray:
    places = [*(one.places for one in request.releases), *request.presence]
    return np.logical_or.reduce([one == UNPLACED for one in places]) if places else np.zeros(0, np.bool_)


def _of_persons(composed: Composed, request: CompositionRequest) -> Composed:
    """The records that fit noisy rows as persons: as few of these as can have so many rows."""
    if composed.expected is None or request.persons is None:
        return composed
    most = max(int(np.unique(one, return_counts=True)[1].max(initial=1)) for one in (request.persons, *request.others))
    return composed if most == 1 else replace(composed, expected=max(composed.expected / most, 1.0))


def _least(one: Left) -> tuple[bool, float]:
    figures = [float(one.left.overlay), *(x for x in (one.left.expected, one.left.changed) if x is not None)]
    return (not one.unplaced, min(figures))


def _table(one: Earlier) -> tuple[str, str]:
    """What distinguishes the tables of earlier releases: of one that is gone also by what its records are keyed."""
    if one.dataset is not None or one.persons is None:
        return one.dataset_id or one.release_id, ""
    return one.dataset_id or one.release_id, read_fingerprints(one.persons).under


def _records(releases: Sequence[Earlier], key: bytes) -> tuple[Known, tuple[ReleaseExposure, ...]]:
    """The known facts of the records of a table, and what its releases show of them; nothing: they are not known."""
    first = releases[0]
    cells = None if first.dataset is None else Cells(first.dataset, key)
    if cells is not None and _is_table_of(cells, releases):
        original = Originals(cells.path)
        exposures = [
            exposure_of_copy(original, cells.path, read_ledger(one.ledger), scale=_kept_scale(one, cells))
            for one in releases
            if one.ledger is not None
        ]
        return Known(cells), tuple(exposures)
    if any(one.persons is None for one in releases):
        return Known(None), ()
    kept = [read_fingerprints(one.persons) for one in releases if one.persons is not None]
    if len({one.under for one in kept}) > 1:  # each key puts the records in an order of its own
        return Known(None), ()
    ledgers = [read_ledger(one.ledger) for one in releases if one.ledger is not None]
    return Known(None, kept[0], first.key), tuple(map(exposure_of_fingerprints, kept, ledgers))


def _is_table_of(cells: Cells, releases: Sequence[Earlier]) -> bool:
    """Whether a typed copy has the records that releases were made from, as far as fingerprints of these are kept.

    The file may have been read otherwise when it came again.
    """
    ledgers = [read_ledger(one.ledger) for one in releases if one.ledger is not None]
    if not set(cells.names).issuperset(name for one in ledgers for name in (*one.names, *one.keep)):
        return False
    if not all(is_read_alike(one, cells.path) for one in ledgers):
        return False
    first = releases[0]
    return first.persons is None or read_fingerprints(first.persons).order_in(_under(first.key, cells)) is not None


def _under(key: bytes, cells: Cells) -> Cells:
    """The same table under another key; hashes that were made are used again where it is the same key."""
    return cells if cells.key == key else Cells(cells.path, key)


def _kept_scale(release: Earlier, cells: Cells) -> FloatArray | None:
    """The noise of each record of a typed copy, where that was kept."""
    if release.scale is not None:
        kept: FloatArray = np.load(release.scale, allow_pickle=False)
        return kept
    if release.persons is None:
        return None
    return scale_of(read_fingerprints(release.persons), _under(release.key, cells))
