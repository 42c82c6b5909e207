"""`surebox anonymize`: from a file to a release."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surebox_client.commands import spec
from surebox_client.commands.exits import Exit, UsageError
from surebox_client.commands.finish import end_with_release
from surebox_client.commands.options import add_reading, add_waiting, add_where
from surebox_client.commands.parsing import Parser, names, pair, share, whole
from surebox_client.commands.proposal import propose
from surebox_client.commands.running import run_once
from surebox_client.commands.where import connected

if TYPE_CHECKING:
    from surebox_client import Job

EXAMPLES = (
    "surebox anonymize people.csv --quasi-identifiers age,sex,town --k 5 --publish --out release.parquet",
    "surebox anonymize people.csv --spec people.json --version-of latest:table=people --publish --idempotency-key 5",
)
_LATEST = "latest:"


def parser() -> Parser:
    """The command line."""
    made = Parser("anonymize", "Anonymize a file: a draft, or with --publish a certified release.", EXAMPLES)
    made.add_argument("file", metavar="FILE", nargs="?", help="CSV, TSV, NDJSON or Parquet, gzip or not")
    made.add_argument("--k", type=whole, metavar="N", help="records (people, with --person-column) that share a box")
    made.add_argument("--l", type=whole, metavar="N", help="different values of each --sensitive column in a box")
    made.add_argument("--t", type=share, metavar="X", help="distance of its values in a box from those of all, 0 to 1")
    made.add_argument("--alpha", type=share, metavar="X", help="the largest share of one of its values in a box")
    made.add_argument("--method", metavar="M", help="boxes (the default), condensation, uncertain, swaps")
    spec.add_columns(made)
    spec.add_meaning(made)
    spec.add_release(made)
    made.add_argument(
        "--version-of", dest="earlier", metavar="ID|latest:K=V",
        help="the file is the next delivery of this dataset or release, or of the latest release with this tag, which "
        "the new one then has too",
    )  # fmt: skip
    made.add_argument(
        "--series-of", dest="base", metavar="ID",
        help="instead of a file: make it from this published release alone, with fewer columns or a larger k",
    )  # fmt: skip
    add_files(made)
    made.add_argument("--idempotency-key", metavar="K", help="the same key again makes nothing new")
    made.add_argument("--no-wait", action="store_true", help="print the job and leave; `surebox wait` ends it")
    add_waiting(made)
    add_reading(made)
    add_where(made)
    return made


def add_files(made: Parser) -> None:
    """Which files of the release are written."""
    made.add_argument(
        "--out", type=Path, metavar="F", help="write the release here, a draft to F.draft; its ending says the format"
    )
    made.add_argument(
        "--format",
        action="together",
        type=names,
        dest="formats",
        metavar="F,F",
        help="formats to write beside each other",
    )
    made.add_argument(
        "--certificate", action="store_true", help="write F.dsse.json and F.jwks.json too, for `surebox verify`"
    )


def run(given: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    body = based(given, spec.specification(given))
    if given.formats and given.out is None:
        raise UsageError("--format is about --out: name a file.")
    formats = spec.formats(given)
    tag_like_latest(given, body)
    spec.publication(given, body)
    if body["method"] in spec.BY_QUASI_IDENTIFIERS and not _says_enough(body):
        propose(given, arguments, command="anonymize", body=body)
        return Exit.USAGE

    def end(job: "Job") -> int:
        return end_with_release(service, job, given, formats=formats, requested=body.get("publish") == "auto")

    with connected(given, methods=(body["method"],)) as service:
        return run_once(service, given, body, end=end)


def based(given: argparse.Namespace, body: dict[str, Any]) -> dict[str, Any]:
    """Return the specification with the base of its series.

    Raises
    ------
    UsageError
        There are a file and a base, or neither, or two bases.
    """
    base = given.base or body.get("base_release_id")
    if body.get("base_release_id") not in (None, base):
        raise UsageError("--series-of and --set base_release_id have different values; write one of them.")
    if base is None and given.file is None:
        raise UsageError("Name a FILE, or with --series-of the release that a series is made from.")
    if base is not None and (given.file is not None or given.earlier is not None):
        raise UsageError("--series-of makes a release from its base alone: leave FILE and --version-of out.")
    return body if base is None else body | {"base_release_id": base}


def tag_like_latest(given: argparse.Namespace, body: dict[str, Any]) -> None:
    """A release that follows the latest one with a tag has that tag, for the next one to follow it."""
    if given.earlier is not None and given.earlier.startswith(_LATEST):
        try:
            name, value = pair(given.earlier.removeprefix(_LATEST))
        except argparse.ArgumentTypeError:
            raise UsageError("--version-of latest: needs a tag: latest:table=people.") from None
        body["tags"] = {**body.get("tags", {}), name: value}


def _says_enough(body: dict[str, Any]) -> bool:
    """Whether it is said what is to be hidden, and how well; else nothing is guessed.

    Raises
    ------
    UsageError
        There are quasi-identifiers, and no k.
    """
    if not body.get("quasi_identifiers"):
        return "base_release_id" in body
    if "k" not in body and "k_column" not in body and "base_release_id" not in body:
        raise UsageError(
            "Give --k, the records that share a box: 5 is usual, `surebox frontier` shows what each costs."
        )
    return True
