"""Later releases of a series: made from what their base publishes; no dataset is read, and none is given.

science.md section 6, "A series is post-processing": other columns among the base's, a larger k by unions of its boxes,
other statistics. Whatever the base contains, all of its series hold together.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import SuppressedRecords, merged_values
from app.contracts.datasets import ColumnType
from app.contracts.flags import Flag
from app.contracts.inputs import BASE, PREVIOUS, ReleaseInput
from app.contracts.warnings import JobWarning
from app.methods.boxes.nominal import NominalColumn
from app.methods.boxes.result import BoxesResult
from app.methods.boxes.spec import BoxesSpec
from surebox_core.errors import UndefinedStatisticError
from surebox_core.statistics import check_statistics, depends_on_ddof
from surebox_core.types import BoolArray
from surebox_verify.boxes import PublishedBoxes
from surebox_verify.estimates import affordable, estimates, reading_steps
from surebox_verify.readings import Readings
from surebox_verify.released.boxes import ReleasedBoxes, meaning_of, read_boxes
from workers.algorithms.boxes.request import Certificate
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.unions import KeptClasses, united, uniting
from workers.algorithms.core.errors import InfeasibleKError
from workers.frames.classes import shares_certain, smallest_class
from workers.frames.columns import take_rows_of
from workers.frames.generalized import kept_together
from workers.frames.values import listed_type
from workers.methods.boxes import report, warnings
from workers.methods.boxes.canonical_order import CanonicalOrder, Order, in_canonical_order
from workers.methods.boxes.codebooks import Codebook, declared_codebook, is_from_data
from workers.methods.boxes.columns import Shown, release_columns, release_types
from workers.methods.boxes.demanded import demanded
from workers.methods.boxes.exposure import exposure_in, side_measures
from workers.methods.boxes.kept import kept_classes
from workers.methods.boxes.least_widths import inherited
from workers.methods.boxes.requests import left_out, undefined
from workers.methods.boxes.statistic_entries import public_statistics, statistics
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.demanded import verdict
from workers.methods.released.drafts import release_draft

#: Flags of a base that its series bears too.
_INHERITED: Final = (
    Flag.REPRODUCIBLE, Flag.COMPOSITION_ACCEPTED, Flag.TIGHT_BOUNDS, Flag.GRID_BOUNDS, Flag.OUTER_BOUNDS_FROM_DATA,
    Flag.CODEBOOK_FROM_DATA, Flag.TYPES_FROM_DATA, Flag.RARE_RECORDS_SUPPRESSED, Flag.PROTECTION_FAILED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows' kept values are, and what of a new version is said next to its boxes.

    Attributes
    ----------
    parts
        Files, and which of their rows, in the order of `Boxes.box`.
    numbers
        Of the boxes; None: from 1.
    counted
        Fields of the result that only a new version has.
    warnings
        Of a new version, for the job alone.
    history
        Of a new version: the records that all versions have shown, for the ledger of its family.
    """

    parts: tuple[tuple[Path, NDArray[np.int64]], ...]
    numbers: NDArray[np.int64] | None = None
    counted: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[JobWarning, ...] = ()
    history: Path | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """A later release while its statistics are computed: its boxes are there, `fraction` states how much else."""

    shown: Shown
    boxes: Boxes
    canonical: CanonicalOrder
    work: Generator[float, None, tuple[Certificate, ...]]
    rows: Rows
    fraction: float = 0.0
    certificates: tuple[Certificate, ...] | None = None


def begin(job: JobContext, spec: BoxesSpec) -> Later:
    """Unite the base's boxes as far as k asks.

    Raises
    ------
    InfeasibleError
        Boxes that lack the same values have fewer than k records together; a statistic cannot be requested so.
    InvalidError
        A statistic about a value that no box has.
    """
    base, path = job.releases[BASE], job.release_path(BASE)
    released = read_boxes(path, spec.quasi_identifiers, orders=spec.ordinal)
    kinds = {name: base.kind_of(name) for name in spec.quasi_identifiers}
    types = published_types(base, path, released, spec)
    books = published_books(base, released, types, spec)
    try:
        group = job.through(uniting(released, spec.k, _counted(path, released, spec)), "unions")
    except InfeasibleKError as error:
        raise left_out(error, spec) from None
    boxes = united_boxes(released, group, books, group[released.of_row])
    rows = Rows(((path, np.arange(len(boxes.box))),))
    return certifying(Shown(spec, kinds, types, books), boxes, rows)


