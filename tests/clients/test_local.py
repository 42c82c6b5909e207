"""`local()` where no service runs: started for a block, shared by who comes meanwhile, ended with it."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from surebox_client import local
from surebox_client.commands.folder import running, stop
from tests.servers import short_folder, still_alive
from tests.service import bare_environment

USED = """
import sys
from surebox_client import local
with local(sys.argv[1], say=lambda line: print(line, file=sys.stderr)) as sb:
    dataset = sb.upload("people.csv")
    print(sb.url, dataset.data["rows"])
"""


def test_a_block_has_a_service_that_others_share_and_that_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in bare_environment().items():
        monkeypatch.setenv(name, value)
    (tmp_path / "people.csv").write_text("age,hours\n" + "30,40\n50,20\n" * 20)
    with short_folder() as parent:
        folder = parent / "data"
        two = [
            subprocess.Popen(
                [sys.executable, "-P", "-c", USED, str(folder)],
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for _ in range(2)
        ]  # fmt: skip
        ended = [process.communicate(timeout=500) for process in two]
        assert [process.returncode for process in two] == [0, 0], ended
        assert ended[0][0] == ended[1][0], "one service for both"
        assert ended[0][0].split()[1] == "40"
        assert sum("Starting the service" in err for _, err in ended) == 1
        stop(folder)  # where the one that has started it was the first to leave
        with local(folder) as sb:
            service = psutil.Process(int((folder / "serve.lock").read_text()))
            everyone = [service, *service.children(recursive=True)]
            assert [each.data["rows"] for each in sb.datasets()] == [40, 40], "the folder keeps what it had"
        assert still_alive(everyone, within=60) == []
        assert running(folder) is None
