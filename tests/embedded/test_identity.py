"""As whom Postgres runs: as we are, as somebody in a user namespace, or as another user."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from app.embedded.child import BARE_ENVIRONMENT
from app.errors import CannotStartError
from app.processes.tied import Identity, tied_to_parent
from tests.servers import new_postgres

ROOT = Path(__file__).parents[2]
NOBODY = 65534
NAMELESS = 4711
ROUND_TRIP = """
import sys, os
from pathlib import Path
import psycopg
from tests.servers import new_postgres
server = new_postgres(Path(sys.argv[1]))
server.start()
with psycopg.connect(server.url("postgres")) as connection:
    print(os.geteuid(), connection.execute("SELECT 1").fetchone()[0])
server.stop()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="user namespaces are Linux's")
@pytest.mark.parametrize("uid", [NOBODY, NAMELESS])
def test_postgres_runs_for_ordinary_users_named_or_not(uid: int, server_folder: Path) -> None:
    identity = Identity(uid, uid, "userns")
    command = tied_to_parent([sys.executable, "-c", ROUND_TRIP, str(server_folder)], death_signal=9, identity=identity)
    environment = {**BARE_ENVIRONMENT, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [str(uid), "1"], done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
class TestAsRoot:
    def test_postgres_shows_as_root_outside_and_reaches_a_private_folder(self, server_folder: Path) -> None:
        server_folder.chmod(0o700)
        server = new_postgres(server_folder)
        server.start()
        assert server.process is not None
        assert psutil.Process(server.process.pid).uids().real == 0
        assert server_folder.stat().st_mode & 0o777 == 0o700
        server.stop()

    def test_where_namespaces_are_forbidden_it_becomes_another_user(
        self, server_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = new_postgres(server_folder / "data")
        server_folder.chmod(0o711)
        server.start()
        server.stop()
        forbidden = Identity(NOBODY, NOBODY, "setuid")
        with monkeypatch.context() as patch:
            patch.setattr("app.embedded.postgres.choose_identity", lambda: forbidden)
            server.start()
            assert server.process is not None
            assert psutil.Process(server.process.pid).uids().real == NOBODY
            with psycopg.connect(server.url("postgres")) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
            server.stop()
        server.start()
        server.stop()

    def test_a_folder_the_other_user_cannot_reach_is_named(
        self, server_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.embedded.postgres.choose_identity", lambda: Identity(NOBODY, NOBODY, "setuid"))
        closed = server_folder / "closed"
        closed.mkdir(mode=0o700)
        with pytest.raises(CannotStartError, match=f"{closed} is closed to others"):
            new_postgres(closed / "data").start()
