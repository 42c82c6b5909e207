"""The audit `composition`: its figures, what is required of them, and the whole in a sentence."""

from dataclasses import asdict
from typing import Final

from app.contracts.attacks import ComposedColumn, CompositionDemands, CompositionResult, CompositionSpec
from app.contracts.findings import Finding, MeasuredDemand, Severity, all_met
from workers.algorithms.tables.composition import Composed

MEANING: Final = {
    "overlay": "Who can tell which rows of the releases are one person's finds at least so many who it could be.",
    "overlay_below": "The share of the persons who are hidden among fewer than k others in that way.",
    "candidates": "Who joins the releases by what they keep unchanged finds at least so many rows for a person.",
    "candidates_below": "The share of the persons for whom it is fewer than k rows.",
    "expected": "So many records are expected to fit all noisy rows of a person at least as well as their own.",
    "expected_below": "The share of the records for which it is fewer than k.",
    "changed": "So few rows differ between a box as it was published and the records of today: added or removed.",
    "sensitive": "What persons who cannot be told apart have in common: values that are learned without naming them.",
    "least": "The fewest persons or records that remain by any of these.",
}
_SERIES: Final = "the boxes of one cut those of the other: plan one release that serves all uses"


def result(
    spec: CompositionSpec, found: Composed, *, releases: int, has_boxes: bool, is_open: bool
) -> CompositionResult:
    """The job's result."""
    k = spec.k or 1.0
    looked_at = spec.sensitive if found.diversity else ()  # rows that are the original's make no groups to look at
    left = [
        float(one) for one in (found.overlay if has_boxes else None, found.expected, found.changed) if one is not None
    ]
    made = CompositionResult(
        records=found.records,
        releases=releases,
        k=k,
        least=1.0 if is_open else min(left, default=1.0),
        groups=found.groups,
        overlay=found.overlay if has_boxes else None,
        overlay_below=found.overlay_below if has_boxes else None,
        candidates=found.candidates if has_boxes else None,
        candidates_below=found.candidates_below if has_boxes else None,
        expected=found.expected,
        expected_below=found.expected_below,
        changed=found.changed,
        sensitive=tuple(
            ComposedColumn(column=name, **asdict(one)) for name, one in zip(looked_at, found.diversity, strict=True)
        ),
        passed=None,
        demands={},
        findings=(),
        verdict="",
        meaning=MEANING,
    )
    demands, findings = _judged(spec.require or CompositionDemands(k=k), made)
    return made.model_copy(
        update={
            "findings": findings,
            "demands": demands,
            "passed": all_met(demands),
            "verdict": _verdict(made, passed=not findings),
        }
    )


def _judged(
    require: CompositionDemands, made: CompositionResult
) -> tuple[dict[str, MeasuredDemand], tuple[Finding, ...]]:
    """Each demand with what was measured, and a finding for each that is not met."""
    below = [one for one in (made.overlay_below, made.expected_below) if one is not None]
    least_l = min((one.l for one in made.sensitive), default=None)
    alpha = max((one.alpha for one in made.sensitive), default=None)
    measured: dict[str, tuple[float | None, bool, str]] = {  # demand: figure, whether it is a least one, in words
        "k": (made.least, True, "remain of the persons whom rows could belong to, over all releases together"),
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
            failed.append(_failed(figure, limit, what))
    return demands, tuple(failed)


def _misses(figure: float | None, limit: float, *, at_least: bool) -> bool:
    if figure is None:
        return True
    return figure < limit - 1e-9 if at_least else figure > limit + 1e-9


def _failed(figure: float | None, limit: float, what: str) -> Finding:
    shown = "an unknown number" if figure is None else f"{figure:.4g}"
    detail = f"{shown} {what}, {limit:.4g} is the limit; {_SERIES}"
    return Finding(audit="composition", severity=Severity.HIGH, detail=detail, figure=figure, limit=limit)


def _verdict(made: CompositionResult, *, passed: bool) -> str:
    below = max((one for one in (made.overlay_below, made.expected_below) if one is not None), default=None)
    told = (
        f"Taken together the {made.releases} releases leave {made.least:.4g} persons where {made.k:.4g} are to remain"
    )
    if below:
        told += f", and fewer than {made.k:.4g} for {below:.1%} of them"
    return f"{told}{'' if passed else ': what is required is not met'}."
