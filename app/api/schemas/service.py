"""Envelopes of the service routes."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract


class Health(Contract):
    """Status of the process."""

    status: Literal["ok"] = Field(default="ok", description="Status of the process, always `ok`.")


class ServiceReady(Contract):
    """Every part of the service is there."""

    status: Literal["ready"] = Field(default="ready", description="Status of the service, always `ready`.")


class ProblemKind(Contract):
    """A kind of problem, with its cause and remedy."""

    type: str = Field(description="Stable path of the kind of problem.")
    title: str = Field(description="Name of the kind of problem.")
    status: int = Field(description="Status of answers that report it.")
    cause: str = Field(description="Usual cause of such a problem.")
    remedy: str = Field(description="Remedy that usually helps.")
