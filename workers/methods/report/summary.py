"""The first section of a page: protected against what, at what cost, what remains. Each method's own promise, no more.

Of a release it is written from the release alone; the page of a job adds what its owner may know.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from app.contracts.flags import Flag
from app.contracts.releases import ReleaseState
from app.sentences import listed
from workers.methods.report.boxes import disclosed
from workers.methods.report.facts import JobFacts, JsonObject, ReleaseFacts
from workers.methods.report.page import Section
from workers.methods.report.statistics import single

_TITLE: Final = "At a glance"
_ALL: Final = (
    "Releases made elsewhere about the same people, and later ones, are not considered. No bound against every "
    "attacker: this is not differential privacy."
)
_Answers = tuple[str, str, str]


def at_a_glance(facts: ReleaseFacts) -> Section:
    """Answer the three questions of readers who decide; empty for methods without a text."""
    answers = _ANSWERS.get(str(facts.release["method"]))
    if answers is None:
        return Section(_TITLE)
    protected, cost, remains = answers(facts)
    if Flag.REPRODUCIBLE in facts.release["flags"]:
        protected = (
            "no attacker who knows the seed: it was given, for tests, and anyone who has it can repeat every draw. "
            f"Against all others: {protected}"
        )
    return _section(protected, cost, f"{remains} {_ALL}", tuple(_status(facts)))


def job_at_a_glance(facts: JobFacts) -> Section:
    """Answer the three questions for the owner: of the job's release, or of the table that was audited as it is."""
    result = facts.job.get("result") or {}
    if facts.release is not None:
        section = at_a_glance(facts.release)
        more = (*_composed(facts.job), *_behind(facts.release.parameters, result))
        return replace(section, sentences=(*section.sentences, *more)) if section.points else section
    spec = facts.job.get("spec") or {}
    if facts.job["method"] != "table" or not result.get("verdict"):
        return Section(_TITLE)
    if spec.get("release_id"):
        protected = f"what the report of {spec['release_id']} states. This audit adds no protection."
    else:
        protected = "nothing by this audit. It measures the table as it was uploaded and changes no value."
    return _section(
        protected,
        "none: the audit only measures.",
        f"{result['verdict']} The figures are about these quasi-identifiers only: an attacker who knows other columns "
        "may find fewer records.",
    )


def _section(protected: str, cost: str, remains: str, sentences: tuple[str, ...] = ()) -> Section:
    points = (f"Protected against: {protected}", f"At what cost: {cost}", f"What remains: {remains}")
    return Section(_TITLE, sentences=sentences, points=points)


def _status(facts: ReleaseFacts) -> Iterator[str]:
    """What the release is among the releases of its data: a draft, withdrawn, a later one, combined with others."""
    release, flags = facts.release, facts.release["flags"]
    state = release.get("state")
    if state == ReleaseState.DRAFT:
        yield (
            "This release is a draft: it is not published, and findings may stand against it. The answers are about it "
            "alone, not about what it reveals together with other releases of the same data."
        )
    elif state == ReleaseState.WITHDRAWN:
        yield "This release was withdrawn. Copies that readers have made remain, and it counts as published for ever."
    elif Flag.COMPOSITION_ACCEPTED in flags:
        yield (
            "Other releases of the same data were published before. The owner accepted that fewer than k remain when "
            "they are combined: the answers are about this release alone."
        )
    elif state == ReleaseState.PUBLISHED and not release.get("base_release_id"):
        yield (
            "The answers are about this release alone. Before it was published, Surebox combined it with all earlier "
            "releases that it recognized as being of the same data, and found that the required number remains."
        )
    if Flag.PROTECTION_FAILED in flags:
        yield (
            "The job itself found that the release lacks what was demanded of it, and the owner published it all the "
            "same: what is said of the protection holds but for that."
        )
    if release.get("base_release_id"):
        yield (
            f"It is a later release of a series, made from the published release {release['base_release_id']} and "
            "nothing else: it reveals no more than that one."
        )
    if Flag.DECLARED_DATA in flags:
        yield "The owner declared which other data are of the same people; they were not recognized."
    if Flag.NEW_VERSION in flags:
        yield (
            "It is a new version of earlier data: compared with any version before, a box shows changes of no row or "
            "of at least k rows."
        )
    if Flag.REPEATED_RELEASE in flags:
        yield "Such a release of these data was published before: fewer than k records may fit both."


