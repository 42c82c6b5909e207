"""The three distributions: each is built from the checkout, and complete but for other packages."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.meta.project import ROOT, tracked
from tests.service import bare_environment

SOURCES = {"surebox": ".", "surebox_verify": "verify", "surebox_client": "openapi/sdk/python"}
#: Scripts of the three, each with a word of its help.
SCRIPTS = {"surebox": "anonymize", "surebox-verify": "certificate", "surebox-certify": "range"}


def built(project: Path, at: int | None = None, **environment: str) -> dict[str, Path]:
    """Each wheel by its name, as `make wheels` builds it of a copy of the project in a folder."""
    for path in tracked():
        target = project / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        shutil.copymode(path, target)
        if at is not None:
            os.utime(target, (at, at))
    command = ["make", "wheels", f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.dev"]  # it has all that building takes
    done = subprocess.run(
        command, cwd=project, env=bare_environment(**environment), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name.split("-")[0]: path for path in (project / "dist").glob("*.whl")}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels of the checkout."""
    return built(tmp_path_factory.mktemp("wheels") / "project")


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the three wheels; what they need comes from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("fresh") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{bare_environment()['PATH']}")
    python = str(folder / "bin" / "python")
    if uv is None:
        install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
    else:
        install = [uv, "pip", "install", "--quiet", "--offline", "--no-index", "--no-deps", "--python", python]
    subprocess.run([*install, *map(str, wheels.values())], check=True, capture_output=True, timeout=120)
    (packages / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return folder


def test_there_are_three_and_the_services_has_the_guide(wheels: dict[str, Path]) -> None:
    assert wheels.keys() == SOURCES.keys()
    with zipfile.ZipFile(wheels["surebox"]) as archive:
        names = set(archive.namelist())
    assert {"app/guide/index.html", "app/guide/search.json", "app/guide/explanation/science.html"} <= names
    assert not [name for name in names if name.startswith(("tests", "docs", "benchmarks")) or name.endswith(".pyc")]
    assert wheels["surebox"].stat().st_size < 4_000_000


def test_the_schema_of_certificates_is_in_the_readers_wheel(installed: Path) -> None:
    command = [installed / "bin" / "surebox-verify", "--schema"]
    done = subprocess.run(command, cwd=installed, env=bare_environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "verify" / "surebox_verify" / "certificate.schema.json").read_text()


def test_they_are_the_same_bytes_whenever_and_wherever_they_are_built(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Another folder, time zone, language, order of hashes, umask and date of each file; all of which one shell has."""
    before = os.umask(0o077)
    try:
        elsewhere = {
            "TZ": "Pacific/Kiritimati",
            "LC_ALL": "C",
            "PYTHONHASHSEED": "7",
            "SOURCE_DATE_EPOCH": "1700000000",
        }
        again = built(tmp_path / "a folder" / "further down", at=1_000_000_000, **elsewhere)
    finally:
        os.umask(before)
    assert {name: path.name for name, path in again.items()} == {name: path.name for name, path in wheels.items()}
    for name, path in wheels.items():
        assert contents(again[name]) == contents(path)
        assert hashlib.sha256(again[name].read_bytes()).digest() == hashlib.sha256(path.read_bytes()).digest()


def contents(wheel: Path) -> dict[str, str]:
    """SHA-256 of each file in a wheel: what differs is named by a test that fails."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_they_import_from_their_wheels(installed: Path) -> None:
    code = (
        "import app.main, workers.celery_app, migrations, surebox_core.statistics, surebox_verify.cli, surebox_client\n"
        "from app.api.guide import FOLDER\n"
        "assert (FOLDER / 'index.html').is_file()\n"
        "for each in (app, workers, surebox_core, surebox_verify, surebox_client): print(each.__file__)"
    )
    done = subprocess.run(
        [installed / "bin" / "python", "-P", "-c", code],
        cwd=installed,
        env=bare_environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    files = done.stdout.split()
    assert len(files) == 5
    assert all(Path(file).is_relative_to(installed) for file in files)


def test_they_have_one_version_and_say_it_everywhere(installed: Path) -> None:
    """Commands, `User-Agent`, the document, certificates and provenance: of what is installed, not of a checkout."""
    code = (
        "import json\n"
        "from importlib.metadata import version\n"
        "from app.api.openapi import document\n"
        "from surebox_client.http import settings\n"
        "from workers.engine.ending.provenance import versions\n"
        "said = {each: version(each) for each in ('surebox', 'surebox-verify', 'surebox-client')}\n"
        "agent = settings('http://localhost', None, None, 1)['headers']['User-Agent']\n"
        "said['agent'] = agent.removeprefix('surebox-client/')\n"
        "said['document'] = document()['info']['version']\n"
        "said['provenance'] = versions()['surebox']\n"
        "print(json.dumps(said))"
    )
    said = json.loads(of_installed(installed, "python", "-P", "-c", code))
    said |= {script: of_installed(installed, script, "--version").split()[1] for script in SCRIPTS}
    assert set(said.values()) == {tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]}
    assert json.loads(of_installed(installed, "surebox", "openapi")) == json.loads(
        (ROOT / "openapi" / "openapi.json").read_text()
    )


def of_installed(installed: Path, *command: str) -> str:
    """Run a command of the fresh environment; returns its output."""
    done = subprocess.run(
        [installed / "bin" / command[0], *command[1:]],
        cwd=installed,
        env=bare_environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_their_commands_start(installed: Path, script: str) -> None:
    command = [installed / "bin" / script, "--help"]
    done = subprocess.run(command, cwd=installed, env=bare_environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert SCRIPTS[script] in done.stdout
