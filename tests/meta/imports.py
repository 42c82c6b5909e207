"""Which modules of the product import which, read from their text: imports inside of functions count too."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.meta.project import ROOT, tracked


@cache
def modules() -> Mapping[str, Path]:
    """The files of the product's modules by dotted name, but for `__init__.py`, which are empty."""
    paths = (path.relative_to(ROOT) for path in tracked("app/*.py", "workers/*.py", "verify/*.py"))
    return {
        ".".join(path.with_suffix("").parts[path.parts[0] == "verify" :]): ROOT / path
        for path in paths
        if path.name != "__init__.py"
    }


@cache
def importers() -> Mapping[str, frozenset[str]]:
    """The modules that import each module."""
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for name, path in modules().items():
        for imported in _imports(path.read_text()):
            if imported in graph:
                graph[imported].add(name)
    return {name: frozenset(each) for name, each in graph.items()}


def _imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
