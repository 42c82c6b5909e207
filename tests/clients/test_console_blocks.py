"""Each `console` block of a page is run as it is printed, except targets of make, which have a reason."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.guides import unlike
from tests.clients.test_command_line import write_people
from tests.clients.test_recipes import environment
from tests.meta.project import ROOT, tracked
from tests.service import Service

#: Why a target of make is looked up, and not run, by this test.
REASONS = {
    "make demo": "it starts a service and computes for a minute; tests/embedded runs it",
    "make serve": "it serves until it is ended; tests/embedded runs the command",
    "make test": "it would run this test",
    "make check": "`.ci/run` runs it",
}
FENCED = re.compile(r"^```console[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{path.relative_to(ROOT)}-{number}")
    for path in tracked("*.md")
    for number, block in enumerate(FENCED.findall(path.read_text(encoding="utf-8")))
]


def steps(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block with the lines that it shows after each; without prompts every line is a command."""
    lines = [line for line in block.splitlines() if line.strip()]
    if not any(line.startswith("$ ") for line in lines):
        return [(line.partition("  #")[0].strip(), []) for line in lines]
    shown: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            shown.append((line[2:].strip(), []))
        else:
            shown[-1][1].append(line)
    return shown


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs_as_it_is_printed(service: Service, tmp_path: Path, block: str) -> None:
    write_people(tmp_path / "people.csv", seed=91)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    mine = environment(service, tmp_path, f"console-{tmp_path.name}")
    for command, shown in steps(block):
        if command.startswith("make "):
            assert command in REASONS, command
            looked_up = subprocess.run(
                ["make", "--dry-run", command.split()[1]], cwd=ROOT, capture_output=True, check=False
            )
            assert looked_up.returncode == 0, command
            continue
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=mine, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, (command, done.stderr)
        assert unlike([line for line in shown if line != "…"], done.stdout + done.stderr) == [], command


def test_prompts_part_commands_from_what_they_print() -> None:
    assert steps("$ one --a\nfirst\nsecond\n$ two\n") == [("one --a", ["first", "second"]), ("two", [])]
    assert steps("one   # why\ntwo\n") == [("one", []), ("two", [])]
