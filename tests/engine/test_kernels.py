"""Compiled kernels: found wherever the checkout lies, found read-only, never stale, never compiled beside a job."""

import ast
import ctypes
import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from app.contracts.jobs import Queue
from app.settings import Settings
from surebox_core.compiling.cache import imported, is_there
from tests.meta.project import ROOT
from tests.servers import wait_until
from workers.engine.warming import at_work, busy, make_ready_in_background, wait_beside_jobs

#: Runs a kernel of a made-up module, and says what came out and how many kernels were compiled for it.
RUN = """
from numba.core import event

class Counting(event.Listener):
    compiled = 0
    def on_start(self, event): pass
    def on_end(self, event): Counting.compiled += event.data["dispatcher"].py_func.__module__.startswith("workers.")

event.register("numba:compile", Counting())
from workers.algorithms.made_caller import caller
print(caller({argument}), Counting.compiled)
"""
CALLEE = "from surebox_core.compiling.kernels import kernel\n\n\n@kernel\ndef callee(x):\n    return {factor} * x\n"
CALLER = """from surebox_core.compiling.kernels import kernel
from workers.algorithms.made_callee import callee


@kernel
def caller(x):
    return callee(x) + 1
"""
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def may_not_override_modes() -> None:
    """Root, too, is kept out by a mode; in the child, before it becomes Python."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@dataclass(frozen=True)
class Installation:
    """An environment of its own, with the packages of this one."""

    folder: Path

    @property
    def kernels(self) -> Path:
        return self.folder / "environment/share/surebox/kernels"

    def checkout(self, name: str, *, factor: int = 2) -> Path:
        """A copy of what declares and locates kernels, and of two modules, one of which calls the other."""
        compiling, algorithms = (self.folder / name / each for each in ("surebox_core/compiling", "workers/algorithms"))
        shutil.copytree(ROOT / "verify/surebox_core/compiling", compiling, dirs_exist_ok=True)
        algorithms.mkdir(parents=True, exist_ok=True)
        (algorithms / "made_callee.py").write_text(CALLEE.format(factor=factor))
        (algorithms / "made_caller.py").write_text(CALLER)
        return self.folder / name

    def run(self, checkout: Path, argument: str = "20") -> tuple[str, int]:
        """What the kernel returns, and how many were compiled."""
        path = os.pathsep.join([str(checkout), sysconfig.get_path("purelib")])
        own = {"NUMBA_CACHE_DIR": str(self.folder / "own"), "PYTHONPATH": path}
        out = subprocess.run(
            [self.folder / "environment/bin/python", "-c", RUN.format(argument=argument)],
            env=os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=may_not_override_modes,
            capture_output=True,
            text=True,
            cwd=self.folder,
        )
        assert out.returncode == 0, out.stderr
        result, compiled = out.stdout.split()
        return result, int(compiled)


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "environment"], check=True)
    yield made
    for path in made.kernels.rglob("*"):
        if path.is_dir():
            path.chmod(0o700)


def test_another_checkout_finds_what_the_installation_has(installation: Installation) -> None:
    assert installation.run(installation.checkout("here")) == ("41", 2)
    assert installation.run(installation.checkout("elsewhere/deeper")) == ("41", 0)
    assert not (installation.folder / "own").exists()


def test_an_installation_that_cannot_be_written_is_read_and_what_it_lacks_is_kept_elsewhere(
    installation: Installation,
) -> None:
    checkout = installation.checkout("here")
    installation.run(checkout)
    before = sorted(installation.kernels.rglob("*"))
    for path in [*before, installation.kernels]:
        if path.is_dir():
            path.chmod(0o500)
    assert installation.run(checkout) == ("41", 0)
    assert installation.run(checkout, "20.5") == ("42.0", 2)
    assert installation.run(checkout, "20.5") == ("42.0", 0)
    assert sorted(installation.kernels.rglob("*")) == before


def test_a_kernel_whose_callee_changed_in_another_file_is_compiled_anew(installation: Installation) -> None:
    assert installation.run(installation.checkout("here", factor=2)) == ("41", 2)
    assert installation.run(installation.checkout("here", factor=3)) == ("61", 2)
    assert installation.run(installation.checkout("here", factor=2)) == ("41", 0)


def test_the_imports_of_every_module_are_found() -> None:
    """Against Python's own parser; modules of ours only, names in them aside."""
    for path in [path for folder in ("workers", "app", "verify") for path in (ROOT / folder).rglob("*.py")]:
        source, names = path.read_text(), set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        assert modules(imported(source)) == modules(names), path


