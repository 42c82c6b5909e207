"""`surebox stop`: end the service of a folder at once."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from surebox_client.commands.exits import Exit
from surebox_client.commands.options import DATA_DIR
from surebox_client.commands.output import say
from surebox_client.commands.parsing import Parser

EXAMPLES = ("surebox stop", "surebox stop --data-dir /var/lib/people --force")


def parser() -> Parser:
    """The command line."""
    made = Parser("stop", "End the service that runs on a folder; the next command starts another one.", EXAMPLES)
    made.add_argument(
        "--data-dir", type=Path, default=DATA_DIR, metavar="DIR", help=f"its folder (default: {DATA_DIR})"
    )
    made.add_argument(
        "--force", action="store_true", help="even while commands use it: their jobs go on at the next start"
    )
    return made


def run(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    from surebox_client.commands.folder import FolderInUseError, absolute, stop

    try:
        stopped = stop(given.data_dir, even_in_use=given.force)
    except FolderInUseError as error:
        say(f"surebox: {error}")
        return Exit.REFUSED
    say("The service has ended." if stopped else f"No service runs on {absolute(given.data_dir)}.")
    return Exit.DONE
