"""How commands end: with a release that is published or not, or with an audit that is passed or not."""

import argparse
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from surebox_client.commands.exits import Exit
from surebox_client.commands.output import print_json, print_path, say, table
from surebox_client.commands.refusals import in_options, warned
from surebox_client.commands.spec import format_of, named, named_draft
from surebox_client.commands.where import progress

if TYPE_CHECKING:
    from surebox_client import Job, Release, Surebox
    from surebox_client._generated import types


def end_with_release(
    service: "Surebox", job: "Job", given: argparse.Namespace, *, formats: Sequence[str] = (), requested: bool
) -> Exit:
    """Write the release, under another name where it is a draft, and say what a draft lacks and until when it stays.

    Parameters
    ----------
    service, job
        Where, and the job that has succeeded.
    given
        The command line.
    formats
        Formats to write; none: of `--out`.
    requested
        Whether publication was: only then a draft is not what it should be.
    """
    release = job.release
    published = release.state != "draft"
    tell = progress(given)
    warned([one for one in job.data["warnings"] if one["code"] != _INFERRED], tell)
    if published and release.data["previous_release_id"] is None:
        for line in inferred(job.data["warnings"], release):
            tell(line)
    result: Mapping[str, Any] = job.data["result"] or {}
    for line in [*left_out(result), *disclosed(result), *guesses(result)]:
        tell(line)
    if not published:
        explain_draft(release, job.data["findings"], requested=requested, tell=say if requested else tell)
    paths: dict[str, Path] = {}
    if given.out is not None and published:
        paths = write(service, release, given.out, formats, certificate=given.certificate)
    elif given.out is not None:
        paths = write(service, release, named_draft(given.out), formats or [format_of(given.out)], certificate=False)
        tell("The file of a draft has `.draft` in its name, and no certificate.")
    show_release(release, paths, as_json=given.json)
    return Exit.DONE if published or not requested else Exit.DRAFT


#: By which a finding names a question about the data, and the command in its text that answers it.
_ANSWERED = "recognition"
_ANSWER = re.compile(r"`(surebox answer [^`]+)`")

#: The warning about types that the file does not declare: it matters once they are published.
_INFERRED: Final = "types_inferred"


def inferred(warnings: Sequence[Mapping[str, Any]], release: "Release") -> list[str]:
    """State that a published release shows types of its data, and the option that declares one; nothing if declared."""
    if all(one["code"] != _INFERRED for one in warnings):
        return []
    ends = {column["name"].removesuffix("_lo"): column["type"] for column in release.data["columns"]}
    numbers = [f"{name}={kind}" for name, kind in ends.items() if kind in ("integer", "number")]
    example = next((each for each in numbers if not each.startswith("box=")), "age=integer")
    return [
        f"Types of columns come from the data, and readers see them: `{shlex.join(['--type', example])}` declares one."
    ]


#: Why a record is in no release, as the result of a job has it and as people read it.
_REASONS = {
    "missing": "lack a value",
    "rare": "are rare",
    "rare_class": "have values that too few share",
}


def left_out(result: Mapping[str, Any]) -> list[str]:
    """State the number of records that are in no release, and why; nothing where all are, or the key may not know."""
    records, released = result.get("records"), result.get("released")
    if records is None or released is None or records == released:
        return []
    suppressed = result.get("suppressed") or {}
    named = [f"{number} {_REASONS[why]}" for why, number in suppressed.items() if number and why in _REASONS]
    other = records - released - sum(number for number in suppressed.values())
    named += [f"{other} wait for a later version"] if other > 0 else []
    return [f"{released} of {records} records are in the release; {records - released} are not: {', '.join(named)}."]


#: Of whom a line of values does not speak.
_LEARN_MORE: Final = " Whoever knows other records of a box, or other releases, learns more."
#: Columns whose values a line names.
_MOST_COLUMNS: Final = 3


def disclosed(result: Mapping[str, Any]) -> list[str]:
    """State what the release gives away of values, of the columns that it gives most of; nothing where it does not."""
    every: Mapping[str, Any] = result.get("value_disclosure") or {}
    shares = {name: one for name, one in every.items() if one["exact"] or one["within"]}
    most = sorted(shares, key=lambda name: (shares[name]["exact"], shares[name]["within"] or 0.0), reverse=True)
    named = [_given_away(name, shares[name]) for name in most[:_MOST_COLUMNS]]
    more = f"; {len(most) - _MOST_COLUMNS} more columns less often" if len(most) > _MOST_COLUMNS else ""
    return [f"Everybody learns values from narrow boxes: {'; '.join(named)}{more}.{_LEARN_MORE}"] if named else []


