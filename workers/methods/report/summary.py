"""The first section of a release's page: protected against what, at what cost, what remains. From the release alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final

from surebox_verify.released.boxes import single_value_shares
from workers.methods.report.facts import JsonObject, ReleaseFacts
from workers.methods.report.page import Section
from workers.methods.report.statistics import single

_TITLE: Final = "At a glance"
_ALL: Final = "No bound against every attacker: this is not differential privacy."


def at_a_glance(facts: ReleaseFacts) -> Section:
    """Three answers for readers who decide; empty for methods without a text."""
    answers = _ANSWERS.get(str(facts.release["method"]))
    if answers is None:
        return Section(_TITLE)
    protected, cost, remains = answers(facts)
    return Section(
        _TITLE, points=(f"Protected against: {protected}", f"At what cost: {cost}", f"What remains: {remains} {_ALL}")
    )


def _boxes(facts: ReleaseFacts) -> tuple[str, str, str]:
    parameters = facts.parameters
    names, k = [str(name) for name in parameters.get("quasi_identifiers", ())], parameters.get("k")
    people = "people" if parameters.get("person_column") else "records"
    protected = f"singling out. An attacker who knows {_listed(names)} of a person finds at least {k} {people}."
    if sensitive := [str(name) for name in parameters.get("sensitive") or ()]:
        rules = [f"{name} = {parameters[name]}" for name in ("l", "t", "alpha") if parameters.get(name) is not None]
        protected += f" Inference of {_listed(sensitive)}, limited by {_listed(rules)} in every box."
    return protected, _accuracy(facts.statistics), _boxes_remain(facts, names)


def _accuracy(statistics: Sequence[JsonObject]) -> str:
    """How many statistics have a guaranteed range, and how wide the usual one is compared with its estimate."""
    rows = [one for one in single(statistics) if "guaranteed" in one]
    known = [one for one in rows if one["guaranteed"] is not None]
    if not known:
        return "values are published as intervals and sets; the release lists no statistic with a guaranteed range."
    widths = [
        (one["guaranteed"][1] - one["guaranteed"][0]) / 2 / abs(one["estimate"])
        for one in known
        if one.get("estimate") and math.isfinite(one["guaranteed"][1] - one["guaranteed"][0])
    ]
    usual = f" Half of them are known to within {100 * median(widths):.2g} % of their estimate." if widths else ""
    return f"{len(known)} of {len(rows)} statistics have a guaranteed range, which is certain.{usual}"


def _boxes_remain(facts: ReleaseFacts, names: list[str]) -> str:
    """Values that boxes leave alone, and kept columns."""
    remains = "what all records of a box have in common is known of each of them"
    if facts.data is not None:
        shares = single_value_shares(facts.data, names, facts.parameters.get("ordinal"))
        most = max(names, key=lambda name: shares.get(name, 0.0), default="")
        if most and shares.get(most, 0.0) > 0:
            remains += f", most often {most}: a single value for {100 * shares[most]:.3g} % of the records"
    kept = [str(name) for name in facts.parameters.get("keep") or ()]
    if kept:
        counted = "and counted in k" if facts.parameters.get("k_counts_kept") else "and not counted in k"
        remains += f". {_listed(kept)} published unchanged {counted}"
    return f"{remains}."


def _uncertain(facts: ReleaseFacts) -> tuple[str, str, str]:
    k = facts.parameters.get("k") or "the number in a column of"
    return (
        f"linkage. On average at least {k} records fit a published row as well as its own record does.",
        "every value carries noise, whose size is published; no range is guaranteed.",
        "k is an average: single rows may fit fewer records.",
    )


def _condensation(_: ReleaseFacts) -> tuple[str, str, str]:
    return (
        "linkage. No row is a person's: rows are drawn from the means and covariances of groups.",
        "only means and covariances of groups are kept; no range is guaranteed.",
        "moments of small groups can reveal outliers.",
    )


def _swaps(facts: ReleaseFacts) -> tuple[str, str, str]:
    places = _listed([str(name) for name in facts.parameters.get("region_columns", ())]) or "the region"
    return (
        f"locating a group. Values of {places} were exchanged, so that the rules no longer see the masked regions.",
        "statistics by region change; statistics without regions stay exact.",
        "every other cell is the original's: no individual is protected, and other classifiers may see the regions.",
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


_ANSWERS: Final[Mapping[str, Callable[[ReleaseFacts], tuple[str, str, str]]]] = {
    "boxes": _boxes,
    "uncertain": _uncertain,
    "condensation": _condensation,
    "swaps": _swaps,
}
