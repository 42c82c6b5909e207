"""The draft of a release from its columns: what every method that makes one does alike."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.flags import Flag
from app.contracts.releases import ReleaseFormat
from app.contracts.warnings import JobWarning
from app.errors import InfeasibleError
from app.methods.columns import WITHOUT_JSON
from workers.frames.release import write_release
from workers.frames.rows import Columns, Taken, Values, by_name, height, infinite_column
from workers.methods.context import JobContext
from workers.methods.outcome import ReleaseDraft
from workers.methods.released.links import write_link


def release_draft(
    job: JobContext,
    columns: Columns,
    keep: Columns | None = None,
    *,
    types: Mapping[str, str],
    formats: Sequence[ReleaseFormat],
    flags: Sequence[Flag],
    parameters: Mapping[str, Any],
    statistics: Sequence[Mapping[str, Any]] = (),
    warnings: Sequence[JobWarning] = (),
    link: NDArray[np.int64] | None = None,
    draw: int | None = None,
    history: Path | None = None,
) -> ReleaseDraft:
    """Write the files of a release, and its link where it has one, and state what they are.

    Parameters
    ----------
    job
        The job; its scratch folder takes the files.
    columns
        What the method made, in order, rows in random order.
    keep
        Columns of the records that the rows represent, as `take_rows` has them; of these and `columns` there is one.
    types
        Of columns that are not the dataset's, or are of another type than there.
    formats, flags, parameters, statistics, warnings, draw
        As of a `ReleaseDraft`.
    link
        Place in the dataset of the record that each row represents, where audits must know it.

    Raises
    ------
    InfeasibleError
        A number is infinite, which NDJSON, one of the formats, has no word for.
    """
    whole = by_name(columns) | by_name({} if keep is None else keep)
    if ReleaseFormat.NDJSON in formats and (name := infinite_column(whole)) is not None:
        raise InfeasibleError.at("/formats", f"column {name!r} has infinite values; {WITHOUT_JSON}")
    known = {} if job.dataset is None else {column.name: str(column.type) for column in job.dataset.columns}
    return ReleaseDraft(
        rows=height(next(iter(whole.values()))),
        columns=[{"name": name, "type": types.get(name) or known[name]} | _in_csv(whole[name]) for name in whole],
        files=write_release(whole, job.scratch, formats, delimiter=job.spec.get("delimiter", ",")),
        flags=flags,
        statistics=statistics,
        parameters=parameters,
        link=None if link is None else write_link(link, job.scratch),
        draw=draw,
        warnings=warnings,
        history=history,
    )


def _in_csv(column: Values | Taken) -> dict[str, bool]:
    """State how CSV has a column of sets, as a release and its certificate do; of no other column there is a choice."""
    return {"plain_in_csv": column.is_plain} if isinstance(column, Taken) and column.has_lists else {}
