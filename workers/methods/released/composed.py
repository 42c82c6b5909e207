"""What releases of the same data leave together, from their ledgers and the records of today."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from app.contracts.families import Composition, Diverse
from app.contracts.findings import Finding, Severity
from workers.algorithms.tables.composition import ABSENT, Composed, Noise, Placed, Request, compose
from workers.algorithms.tables.locating import locate
from workers.frames import ledger as ledgers
from workers.frames.ledger import Ledger, Records

#: Methods whose rows are the original's, or follow them one by one: nobody is hidden among others.
OPAQUE: Final = frozenset({"swaps", "condensation"})
#: Methods of whose releases a ledger keeps what composing needs.
LEDGERED: Final = frozenset({"boxes", "uncertain"})
#: Calibrated scales err by less than this share of k.
_CALIBRATED: Final = 0.01
#: Earlier releases that a finding names.
_NAMED: Final = 5
#: Rows among which the scale of a record is looked up.
_SCALED: Final = 200_000


@dataclass(frozen=True, slots=True)
class Earlier:
    """A release that was published of the same data; without a ledger, nothing is known of it but its method.

    Releases that say the same share a ledger.
    """

    release_id: str
    method: str
    ledger: Path | None


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
    records = Records(dataset)
    paths = dict.fromkeys((*(one.ledger for one in earlier), own))  # the same boxes once: they tell no more twice
    known = [ledgers.read_ledger(path) for path in paths if path is not None]
    usable = [one for one in known if records.names.issuperset(one.columns)]
    opaque = spec["method"] in OPAQUE or any(one.method in OPAQUE for one in earlier)
    exact = len(usable) == len(known) and all(one.ledger is not None or one.method in OPAQUE for one in earlier)
    found = None if not usable else _compose(records, usable, spec, rng=rng)
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
        diversity=_diversity(found, _sensitive(records, usable, spec)),
        releases=len(earlier) + 1,
        exact=exact,
    )


def limit_of(spec: Mapping[str, Any]) -> float:
    """Persons that are to be left: k, and 2 where a method knows none."""
    k = spec.get("k")
    return 2.0 if k is None else float(k)


def finding(composition: Composition, spec: Mapping[str, Any], earlier: Sequence[Earlier]) -> Finding | None:
    """What stands against a release, if the composition falls below its k or below what its gate demands."""
    demanded = [float(one["require"]["k"]) for one in spec.get("gate", ()) if one["method"] == "composition"]
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
            f"{together}k is {composition.k:g} where {limit:g} was asked{shares}. One release with all columns and "
            "statistics that are needed keeps k, and statistics can be asked of a published release; `allow_repeat` "
            "publishes all the same"
        ),
        figure=composition.k,
        limit=limit,
    )


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
    records: Records, releases: Sequence[Ledger], spec: Mapping[str, Any], *, rng: np.random.Generator
) -> Composed:
    boxes = [one for one in releases if "lo0" in one.frame.columns or one.sets]
    noisy = [one for one in releases if "z0" in one.frame.columns]
    common = [name for name in records.names if all(name in one.keep for one in boxes)]
    person = spec.get("person")
    placed = [_placed(records, one) for one in boxes]
    numbered = ledgers.codes([ledgers.kept(one, sorted(common)) for one in boxes]) if boxes else []
    return compose(
        Request(
            releases=[
                Placed(places, numbers, kept, one.frame["rows"].to_numpy())
                for one, (places, numbers), kept in zip(boxes, placed, numbered, strict=True)
            ],
            k=limit_of(spec),
            persons=None if person is None else ledgers.codes([records.texts([person])])[0],
            sensitive=[ledgers.codes([records.texts([name])])[0] for name in _sensitive(records, releases, spec)],
            noise=[_noise(records, one) for one in noisy],
        ),
        rng=rng,
    )


def _sensitive(records: Records, releases: Sequence[Ledger], spec: Mapping[str, Any]) -> list[str]:
    named = {*spec.get("sensitive", ()), *(name for one in releases for name in one.keep)}
    return sorted(named & records.names)


def _diversity(found: Composed | None, names: Sequence[str]) -> dict[str, Diverse]:
    if found is None:
        return {}
    return {
        name: Diverse(l=one.l, alpha=one.alpha, homogeneous=one.homogeneous)
        for name, one in zip(names, found.diversity, strict=True)
    }


def _placed(records: Records, release: Ledger) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Box of each record, and of each ledger row; absent where no row of the box has the record's kept values."""
    numbers, rows = ledgers.box_numbers(release)
    numeric = [name for name in release.columns if name not in release.sets]
    members, codes = [], []
    for name in release.columns:
        if name in release.sets:
            values = ledgers.value_sets(release, rows, name)
            book = {value: place for place, value in enumerate(sorted({one for box in values for one in box}))}
            members.append(_matrix(values, book))
            codes.append(records.numbered(name, book))
    at = np.column_stack(codes) if codes else np.empty((records.rows, 0), np.int64)
    lower, upper = ledgers.bounds(release, rows, "lo"), ledgers.bounds(release, rows, "hi")
    places = locate(records.numbers(numeric), at, lower, upper, tuple(members))
    if release.keep and records.names.issuperset(release.keep):
        mine, theirs = ledgers.codes([records.texts(release.keep), ledgers.kept(release, release.keep)])
        span = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        published = np.isin(places * span + mine, numbers * span + theirs)
        places = np.where(published, places, ABSENT)
    return places, numbers


def _matrix(values: Sequence[Sequence[str]], book: Mapping[str, int]) -> NDArray[np.bool_]:
    found = np.zeros((len(values), len(book)), bool)
    for box, some in enumerate(values):
        found[box, [book[value] for value in some]] = True
    return found


def _noise(records: Records, release: Ledger) -> Noise:
    """Values, and of each record the scale of the row that is nearest to it: which row is whose is not kept."""
    values = records.numbers(release.columns)
    there = np.isfinite(values).all(axis=1)
    rows = np.linspace(0, release.frame.height - 1, min(release.frame.height, _SCALED)).astype(np.int64)
    scale = ledgers.bounds(release, rows, "scale")
    found = np.full(values.shape, np.nan)
    if (scale == scale[:1]).all():
        found[there] = scale[0]
    else:
        z = ledgers.bounds(release, rows, "z")
        spread = np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
        found[there] = scale[cKDTree(z / spread).query(values[there] / spread)[1]]
    return Noise(values, found, release.uniform)
