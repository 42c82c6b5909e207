"""What may be changed of a dataset or a release: what its owner calls it, and nothing that it holds."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from app.contracts.base import Contract, Labels
from app.contracts.releases import Readers

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class NameAndLabels(Contract):
    """A new name, new labels, or both; what is left out stays as it is."""

    name: Name = Field(default_factory=str, description="What the owner calls it.")
    labels: Labels = Field(default_factory=dict, description="All its labels from now on, in place of the former.")

    def changes(self) -> dict[str, Any]:
        """What was sent."""
        return self.model_dump(mode="json", include=self.model_fields_set)


class ReleaseChanges(NameAndLabels):
    """A new name, new labels, other readers; what is left out stays as it is."""

    readers: Readers = Field(default=(), description="Who else reads it from now on, in place of the former.")
