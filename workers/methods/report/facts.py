"""What a report is written from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """What anyone may read of a release who may read the release.

    Attributes
    ----------
    release
        As `GET /v1/releases/{id}` answers.
    parameters
        Of the specification what its provenance publishes.
    statistics
        As `GET /v1/releases/{id}/statistics` lists them.
    software
        Versions, as its provenance names them.
    data
        The release's file.
    """

    release: JsonObject
    parameters: JsonObject
    statistics: Sequence[JsonObject]
    software: Mapping[str, str]
    data: Path | None


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What only the owner reads: the job whole.

    Attributes
    ----------
    job
        As `GET /v1/jobs/{id}` answers, with `result` whole.
    flags
        What each flag of the release means, by name.
    """

    job: JsonObject
    release: ReleaseFacts | None = None
    flags: Mapping[str, str] = field(default_factory=dict)
