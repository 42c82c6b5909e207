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


NUMPY_LAST = """
import os, sys

class Numpy:
    def find_spec(self, name, *_):
        if name == "numpy":
            threads = {os.environ.get(f"{library}_NUM_THREADS") for library in ("OMP", "OPENBLAS")}
            assert threads == {"1"}, "numpy is imported before its threads are stated"

sys.meta_path.insert(0, Numpy())
import tests.conftest
import numpy
"""


def test_the_algebra_of_a_test_process_has_one_thread() -> None:
    """More of them spin on the cores of the other processes, and round sums in another order than workers do."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", NUMPY_LAST], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