def _composed(job: JsonObject) -> Iterator[str]:
    """What the release left together with those before it, as the ledger has it."""
    composed: JsonObject = job.get("composed") or {}
    if composed:
        known = "" if composed["exact"] else " Some people could not be located in earlier releases and count as alone."
        yield (
            f"Combined with all releases of the same data that were published by then, at least "
            f"{composed['composed_k']:g} remain ({composed['release_count']} combined).{known}"
        )
    if job.get("accepted"):
        yield f"Findings that were accepted: {listed(sorted({str(one['audit']) for one in job['accepted']}))}."


def _boxes(facts: ReleaseFacts) -> _Answers:
    parameters = facts.parameters
    names, k = _names(parameters, "quasi_identifiers"), parameters.get("k")
    people, counts = bool(parameters.get("person_column")), parameters.get("frequency_column")
    whom, with_kept = "people" if people or counts else "records", ""
    if _names(parameters, "keep") and parameters.get("k_counts_kept"):
        with_kept = f" that also agree in {listed(_names(parameters, 'keep'))}"
    if k == 1:
        protected = "no singling out: k is 1, so a box may be that of a single record."
    else:
        protected = (
            f"singling out. An attacker who knows {listed(names)} of a person finds at least {k} {whom} in the "
            f"person's box{with_kept}."
        )
        protected += (
            " Readers cannot count people: the file does not show whose a row is." if people else " The file proves it."
        )
        if counts:
            protected += f" Each row is one person, of those whom {counts} counted in the original."
    limits = _limits(parameters)
    if limits:
        protected += f" Inference, to this extent: {'; '.join(limits)}."
    cost = _accuracy(facts.statistics)
    if parameters.get("rare_records") in ("suppress", "weigh"):
        cost += " Rare records are suppressed or count less: ranges are about the released records with their weights."
    return protected, cost, _boxes_remain(facts, limited=bool(limits))


def _limits(parameters: JsonObject) -> list[str]:
    """What `l`, `t` and `alpha` require of every box, each in its own words."""
    sensitive = _names(parameters, "sensitive")
    apart = parameters.get("min_separation") or {}
    limits = []
    if (least := parameters.get("l")) is not None:
        counted = [name for name in sensitive if name not in apart]
        if counted:
            limits.append(f"every box has at least {least} distinct values of {listed(counted)} (l-diversity)")
        for name, gap in apart.items():
            limits.append(f"every box has at least {least} values of {name} that are {gap:g} or more apart")
    if (most := parameters.get("alpha")) is not None:
        limits.append(f"no value of {listed(sensitive)} is that of more than {100 * most:g} % of a box (alpha)")
    if (distance := parameters.get("t")) is not None:
        limits.append(
            f"the distribution of {listed(sensitive)} in a box differs from that in all boxes by at most {distance:g} "
            "(t-closeness)"
        )
    return limits


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


def _boxes_remain(facts: ReleaseFacts, *, limited: bool) -> str:
    """Values that boxes leave alone, what k and l do not cover, and kept columns."""
    parameters, flags = facts.parameters, facts.release["flags"]
    remains = "what all records of a box have in common is known of each of them"
    shares = {name: one.exact for name, one in disclosed(facts).items()}
    most = max(shares, key=shares.__getitem__, default="")
    if most and shares[most] > 0:
        remains += f", most often {most}: a single value for {100 * shares[most]:.3g} % of the records"
    sentences = [f"{remains}."]
    if limited:
        sentences.append("Within these limits, values can be inferred with some probability.")
        sentences += _guesses(parameters, _names(parameters, "keep"))
    else:
        sentences.append("Inference of values is not limited: l, t and alpha were not required.")
    if Flag.MEANS in flags:
        sentences.append("An attacker who knows all other records of a box learns more from its means.")
    if {Flag.TIGHT_BOUNDS, Flag.GRID_BOUNDS} & set(flags):
        sentences.append("Bounds are values of records, or within a step of them.")
    return " ".join([*sentences, *_kept(parameters, "box")])


def _guesses(figures: JsonObject, names: Sequence[str]) -> Iterator[str]:
    """Rows about the most frequent value of a box, by sensitive column: in the worst box, and above 60 %."""
    most, above = figures.get("largest_share") or {}, figures.get("share_above_60_percent") or {}
    for name in names:
        if name in most and name in above:
            yield (
                f"In the worst box one value of {name} is that of {100 * most[name]:.3g} % of its records; "
                f"{100 * above[name]:.3g} % of all records are in boxes where one value is that of more than 60 %."
            )


