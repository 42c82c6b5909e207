"""The audit `composition`: its figures, what is required of them, and the whole in a sentence."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.methods.composition.spec import ComposedColumn, CompositionDemands, CompositionResult, CompositionSpec
from workers.algorithms.tables.composition import Composed

MEANING: Final = {
    "overlay": "Who can tell which rows of the releases are one person's finds at least so many who it could be.",
    "overlay_below": "The share of the persons who are hidden among fewer than k others in that way.",
    "candidates": "Who joins the releases by what they keep unchanged finds at least so many rows for a person.",
    "candidates_below": "The share of the persons for whom it is fewer than k rows.",
    "expected": "So many records are expected to fit all noisy rows of a person at least as well as their own.",
    "expected_below": "The share of the records for which it is fewer than k.",
    "changed": "So few rows differ between a box as it was published and what it holds today, or in another version.",
    "unplaced": "Of so many persons it cannot be told where they were: each of them counts as alone.",
    "sensitive": "What persons who cannot be told apart have in common: values that are learned without naming them.",
    "composed_k": "The fewest persons or records that remain by any of these.",
}
_SERIES: Final = (
    "the boxes of one cut those of the other: plan one release that serves all uses, and later ones as its series"
)
_ALONE: Final = "it is one release: what it leaves follows from its own k, and from what has changed in the data since"
_VERSIONS: Final = (
    "they are versions, which differ by nothing or by k rows where they follow each other, and may differ by less "
    "where they do not: publish less often, or ask a larger k"
)
_UNPLACED: Final = (
    "name an id that all data have (`person_column`), map columns that were renamed or recoded (`join_columns`, old "
    "names to new ones), or upload the data of the release again if they were deleted"
)


@dataclass(frozen=True)
class Together:
    """What was composed.

    Attributes
    ----------
    releases
        How many releases and tables.
    has_boxes, is_open
        Whether one has boxes; whether one hides nobody among others.
    unplaced, new, left
        Persons of whom it is not known where they were, who have come, who have left.
    versions
        Whether all are versions of one release.
    """

    releases: int
    has_boxes: bool
    is_open: bool
    unplaced: int
    new: int
    left: int
    versions: bool


def result(spec: CompositionSpec, composed: Composed, of: Together, *, sensitive: Sequence[str]) -> CompositionResult:
    """The job's result.

    Parameters
    ----------
    spec, composed, of
        The specification, what its releases leave, and of what.
    sensitive
        Columns that the figures of diversity are of, in their order.
    """
    k, boxes = spec.k_required or 1.0, of.has_boxes
    figures = (composed.overlay if boxes else None, composed.expected, composed.changed)
    left = [float(one) for one in figures if one is not None]
    diverse = dict(zip(sensitive, composed.diversity, strict=False))
    made = CompositionResult(
        records=composed.records,
        release_count=of.releases,
        k_required=k,
        composed_k=1.0 if of.is_open or of.unplaced else min(left, default=1.0),
        unplaced=of.unplaced,
        new=of.new,
        left=of.left,
        group_count=composed.groups,
        overlay=composed.overlay if boxes else None,
        overlay_below=composed.overlay_below if boxes else None,
        candidates=composed.candidates if boxes else None,
        candidates_below=composed.candidates_below if boxes else None,
        expected=composed.expected,
        expected_below=composed.expected_below,
        changed=composed.changed,
        sensitive=tuple(
            ComposedColumn(column=name, **asdict(diverse[name])) for name in spec.sensitive if name in diverse
        ),
        passed=None,
        demands={},
        findings=(),
        verdict="",
        meaning=MEANING,
    )
    demands, findings = _judged(spec.require or CompositionDemands(k=k), made, _advice(of))
    return made.model_copy(
        update={
            "findings": findings,
            "demands": demands,
            "passed": all_met(demands),
            "verdict": _verdict(made, passed=not findings),
        }
    )


def _advice(of: Together) -> str:
    """What helps where a demand is not met."""
    if of.unplaced:
        return f"of {of.unplaced} persons it cannot be told where they were: {_UNPLACED}"
    if of.versions and of.releases > 1:
        return _VERSIONS
    return _ALONE if of.releases == 1 else _SERIES


def _judged(
    require: CompositionDemands, made: CompositionResult, advice: str
) -> tuple[dict[str, MeasuredDemand], tuple[Finding, ...]]:
    """Each demand with what was measured, and a finding for each that is not met."""
    below = [one for one in (made.overlay_below, made.expected_below) if one is not None]
    least_l = min((one.l_diversity for one in made.sensitive), default=None)
    alpha = max((one.alpha for one in made.sensitive), default=None)
    measured: dict[str, tuple[float | None, bool, str]] = {  # demand: figure, whether it is a least one, in words
        "k": (made.composed_k, True, "remain of the persons whom rows could belong to, over all releases together"),
        "candidates": (made.candidates, True, "rows are left to whoever joins the releases by what they keep"),
        "expected": (made.expected, True, "records fit all noisy rows of a person"),
        "l": (least_l, True, "sensitive values are left"),
        "alpha": (alpha, False, "of the persons who cannot be told apart share one sensitive value"),
        "share_below": (max(below, default=None), False, "of the persons have fewer than k others"),
    }
    demands, failed = {}, []
    for name, (figure, at_least, what) in measured.items():
        limit = getattr(require, name)
        if limit is None:
            continue
        met = not _misses(figure, limit, at_least=at_least)
        demands[name] = MeasuredDemand(required=limit, measured=figure, met=met)
        if not met:
            failed.append(_failed(figure, limit, what, advice))
    return demands, tuple(failed)


def _misses(figure: float | None, limit: float, *, at_least: bool) -> bool:
    if figure is None:
        return True
    return figure < limit - 1e-9 if at_least else figure > limit + 1e-9


def _failed(figure: float | None, limit: float, what: str, advice: str) -> Finding:
    shown = "an unknown number" if figure is None else f"{figure:.4g}"
    detail = f"{shown} {what}, {limit:.4g} is the limit; {advice}"
    return Finding(audit="composition", severity=FindingSeverity.HIGH, detail=detail, measured=figure, required=limit)


def _verdict(made: CompositionResult, *, passed: bool) -> str:
    below = max((one for one in (made.overlay_below, made.expected_below) if one is not None), default=None)
    several = (
        f"Taken together the {made.release_count} releases leave" if made.release_count > 1 else "The release leaves"
    )
    sentence = f"{several} {made.composed_k:.4g} persons where {made.k_required:.4g} are to remain"
    if below:
        sentence += f", and fewer than {made.k_required:.4g} for {below:.1%} of them"
    return f"{sentence}{'' if passed else ': what is required is not met'}."
