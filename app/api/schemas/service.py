"""Envelopes of the service routes."""

from typing import Literal

from app.contracts.base import Contract


class Alive(Contract):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(Contract):
    """Every part of the service is there."""

    status: Literal["ready"] = "ready"


class ProblemKind(Contract):
    """What problems of one type have in common."""

    type: str
    title: str
    status: int
