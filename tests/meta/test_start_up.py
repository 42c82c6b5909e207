"""What the processes without numbers really load: third parties may bring in what the import contracts cannot see."""

import subprocess
import sys

import pytest

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
