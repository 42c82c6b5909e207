"""The shell lines of a guide, pasted as they stand into a fresh shell beside a running service."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.meta.project import ROOT
from tests.service import Service


def blocks_of(guide: str) -> list[str]:
    """The shell blocks of a document that need nothing but the service."""
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / guide).read_text(), re.MULTILINE | re.DOTALL)


def shown_after(guide: str) -> dict[int, Any]:
    """Answers that a document shows in JSON, each by the number of the shell block that it comes right after."""
    text = (ROOT / guide).read_text()
    shown: dict[int, Any] = {}
    number = -1
    for language, block in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language == "json":
            shown[number] = json.loads(block)
        elif f"```sh\n{block}" in text:
            number += 1
    return shown


def lines_after(guide: str) -> dict[int, list[str]]:
    """Lines that a document shows as text or CSV, by the number of the shell block that they come right after."""
    text = (ROOT / guide).read_text()
    shown: dict[int, list[str]] = {}
    number = -1
    for language, block in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language in ("text", "csv"):
            lines = block.splitlines()
            shown[number] = lines[:1] if language == "csv" else [line for line in lines if line != "…"]
        elif f"```sh\n{block}" in text:
            number += 1
    return shown


def unlike(shown: list[str], printed: str) -> list[str]:
    """Lines of a document that are not among those printed; their numbers agree to a fifth."""
    return [line for line in shown if not any(_same_words(line, one) for one in printed.splitlines())]


def _same_words(shown: str, printed: str) -> bool:
    pairs = list(zip(shown.split(), printed.split(), strict=False))
    return len(shown.split()) == len(printed.split()) and all(_same_word(*pair) for pair in pairs)


def _same_word(shown: str, printed: str) -> bool:
    numbers = [re.fullmatch(r"(-?[0-9.]*[0-9])(\D*)", word) for word in (shown, printed)]
    if numbers[0] is None or numbers[1] is None or numbers[0].group(2) != numbers[1].group(2):
        return shown == printed
    one, other = (float(number.group(1)) for number in numbers if number is not None)
    return abs(one - other) <= 0.2 * max(abs(one), abs(other))


def documents_in(printed: str) -> list[Any]:
    """The JSON documents that a block has printed, one after the other."""
    place_of, documents = 0, []
    while (place_of := printed.find("{", place_of)) >= 0:
        document, place_of = json.JSONDecoder().raw_decode(printed, place_of)
        documents.append(document)
    return documents


def differences(shown: Any, answer: Any, place: str = "$") -> list[str]:
    """Where an answer is not what a document shows of it.

    A document shows some fields; `…` is the rest of a text or a list. Numbers follow from random cuts, so
    they agree to a fifth.
    """
    if isinstance(shown, dict) and isinstance(answer, dict):
        missing = [f"{place}.{name}: not in the answer" for name in shown if name not in answer]
        there = [name for name in shown if name in answer]
        return missing + [one for name in there for one in differences(shown[name], answer[name], f"{place}.{name}")]
    if isinstance(shown, list) and isinstance(answer, list):
        parts = shown[:-1] if shown[-1:] == ["…"] else shown
        if len(parts) > len(answer) or (parts == shown and len(shown) != len(answer)):
            return [f"{place}: {len(answer)} entries"]
        pairs = enumerate(zip(parts, answer, strict=False))
        return [one for index, (part, other) in pairs for one in differences(part, other, f"{place}[{index}]")]
    if isinstance(shown, str) and isinstance(answer, str) and "…" in shown:
        return [] if answer.startswith(shown.split("…")[0]) else [f"{place}: {answer!r}"]
    if type(shown) in (int, float) and type(answer) in (int, float):
        return [] if abs(shown - answer) <= 0.2 * max(abs(shown), abs(answer)) else [f"{place}: {answer}"]
    return [] if shown == answer and type(shown) is type(answer) else [f"{place}: {answer!r}"]


def shorthands() -> str:
    """The block of the quickstart that the other guides lean on."""
    return next(block for block in blocks_of("docs/tutorials/quickstart.md") if "field()" in block)


def run_blocks(blocks: list[str], service: Service, folder: Path) -> list[str]:
    """Run blocks in a fresh shell in one folder, stopping at the first that fails; what each has printed."""
    parts = [f"exec > block-{number}.txt\n{block}" for number, block in enumerate(blocks)]
    done = shell("set -eu -o pipefail\n" + "\n".join(parts), service, folder)
    printed = [(folder / f"block-{number}.txt") for number in range(len(blocks))]
    outputs = [each.read_text() for each in printed if each.exists()]
    assert done.returncode == 0, f"{done.stderr}\n{outputs}"
    return outputs


def see_as_an_owner(service: Service, folder: Path) -> None:
    """Show a service's folder with the key of an owner of its own: guides publish tables that are alike."""
    view = folder / ".surebox"
    view.mkdir(mode=0o700)
    for each in service.folder.iterdir():
        if each.name != "admin.key":
            (view / each.name).symlink_to(each)
    (view / "admin.key").write_text(service.new_key(f"guide.{folder.name}"), encoding="utf-8")


def shell(script: str, service: Service, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run lines in a bash that has an installation's folder and the system's programs, and nothing else."""
    if not (folder / ".surebox").exists():
        (folder / ".venv").symlink_to(sys.prefix)
        see_as_an_owner(service, folder)
    own = [each for each in os.environ["PATH"].split(":") if not Path(each).is_relative_to(sys.prefix)]
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script.replace("http://127.0.0.1:8000", service.address)],
        cwd=folder,
        env={"PATH": ":".join(own), "HOME": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
