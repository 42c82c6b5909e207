"""The Python client as it is handed out: its page, its types, its wheel."""

import ast
import email
import io
import re
import shutil
import subprocess
import sys
import tokenize
import zipfile
from pathlib import Path

import pytest

from surebox_client import Surebox, local
from tests.clients.people import PEOPLE
from tests.meta.project import ROOT
from tests.service import Service, bare_environment

CLIENT = ROOT / "openapi" / "sdk" / "python"
README = (CLIENT / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
#: Started by an example of its own; it is tested where nothing else runs.
OF_A_FOLDER = "with local("


@pytest.fixture(scope="module")
def key(service: Service) -> str:
    return service.new_key("sdk-readme")


@pytest.mark.parametrize("number", [at for at, each in enumerate(EXAMPLES) if OF_A_FOLDER not in each])
def test_an_example_of_the_page_runs(
    number: int, key: str, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUREBOX_URL", service.address)
    monkeypatch.setenv("SUREBOX_API_KEY", key)
    (tmp_path / "people.csv").write_bytes(PEOPLE)
    exec(compile(EXAMPLES[number], f"example {number}", "exec"), {"__name__": "__main__"})


def test_examples_are_typed(tmp_path: Path) -> None:
    """And a keyword that no method has is an error, as is one that is missing."""
    for number, example in enumerate(EXAMPLES):
        (tmp_path / f"example_{number}.py").write_text(example)
    wrong = (
        "from surebox_client import Surebox\n\n"
        "Surebox().boxes('ds_1', quasi_identifiers=['age'], k=5, kay=5)\n"
        "Surebox().boxes('ds_1', quasi_identifiers=['age'])\n"
    )
    (tmp_path / "wrong.py").write_text(wrong)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    files = [str(path) for path in sorted(tmp_path.glob("*.py"))]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, timeout=500)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 2, done.stdout
    assert all(f"wrong.py:{line}" in error for line, error in zip((3, 4), errors, strict=True)), done.stdout


def test_no_type_has_a_number_for_a_name() -> None:
    """The generator numbers what the document leaves unnamed."""
    types = (CLIENT / "surebox_client" / "_generated" / "types.py").read_text()
    names = re.findall(r"^(?:class )?(\w+)(?:\(TypedDict\)|: TypeAlias)", types, re.MULTILINE)
    assert len(names) > 300
    assert not [name for name in names if name[-1].isdigit()]


def code_lines(path: Path) -> int:
    """Lines of a module that hold code: not blank, not a comment, not part of a docstring."""
    text = path.read_text()
    documented = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = [each for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type not in silent]
    return len({line for each in tokens for line in range(each.start[0], each.end[0] + 1)} - documented)


def test_what_is_written_by_hand_over_the_types_stays_small() -> None:
    """Of the client itself, without its command line (`commands/`) and without what `make sdk` writes."""
    package = CLIENT / "surebox_client"
    written = {line.split('"')[1] for line in (CLIENT / "generate.py").read_text().splitlines() if '.py": ' in line}
    assert "blocking.py" in written
    by_hand = [path for path in package.glob("*.py") if path.name not in written]
    assert sum(map(code_lines, by_hand)) <= 1_100


def test_the_wheel_is_small_and_has_what_it_needs(tmp_path: Path) -> None:
    source = shutil.copytree(CLIENT, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 200_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(metadata))
    assert {name.split("/")[0].split("-")[0] for name in names} == {"surebox_client"}
    assert "surebox_client/py.typed" in names
    needed = [each for each in about.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert sorted(re.split(r"[<>=]", each)[0] for each in needed) == ["httpx", "httpx-sse"]
    assert about["Requires-Python"] == ">=3.11"


def test_the_client_is_imported_without_what_it_does_not_need() -> None:
    code = "import sys, surebox_client; print(*{part for each in sys.modules for part in (each, each.split('.')[0])})"
    environment = bare_environment(PYTHONPATH=str(CLIENT))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    heavy = {"httpx", "asyncio", "ssl", "polars", "pandas", "pyarrow", "numpy", "surebox_verify", "dataclasses"}
    assert not heavy & set(done.stdout.split()), "imported where they are used: what takes long is not for --help"
    assert "surebox_client._generated.types" not in done.stdout


def test_the_service_of_a_folder_that_runs_is_joined_and_goes_on(service: Service) -> None:
    with local(service.folder) as sb:
        assert sb.url == service.address
        assert sb.get("/v1/owner")["owner"]
    with Surebox(service.address, key=service.key) as sb:
        assert sb.get("/readyz")
