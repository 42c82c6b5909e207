"""The command line as tests call it: in this process where nothing is to be shown of a process, else as a program."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from surebox_client.commands.main import run

PROGRAM = Path(sys.executable).with_name("surebox")


@dataclass(frozen=True)
class Done:
    """How a command has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """Calls commands in one folder, for one owner."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Done:
        self._capsys.readouterr()
        try:
            code = run(arguments)
        except SystemExit as end:  # argparse: help and mistakes
            code = int(end.code or 0)
        out, err = self._capsys.readouterr()
        return Done(code, out, err)


def program(*arguments: str, cwd: Path, **environment: str) -> "subprocess.Popen[str]":
    """The program itself, with nothing of ours in its environment."""
    return subprocess.Popen(
        [PROGRAM, *arguments], cwd=cwd, env=bare(environment), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def bare(more: Mapping[str, str]) -> dict[str, str]:
    ours = ("SUREBOX_", "DATABASE_URL", "REDIS_URL", "STORAGE_URL", "XDG_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | dict(more)
