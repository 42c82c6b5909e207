"""What releases of the same data leave together, from their ledgers and the records of today."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from app.contracts.families import Composition, Diverse
from app.contracts.findings import Finding, Severity
from app.errors import FieldError, InfeasibleError
from workers.algorithms.tables.composition import ABSENT, Composed, CompositionRequest, Noise, Placed, compose
from workers.frames.codes import coded_columns
from workers.frames.columns import numeric_columns
from workers.frames.generalized import kept_together
from workers.frames.hashed_cells import columns_of
from workers.frames.ledger import Ledger, fewest_changed, read_ledger, same_rows, smallest_box
from workers.frames.originals import Originals
from workers.methods.released.earlier import OPAQUE, Earlier
from workers.methods.released.placing import located

#: Calibrated scales err by less than this share of k.
_CALIBRATED: Final = 0.01
#: Contents of boxes: nothing beside bounds, and means that are not rounded.
_NO_MEANS, _EXACT_MEANS = "bounds", "means"
#: Earlier releases that a finding names.
_NAMED: Final = 5
#: Rows among which the scale of a record is looked up.
_SCALED: Final = 200_000


def composed_with(
    dataset: Path, spec: Mapping[str, Any], own: Path | None, earlier: Sequence[Earlier], *, rng: np.random.Generator
) -> Composition:
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
        What was published before it, series of a base left out.
    rng
        Draws the records that noise is evaluated for, where there are too many.
    """
    there = frozenset(columns_of(dataset))
    paths = dict.fromkeys((*(one.ledger for one in earlier), own))  # the same boxes once: they tell no more twice
    known = [read_ledger(path) for path in paths if path is not None]
    usable = [one for one in known if there.issuperset(one.names)]
    opaque = spec["method"] in OPAQUE or any(one.method in OPAQUE for one in earlier)
    exact = len(usable) == len(known) and all(one.ledger is not None or one.method in OPAQUE for one in earlier)
    sensitive = sorted({*spec.get("sensitive", ()), *(name for one in usable for name in one.keep)} & there)
    found = None if not usable else _compose(dataset, usable, spec, sensitive, rng=rng)
    k = _left(found, single=not earlier)
    return Composition(
        k=1.0 if opaque or found is None else k,
        overlay=None if found is None else found.overlay,
        overlay_below=None if found is None else found.overlay_below,
        candidates=None if found is None else found.candidates,
        candidates_below=None if found is None else found.candidates_below,
        changed=None if found is None else found.changed,
        expected=None if found is None else found.expected,
        expected_below=None if found is None else found.expected_below,
        diversity=_diversity(found, sensitive),
        releases=len(earlier) + 1,
        exact=exact,
    )


def with_versions(
    found: Composition,
    own: Path,
    before: Path | None,
    left: Composition | None,
    *,
    alone: bool,
    most: int | None = None,
) -> Composition:
    """The composition of a new version in the boxes of the release before: by what both show, not by today's records.

    Parameters
    ----------
    found
        Its composition with all else that was published.
    own, before
        Its ledger, and that of the release before; None where that is from before there were ledgers.
    left
        What all up to the release before left.
    alone
        Whether nothing else was published: then its own boxes are what is left.
    most
        Persons that the versions promise, where persons have several rows: rows do not say of how many more they are.
    """
    smallest = smallest_box(own)
    changed = None if before is None else fewest_changed(own, before)
    if most is not None:
        smallest, changed = min(smallest, most), None if changed is None else min(changed, most)
    figures = [float(smallest), *([] if changed is None else [float(changed)]), *([] if left is None else [left.k])]
    if alone:
        found = found.model_copy(update={"overlay": smallest, "overlay_below": 0.0})
    else:
        figures.append(found.k)
    releases = found.releases + (0 if left is None else left.releases)
    return found.model_copy(update={"k": min(figures), "changed": changed, "releases": releases})


def limit_of(spec: Mapping[str, Any]) -> float:
    """Persons that are to be left: k, and 2 where a method knows none."""
    k = spec.get("k")
    return 2.0 if k is None else float(k)


def finding(composition: Composition, spec: Mapping[str, Any], earlier: Sequence[Earlier]) -> Finding | None:
    """What stands against a release, if the composition falls below its k or below what its gate demands."""
    demanded = _demanded(spec)
    limit = max([*demanded, *([limit_of(spec)] if earlier else [])], default=0.0)  # a first one composes with nothing
    if composition.k >= limit * (1 - _CALIBRATED):
        return None
    below = composition.overlay_below
    shares = f"; {below:.1%} of the persons are among fewer than {limit_of(spec):g}" if below else ""
    others = ", ".join(one.release_id for one in earlier[:_NAMED]) + (", ..." if len(earlier) > _NAMED else "")
    together = f"together with what was published of the same data ({others}), " if earlier else ""
    return Finding(
        audit="composition",
        severity=Severity.HIGH,
        detail=(
            f"{together}k is {composition.k:g} where {limit:g} was asked{shares}. What keeps k: one release with all "
            f"columns that are needed, and later releases of its series{_named(earlier)}; statistics can be asked of a "
            "published release. `allow_repeat` publishes all the same"
        ),
        figure=composition.k,
        limit=limit,
    )


