"""Who asks, and what they may do."""

from dataclasses import dataclass
from enum import StrEnum


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
