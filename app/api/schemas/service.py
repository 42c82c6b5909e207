"""Envelopes of the service routes."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract


class Health(Contract):
    """The process answers."""

    status: Literal["ok"] = Field(default="ok", description="Nothing else is ever said.")


class ServiceReady(Contract):
    """Every part of the service is there."""

    status: Literal["ready"] = Field(default="ready", description="What is not there is named by a problem.")


class ProblemKind(Contract):
    """What problems of one type have in common."""

    type: str = Field(description="Stable path of the kind of problem.")
    title: str = Field(description="The kind in words.")
    status: int = Field(description="Status of answers that report it.")
    cause: str = Field(description="What it usually comes from.")
    remedy: str = Field(description="What to do about it.")
