"""An option that is given twice adds up or is refused: the last of two never replaces the first in silence."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup, TyperOption

from app.cli.main import cli
from surebox_client import commands
from surebox_client.commands.main import COMMANDS, parser_of
from surebox_client.commands.parsing import Parser, Single, Together

#: Values that an option may have: it is given the first and the second.
VALUES = (
    ("a", "b"), ("2", "5"), ("a=1", "b=2"), ("k=5", "l=2"), ("a=x,y", "b=y,x"), ("a=0,1", "b=2,3"),
    ("drop", "pattern"), ("draft", "published"), ("same", "other"), ("0.5", "1"),
)  # fmt: skip


def options(name: str) -> list[argparse.Action]:
    return [each for each in parser_of(name)._actions if each.option_strings and each.dest != "help"]


CASES = [(name, each.option_strings[0]) for name in COMMANDS for each in options(name)]


def taken(action: argparse.Action) -> str:
    """A value that an option takes."""
    for value in (each for pair in VALUES[1:] for each in pair):
        try:
            if callable(action.type):
                action.type(value)
        except (argparse.ArgumentTypeError, ValueError):
            continue
        return value
    raise AssertionError(action.option_strings)


def required(parser: Parser, but: str) -> list[str]:
    """Return the arguments that a command requires."""
    line = [word for each in parser._actions if each.required and each.option_strings and but not in each.option_strings
            for word in (each.option_strings[0], taken(each))]  # fmt: skip
    return [*line, *("x" for each in parser._actions if not each.option_strings)]


def parsed(name: str, option: str, *values: str) -> Any:
    """The value of the option's name when it is given with each of these."""
    parser = parser_of(name)
    line = [word for value in values for word in (option, value)]
    given = parser.parse([*line, *required(parser, option)])
    return getattr(given, next(each.dest for each in parser._actions if option in each.option_strings))


def values_of(name: str, option: str) -> tuple[str, str]:
    """Two values that the option takes one at a time."""
    for first, second in VALUES:
        try:
            if parsed(name, option, first) != parsed(name, option, second):
                return first, second
        except SystemExit:
            continue
    raise AssertionError(f"no values for {option} of {name}: add some to VALUES")


@pytest.mark.parametrize(("name", "option"), CASES)
def test_an_option_given_twice_adds_up_or_is_refused(
    name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    action = next(each for each in options(name) if option in each.option_strings)
    if action.nargs == 0:
        assert parser_of(name).parse([option, option, *required(parser_of(name), option)]).__dict__[action.dest] is True
        return
    first, second = values_of(name, option)
    if isinstance(action, Single):
        assert parsed(name, option, first, first) == parsed(name, option, first)
        capsys.readouterr()
        with pytest.raises(SystemExit) as refused:
            parsed(name, option, first, second)
        assert refused.value.code == 2
        assert "twice with different values" in capsys.readouterr().err
        return
    one, other, both = parsed(name, option, first), parsed(name, option, second), parsed(name, option, first, second)
    assert both == (one | other if isinstance(one, dict) else [*one, *other])
    assert isinstance(action, (Together, argparse._AppendAction))


@pytest.mark.parametrize("name", ["anonymize", "audit"])
@pytest.mark.parametrize("line", [("k=5", "k=6"), ("k=5,k=6",), ("k=5,l=2", "l=3")])
def test_demands_that_contradict_each_other_are_refused(name: str, line: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        parsed(name, "--require", *line)
    assert parsed(name, "--require", "k=5", "k=5,l=2") == {"k": 5, "l": 2}


def test_an_option_that_is_none_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of("anonymize").parse(["table.csv", "--colour", "red", "--colour=blue", "--shade", "2"])
    said = capsys.readouterr().err
    assert (said.count("no option --colour"), said.count("no option --shade")) == (1, 1)


def operators(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, TyperOption]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from operators(command, (*path, name))
            continue
        for param in command.params:
            if isinstance(param, TyperOption) and not param.is_flag and not param.multiple:
                yield (*path, name), command, param


OPERATORS = {
    f"{' '.join(path)} {param.opts[0]}": (command, param.opts[0])
    for path, command, param in operators(typer.main.get_command(cli))  # type: ignore[arg-type]
}


@pytest.mark.parametrize("option", OPERATORS)
def test_an_option_of_an_operators_command_is_given_once(option: str) -> None:
    command, name = OPERATORS[option]
    with pytest.raises(typer.BadParameter, match="given twice"):
        command.make_context("surebox", [name, "1", name, "2"])


def test_a_command_reads_no_option_that_none_has() -> None:
    """A name that was left behind by a renaming reads as not given, for `getattr` has a default."""
    there = {action.dest for name in COMMANDS for action in parser_of(name)._actions}
    for path in Path(commands.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        read = set(re.findall(r"\bgiven\.([a-z]\w*)\b(?!\()", text)) | set(re.findall(r'getattr\(given, "(\w+)"', text))
        written = set(re.findall(r"\bgiven\.([a-z]\w*) = ", text))
        assert read - written <= there, path.name
