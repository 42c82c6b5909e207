"""What the restricted pages of `table`, `determination` and `frontier` show: tables with units, and a picture."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from surebox_verify.disclosure import ValueDisclosure
from workers.methods.report.boxes import NOT_COVERED, disclosed_table
from workers.methods.report.facts import JsonObject
from workers.methods.report.page import Cell, Figure, Section, Table, pairs
from workers.methods.report.pictures import Curve, bars, curves
from workers.methods.report.statistics import named
from workers.methods.report.words import of_objects

#: Fields of the three results that these sections show.
SHOWN: Final = frozenset({
    "releases", "points", "records", "quasi_identifier_risks", "sensitive", "risk", "classes", "sample_uniques",
    "special_uniques", "proposal", "value_disclosure",
})  # fmt: skip
_DRAWN: Final = 8
_LISTED: Final = 50


def sections(method: str, result: JsonObject) -> list[Section]:
    """The sections of an audit, empty ones among them; none of a method that has none of its own."""
    if method == "determination" and "releases" in result:
        return [_released(one) for one in result["releases"]]
    if method == "frontier" and "points" in result:
        return [_frontier(result["points"]), _rare(result.get("records"))]
    if method == "table" and "quasi_identifier_risks" in result:
        return [
            _proposed(result),
            _identifying(result),
            _classes(result),
            _given_away(result),
            _learned(result),
            _risks(result),
            _uniques(result),
        ]
    return []


def _released(release: JsonObject) -> Section:
    """What one release gives away."""
    columns = tuple((one["column"], one["share_single_value"], one["mean_values"]) for one in release["columns"])
    head = ("Column", "Share of cells that leave one value", "Values that a cell leaves on average")
    kept = tuple(
        (
            one["column"], one["share_certain"], one["share_nearly_certain"], one["t_closeness"], one["attribution"],
            one["baseline"],
        )
        for one in release["kept_columns"]
    )  # fmt: skip
    kept_head = (
        "Kept column", "Share of rows whose box has one value", "... whose box gives one value 0.9 or more",
        "Largest distance of a box (t)", "Share of guesses from the box that are right", "... without the box",
    )  # fmt: skip
    tables = (
        Table("Columns that were generalized", head, columns),
        Table("Columns that were kept", kept_head, kept),
    )
    sentence = "A dash in the last column means any number between the bounds." if columns else ""
    return Section(
        f"What {release['release_id']} gives away",
        sentences=(sentence,) if sentence else (),
        tables=tuple(table for table in tables if table.rows),
    )


def _frontier(points: Sequence[JsonObject]) -> Section:
    """What each k costs, drawn and as numbers."""
    names = list(dict.fromkeys(named(one) for point in points for one in point["statistics"]))
    widths = [{named(one): one["width"] for one in point["statistics"]} for point in points]
    rows = tuple(
        (
            point["k"], point["box_count"], point["released"], point["ncp"],
            _largest(point, "exact"), _largest(point, "within"),
        )
        for point in points
    )  # fmt: skip
    head = (
        "k", "Boxes", "Records released", "Share of each cell that is left open",
        "Largest share of a column's values that everybody knows", "... to within its tolerance",
    )  # fmt: skip
    by_k = tuple(f"k = {point['k']}" for point in points)
    of_each = tuple((name, *(of.get(name) for of in widths)) for name in names)
    tables = [Table("What each k costs; a dash where it cannot be had", head, rows)]
    tables += [Table("Widths of certain ranges", ("Statistic", *by_k), of_each)] if names else []
    had = sorted((point for point in points if point["ncp"] is not None), key=lambda one: int(one["k"]))
    averaged = [point for point in had if point.get("with_means")]
    tables += [_of_means(averaged)] if averaged else []
    figures = [_costs(had)] if had else []
    if had and names:
        figures += _widths(had, [{named(one): one["width"] for one in point["statistics"]} for point in had], names)
        figures += _with_means(averaged, names)
    return Section("What each k costs", figures=tuple(figures), tables=tuple(tables))


def _of_means(averaged: Sequence[JsonObject]) -> Table:
    """Table of the values that rounded means give away at each k."""
    rows: list[tuple[Cell, ...]] = []
    for point in averaged:
        left = {name: share for name, share in point["with_means"]["left_to_insider"].items() if share is not None}
        least = min(left, key=left.__getitem__, default=None)
        known = (_largest(one, "exact") for one in (point, point["with_means"]))
        rows.append((point["k"], *known, None if least is None else left[least], least))
    head = (
        "k", "Largest share of a column's values that everybody knows, without means", "... with rounded means",
        "Share of a box that is left to who knows all its other records, on average", "... in the column",
    )  # fmt: skip
    return Table("What rounded means inside boxes give away; without them all of a box is left", head, tuple(rows))


def _with_means(averaged: Sequence[JsonObject], names: Sequence[str]) -> Iterator[Figure]:
    """Widths of ranges without and with rounded means, as multiples of those without at the first k."""
    if len(averaged) < 2:
        return
    both = {
        kind: [{named(one): one[kind] for one in point["statistics"]} for point in averaged]
        for kind in ("width", "width_with_means")
    }
    whole = [name for name in names if all(of.get(name) for widths in both.values() for of in widths)][: _DRAWN // 2]
    if not whole:
        return
    drawn = [
        Curve(f"{name}, {said}", [float(of[name]) / float(both["width"][0][name]) for of in both[kind]])
        for name in whole
        for kind, said in (("width", "without means"), ("width_with_means", "with means"))
    ]
    first = averaged[0]["k"]
    description = (
        f"Widths of certain ranges without means inside boxes and with rounded ones, as multiples of those without at "
        f"k = {first}, where means make the range of {whole[0]} {drawn[1].values[0]:.3g} times as wide."
    )
    axes = ("k", f"width / width without means at k = {first}")
    title = "Certain ranges with rounded means"
    yield curves([int(point["k"]) for point in averaged], drawn, title=title, description=description, axes=axes)


def _largest(point: JsonObject, figure: str) -> float | None:
    """The largest share of all columns; None where it cannot be had."""
    shown = (one[figure] for one in (point["value_disclosure"] or {}).values())
    return max((float(share) for share in shown if share is not None), default=None)


def _rare(records: JsonObject | None) -> Section:
    """Which records are rare, and why."""
    if not records:
        return Section("Rare records")
    listed = records["listed"][:_LISTED]
    names = list(listed[0]["half_widths"])
    head = ("Row", "cost", "times the median", "... because few are near", "... because it weighs", *names)
    median = float(records["median_cost"])
    rows = tuple(
        (
            one["row"], one["cost"], float(one["cost"]) / median if median > 0.0 else None, one["rare_by_density"],
            one["rare_by_influence"], *(one["half_widths"][name] for name in names),
        )
        for one in listed
    )  # fmt: skip
    title = f"The rarest of {records['measured']:,} records; by column, half the side of the best box of {records['k']}"
    places = list(range(1, len(listed) + 1))
    drawn = [
        Curve("because few records are near", [float(one["rare_by_density"]) for one in listed]),
        Curve("because it weighs on the statistics", [float(one["rare_by_influence"]) for one in listed]),
    ]
    description = (
        f"The rarest record costs {rows[0][2] or 0.0:.3g} times the median record: "
        f"{drawn[0].values[0]:.3g} times because few records are near, {drawn[1].values[0]:.3g} times because it "
        "weighs on the statistics."
    )
    axes = ("records, the rarest first", "times the median record")
    figure = curves(places, drawn, title="Why records are rare", description=description, axes=axes)
    return Section("Rare records", sentences=(description,), figures=(figure,), tables=(Table(title, head, rows),))


def _costs(had: Sequence[JsonObject]) -> Figure:
    ks = [int(point["k"]) for point in had]
    lost = [float(point["ncp"]) for point in had]
    exact, within = ([_largest(point, figure) or 0.0 for point in had] for figure in ("exact", "within"))
    description = (
        f"From k = {ks[0]} to k = {ks[-1]} the share of each cell that is left open goes from {lost[0]:.1%} to "
        f"{lost[-1]:.1%}, and the largest share of a column's values that everybody knows from {exact[0]:.1%} to "
        f"{exact[-1]:.1%}."
    )
    drawn = [
        Curve("left open of each cell", lost),
        Curve("values known exactly", exact),
        Curve("... to within the tolerance", within),
    ]
    return curves(ks, drawn, title="What each k costs", description=description, axes=("k", "share, from 0 to 1"))


def _widths(had: Sequence[JsonObject], widths: Sequence[dict[str, Any]], names: Sequence[str]) -> Iterator[Figure]:
    """Widths of ranges as multiples of those at the first k: statistics have different units."""
    whole = [name for name in names if all(of.get(name) for of in widths)][:_DRAWN]
    if not whole or len(had) < 2:
        return
    drawn = [Curve(name, [float(of[name]) / float(widths[0][name]) for of in widths]) for name in whole]
    widest = max(drawn, key=lambda one: one.values[-1])
    description = (
        f"Widths of certain ranges as multiples of those at k = {had[0]['k']}. The {widest.name} widens most, to "
        f"{widest.values[-1]:.3g} times at k = {had[-1]['k']}."
    )
    axes = ("k", f"width / width at k = {had[0]['k']}")
    yield curves([int(point["k"]) for point in had], drawn, title="Certain ranges", description=description, axes=axes)


def _identifying(result: JsonObject) -> Section:
    """What each quasi-identifier adds."""
    columns: Sequence[JsonObject] = result["quasi_identifier_risks"]
    head = (
        "Column", "Different values", "Missing", "Records that it alone singles out",
        "Records that the others still single out", "k without it", "Share of the special uniques' scores",
    )  # fmt: skip
    rows = tuple(
        (
            one["column"], one["distinct"], one["missing"], one["unique_alone"], one["unique_without"],
            one["k_without"], one["contribution"],
        )
        for one in columns
    )  # fmt: skip
    first = sorted(columns, key=lambda one: -float(one["contribution"]))[:_DRAWN]
    picture = bars(
        [str(one["column"]) for one in first],
        [float(one["contribution"]) for one in first],
        title="Share in singling records out, by column",
        description=f"{first[0]['column']} has the largest share, {float(first[0]['contribution']):.1%}.",
        axis="share of the special uniques' scores",
    )
    return Section("What each column identifies", figures=(picture,), tables=(Table("Quasi-identifiers", head, rows),))


def _proposed(result: JsonObject) -> Section:
    """Which columns identify, where none were named."""
    proposal: JsonObject = result.get("proposal") or {}
    if not proposal:
        return Section("Proposed quasi-identifiers")
    direct = ", ".join(proposal["direct_identifiers"]) or "none"
    chosen = ", ".join(proposal["quasi_identifiers"]) or "none"
    sentences = (
        "A proposal: nothing is anonymized, and no demand was checked on it.",
        f"Direct identifiers, to leave out of any release: {direct}.",
        f"Proposed as quasi-identifiers, those that identify most first: {chosen}.",
    )
    points = [str(one["detail"]) for one in proposal["columns"]] + [str(one["detail"]) for one in proposal["pairs"]]
    return Section("Proposed quasi-identifiers", sentences, points=tuple(points))


def _classes(result: JsonObject) -> Section:
    classes: JsonObject = result["classes"]
    sizes = tuple((one["size"], one["classes"]) for one in classes["histogram"][:_LISTED])
    rows: list[tuple[str, Cell]] = [
        ("Records that were looked at", result["records"]),
        ("Records left out for a missing value", result["suppressed"]["missing"]),
        ("k: records or persons of the smallest class", result["k"]),
        ("Classes", classes["count"]),
        ("Records that are alone in their class", result["unique"]),
    ]
    tables = (pairs("Classes of records that agree", rows), Table("Sizes of classes", ("Records", "Classes"), sizes))
    return Section("How many records agree", tables=tables)


def _given_away(result: JsonObject) -> Section:
    shown = {name: ValueDisclosure(**one) for name, one in (result.get("value_disclosure") or {}).items()}
    return Section("Values that cells give away", (NOT_COVERED,) if shown else (), tables=disclosed_table(shown))


def _learned(result: JsonObject) -> Section:
    sensitive: Sequence[JsonObject] = result["sensitive"]
    tables = (of_objects("By sensitive column", sensitive),) if sensitive else ()
    return Section("Inference about a person", tables=tables)


def _risks(result: JsonObject) -> Section:
    risk: JsonObject = result["risk"]
    threshold = risk["threshold"]
    head = ("Adversary", "Highest risk of a record", "On average", f"Share of records above {threshold}")
    rows = tuple(
        (name, *(risk[name][field] for field in ("highest", "average", "share_above")))
        for name in ("prosecutor", "journalist", "marketer")
    )
    return Section("Chances of adversaries", tables=(Table("By adversary", head, rows),))


def _uniques(result: JsonObject) -> Section:
    uniques, special = result["sample_uniques"], result["special_uniques"]
    rows = tuple((", ".join(one["columns"]), one["records"]) for one in uniques["combinations"][:_LISTED])
    head = ("Columns", "Records that they single out, and no part of them")
    numbers: list[tuple[str, Cell]] = [
        ("Columns of the largest sets that were looked at", uniques["depth"]),
        ("Records that some set singles out", uniques["records"]),
        ("Highest score of a record (SUDA)", special["highest_score"]),
        ("Chance that a match of a unique is right (DIS)", special["dis"]),
        ("Highest DIS-SUDA score of a record", special["highest_risk"]),
    ]
    tables = [pairs("Smallest sets that single records out", numbers)]
    if rows:
        tables.append(Table("Sets, most records first", head, rows))
    return Section("Who is singled out by few columns", tables=tuple(tables))
