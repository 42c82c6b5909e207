"""`surebox wait`: the answer of a job that a command has left."""

import argparse
from collections.abc import Sequence
from typing import Any

from surebox_client.commands.anonymize import add_files
from surebox_client.commands.data import forget_inputs
from surebox_client.commands.exits import Exit
from surebox_client.commands.finish import end_with_audit, end_with_release
from surebox_client.commands.options import add_waiting, add_where
from surebox_client.commands.output import print_json
from surebox_client.commands.parsing import Parser
from surebox_client.commands.spec import formats
from surebox_client.commands.where import connected

EXAMPLES = (
    "surebox wait $JOB --out release.parquet",
    "surebox wait $JOB --timeout 600 --json",
)


def parser() -> Parser:
    """The command line."""
    made = Parser("wait", "Wait for a job and end as the command that ordered it would have.", EXAMPLES)
    made.add_argument("job", metavar="JOB", help="the id of a job")
    add_files(made)
    add_waiting(made)
    add_where(made)
    return made


def run(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    wanted = formats(given)
    with connected(given) as service:
        job = service.job(given.job)
        try:
            job = job.wait(timeout=given.timeout, progress=False if given.quiet else None)
            if job.data["release_id"] is not None:
                spec: dict[str, Any] = dict(job.data["spec"] or {})
                requested = spec.get("publish") == "auto"
                return end_with_release(service, job, given, formats=wanted, requested=requested)
            result = service.get(f"/v1/jobs/{job.id}/result")
            if "verdict" in result:
                return end_with_audit(result, given)
            print_json(result)
            return Exit.DONE
        finally:
            if not given.keep_data and job.refresh().state in ("succeeded", "failed", "cancelled"):
                forget_inputs(service, dict(job.data))
