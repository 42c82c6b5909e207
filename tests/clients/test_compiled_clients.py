"""Clients in Go and Java as OpenAPI Generator makes them: they compile, and drive the service."""

import os
import shutil
from pathlib import Path

import pytest

from tests.clients.generator import JAR, generate, missing, run, tool
from tests.service import Service

HERE = Path(__file__).parent
#: Where Debian has sources of Go's packages; the client needs one (golang-gopkg-validator.v2-dev).
PACKAGES = Path("/usr/share/gocode")
#: What jakarta.annotation-api has of what the client uses; there is no package of it without a registry of Java's.
ANNOTATIONS = {
    "Nonnull": "public @interface Nonnull {}",
    "Nullable": "public @interface Nullable {}",
    "Generated": 'public @interface Generated { String[] value(); String comments() default ""; }',
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV of 500 people, with as many digits as a number has."""
    path = tmp_path / "people.csv"
    rows = "".join(f"{18 + row % 60},{1000 + (row * 7919) % 5003 / 7!r}\n" for row in range(500))
    path.write_text(f"age,wage\n{rows}")
    return path


def checked(service: Service, printed: str) -> None:
    """The estimate that a client printed is the one that the service states, to the last of its 17 digits."""
    release_id, estimate = printed.split()
    with service.client() as client:
        stated = client.get(f"/v1/releases/{release_id}/statistics").json()["statistics"][0]["estimate"]
    assert float(estimate) == stated
    assert stated != round(stated, 6), "a number that fewer digits state would show nothing"


def test_go(service: Service, table: Path, tmp_path: Path) -> None:
    go = tool("go")
    if not (PACKAGES / "src/gopkg.in/validator.v2").exists():
        missing("golang-gopkg-validator.v2-dev")
    sources = tmp_path / "go" / "src"
    generate("go", tmp_path / "made")
    sources.mkdir(parents=True)
    shutil.copytree(tmp_path / "made", sources / "surebox", ignore=shutil.ignore_patterns("test"))
    (sources / "drive").mkdir()
    shutil.copy(HERE / "go" / "drive.go", sources / "drive")
    path = f"{tmp_path / 'go'}{os.pathsep}{PACKAGES}"
    cache = str(tmp_path / "cache")
    run(
        [go, "build", "-o", str(tmp_path / "drive"), "."],
        sources / "drive",
        GO111MODULE="off",
        GOPATH=path,
        GOCACHE=cache,
    )
    checked(service, run([str(tmp_path / "drive"), service.address, service.key, str(table)], tmp_path))


def test_java(service: Service, table: Path, tmp_path: Path) -> None:
    javac = tool("javac")
    generate("java", tmp_path / "made")
    annotations = tmp_path / "annotations" / "jakarta" / "annotation"
    annotations.mkdir(parents=True)
    for name, declared in ANNOTATIONS.items():
        (annotations / f"{name}.java").write_text(f"package jakarta.annotation;\n{declared}\n")
    sources = [*(tmp_path / "made/src/main/java").rglob("*.java"), *annotations.iterdir(), HERE / "java" / "Drive.java"]
    (tmp_path / "sources").write_text("\n".join(map(str, sources)))
    run([javac, "-nowarn", "-proc:none", "-d", "classes", "-cp", JAR, "@sources"], tmp_path)  # JAR has Jackson
    classes = f"classes{os.pathsep}{JAR}"
    checked(service, run([tool("java"), "-cp", classes, "Drive", service.address, service.key, str(table)], tmp_path))
