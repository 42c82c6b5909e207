"""`surebox login`: keep the key of a service, in a file that only you read."""

import argparse
import getpass
import sys
from collections.abc import Sequence
from pathlib import Path

from surebox_client import errors
from surebox_client.commands.exits import Exit, UsageError
from surebox_client.commands.keys import key_in, key_of_file, remember
from surebox_client.commands.output import print_path, say
from surebox_client.commands.parsing import Parser

EXAMPLES = (
    "surebox login --url https://surebox.example.org",
    "surebox login --url https://surebox.example.org --key-file key.txt",
)


def parser() -> Parser:
    """The command line."""
    made = Parser(
        "login",
        "Keep the key of a service for later commands with the same --url. The key is typed, or piped.",
        EXAMPLES,
    )
    made.add_argument("--url", required=True, metavar="U", help="address of the service")
    made.add_argument("--key-file", type=Path, metavar="F", help="file of the key; else it is read from the terminal")
    made.add_argument("--ca-file", type=Path, metavar="F", help="certificates to trust, in PEM")
    made.add_argument("--forget", action="store_true", help="forget the key")
    return made


def run(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    if given.forget:
        print_path(remember(given.url, None))
        return Exit.DONE
    key = key_of_file(given.key_file) if given.key_file else key_in(_typed(), "what was typed")
    check(given, key)
    print_path(remember(given.url, key))
    return Exit.DONE


def check(given: argparse.Namespace, key: str) -> None:
    """Refuse a key that the service does not know."""
    from surebox_client import Surebox

    with Surebox(given.url, key=key, ca_file=given.ca_file) as service:
        try:
            service.get("/v1/usage")
        except errors.ForbiddenError:
            say("The service knows the key, which may not read its owner's usage.")


def _typed() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Key: ")
    text = sys.stdin.readline()
    if not text:
        raise UsageError("Standard input contains no key. Pipe one, or name a file with --key-file.")
    return text
