"""Envelopes of the service routes."""

from typing import Literal

from app.contracts.base import Contract


class Alive(Contract):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(Contract):
    """Every part of the service is there."""

    status: Literal["ready"] = "ready"
