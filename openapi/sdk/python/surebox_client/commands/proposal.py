"""What each column of a file could tell of a person: shown where it is not said which do, for nothing is guessed."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from surebox_client.commands.data import uploaded
from surebox_client.commands.options import with_columns
from surebox_client.commands.output import print_json, say, table
from surebox_client.commands.refusals import in_options
from surebox_client.commands.spec import counts
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
    named = getattr(given, "person_column", None) or (body or {}).get("person_column")
    whose = {"person_column": named} if named else counts_of(given, body or {})
    with connected(given, methods=("table",)) as service, uploaded(service, given) as dataset:
        job = service.audit({"method": "table", "dataset_id": dataset.id, **whose})
        result = service.get(f"/v1/jobs/{job.wait(timeout=given.timeout, progress=False).id}/result")
        profile = dataset.data
    proposal = result["proposal"]
    if given.json:
        print_json({"rows": profile["rows"], "columns": profile["columns"], "proposal": proposal})
    for line in _lines(profile, proposal):
        say(line)
    if not proposal["quasi_identifiers"]:
        say("There is nothing to propose: a table needs several records, and a column in which they differ.")
        return
    out = None if getattr(given, "out", None) else f"{Path(given.file).name.partition('.')[0]}.release.parquet"
    person = None if whose else next((each["column"] for each in proposal.get("person_columns", [])), None)
    copied = with_columns(
        command, list(arguments), proposal["quasi_identifiers"], person=person,
        k=command == "anonymize" and "k" not in (body or {}), out=out if command == "anonymize" else None,
    )  # fmt: skip
    say("Choose the columns that someone could know about a person. Leave out direct identifiers such as names and")
    say("numbers. To take the proposal:")
    say(f"  {copied}")
    if person:
        say(
            f"It takes each value of {person!r} as one person: k counts persons. "
            "Without --person-column it counts records."
        )


def counts_of(given: argparse.Namespace, body: Mapping[str, Any]) -> dict[str, Any]:
    """The column that counts the persons of each row, as options or the specification state it."""
    stated = {name: value for name, value in counts(given).items() if value is not None}
    return {name: body[name] for name in ("frequency_column", "frequencies_are_exact") if name in body} | stated


#: Explains shares that add up to more than all.
_OVERLAPPING: Final = "  (Columns that single out together count for each, so shares add up to more than 100%.)"


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
    counted = "record" if profile["rows"] == 1 else "records"
    head = ("column", "type", "values", "missing", "alone single out", "share in singling out")
    return [
        f"{profile['name']}: {profile['rows']} {counted}. What each column could tell of a person:",
        *[f"  {line}" for line in table(head, rows)],
        *([_OVERLAPPING] if sum(each["contribution"] or 0.0 for each in proposal["columns"]) > 1.0 else []),
        *[f"  {pair['detail']}" for pair in proposal["pairs"][:5]],
        *[f"Is it a person? {in_options(each['detail'])}" for each in proposal.get("person_columns", [])],
    ]
