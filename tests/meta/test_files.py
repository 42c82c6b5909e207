"""House rules that a file can break: length, name, place, and what must never be committed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.meta.project import ROOT, tracked

FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base_utils", "tools"}
MACHINE = re.compile(
    r"(?<![\w.$}])/(?:root|home|Users|work|mnt)/\w"  # a path of somebody's machine
    r"|--(?:extra-)?index\b|--index-url|--find-links|@ file:"  # where somebody's packages came from
)
TOP = {
    ".ci", ".devcontainer", ".dockerignore", ".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
    "Dockerfile", "LICENSE",
    "Makefile", "README.md", "SECURITY.md", "app", "benchmarks", "docker-compose.yml", "docs", "migrations", "openapi",
    "pyproject.toml", "requirements", "tests", "verify", "workers",
}  # fmt: skip
KERNEL = re.compile("jit|kernel")
Function = ast.FunctionDef | ast.AsyncFunctionDef
SOURCES = [path for path in tracked("*.py") if not {"versions", "_generated", "blocking.py"} & set(path.parts)]
#: The client's names are imported from its package, as users of one expect.
FRONT = ROOT / "openapi" / "sdk" / "python" / "surebox_client" / "__init__.py"
PRODUCT = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in {"app", "workers", "verify"}]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_module_is_short_and_named_for_what_it_does() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCES}
    assert {path.parts[len(ROOT.parts)] for path in SOURCES} >= {"app", "workers", "verify", "tests", "benchmarks"}
    assert ROOT / "app/main.py" in lengths
    assert not [named(path) for path, lines in lengths.items() if lines > 500], "two jobs in one room: divide it"
    assert not [named(path) for path in SOURCES if path.stem in FORBIDDEN_NAMES]
    run = [named(path) for path, lines in lengths.items() if path.name == "__init__.py" and lines and path != FRONT]
    assert not run, "an import must not run code nobody sees"


def functions(path: Path) -> Iterator[Function]:
    """Every function of a module but Numba kernels: one kernel is one equation block."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, Function) and not any(KERNEL.search(ast.unparse(each)) for each in node.decorator_list):
            yield node


def body_lines(function: Function) -> int:
    """Lines of a function after its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_a_function_fits_a_screen() -> None:
    lengths = {(named(path), one.name): body_lines(one) for path in PRODUCT for one in functions(path)}
    assert len(lengths) > 2_000
    assert not {where: lines for where, lines in lengths.items() if lines > 40}


def test_nothing_lies_in_the_checkout_that_does_not_belong_there() -> None:
    """A test that writes where it happens to run leaves a file beside these, and a commit of all takes it along."""
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} == TOP


def test_nothing_committed_names_a_machine() -> None:
    matches = []
    for path in tracked():
        if path.suffix in {".parquet", ".png", ".gz", ".zip"} or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if MACHINE.search(line):
                matches.append(f"{named(path)}:{number}: {line.strip()[:100]}")
    assert not matches


def test_the_machine_pattern_finds_what_it_is_for() -> None:
    home = "/" + "root"
    assert MACHINE.search(f"open({home}/data.csv)")
    assert MACHINE.search("--index" + "-url https://example.org/simple")
    assert not MACHINE.search("/v1/jobs and ../shared/data and $HOME/work/x")
