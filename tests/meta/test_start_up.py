"""What the processes without numbers really load: third parties may bring in what the import contracts cannot see."""

import ast
import re
import subprocess
import sys
from importlib.metadata import distribution

import pytest

from app.embedded.worker import PROGRAMS
from tests.meta.project import ROOT

NUMERIC = {"numpy", "scipy", "polars", "pyarrow", "numba", "pandas"}


@pytest.mark.parametrize("module", ["app.main", "app.cli.main", "app.housekeeping.loop", "app.storage.s3"])
def test_the_front_loads_no_numeric_stack(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "app" in loaded
    assert not loaded & (NUMERIC | {"workers"})


def test_a_worker_loads_what_has_thread_pools_once_it_has_been_forked() -> None:
    code = "import sys, workers.celery_app; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not (NUMERIC - {"numpy"}) & set(done.stdout.split())


def test_the_command_line_starts_light() -> None:
    code = "import sys, app.cli.main; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"sqlalchemy", "fastapi", "celery", "pydantic"} & set(done.stdout.split())


def test_the_front_names_no_module_of_the_workers_in_a_string() -> None:
    """Import contracts do not see strings; `surebox.programs` of pyproject.toml says which programs there are."""
    named = re.compile(rf"workers\.(?:{'|'.join(path.stem for path in (ROOT / 'workers').iterdir())})\b")
    texts = {
        f"{path.relative_to(ROOT)}: {node.value}"
        for path in (ROOT / "app").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and named.search(node.value)
    }
    assert not texts


@pytest.mark.parametrize("name", ["before-fork", "compiler", "missing-kernels", "worker"])
def test_the_programs_that_the_front_starts_are_functions_of_the_distribution(name: str) -> None:
    (entry,) = distribution("surebox").entry_points.select(group=PROGRAMS, name=name)
    code = f"from importlib.metadata import EntryPoint as E; print(callable(E('x', {entry.value!r}, 'y').load()))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
