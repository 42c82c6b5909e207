"""What releases of the same data leave together, from their ledgers and the records of today."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.families import FamilyComposition, OverlayDiversity
from app.contracts.findings import Finding, FindingSeverity
from app.contracts.stored import StoredSpec
from app.errors import FieldError, InfeasibleError
from app.sentences import listed
from surebox_core.types import FloatArray
from workers.algorithms.boxes.overlays import numbered, sizes
from workers.algorithms.tables.composition import Composed
from workers.frames.ledger import BOX_WEIGHTS, content_of, read_ledger, same_rows, smallest_box
from workers.frames.persons import read_shown_records
from workers.frames.version_cells import fewest_apart
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


@dataclass(frozen=True, slots=True)
class Versions:
    """A version of a table, and those before in the same boxes.

    Attributes
    ----------
    own
        Its ledger.
    before
        Ledgers of those before, as far as there are any.
    history
        The records that all of them have shown; None where that is not known.
    """

    own: Path
    before: tuple[Path, ...]
    history: Path | None = None


def with_versions(
    composition: FamilyComposition,
    versions: Versions,
    left: FamilyComposition | None,
    made: StoredSpec,
    *,
    alone: bool,
) -> FamilyComposition:
    """The composition of a new version in the boxes of the release before: of what all versions show.

    Parameters
    ----------
    composition
        Its composition with all else that was published.
    versions
        It, and all before.
    left
        What all up to the release before left.
    made
        How it was made. Where persons have several rows, rows do not state about how many more they are than k.
    alone
        Whether nothing else was published: then only its own boxes are left.
    """
    smallest, changed = smallest_of(versions, None if made.person_column is None else int(made.least_k))
    overlay, below = overlay_of(versions.history, made)
    overlay = smallest if overlay is None else min(smallest, overlay)
    rest = (None if changed is None else float(changed), None if left is None else left.composed_k)
    figures = [float(overlay), *(one for one in rest if one is not None)]
    if alone:
        composition = composition.model_copy(update={"overlay": overlay, "overlay_below": below})
    else:
        figures.append(composition.composed_k)
    releases = composition.release_count + (0 if left is None else left.release_count)
    return composition.model_copy(update={"composed_k": min(figures), "changed": changed, "release_count": releases})


def smallest_of(versions: Versions, most: int | None) -> tuple[int, int | None]:
    """Rows of the smallest box of a version, and fewest by which it differs from any before; None: there is none.

    Parameters
    ----------
    versions
        It, and those before.
    most
        Persons that they promise, where persons have several rows.
    """
    smallest = smallest_box(versions.own)
    changed = fewest_apart(read_ledger(versions.own), [read_ledger(one) for one in versions.before])
    if most is None:
        return smallest, changed
    return min(smallest, most), None if changed is None else min(changed, most)


def overlay_of(history: Path | None, made: StoredSpec) -> tuple[int | None, float]:
    """Records, or persons, of the smallest overlay group of all versions, and their share in groups below k.

    Parameters
    ----------
    history
        The records that all versions have shown; None where that is not known.
    made
        How the last version was made.
    """
    ever = None if history is None else read_shown_records(history)
    if ever is None or not len(ever.group):
        return None, 0.0
    groups = sizes(ever.group, None if made.person_column is None else numbered(ever.person))
    return int(groups.min()), float(groups[groups < made.least_k].sum() / groups.sum())


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
    return Finding(
        audit="composition",
        severity=FindingSeverity.HIGH,
        detail=_shortfall(composition, earlier, made, limit),
        measured=composition.composed_k,
        required=limit,
        remedies=(
            *_counted(terms, made),
            *_delivered(composition, terms),
            *_placing(composition),
            *_of_series(earlier, terms, made),
        ),
    )


def _shortfall(composition: FamilyComposition, earlier: Sequence[Earlier], made: StoredSpec, limit: float) -> str:
    """Return the sentence about people in too small groups, with the releases that narrow them down."""
    named = [one.release_id for one in earlier[:_NAMED]]
    others = listed([*named, "others"] if len(earlier) > _NAMED else named)
    together = f"Together with {others}, this release" if earlier else "This release"
    below, least = composition.overlay_below, composition.composed_k
    if not below:
        return f"{together} leaves a `k` of {least:g}, where {limit:g} is required"
    return f"{together} leaves {below:.1%} of the people among fewer than {made.least_k:g} (the worst: {least:g})"


def delivery(composition: FamilyComposition, terms: FamilyTerms) -> Finding | None:
    """That data look like a new delivery of the earlier release, and no one said so; they may be published."""
    remedies = _delivered(composition, terms)
    if not remedies:
        return None
    return Finding(
        audit="composition",
        severity=FindingSeverity.MEDIUM,
        detail="These data are not quite those of earlier releases, and the upload does not state that they are newer",
        measured=None,
        required=None,
        remedies=remedies,
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
            f"Earlier releases of these data count people by {names}, which this dataset does not have: `k` counts its "
            "rows, and several may be one person's"
        ),
        measured=None,
        required=made.least_k,
        remedies=(f"Upload the data with {names}. It need not be published",),
    )


def _placing(composition: FamilyComposition) -> tuple[str, ...]:
    """Return remedies for people who could not be found in earlier releases."""
    if not composition.unplaced:
        return ()
    people = "1 person counts" if composition.unplaced == 1 else f"{composition.unplaced} people count"
    return (
        (
            f"Name a column that identifies people in both files (`person_column`): {people} as alone, for it is not "
            "known where they were in earlier releases"
        ),
        (
            'If columns were renamed or recoded, state how: `"join_columns": {"old name": "new name"}` in the demand '
            "`composition` of the `gate`"
        ),
        "If the earlier file was deleted, upload it again",
    )


def _counted(terms: FamilyTerms, made: StoredSpec) -> tuple[str, ...]:
    """That persons are counted although the job does not state it."""
    names = [own or name for name, own in terms.persons.items()]
    if not names or made.person_column is not None:
        return ()
    return (f"People are counted by `{names[0]}`, as in earlier releases: set `person_column`",)


def _delivered(composition: FamilyComposition, terms: FamilyTerms) -> tuple[str, ...]:
    """That the data look like a new delivery, and no one said so."""
    if terms.is_new_version or not (composition.new or composition.left or composition.changed):
        return ()
    matched = composition.left or not composition.unplaced  # else no one of either table is known in the other
    counts = f" ({composition.new} people are in these data only, {composition.left} in earlier ones only)"
    return (
        (
            f"If these data are a new delivery{counts if matched else ''}, upload them with `version_of_dataset_id` "
            "and the id of the dataset before: the new release then shows changes only where no person or at least "
            "`k` changed"
        ),
    )


def _of_series(earlier: Sequence[Earlier], terms: FamilyTerms, made: StoredSpec) -> tuple[str, ...]:
    """Return ways to publish more of the same data that keep k."""
    boxes = [one for one in earlier if one.method == "boxes"]
    if not boxes:
        return ("Publish one release with all columns that are needed, instead of several",) if earlier else ()
    published = [one for one in boxes if one.is_published]
    if not published:
        return ()
    offers = [(one.release_id, base_of_series(one, made, counts_persons=bool(terms.persons))) for one in published]
    best, base = max(offers, key=lambda offer: len(offer[1].quasi_identifiers) if offer[1] is not None else 0)
    return (
        *(() if base is None else (_series(best, base, made),)),
        f"Statistics need no new release: `POST /v1/releases/{best}/statistics` computes them",
    )


def base_of_series(one: Earlier, made: StoredSpec, *, counts_persons: bool) -> StoredSpec | None:
    """Return the columns and the k of a series of an earlier release that comes nearest to a request.

    Parameters
    ----------
    one
        The earlier release.
    made
        The request: the specification of the new release.
    counts_persons
        Whether the family counts persons: its series then have the k of their base.

    Returns
    -------
    StoredSpec | None
        None where no series can be made, or none with any of the columns.
    """
    if one.parameters is None:
        return None
    base = StoredSpec.of(one.parameters)
    columns = tuple(name for name in made.quasi_identifiers if name in base.quasi_identifiers)
    weighed = base.survey_weight_column is not None or base.rare_records == "weigh"
    counts_persons = counts_persons or made.person_column is not None
    if weighed or not columns or (counts_persons and made.least_k > base.least_k):
        return None
    keep = tuple(name for name in made.keep if name in base.keep)
    return StoredSpec(quasi_identifiers=columns, keep=keep, k=ceil(max(made.least_k, base.least_k)))


def _series(release_id: str, base: StoredSpec, made: StoredSpec) -> str:
    """Return the remedy that a series is."""
    words = ["--series-of", release_id, "--quasi-identifiers", _between_commas(base.quasi_identifiers)]
    words += ["--keep", _between_commas(base.keep)] if base.keep else []
    typed = shlex.join(["surebox", "anonymize", *words, "--k", f"{base.k:g}"])
    has = (*base.quasi_identifiers, *base.keep)
    lost = [name for name in (*made.quasi_identifiers, *made.keep) if name not in has]
    without = f", without {listed(list(map(repr, lost)))}" if lost else ""
    return (
        f'Create a release of the series of {release_id}{without}: `"base_release_id": "{release_id}"` instead of '
        f"`dataset_id` (on the command line: `{typed}`). A series has no columns but those of its base"
    )


def _between_commas(names: Sequence[str]) -> str:
    return ",".join(f'"{name}"' if "," in name else name for name in names)


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
    what = "Weights of boxes" if BOX_WEIGHTS in others.values() else "Means inside boxes"
    without = "Leave `survey_weight_column` out" if content == BOX_WEIGHTS else "Set `box_means: none`"
    detail = f"{what} were published of the same data before ({named}): records follow from two such releases"
    remedies = (f"{without}, or compute statistics of the published release",)
    if _EXACT_MEANS in (content, *others.values()):
        detail = f"{detail} by subtraction, so exact means are not published twice. {remedies[0]}"
        raise InfeasibleError(detail, errors=[FieldError("/box_means", detail)])
    return Finding(
        audit="composition",
        severity=FindingSeverity.HIGH,
        detail=f"{detail} by subtraction",
        measured=float(len(others)),
        required=0.0,
        remedies=remedies,
    )


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
        detail="It is not known what all publications of these data leave together: the base is older than that record",
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
