"""Which fields of a specification name what a job works on: said by their type, so that nothing has to repeat it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, get_args

from pydantic import BaseModel

from app.contracts.base import Id


class Named(StrEnum):
    """What an id is of."""

    DATASET = "dataset"
    RELEASE = "release"
    JOB = "job"


DatasetId = Annotated[Id, Named.DATASET]
ReleaseId = Annotated[Id, Named.RELEASE]
JobId = Annotated[Id, Named.JOB]


@dataclass(frozen=True, slots=True)
class Reference:
    """One id of a specification; `role` is its field, and its place where the field is a list (`release_ids/0`)."""

    kind: Named
    role: str
    id: str

    @property
    def pointer(self) -> str:
        """Where it is in the body."""
        return f"/{self.role}"


def references(spec: BaseModel) -> Iterator[Reference]:
    """All that a specification names, in the order of its fields; the first dataset is what a release is made from."""
    for name, kind in naming_fields(type(spec)).items():
        value = getattr(spec, name)
        if isinstance(value, str):
            yield Reference(kind, name, value)
        elif value is not None:
            yield from (Reference(kind, f"{name}/{place}", one) for place, one in enumerate(value))


@cache
def naming_fields(spec_type: type[BaseModel]) -> dict[str, Named]:
    """The fields that contain ids, or lists of them."""
    fields: dict[str, Named] = {}
    for name, field in spec_type.model_fields.items():
        kinds = [*(one for one in field.metadata if isinstance(one, Named)), *_kinds(field.annotation)]
        if kinds:
            fields[name] = kinds[0]
    return fields


def _kinds(annotation: Any) -> Iterator[Named]:
    for part in get_args(annotation):
        if isinstance(part, Named):
            yield part
        else:
            yield from _kinds(part)
