"""A box release as the boxes it publishes."""

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
    spec = job.releases[field].spec
    return read_boxes(job.release_path(field), spec["columns"], orders=spec.get("ordinal"))


def released_codebooks(release: ReleaseInput, boxes: ReleasedBoxes) -> dict[str, Codebook]:
    """What questions to a release mean by the values of its columns.

    Parameters
    ----------
    release
        The release.
    boxes
        Its boxes.
    """
    there = {column.name for column in release.columns}
    return codebooks_of(boxes, release.spec, classed=[name for name in boxes.nominal if name in there])
