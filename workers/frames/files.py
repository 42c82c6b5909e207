"""A file that was written, and what it is known by."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file of a release, still in the scratch folder."""

    path: Path
    sha256: str
    bytes: int
