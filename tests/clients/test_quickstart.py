"""README and quickstart: their shell lines do what they say in a fresh shell, and again in another."""

import csv
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.commands import PROGRAM
from tests.clients.guides import (
    blocks_of,
    differences,
    documents_in,
    run_blocks,
    see_as_an_owner,
    shell,
    shorthands,
    shown_after,
)
from tests.meta.project import ROOT
from tests.service import Service

BLOCKS = blocks_of("docs/tutorials/quickstart.md")


@pytest.fixture(scope="module")
def pasted(service: Service, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """A folder after all lines of the guide have run in it in two shells, and what each block printed each time."""
    folder = tmp_path_factory.mktemp("quickstart")
    return folder, [run_blocks(BLOCKS, service, folder) for _ in range(2)]


def test_the_second_time_makes_a_job_and_a_release_of_its_own(pasted: tuple[Path, list[list[str]]]) -> None:
    first, second = (json.loads(output(one, 'ended "$JOB"\nask "$URL/v1/jobs/$JOB"')) for one in pasted[1])
    assert (first["state"], second["state"]) == ("succeeded", "succeeded")
    assert first["id"] != second["id"]
    assert first["release_id"] != second["release_id"]


def test_every_answer_that_the_guide_shows_comes_back(pasted: tuple[Path, list[list[str]]]) -> None:
    shown = shown_after("docs/tutorials/quickstart.md")
    assert len(shown) >= 5
    for printed in pasted[1]:
        for number, answer in shown.items():
            tried = [differences(answer, document) for document in documents_in(printed[number])]
            assert [] in tried, (BLOCKS[number], tried)


def test_the_release_is_what_the_guide_promises(pasted: tuple[Path, list[list[str]]]) -> None:
    folder = pasted[0]
    with (folder / "people.csv").open() as people, (folder / "release.csv").open() as release:
        given, published = list(csv.DictReader(people)), list(csv.DictReader(release))
    assert len(published) == len(given)
    assert list(published[0])[:3] == ["box", "age_lo", "age_hi"]
    for row in given[:50]:
        inside = [each for each in published if all(holds(each, name, row[name]) for name in row)]
        assert len({each["box"] for each in inside}) >= 1
        assert len(inside) >= 5


def holds(row: dict[str, str], name: str, value: str) -> bool:
    return float(row[f"{name}_lo"]) <= float(value) <= float(row[f"{name}_hi"])


def test_the_true_value_is_in_the_result_and_in_no_answer_of_the_release(pasted: tuple[Path, list[list[str]]]) -> None:
    for printed in pasted[1]:
        statistic = json.loads(output(printed, "$URL/v1/jobs/$JOB/result"))["statistics"][0]
        low, high = statistic["guaranteed"]
        assert low <= statistic["true_value"] <= high
        published = output(printed, "$URL/v1/releases/$RELEASE/statistics")
        assert str(statistic["estimate"]) in published
        assert "true_value" not in published
        assert str(statistic["true_value"]) not in published


def test_the_refusal_says_what_would_work(pasted: tuple[Path, list[list[str]]]) -> None:
    problem = json.loads(output(pasted[1][1], '\\"k\\": 5000'))
    assert problem["status"] == 422
    assert [error["pointer"] for error in problem["errors"]] == ["/k"]
    assert "the largest k is 2000" in problem["detail"]


def test_a_key_is_made_each_time_and_listed(pasted: tuple[Path, list[list[str]]]) -> None:
    block = output(pasted[1][1], "keys create")
    assert len(re.findall(r"\bportal\b", block)) >= 2


def test_the_lines_work_where_the_program_is_on_the_path_and_no_checkout_is_there(
    service: Service, tmp_path: Path
) -> None:
    see_as_an_owner(service, tmp_path)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "surebox").symlink_to(PROGRAM)
    run_blocks(["PATH=$PWD/programs:$PATH\n", *BLOCKS], service, tmp_path)
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_no_guide_calls_a_program_by_the_place_that_only_a_checkout_has(page: Path) -> None:
    assert ".venv/bin/surebox" not in page.read_text(encoding="utf-8")


def test_a_problem_is_shown_where_a_pipe_would_swallow_it(service: Service, tmp_path: Path) -> None:
    upload = next(block for block in BLOCKS if "people.csv" in block)
    done = shell(f"{shorthands()}\nKEY=wrong\n{upload}", service, tmp_path)
    assert '"status":401' in done.stderr.replace(" ", "")
    assert "Traceback" not in done.stderr


def test_waiting_for_a_job_that_cannot_be_asked_for_ends_with_the_problem(service: Service, tmp_path: Path) -> None:
    done = shell(f"{shorthands()}\nended job_{'0' * 24} && echo reached", service, tmp_path)
    assert '"status":404' in done.stderr.replace(" ", "")
    assert "reached" not in done.stdout


def test_the_request_of_the_readme_is_answered_as_it_shows(service: Service, tmp_path: Path) -> None:
    blocks = blocks_of("README.md")
    for _ in range(2):
        (printed,) = run_blocks(blocks, service, tmp_path)
        answer = json.loads(printed.splitlines()[-1])
        assert (answer["state"], answer["result"]["released"]) == ("succeeded", 31857)
        assert {"id", "kind", "method", "release_id"} <= set(answer)
        for statistic in answer["result"]["statistics"]:
            assert statistic["guaranteed"][0] <= statistic["true_value"] <= statistic["guaranteed"][1]


def test_every_other_line_of_code_names_a_target_of_make_that_exists() -> None:
    for guide in ("README.md", "docs/tutorials/quickstart.md"):
        text = (ROOT / guide).read_text()
        fenced = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        lines = [line for language, block in fenced if not language for line in block.splitlines()]
        targets = [*lines, *re.findall(r"`(make \w+)`", text)]
        assert all(re.fullmatch(r"make \w+", line) for line in targets), targets
        done = subprocess.run(
            ["make", "--dry-run", *(line.split()[1] for line in targets)], cwd=ROOT, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


def output(printed: list[str], line: str) -> str:
    """What the block with these words printed."""
    (number,) = (number for number, block in enumerate(BLOCKS) if line in block)
    return printed[number]
