"""`make test` draws the same examples each time, and `make long` new ones."""

import os
import subprocess
import sys
from pathlib import Path

from tests.meta.project import ROOT

PROPERTY = """
import pytest
from hypothesis import given, strategies
from tests.drawing import seeds

def note(value):
    with open({noted!r}, "a") as lines:
        lines.write(f"{{value}}\\n")

@given(strategies.integers())
def test_hypothesis(number):
    note(number)

@pytest.mark.parametrize("seed", seeds(2))
def test_seeds(seed):
    note(seed)

@pytest.mark.long
def test_heavy():
    note("heavy")
"""


def drawn(folder: Path, name: str, *more: str, **variables: str) -> list[str]:
    folder = folder / name
    noted, written = folder / "noted", folder / "tests" / "drawn" / "test_property.py"
    written.parent.mkdir(parents=True)
    written.write_text(PROPERTY.format(noted=str(noted)))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "SUREBOX_LONG"))}
    environment |= {"PYTHONWARNINGS": "ignore", "PYTHONPATH": str(ROOT)} | variables
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull, *more]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--quiet", *options, "--import-mode=importlib", str(written)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return noted.read_text().split()


def test_examples_are_the_same_in_each_run_of_make_test(tmp_path: Path) -> None:
    first = drawn(tmp_path, "first")
    assert first == drawn(tmp_path, "second")
    assert first[-2:] == ["0", "1"]


def test_make_long_draws_other_examples_ten_times_as_many_and_again_by_their_number(tmp_path: Path) -> None:
    usual = drawn(tmp_path, "usual")
    long = drawn(tmp_path, "long", "--hypothesis-seed=7", SUREBOX_LONG="7")
    assert long[-1] == "heavy"
    assert len(long) > 5 * len(usual)
    assert not {"0", "1"} & set(long[-21:-1])
    assert long == drawn(tmp_path, "again", "--hypothesis-seed=7", SUREBOX_LONG="7")
