"""Test processes share a session only if all collect the very same tests: no name may hold the time, or chance."""

import os
import subprocess
import sys

from tests.meta.project import ROOT


def collected(hash_seed: int) -> list[str]:
    """Ids of all tests, as a process of its own collects them."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", "tests"],
        cwd=ROOT, env=environment | {"PYTHONHASHSEED": str(hash_seed)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_the_same_tests_are_collected_seconds_later_and_under_another_hash_seed() -> None:
    first = collected(1)
    second = collected(2)  # begins when the first has ended, which takes seconds
    assert len(first) > 1_000
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
