"""Attacks are run small with the other tests, and large by `benchmarks/attacks.py`, which sets these two variables."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def scale() -> int:
    """How many times as many tables, draws or questions an attack tries: 1 in `make test`."""
    return int(os.environ.get("SUREBOX_ATTACK_SCALE", "1"))


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Notes what an attack came to, by name, for the table that `benchmarks/attacks.py` prints."""
    path = os.environ.get("SUREBOX_ATTACK_FIGURES")

    def note(**measured: float) -> None:
        if path:
            with Path(path).open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"attack": request.node.nodeid, **measured}) + "\n")

    return note
