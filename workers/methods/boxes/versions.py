"""New versions of data: today's records in the boxes of an earlier release, shown where enough of them changed.

science.md section 6, "New versions of the data". What the earlier release has published is read, never what it was made
from: rows of boxes whose changes wait are those that were published.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import ColumnKind, SuppressedRecords, merged_values
from app.contracts.inputs import PREVIOUS
from app.contracts.quasi_identifiers import telling_boxes
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import InfeasibleError
from app.methods.boxes.result import PendingChanges
from app.methods.boxes.spec import BoxesSpec
from surebox_verify.released.boxes import ReleasedBoxes, read_boxes
from workers.algorithms.boxes.versions import Demanded, Renewed, Sensitive, numbers, renewed
from workers.algorithms.core.errors import InfeasibleKError
from workers.algorithms.tables.composition import ABSENT
from workers.frames.codes import coded_columns
from workers.frames.columns import numeric_columns
from workers.frames.generalized import Meanings, kept_together
from workers.frames.originals import Originals
from workers.frames.spellings import has_texts, together_as_one
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.constraints import sensitive_codes
from workers.methods.boxes.ever_shown import Before, before, ever_shown, keep, persons_today
from workers.methods.boxes.requests import left_out
from workers.methods.boxes.series import (
    Later,
    Rows,
    certifying,
    published_books,
    published_types,
    united_boxes,
)
from workers.methods.context import JobContext
from workers.methods.released.placing import located


def begin(job: JobContext, spec: BoxesSpec) -> Later:
    """Lay today's records into the boxes, and find out which of them show it.

    Raises
    ------
    InfeasibleError
        k records or more are in no box, or fewer are left altogether; a statistic cannot be requested so.
    InvalidError
        A statistic about a value that no box has.
    """
    previous, path, data = job.releases[PREVIOUS], job.release_path(PREVIOUS), job.dataset_path()
    released = read_boxes(path, spec.quasi_identifiers, orders=spec.ordinal)
    places = _places(job, spec, released)
    name = spec.person_column
    persons = None if name is None else coded_columns(data, [name])[0].codes.astype(np.int64)
    outside = _outside(job, spec, places, persons)
    inside = np.flatnonzero(places != ABSENT)
    box = np.unique(numeric_columns(path, ["box"]).values[:, 0]).astype(np.int64)
    versions = before(job, released.of_row, kept_together([data, path], spec.keep))
    ever = ever_shown(job, spec, versions, box, inside)
    own = None if persons is None else persons[inside]
    demanded = Demanded(
        k=spec.k,
        persons=own if own is None or ever is None else persons_today(ever),
        least_values=spec.l or 0,
        largest_share=1.0 if spec.alpha is None else spec.alpha,
        sensitive=_sensitive(job, spec, inside, persons, versions),
        by_class=spec.k_counts_kept and bool(spec.keep),
    )
    now, known = (places[inside], versions.today[inside]), None if ever is None else ever.ever
    before_now = released.of_row, versions.kept
    try:
        shown = renewed(before_now, now, boxes=released, demands=demanded, earlier=versions.earlier, ever=known)
    except InfeasibleKError as error:
        raise left_out(error, spec) from None
    waits, today, group = np.flatnonzero(shown.before), inside[shown.today], shown.group
    of_row = np.concatenate([released.of_row[waits], places[today]])
    types = published_types(previous, path, released, spec)
    books = published_books(previous, released, types, spec)
    kinds: dict[str, ColumnKind] = {name: previous.kind_of(name) for name in spec.quasi_identifiers}
    suppressed = SuppressedRecords(missing=len(places) - len(inside) - outside)
    pending = PendingChanges(boxes=shown.waiting, records_in_no_box=outside)
    counted = {"records": len(places), "suppressed": suppressed, "pending": pending}
    number, history = numbers(box, group), None
    if ever is not None and shown.overlay is not None:
        history = keep(ever, shown.overlay, number[group], job.scratch / "shown-records.parquet")
    rows = Rows(
        ((path, waits), (data, today)), number, counted, _waits(shown, boxes=len(released.counts)), history=history
    )
    return certifying(Shown(spec, kinds, types, books), united_boxes(released, group, books, group[of_row]), rows)


def _outside(job: JobContext, spec: BoxesSpec, places: NDArray[np.int64], persons: NDArray[np.int64] | None) -> int:
    """Records that are in no box though they lack no value.

    Raises
    ------
    InfeasibleError
        They are k or more.
    """
    beyond = np.flatnonzero((places == ABSENT) & _complete(job, spec))
    if (len(beyond) if persons is None else len(np.unique(persons[beyond]))) >= spec.k:
        detail = (
            f"{len(beyond)} records are in no box of the release before: values beyond its `domains`, or that its "
            "boxes do not have. Make a new base that has room for them"
        )
        raise InfeasibleError.at("/previous_release_id", detail)
    return len(beyond)


def _waits(shown: Renewed, *, boxes: int) -> tuple[JobWarning, ...]:
    """A word to the keeper where most of the changes is not seen yet."""
    if 2 * shown.pending <= shown.changes:
        return ()
    detail = (
        f"{shown.pending} of the {shown.changes} rows that came or left since the version before wait, in "
        f"{shown.waiting} of {boxes} boxes. A box waits, and shows what it showed before, where since some version "
        "fewer than k of its rows (or of its kept values) came, left or stayed, or where fewer than k records would "
        "be left that all versions show alike. Readers see the older rows there. What helps: a version for "
        "several deliveries, a base with larger boxes (a larger k, fewer columns); where most of the "
        "table is new, a base of its own (`previous_release_id: null`, composed with the published data)"
    )
    return (warning(WarningCode.MOST_CHANGES_WAIT, detail, "/spec/previous_release_id"),)


def _sensitive(
    job: JobContext, spec: BoxesSpec, inside: NDArray[np.int64], persons: NDArray[np.int64] | None, versions: Before
) -> list[Sensitive]:
    """Sensitive columns: as they were published where they are kept, else winsorized, as all that decides is.

    Whether a box shows what changed is published: the outermost values, raw, would make it hang on one of them.
    """
    data, released = job.dataset_path(), job.release_path(PREVIOUS)
    types = {column.name: column.type for column in job.datasets["dataset_id"].columns}
    whose = None if persons is None else persons[inside].astype(np.int32)
    codes = sensitive_codes(data, spec, inside, whose, types).astype(np.int64)
    shown = {
        name: _published_sensitive(data, released, name, inside, versions)
        for name in spec.sensitive
        if name in spec.keep
    }
    return [shown.get(name, Sensitive(codes[:, index])) for index, name in enumerate(spec.sensitive)]


def _published_sensitive(
    data: Path, released: Path, name: str, inside: NDArray[np.int64], versions: Before
) -> Sensitive:
    """Values of a kept column today, and of the rows that were published."""
    paths = [data, released, *(one.path for one in versions.ledgers[1:])]
    columns = [coded_columns(path, [name])[0] for path in paths]
    mine, theirs, *others = (
        [codes.astype(np.int64) for codes in together_as_one(columns)]
        if all(has_texts(one.values) for one in columns)
        else [
            np.where(one.codes < 0, -1, codes) for one, codes in zip(columns, kept_together(paths, [name]), strict=True)
        ]
    )
    earlier = [np.column_stack([rows.kept, own]) for rows, own in zip(versions.rows[1:], others, strict=True)]
    return Sensitive(mine[inside], theirs, np.vstack(earlier) if earlier else None)


def _places(job: JobContext, spec: BoxesSpec, released: ReleasedBoxes) -> NDArray[np.int64]:
    """Box of each record of today; ABSENT where there is none."""
    parameters, columns = spec.model_dump(mode="json"), [one.name for one in job.releases[PREVIOUS].columns]
    meanings = Meanings(parameters["ordinal"], merged_values(parameters, job.releases[PREVIOUS].merged_as))
    location = located(
        Originals(job.dataset_path()), job.release_path(PREVIOUS), telling_boxes(parameters, columns), meanings
    )
    box_of = np.full(int(location.of_row.max(initial=-1)) + 1, ABSENT, dtype=np.int64)
    box_of[location.of_row] = released.of_row
    return np.where(location.places == ABSENT, ABSENT, box_of[location.places])


def _complete(job: JobContext, spec: BoxesSpec) -> NDArray[np.bool_]:
    """Records that lack no value but such as were declared values."""
    complete = np.ones(job.datasets["dataset_id"].rows, dtype=np.bool_)
    for name, column in zip(
        spec.quasi_identifiers, coded_columns(job.dataset_path(), spec.quasi_identifiers), strict=True
    ):
        declared = spec.nominal.get(name)
        if declared is None or not declared.has_missing:
            complete &= column.codes >= 0
    return complete
