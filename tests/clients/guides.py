"""The shell lines of a guide, run as they stand against a running service."""

import re
import subprocess
import sys
from pathlib import Path

from tests.meta.project import ROOT
from tests.service import Service, bare_environment


def blocks_of(guide: str) -> list[str]:
    """The shell blocks of a document under `docs`."""
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / guide).read_text(), re.MULTILINE | re.DOTALL)


def run_blocks(blocks: list[str], service: Service, folder: Path) -> list[str]:
    """Run blocks in one shell and one folder; what each has printed."""
    (folder / ".surebox").symlink_to(service.folder)
    lines = [f"exec > block-{number}.txt\n{block}" for number, block in enumerate(blocks)]
    script = ("set -eu -o pipefail\n" + "\n".join(lines)).replace("http://127.0.0.1:8000", service.address)
    path = f"{Path(sys.executable).parent}:{bare_environment()['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=bare_environment(PATH=path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    printed = [(folder / f"block-{number}.txt") for number in range(len(blocks))]
    outputs = [each.read_text() for each in printed if each.exists()]
    assert done.returncode == 0, f"{done.stderr}\n{outputs}"
    return outputs
