"""The reader's side in an environment of its own: nothing of the service beside it, and what it takes on disk."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import ROOT
from tests.verify.made import Issuer, means, parquet, rows

#: Bytes that an installation may take.
LARGEST = 500_000_000
NEVER = {"fastapi", "sqlalchemy", "celery", "pydantic", "scipy", "polars", "pandas", "app", "workers"}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the distribution and what its lock holds."""
    beside = Path(sys.executable).with_name("uv")
    uv = shutil.which("uv") or (str(beside) if beside.exists() else None)
    if uv is None:
        pytest.skip("uv is not on this machine: without its cache an environment takes minutes")
    folder = tmp_path_factory.mktemp("alone")
    source = folder / "source"
    shutil.copytree(ROOT / "verify", source, ignore=shutil.ignore_patterns("__pycache__", "LICENSE"))
    lock = ROOT / "requirements/verify.txt"
    python = folder / "env/bin/python"
    install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder / "env")],
        [*install, "--no-compile-bytecode", "--require-hashes", "--requirement", str(lock)],
        [*install, "--requirement", str(ROOT / "requirements/build.txt"), "--require-hashes", "--target",
         str(folder / "build")],
        [*install, "--no-deps", "--no-build-isolation", str(source)],
    ):  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(folder / "build"), "PYTHONSAFEPATH": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
        if done.returncode != 0 and "Failed to fetch" in done.stderr:
            pytest.skip("packages are neither in uv's cache nor within reach")
        assert done.returncode == 0, done.stderr
    return folder / "env"


def test_it_computes_every_range_of_a_release_and_takes_little_room(alone: Path, tmp_path: Path) -> None:
    frame, issuer = rows(), Issuer.new()
    files = {"release.parquet": parquet(frame)}
    (tmp_path / "release.parquet").write_bytes(files["release.parquet"])
    (tmp_path / "release.parquet.dsse.json").write_bytes(issuer.certify(files, means(frame)))
    (tmp_path / "jwks.json").write_bytes(issuer.key_set())
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(command: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        argv = [str(alone / "bin" / command), str(tmp_path / "release.parquet"), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=300)

    done = run("surebox-verify", "--keys", str(tmp_path / "jwks.json"), "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    assert {each["finding"] for each in json.loads(done.stdout)["statistics"]} == {"verified"}
    names = ["mean(age)", "variance(hours)", "covariance(age,hours)", "quantile(age,0.5)"]
    done = run("surebox-certify", *(part for each in names for part in ("--statistic", each)))
    assert done.returncode == 0, done.stderr
    statistics = json.loads(done.stdout)["statistics"]
    assert [each["kind"] for each in statistics] == ["mean", "variance", "covariance", "quantile"]
    assert all(
        each["guaranteed"][0] <= each["attained"][0] <= each["attained"][1] <= each["guaranteed"][1]
        for each in statistics
    )
    installed = {path.name for path in alone.glob("lib/python*/site-packages/*")}
    assert not installed & NEVER
    size = sum(path.stat().st_size for path in alone.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"{size / 1e6:.0f} MB installed")  # noqa: T201 - with -s, for the documentation
    assert size < LARGEST
