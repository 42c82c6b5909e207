"""Links: which record of the original each row of a release represents, written for audits and read by them alone."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidError
from workers.methods.context import JobContext


def write_link(link: NDArray[np.int64], scratch: Path) -> Path:
    """Write a link to the scratch folder.

    Parameters
    ----------
    link
        Place in the dataset of the record that each released row represents.
    scratch
        The job's folder.
    """
    path = scratch / "link.npy"
    np.save(path, link, allow_pickle=False)
    return path


def read_link(job: JobContext, *, field: str = "release_id") -> NDArray[np.int64]:
    """The link of the release that a field of the specification names.

    Raises
    ------
    InvalidError
        There is none: the original was deleted, or the release was made before links were kept.
    """
    path = job.link_path(field)
    if path is None:
        detail = "it is no longer known which record each row of this release represents: without that, no audit"
        raise InvalidError.at(f"/{field}", detail)
    link: NDArray[np.int64] = np.load(path, allow_pickle=False)
    return link
