"""The unlisted job that reads an upload into a dataset."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import PlainSerializer

from app.contracts.datasets import ReadOptions
from app.contracts.jobs import DatasetJobSpec, Queue

#: Kind of that job; not one that a user can ask for.
INGEST: Final = "ingest"


class IngestSpec(DatasetJobSpec):
    """The data to read, and how."""

    queue: ClassVar[Queue] = Queue.INTERACTIVE
    version: ClassVar[int] = 2  # numbers and days in other notations

    method: Literal["ingest"] = "ingest"
    options: Annotated[ReadOptions, PlainSerializer(ReadOptions.stored)]
    staged_key: str
    bytes: int
