"""The import contracts hold, and each of them can fail: planted violations break it, each by its own name."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.meta.project import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = [contract["name"] for contract in PYPROJECT["tool"]["importlinter"]["contracts"]]
#: What is planted, what it says, and the contract that must name it.
PLANTED = [
    ("app/utils.py", "", "Layers of app"),
    ("workers/helpers.py", "", "Layers of workers"),
    ("workers/algorithms/misc/__init__.py", "", "Families of algorithms"),
    ("app/jobs/planted1.py", "import numpy", "numeric stack"),
    ("app/jobs/planted2.py", "import workers.engine", "numeric stack"),
    ("app/jobs/planted3.py", "import surebox_core.types", "numeric stack"),
    ("verify/surebox_core/planted4.py", "import app.errors", "stands alone"),
    ("verify/surebox_verify/released/planted5.py", "import workers.frames.columns", "stands alone"),
    ("verify/surebox_verify/ranges/planted6.py", "import scipy.special", "stands alone"),
    ("verify/surebox_verify/ranges/planted7.py", "import pyarrow", "Algorithms are pure"),
    ("verify/surebox_verify/planted8.py", "", "Rooms of the reader's side"),
    ("app/jobs/planted9.py", "import sqlalchemy", "SQLAlchemy stays in app.db"),
    ("workers/tasks/planted10.py", "import sqlalchemy.orm", "SQLAlchemy stays in app.db"),
    ("app/contracts/planted11.py", "import app.db.session", "Layers of app"),
    ("app/storage/planted12.py", "import app.queue", "Layers of app"),
    ("workers/algorithms/core/planted13.py", "import random", "Algorithms are pure"),
    ("workers/algorithms/core/planted14.py", "import app.errors", "Algorithms are pure"),
    ("workers/algorithms/core/planted15.py", "import workers.algorithms.boxes", "Families of algorithms"),
    ("workers/methods/boxes/planted16.py", "import polars", "Frames stay"),
    ("workers/methods/condensation/planted18.py", "import workers.methods.swaps.release", "No method knows another"),
    ("workers/methods/table/planted19.py", "import workers.methods.boxes.reading", "No method knows another"),
    ("workers/methods/released/planted20.py", "import workers.methods.boxes.reading", "No method knows another"),
    ("workers/methods/released/planted21.py", "import workers.methods.microfile.files", "What methods share"),
    ("app/methods/common.py", "", "Methods in front"),
    ("app/methods/condensation/planted22.py", "import app.methods.swaps.spec", "Methods in front"),
    ("app/methods/microfile/planted23.py", "import app.methods.group.spec", "Methods in front"),
    ("app/contracts/planted24.py", "import app.methods.catalogue", "Layers of app"),
    ("app/api/planted17.py", "import celery", "sent to through app.queue only"),
]


def copied(folder: Path) -> Path:
    """The two wings, the reader's side and their contracts, without anything else."""
    for wing in ("app", "workers", "verify"):
        shutil.copytree(ROOT / wing, folder / wing, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    own = os.environ | {"PYTHONPATH": str(folder / "verify")}
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False, timeout=60)


def broken(folder: Path) -> dict[str, str]:
    """What is said of each broken contract."""
    done = lint_imports(folder)
    assert done.returncode == 1
    output = " ".join(done.stdout.split("Broken contracts")[-1].split())
    places = sorted((output.index(name), name) for name in CONTRACTS if name in output)
    ends = [place for place, _ in places[1:]] + [len(output)]
    return {name: output[place:end] for (place, name), end in zip(places, ends, strict=True)}


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of a copy in which everything is planted."""
    folder = copied(tmp_path_factory.mktemp("planted"))
    for module, source, _ in PLANTED:
        (folder / module).parent.mkdir(exist_ok=True)
        (folder / module).write_text(source + "\n")
    return broken(folder)


def test_the_project_keeps_its_contracts(tmp_path: Path) -> None:
    done = lint_imports(copied(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("module", "source", "contract"), PLANTED)
def test_a_planted_violation_breaks_its_contract(
    messages: dict[str, str], module: str, source: str, contract: str
) -> None:
    name = module.removeprefix("verify/").removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    (said,) = (said for full, said in messages.items() if contract in full)
    imported = source.removeprefix("import ")
    if not imported.startswith(("app.", "workers.", "surebox_")):
        imported = imported.partition(".")[0]  # of others the package is said
    assert f"- {name} -> {imported}" in said if source else f"- {name} " in said


def test_a_planted_cycle_is_found(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    for here, there in (("jobs", "datasets"), ("datasets", "jobs")):
        (folder / f"app/{here}/planted.py").write_text(f"import app.{there}.planted\n")
    assert "acyclic by removing" in broken(folder)["No cycles"]
