"""Who asks, and what they may do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    """What a key may be allowed; `admin` is all of it, for its own owner only."""

    DATASETS_WRITE = "datasets:write"
    DATASETS_READ = "datasets:read"
    JOBS_WRITE = "jobs:write"
    JOBS_READ = "jobs:read"
    RELEASES_READ = "releases:read"
    RELEASES_WRITE = "releases:write"
    RELEASES_PUBLISH = "releases:publish"
    ADMIN = "admin"

    @property
    def meaning(self) -> str:
        """Describe in a sentence the rights of a key with this scope."""
        return _MEANINGS[self]


_MEANINGS: Final = {
    Scope.DATASETS_WRITE: "Upload tables, rename and delete them. Their rows cannot be read back.",
    Scope.DATASETS_READ: "List datasets and see their columns, types and warnings.",
    Scope.JOBS_WRITE: "Create anonymizations and audits, and cancel them.",
    Scope.JOBS_READ: "See jobs with their results, which have true values, and drafts of releases.",
    Scope.RELEASES_READ: "Read published releases, and ask for counts, statistics and classes of them.",
    Scope.RELEASES_WRITE: "Change the name and the tags of a release, and delete it.",
    Scope.RELEASES_PUBLISH: "Publish and withdraw releases, and accept findings.",
    Scope.ADMIN: "Everything that the other scopes allow, the log, and what belongs to the owner as a whole.",
}


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a valid key."""

    owner: str
    key_id: str
    scopes: frozenset[str]

    @property
    def is_keeper(self) -> bool:
        """Whether the key is for whom data are known: refusals may state figures, and its word on data is taken."""
        return not self.missing(frozenset({Scope.JOBS_READ}))

    def missing(self, scopes: frozenset[str]) -> frozenset[str]:
        """The scopes this principal lacks."""
        return frozenset() if Scope.ADMIN in self.scopes else scopes - self.scopes
