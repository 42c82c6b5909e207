"""A box release as the boxes it publishes."""

from surebox_verify.released.boxes import ReleasedBoxes, read_boxes
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
