"""The audit `composition`: its figures, what is required of them, and the whole in a sentence."""

from dataclasses import asdict
from typing import Final

from app.contracts.attacks import ComposedColumn, CompositionDemands, CompositionResult, CompositionSpec
from app.contracts.findings import Finding, Severity
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
        passed=True,
        findings=(),
        verdict="",
        meaning=MEANING,
    )
    findings = _findings(spec.require or CompositionDemands(k=k), made)
    return made.model_copy(
        update={"findings": findings, "passed": not findings, "verdict": _verdict(made, passed=not findings)}
    )


def _findings(require: CompositionDemands, made: CompositionResult) -> tuple[Finding, ...]:
    below = [one for one in (made.overlay_below, made.expected_below) if one is not None]
    least_l = min((one.l for one in made.sensitive), default=None)
    alpha = max((one.alpha for one in made.sensitive), default=None)
    lowest: list[tuple[float | None, float | None, str]] = [
        (made.least, require.k, "remain of the persons whom rows could belong to, over all releases together"),
        (made.candidates, require.candidates, "rows are left to whoever joins the releases by what they keep"),
        (made.expected, require.expected, "records fit all noisy rows of a person"),
        (least_l, require.l, "sensitive values are left"),
    ]
    highest: list[tuple[float | None, float | None, str]] = [
        (alpha, require.alpha, "of the persons who cannot be told apart share one sensitive value"),
        (max(below, default=None), require.share_below, "of the persons have fewer than k others"),
    ]
    failed = [_failed(figure, limit, what) for figure, limit, what in lowest if _misses(figure, limit, at_least=True)]
    failed += [
        _failed(figure, limit, what) for figure, limit, what in highest if _misses(figure, limit, at_least=False)
    ]
    return tuple(failed)


def _misses(figure: float | None, limit: float | None, *, at_least: bool) -> bool:
    if limit is None:
        return False
    if figure is None:
        return True
    return figure < limit - 1e-9 if at_least else figure > limit + 1e-9


def _failed(figure: float | None, limit: float | None, what: str) -> Finding:
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
