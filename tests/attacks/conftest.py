"""Attacks are run small with the other tests, and large by `benchmarks/attacks.py`, which sets these two variables."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.attacks.certified import FORMATS, KINDS, Bundle, patients
from tests.methods.asking import succeed, upload


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


@pytest.fixture(scope="module")
def bundles(client: httpx.Client) -> Callable[[str], Bundle]:
    made: dict[str, Bundle] = {}

    def bundle(kind: str) -> Bundle:
        if kind not in made:
            params = {"method": "boxes", "formats": FORMATS} | KINDS[kind]
            if (base := params.pop("base", None)) is not None:
                made_from = {"base_release_id": bundle(base).body["predicate"]["release"]["id"]}
            else:
                dataset = upload(client, patients(list(KINDS).index(kind)).write_csv())
                made_from = {"dataset_id": dataset["id"]}
            spec = params | made_from
            made[kind] = Bundle(client, str(succeed(client, spec)["release_id"]))
        return made[kind]

    return bundle
