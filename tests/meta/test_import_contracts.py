"""The import contracts hold, and each of them can fail: a planted violation breaks it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import ROOT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The two wings, the reader's side and their contracts, without anything else."""
    for wing in ("app", "workers", "verify"):
        shutil.copytree(ROOT / wing, tmp_path / wing, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    own = os.environ | {"PYTHONPATH": str(folder / "verify")}
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False, timeout=60)


def test_the_project_keeps_its_contracts(copy: Path) -> None:
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "source", "contract"),
    [
        ("app/utils.py", "", "Layers of app"),
        ("workers/helpers.py", "", "Layers of workers"),
        ("workers/algorithms/misc/__init__.py", "", "Families of algorithms"),
        ("app/jobs/planted.py", "import numpy\n", "numeric stack"),
        ("app/jobs/planted.py", "import workers.engine\n", "numeric stack"),
        ("app/jobs/planted.py", "import surebox_verify.core.types\n", "numeric stack"),
        ("verify/surebox_verify/core/planted.py", "import app.errors\n", "stands alone"),
        ("verify/surebox_verify/released/planted.py", "import workers.frames.columns\n", "stands alone"),
        ("verify/surebox_verify/ranges/planted.py", "import scipy.special\n", "stands alone"),
        ("verify/surebox_verify/ranges/planted.py", "import pyarrow\n", "Algorithms are pure"),
        ("verify/surebox_verify/planted.py", "", "Rooms of the reader's side"),
        ("app/jobs/planted.py", "import sqlalchemy\n", "SQLAlchemy stays in app.db"),
        ("workers/tasks/planted.py", "import sqlalchemy.orm\n", "SQLAlchemy stays in app.db"),
        ("app/contracts/planted.py", "import app.db.session\n", "Layers of app"),
        ("app/storage/planted.py", "import app.queue\n", "Layers of app"),
        ("workers/algorithms/core/planted.py", "import random\n", "Algorithms are pure"),
        ("workers/algorithms/core/planted.py", "import app.errors\n", "Algorithms are pure"),
        ("workers/algorithms/core/planted.py", "import workers.algorithms.boxes\n", "Families of algorithms"),
        ("workers/methods/boxes/planted.py", "import polars\n", "Frames stay"),
        ("app/api/planted.py", "import celery\n", "sent to through app.queue only"),
        ("app/jobs/planted.py", "import app.datasets.planted\n", "No cycles"),
    ],
)
def test_a_planted_violation_breaks_its_contract(copy: Path, module: str, source: str, contract: str) -> None:
    (copy / module).parent.mkdir(exist_ok=True)
    (copy / module).write_text(source)
    if contract == "No cycles":
        (copy / "app/datasets/planted.py").write_text("import app.jobs.planted\n")
    done = lint_imports(copy)
    broken = " ".join(done.stdout.split("Broken contracts")[-1].split())
    assert done.returncode == 1
    assert contract in broken
