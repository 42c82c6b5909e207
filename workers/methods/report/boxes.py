"""What a report shows of a box release: how it was cut, and how large its boxes are. From its file alone."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.sentences import listed
from surebox_verify.disclosure import ValueDisclosure
from surebox_verify.released.boxes import read_boxes
from workers.frames.columns import numeric_columns
from workers.methods.released.disclosed import release_disclosure
from workers.methods.report.facts import ReleaseFacts
from workers.methods.report.page import Section, Table
from workers.methods.report.pictures import bars, histogram

#: Beside the values that everybody knows.
NOT_COVERED: Final = (
    "The table of values that everybody knows is of this file alone. It does not count readers who know other records "
    "of a box, columns that follow from others, kept columns, and other releases of the same data."
)
#: Columns of one picture.
_DRAWN: Final = 30
#: Columns that are read at once: a file of thousands states where each is, and that takes as long as reading some.
_AT_ONCE: Final = 64


def request_section(facts: ReleaseFacts) -> Section:
    """The job's request, in sentences."""
    parameters = facts.parameters
    names, k = list(parameters.get("quasi_identifiers", ())), parameters.get("k")
    shown = None if facts.data is None else disclosed(facts)
    sentences = [
        (
            f"The records were put into boxes of at least {k} records each. Every row names its box and the box's "
            f"bounds in {listed(names)}. {_exact_values(shown)}"
        ),
        (
            f"The partition is {parameters.get('partition', 'optimal')!s}: boxes are cut so that the statistics "
            "named below get ranges as narrow as that allows."
        ),
    ]
    if widths := parameters.get("min_width"):
        named = listed([f"{width:g} in {name}" for name, width in widths.items()])
        sentences.append(f"Sides of boxes are at least so wide: {named}.{_spikes(parameters.get('spikes') or {})}")
    if parameters.get("l") is not None:
        sensitive = [*parameters.get("sensitive", ()), *parameters.get("min_separation", {})]
        sentences.append(f"Each box contains at least {parameters['l']} different values of {listed(sensitive)}.")
    if parameters.get("keep"):
        counted = "counted with the box" if parameters.get("k_counts_kept") else "published unchanged, not counted"
        sentences.append(f"Kept columns, {counted}: {listed(list(parameters['keep']))}.")
    if parameters.get("bounds") == "tight":
        sentences.append("Bounds are tight: each end is the value of some record.")
    sentences += [NOT_COVERED] if shown else []
    return Section("The request and the method", sentences=tuple(sentences), tables=disclosed_table(shown or {}))


def _spikes(spikes: Mapping[str, Any]) -> str:
    """Return the sentence about boxes that need no width, after a space; nothing where there are none."""
    if not spikes:
        return ""
    named = listed([f"{value} in {name}" for name, value in spikes.items()])
    return f" Boxes whose records all have the most frequent value may be narrower: {named}."


def _exact_values(shown: Mapping[str, ValueDisclosure] | None) -> str:
    """Return the sentence about values that everybody knows."""
    if shown is None:
        return "Where a box has a single value of a column, that value of all of its records is in effect published."
    shares = {name: one.exact for name, one in shown.items() if one.exact > 0.0}
    if not shares:
        return "No box leaves one value only, so these values of records are not published."
    often = sorted(shares, key=shares.__getitem__, reverse=True)
    which = listed([f"{100.0 * shares[name]:.3g} % of the records in {name}" for name in often])
    return f"In some boxes all records have one value: {which}. These values are in effect published."


def disclosed(facts: ReleaseFacts) -> dict[str, ValueDisclosure]:
    """Return the values that the release gives away, by column, from its file; nothing where the file is gone."""
    if facts.data is None:
        return {}
    types = {one["name"]: str(one["type"]) for one in facts.release["columns"]}
    return release_disclosure(facts.data, facts.parameters, types)


def disclosed_table(shown: Mapping[str, ValueDisclosure]) -> tuple[Table, ...]:
    """Return the table of values that everybody knows; none without columns.

    Parameters
    ----------
    shown
        By column.
    """
    rows = tuple(
        (name, *map(_percent, (one.exact, one.within, one.estimable)), one.tolerance) for name, one in shown.items()
    )
    head = ("Column", "Known exactly, %", "Known within the tolerance, %", "Known within a tenth, %", "Tolerance")
    return (Table("Values that everybody knows, by share of the records", head, rows),) if rows else ()


