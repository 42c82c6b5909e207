"""Clients in TypeScript: one is compiled under `--strict` and drives the service, another compiles.

Node's packages are pinned by `typescript/package-lock.json` and installed once into a folder that git does not know.
"""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.generator import generate
from tests.meta.project import ROOT
from tests.service import Service, bare_environment

SOURCES = Path(__file__).parent / "typescript"
#: What npm says when there is no way to a registry; anything else that it says is a failure.
NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH")
OLDEST_NODE = (20, 19)


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder `node_modules` of the lock."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not on this machine")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(int(part) for part in version.lstrip("v").split(".")[:2]) < OLDEST_NODE:
        pytest.skip(f"node is {version}, the generator needs {'.'.join(map(str, OLDEST_NODE))}")
    lock = (SOURCES / "package-lock.json").read_bytes()
    folder = ROOT / ".node_packages" / hashlib.sha256(lock).hexdigest()[:16]
    if not (folder / "installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCES / name, folder)
        command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode and any(word in done.stderr for word in NO_NETWORK):
            pytest.skip("no registry of npm can be reached")
        assert done.returncode == 0, done.stderr
        (folder / "installed").touch()
    return folder / "node_modules"


def run(folder: Path, *command: str) -> None:
    """Run one of Node's tools; whatever it prints goes with a failure."""
    environment = bare_environment(NODE_NO_WARNINGS="1")
    done = subprocess.run(["node", *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_strict_client_uploads_follows_a_job_and_downloads(
    service: Service, served: dict[str, Any], packages: Path, tmp_path: Path
) -> None:
    for name in ("drive.ts", "openapi-ts.config.mjs", "package.json", "tsconfig.json"):
        shutil.copy(SOURCES / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(packages)
    (tmp_path / "openapi.json").write_text(json.dumps(served))
    run(tmp_path, "node_modules/@hey-api/openapi-ts/bin/run.js")
    run(tmp_path, "node_modules/typescript/bin/tsc", "--project", ".")
    run(tmp_path, "built/drive.js", service.address, service.key)


@pytest.mark.long
def test_the_client_of_openapi_generator_compiles(packages: Path, tmp_path: Path) -> None:
    generate("typescript-fetch", tmp_path / "client")
    (tmp_path / "node_modules").symlink_to(packages)
    options = "--noEmit --target es2022 --lib es2022,dom --module esnext --moduleResolution bundler --skipLibCheck"
    run(tmp_path, "node_modules/typescript/bin/tsc", *options.split(), "client/index.ts")
