"""The specification of a job, from a file and from options; options win."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from surebox_client.commands.exits import UsageError
from surebox_client.commands.parsing import (
    Parser,
    demands,
    ends,
    listed,
    names,
    once,
    one_of,
    pair,
    read_object,
    setting,
)

if TYPE_CHECKING:
    from surebox_client._generated import types

#: How the file of each format ends.
SUFFIXES: Final = {
    "csv.gz": ".csv.gz", "csv.excel": ".excel.csv", "csv": ".csv", "parquet": ".parquet", "ndjson": ".ndjson",
}  # fmt: skip
_ALWAYS_MADE: Final = ("parquet", "csv", "ndjson")
#: Methods that need quasi-identifiers, and nothing instead of them.
BY_QUASI_IDENTIFIERS: Final = ("boxes", "condensation", "uncertain")
#: Statistics by other programs' names, as they are called here.
_CALLED: Final = {
    "median": "quantile({}, 0.5)", "avg": "mean({})", "average": "mean({})", "var": "variance({})",
    "sd": "standard_deviation({})", "std": "standard_deviation({})", "stddev": "standard_deviation({})",
    "corr": "correlation({})", "cov": "covariance({})", "percentile": "quantile({}, 0.9)",
    "proportion": "share({})", "count": "share({})",
}  # fmt: skip
#: What is demanded of sensitive columns, each by an option of `anonymize` of this name.
_DEMANDS: Final = ("l", "t", "alpha")
_NUMBERS: Final = {"integer": int, "number": float}
_TRUTHS: Final = {"true": True, "false": False}


def add_columns(parser: Parser) -> None:
    """What the columns are."""
    group = parser.add_argument_group("columns")
    group.add_argument(
        "--quasi-identifiers",
        action="together",
        type=names,
        metavar="A,B",
        help="what an adversary may know of a person and look up",
    )
    group.add_argument(
        "--person-column", metavar="COLUMN", help="whose record each is, where persons have several: k of persons"
    )
    group.add_argument("--frequency-column", metavar="COLUMN", help="how many persons, all alike, each row is of")
    group.add_argument(
        "--frequencies-are-exact",
        action="store_true",
        help="no count was rounded, nor left out where small",
    )
    group.add_argument(
        "--sensitive", action="together", type=names, metavar="A,B", help="what must not be learned of a person"
    )


def add_meaning(parser: Parser) -> None:
    """What is published of the columns, and how."""
    group = parser.add_argument_group("what is published (all else of the specification: --spec, --set)")
    group.add_argument(
        "--keep", action="together", type=names, metavar="A,B", help="columns that are published as they are"
    )
    group.add_argument(
        "--withheld", action="together", type=names, metavar="A,B",
        help="columns of --sensitive that are not published; without it they are, as those of --keep",
    )  # fmt: skip
    group.add_argument("--statistic", action="append", default=[], metavar="S", help="such as 'mean(age)'; repeatable")
    group.add_argument(
        "--ordinal", action="append", default=[], type=listed, metavar="COLUMN=LOW,HIGH", help="the order of its values"
    )
    group.add_argument(
        "--domain", action="append", default=[], type=ends, metavar="COLUMN=LEAST,GREATEST", help="its public limits"
    )
    group.add_argument(
        "--missing-is-value", action="together", type=names, metavar="A,B", help="missing is a value of these columns"
    )
    group.add_argument(
        "--missing-policy", type=one_of("drop", "pattern", "refuse"), metavar="drop|pattern|refuse",
        help="what becomes of records with a missing quasi-identifier",
    )  # fmt: skip
    group.add_argument("--spec", type=Path, metavar="F", help="a specification in JSON; options win over it")
    group.add_argument(
        "--set", action="append", default=[], type=setting, metavar="FIELD=JSON", dest="settings",
        help="any field of the specification, such as bounds=grid",
    )  # fmt: skip


def add_release(parser: Parser) -> None:
    """What becomes of the release."""
    group = parser.add_argument_group("the release")
    group.add_argument(
        "--require",
        action="together",
        type=demands,
        metavar="k=5,l=2",
        help="with --publish: only if the audit `table` measures this",
    )
    group.add_argument("--tag", action="append", default=[], type=pair, metavar="K=V", help="repeatable")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--publish", action="store_true", help="publish, unless a finding prevents it (exit 3)")
    either.add_argument("--draft", action="store_true", help="do not publish: the default, but for a --spec")


def specification(given: argparse.Namespace, *, method: str | None = None) -> dict[str, Any]:
    """The body of the request, yet without a dataset; numbers among the values of columns are still texts."""
    body = read_object(given.spec) if given.spec else {}
    body.pop("dataset_id", None)
    settings = once(given.settings, "--set")
    _refuse_contradictions(settings, given)
    body |= settings
    body["method"] = method or given.method or body.get("method") or "boxes"
    simple = {
        "quasi_identifiers": given.quasi_identifiers, "keep": given.keep, "withheld": given.withheld, "k": given.k,
        "missing_policy": given.missing_policy, "person_column": given.person_column, **counts(given),
        **{name: getattr(given, name, None) for name in _DEMANDS},
    }  # fmt: skip
    body |= {name: value for name, value in simple.items() if value is not None}
    for name, pairs in {"ordinal": given.ordinal, "domains": given.domain}.items():
        if pairs:
            body[name] = {**body.get(name, {}), **once(pairs, f"--{name.removesuffix('s')}")}
    if given.missing_is_value:
        nominal = dict(body.get("nominal") or {})
        for column in given.missing_is_value:
            nominal[column] = {**nominal.get(column, {}), "missing_is_value": True}
        body["nominal"] = nominal
    if given.statistic:
        body["statistics"] = [statistic(text) for text in given.statistic]
    return body


def counts(given: argparse.Namespace) -> dict[str, Any]:
    """The column of counts, and that they are exact; None for what is not stated."""
    return {
        "frequency_column": getattr(given, "frequency_column", None),
        "frequencies_are_exact": getattr(given, "frequencies_are_exact", None) or None,
    }


def _refuse_contradictions(settings: dict[str, Any], given: argparse.Namespace) -> None:
    """Refuse a field that `--set` and another option give different values."""
    options = {
        "--quasi-identifiers": ("quasi_identifiers", given.quasi_identifiers), "--keep": ("keep", given.keep),
        "--withheld": ("withheld", given.withheld), "--k": ("k", given.k),
        "--person-column": ("person_column", given.person_column),
        "--missing-policy": ("missing_policy", given.missing_policy),
        "--frequency-column": ("frequency_column", given.frequency_column),
        "--frequencies-are-exact": ("frequencies_are_exact", given.frequencies_are_exact or None),
        "--sensitive": ("sensitive", given.sensitive), "--method": ("method", getattr(given, "method", None)),
        "--publish": ("publish", "auto" if getattr(given, "publish", False) else None),
        "--draft": ("publish", "draft" if getattr(given, "draft", False) else None),
        **{f"--{name}": (name, getattr(given, name, None)) for name in _DEMANDS},
    }  # fmt: skip
    for option, (field, value) in options.items():
        if value is not None and settings.get(field, value) != value:
            raise UsageError(f"{option} and --set {field} have different values; write one of them.")


def publication(given: argparse.Namespace, body: dict[str, Any]) -> None:
    """Add what becomes of the release: its gate, tags, formats."""
    if given.require:
        gate = {"method": "table", "require": given.require}
        body["gate"] = [*body.get("gate", []), gate | ({"sensitive": given.sensitive} if given.sensitive else {})]
    if given.sensitive:
        body["sensitive"] = given.sensitive
    if given.tag:
        body["tags"] = {**body.get("tags", {}), **once(given.tag, "--tag")}
    if given.publish or given.draft:
        body["publish"] = "auto" if given.publish else "draft"
    body.setdefault("publish", "draft")  # said, for a service of before drafts came first would publish
    wanted = formats(given)
    if wanted and not set(wanted) <= set(body.get("formats") or _ALWAYS_MADE):
        body["formats"] = sorted({*(body.get("formats") or _ALWAYS_MADE), *wanted})


def statistic(text: str) -> Any:
    """A statistic as people write it."""
    from surebox_client import parse_statistic

    kind, bracket, rest = text.partition("(")
    meant = _CALLED.get(kind.strip().lower())
    if bracket and meant is not None:
        of = rest.rpartition(")")[0].strip() or "age"
        written = f"quantile({of})" if "0.9" in meant and "," in of else meant.format(of)
        raise UsageError(f"--statistic {text}: Write it as {written}.")
    try:
        return parse_statistic(text)
    except ValueError as error:
        raise UsageError(f"--statistic {text}: {error}.") from None


def formats(given: argparse.Namespace) -> list[str]:
    """Formats in which the command writes the release: those named, else that of the file's name."""
    if given.formats:
        unknown = [each for each in given.formats if each not in SUFFIXES]
        if unknown:
            raise UsageError(f"--format: There is no format {', '.join(unknown)}; formats are {', '.join(SUFFIXES)}.")
        return list(given.formats)
    return [] if given.out is None else [format_of(given.out)]


