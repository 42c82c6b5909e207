"""Options that commands share: where the service is, how a file is read, how long to wait."""

import argparse
import os
import shlex
from pathlib import Path
from typing import Any, Final

from surebox_client.commands.parsing import Parser, names, once, pair, seconds, setting

DATA_DIR: Final = Path(".surebox")
METAVAR_PAIR: Final = "NAME=VALUE"


def add_where(parser: Parser) -> None:
    """Where the command runs, and by which key."""
    group = parser.add_argument_group("where it runs (by default in a service on .surebox, started if need be)")
    place = group.add_mutually_exclusive_group()
    place.add_argument("--url", metavar="U", help="address of a service; or SUREBOX_URL")
    place.add_argument("--data-dir", type=Path, metavar="DIR", help="data folder of a service on this machine")
    group.add_argument("--key-file", type=Path, metavar="F", help="file of the API key; or SUREBOX_API_KEY, or a login")
    group.add_argument("--ca-file", type=Path, metavar="F", help="certificates to trust, in PEM")
    group.add_argument("--quiet", action="store_true", help="no progress, only what is wrong")


def add_reading(parser: Parser) -> None:
    """How a file is read; what is not said is recognised."""
    group = parser.add_argument_group("how the file is read")
    group.add_argument("--no-header", action="store_true", help="the first line is a record")
    group.add_argument(
        "--columns",
        action="together",
        type=names,
        metavar="A,B",
        help="names of the columns of a file without a header",
    )
    group.add_argument(
        "--missing-value", action="append", default=[], metavar="TOKEN", help="how a missing value is written, as '?'"
    )
    group.add_argument("--type", action="append", default=[], type=pair, metavar="COLUMN=TYPE", dest="types")
    group.add_argument(
        "--read", action="append", default=[], type=setting, metavar=METAVAR_PAIR,
        help="another parameter of uploads, such as delimiter=';' or decimal=,",
    )  # fmt: skip


def add_waiting(parser: Parser) -> None:
    """What the command waits for, and what it leaves."""
    parser.add_argument("--timeout", type=seconds, metavar="S", help="give up waiting after so many seconds (exit 5)")
    parser.add_argument("--keep-data", action="store_true", help="keep the uploaded rows; else they are deleted")
    parser.add_argument("--json", action="store_true", help="print JSON")


def reading(given: argparse.Namespace) -> dict[str, Any]:
    """The query of the upload."""
    query: dict[str, Any] = once(given.read, "--read")
    if given.no_header or given.columns:
        query["header"] = False
    if given.columns:
        query["column"] = given.columns
    if given.missing_value:
        query["missing_values"] = given.missing_value
    if given.types:
        query["types"] = once(given.types, "--type")
    return query


def with_columns(
    command: str, arguments: list[str], proposed: list[str], *, person: str | None, k: bool, out: str | None
) -> str:
    """A command line to copy: what was typed, with quasi-identifiers, and with a k and a file where there were none.

    And with the column that may say whose record each is, where none was named.
    """
    more = ["--quasi-identifiers", ",".join(f'"{name}"' if "," in name else name for name in proposed)]
    more += ["--person-column", person] if person else []
    more += ["--k", "5"] if k else []
    more += ["--out", out] if out else []
    return shlex.join(["surebox", command, *[each for each in arguments if each != "--json"], *more])


def environment(name: str) -> str:
    """A variable of the environment; empty: it is not set."""
    return os.environ.get(name, "").strip()
