"""What a job is expected to need: CPU seconds of one core and bytes of memory, from its specification and profiles.

Orders of magnitude, so that a small body cannot ask for all memory or for weeks. The coefficients were measured on some
thirty jobs of 300 to 100,000 records (`benchmarks/estimates.py` holds them against what jobs take); what the values
themselves decide (how fast a range is proven, how soon a search stops) is not known before the work is done.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.contracts.inputs import Given
from app.contracts.jobs import JobSpec
from app.methods.boxes.spec import BoxesSpec
from app.methods.catalogue import METHODS
from app.methods.composition.spec import CompositionSpec
from app.methods.condensation.spec import CondensationSpec
from app.methods.determination.spec import DeterminationSpec
from app.methods.frontier.spec import FrontierSpec
from app.methods.group.spec import EvolutionSearch, GroupSearch, GroupSpec
from app.methods.influence.spec import InfluenceSpec
from app.methods.linkage.spec import LinkageSpec
from app.methods.microfile.spec import FuzzyVariable
from app.methods.swap_detection.spec import SwapDetectionSpec
from app.methods.swaps.spec import MemeticSearch, SwapsSpec
from app.methods.table.spec import MOST_QUASI_IDENTIFIERS, TableSpec
from app.methods.uncertain.spec import DensityAxes, UncertainSpec

#: What every job takes and keeps.
_SECONDS: Final = 0.3
_BYTES: Final = 30_000_000
#: Columns from which `condensation` makes groups one by one, and cells of the matrices that it keeps at once.
_WIDE: Final = 32
_CELLS: Final = 4_000_000
#: Rules that an exhaustive search looks at: most of them are pruned.
_PRUNED: Final = 300_000
#: Records times sets of columns that `table` looks at: of more it looks at smaller sets.
_TRIED: Final = 1e9
#: Bytes of the library of classifiers, which a process imports with its first job that trains one.
_CLASSIFIERS: Final = 90_000_000
#: Swaps of a set: how many are needed is known once the signals are counted.
_SWAPS: Final = 130


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job is expected to need.

    Attributes
    ----------
    seconds : of CPU, of all its threads together.
    bytes : of memory, beyond what a worker uses before it begins.
    """

    seconds: float
    bytes: float

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(self.seconds + other.seconds, self.bytes + other.bytes)


def estimated(spec: JobSpec, given: Given, *, share: float = 1.0) -> Estimate:
    """What a job is expected to need.

    Parameters
    ----------
    spec
        The specification with its defaults filled in.
    given
        What it names.
    share
        Of the rows of what it names: for what a sample would need.
    """
    sizes = [*(one.rows for one in given.datasets.values()), *(one.rows for one in given.releases.values())]
    rows = _coarse(share * max(sizes, default=0))
    width = max(1, len(columns_of(spec)))
    frame = _frame(rows, width) if "formats" in type(spec).model_fields else _read(rows, width)
    if spec.method in _OF_RELEASES:
        return frame + _OF_RELEASES[spec.method](spec, given, rows)
    return frame + _METHODS[spec.method](spec, rows) if spec.method in _METHODS else frame


def _coarse(rows: float) -> float:
    """Rows to two digits: a refusal, or its absence, reveals no more of how many there are."""
    return float(f"{rows:.1e}")


def columns_field(spec: JobSpec) -> str | None:
    """The field that names the columns a job computes with; None: the specification names none."""
    return next((name for name in ("quasi_identifiers", "join_columns") if getattr(spec, name, None)), None)


def columns_of(spec: JobSpec) -> tuple[str, ...]:
    """The columns that a job computes with, as its specification names them."""
    field = columns_field(spec)
    return () if field is None else tuple(getattr(spec, field))


def _read(rows: float, columns: int) -> Estimate:
    """Columns read."""
    return Estimate(_SECONDS + 1e-7 * rows * columns, _BYTES + 30 * rows * columns)


