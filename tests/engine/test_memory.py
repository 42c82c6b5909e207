"""How much memory a worker takes there to be."""

import os
from pathlib import Path

import pytest

from app.processes import memory

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("version_2", "version_1", "usable"),
    [
        (None, None, MACHINE),
        ("max\n", None, MACHINE),
        ("1073741824\n", None, 1 << 30),
        (None, "1073741824\n", 1 << 30),
        (None, "9223372036854771712\n", MACHINE),
        ("4611686018427387904\n", None, MACHINE),
    ],
)
def test_a_container_of_either_version_has_its_limit(
    version_2: str | None, version_1: str | None, usable: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = (tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes")
    for path, content in zip(files, (version_2, version_1), strict=True):
        if content is not None:
            path.write_text(content)
    monkeypatch.setattr(memory, "LIMITS", files)
    assert memory.usable_bytes() == usable
    share = int(usable * 0.75)
    for queue in ("batch", "interactive"):
        assert memory.bytes_each(setting=None, concurrency=1, queue=queue) == max(memory.LEAST, share)
        assert memory.bytes_each(setting=3_000_000_000, concurrency=2, queue=queue) == 3_000_000_000
    assert memory.bytes_each(setting=None, concurrency=4, queue="interactive") == max(memory.LEAST, share // 4)


def test_a_process_that_is_left_to_short_jobs_takes_little_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "usable_bytes", lambda: 24_000_000_000)
    assert memory.bytes_each(setting=None, concurrency=2, queue="batch") == 18_000_000_000 - memory.LEAST
    assert memory.bytes_each(setting=None, concurrency=3, queue="batch") == (18_000_000_000 - memory.LEAST) // 2
    assert memory.HELD + memory.SHORT <= memory.LEAST
