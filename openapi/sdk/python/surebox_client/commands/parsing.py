"""Command lines as they are read: nothing that was typed is repeated in an error, for it may be a key."""

import argparse
import csv
import json
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from surebox_client.commands.exits import MEANINGS, Exit, UsageError

Value = TypeVar("Value")
_CODES: Final = "".join(f"\n  {code.value:<4}{meaning}" for code, meaning in MEANINGS.items())


class DoubledNameError(ValueError):
    """JSON in which an object has a name twice: readers differ in which of the two they take."""


class Together(argparse.Action):
    """Add the values of an option that is given again: names, counts, or demands by name."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Add what the option lists this time.

        Raises
        ------
        SystemExit
            It demands another value of a name than before.
        """
        before = getattr(namespace, self.dest)
        if isinstance(values, dict):
            before = before or {}
            for name in before.keys() & values.keys():
                if before[name] != values[name]:
                    parser.error(f"{option} demands two values of {name}; write one.")
            setattr(namespace, self.dest, before | values)
        else:
            setattr(namespace, self.dest, [*(before or []), *(each for each in values if each not in (before or []))])


class Single(argparse.Action):
    """Store the value of an option that has one; given again with another value it is refused."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Store the value.

        Raises
        ------
        SystemExit
            The option had another value before.
        """
        given = namespace.__dict__.setdefault("_given", {})
        if given.setdefault(self.dest, values) != values:
            parser.error(f"{option} is given twice with different values; write one.")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations, repeats no values, and forgets none: what is given again adds up.

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
            epilog=f"Examples:{shown}\n\nExit codes:{_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.register("action", None, Single)
        self.register("action", "together", Together)

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        """Read the arguments; a mistake ends the program with the exit code of usage."""
        given, unknown = self.parse_known_args(arguments)
        if unknown:
            names = dict.fromkeys(each.partition("=")[0] for each in unknown if each.startswith("-"))
            missing = " ".join(f"There is no option {each}{self._nearest(each)}" for each in names)
            self.error(missing or "There is an argument too many.")
        return given

    def _nearest(self, option: str) -> str:
        """Return the end of a sentence about an option: the one that was perhaps meant."""
        known = [text for action in self._actions for text in action.option_strings]
        close = get_close_matches(option.lower(), known, n=1)
        return f"; did you mean {close[0]}?" if close else "."

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        message = message.removeprefix("argument ")
        message = message if message.startswith("-") else message[:1].upper() + message[1:]
        hint = ""
        if "no option --key" in message or "--api-key" in message:
            hint = " A key is never an argument: use --key-file, SUREBOX_API_KEY or `surebox login`."
        stop = "" if message.endswith((".", "?", ")")) else "."
        self.exit(Exit.USAGE, f"{self.prog}: {message}{stop}{hint}\nSee {self.prog} --help\n")


def names(text: str) -> list[str]:
    """Names between commas; one with a comma in it stands in double quotes."""
    try:
        (row,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (ValueError, csv.Error):
        raise argparse.ArgumentTypeError("Write names between commas, those with a comma in double quotes.") from None
    listed = [name.strip() for name in row]
    if not all(listed):
        raise argparse.ArgumentTypeError("A name between two commas is empty.")
    return listed


def pair(text: str) -> tuple[str, str]:
    """A name and what is said of it: name=value."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError("Write it as name=value.")
    return name, value


def listed(text: str) -> tuple[str, list[str]]:
    """A name and its values: name=first,second."""
    name, value = pair(text)
    return name, names(value)


def ends(text: str) -> tuple[str, list[float | int | str]]:
    """A column and its least and greatest value: age=0,120 or born=1900-01-01,2026-12-31."""
    name, both = listed(text)
    if len(both) != 2:
        raise argparse.ArgumentTypeError("Write it as column=least,greatest.")
    return name, [number_or_text(each) for each in both]


def amount(text: str) -> tuple[str, float]:
    """A column and a number of its units: hours=2."""
    name, value = pair(text)
    number = number_or_text(value)
    if isinstance(number, str) or number < 0:
        raise argparse.ArgumentTypeError("Write it as column=number, such as hours=2.")
    return name, number


def setting(text: str) -> tuple[str, Any]:
    """A field of the specification and its JSON value; what is no JSON is a text."""
    name, value = pair(text)
    try:
        return name, _parsed(value)
    except DoubledNameError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        return name, value


def demands(text: str) -> dict[str, float | int]:
    """Demands between commas: k=5,l=2."""
    read: dict[str, float | int] = {}
    for part in names(text):
        name, value = pair(part)
        number = number_or_text(value)
        if isinstance(number, str):
            raise argparse.ArgumentTypeError("Write demands as names and numbers: k=5,l=2.")
        if read.setdefault(name, number) != number:
            raise argparse.ArgumentTypeError(f"`{name}` is demanded twice, with different numbers.")
    return read


def whole(text: str) -> int:
    """A whole number above 0."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("Write a whole number above 0.")
    return number


def seconds(text: str) -> float:
    """A number of seconds."""
    number = number_or_text(text)
    if isinstance(number, str) or not number > 0:
        raise argparse.ArgumentTypeError("Write a number of seconds above 0.")
    return float(number)


def share(text: str) -> float:
    """A number from 0 to 1."""
    number = number_or_text(text)
    if isinstance(number, str) or not 0 <= number <= 1:
        raise argparse.ArgumentTypeError("Write a number from 0 to 1.")
    return float(number)


def one_of(*words: str) -> Callable[[str], str]:
    """One of these words: unlike `choices` it does not repeat what it got."""

    def word(text: str) -> str:
        if text not in words:
            close = get_close_matches(text.lower(), words, n=1)
            near = f"; did you mean {close[0]}?" if close else ""
            raise argparse.ArgumentTypeError(f"Write one of {', '.join(words)}{near or '.'}")
        return text

    return word


def counts(text: str) -> list[int]:
    """Whole numbers between commas."""
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise argparse.ArgumentTypeError("Write whole numbers between commas: 2,5,10.") from None


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
            raise UsageError(f"{option} names {name} twice; write it once.")
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
        value = _parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except DoubledNameError as error:
        raise UsageError(f"{path}: {error}") from None
    except ValueError as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{path} is not JSON{where}.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} has no JSON object.")
    return value


def _parsed(text: str) -> Any:
    """JSON in which no object has a name twice."""
    return json.loads(text, object_pairs_hook=_members)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise DoubledNameError("A name occurs twice in one JSON object; write it once.")
    return members
