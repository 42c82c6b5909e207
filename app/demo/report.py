"""What the demo prints: one table a dataset, and how to go on."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.box import HEAVY_HEAD, SIMPLE
from rich.console import Console
from rich.table import Table

from app.contracts.columns import value_in
from app.demo.sources import Source

#: A range of fewer than so many times its ends is a point.
_POINT = 1e-9

#: Columns of the console from which on a table has a line a row.
_WIDE = 130
_LEAST_LABEL = 12

#: What can become of rare records.
RARE = ("keep", "suppress", "weigh")


def show(
    console: Console, source: Source, ours: dict[str, Any], theirs: dict[str, Any], seconds: dict[str, float]
) -> None:
    """Print each statistic with its ranges, ours and Mondrian's, next to the true value."""
    result, other = ours["result"], theirs["result"]
    rows = [
        {
            "statistic": _named(mine),
            "estimate": _number(mine["estimate"]),
            "guaranteed range": _range(mine["guaranteed"]),
            "true value": _number(mine["true_value"]),
            "contains it": _holds(mine["guaranteed"], mine["true_value"]),
            "Mondrian's range": _range(his["guaranteed"]),
            "ours / Mondrian's": _ratio(mine["guaranteed"], his["guaranteed"]),
        }
        for mine, his in zip(result["statistics"], other["statistics"], strict=True)
        if not isinstance(mine["estimate"], list)
    ]
    title = f"{source.what}: {result['released']:,} records, k = {ours['spec']['k']}"
    console.print(_table(console, title, rows, spared="estimate"))
    for line in _about(result["statistics"], result["released"]):
        console.print(f"  {line}", highlight=False)
    for name, one in (("Surebox", result), ("Mondrian", other)):
        console.print(
            f"  {name}: {one['box_count']:,} boxes of {one['smallest_box']} to {one['largest_box']} records, "
            f"{seconds[name]:.2f} s from request to release"
        )
    console.print("  The release contains boxes, not values; true values are shown to you, the owner, only.\n")
    show_given_away(console, result, other)


def show_given_away(console: Console, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Print by column which share of the people's values everybody knows, and how often a best guess is right."""
    widths = {name: one["width"] for name, one in ours["least_widths"].items()}
    rows = [
        {
            "column": name,
            "least width": _number(widths.get(name)),
            "known exactly": _both(ours, theirs, "value_disclosure", name, "exact"),
            "nearly": _both(ours, theirs, "value_disclosure", name, "within"),
            "guessed": _both(ours, theirs, "guessed", name, "share"),
            "without a release": _share(ours["guessed"][name]["baseline"]),
        }
        for name in ours["value_disclosure"]
    ]
    console.print(_table(console, "Values given away, by share of the people: Surebox / Mondrian", rows))
    console.print(
        "  Nearly: to within a tenth of the column's natural scale. Guessed: the best guess is that near, which only\n"
        "  you, the owner, can tell. Both tools have the same least widths.\n",
        highlight=False,
    )


def _both(ours: dict[str, Any], theirs: dict[str, Any], measure: str, name: str, figure: str) -> str:
    return " / ".join(_share(one[measure][name][figure]) for one in (ours, theirs))


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def show_rare(console: Console, results: dict[str, dict[str, Any]]) -> None:
    """Print side by side what keeping, suppressing and weighing rare records do to the release and its ranges."""
    variants = list(results.values())
    lines = [
        ("records released", [f"{one['released']:,}" for one in variants]),
        ("records suppressed", [f"{one['suppressed']['rare']:,}" for one in variants]),
        ("privacy uncertainty", [_number(one["uncertainty"]["privacy"]) for one in variants]),
        ("statistical uncertainty", [_number(one["uncertainty"]["statistical"]) for one in variants]),
    ]
    lines += [
        (_named(same[0]), [_range(each["guaranteed"]) for each in same])
        for same in zip(*(one["statistics"] for one in variants), strict=True)
        if not isinstance(same[0]["estimate"], list)
    ]
    rows = [{"": name, **dict(zip(results, cells, strict=True))} for name, cells in lines]
    console.print(_table(console, "Rare records kept, suppressed or weighed (columns of numbers)", rows))
    console.print(
        "  Ranges are about the records released with their weights: leaving out rare records narrows them and moves\n"
        "  what they are about. By how much (`shift`) is in the job's result only. None of the three is published.\n",
        highlight=False,
    )


def _table(console: Console, title: str, rows: Sequence[dict[str, str]], *, spared: str | None = None) -> Table:
    """A table whose numbers are whole at any width: in a narrow one a range has two lines, and a column is left out."""
    narrow = console.width < _WIDE
    table = Table(
        title=title, title_justify="left", box=SIMPLE if narrow else HEAVY_HEAD, padding=(0, 0) if narrow else (0, 1)
    )
    names = [name for name in rows[0] if not (narrow and name == spared)] if rows else []
    for place, name in enumerate(names):
        cells = [_cell(row[name], narrow=narrow) for row in rows]
        if place == 0:
            table.add_column(name, justify="left", overflow="fold", min_width=_LEAST_LABEL)
        else:
            widest = max(len(line) for cell in cells for line in cell.splitlines())
            table.add_column(name, justify="right", min_width=widest)
    for row in rows:
        table.add_row(*(_cell(row[name], narrow=narrow) for name in names))
    return table


def _cell(text: str, *, narrow: bool) -> str:
    return text.replace(", ", ",\n") if narrow and text.startswith("[") else text


def _about(statistics: Sequence[dict[str, Any]], released: int) -> Iterator[str]:
    """The records that the figures are about: of most, and of each that has others."""
    others = [one for one in statistics if one["base"] not in (None, "records")]
    yield f"Each figure is about all {released:,} records released{', but for:' if others else '.'}"
    for one in others:
        yield f"  {_named(one)}: the {one['n']:,} that have a value"


def _named(statistic: dict[str, Any]) -> str:
    """A statistic in words."""
    kind, of = statistic["kind"], statistic["of"]
    values = " or ".join(map(str, map(value_in, statistic["values"] or ())))
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
    console.print("Next, a table of yours: which columns to protect, and the command that does it.", highlight=False)
    console.print(f"  {program} profile your.csv", soft_wrap=True, highlight=False, markup=False)
