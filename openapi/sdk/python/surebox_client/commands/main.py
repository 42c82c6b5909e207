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
    "anonymize": ("from a file to a draft, or with --publish to a certified release", "anonymize", ""),
    "audit": ("the measures of the field on a table, and a yes or no", "audit", ""),
    "profile": ("what a file's columns could tell of a person", "profile", ""),
    "frontier": ("what each k would cost", "frontier", ""),
    "releases": ("list releases", "releases", "_releases"),
    "drafts": ("list drafts, and when they expire", "releases", "_drafts"),
    "publish": ("publish a draft", "releases", "_publish"),
    "withdraw": ("withdraw a release", "releases", "_withdraw"),
    "answer": ("answer whether data are of the same people", "releases", "_answer"),
    "download": ("download a release", "releases", "_download"),
    "wait": ("have the answer of a job", "waiting", ""),
    "login": ("keep the key of a service", "login", ""),
    "stop": ("end the service of a folder", "stopping", ""),
}
#: What commands of the service do, where it is installed.
_OPERATORS: Final = {
    "backup": "write database, files and secrets to a folder",
    "certify": "compute guaranteed statistics of a release's file",
    "demo": "show all of it on real microdata",
    "families": "show, confirm and erase families of data",
    "healthcheck": "exit 0 if a worker of this host runs",
    "housekeeping": "send lost jobs again and remove expired data",
    "installation": "state which database and storage belong together",
    "kernels": "compile the algorithms for this machine",
    "keys": "make, list and revoke keys",
    "log": "read and check the audit log",
    "migrate": "bring the database to the newest revision",
    "openapi": "print the OpenAPI document",
    "orphans": "list files that no row names",
    "owners": "show and change what an owner decides",
    "provenance": "show the chain of published releases",
    "publishing": "hold, compare and resume publishing",
    "quotas": "show and change quotas of an owner",
    "restore": "bring a backup back",
    "serve": "run the service on this machine",
    "storage": "seal files in storage, and rotate their key",
    "verify": "check a release and its certificate offline",
    "worker": "work on one queue",
}
#: Those that the distribution surebox-verify has as programs of its own.
_VERIFIES: Final = ("certify", "verify")
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
    if not others and name in _OPERATORS:
        alone = f"; `surebox-{name}` of surebox-verify does the same" if name in _VERIFIES else ""
        sys.stderr.write(f"surebox: `surebox {name}` comes with the service, which is not installed here{alone}.\n")
        return Exit.USAGE
    if not others:
        sys.stderr.write(f"surebox: There is no such command{_nearest(name)}\nSee surebox --help\n")
        return Exit.USAGE
    other: Callable[[], None] = next(iter(others)).load()
    other()
    return Exit.DONE


def _nearest(name: str) -> str:
    """The command that was perhaps meant."""
    from difflib import get_close_matches

    known = [*COMMANDS, *(each.name for each in entry_points(group=GROUP))]
    close = get_close_matches(name.lower(), known, n=1)
    return f"; did you mean `{close[0]}`?" if close else "."


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
        sys.stderr.write("surebox: Interrupted.\n")
        return Exit.INTERRUPTED
    except (SureboxError, UsageError) as error:
        job = f"{error.job['id']}: " if isinstance(error, (JobFailed, WaitTimedOut)) else ""
        from surebox_client.commands.refusals import worded

        sys.stderr.write(f"surebox: {job}{worded(error)}\n")
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
    lines += [f"  {name:<12} {summary}" for name, (summary, _, _) in COMMANDS.items()]
    if others:
        lines += ["", "Of the service that is installed here:"]
        lines += [f"  {name:<12} {_OPERATORS.get(name, '')}".rstrip() for name in others]
    lines += [
        "", "surebox COMMAND --help says more, with examples:",
        "  surebox anonymize people.csv --quasi-identifiers age,sex --k 5 --publish --out release.parquet",
        "  surebox audit people.csv --quasi-identifiers age,sex --require k=5",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _versions() -> str:
    """The version of the service where it is installed, else that of the client."""
    try:
        return f"surebox {version('surebox')}\n"
    except PackageNotFoundError:
        return f"surebox {version('surebox-client')}\n"
