"""The shell lines of a guide, pasted as they stand into a fresh shell beside a running service."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.meta.project import ROOT
from tests.service import Service


def blocks_of(guide: str) -> list[str]:
    """The shell blocks of a document that need nothing but the service."""
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / guide).read_text(), re.MULTILINE | re.DOTALL)


def shorthands() -> str:
    """The block of the quickstart that the other guides lean on."""
    return next(block for block in blocks_of("docs/quickstart.md") if "field()" in block)


def run_blocks(blocks: list[str], service: Service, folder: Path) -> list[str]:
    """Run blocks in a fresh shell in one folder, stopping at the first that fails; what each has printed."""
    parts = [f"exec > block-{number}.txt\n{block}" for number, block in enumerate(blocks)]
    done = shell("set -eu -o pipefail\n" + "\n".join(parts), service, folder)
    printed = [(folder / f"block-{number}.txt") for number in range(len(blocks))]
    outputs = [each.read_text() for each in printed if each.exists()]
    assert done.returncode == 0, f"{done.stderr}\n{outputs}"
    return outputs


def shell(script: str, service: Service, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run lines in a bash that has an installation's folder and the system's programs, and nothing else."""
    for name, target in ((".surebox", service.folder), (".venv", Path(sys.prefix))):
        if not (folder / name).exists():
            (folder / name).symlink_to(target)
    own = [each for each in os.environ["PATH"].split(":") if not Path(each).is_relative_to(sys.prefix)]
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script.replace("http://127.0.0.1:8000", service.address)],
        cwd=folder,
        env={"PATH": ":".join(own), "HOME": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
