"""The whole service on one machine, once for all clients; with a rate limit that a test cannot reach."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.commands import CommandLine
from tests.servers import short_folder
from tests.service import Service, serving


@pytest.fixture(scope="package")
def service() -> Iterator[Service]:
    with short_folder() as folder, serving(folder / "data", SUREBOX_REQUESTS_PER_MINUTE="1000000") as running:
        yield running


@pytest.fixture(scope="package")
def served(service: Service) -> dict[str, Any]:
    """The OpenAPI document as the service hands it out; it is made for whoever asks first, who waits."""
    with service.client() as client:
        document: dict[str, Any] = client.get("/openapi.json").raise_for_status().json()
    return document


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to stand in, with a home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("SUREBOX_URL", "SUREBOX_API_KEY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def surebox(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    """The command line of an owner of its own, at the address of a service."""
    monkeypatch.setenv("SUREBOX_URL", service.address)
    monkeypatch.setenv("SUREBOX_API_KEY", service.new_key(f"command-line-{folder.name}"))
    return CommandLine(capsys)
