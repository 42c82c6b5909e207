"""Test processes share a session only if all collect the very same tests: no name may hold the time, or chance."""

import os
import subprocess
import sys

import pytest

from tests.meta.project import ROOT


def test_the_same_tests_are_collected_later_and_under_another_hash_seed(request: pytest.FixtureRequest) -> None:
    """Against what this process has collected, minutes ago and under a seed of its own."""
    mine = [item.nodeid for item in request.session.items]
    modules = list(dict.fromkeys(nodeid.split("::")[0] for nodeid in mine))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", *modules],
        cwd=ROOT, env=environment | {"PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    theirs = [line for line in done.stdout.splitlines() if "::" in line]
    assert set(mine) - set(theirs) == set()
    order = {nodeid: place for place, nodeid in enumerate(theirs)}
    places = [order[nodeid] for nodeid in mine]
    assert places == sorted(places)
