"""`surebox frontier`: what each k would cost."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from surebox_client.commands import spec
from surebox_client.commands.data import uploaded
from surebox_client.commands.exits import Exit, UsageError
from surebox_client.commands.options import add_reading, add_waiting, add_where
from surebox_client.commands.output import print_json, say, table
from surebox_client.commands.parsing import Parser, counts
from surebox_client.commands.running import submitted, waited
from surebox_client.commands.where import connected

EXAMPLES = (
    "surebox frontier people.csv --quasi-identifiers age,sex,town --k 3,5,10,50",
    "surebox frontier people.csv --quasi-identifiers age,sex --k 5,10 --statistic 'mean(wage)' --json",
)


def parser() -> Parser:
    """The command line."""
    made = Parser("frontier", "Show what boxes of each k would cost; nothing is published.", EXAMPLES)
    made.add_argument("file", metavar="FILE", help="CSV, TSV, NDJSON or Parquet, gzip or not")
    made.add_argument("--k", action="together", type=counts, metavar="N,N", required=True, help="which k to try")
    spec.add_columns(made)
    spec.add_meaning(made)
    add_waiting(made)
    add_reading(made)
    add_where(made)
    return made


def run(given: argparse.Namespace, _arguments: Sequence[str]) -> int:
    """Run it; the exit code."""
    body = spec.specification(given, method="frontier")
    if given.sensitive:
        body["sensitive"] = given.sensitive
    if not body.get("quasi_identifiers"):
        raise UsageError("Give --quasi-identifiers, what an attacker may know; `surebox profile FILE` proposes some.")
    with connected(given, methods=("frontier",)) as service, uploaded(service, given) as dataset:
        order = spec.typed(body, dataset.data["columns"] or []) | {"dataset_id": dataset.id}
        job = waited(submitted(lambda: service.audit(order)), given)
        result = service.get(f"/v1/jobs/{job.id}/result")
    for line in [] if given.quiet else lines(result, widths="statistics" in order):
        say(line)
    if given.json:
        print_json(result)
    return Exit.DONE


def lines(result: Mapping[str, Any], *, widths: bool) -> list[str]:
    """Write a line for each k: boxes, records, what is lost, the values of a column that everybody would know.

    With widths also those with rounded means, and what these leave of a box to who knows all its other records.

    Parameters
    ----------
    result
        Of the job.
    widths
        Whether it shows how wide the range of each statistic is.
    """
    points = result["points"]
    named = list(dict.fromkeys(_label(one) for point in points for one in point["statistics"])) if widths else []
    averaged = bool(named) and any(point["with_means"] for point in points)
    kinds = ("width", "width_with_means") if averaged else ("width",)
    of_means = [f"{label}, means" for label in named] if averaged else []
    head = ("k", "boxes", "released", "lost", "known", *named, *of_means, *(("insider",) if averaged else ()))
    rows = [
        (
            point["k"],
            point["box_count"],
            point["released"],
            "" if point["ncp"] is None else f"{point['ncp']:.1%}",
            _known(point["value_disclosure"]),
            *(_widest(point["statistics"], label, kind) for kind in kinds for label in named),
            *((_left(point["with_means"]),) if averaged else ()),
        )
        for point in points
    ]
    refused = [f"k {point['k']}: {point['reason']}" for point in points if point["reason"]]
    return [*table(head, rows), *refused]


def _left(means: Mapping[str, Any] | None) -> str:
    """Share of a box that is left to who knows all other records of it, of the column where it is least."""
    shares = [] if means is None else [one for one in means["left_to_insider"].values() if one is not None]
    return f"{min(shares):.0%}" if shares else ""


def _known(disclosed: Mapping[str, Any] | None) -> str:
    return f"{max((one['exact'] for one in disclosed.values()), default=0.0):.1%}" if disclosed is not None else ""


def _label(statistic: Mapping[str, Any]) -> str:
    """As a person writes it; the values of a share or of a group of means have one label."""
    of, p, interval, at = (statistic.get(field) for field in ("of", "p", "interval", "at"))
    parts = [str(name) for name in of or ()]
    if interval is not None:
        low, high = ("" if end is None else str(end) for end in interval)
        parts[-1] += f"={low}..{high}"
    if at is not None:
        parts[1:] = [f"{name}={value}" for name, value in zip(parts[1:], at, strict=True)]
    if p is not None:
        parts.append(f"{p:g}")
    if statistic.get("called") is not None:
        return f"{statistic['called']} of {', '.join(parts)}"
    return f"{statistic['kind']}({', '.join(parts)})"


def _widest(statistics: Sequence[Mapping[str, Any]], label: str, kind: str) -> str:
    widths = [one[kind] for one in statistics if _label(one) == label]
    known = [width for width in widths if width is not None]
    return f"{max(known):.4g}" if known and len(known) == len(widths) else ""
