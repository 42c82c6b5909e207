"""`surebox login`: keep the key of a service, in a file that only you read."""

import argparse
import getpass
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surebox_client import errors
from surebox_client.commands.exits import Exit, UsageError
from surebox_client.commands.keys import (
    beside,
    kept_key,
    key_in,
    key_of_file,
    logins_file,
    logins_with,
    remember,
)
from surebox_client.commands.output import print_path, say
from surebox_client.commands.parsing import Parser

if TYPE_CHECKING:
    from surebox_client import Surebox

EXAMPLES = (
    "surebox login --url https://surebox.example.org",
    "surebox login --url https://surebox.example.org --renew",
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
    change = made.add_mutually_exclusive_group()
    change.add_argument("--forget", action="store_true", help="forget the key")
    change.add_argument(
        "--renew", action="store_true", help="exchange the key that is kept, or that of the file, for a new one"
    )
    return made


def run(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    if given.forget:
        print_path(remember(given.url, None))
        return Exit.DONE
    if given.renew:
        print_path(renew(given))
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


def renew(given: argparse.Namespace) -> Path:
    """Exchange a key for a new one, in the place where it is kept; gives the file.

    The new key is written before anything uses it, and takes the old one's place once it was used: until then another
    renewal would take it back. If no answer states whether it was, it may have been, and takes that place all the same:
    the old key can be renewed again only if the new one was not used.
    """
    from surebox_client import Surebox

    key = key_of_file(given.key_file) if given.key_file else kept_key(given.url)
    if key is None:
        raise UsageError(f"No key of {given.url} is kept. Run `surebox login` first, or name its file with --key-file.")
    place: Path = given.key_file.resolve() if given.key_file else logins_file()
    with Surebox(given.url, key=key, ca_file=given.ca_file) as service, beside(place) as unfinished:
        renewed = service.renew_key()
        text = f"{renewed['key']}\n" if given.key_file else logins_with(given.url, renewed["key"])
        unfinished.write_text(text, encoding="utf-8")
        stopped = _used(service)
    ends, former = renewed["expires_at"], renewed["former_ends_at"]
    say(f"The new key, {renewed['id']}, works until {ends}, the old one until {former}.")
    if stopped:
        raise KeyboardInterrupt
    return given.key_file or place


def _used(service: "Surebox") -> bool:
    """Use the new key, which is written by now; whether that was interrupted.

    Raises
    ------
    surebox_client.errors.UnauthorizedError
        The service does not know it: another renewal has taken it back.
    """
    try:
        service.get("/v1/owner")
    except errors.UnauthorizedError:
        raise
    except errors.SureboxError as error:
        say(f"The new key is kept, but the service did not confirm that it works: {error}")
    except KeyboardInterrupt:
        return True
    return False


def _typed() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Key: ")
    text = sys.stdin.readline()
    if not text:
        raise UsageError("Standard input contains no key. Pipe one, or name a file with --key-file.")
    return text
