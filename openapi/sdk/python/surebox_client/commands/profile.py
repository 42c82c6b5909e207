"""`surebox profile`: what a file holds, and what its columns could tell of a person."""

import argparse
from collections.abc import Sequence

from surebox_client.commands.exits import Exit
from surebox_client.commands.options import add_reading, add_waiting, add_where
from surebox_client.commands.parsing import Parser
from surebox_client.commands.proposal import propose

EXAMPLES = (
    "surebox profile people.csv",
    "surebox profile adult.data --no-header --columns age,workclass,fnlwgt --missing-value '?' --json",
)


def parser() -> Parser:
    """The command line."""
    made = Parser("profile", "Show a file's columns and what each could tell of a person; nothing is kept.", EXAMPLES)
    made.add_argument("file", metavar="FILE", help="CSV, TSV, NDJSON or Parquet, gzip or not")
    add_waiting(made)
    add_reading(made)
    add_where(made)
    return made


def run(given: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    propose(given, arguments, command="anonymize")
    return Exit.DONE
