"""Scripts outside the packages still find what they import: benchmarks, and what makes the documents' pictures."""

import runpy

import pytest

from tests.meta.project import ROOT

SCRIPTS = sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "docs").glob("*.py")])


@pytest.mark.parametrize("script", [path.relative_to(ROOT).as_posix() for path in SCRIPTS])
def test_a_script_can_be_loaded(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / script
    monkeypatch.syspath_prepend(str(path.parent))
    runpy.run_path(str(path), run_name="loaded")