def _frame(rows: float, columns: int) -> Estimate:
    """Columns read, a release written in three formats, which take as much for each column of however few rows."""
    cells = rows * (columns + 2)
    return Estimate(_SECONDS + 2.5e-3 * columns + 2e-6 * cells, _BYTES + 1e5 * columns + 60 * cells)


def _boxes(spec: BoxesSpec, rows: float) -> Estimate:
    """A partition of N log(N / k) steps an axis; ranges of pairs of columns, which are proven box by box."""
    boxes = max(2.0, rows / spec.k)
    width = len(spec.quasi_identifiers)
    pairs = sum(len(getattr(one, "of", ())) > 1 for one in spec.statistics or ())
    singles = len(spec.statistics or ()) - pairs
    ranges = boxes * (3e-5 * pairs + 3e-6 * singles)
    return Estimate(3e-8 * rows * width * math.log2(boxes) + ranges, 80 * boxes * width)


def _uncertain(spec: UncertainSpec, rows: float) -> Estimate:
    """Neighbours of each record, N^1.4 as measured; moments of pairs; shapes for each record, where requested."""
    width = len(spec.quasi_identifiers)
    near = 5e-7 * rows**1.4 * max(1.0, width / 20)
    need = Estimate(near + 6e-6 * width**2, 450 * width**2)
    if spec.axes is not DensityAxes.ROTATED:
        return need
    shapes = rows * width**2
    return need + Estimate(2.9e-6 * shapes, 115 * shapes)


def _condensation(spec: CondensationSpec, rows: float) -> Estimate:
    """Matrices of a group and their eigenvectors, O(n^3); few groups at a time, of narrow tables all their rows."""
    width = len(spec.quasi_identifiers)
    groups = max(1.0, rows / spec.k)
    matrices = 1.5e-9 * width**2 * min(width, 2 * spec.k) + 5e-7 * width**2
    held = min(groups, 4096.0) * spec.k if width < _WIDE else max(1.0, _CELLS / width**2)
    return Estimate(groups * matrices, 8 * 4 * held * width**2)


def _group(spec: GroupSpec, rows: float) -> Estimate:
    """Rules tried times records looked at, and what each rule takes by itself."""
    return Estimate(_searching(spec.search, spec.variables, rows), 30 * rows * len(spec.variables))


def _searching(search: GroupSearch, variables: Sequence[FuzzyVariable], rows: float) -> float:
    """Seconds of a search for rules."""
    if isinstance(search, EvolutionSearch):
        tried = search.runs * (search.population + search.generations * search.replaced)
        return tried * (1e-10 * rows + 1e-4 if search.diversity else 2.5e-11 * rows + 2.5e-6)
    every = math.prod(len(one.terms) + 1 for one in variables if one.terms)
    return min(every, _PRUNED) * 1.4e-11 * rows


def _swaps(spec: SwapsSpec, rows: float) -> Estimate:
    """Sets of swaps tried; the rules learned again from the auxiliary data, and tried against the release.

    A search that finds an inconspicuous mask at once ends after 1 s, one that finds none goes on for 20 to 30 s.
    """
    need = Estimate(30.0 + 2e-5 * rows, _CLASSIFIERS + 120 * rows)
    if isinstance(spec.search, MemeticSearch):
        tried = spec.search.runs * (spec.search.population + 2 * spec.search.pairs * spec.search.generations)
        need += Estimate(tried * _SWAPS * 5e-7, 100 * _SWAPS * (spec.search.population + 2 * spec.search.pairs))
    return need


def _detection(spec: SwapDetectionSpec, rows: float) -> Estimate:  # noqa: ARG001 - as all others
    """Two classifiers, trained on the auxiliary data."""
    return Estimate(2e-5 * rows, _CLASSIFIERS + 200 * rows)


