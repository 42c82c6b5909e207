"""Runner of the audit `composition`: releases and the original in, what they reveal together out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.columns import typed_values
from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.contracts.inputs import ReleaseInput, listed
from app.contracts.quasi_identifiers import Form, all_understood
from app.errors import FieldError, InvalidError, pointer
from app.methods.composition.spec import ComposedColumn, CompositionDemands, CompositionResult, CompositionSpec
from workers.algorithms.tables.composition import (
    ABSENT,
    UNPLACED,
    Composed,
    CompositionRequest,
    Placed,
    compose,
    rehearse,
)
from workers.frames.codes import coded_columns
from workers.frames.generalized import Meanings
from workers.frames.ledger import common_boxes, write_ledger
from workers.frames.originals import Originals
from workers.frames.persons import read_fingerprints
from workers.methods.context import InputFile, JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.composed import Versions, overlay_of, smallest_of
from workers.methods.released.densities import released_densities
from workers.methods.released.earlier import LEDGERED, OPAQUE, Earlier, FamilyTerms
from workers.methods.released.family import Family, Left
from workers.methods.released.links import read_link
from workers.methods.released.placing import located

#: Share of its boxes that a version has in common with others.
_HALF: Final = 0.5
MEANING: Final = {
    "overlay": "An attacker who links a person's rows across releases finds at least so many who it could be.",
    "overlay_below": "The share of the persons who are hidden among fewer than k others in that way.",
    "candidates": "Who joins the releases by what they keep unchanged finds at least so many rows for a person.",
    "candidates_below": "The share of the persons for whom it is fewer than k rows.",
    "expected": "So many records are expected to fit all noisy rows of a person at least as well as their own.",
    "expected_below": "The share of the records for which it is fewer than k.",
    "changed": "So few rows differ between a box as it was published and its rows of today, or of another version, or "
    "are those that two versions share in a box that differs.",
    "unplaced": "Of so many persons it cannot be determined where they were: each of them counts as alone.",
    "sensitive": "Values that indistinguishable persons have in common: they are learned without naming the persons.",
    "composed_k": "The fewest persons or records that remain by any of these.",
}
_SERIES: Final = (
    "the boxes of one cut those of the other: plan one release that serves all uses, and later ones as its series"
)
_ALONE: Final = "it is one release: what it leaves follows from its own k, and from the changes in the data since"
_VERSIONS: Final = (
    "they are versions in the same boxes, which keep the k of their base and no more: start a base with a larger k"
)
_UNPLACED: Final = (
    "name an id that all data have (`person_column`), map columns that were renamed or recoded (`join_columns`, old "
    "names to new ones), or upload the data of the release again if they were deleted"
)


@dataclass(frozen=True)
class Chain:
    """Releases in the same boxes.

    Attributes
    ----------
    roles
        Fields that name them, in the order in which they were made.
    smallest
        Rows of their smallest box, or records in the smallest overlay group of all versions up to the last of them.
    changed
        Fewest rows by which a box differs between two of them, or that they share there; None: none differs.
    """

    roles: tuple[str, ...]
    smallest: int
    changed: int | None


class CompositionRunner:
    """Composes releases."""

    def warm(self) -> None:
        """Compose a few made-up records."""
        rehearse()

    def run(self, job: JobContext) -> Outcome:
        """Place all persons, compose and report; there is no release.

        Raises
        ------
        InvalidError
            What only the records could reveal.
        """
        job.tick(0.0, "read")
        spec = job.specification(CompositionSpec)
        releases = listed(job.releases, "release_ids")
        job.tick(0.1, "places")
        ledgers = {role: ledger(job, role) for role, one in releases.items() if one.method == "boxes"}
        versions = chains(releases, ledgers, {role: job.fetch(InputFile.PERSONS, role) for role in ledgers})
        single = {role for chain in versions for role in chain.roles[:-1]}
        roles = [role for role in releases if role not in single]
        family = Family(
            job.dataset_path(), {"k": spec.k_required, "sensitive": spec.sensitive}, None, earlier(job, spec, roles),
            terms(job, spec), more=tables(job, spec), continued={releases[chain.roles[-1]].id for chain in versions},
        )  # fmt: skip
        job.tick(0.7, "composition")
        left = _composed(job, spec, family)
        alone = len(versions) == 1 and set(versions[0].roles) == set(releases) and not spec.dataset_ids
        composed = _with_versions(
            left.left, versions, alone=alone, promised=None if spec.person_column is None else spec.k_required
        )
        together = Together(
            releases=len(spec.release_ids) + len(spec.dataset_ids),
            has_boxes=bool(spec.dataset_ids) or any(one.method == "boxes" for one in releases.values()),
            is_open=any(one.method in OPAQUE for one in releases.values()),
            unplaced=0 if alone else left.unplaced, new=left.new, left=left.gone, versions=alone,
        )  # fmt: skip
        made = result(spec, composed, together, sensitive=family.sensitive).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _composed(job: JobContext, spec: CompositionSpec, family: Family) -> Left:
    if family.releases:
        return family.composed(job.rng)
    nothing = CompositionRequest([Placed(np.zeros(family.rows, dtype=np.int64))], float(spec.k_required or 1.0))
    return Left(compose(nothing, rng=job.rng), 0, 0, 0)  # only rows that are the original's


def _with_versions(composed: Composed, versions: list[Chain], *, alone: bool, promised: float | None) -> Composed:
    """What is left with new versions of data among the releases, by what each of these and two of them show."""
    smallest = min((chain.smallest for chain in versions), default=composed.overlay)
    moved = [chain.changed for chain in versions if chain.changed is not None]
    if promised is not None and versions:  # rows do not state about how many more persons they are
        smallest, moved = min(smallest, int(promised)), [min(one, int(promised)) for one in moved]
    changed = min([*moved, *([] if composed.changed is None or alone else [composed.changed])], default=None)
    if alone:
        return replace(composed, overlay=smallest, overlay_below=0.0, changed=changed)
    return replace(composed, overlay=min(composed.overlay, smallest), changed=changed)


def earlier(job: JobContext, spec: CompositionSpec, roles: Sequence[str]) -> list[Earlier]:
    """The releases with the stored record of each, those of whose rows ledgers are made.

    Parameters
    ----------
    job, spec
        The audit.
    roles
        Fields that name the releases.
    """
    releases = []
    for role in roles:
        one = job.releases[role]
        if one.method not in LEDGERED:
            continue
        dataset = job.dataset_path() if one.dataset_id == spec.dataset_id else job.fetch(InputFile.ORIGINAL, role)
        key = job.fetch(InputFile.PERSONS_KEY, role)
        releases.append(
            Earlier(
                one.id, one.method, ledger(job, role), dataset_id=one.dataset_id, dataset=dataset,
                persons=job.fetch(InputFile.PERSONS, role), key=b"" if key is None else key.read_bytes(),
                scale=_scale(job, role, one, dataset),
            )
        )  # fmt: skip
    return releases


def ledger(job: JobContext, role: str) -> Path:
    """What composing needs of a release, by the field that names it."""
    path = job.scratch / f"{role.replace('/', '-')}.ledger"
    if not path.exists():
        one = job.releases[role]
        write_ledger(job.release_path(role), path, method=one.method, spec=one.spec, merged_as=one.merged_as)
    return path


def _scale(job: JobContext, role: str, release: ReleaseInput, dataset: Path | None) -> Path | None:
    """The noise of each record, as .npy, where the link states which record each row represents."""
    if release.method != "uncertain" or dataset is None or job.link_path(role) is None:
        return None
    densities, link = released_densities(job, field=role), read_link(job, field=role)
    scale = np.full((Originals(dataset).rows, densities.reach.shape[1]), np.nan)
    scale[link] = densities.reach
    path = job.scratch / f"{role.replace('/', '-')}-scale.npy"
    np.save(path, scale, allow_pickle=False)
    return path


def terms(job: JobContext, spec: CompositionSpec) -> FamilyTerms:
    """What the audit states about the tables."""
    roles = listed(job.releases, "release_ids")
    keys = (job.fetch(InputFile.PERSONS_KEY, role) for role in roles)
    key = next((one.read_bytes() for one in keys if one is not None), None)
    kept = [read_fingerprints(one) for role in roles if (one := job.fetch(InputFile.PERSONS, role)) is not None]
    there = {column.name for column in job.datasets["dataset_id"].columns}
    named = {name for one in kept for name in one.persons} & there  # the gate counts by these too
    return FamilyTerms(
        dataset_id=spec.dataset_id or "",
        key=job.rng.bytes(32) if key is None else key,
        persons=dict.fromkeys(sorted(named if spec.person_column is None else {*named, spec.person_column})),
        columns=spec.renamed,
    )


def tables(job: JobContext, spec: CompositionSpec) -> list[Placed]:
    """Where tables of others place the records of the original; UNPLACED where nothing joins the two."""
    original, meanings = Originals(job.dataset_path()), Meanings(orders_of(job, spec))
    there = {column.name for column in job.datasets["dataset_id"].columns}
    placements = []
    for role, table in listed(job.datasets, "dataset_ids").items():
        names = {column.name for column in table.columns}
        understood = all_understood(tuple(spec.join_columns), names)
        wanted = [replace(one, name=spec.called(one.name)) for one in understood if spec.called(one.name) in there]
        if not wanted:
            placements.append(Placed(np.full(original.rows, UNPLACED)))
            continue
        one = located(original, job.dataset_path(role), wanted, meanings)
        places = one.places if (one.places != ABSENT).any() else np.full_like(one.places, UNPLACED)
        rows = np.ones(len(one.of_row), dtype=np.int64)
        placements.append(Placed(places, one.of_row, np.zeros_like(one.of_row), rows))
    return placements


def orders_of(job: JobContext, spec: CompositionSpec) -> dict[str, list[Any]]:
    """The declared orders, as values of the original's columns.

    Raises
    ------
    InvalidError
        The original, or a table that shows the column as bounds, has values that its order does not list.
    """
    types = {column.name: column.type for column in job.datasets["dataset_id"].columns}
    orders = {name: typed_values(values, types[name]) for name, values in spec.ordinal.items()}
    errors = [
        FieldError(pointer("ordinal", name), f"{strange} records of {role} have a value that its order does not list")
        for role, table in job.datasets.items()
        for name, columns in _ordered(spec, role, {column.name for column in table.columns})
        for one in coded_columns(job.dataset_path(role), columns)
        if (strange := one.among(orders[name])[1])
    ]
    if errors:
        raise InvalidError("values that no order lists; see `errors`", errors=errors)
    return orders


def _ordered(spec: CompositionSpec, role: str, columns: Collection[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Names of columns with a declared order, and what a dataset stores them in."""
    if role == "dataset_id":
        return [(name, (name,)) for name in spec.ordinal]
    bounds = [one for one in all_understood(tuple(spec.join_columns), columns) if one.form is Form.BOUNDS]
    return [(spec.called(one.name), one.columns) for one in bounds if spec.called(one.name) in spec.ordinal]


