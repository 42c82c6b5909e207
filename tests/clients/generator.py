"""OpenAPI Generator, on the committed document."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tests.meta.project import ROOT


def generate(language: str, folder: Path) -> None:
    """Write a client in this language; skips the test where there is no Java."""
    java = shutil.which("java")
    if java is None:
        pytest.skip("no Java runtime (17 or newer) is on this machine")
    jar = str(files("openapi_generator_cli") / "openapi-generator.jar")
    document = str(ROOT / "openapi" / "openapi.json")
    command = [java, "-jar", jar, "generate", "-i", document, "-g", language, "-o", str(folder)]
    command += ["--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
