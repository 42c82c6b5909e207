"""`surebox audit`: the measures of the field on a file or a release, and whether they meet what is required."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from surebox_client.commands import spec
from surebox_client.commands.certified import certified_parameters
from surebox_client.commands.data import uploaded
from surebox_client.commands.exits import Exit
from surebox_client.commands.finish import end_with_audit
from surebox_client.commands.options import add_reading, add_waiting, add_where
from surebox_client.commands.output import say
from surebox_client.commands.parsing import Parser, amount, demands, names, once
from surebox_client.commands.proposal import propose
from surebox_client.commands.running import submitted, waited
from surebox_client.commands.where import connected

EXAMPLES = (
    "surebox audit people.csv --quasi-identifiers age,sex --require k=5",
    "surebox audit people.csv --quasi-identifiers age,sex --sensitive illness --require k=5,l=2 --json",
)


def parser() -> Parser:
    """The command line."""
    made = Parser("audit", "Measure a table, anonymized or not; exit code 3 where a demand is not met.", EXAMPLES)
    made.add_argument("file", metavar="FILE", help="CSV, TSV, NDJSON or Parquet; or the id of a release")
    spec.add_columns(made)
    made.add_argument("--require", action="together", type=demands, metavar="k=5,l=2", help="what the table must meet")
    made.add_argument(
        "--tolerance", action="append", default=[], type=amount, metavar="COL=N",
        help="from which accuracy on a value counts as known, for exact and within; repeatable",
    )  # fmt: skip
    made.add_argument(
        "--microaggregated",
        action="together",
        type=names,
        metavar="A,B",
        help="columns whose cells are means of records",
    )
    add_waiting(made)
    add_reading(made)
    add_where(made)
    return made


def take_certified(given: argparse.Namespace) -> None:
    """Take the columns that the certificate next to a release's file states, where it is that file's."""
    certified = certified_parameters(Path(given.file))
    if not certified.get("quasi_identifiers"):
        return
    given.quasi_identifiers = list(certified["quasi_identifiers"])
    kept = certified.get("keep") or ()
    given.sensitive = given.sensitive or [name for name in certified.get("sensitive") or () if name in kept]
    if not given.quiet:
        say(f"Quasi-identifiers as its certificate states them: {', '.join(given.quasi_identifiers)}")


def run(given: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    of_release = given.file.startswith("rel_") and not Path(given.file).exists()
    if not given.quasi_identifiers and not of_release:
        take_certified(given)
    if not given.quasi_identifiers and not of_release:
        propose(given, arguments, command="audit")
        return Exit.USAGE
    said = {
        "quasi_identifiers": given.quasi_identifiers, "sensitive": given.sensitive, "require": given.require,
        "person_column": given.person_column, "microaggregated": given.microaggregated, **spec.counts(given),
        "tolerances": once(given.tolerance, "--tolerance") or None,
    }  # fmt: skip
    body: dict[str, Any] = {"method": "table"} | {name: value for name, value in said.items() if value is not None}
    with connected(given, methods=("table",)) as service, ExitStack() as uploads:
        if of_release:
            body["release_id"] = given.file
        else:
            body["dataset_id"] = uploads.enter_context(uploaded(service, given)).id
        job = waited(submitted(lambda: service.audit(body)), given)
        return end_with_audit(service.get(f"/v1/jobs/{job.id}/result"), given)
