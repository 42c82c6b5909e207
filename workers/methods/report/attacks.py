"""What the restricted pages of attacks and of masked groups show: signals, rules as sentences, ranks, findings."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from workers.methods.report.facts import JsonObject
from workers.methods.report.page import Section, Table, pairs
from workers.methods.report.pictures import bars, before_and_after
from workers.methods.report.words import spoken

_DRAWN: Final = 40
_RULES: Final = 50
_PASSED: Final[Mapping[bool | None, str]] = {
    True: "It passed.",
    False: "It did not pass.",
    None: "Nothing was required: it neither passed nor failed.",
}
#: Figures of a composition, and what they are called.
_COMPOSED: Final = {
    "composed_k": "Persons that are left (composed k)",
    "overlay": "Persons in the smallest set that agrees in all boxes",
    "overlay_below": "Share of the persons in sets of fewer than k",
    "candidates": "Fewest rows that may be a person's, joined by kept columns",
    "changed": "Fewest rows that were added to a box or have left it",
    "expected": "Fewest records expected to fit the noise of one",
    "release_count": "Releases that were composed",
    "unplaced": "Persons of whom it is not known where they were",
    "new": "Persons who have come since",
    "left": "Persons who have left since",
}


def findings(result: JsonObject) -> Section:
    """What an audit concludes, the requirements and measurements, and its findings, the worst first."""
    worst_first = sorted(result.get("findings") or (), key=lambda one: ("high", "medium", "low").index(one["severity"]))
    sentences = [str(result["verdict"])] if result.get("verdict") else []
    if "passed" in result:
        sentences.append(_PASSED[result["passed"]])
    if not worst_first and "findings" in result:
        sentences.append("It found nothing to object to.")
    demands = tuple(
        (spoken(name), one["required"], one["measured"], one["met"])
        for name, one in (result.get("demands") or {}).items()
    )
    rows = tuple(
        (
            one["severity"],
            " ".join([one["detail"], *(one.get("remedies") or ())]),
            one.get("measured"),
            one.get("required"),
        )
        for one in worst_first
    )
    tables = (
        Table("Requirements", ("Demand", "Required", "Measured", "Met"), demands),
        Table("Findings", ("Severity", "Finding", "Figure", "Limit"), rows),
    )
    return Section("Findings", tuple(sentences), tables=tuple(table for table in tables if table.rows))


def published(job: JsonObject) -> Section:
    """Which findings were accepted at publishing, by whom, and what the release leaves together with earlier ones."""
    accepted = tuple(
        (one["audit"], one["by"] or "whoever requested the job", one["at"]) for one in job.get("accepted") or ()
    )
    tables = (
        [Table("Findings that were accepted", ("Audit", "Accepted by the key", "When"), accepted)] if accepted else []
    )
    composed: JsonObject = job.get("composed") or {}
    figures = [(title, composed.get(name)) for name, title in _COMPOSED.items()]
    if composed:
        tables.append(pairs("This release and all that were published of the same data before it", figures))
    return Section("What it leaves together with earlier releases", tables=tuple(tables))


def signals(result: JsonObject) -> Section:
    """Where a group stands out by its rules, before and after places were swapped."""
    if "signal_before" not in result:
        return Section("Signals")
    places = [_place(value) for value in result["regions"]]
    order = sorted(range(len(places)), key=lambda index: -float(result["signal_before"][index]))[:_DRAWN]
    names = [places[index] for index in order]
    before = [float(result["signal_before"][index]) for index in order]
    after = [float(result["signal_after"][index]) for index in order]
    masked = set(result.get("masked_regions", ()))
    sentence = (
        f"{len(masked)} places were to be masked; {result['swap_count']} pairs of records exchanged their places."
    )
    picture = before_and_after(
        names, before, after,
        title="Members of the fuzzy group by place", axis="records of the fuzzy group",
        description=f"{sentence} The largest signals first, {len(order)} of {len(places)} places.",
    )  # fmt: skip
    rows = tuple(
        (places[index], result["signal_before"][index], result["signal_after"][index], index in masked)
        for index in order
    )
    head = ("Place", "Before", "After", "Was to be masked")
    return Section("Signals before and after", (sentence,), figures=(picture,), tables=(Table("Signals", head, rows),))


def group(result: JsonObject) -> Section:
    """Which places the rules point to."""
    if "crisp_auxiliary_signal" not in result:
        return Section("Where the group stands out")
    places, signal = [_place(value) for value in result["regions"]], result["crisp_auxiliary_signal"]
    outliers = set(result.get("auxiliary_outliers", ()))
    order = sorted(range(len(places)), key=lambda index: -float(signal[index]))[:_DRAWN]
    sentence = f"{len(outliers)} of {len(places)} places are outliers of the auxiliary signal."
    picture = bars(
        [places[index] + (" *" if index in outliers else "") for index in order],
        [float(signal[index]) for index in order],
        title="Crisp auxiliary signal by place; * is an outlier",
        description=f"{sentence} The largest first.",
        axis="records with a grade of at least alpha",
    )
    rows = tuple((places[index], signal[index], index in outliers) for index in order)
    return Section(
        "Where the group stands out",
        (sentence,),
        figures=(picture,),
        tables=(Table("Signal", ("Place", "Signal", "Outlier"), rows),),
    )


def rules(result: JsonObject) -> Section:
    """The rules as sentences."""
    readable: Sequence[JsonObject] = [one for one in result.get("rules") or () if one.get("text")]
    points = tuple(
        f"If {one['text']}, the group is likely: relative confidence {_number(one.get('relative_confidence_factor'))}, "
        f"support {_number(one.get('support'))}."
        for one in readable[:_RULES]
    )
    more = (f"The first {_RULES} of {len(readable)}.",) if len(readable) > _RULES else ()
    return Section("Rules", sentences=more if points else (), points=points)


def linkage(result: JsonObject) -> Section:
    """How well known records are found again."""
    if "rank_quantiles" not in result:
        return Section("Linkage")
    sentence = (
        f"{result.get('sampled'):,} rows were tried against {result.get('candidates'):,} known records. The rank of a "
        "record is the number of known records that fit its row at least as well as itself."
    )
    names = ("mean rank", "share of rank 1", "share below k", "mean posterior of the truth")
    values = (
        result.get("mean_rank"),
        result.get("share_rank_1"),
        result.get("share_below_k"),
        result.get("mean_posterior"),
    )
    return Section(
        "Linkage", (sentence,), tables=(Table("Ranks", ("", "Value"), tuple(zip(names, values, strict=True))),)
    )


def _place(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else "unbounded"
