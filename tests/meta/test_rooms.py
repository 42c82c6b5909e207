"""Few and full files: what one reads together stands together, and a method's own words in its own folder."""

from tests.meta.imports import importers, modules

#: Fewer lines than this are one module, where nobody but the other imports the one.
TOGETHER = 300
#: Pairs that stay apart: the module that has one importer, or the folder of such modules, and why.
APART = {
    "app.cli.main": "`python -m app.cli` needs a `__main__`, tests and the console script a module to import",
    "app.storage.s3": "imports obstore, which an installation without S3 does not have",
    "surebox_verify.cli": "`python -m surebox_verify` needs a `__main__`, the console script a module to import",
    "workers.methods.swaps.classifier_attack": "what an attacker does, beside the method that is attacked",
    "workers.methods.report.summary": "a section of the page, as `audits`, `attacks` and `words` are",
    "workers.methods.report.coverage": "a section of the owner's page, as `summary` is of every page",
    "workers.algorithms.boxes.partition.constraints": "a file for each privacy model, found by its name",
    "workers.preloading": "a program of its own: `surebox serve` imports it before it knows the broker of its workers",
    "surebox_core.lookalikes": "a table of characters, of which nobody reads a line",
    "workers.methods.table.whose_rows": "a question of its own, beside what is proposed",
    "workers.methods.table.kept_too": "a question of its own, about releases of this service alone",
    "workers.frames.upload.orders": "words that have an order, beside all that is said of an upload",
    "workers.methods.report.former_names": "a table, of which one reads a line where a result is older",
    "workers.engine.compiling": "a program of its own: workers that warm nothing do not load a compiler",
}


def lone_pairs() -> dict[str, str]:
    """Modules that only one module of their folder imports, and that one, where both are one short module."""
    lines = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    pairs = {name: next(iter(those)) for name, those in importers().items() if len(those) == 1}
    return {
        name: importer
        for name, importer in pairs.items()
        if name.rpartition(".")[0] == importer.rpartition(".")[0] and lines[name] + lines[importer] < TOGETHER
    }


def test_two_short_modules_of_which_one_is_read_with_the_other_are_one() -> None:
    pairs = {name: with_whom for name, with_whom in lone_pairs().items() if not name.startswith(tuple(APART))}
    assert pairs == {}, "merge, or say why not"
    assert all(any(name.startswith(apart) for name in modules()) for apart in APART)


def test_the_contracts_are_what_methods_share() -> None:
    """A word of one method stands in the folder of that method."""
    shared = {name: those for name, those in importers().items() if name.startswith("app.contracts.")}
    assert 10 < len(shared) <= 21
    rooms = {name: {_room(importer) for importer in those} for name, those in shared.items()}
    assert [name for name, those in rooms.items() if len(those) == 1 and those < METHODS] == []


def _room(name: str) -> str:
    """The method whose folder a module is in, on either side; of others the module itself."""
    parts = name.split(".")
    return parts[2] if parts[1] == "methods" and len(parts) == 4 else name


METHODS = {_room(name) for name in modules() if name.startswith("app.methods.") and name.count(".") == 3}