def guessed(result: Mapping[str, Any]) -> Section:
    """Section on best guesses that are right, for the owner: they are known from the records alone."""
    columns: Mapping[str, Mapping[str, float | None]] = result.get("guessed") or {}
    rows = tuple(
        (name, *(_percent(one[figure]) for figure in ("share", "baseline")), one["tolerance"])
        for name, one in columns.items()
    )
    if not rows:
        return Section("Values that are guessed")
    sentence = (
        "Whoever knows how a column is distributed, and a person's box, guesses the person's value. It counts as right "
        "within half of the tolerance; without numbers it has to be the value. Without a release they guess one value "
        "for everybody."
    )
    head = ("Column", "Guessed by the release, %", "Guessed without it, %", "Tolerance")
    table = Table("Best guesses that are right, by share of the records", head, rows)
    return Section("Values that are guessed", (sentence,), tables=(table,))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def sizes(data: Path | None) -> Section:
    """How many records are in a box."""
    if data is None:
        return Section("Sizes of boxes")
    _, counts = np.unique(numeric_columns(data, ("box",)).values[:, 0], return_counts=True)
    quartiles = np.quantile(counts, [0.0, 0.25, 0.5, 0.75, 1.0], method="inverted_cdf").tolist()
    sentence = (
        f"{len(counts):,} boxes contain {int(counts.min()):,} to {int(counts.max()):,} records, half of them at most "
        f"{int(quartiles[2]):,}."
    )
    picture = histogram(counts, title="Sizes of boxes", description=sentence, axis="records in a box")
    names = ("smallest", "first quartile", "median", "third quartile", "largest")
    rows = tuple((name, int(value)) for name, value in zip(names, quartiles, strict=True))
    return Section(
        "Sizes of boxes", (sentence,), figures=(picture,), tables=(Table("Records in a box", ("", "Records"), rows),)
    )


def columns(facts: ReleaseFacts) -> Section:
    """How wide the boxes are, column by column, as a share of the column's whole range."""
    numbers = {column["name"] for column in facts.release["columns"] if column["type"] in ("integer", "number")}
    names = [name for name in facts.parameters.get("quasi_identifiers", ()) if f"{name}_lo" in numbers]
    if facts.data is None or not names:
        return Section("How columns were cut")
    rows = []
    for name, lower, upper in _bounds(facts.data, names):
        width, whole = float(np.nanmean(upper - lower)), float(np.nanmax(upper) - np.nanmin(lower))
        share, one = (
            width / whole if whole > 0 else 0.0,
            float(np.mean(upper[~np.isnan(upper)] == lower[~np.isnan(lower)])),
        )
        rows.append((name, float(np.nanmin(lower)), float(np.nanmax(upper)), width, share, one))
    sentence = (
        "The width of a record's box in a column, on average over the records, and as a share of the column's "
        "whole range of bounds. Narrow boxes reveal more; one of no width is the value of all of its records."
    )
    drawn = rows[:_DRAWN]
    picture = bars(
        [row[0] for row in drawn],
        [100.0 * row[4] for row in drawn],
        title="Mean width of a record's box",
        description=f"Mean width by column; the widest is {max(drawn, key=lambda row: row[4])[0]}.",
        axis="% of the column's range of bounds",
    )
    head = ("Column", "Lowest bound", "Highest bound", "Mean width", "Share of the range", "Records with one value")
    return Section(
        "How columns were cut", (sentence,), figures=(picture,), tables=(Table("Bounds", head, tuple(rows)),)
    )


def _bounds(data: Path, names: list[str]) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Names with their lower and upper bounds, (rows,) each, some columns of the file at once."""
    for first in range(0, len(names), _AT_ONCE):
        some = names[first : first + _AT_ONCE]
        ends = numeric_columns(data, [f"{name}_{end}" for name in some for end in ("lo", "hi")]).values.T
        yield from zip(some, ends[::2], ends[1::2], strict=True)


def sets(facts: ReleaseFacts) -> Section:
    """How many values the boxes leave of each column without order."""
    there = {column["name"] for column in facts.release["columns"]}
    named = facts.parameters.get("quasi_identifiers", ())
    names = [name for name in named if f"{name}_set" in there and f"{name}_lo" not in there]
    if facts.data is None or not names:
        return Section("Sets of columns without order")
    boxes = read_boxes(facts.data, names)
    share = boxes.counts / boxes.counts.sum()
    rows = []
    for name, held in zip(boxes.nominal, boxes.sets, strict=True):
        left = held.sum(axis=1)
        rows.append((name, held.shape[1], float(share @ left), int(left.max()), float(share @ (left == 1))))
    sentence = (
        "Of a column without order a box has the set of the values that its records may have. Small sets show more; a "
        "set of one value is the value of all records of the box."
    )
    picture = bars(
        [row[0] for row in rows[:_DRAWN]],
        [100.0 * row[4] for row in rows[:_DRAWN]],
        title="Records whose value is certain",
        description="Share of the records whose box leaves one value, by column.",
        axis="% of the records",
    )
    head = ("Column", "Values in any box", "Values a record's box leaves", "At most", "Share of records with one")
    table = Table("Sets", head, tuple(rows))
    return Section("Sets of columns without order", (sentence,), figures=(picture,), tables=(table,))


def still_computable(facts: ReleaseFacts) -> Section:
    """What readers can do with the file."""
    points = [
        (
            "Ranges of means, variances, covariances, correlations and regressions on columns in boxes, also ones that "
            "are not listed here: each is certain. Kept columns take part with the values that they have."
        ),
        (
            "Counts of records in a range of values: at least those of boxes that are within it, at most those of "
            "boxes that meet it."
        ),
        (
            "Statistics of kept columns alone, exactly: means, shares, cross-tables, means within groups."
            if facts.parameters.get("keep")
            else ""
        ),
    ]
    return Section("What readers can still compute", points=tuple(point for point in points if point))
