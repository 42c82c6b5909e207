"""`surebox releases`, `drafts`, `publish`, `withdraw`, `answer` and `download`: what was made before."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from surebox_client.commands.anonymize import add_files
from surebox_client.commands.exits import Exit, UsageError
from surebox_client.commands.finish import show_release, write
from surebox_client.commands.options import add_where
from surebox_client.commands.output import print_json, print_lines, say
from surebox_client.commands.parsing import Parser, names, once, one_of, pair
from surebox_client.commands.spec import SUFFIXES, formats
from surebox_client.commands.where import connected

if TYPE_CHECKING:
    from surebox_client import Release, Surebox

_LISTED = ("id", "state", "name", "method", "published_at", "rows", "tags")
_DRAFTS = ("id", "expires_at", "expiring", "name", "method", "created_at", "rows", "tags")
#: How long before it is deleted a draft is listed as expiring.
_EXPIRING: Final = timedelta(days=7)
_LATEST = "latest:"


def parser_releases() -> Parser:
    """The command line of `releases`."""
    made = Parser(
        "releases", "List releases, newest first, a JSON object a line.",
        ("surebox releases", "surebox releases --tag table=people --state published --json"),
    )  # fmt: skip
    made.add_argument("--tag", type=pair, action="append", default=[], metavar="K=V", help="only with this tag")
    made.add_argument(
        "--state", type=one_of("draft", "published", "withdrawn"), metavar="S", help="draft, published, withdrawn"
    )
    made.add_argument("--method", metavar="M", help="only by this method")
    made.add_argument("--json", action="store_true", help="print one document with all fields")
    add_where(made)
    return made


def run_releases(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    only = {
        "state": given.state,
        "method": given.method,
        "tag": [f"{name}:{value}" for name, value in given.tag] or None,
    }
    with connected(given) as service:
        listed = [each.data for each in service.releases(**{name: value for name, value in only.items() if value})]
    if given.json:
        print_json(listed)
    else:
        print_lines({name: each.get(name) for name in _LISTED} for each in listed)
    return Exit.DONE


def parser_drafts() -> Parser:
    """The command line of `drafts`."""
    made = Parser(
        "drafts", "List drafts, the first to expire first, a JSON object a line.",
        ("surebox drafts", "surebox drafts --json"),
    )  # fmt: skip
    made.add_argument("--json", action="store_true", help="print one document with all fields")
    add_where(made)
    return made


def run_drafts(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    soon = datetime.now(UTC) + _EXPIRING
    with connected(given) as service:
        listed: list[dict[str, Any]] = [dict(each.data) for each in service.releases(state="draft")]
    for each in listed:
        until = each.get("expires_at")
        each["expiring"] = until is not None and datetime.fromisoformat(until) <= soon
    listed.sort(key=lambda each: (each.get("expires_at") is None, each.get("expires_at") or ""))
    if given.json:
        print_json(listed)
    else:
        print_lines({name: each.get(name) for name in _DRAFTS} for each in listed)
    number = sum(each["expiring"] for each in listed)
    if number:
        say(f"{number} of them will be deleted within a week (`expiring`), unless you publish them.")
    return Exit.DONE


def parser_publish() -> Parser:
    """The command line of `publish`."""
    made = Parser(
        "publish", "Publish a draft; exit code 3 if it has unresolved findings.",
        ("surebox publish $RELEASE", "surebox publish $RELEASE --accept-findings composition"),
    )  # fmt: skip
    made.add_argument("release", metavar="REL", help="the id of a release")
    made.add_argument(
        "--accept-findings",
        action="together",
        type=names,
        default=[],
        metavar="A,B",
        help="audits whose findings are accepted",
    )
    made.add_argument("--json", action="store_true", help="print the release as JSON")
    add_where(made)
    return made


def run_publish(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    with connected(given) as service:
        release = service.release(given.release).publish(accept_findings=given.accept_findings)
    show_release(release, {}, as_json=given.json)
    return Exit.DONE


def parser_withdraw() -> Parser:
    """The command line of `withdraw`."""
    made = Parser(
        "withdraw", "Withdraw a published release. Readers get 404; composition checks keep counting it.",
        ("surebox withdraw $RELEASE", "surebox withdraw $RELEASE --reason 'wrong year'"),
    )  # fmt: skip
    made.add_argument("release", metavar="REL", help="the id of a release")
    made.add_argument("--reason", metavar="TEXT", help="why; readers may learn it")
    made.add_argument("--json", action="store_true", help="print the release as JSON")
    add_where(made)
    return made


def run_withdraw(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    with connected(given) as service:
        release = service.release(given.release).withdraw(given.reason)
    show_release(release, {}, as_json=given.json)
    return Exit.DONE


def parser_answer() -> Parser:
    """The command line of `answer`."""
    made = Parser(
        "answer", "Answer whether the data of two families are of the same people; print the family.",
        (
            "surebox answer $FAMILY --other $OTHER --people other",
            "surebox answer $FAMILY --other $OTHER --people same",
        ),
    )  # fmt: skip
    made.add_argument("family", metavar="FAM", help="the id of a family")
    made.add_argument("--other", metavar="FAM", required=True, help="the family that its question names")
    made.add_argument(
        "--people", type=one_of("same", "other"), metavar="P", required=True,
        help="same: releases of both are composed; other: they are not",
    )  # fmt: skip
    add_where(made)
    return made


def run_answer(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    with connected(given) as service:
        family = service.answer(given.family, given.other, given.people)
    print_json(family)
    return Exit.DONE


def parser_download() -> Parser:
    """The command line of `download`."""
    made = Parser(
        "download", "Download a release and print where it is.",
        (
            "surebox download $RELEASE --out people.csv",
            "surebox download latest:table=people --out people.parquet --certificate",
        ),
    )  # fmt: skip
    made.add_argument(
        "release", metavar="REL", help="the id of a release; latest:K=V: the last one published with a tag"
    )
    add_files(made)
    made.add_argument("--json", action="store_true", help="print the release as JSON, with the paths")
    add_where(made)
    return made


def run_download(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    wanted = formats(given)
    with connected(given) as service:
        release = _release(service, given.release)
        out = given.out or Path(release.id + SUFFIXES[(wanted or ["parquet"])[0]])
        paths = write(service, release, out, wanted, certificate=given.certificate)
    if release.state != "published":
        say(f"{release.id} is {'a draft' if release.state == 'draft' else release.state}")
    show_release(release, paths, as_json=given.json)
    return Exit.DONE


def _release(service: "Surebox", text: str) -> "Release":
    if not text.startswith(_LATEST):
        return service.release(text)
    try:
        tag = pair(text.removeprefix(_LATEST))
    except argparse.ArgumentTypeError:
        raise UsageError("latest: needs a tag: latest:table=people.") from None
    return service.latest(tags=once([tag], "latest"))