def _counted(path: Path, released: ReleasedBoxes, spec: BoxesSpec) -> KeptClasses | None:
    """Kept values of the published rows, where k counts box and kept values together."""
    if not (spec.k_counts_kept and spec.keep):
        return None
    (kept,) = kept_together([path], spec.keep)
    return KeptClasses.of(released.of_row, kept, len(released.counts))


def certifying(shown: Shown, boxes: Boxes, rows: Rows) -> Later:
    """The boxes are there, the statistics are not.

    Raises
    ------
    InfeasibleError, InvalidError
        As `begin`.
    """
    spec, books = shown.spec, shown.books
    order = Order(tuple(shown.numeric), tuple(shown.nominal), np.empty((0, 0), np.uint32))
    canonical = in_canonical_order(spec, order, books, shown.types)
    orders = [len(spec.ordinal[name]) if name in spec.ordinal else None for name in shown.numeric]
    try:
        sizes = [len(books[name].values) for name in shown.nominal]
        check_statistics(canonical.statistics_in_order, len(shown.numeric), sizes, orders)
    except UndefinedStatisticError as error:
        raise undefined(error, spec, canonical) from None
    return Later(inherited(shown), boxes, canonical, _certified(shown, boxes, canonical), rows)


def step(state: Later) -> Later:
    """Work on the statistics for about 0.2 s."""
    try:
        return replace(state, fraction=next(state.work))
    except StopIteration as stop:
        return replace(state, fraction=1.0, certificates=stop.value)


def finish(state: Later, job: JobContext) -> Outcome:
    """Write the release, rows in random order, and the result."""
    shown, boxes, spec = state.shown, state.boxes, state.shown.spec
    order = job.rng.permutation(len(boxes.box))
    kept, of_row = take_rows_of(state.rows.parts, spec.keep, order), boxes.box[order]
    columns = release_columns(shown, boxes, None, of_row, numbers=state.rows.numbers)
    certain = shares_certain(kept, of_row) if spec.keep else {}
    least = smallest_class(kept, of_row) if spec.keep else int(boxes.counts.min())
    exposure = exposure_in(kept, shown, of_row)
    measured = verdict("boxes", demanded(spec, kept, of_row, exposure)) | exposure.guesses
    result = _result(state, least, certain, measured)
    said = warnings.released(shown, boxes, result, certain, kept_classes(kept, of_row, spec))
    return Outcome(
        summary=result,
        result=result,
        warnings=[*said, *state.rows.warnings],
        release=release_draft(
            job,
            columns,
            kept,
            types=release_types(shown),
            formats=spec.formats,
            flags=_flags(job, spec),
            warnings=warnings.unplaced(said),
            statistics=public_statistics(result),
            parameters=report.public_parameters(shown, None, result["value_disclosure"], exposure),
            history=state.rows.history,
        ),
    )


def published_types(base: ReleaseInput, path: Path, released: ReleasedBoxes, spec: BoxesSpec) -> dict[str, ColumnType]:
    """Types of the columns as they were published."""
    there = {column.name: column.type for column in base.columns}
    types = {name: ColumnType(there[name]) for name in spec.keep}
    types |= {name: ColumnType(there[f"{name}_lo"]) for name in released.numeric}
    return types | {name: listed_type(path, f"{name}_set") for name in released.nominal}


def published_books(
    made_from: ReleaseInput, released: ReleasedBoxes, types: Mapping[str, ColumnType], spec: BoxesSpec
) -> dict[str, Codebook]:
    """Codebooks of the nominal columns, of which values that no box lists are called as in the release made from."""
    words = merged_values(made_from.spec, made_from.merged_as)
    return {name: _book(released, name, types[name], spec, words.get(name)) for name in released.nominal}


