"""A box release as the boxes it publishes."""

from collections.abc import Iterable, Sequence

from app.contracts.inputs import ReleaseInput
from surebox_verify.released.boxes import ReleasedBoxes, read_boxes
from surebox_verify.released.codebooks import Codebook, codebooks_of
from workers.methods.context import JobContext


def released_boxes(job: JobContext, *, field: str = "release_id") -> ReleasedBoxes:
    """The boxes of the release that a field of the specification names.

    Parameters
    ----------
    job
        A job that works on the release.
    field
        The field.
    """
    made = job.releases[field].made
    return read_boxes(job.release_path(field), made.quasi_identifiers, orders=made.ordinal)


def kept_in(release: ReleaseInput, names: Iterable[str]) -> tuple[str, ...]:
    """Those of some columns that a release of boxes has as they are, in the order of its specification.

    Parameters
    ----------
    release
        The release.
    names
        Columns that questions name.
    """
    named = frozenset(names)
    return tuple(name for name in release.made.keep if name in named)


def released_codebooks(release: ReleaseInput, boxes: ReleasedBoxes, beside: Sequence[str] = ()) -> dict[str, Codebook]:
    """What questions to a release mean by the values of its columns.

    Parameters
    ----------
    release
        The release.
    boxes
        Its boxes.
    beside
        Columns that its rows have as they are, where the boxes are divided by them.
    """
    there = {column.name for column in release.columns}
    classed = [name for name in boxes.nominal if name in there]
    parameters = release.spec if release.merged_as is None else {**release.spec, "merged_as": release.merged_as}
    return codebooks_of(boxes, parameters, classed=classed, beside=beside)