def format_of(path: Path) -> str:
    """The format that a file's name says."""
    for name, suffix in SUFFIXES.items():
        if path.name.endswith(suffix) and (name != "csv" or not path.name.endswith(SUFFIXES["csv.excel"])):
            return name
    raise UsageError(f"--out {path}: Its name ends in none of {', '.join(SUFFIXES.values())}.")


def named(out: Path, file_format: str) -> Path:
    """The file of a format: the name that was given, with the format's ending."""
    for suffix in SUFFIXES.values():
        if out.name.endswith(suffix):
            return out.with_name(out.name.removesuffix(suffix) + SUFFIXES[file_format])
    return out.with_name(out.name + SUFFIXES[file_format])


def named_draft(out: Path) -> Path:
    """The file of a draft: the name that was given, with `.draft` before its ending."""
    for suffix in SUFFIXES.values():
        if out.name.endswith(suffix):
            return out.with_name(f"{out.name.removesuffix(suffix)}.draft{suffix}")
    return out.with_name(f"{out.name}.draft")


def typed(body: dict[str, Any], columns: "Sequence[types.DatasetColumn]") -> dict[str, Any]:
    """The body with values of columns as the file has them: numbers and truths where columns hold these."""
    kinds = {column["name"]: column["type"] for column in columns}
    ordinal = {name: [_value(each, kinds.get(name)) for each in values] for name, values in _ordinal(body).items()}
    return body | ({"ordinal": ordinal} if ordinal else {})


def _ordinal(body: dict[str, Any]) -> dict[str, list[Any]]:
    ordinal = body.get("ordinal") or {}
    return ordinal if isinstance(ordinal, dict) else {}


def _value(value: Any, kind: str | None) -> Any:
    if not isinstance(value, str) or kind is None:
        return value
    if kind == "boolean":
        return _TRUTHS.get(value.lower(), value)
    try:
        return _NUMBERS[kind](value) if kind in _NUMBERS else value
    except ValueError:
        return value
