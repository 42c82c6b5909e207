"""OpenAPI Generator, on the committed document, and the compilers of what it makes."""

import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

import pytest

from tests.meta.project import ROOT

JAR = str(files("openapi_generator_cli") / "openapi-generator.jar")


def missing(what: str) -> NoReturn:
    """Skip a test for want of a compiler; where everything should be tried, fail."""
    if os.environ.get("CI") == "1":
        pytest.fail(f"{what} is not on this machine")
    pytest.skip(f"{what} is not on this machine")


def tool(name: str) -> str:
    """The path of a program that is on this machine."""
    return shutil.which(name) or missing(name)


def generate(language: str, folder: Path) -> None:
    """Write a client in this language, or by a configuration of `openapi/`; skips the test where there is no Java."""
    configured = ROOT / "openapi" / f"openapi-generator-{language}.yaml"
    chosen = ["-c", str(configured)] if configured.exists() else ["-g", language]
    command = [tool("java"), "-jar", JAR, "generate", "-i", str(ROOT / "openapi" / "openapi.json"), *chosen]
    command += ["-o", str(folder), "--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"]
    run(command, folder.parent)


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Run a program to its end; what it prints, which goes with a failure."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
    return done.stdout
