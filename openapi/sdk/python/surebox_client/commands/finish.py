"""How commands end: with a release that is published or not, or with an audit that is passed or not."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from surebox_client.commands.exits import Exit
from surebox_client.commands.output import print_json, print_path, say, table
from surebox_client.commands.spec import format_of, named

if TYPE_CHECKING:
    from surebox_client import Job, Release, Surebox
    from surebox_client._generated import types


def end_with_release(
    service: "Surebox", job: "Job", given: argparse.Namespace, *, formats: Sequence[str] = (), draft: bool = False
) -> Exit:
    """Write the release where it is published (or a draft by order), and say why where it is not.

    Parameters
    ----------
    service, job
        Where, and the job that has succeeded.
    given
        The command line.
    formats
        Formats to write; none: of `--out`.
    draft
        Whether a draft was ordered.
    """
    for warning in job.data["warnings"]:
        say(f"warning {warning['code']}: {warning['detail']}")
    release = job.release
    published = release.state != "draft"
    if not published:
        explain_draft(release, job.data["findings"], ordered=draft)
    paths: dict[str, Path] = {}
    if given.out is not None and (published or draft):
        paths = write(service, release, given.out, formats, certificate=given.certificate and published)
    show_release(release, paths, as_json=given.json or not paths)
    return Exit.DONE if published else Exit.DRAFT


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
    """Print a release: as JSON, or where its files are."""
    if as_json:
        print_json({**release.data, "paths": {name: str(path) for name, path in paths.items()}})
        return
    for path in paths.values():
        print_path(path)


def explain_draft(release: "Release", findings: Sequence[Mapping[str, Any]], *, ordered: bool) -> None:
    """Say why a release is a draft, and what to do."""
    say(f"{release.id} is a draft: {'as ordered' if ordered else 'it was not published'}.")
    standing = [each for each in findings if each["severity"] == "high"]
    for each in standing:
        say(f"  {each['audit']}: {each['detail']}")
    accepted = "".join(f" --accept {name}" for name in dict.fromkeys(each["audit"] for each in standing))
    if not standing and not ordered:
        say("  Nothing was found against it: jobs of this owner or key do not publish, or publishing is held.")
    say(f"To publish it all the same: surebox publish {release.id}{accepted}")


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
            say(f"  {finding['severity']}: {finding['detail']}")
    if given.json:
        print_json(result)
    return Exit.DRAFT if result["passed"] is False else Exit.DONE