def _frontier(spec: FrontierSpec, rows: float) -> Estimate:
    """Boxes for one k after the other, each with its release."""
    return _in_turn([_frame(rows, len(columns_of(spec))) + _boxes(spec.at(k), rows) for k in spec.k])


def _table(spec: TableSpec, given: Given, rows: float) -> Estimate:
    """Classes without each column, and of sets of up to three: as many as the job looks at, fewer where it proposes."""
    width = len(spec.quasi_identifiers)
    if not width:
        columns = sum(len(one.profile.columns) for one in given.datasets.values())
        width = min(columns + sum(len(one.columns) for one in given.releases.values()), MOST_QUASI_IDENTIFIERS)
    sets = sum(math.comb(width, many) for many in range(1, min(width, 3) + 1))
    tried = min(rows * sets, _TRIED if spec.quasi_identifiers else _TRIED / 10)
    counted = 1 + len(spec.sensitive) + len(spec.sums)
    return Estimate(4e-8 * tried + rows * (2e-7 * width + 5e-7 * counted), rows * (40 * width + 60 * counted))


def _composition(spec: CompositionSpec, given: Given, rows: float) -> Estimate:
    """The place of each record in each release, and what all places together leave."""
    files = max(1, len(given.releases) + len(spec.dataset_ids))
    width = max((len(one.columns) for one in given.releases.values()), default=len(spec.join_columns))
    return Estimate(files * rows * (1e-6 + 2e-7 * width), files * rows * (40 + 16 * width))


def _determination(spec: DeterminationSpec, given: Given, rows: float) -> Estimate:  # noqa: ARG001 - as all others
    """Each cell of each release."""
    cells = sum(one.rows * len(one.columns) for one in given.releases.values())
    return Estimate(3e-7 * cells, 40 * cells)


def _influence(spec: InfluenceSpec, given: Given, rows: float) -> Estimate:
    """The job of each release on all records, then without each one that is tried, and with it moved.

    Nothing is written; of boxes, what follows their cuts takes about as much as writing a release.
    """
    runs = []
    for one in given.releases.values():
        again = METHODS[one.method].spec.model_validate({**one.spec, "seed": None})
        width = len(columns_of(again))
        around = _read(rows, width) if one.method == "condensation" else _frame(rows, width)
        need = _METHODS[one.method](again, rows) + around
        runs += [need] * (1 + 2 * spec.records)
    return _in_turn(runs)


def _in_turn(needs: Sequence[Estimate]) -> Estimate:
    """One after the other: their seconds add up, their memory is that of the largest."""
    return Estimate(sum(one.seconds for one in needs), max((one.bytes for one in needs), default=0.0))


def _linkage(spec: LinkageSpec, given: Given, rows: float) -> Estimate:  # noqa: ARG001 - as all others
    """The records that fit each row, N^1.5 as measured, by fit and by fit with scales; records in a box are counted."""
    methods = {one.method for one in given.releases.values()}
    if methods <= {"boxes"}:
        return Estimate(3e-6 * rows, 200 * rows)
    width = max((len(one.made.quasi_identifiers) for one in given.releases.values()), default=1)
    if methods == {"condensation"}:  # the nearest of few columns are found at once, of many they are looked for
        return Estimate(3e-7 * max(width, 2) * rows**1.5 / 3, 2_500 * rows)
    return Estimate(2.7e-6 * max(1.0, width / 8) * rows**1.5, 2_500 * rows)


_METHODS: Final[dict[str, Callable[[Any, float], Estimate]]] = {
    "boxes": _boxes,
    "uncertain": _uncertain,
    "condensation": _condensation,
    "group": _group,
    "swaps": _swaps,
    "swap_detection": _detection,
    "frontier": _frontier,
}
#: Methods of which what they name decides, besides its rows.
_OF_RELEASES: Final[dict[str, Callable[[Any, Given, float], Estimate]]] = {
    "table": _table,
    "composition": _composition,
    "determination": _determination,
    "influence": _influence,
    "linkage": _linkage,
}
