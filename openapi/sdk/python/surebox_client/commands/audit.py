"""`surebox audit`: the measures of the field on a file or a release, and whether they meet what is required."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from surebox_client.commands import spec
from surebox_client.commands.data import uploaded
from surebox_client.commands.exits import Exit
from surebox_client.commands.finish import end_with_audit
from surebox_client.commands.options import add_reading, add_waiting, add_where
from surebox_client.commands.parsing import Parser, demands
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
    made.add_argument("--require", type=demands, metavar="k=5,l=2", help="what the table must meet")
    add_waiting(made)
    add_reading(made)
    add_where(made)
    return made


def run(given: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    of_release = given.file.startswith("rel_") and not Path(given.file).exists()
    if not given.quasi_identifiers and not of_release:
        propose(given, arguments, command="audit")
        return Exit.USAGE
    said = {
        "quasi_identifiers": given.quasi_identifiers, "sensitive": given.sensitive, "require": given.require,
    }  # fmt: skip
    body: dict[str, Any] = {"method": "table"} | {name: value for name, value in said.items() if value is not None}
    with connected(given, methods=("table",)) as service, ExitStack() as uploads:
        if of_release:
            body["release_id"] = given.file
        else:
            body["dataset_id"] = uploads.enter_context(uploaded(service, given)).id
        job = waited(submitted(lambda: service.audit(body)), given)
        return end_with_audit(service.get(f"/v1/jobs/{job.id}/result"), given)
