"""Command lines as they are read: nothing that was typed is repeated in an error, for it may be a key."""

import argparse
import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from surebox_client.commands.exits import Exit, UsageError

Value = TypeVar("Value")


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations and repeats no values.

    Parameters
    ----------
    name
        Of the command.
    summary
        What it does, in a sentence.
    examples
        Command lines that work.
    """

    def __init__(self, name: str, summary: str, examples: tuple[str, ...]) -> None:
        shown = "".join(f"\n  {example}" for example in examples)
        super().__init__(
            prog=f"surebox {name}",
            description=summary,
            epilog=f"Examples:{shown}\n\nExit codes: docs/command-line.md",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        """Read the arguments; a mistake ends the program with the exit code of usage."""
        given, unknown = self.parse_known_args(arguments)
        if unknown:
            names = [each.partition("=")[0] for each in unknown if each.startswith("-")]
            self.error(f"there is no option {', '.join(names)}" if names else "there is an argument too many")
        return given

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        hint = ""
        if "no option --key" in message or "--api-key" in message:
            hint = " (a key is never an argument: --key-file, SUREBOX_API_KEY or `surebox login`)"
        self.exit(Exit.USAGE, f"{self.prog}: {message}{hint}\nSee {self.prog} --help\n")


def names(text: str) -> list[str]:
    """Names between commas; one with a comma in it stands in double quotes."""
    try:
        (row,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (ValueError, csv.Error):
        raise argparse.ArgumentTypeError("names between commas, those with a comma in double quotes") from None
    listed = [name.strip() for name in row]
    if not all(listed):
        raise argparse.ArgumentTypeError("a name between two commas is empty")
    return listed


def pair(text: str) -> tuple[str, str]:
    """A name and what is said of it: name=value."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError("this is written name=value")
    return name, value


def listed(text: str) -> tuple[str, list[str]]:
    """A name and its values: name=first,second."""
    name, value = pair(text)
    return name, names(value)


def ends(text: str) -> tuple[str, list[float | int | str]]:
    """A column and its least and greatest value: age=0,120 or born=1900-01-01,2026-12-31."""
    name, both = listed(text)
    if len(both) != 2:
        raise argparse.ArgumentTypeError("this is written column=least,greatest")
    return name, [number_or_text(each) for each in both]


def setting(text: str) -> tuple[str, Any]:
    """A field of the specification and its JSON value; what is no JSON is a text."""
    name, value = pair(text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def demands(text: str) -> dict[str, float | int]:
    """Demands between commas: k=5,l=2."""
    read: dict[str, float | int] = {}
    for part in names(text):
        name, value = pair(part)
        number = number_or_text(value)
        if isinstance(number, str):
            raise argparse.ArgumentTypeError("a demand is a name and a number: k=5,l=2")
        read[name] = number
    return read


def whole(text: str) -> int:
    """A whole number above 0."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("a whole number above 0")
    return number


def seconds(text: str) -> float:
    """A number of seconds."""
    number = number_or_text(text)
    if isinstance(number, str) or not number > 0:
        raise argparse.ArgumentTypeError("a number of seconds above 0")
    return float(number)


def one_of(*words: str) -> Callable[[str], str]:
    """One of these words: unlike `choices` it does not repeat what it got."""

    def word(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"one of {', '.join(words)}")
        return text

    return word


def counts(text: str) -> list[int]:
    """Whole numbers between commas."""
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise argparse.ArgumentTypeError("whole numbers between commas: 2,5,10") from None


def number_or_text(text: str) -> float | int | str:
    """A number where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def once(pairs: Iterable[tuple[str, Value]], option: str) -> dict[str, Value]:
    """What an option says of each name.

    Raises
    ------
    UsageError
        It says two things of one.
    """
    read: dict[str, Value] = {}
    for name, value in pairs:
        if name in read:
            raise UsageError(f"{option} names {name} twice")
        read[name] = value
    return read


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises
    ------
    UsageError
        There is no such file, or something else is in it.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{path} is not JSON{where}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} holds no JSON object")
    return value
