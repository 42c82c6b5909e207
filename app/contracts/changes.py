"""What may be changed of a dataset or a release: what its owner calls it, and nothing that it holds."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from app.contracts.base import Contract, Tags
from app.contracts.releases import ReleaseReaders

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class DatasetChanges(Contract):
    """A new name, new tags, or both; what is left out stays as it is."""

    name: Name = Field(default_factory=str, description="What the owner calls it.")
    tags: Tags = Field(default_factory=dict, description="All its tags from now on, in place of the former.")

    def changes(self) -> dict[str, Any]:
        """What was sent."""
        return self.model_dump(mode="json", include=self.model_fields_set)


class ReleaseChanges(DatasetChanges):
    """A new name, new tags, other readers; what is left out stays as it is."""

    readers: ReleaseReaders = Field(default=(), description="Who else reads it from now on, in place of the former.")
