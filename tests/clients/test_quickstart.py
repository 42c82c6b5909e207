"""The guide's shell lines, run as they stand against a running service."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import ROOT
from tests.service import Service, bare_environment

BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs/quickstart.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after all lines of the guide have run in it, in one shell, each block's output in a file of its own."""
    folder = tmp_path_factory.mktemp("quickstart")
    (folder / ".surebox").symlink_to(service.folder)
    lines = [f"exec > block-{number}.txt\n{block}" for number, block in enumerate(BLOCKS)]
    script = "set -eu -o pipefail\n" + "\n".join(lines)
    script = script.replace("http://127.0.0.1:8000", service.address)
    path = f"{Path(sys.executable).parent}:{bare_environment()['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=bare_environment(PATH=path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    outputs = {each.name: each.read_text() for each in folder.glob("block-*.txt")}
    assert done.returncode == 0, f"{done.stderr}\n{outputs}"
    return folder


def test_the_release_is_what_the_guide_promises(folder: Path) -> None:
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


def test_the_true_value_is_in_the_result_and_in_no_answer_of_the_release(folder: Path) -> None:
    statistic = json.loads(output(folder, "$URL/v1/jobs/$JOB/result"))["statistics"][0]
    low, high = statistic["guaranteed"]
    assert low <= statistic["true_value"] <= high
    published = output(folder, "$URL/v1/releases/$RELEASE/statistics")
    assert str(statistic["estimate"]) in published
    assert "true_value" not in published
    assert str(statistic["true_value"]) not in published


def test_the_refusal_says_what_would_work(folder: Path) -> None:
    problem = json.loads(output(folder, '\\"k\\": 5000'))
    assert problem["status"] == 422
    assert [error["pointer"] for error in problem["errors"]] == ["/k"]
    assert "the largest k is 2000" in problem["detail"]


def output(folder: Path, line: str) -> str:
    """What the block with this line printed."""
    (number,) = (number for number, block in enumerate(BLOCKS) if line in block)
    return (folder / f"block-{number}.txt").read_text()
