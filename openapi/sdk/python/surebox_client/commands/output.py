"""What a command says: paths and JSON on standard output, all else on standard error."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any


def say(line: str) -> None:
    """Tell a person something, apart from the command's output."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def quiet(_line: str) -> None:
    """Say nothing: progress, where only what is wrong is to be read."""


def print_path(path: object) -> None:
    """Print where a file is."""
    sys.stdout.write(f"{path}\n")
    sys.stdout.flush()


def print_json(value: object) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_lines(values: Iterable[Mapping[str, Any]]) -> None:
    """Print a JSON object a line."""
    for value in values:
        sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> list[str]:
    """Lines of a table: the first column and texts to the left, numbers to the right."""
    cells = [head, *[tuple("" if cell is None else str(cell) for cell in row) for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    right = [column > 0 and all(_is_number(row[column]) for row in cells[1:]) for column in range(len(head))]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).replace("%", "").replace(",", "").strip().isdigit() or not text
