"""Pages that run: tutorials, how-to pages and reference, block by block, with what they show."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.contracts.statistics import ARITY, StatisticKind
from surebox_verify.cli import certify
from tests.clients.guides import blocks_of, lines_after, run_blocks, unlike
from tests.meta.project import ROOT
from tests.service import Service, bare_environment

ANALYSIS = "docs/how-to/analyse-a-release.md"
AUDIT = "docs/tutorials/audit-a-table.md"
MOVES = ("docs/how-to/move-from-arx.md", "docs/how-to/move-from-sdcmicro.md")
TYPES = "docs/reference/column-types.md"
SENSITIVE = "docs/how-to/protect-a-sensitive-column.md"
STATISTICS = ROOT / "docs/reference/statistics.md"


def in_language(page: str, language: str) -> list[tuple[str, list[str]]]:
    """Blocks of a language, each with the lines that the page shows after it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pattern = rf"^```{language}\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?"
    return [(code, shown.splitlines()) for code, shown in re.findall(pattern, text, re.MULTILINE | re.DOTALL)]


@pytest.fixture(scope="module")
def analysed(service: Service, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with the release of the page on analysis, and what its shell blocks have printed."""
    folder = tmp_path_factory.mktemp("analysis")
    return folder, run_blocks(blocks_of(ANALYSIS), service, folder)


def run(command: list[str], folder: Path) -> str:
    environment = bare_environment(MPLCONFIGDIR=str(folder))
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_release_is_analysed_in_python(analysed: tuple[Path, list[str]]) -> None:
    folder, printed = analysed
    shown = in_language(ANALYSIS, "sh")[1][1][:3]
    assert unlike([line.replace("[", "") for line in shown], printed[1].replace("[", "")) == []
    blocks = in_language(ANALYSIS, "python")
    assert len(blocks) == 5
    outputs = [run([sys.executable, "-c", code], folder) for code, _ in blocks]
    for (code, shown), output in zip(blocks, outputs, strict=True):
        if "corr(" not in code:  # the middles' correlation is what chance makes of it
            assert unlike(shown, output) == []
    middles, lower, upper, true = map(float, re.findall(r"-?\d+\.\d+", outputs[2]))
    assert lower <= true <= upper
    assert middles < true - 0.02
    assert (folder / "income.png").stat().st_size > 5_000


def test_duckdb_has_the_bounds_of_the_others(analysed: tuple[Path, list[str]]) -> None:
    import duckdb
    import polars as pl

    folder, _ = analysed
    ((query, _),) = in_language(ANALYSIS, "sql")
    rows = pl.read_parquet(folder / "survey.parquet")
    bounds = duckdb.sql(query.replace("survey.parquet", str(folder / "survey.parquet"))).fetchall()
    must = sum(jobs == ["nurse"] for jobs in rows["job_set"].to_list())
    may = sum("nurse" in jobs for jobs in rows["job_set"].to_list())
    assert bounds == [(pytest.approx(rows["income_lo"].mean()), pytest.approx(rows["income_hi"].mean()), must, may)]


def test_r_has_the_bounds_of_the_others(analysed: tuple[Path, list[str]]) -> None:
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("no R is on this machine: the page's block for R was not run")
    folder, _ = analysed
    ((code, _),) = in_language(ANALYSIS, "r")
    ((_, shown),) = [block for block in in_language(ANALYSIS, "python") if "import pandas" in block[0]][:1]
    (folder / "block.R").write_text(code, encoding="utf-8")
    assert unlike(shown, run([program, "--vanilla", "block.R"], folder)) == []


def test_every_kind_of_statistic_is_in_the_table_as_it_is_computed(
    analysed: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Kinds and numbers of columns are the code's; each example has a range, sharp where the table calls it exact."""
    folder, _ = analysed
    rows = re.findall(
        r"^\| `(\w+)` \| (.+?) \| (\d)(?: or more)?: .+? \| (.+?) \|", STATISTICS.read_text(), re.MULTILINE
    )
    assert {StatisticKind(kind): int(columns) for kind, _, columns, _ in rows} == {
        kind: least for kind, (least, _) in ARITY.items()
    }
    for kind, written, _, certainty in rows:
        for example in re.findall(r"`([^`]+)`", written):
            with pytest.raises(SystemExit) as ended:
                certify([str(folder / "survey.parquet"), "--json", "--statistic", example])
            assert ended.value.code == 0
            answers = json.loads(capsys.readouterr().out)["statistics"]
            assert answers, example
            for answer in answers:
                assert answer["kind"] == kind
                assert answer["guaranteed"] is not None, example
                assert not (certainty.startswith("exact") and "rounding" not in certainty) or answer["sharp"], example


def test_a_table_is_audited(service: Service, tmp_path: Path) -> None:
    printed = run_blocks([f"exec 2>&1\n{block}" for block in blocks_of(AUDIT)], service, tmp_path)
    shown = lines_after(AUDIT)
    assert len(shown) == 3
    for number, lines in shown.items():
        assert unlike(lines, printed[number]) == [], printed


@pytest.mark.parametrize("page", [*MOVES, TYPES, SENSITIVE])
def test_a_page_runs_and_prints_what_it_shows(service: Service, tmp_path: Path, page: str) -> None:
    printed = run_blocks(blocks_of(page), service, tmp_path)
    for number, lines in lines_after(page).items():
        assert all(line in printed[number].splitlines() for line in lines)


@pytest.mark.parametrize("page", MOVES)
def test_names_of_a_crosswalk_are_those_of_the_contract(page: str) -> None:
    """A row of the crosswalk leads to fields, methods and audits that the document has."""
    document = (ROOT / "openapi/openapi.json").read_text(encoding="utf-8")
    known = set(re.findall(r'"([a-z_0-9]+)"', document))
    rows = re.findall(r"^\| (.+?) \| (.+?) \| ?.*\|$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for _, here in rows for name in re.findall(r"`(\w+)`", here)} - {"k"}
    assert len(named) > 12
    assert named <= known
