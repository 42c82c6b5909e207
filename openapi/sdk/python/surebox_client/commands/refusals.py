"""Refusals of the service in the words of the command line: options for fields, columns of one fault in one line."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from surebox_client.errors import JobFailed, ProblemError

#: Fields that have an option of their own, of the specification and of uploads.
OPTIONS: Final = {
    "quasi_identifiers": "--quasi-identifiers", "keep": "--keep", "k": "--k", "missing_policy": "--missing-policy",
    "person_column": "--person-column", "sensitive": "--sensitive", "withheld": "--withheld", "method": "--method",
    "statistics": "--statistic", "ordinal": "--ordinal", "domains": "--domain", "tags": "--tag", "gate": "--require",
    "require": "--require", "version_of_dataset_id": "--version-of", "missing_is_value": "--missing-is-value",
    "types": "--type", "missing_values": "--missing-value", "column": "--columns", "base_release_id": "--series-of",
    "accept_findings": "--accept-findings", "type": "--type", "l": "--l", "t": "--t", "alpha": "--alpha",
    "frequency_column": "--frequency-column", "frequencies_are_exact": "--frequencies-are-exact",
}  # fmt: skip
#: The field's own letters, which a sentence keeps: `k` of persons, variety by `l`, `t` or `alpha`.
_LETTERS: Final = ("k", "l", "t", "alpha")
#: Parameters of an upload that have none.
_READ: Final = (
    "delimiter", "quote", "charset", "header", "decimal", "thousands", "date_format", "comment", "format", "skip_rows",
)  # fmt: skip
#: Parameters of an upload, or a field of a job, with the options after them that are written so.
_SPELLED: Final = re.compile(
    r'(?:`(?:[a-z_]+(?:=[^`]*)?|"[a-z_]+": [^`]*)`(?: \(a \w+\))?(?:, | and )?)+ '
    r"\(on the command line: (?P<options>`[^`]+`)\)"
)
_SETTING: Final = re.compile(r"`(?P<field>[a-z][a-z0-9_]*)(?:: ?|=)(?P<value>[^`]+)`")
_NAME: Final = re.compile(r"`(?P<field>[a-z][a-z0-9_]*)`")
_QUOTED: Final = re.compile(r"'[^']*'")
#: What is requested by HTTP, in messages for everyone, and the command that does it.
_COMMANDS: Final = tuple(
    (re.compile(pattern), command)
    for pattern, command in (
        (r'`"base_release_id": "[^"]+"` instead of `dataset_id` \(on the command line: (`[^`]+`)\)', r"\1"),
        (r"`POST /v1/releases/(\w+)/statistics`", r"`surebox certify FILE --statistic S` with a file of \1"),
        (r"`GET /v1/families/(\w+)`", r"`surebox families show \1`"),
        (r"`POST /v1/families/(\w+)/confirm`(?: \([^)]*\))?", r"`surebox families confirm \1`"),
        (r"`POST /v1/families/\w+/answer` and .*, or with (?=`surebox answer )", ""),
        (r"`POST /v1/releases/\{id\}/publish`", "`surebox publish`"),
        (r"`PATCH /v1/owner`", "`surebox owners set`"),
        (
            r'`"join_columns": (\{[^}]*\})` in the demand `composition` of the `gate`',
            r"""`--set gate='[{"method": "composition", "require": {"k": 1}, "join_columns": \1}]'`""",
        ),
        (
            r"`comment` and (its|their) first characters, (.*?) \(on the command line: (`[^`]+`)\)",
            r"\3 and \1 first characters, \2",
        ),
        (
            r"`skip_rows=\d+`, `header=false` and `column` for each of the (\d+) columns, in order \(.*?: (`[^`]+`)\)",
            r"\2 and the names of all \1 columns, in order",
        ),
        (r"send it as application/vnd\.apache\.parquet", "name it .parquet"),
        (r'`"nominal": \{"([^"]+)": \{"missing_is_value": true\}\}`', r"`--missing-is-value \1`"),
        (r'\{"kind": "(\w+)", "of": \[\.\.\.\]\}', r"`--statistic '\1(COLUMN)'`"),
        (r"`version_of_dataset_id=(\w+)`", r"`--version-of \1`"),
        (r"`frequencies_are_exact: true`", "`--frequencies-are-exact`"),
        (r"`version_of_dataset_id` and the id of the dataset before", "`--version-of` and the release before"),
    )
)  # fmt: skip
#: Columns of one fault that are named.
_NAMED: Final = 8


def worded(error: Exception) -> str:
    """Return what a command prints of an error: of a refusal its fields as options, else the error's own text."""
    problem = error.problem if isinstance(error, JobFailed) else error
    if not isinstance(problem, ProblemError):
        return str(problem)
    lines = grouped(f"{option_at(each['pointer'])}: {in_options(each['detail'])}" for each in problem.errors)
    if len(lines) > 1:
        return "\n".join([f"{problem.title}:", *(f"  {line}" for line in lines)])
    if lines:
        return lines[0]
    return in_options(problem.detail if problem.code == "invalid" else str(problem))


def option_at(pointer: str) -> str:
    """Return the option that a JSON pointer, or a parameter of a query, is about."""
    field, *rest = pointer.lstrip("/?").split("/")
    if field in OPTIONS:
        return OPTIONS[field]
    if field == "nominal" and rest[-1:] == ["missing_is_value"]:
        return OPTIONS["missing_is_value"]
    if not field:
        return "The request"
    return f"--read {field}" if pointer.startswith("?") or field in _READ else f"--set {field}"


def in_options(text: str) -> str:
    """Return a message with commands for requests, and options for the fields in backticks.

    Where it has these options already, it keeps them.
    """
    for pattern, command in _COMMANDS:
        text = pattern.sub(command, text)
    text = _SPELLED.sub(lambda match: match["options"], text)
    return _NAME.sub(_name, _SETTING.sub(_setting, text))


def _setting(match: "re.Match[str]") -> str:
    field, value = match["field"], match["value"].strip()
    if field in OPTIONS:
        return f"`{OPTIONS[field]} {value}`"
    return f"`--read {field}={value}`" if field in _READ else f"`--set {field}={value}`"


def _name(match: "re.Match[str]") -> str:
    field = match["field"]
    if field in OPTIONS and field not in _LETTERS:
        return f"`{OPTIONS[field]}`"
    return f"`--read {field}`" if field in _READ else match[0]


def grouped(lines: Iterable[str]) -> list[str]:
    """Return messages of which those that differ in the column and the numbers alone are one.

    Parameters
    ----------
    lines
        Messages; the first quoted name of each is its column.
    """
    by_kind: dict[str, list[str]] = {}
    for line in lines:
        kind = re.sub(r"\d+(?:\.\d+)?", "0", _QUOTED.sub("''", line, count=1))
        by_kind.setdefault(kind, []).append(line)
    return [_together(alike) for alike in by_kind.values()]


def _together(alike: list[str]) -> str:
    alike = list(dict.fromkeys(alike))
    names = [match[0] for match in map(_QUOTED.search, alike[1:]) if match is not None]
    if len(names) < len(alike) - 1 or not names:
        return " ".join(alike)
    more = "" if len(names) <= _NAMED else f" and {len(names) - _NAMED} more"
    return f"{alike[0]} The same of {', '.join(names[:_NAMED])}{more}."


def warned(warnings: Iterable[Mapping[str, Any]], say: Callable[[str], None]) -> None:
    """Print warnings, those of many columns in one line."""
    for line in grouped(in_options(str(each["detail"])) for each in warnings):
        say(f"Warning: {line}")
