"""What a runner hands back: numbers for the job, a release, or a dataset that was read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.contracts.datasets import Profile
from app.contracts.flags import Flag
from app.contracts.releases import ReleaseFormat
from app.contracts.warnings import JobWarning
from workers.frames.files import WrittenFile


@dataclass(frozen=True, slots=True)
class ReleaseDraft:
    """A release before it is stored; everything in it becomes public, but for `link` and `history`.

    `files` are in the scratch folder, by format; `columns` are ``{"name", "type"}`` and what a
    `ReleaseColumn` has besides; `flags` but for `reproducible`;
    `statistics` may have fields that the method's type of them lacks, which are withheld; `parameters` is what
    provenance may publish of the specification. `link` is an array in .npy with the place in the dataset of the record
    that each row represents, kept for audits until the release or the dataset is deleted. `draw` states which draw from
    the same data it was made as, where draws add up. `history` is a file with the records that a version of a table and
    those before have shown, for the ledger.
    """

    rows: int
    columns: Sequence[Mapping[str, Any]]
    files: Mapping[ReleaseFormat, WrittenFile]
    flags: Sequence[Flag] = ()
    statistics: Sequence[Mapping[str, Any]] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    link: Path | None = None
    draw: int | None = None
    warnings: Sequence[JobWarning] = ()
    history: Path | None = None


@dataclass(frozen=True, slots=True)
class DatasetDraft:
    """A dataset that was read: its typed copy, still in the scratch folder, and what it contains."""

    path: Path
    profile: Profile


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished job leaves: JSON values only, undefined numbers as None (never NaN).

    `summary` becomes the job's `result`; `result` is served whole and always contains the summary; `warnings` become
    the job's, restricted as its result is; `dataset` is what the reading of an upload has made, `publishes` the
    field that names a draft which is to be published.
    """

    summary: Mapping[str, Any]
    result: Mapping[str, Any] = field(default_factory=dict)
    release: ReleaseDraft | None = None
    warnings: Sequence[JobWarning] = ()
    dataset: DatasetDraft | None = None
    publishes: str | None = None