def chains(
    releases: Mapping[str, ReleaseInput], ledgers: Mapping[str, Path], histories: Mapping[str, Path | None]
) -> list[Chain]:
    """The versions among releases; those that are none are in no chain.

    Parameters
    ----------
    releases
        By the fields that name them.
    ledgers, histories
        Of those of boxes, by the same; and the records that versions have shown, where that is known.
    """
    groups: list[list[str]] = []
    for role in ledgers:
        near = [group for group in groups if any(_versions(releases, ledgers, role, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(one for group in near for one in group), role])
    known = [group for group in groups if len(group) > 1 or releases[group[0]].previous is not None]
    return [_chain(_in_order(group, releases), releases, ledgers, histories) for group in known]


def _versions(releases: Mapping[str, ReleaseInput], ledgers: Mapping[str, Path], one: str, other: str) -> bool:
    """Whether two releases are versions: one has the boxes of the other, or of one that had them."""
    a, b = releases[one], releases[other]
    if a.previous is None and b.previous is None:
        return False
    return b.id == a.previous or a.id == b.previous or common_boxes(ledgers[one], ledgers[other]) >= _HALF


def _in_order(group: Sequence[str], releases: Mapping[str, ReleaseInput]) -> list[str]:
    """Fields by when their releases were made; by who continues whom, where that is all that is known."""
    before = {releases[role].id: releases[role].previous for role in group}

    def steps(role: str) -> int:
        at, count = releases[role].id, 0
        while (at := before.get(at) or "") in before and count < len(before):
            count += 1
        return count

    return sorted(group, key=lambda role: (releases[role].made_at or 0.0, steps(role)))


def _chain(
    roles: Sequence[str],
    releases: Mapping[str, ReleaseInput],
    ledgers: Mapping[str, Path],
    histories: Mapping[str, Path | None],
) -> Chain:
    figures = [
        smallest_of(Versions(ledgers[role], tuple(ledgers[one] for one in roles[:at])), None)
        for at, role in enumerate(roles)
    ]
    last = roles[-1]
    overlay, _ = overlay_of(histories[last], releases[last].made)
    smallest = [one for one, _ in figures]
    return Chain(
        tuple(roles),
        min(smallest if overlay is None else [*smallest, overlay]),
        min((one for _, one in figures if one is not None), default=None),
    )


@dataclass(frozen=True)
class Together:
    """The composition.

    Attributes
    ----------
    releases
        How many releases and tables.
    has_boxes, is_open
        Whether one has boxes; whether one hides no one among others.
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
        return f"of {of.unplaced} persons it cannot be determined where they were: {_UNPLACED}"
    if of.versions and of.releases > 1:
        return _VERSIONS
    return _ALONE if of.releases == 1 else _SERIES


def _judged(
    require: CompositionDemands, made: CompositionResult, advice: str
) -> tuple[dict[str, MeasuredDemand], tuple[Finding, ...]]:
    """Each demand with its measurement, and a finding for each that is not met."""
    below = [one for one in (made.overlay_below, made.expected_below) if one is not None]
    least_l = min((one.l_diversity for one in made.sensitive), default=None)
    alpha = max((one.alpha for one in made.sensitive), default=None)
    measured: dict[str, tuple[float | None, bool, str]] = {  # demand: figure, whether it is a least one, in words
        "k": (made.composed_k, True, "remain of the persons whom rows could belong to, over all releases together"),
        "candidates": (made.candidates, True, "rows are left to whoever joins the releases by what they keep"),
        "expected": (made.expected, True, "records fit all noisy rows of a person"),
        "l": (least_l, True, "sensitive values are left"),
        "alpha": (alpha, False, "of the persons who cannot be distinguished share one sensitive value"),
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
    sentence = f"{several} at least {made.composed_k:.4g} persons together; {made.k_required:.4g} are required"
    if below:
        sentence += f". For {below:.1%} of the persons fewer than {made.k_required:.4g} remain"
    return f"{sentence}.{'' if passed else ' A requirement is not met.'}"