def _book(released: ReleasedBoxes, name: str, column: ColumnType, spec: BoxesSpec, merged_as: str | None) -> Codebook:
    """Values of a nominal column: those of its hierarchy, else those that any box has."""
    declared = spec.nominal.get(name, NominalColumn())
    if declared.hierarchy is not None:
        return declared_codebook(name, column, declared)
    values = released.codebooks[released.nominal.index(name)]
    from_data = is_from_data(column, declared)
    return Codebook(name, column, values, from_data=from_data, merged_as=merged_as if from_data else None)


def united_boxes(
    released: ReleasedBoxes, group: NDArray[np.int64], books: Mapping[str, Codebook], of_row: NDArray[np.int64]
) -> Boxes:
    """The boxes of the later release, and that of each of its rows."""
    made = united(released, group) if int(group.max(initial=-1)) + 1 < len(group) else released
    sets = tuple(
        _arranged(one, released.codebooks[index], books[released.nominal[index]]) for index, one in enumerate(made.sets)
    )
    outer = np.zeros(made.lower.shape[1], dtype=np.bool_)
    counts = np.bincount(of_row, minlength=len(made.counts)).astype(np.int64)
    return Boxes(made.lower, made.upper, counts, sets=sets, box=of_row.astype(np.int32), outer_from_data=outer)


def _arranged(sets: BoolArray, values: tuple[Any, ...], book: Codebook) -> BoolArray:
    """Sets in the order of a codebook."""
    reordered = np.zeros((len(sets), len(book.values)), dtype=np.bool_)
    place = {value: code for code, value in enumerate(book.values)}
    reordered[:, [place[value] for value in values]] = sets
    return reordered


def _certified(
    shown: Shown, boxes: PublishedBoxes, canonical: CanonicalOrder
) -> Generator[float, None, tuple[Certificate, ...]]:
    """Ranges from the boxes alone, yielding which share of them is done; in the specification's order."""
    types = release_types(shown)
    readings = Readings(boxes, meaning_of(shown.spec.model_dump(mode="json"), types), None)
    certified, certificates = canonical.statistics_in_order, []
    for index, statistic in enumerate(certified):
        ddof = shown.spec.ddof if depends_on_ddof(statistic.kind) else 0
        steps = reading_steps(statistic, readings, affordable(statistic, certified, len(boxes.counts)), ddof)
        while steps.ranges is None:
            steps.step()
            yield index / len(certified)
        parts = estimates(statistic, readings, steps.ranges, ddof)
        unknown = (None,) * len(parts)
        certificates.append(Certificate(statistic, parts, (), unknown, unknown, unknown))
    return tuple(certificates[index] for index in np.argsort(canonical.statistics))


def _result(
    state: Later, k_with_kept: int, certain: Mapping[str, float], measured: Mapping[str, Any]
) -> dict[str, Any]:
    boxes, spec = state.boxes, state.shown.spec
    made = BoxesResult(
        **measured,
        released=len(boxes.box),
        box_count=len(boxes.counts),
        smallest_box=int(boxes.counts.min()),
        largest_box=int(boxes.counts.max()),
        k_with_kept=k_with_kept,
        uncertainty=None,
        **side_measures(state.shown, boxes),
        **({"records": len(boxes.box), "suppressed": SuppressedRecords()} | dict(state.rows.counted)),
        share_certain={name: certain[name] for name in spec.sensitive if name in certain},
        statistics=tuple(statistics(state.shown, state.certificates or ())),
    )
    return made.model_dump(mode="json")


def _flags(job: JobContext, spec: BoxesSpec) -> list[Flag]:
    """What a reader must know of the base is to be known of its series."""
    version = spec.previous_release_id is not None
    base = job.releases[PREVIOUS if version else BASE].flags
    flags = [flag for flag in _INHERITED if flag.value in base and (flag is not Flag.REPRODUCIBLE or job.seed is None)]
    flags += [Flag.NEW_VERSION] if version else []
    return flags + ([Flag.KEPT_COLUMNS_NOT_COUNTED] if spec.keep and not spec.k_counts_kept else [])
