"""What releases of the same data leave together, from their ledgers and the records of today."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.families import FamilyComposition, OverlayDiversity
from app.contracts.findings import Finding, FindingSeverity
from app.contracts.stored import StoredSpec
from app.errors import FieldError, InfeasibleError
from surebox_core.types import FloatArray
from workers.algorithms.tables.composition import Composed
from workers.frames.ledger import BOX_WEIGHTS, content_of, fewest_changed, read_ledger, same_rows, smallest_box
from workers.methods.released.earlier import NO_TERMS, OPAQUE, Earlier, FamilyTerms
from workers.methods.released.family import Family

#: Calibrated scales err by less than this share of k.
_CALIBRATED: Final = 0.01
#: Values of `box_means`: no means, and means that are not rounded.
_NO_MEANS, _EXACT_MEANS = "none", "exact"
#: Earlier releases that a finding names.
_NAMED: Final = 5


def composed_with(
    dataset: Path,
    spec: Mapping[str, Any],
    own: Path | None,
    earlier: Sequence[Earlier],
    *,
    rng: np.random.Generator,
    terms: FamilyTerms = NO_TERMS,
    scale: FloatArray | None = None,
) -> FamilyComposition:
    """Compose a release with all that was published before.

    Parameters
    ----------
    dataset
        The typed copy of the data that it was made from.
    spec
        Of the job that made it.
    own
        Its ledger; None where its method has none.
    earlier
        The publications before it, series of a base left out.
    rng
        Draws the records that noise is evaluated for, where there are too many.
    terms
        What the family states about its tables.
    scale
        Of noise, that of each record.
    """
    # the same rows of the same data once more add nothing; of other data they may be another person's
    same = (own, terms.dataset_id)
    others = [one for one in earlier if one.ledger is None or (one.ledger, one.dataset_id) != same]
    opaque = spec["method"] in OPAQUE or any(one.method in OPAQUE for one in earlier)
    lost = [one for one in others if one.ledger is None and one.method not in OPAQUE]
    family = Family(dataset, spec, own, [one for one in others if one.ledger is not None], terms, scale)
    composed = family.composed(rng) if family.releases else None
    unplaced = family.rows if lost else 0 if composed is None else composed.unplaced
    left = None if composed is None else composed.left
    k = _left(left, single=not others)
    return FamilyComposition(
        composed_k=1.0 if opaque or left is None or unplaced else k,
        overlay=None if left is None else left.overlay,
        overlay_below=None if left is None else left.overlay_below,
        candidates=None if left is None else left.candidates,
        candidates_below=None if left is None else left.candidates_below,
        changed=None if left is None else left.changed,
        expected=None if left is None else left.expected,
        expected_below=None if left is None else left.expected_below,
        diversity=_diversity(left, family.sensitive),
        release_count=len(earlier) + 1,
        exact=not unplaced,
        unplaced=unplaced,
        new=0 if composed is None else composed.new,
        left=0 if composed is None else composed.gone,
    )


def with_versions(
    composition: FamilyComposition,
    own: Path,
    before: Path | None,
    left: FamilyComposition | None,
    *,
    alone: bool,
    most: int | None = None,
) -> FamilyComposition:
    """The composition of a new version in the boxes of the release before: by what both show, not by today's records.

    Parameters
    ----------
    composition
        Its composition with all else that was published.
    own, before
        Its ledger, and that of the release before; None where that is from before there were ledgers.
    left
        What all up to the release before left.
    alone
        Whether nothing else was published: then only its own boxes are left.
    most
        Persons that the versions promise, where persons have several rows: rows do not state about how many more they
        are.
    """
    smallest = smallest_box(own)
    changed = None if before is None else fewest_changed(own, before)
    if most is not None:
        smallest, changed = min(smallest, most), None if changed is None else min(changed, most)
    rest = (None if changed is None else float(changed), None if left is None else left.composed_k)
    figures = [float(smallest), *(one for one in rest if one is not None)]
    if alone:
        composition = composition.model_copy(update={"overlay": smallest, "overlay_below": 0.0})
    else:
        figures.append(composition.composed_k)
    releases = composition.release_count + (0 if left is None else left.release_count)
    return composition.model_copy(update={"composed_k": min(figures), "changed": changed, "release_count": releases})


def standing(
    composition: FamilyComposition,
    spec: Mapping[str, Any],
    own: Path | None,
    earlier: Sequence[Earlier],
    terms: FamilyTerms,
) -> tuple[Finding, ...]:
    """All that stands against a release by the publications before, or is to be known of it.

    Raises
    ------
    InfeasibleError
        As of `repeated_content`.
    """
    below = finding(composition, spec, earlier, terms) or delivery(composition, terms)
    findings = (repeated_content(spec, own, earlier), below, forgotten(terms, spec))
    return tuple(one for one in findings if one is not None)


def finding(
    composition: FamilyComposition, spec: Mapping[str, Any], earlier: Sequence[Earlier], terms: FamilyTerms = NO_TERMS
) -> Finding | None:
    """What stands against a release, if the composition falls below its k or below what its gate demands."""
    made = StoredSpec.of(spec)
    demanded = _demanded(made)
    counted = earlier or (terms.persons and made.person_column is None)  # a first one composes with nothing
    limit = max([*demanded, *([made.least_k] if counted else [])], default=0.0)
    counted_exactly = composition.composed_k.is_integer()  # persons and rows; only what fits noise is an expectation
    if composition.composed_k >= (limit if counted_exactly else limit * (1 - _CALIBRATED)):
        return None
    below = composition.overlay_below
    shares = f"; {below:.1%} of the persons are among fewer than {made.least_k:g}" if below else ""
    others = ", ".join(one.release_id for one in earlier[:_NAMED]) + (", ..." if len(earlier) > _NAMED else "")
    together = f"together with the publications of the same data ({others}), " if earlier else ""
    return Finding(
        audit="composition",
        severity=FindingSeverity.HIGH,
        detail=(
            f"{together}k is {composition.composed_k:g} where {limit:g} is required{shares}. {_unplaced(composition)}"
            f"{_counted(terms, made)}{_delivered(composition, terms)}What keeps k: one release with all columns that "
            f"are needed, and later releases of its series{_named(earlier)}; statistics can be computed of a published "
            "release. `accept_findings` publishes all the same"
        ),
        measured=composition.composed_k,
        required=limit,
    )


def delivery(composition: FamilyComposition, terms: FamilyTerms) -> Finding | None:
    """That data look like a new delivery of the earlier release, and no one said so; they may be published."""
    detail = _delivered(composition, terms)
    if not detail:
        return None
    return Finding(
        audit="composition", severity=FindingSeverity.MEDIUM, detail=detail.strip(), measured=None, required=None
    )


def forgotten(terms: FamilyTerms, spec: Mapping[str, Any]) -> Finding | None:
    """What stands against a release of data that lack the column by which the persons of their family are counted."""
    made = StoredSpec.of(spec)
    if not terms.forgotten or made.person_column is not None:
        return None
    names = ", ".join(f"`{name}`" for name in terms.forgotten)
    return Finding(
        audit="composition",
        severity=FindingSeverity.HIGH,
        detail=(
            f"releases of these data count persons by {names}, which this dataset does not have: k counts its rows, "
            "and several may be one person's. Upload the data with that column; it need not be published. "
            "`accept_findings` publishes all the same"
        ),
        measured=None,
        required=made.least_k,
    )


def _unplaced(composition: FamilyComposition) -> str:
    """How many persons cannot be placed, and what would place them."""
    if not composition.unplaced:
        return ""
    return (
        f"Of {composition.unplaced} persons it is not known where they were in earlier releases, so each counts as "
        "alone. What would place them: an id in both files (`person_column`); for renamed or recoded columns a "
        'mapping, `"join_columns": {"old name": "new name"}` in the demand `composition` of the `gate`; the earlier '
        "file, uploaded again if it was deleted; for a new delivery of the data `version_of_dataset_id` at its upload. "
    )


def _counted(terms: FamilyTerms, made: StoredSpec) -> str:
    """That persons are counted although the job does not state it."""
    names = [own or name for name, own in terms.persons.items()]
    if not names or made.person_column is not None:
        return ""
    return f"Persons are counted by `{names[0]}`, as in earlier releases: set `person_column`. "


def _delivered(composition: FamilyComposition, terms: FamilyTerms) -> str:
    """That the data look like a new delivery, and no one said so."""
    changed = composition.unplaced or composition.new or composition.left or composition.changed
    if terms.is_new_version or not changed:
        return ""
    return (
        f"These data are not quite those that were released before ({composition.new} came, {composition.left} left): "
        "if they are a new delivery, upload them with `version_of_dataset_id` and the id of the dataset before; its "
        "releases are then continued, and show changes only where no person or at least k persons changed. "
    )


def repeated_content(spec: Mapping[str, Any], own: Path | None, earlier: Sequence[Earlier]) -> Finding | None:
    """What stands against means inside boxes where others of the same data were published: their difference is records.

    Parameters
    ----------
    spec, own, earlier
        As in `composed_with`; the same release once more reveals nothing new.

    Raises
    ------
    InfeasibleError
        These or those are exact: two such releases give single records by subtraction.
    """
    content = content_of(spec)
    if own is None or content == _NO_MEANS:
        return None
    others = {
        one.release_id: its
        for one in earlier
        if one.ledger not in {None, own} and (its := read_ledger(one.ledger).box_means) != _NO_MEANS
        if (its == BOX_WEIGHTS) == (content == BOX_WEIGHTS) and not same_rows(own, one.ledger)
    }
    if not others:
        return None
    named = ", ".join(list(others)[:_NAMED])
    what = "weights of boxes" if BOX_WEIGHTS in others.values() else "means inside boxes"
    without = "leave `survey_weight_column` out" if content == BOX_WEIGHTS else "set `box_means: none`"
    detail = (
        f"{what} were published of the same data before ({named}): records follow from two such releases by "
        f"subtraction. To publish, {without}, or ask statistics of the published release"
    )
    if _EXACT_MEANS in (content, *others.values()):
        raise InfeasibleError(
            f"{detail}; exact means are not published twice", errors=[FieldError("/box_means", detail)]
        )
    return Finding(
        audit="composition", severity=FindingSeverity.HIGH, detail=detail, measured=float(len(others)), required=0.0
    )


def _named(earlier: Sequence[Earlier]) -> str:
    """How a later release of a series is requested."""
    base = next((one.release_id for one in earlier if one.method == "boxes"), None)
    return "" if base is None else f' (`"base_release_id": "{base}"` in place of `dataset_id`)'


def finding_of_series(composition: FamilyComposition | None, spec: Mapping[str, Any]) -> Finding | None:
    """What stands against a later release of a series: only what its gate demands of all that is published already."""
    demanded = _demanded(StoredSpec.of(spec))
    if composition is not None:
        return finding(composition, spec, ())
    if not demanded:
        return None
    return Finding(
        audit="composition",
        severity=FindingSeverity.HIGH,
        detail="what all that was published of these data leaves is not known: its base is from before that was kept",
        measured=None,
        required=max(demanded),
    )


def _demanded(made: StoredSpec) -> list[float]:
    return [float(one["require"]["k"]) for one in made.gate if one["method"] == "composition"]


def _left(composed: Composed | None, *, single: bool) -> float:
    if composed is None:
        return 1.0
    figures: list[float] = [composed.overlay]
    if composed.expected is not None:
        figures.append(composed.expected)
    if composed.changed is not None and not single:
        figures.append(composed.changed)
    return float(min(figures))


def _diversity(composed: Composed | None, names: Sequence[str]) -> dict[str, OverlayDiversity]:
    if composed is None:
        return {}
    return {name: OverlayDiversity(**asdict(one)) for name, one in zip(names, composed.diversity, strict=True)}
