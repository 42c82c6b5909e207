"""What the demo prints: one table a dataset, and how to go on."""

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from app.demo.sources import Source

#: A range of fewer than so many times its ends is a point.
_POINT = 1e-9

#: What can become of rare records.
RARE = ("keep", "suppress", "weigh")


def show(
    console: Console, source: Source, ours: dict[str, Any], theirs: dict[str, Any], seconds: dict[str, float]
) -> None:
    """Print each statistic with its ranges, ours and Mondrian's, next to the true value."""
    result, other = ours["result"], theirs["result"]
    table = Table(title=f"{source.what}: {result['released']:,} records, k = {ours['spec']['k']}", title_justify="left")
    for name in (
        "statistic",
        "estimate",
        "guaranteed range",
        "true value",
        "holds",
        "Mondrian's range",
        "ours / Mondrian's",
    ):
        table.add_column(name, justify="left" if name == "statistic" else "right", no_wrap=True)
    for mine, his in zip(result["statistics"], other["statistics"], strict=True):
        if isinstance(mine["estimate"], list):
            continue
        table.add_row(
            _named(mine),
            _number(mine["estimate"]),
            _range(mine["guaranteed"]),
            _number(mine["true_value"]),
            _holds(mine["guaranteed"], mine["true_value"]),
            _range(his["guaranteed"]),
            _ratio(mine["guaranteed"], his["guaranteed"]),
        )
    console.print(table)
    for name, one in (("Surebox", result), ("Mondrian", other)):
        console.print(
            f"  {name}: {one['box_count']:,} boxes of {one['smallest_box']} to {one['largest_box']} records, "
            f"{seconds[name]:.2f} s from request to release"
        )
    console.print("  The release contains boxes, not values; true values are shown to the publisher only.\n")


def show_rare(console: Console, results: dict[str, dict[str, Any]]) -> None:
    """Print side by side what keeping, suppressing and weighing rare records do to the release and its ranges."""
    table = Table(title="Rare records kept, suppressed or weighed (columns of numbers)", title_justify="left")
    for name in ("", *results):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    variants = list(results.values())
    table.add_row("records released", *(f"{one['released']:,}" for one in variants))
    table.add_row("records suppressed", *(f"{one['suppressed']['rare']:,}" for one in variants))
    table.add_row("privacy uncertainty", *(_number(one["uncertainty"]["privacy"]) for one in variants))
    table.add_row(
        "statistical uncertainty", *(_number(one["uncertainty"]["statistical"]) for one in variants), end_section=True
    )
    for same in zip(*(one["statistics"] for one in variants), strict=True):
        if not isinstance(same[0]["estimate"], list):
            table.add_row(_named(same[0]), *(_range(s["guaranteed"]) for s in same))
    console.print(table)
    console.print(
        "  Ranges are about the records released with their weights: leaving out rare records narrows them and moves\n"
        "  what they are about. By how much (`shift`) is in the job's result only. None of the three is published.\n",
        highlight=False,
    )


def _named(statistic: dict[str, Any]) -> str:
    """A statistic in words."""
    kind, of = statistic["kind"], statistic["of"]
    values = " or ".join(map(str, statistic["values"] or ()))
    if kind == "share":
        return f"share of {of[0]} = {values}"
    if kind == "domain_mean":
        return f"mean of {of[0]} where {of[1]} = {values}{', if any' if statistic['domain_may_be_empty'] else ''}"
    return f"{kind} of {', '.join(of)}"


def _holds(interval: list[float] | None, value: float | None) -> str:
    if interval is None or value is None:
        return "-"
    return "yes" if interval[0] <= value <= interval[1] else "NO"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _range(interval: list[float] | None) -> str:
    return "-" if interval is None else f"[{interval[0]:.5g}, {interval[1]:.5g}]"


def _ratio(mine: list[float] | None, his: list[float] | None) -> str:
    if mine is None or his is None or his[1] - his[0] <= _POINT * max(1.0, *map(abs, his)):  # no times a point
        return "-"
    return f"{(mine[1] - mine[0]) / (his[1] - his[0]):.2f}"


def how_to_go_on(console: Console, *, data_dir: Path, released: Path, job: dict[str, Any]) -> None:
    """Print commands that work as they are."""
    address = "http://127.0.0.1:8000"
    key = f'-H "Authorization: Bearer $(cat {data_dir}/admin.key)"'
    console.print(f"The release is at {released}", highlight=False)
    console.print("Go on from here (everything above is stopped; the folder keeps it):", highlight=False)
    program = Path(sys.executable).with_name("surebox")
    for line in (
        f"{program} serve --data-dir {data_dir}",
        f"curl {key} {address}/v1/jobs/{job['id']}",
        f"curl {key} {address}/v1/releases/{job['release_id']}/statistics",
        f"curl {key} -H 'Content-Type: text/csv' --data-binary @your.csv '{address}/v1/datasets?name=yours'",
    ):
        console.print(f"  {line}", soft_wrap=True, highlight=False, markup=False)
