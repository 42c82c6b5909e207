"""The three distributions: each is built from the checkout, and complete but for other packages."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.meta.project import ROOT, tracked
from tests.service import bare_environment

SOURCES = {"surebox": ".", "surebox_verify": "verify", "surebox_client": "openapi/sdk/python"}
#: Scripts of the three, each with a word of its help.
SCRIPTS = {"surebox": "anonymize", "surebox-verify": "certificate", "surebox-certify": "range"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each wheel by its name, as `make wheels` builds it, of a copy of the project."""
    folder = tmp_path_factory.mktemp("wheels")
    for path in tracked():
        target = folder / "project" / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    subprocess.run([sys.executable, "docs/guide.py"], cwd=folder / "project", check=True, timeout=120)
    for source in SOURCES.values():
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        subprocess.run(command, cwd=folder / "project" / source, check=True, capture_output=True, timeout=120)
    return {path.name.split("-")[0]: path for path in folder.glob("*.whl")}


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


@pytest.mark.parametrize("script", SCRIPTS)
def test_their_commands_start(installed: Path, script: str) -> None:
    command = [installed / "bin" / script, "--help"]
    done = subprocess.run(command, cwd=installed, env=bare_environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert SCRIPTS[script] in done.stdout
