"""The reader's side in environments of its own, with the extra `ranges` and without: no service is there."""

import json
import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.authority import Authority
from tests.meta.project import ROOT
from tests.meta.test_locks import pinned
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
    lock = ROOT / "requirements/verify-ranges.txt"
    python = folder / "env/bin/python"
    install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder / "env")],
        [*install, "--no-compile-bytecode", "--require-hashes", "--requirement", str(lock)],
        [*install, "--requirement", str(ROOT / "requirements/build.txt"), "--require-hashes", "--target",
         str(folder / "build")],
        [*install, "--no-deps", "--no-build-isolation", f"{source}[ranges]"],
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
    done = run("surebox-certify", "--json", *(part for each in names for part in ("--statistic", each)))
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


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the distribution and what its lock without `ranges` holds, as they are installed here."""
    folder = tmp_path_factory.mktemp("base") / "env"
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in pinned("verify"):
        files = distribution(name).files or ()
        for top in {path.parts[0] for path in files} - {"..", "__pycache__"}:
            (packages / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    (packages / "ours.pth").write_text(f"{ROOT / 'verify'}\n")
    ours = distribution("surebox-verify")
    (info,) = {path.parts[0] for path in ours.files or () if path.parts[0].endswith(".dist-info")}
    (packages / info).symlink_to(Path(str(ours.locate_file(info))))
    return folder


def test_without_ranges_all_but_these_is_checked_and_the_report_says_so(base: Path, tmp_path: Path) -> None:
    issuer, authority = Issuer.new(), Authority.new(tmp_path / "authority")
    files = {"release.parquet": parquet(rows())}
    envelope = issuer.certify(files, means(rows()))
    (tmp_path / "release.parquet").write_bytes(files["release.parquet"])
    (tmp_path / "release.parquet.dsse.json").write_bytes(envelope)
    (tmp_path / "release.parquet.tsr").write_bytes(authority.stamp(envelope))
    (tmp_path / "jwks.json").write_bytes(issuer.key_set())
    (tmp_path / "none.json").write_bytes(issuer.revoke())
    (tmp_path / "revoked.json").write_bytes(issuer.revoke(envelope))
    (tmp_path / "changed.parquet").write_bytes(files["release.parquet"] + b" ")

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        argv = [str(base / "bin/python"), "-P", "-m", "surebox_verify", *arguments]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        return subprocess.run(argv, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)

    for missing in ("numba", "numpy", "pyarrow"):
        done = subprocess.run([base / "bin/python", "-c", f"import {missing}"], capture_output=True, text=True)
        assert f"No module named '{missing}'" in done.stderr
    options = ("--keys", "jwks.json", "--tsa-certificate", str(authority.root), "--json")
    done = run("verify", "release.parquet", *options, "--revocations", "none.json")
    assert done.returncode == 2, done.stderr
    report = json.loads(done.stdout)
    assert (report["verdict"], report["signature"], report["problems"]) == ("unchecked", "valid", [])
    assert (report["files"], report["timestamp"]["status"]) == ({"release.parquet": True}, "verified")
    assert report["revocation"].startswith("not revoked")
    (unchecked,) = report["unchecked"]
    assert "not installed: ranges" in unchecked
    assert "pip install 'surebox-verify[ranges]'" in unchecked

    done = run("verify", "release.parquet", *options, "--revocations", "revoked.json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (1, "refuted")
    done = run("verify", "changed.parquet", "--certificate", "release.parquet.dsse.json", "--keys", "jwks.json")
    assert done.returncode == 1
    assert "NOT as certified" in done.stdout
    (tmp_path / "others.json").write_bytes(Issuer.new().key_set())
    assert run("verify", "release.parquet", "--keys", "others.json").returncode == 1
    done = run("certify", "release.parquet", "--statistic", "mean(age)")
    assert (done.returncode, "pip install 'surebox-verify[ranges]'" in done.stderr) == (2, True)
