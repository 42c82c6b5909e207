from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.rig import Rig


@pytest.fixture
def rig_on(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """A rig on given servers; settings as keywords."""
    made: list[Rig] = []

    def make(database_url: str, redis_url: str, *, storage_folder: Path | None = None, **more: Any) -> Rig:
        made.append(Rig(database_url, redis_url, tmp_path, settings_more=more, storage_folder=storage_folder))
        return made[-1]

    yield make
    for rig in made:
        rig.stop()


@pytest.fixture
def rig(rig_on: Callable[..., Rig], database_url: str, redis_url: str) -> Rig:
    """A rig on the session's servers, with a database and an emptied broker of its own."""
    return rig_on(database_url, redis_url)
