"""Parts of the service as forks of its launcher: nothing of the parent's but what it has imported."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.servers import still_alive, wait_until
from tests.service import bare_environment

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="parts are forks on Linux only")
#: Forks from a process of its own: pytest's has threads.
FORKING = """
import json, os, signal, sys, time
from pathlib import Path
from app.embedded.forked import fork

log = Path(sys.argv[1])
outputs = (os.open(log, os.O_WRONLY | os.O_CREAT, 0o600),) * 2
"""


def run(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", FORKING + code, *arguments]
    return subprocess.run(command, cwd=ROOT, env=bare_environment(), capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("ending", "code", "says"),
    [
        ("print('done')", 0, "done\n"),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('no')", 1, "no\n"),
        ("sys.stdout.write('x'); os.close(1)", 0, ""),  # it cannot be written, and it is no second parent
        ("sys.exit()", 0, ""),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
    ],
)
def test_how_a_fork_ends_is_its_exit_code(tmp_path: Path, ending: str, code: int, says: str) -> None:
    done = run(
        "def enter():\n    exec(sys.argv[2])\n"
        "process = fork(enter, name='x', outputs=outputs, environment={})\n"
        "print(process.wait(60), process.poll(), process.returncode)",
        str(tmp_path / "log"),
        ending,
    )
    assert done.stdout == f"{code} {code} {code}\n", done.stderr
    assert says in (tmp_path / "log").read_text()


def test_a_fork_has_the_descriptors_it_is_given_and_no_lock_or_pipe_of_its_parent(tmp_path: Path) -> None:
    done = run(
        "lock, kept = open(log.with_name('lock'), 'w'), open(log.with_name('kept'), 'w')\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "def enter():\n"
        "    fds = {int(fd): os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')\n"
        "           if os.path.exists(f'/proc/self/fd/{fd}')}\n"
        "    print(json.dumps([fds, dict(os.environ), os.getsid(0) == os.getpid(),\n"
        "                      signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, os.read(0, 1) == b'']))\n"
        "process = fork(enter, name='surebox-x', outputs=outputs, environment={'A': 'b'}, keep_fds=[kept.fileno()])\n"
        "print(process.wait(60), kept.fileno())",
        str(tmp_path / "log"),
    )
    code, kept = done.stdout.split()
    assert code == "0", done.stderr
    fds, environment, leads, default, nothing = json.loads((tmp_path / "log").read_text())
    opened = {fd: at for fd, at in fds.items() if not at.startswith("/proc/")}  # the listing itself
    log = str(tmp_path / "log")
    assert opened == {"0": "/dev/null", "1": log, "2": log, kept: str(tmp_path / "kept")}
    assert (environment, leads, default, nothing) == ({"A": "b"}, True, True, True)


def test_a_fork_lives_only_once_it_is_known_who_must_end_it(tmp_path: Path) -> None:
    done = run(
        "def announce(process):\n    print(process.pid, flush=True)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "fork(lambda: print('started'), name='x', outputs=outputs, environment={}, announce=announce)",
        str(tmp_path / "log"),
    )
    with suppress(psutil.NoSuchProcess):
        assert still_alive([psutil.Process(int(done.stdout))], within=60) == []
    assert (tmp_path / "log").read_text() == ""


@pytest.fixture
def parent(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    code = (
        "def enter():\n    print('started', flush=True)\n    time.sleep(600)\n"
        "fork(enter, name='x', outputs=outputs, environment={}).wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", FORKING + code, str(tmp_path / "log")], cwd=ROOT, env=bare_environment(), text=True
    ) as process:
        yield process
        process.kill()


def test_a_fork_dies_with_its_parent(parent: "subprocess.Popen[str]", tmp_path: Path) -> None:
    wait_until(lambda: (tmp_path / "log").exists() and (tmp_path / "log").read_text() == "started\n")
    (child,) = psutil.Process(parent.pid).children()
    assert child.name() == "x"
    parent.kill()
    assert still_alive([child], within=60) == []


def test_waiting_for_a_fork_ends_in_time(tmp_path: Path) -> None:
    done = run(
        "import subprocess\n"
        "process = fork(lambda: time.sleep(600), name='x', outputs=outputs, environment={})\n"
        "try:\n    process.wait(0.05)\nexcept subprocess.TimeoutExpired:\n    print('in time')\n"
        "process.send_signal(signal.SIGTERM)\nprint(process.wait(60))\nprocess.send_signal(signal.SIGTERM)",
        str(tmp_path / "log"),
    )
    assert done.stdout == "in time\n-15\n", done.stderr


def test_nothing_that_is_imported_before_a_fork_begins_a_thread(tmp_path: Path) -> None:
    """A thread does not live on in a fork, and what it held stays locked."""
    code = (
        "from app.embedded.launcher import import_front\n"
        "from app.embedded.worker import prepare_to_fork\n"
        "from app.settings import get_settings\n"
        "import_front()\n"
        "prepare_to_fork(get_settings(), threads=2)\n"
        "print(len(os.listdir('/proc/self/task')), 'numba' in sys.modules, 'polars' in sys.modules)"
    )
    done = run(code, str(tmp_path / "log"))
    assert done.stdout == "1 True False\n", done.stderr