def repeated_content(spec: Mapping[str, Any], own: Path | None, earlier: Sequence[Earlier]) -> Finding | None:
    """What stands against means inside boxes where others of the same data were published: their difference is records.

    Parameters
    ----------
    spec, own, earlier
        As in `composed_with`; the same release once more tells nothing new.

    Raises
    ------
    InfeasibleError
        These or those are exact: two such releases give single records by subtraction.
    """
    content = spec.get("content", _NO_MEANS)
    if own is None or content == _NO_MEANS:
        return None
    others = {
        one.release_id: its
        for one in earlier
        if one.ledger not in {None, own} and (its := read_ledger(one.ledger).content) != _NO_MEANS
        if not same_rows(own, one.ledger)
    }
    if not others:
        return None
    named = ", ".join(list(others)[:_NAMED])
    detail = (
        f"means inside boxes were published of the same data before ({named}): records follow from two such releases "
        "by subtraction. Ask `content: bounds`, or statistics of the published release"
    )
    if _EXACT_MEANS in (content, *others.values()):
        raise InfeasibleError(f"{detail}; exact means are not published twice", errors=[FieldError("/content", detail)])
    return Finding(audit="composition", severity=Severity.HIGH, detail=detail, figure=float(len(others)), limit=0.0)


def _named(earlier: Sequence[Earlier]) -> str:
    """How a later release of a series is asked for."""
    base = next((one.release_id for one in earlier if one.method == "boxes"), None)
    return "" if base is None else f' (`"base_release_id": "{base}"` in place of `dataset_id`)'


def finding_of_series(composition: Composition | None, spec: Mapping[str, Any]) -> Finding | None:
    """What stands against a later release of a series: only what its gate demands of all that is published already."""
    demanded = _demanded(spec)
    if composition is not None:
        return finding(composition, spec, ())
    if not demanded:
        return None
    return Finding(
        audit="composition",
        severity=Severity.HIGH,
        detail="what all that was published of these data leaves is not known: its base is from before that was kept",
        figure=None,
        limit=max(demanded),
    )


def _demanded(spec: Mapping[str, Any]) -> list[float]:
    return [float(one["require"]["k"]) for one in spec.get("gate", ()) if one["method"] == "composition"]


def _left(found: Composed | None, *, single: bool) -> float:
    if found is None:
        return 1.0
    figures: list[float] = [found.overlay]
    if found.expected is not None:
        figures.append(found.expected)
    if found.changed is not None and not single:
        figures.append(found.changed)
    return float(min(figures))


def _compose(
    dataset: Path,
    releases: Sequence[Ledger],
    spec: Mapping[str, Any],
    sensitive: Sequence[str],
    *,
    rng: np.random.Generator,
) -> Composed:
    boxes = [one for one in releases if one.columns]
    common = sorted(set.intersection(*(set(one.keep) for one in boxes))) if boxes else []
    kept = kept_together([one.path for one in boxes], common)
    person, original = spec.get("person"), Originals(dataset)
    return compose(
        CompositionRequest(
            releases=[_placed(dataset, original, one, numbers) for one, numbers in zip(boxes, kept, strict=True)],
            k=limit_of(spec),
            persons=None if person is None else coded_columns(dataset, [person])[0].codes.astype(np.int64),
            sensitive=[one.codes.astype(np.int64) for one in coded_columns(dataset, sensitive)],
            noise=[_noise(dataset, one) for one in releases if not one.columns],
        ),
        rng=rng,
    )


def _diversity(found: Composed | None, names: Sequence[str]) -> dict[str, Diverse]:
    if found is None:
        return {}
    return {name: Diverse(**asdict(one)) for name, one in zip(names, found.diversity, strict=True)}


def _placed(dataset: Path, original: Originals, release: Ledger, kept: NDArray[np.int64]) -> Placed:
    """Box of each record, absent where no row of the box has the record's kept values; and what the rows show."""
    there = frozenset(columns_of(dataset))
    wanted = [one for one in release.columns if one.name in there]
    found = located(original, release.path, wanted, release.meanings)
    places = found.places
    if release.keep and there.issuperset(release.keep):
        mine, theirs = kept_together([dataset, release.path], release.keep)
        span = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        places = np.where(np.isin(places * span + mine, found.of_row * span + theirs), places, ABSENT)
    return Placed(places, found.of_row, kept, release.rows)


def _noise(dataset: Path, release: Ledger) -> Noise:
    """Values, and of each record the scale of the row that is nearest to it: which row is whose is not kept."""
    values = np.ascontiguousarray(numeric_columns(dataset, release.names).values)
    there = np.isfinite(values).all(axis=1)
    scales = numeric_columns(release.path, [f"{name}_scale" for name in release.names]).values
    rows = np.linspace(0, len(scales) - 1, min(len(scales), _SCALED)).astype(np.int64)
    scale = scales[rows]
    found = np.full(values.shape, np.nan)
    if (scale == scale[:1]).all():
        found[there] = scale[0]
    else:
        z = numeric_columns(release.path, release.names).values[rows]
        spread = np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
        found[there] = scale[cKDTree(z / spread).query(values[there] / spread)[1]]
    return Noise(values, found, release.uniform)
