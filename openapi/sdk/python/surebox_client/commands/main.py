"""The script `surebox`: commands of this package, and those that other distributions add (`surebox.commands`).

A command is imported when it is called, so that help and mistakes take a moment and no more.
"""

import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, version
from types import FrameType
from typing import Final

from surebox_client.commands.exits import Exit
from surebox_client.commands.parsing import Parser

GROUP: Final = "surebox.commands"
_HERE: Final = "surebox_client.commands"
#: Command -> what it does, its module, and what the names of its parser and of its work end in.
COMMANDS: Final = {
    "anonymize": ("from a file to a certified release", "anonymize", ""),
    "audit": ("the measures of the field on a table, and a yes or no", "audit", ""),
    "profile": ("what a file's columns could tell of a person", "profile", ""),
    "frontier": ("what each k would cost", "frontier", ""),
    "releases": ("list releases", "releases", "_releases"),
    "publish": ("publish a draft", "releases", "_publish"),
    "withdraw": ("withdraw a release", "releases", "_withdraw"),
    "download": ("download a release", "releases", "_download"),
    "wait": ("have the answer of a job", "waiting", ""),
    "login": ("keep the key of a service", "login", ""),
    "stop": ("end the service of a folder", "stopping", ""),
}
_HELP: Final = ("-h", "--help", "help")


def main() -> None:
    """Run the command line."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; the exit code."""
    name, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    if name == "--version":
        sys.stdout.write(_versions())
        return Exit.DONE
    if not name or name in _HELP:
        (sys.stdout if name else sys.stderr).write(_overview())
        return Exit.DONE if name else Exit.USAGE
    if name in COMMANDS:
        return _run(name, rest)
    others = entry_points(group=GROUP, name=name)
    if not others:
        sys.stderr.write("surebox: there is no such command\nSee surebox --help\n")
        return Exit.USAGE
    other: Callable[[], None] = next(iter(others)).load()
    other()
    return Exit.DONE


def parser_of(name: str) -> Parser:
    """The command line of a command of this package."""
    _, module, ending = COMMANDS[name]
    made: Parser = getattr(import_module(f"{_HERE}.{module}"), f"parser{ending}")()
    return made


def _run(name: str, arguments: list[str]) -> int:
    _, module, ending = COMMANDS[name]
    given = parser_of(name).parse(arguments)
    from surebox_client.commands.exits import UsageError, exit_of
    from surebox_client.errors import JobFailed, SureboxError, WaitTimedOut

    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(getattr(import_module(f"{_HERE}.{module}"), f"run{ending}")(given, arguments))
    except KeyboardInterrupt:
        sys.stderr.write("surebox: interrupted\n")
        return Exit.INTERRUPTED
    except (SureboxError, UsageError) as error:
        job = f"{error.job['id']}: " if isinstance(error, (JobFailed, WaitTimedOut)) else ""
        sys.stderr.write(f"surebox: {job}{error}\n")
        if isinstance(error, WaitTimedOut):
            sys.stderr.write(f"The job goes on; to have its answer: surebox wait {error.job['id']}\n")
        return exit_of(error)
    except BrokenPipeError:
        sys.stderr.close()  # who read our output has left, and so do we
        return Exit.SERVICE
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as by Ctrl-C, so that what was begun is cleaned up."""
    raise KeyboardInterrupt


def _overview() -> str:
    others = sorted({each.name for each in entry_points(group=GROUP)})
    lines = ["Usage: surebox COMMAND ...", "", "Anonymize microdata and audit anonymization.", ""]
    lines += [f"  {name:<10} {summary}" for name, (summary, _, _) in COMMANDS.items()]
    if others:
        lines += ["", "Of the service that is installed here:", f"  {', '.join(others)}"]
    lines += [
        "", "surebox COMMAND --help says more, with examples:",
        "  surebox anonymize people.csv --quasi-identifiers age,sex --k 5 --out release.parquet",
        "  surebox audit people.csv --quasi-identifiers age,sex --require k=5",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _versions() -> str:
    """The version of the service where it is installed, else that of the client."""
    try:
        return f"surebox {version('surebox')}\n"
    except PackageNotFoundError:
        return f"surebox {version('surebox-client')}\n"