def modules(names: set[str] | frozenset[str]) -> set[str]:
    ours = {name for name in names if name.split(".")[0] in {"app", "surebox_core", "surebox_verify", "workers"}}
    return {name for name in ours if is_there(name)}


def test_a_worker_makes_ready_what_its_queues_need(tmp_path: Path) -> None:
    """Every method of them, as a worker that has just started does."""
    with capture_logs() as logs:
        make_ready_in_background(Settings(staging_dir=tmp_path / "scratch"), frozenset(Queue))
        (warming,) = (thread for thread in threading.enumerate() if thread.name == "warming")
        warming.join(600)
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("warming.done", "info")]


def test_one_process_at_a_time_makes_something_ready(tmp_path: Path) -> None:
    settings = Settings(staging_dir=tmp_path / "scratch")
    ahead = tmp_path / "scratch" / "ahead.lock"
    ahead.parent.mkdir()
    with capture_logs() as logs:
        with ahead.open("ab") as another:
            fcntl.flock(another, fcntl.LOCK_EX)
            make_ready_in_background(settings, frozenset(Queue))
            (warming,) = (thread for thread in threading.enumerate() if thread.name == "warming")
            wait_until(lambda: awaited(ahead))
            assert not logs
        warming.join(600)
    assert [entry["event"] for entry in logs] == ["warming.done"]


def awaited(lock: Path) -> bool:
    """Whether someone waits for the lock of a file."""
    lines = Path("/proc/locks").read_text().splitlines()
    return any("->" in line and f":{lock.stat().st_ino} " in line for line in lines)


def test_workers_do_not_import_pandas() -> None:
    """It is installed here, and pyarrow would import it to see whether what it is given is pandas's."""
    code = (
        "import sys\n"
        "from workers.preloading import WithoutPandas\n"
        "{}"
        "import polars, pyarrow\n"
        "assert pyarrow.scalar(None, pyarrow.float64()).as_py() is None\n"
        "assert polars.Series([1.5]).to_arrow().to_pylist() == [1.5]\n"
        "print('pandas' in sys.modules)"
    )
    for line, imported_too in (("", True), ("sys.meta_path.insert(0, WithoutPandas())\n", False)):
        done = subprocess.run([sys.executable, "-c", code.format(line)], capture_output=True, text=True, check=True)
        assert done.stdout == f"{imported_too}\n"


def test_workers_that_look_at_once_do_not_take_each_other_for_jobs(tmp_path: Path) -> None:
    settings = Settings(staging_dir=tmp_path / "scratch")
    with ThreadPoolExecutor(8) as workers:
        assert not any(workers.map(busy, [settings] * 4_000))


def test_compiling_stands_still_while_a_job_runs(tmp_path: Path) -> None:
    settings = Settings(staging_dir=tmp_path / "scratch")
    compiling = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    try:
        seen = psutil.Process(compiling.pid)
        waiting = threading.Thread(target=wait_beside_jobs, args=(compiling, settings))
        waiting.start()
        assert not busy(settings)
        with at_work(settings), at_work(settings):
            assert busy(settings)
            wait_until(lambda: seen.status() == psutil.STATUS_STOPPED)
        wait_until(lambda: seen.status() != psutil.STATUS_STOPPED)
    finally:
        compiling.kill()
    waiting.join(60)
    assert not waiting.is_alive()