def _behind(parameters: JsonObject, result: JsonObject) -> Iterator[str]:
    """The same of sensitive columns that are not published, for the owner."""
    yield from _guesses(
        result, [name for name in _names(parameters, "sensitive") if name not in _names(parameters, "keep")]
    )


def _kept(parameters: JsonObject, what: str) -> list[str]:
    """Kept columns, and whether k counts them."""
    kept = _names(parameters, "keep")
    if not kept:
        return []
    if parameters.get("k_counts_kept"):
        return [f"{listed(kept)} published unchanged and counted in k."]
    return [
        (
            f"{listed(kept)} published unchanged and not counted in k: an attacker who knows them too may find fewer "
            f"records of the same {what}, down to one."
        )
    ]


#: Among which records an uncertain release counts k, by `scales`; of `per_record` there is another sentence.
_AMONG: Final[Mapping[str, str]] = {
    "levels": " They are counted among the rows with noise of the same size, so comparing sizes does not lower k.",
    "common": " All rows have noise of the same size, so comparing sizes reveals nothing.",
    "shared": " They are counted among the records of the same cell, which the size of the noise reveals.",
}


def _uncertain(facts: ReleaseFacts) -> _Answers:
    parameters, flags = facts.parameters, facts.release["flags"]
    k = parameters.get("k")
    least = "as many original records as its record demands" if k is None else f"at least {k:g} original records"
    protected = (
        f"linkage by {listed(_names(parameters, 'quasi_identifiers'))}, in expectation only. Averaged over the noise, "
        f"{least} fit a published row at least as well as its own does."
    )
    if parameters.get("scales") == "per_record":
        protected += (
            " This is against an attacker who does not know the original: each row has noise of a size of its own, by "
            "which an attacker with the original finds it."
        )
    else:
        protected += f" The attacker may know the original.{_AMONG.get(str(parameters.get('scales', 'levels')), '')}"
    remains = [
        (
            "k is an average: some rows fit fewer records, and an attacker with the original identifies some of them "
            "(the audit linkage measures how many). Inference of values is not limited."
        ),
    ]
    if Flag.ZERO_SCALE in flags:
        remains.append("Some values carry no noise: they are published as they are.")
    remains += _kept(parameters, "fit")
    cost = "every value carries noise, whose size is published; no range is guaranteed, estimates have standard errors."
    if Flag.RARE_RECORDS_SUPPRESSED in flags:
        cost += " Rare records are suppressed."
    return protected, cost, " ".join(remains)


def _condensation(facts: ReleaseFacts) -> _Answers:
    k = facts.parameters.get("k")
    if Flag.GROUPS_OF_ONE in facts.release["flags"] or k == 1:
        protected = "nothing: k was 1, so the rows are the records."
    else:
        protected = (
            "publication of records as they are. Rows are invented: drawn with the mean and covariance of groups of at "
            f"least {k} records. That is all that is promised. No bound on singling out, linkage or inference is "
            "computed or certified, and readers cannot check the groups in the file."
        )
    remains = "the mean and covariance of a group can reveal its outliers, and values in which the group agrees."
    kept = _names(facts.parameters, "keep")
    if kept:
        remains += f" {listed(kept)} published unchanged: each row has the values of a record of its group."
    return protected, "only means and covariances of groups are preserved; no range is guaranteed.", remains


def _swaps(facts: ReleaseFacts) -> _Answers:
    places = listed(_names(facts.parameters, "region_columns")) or "the region"
    return (
        (
            f"locating a group by the rules that the owner named; no individual is protected. Values of {places} were "
            "exchanged between records. Whether every count of these rules was met is in the owner's result (valid), "
            "not in the release."
        ),
        f"statistics by {places} change, by how much is not bounded; those of the other columns alone are exact.",
        (
            "every other cell is the original's: an attacker who knows a person's values finds the row. Other rules, "
            "and classifiers trained on other data, may still locate the group."
        ),
    )


def _names(parameters: JsonObject, field: str) -> list[str]:
    return [str(name) for name in parameters.get(field) or ()]


_ANSWERS: Final[Mapping[str, Callable[[ReleaseFacts], _Answers]]] = {
    "boxes": _boxes,
    "uncertain": _uncertain,
    "condensation": _condensation,
    "swaps": _swaps,
}