def _given_away(name: str, one: Mapping[str, Any]) -> str:
    exact = f"`{name}` exactly in {one['exact']:.0%} of the rows"
    if not one["within"] or one["within"] <= one["exact"]:
        return exact
    within = f"to within {one['tolerance']:g} in {one['within']:.0%}"
    return f"{exact}, {within}" if one["exact"] else f"`{name}` {within}"


def guesses(result: Mapping[str, Any]) -> list[str]:
    """State how often the most frequent value of a box is a row's, by sensitive column; nothing where there is none."""
    most: Mapping[str, float] = result.get("largest_share") or {}
    above: Mapping[str, float] = result.get("share_above_60_percent") or {}
    return [
        f"In the worst box one value of `{name}` is that of {most[name]:.0%} of the rows; {above[name]:.0%} of all "
        "rows are in boxes where one is that of more than 60%."
        for name in most
        if name in above
    ]


def write(
    service: "Surebox", release: "Release", out: Path, formats: Sequence[str], *, certificate: bool
) -> dict[str, Path]:
    """Write files of a release, and what verifies the first of them."""
    paths = {}
    for file_format in formats or [format_of(out)]:
        path = named(out, file_format)
        path.parent.mkdir(parents=True, exist_ok=True)
        paths[file_format] = Path(release.download(path, format=cast("types.ReleaseFormat", file_format)))
    if certificate:
        envelope, keys = service.get(f"/v1/releases/{release.id}/certificate"), service.get("/.well-known/jwks.json")
        for path in paths.values():
            path.with_name(f"{path.name}.dsse.json").write_text(json.dumps(envelope), encoding="utf-8")
            path.with_name(f"{path.name}.jwks.json").write_text(json.dumps(keys), encoding="utf-8")
    return paths


def show_release(release: "Release", paths: Mapping[str, Path], *, as_json: bool) -> None:
    """Print a release: as JSON, or where its files are, or in three lines."""
    if as_json:
        print_json({**release.data, "paths": {name: str(path) for name, path in paths.items()}})
        return
    for path in paths.values():
        print_path(path)
    for line in () if paths else in_lines(release.data):
        print_path(line)


def in_lines(release: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a release in three lines: its id and state, its columns, its files."""
    columns = ", ".join(column["name"] for column in release["columns"])
    family = f"; family {release['family_id']}" if release.get("family_id") else ""
    return (
        f"{release['id']} is {_STATES.get(release['state'], release['state'])}",
        f"{release['method']}, {release['rows']} records: {columns}",
        f"files: {', '.join(release['files'])}{family}",
    )


_STATES: Final = {"draft": "a draft"}


def explain_draft(
    release: "Release", findings: Sequence[Mapping[str, Any]], *, requested: bool, tell: Callable[[str], None]
) -> None:
    """Tell why a release is a draft, how long it stays, and what to do."""
    tell(f"{release.id} is a draft: {'it was not published' if requested else 'only its owner sees it'}.")
    if (until := release.data.get("expires_at")) is not None:
        tell(f"  It will be deleted on {until[:10]}, unless you publish it.")
    standing = [each for each in findings if each["severity"] == "high"]
    for each in standing:
        tell(f"  {each['audit']}: {in_options(each['detail'])}")
        for remedy in each.get("remedies") or ():
            tell(f"    - {in_options(remedy)}")
    answers = [answer for each in standing if each["audit"] == _ANSWERED for answer in _ANSWER.findall(each["detail"])]
    for answer in answers:
        tell(f"A question is answered, not accepted: {answer} (or same)")
    if any(each["audit"] != _ANSWERED for each in standing):
        tell(f"To look at it: surebox download {release.id}")
        return
    if not standing and requested:
        tell("  Nothing was found against it: jobs of this owner or key do not publish, or publishing is held.")
    tell(f"{'Then publish it' if answers else 'To publish it'}: surebox publish {release.id}")


def end_with_audit(result: Mapping[str, Any], given: argparse.Namespace) -> Exit:
    """Say what an audit found; whether it is passed is the exit code."""
    if not given.quiet:
        say(str(result["verdict"]))
    rows = [(name, each["required"], each["measured"], "met" if each["met"] else "NOT MET")
            for name, each in result["demands"].items()]  # fmt: skip
    if rows and (not given.quiet or result["passed"] is False):
        for line in table(("demand", "required", "measured", ""), rows):
            say(f"  {line}")
    if result["passed"] is False or not given.quiet:
        for finding in result["findings"]:
            say(f"  {finding['severity']}: {in_options(finding['detail'])}")
    if given.json:
        print_json(result)
    return Exit.DRAFT if result["passed"] is False else Exit.DONE
