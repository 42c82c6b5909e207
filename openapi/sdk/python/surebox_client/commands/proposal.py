"""What each column of a file could tell of a person: shown where it is not said which do, for nothing is guessed."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surebox_client.commands.data import uploaded
from surebox_client.commands.options import with_columns
from surebox_client.commands.output import print_json, say, table
from surebox_client.commands.where import connected


def propose(
    given: argparse.Namespace, arguments: Sequence[str], *, command: str, body: Mapping[str, Any] | None = None
) -> None:
    """Print the profile of a file, what its columns identify, and a command to copy.

    Parameters
    ----------
    given, arguments
        The command line, read and as it was typed.
    command
        The command to copy.
    body
        The specification, for what is still to be said; None: nothing was.
    """
    given.no_wait = False
    with connected(given, methods=("table",)) as service, uploaded(service, given) as dataset:
        job = service.audit({"method": "table", "dataset_id": dataset.id})
        result = service.get(f"/v1/jobs/{job.wait(timeout=given.timeout, progress=False).id}/result")
        profile = dataset.data
    proposal = result["proposal"]
    if given.json:
        print_json({"rows": profile["rows"], "columns": profile["columns"], "proposal": proposal})
    for line in _lines(profile, proposal):
        say(line)
    out = None if getattr(given, "out", None) else f"{Path(given.file).name.partition('.')[0]}.release.parquet"
    copied = with_columns(
        command, list(arguments), proposal["quasi_identifiers"],
        k=command == "anonymize" and "k" not in (body or {}), out=out if command == "anonymize" else None,
    )  # fmt: skip
    say("Say what an adversary may know and look up, and leave out what alone says who it is. To take the proposal:")
    say(f"  {copied}")


def _lines(profile: Mapping[str, Any], proposal: Mapping[str, Any]) -> list[str]:
    columns = {each["name"]: each for each in profile["columns"]}
    rows = []
    for each in proposal["columns"]:
        column = columns.get(each["column"], {})
        share = each["contribution"]
        part = "names a person" if each["direct_identifier"] else "" if share is None else f"{share:.0%}"
        rows.append(
            (each["column"], column.get("type", ""), each["distinct"], each["missing"], each["unique_alone"], part)
        )
    head = ("column", "type", "values", "missing", "alone single out", "share in singling out")
    return [
        f"{profile['name']}: {profile['rows']} records. What each column could tell of a person:",
        *[f"  {line}" for line in table(head, rows)],
        *[f"  {pair['sentence']}" for pair in proposal["pairs"][:5]],
    ]
