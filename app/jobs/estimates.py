"""What a job is expected to need: CPU seconds of one core and bytes of memory, from its specification and profiles.

Orders of magnitude, so that a small body cannot ask for all memory or for weeks. The coefficients were measured on some
thirty jobs of 300 to 100,000 records; what the values themselves decide (how fast a range is proven, how soon a search
stops) is not known before the work is done.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.contracts.boxes import BoxesSpec
from app.contracts.condensation import CondensationSpec
from app.contracts.group_audits import SwapDetectionSpec
from app.contracts.groups import EvolutionSearch, GroupSearch, GroupSpec
from app.contracts.jobs import JobSpec
from app.contracts.linkage import LinkageSpec
from app.contracts.microfiles import Variable
from app.contracts.swaps import MemeticSearch, SwapsSpec
from app.contracts.uncertain import Scaling, UncertainSpec
from app.jobs.inputs import Given

#: What every job takes and holds.
_SECONDS: Final = 0.3
_BYTES: Final = 30_000_000
#: Columns from which `condensation` makes groups one by one, and cells of the matrices that it holds at once.
_WIDE: Final = 32
_CELLS: Final = 4_000_000
#: Rules that an exhaustive search looks at: most of them are pruned.
_PRUNED: Final = 300_000
#: Swaps of a set: how many are needed is known once the signals are counted.
_SWAPS: Final = 130


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job is expected to need.

    Attributes
    ----------
    seconds : of CPU, of all its threads together.
    bytes : of memory, beyond what a worker holds before it begins.
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
    need = _METHODS.get(spec.method)
    frame = _frame(rows, max(1, len(_columns(spec))))
    return frame if need is None else frame + need(spec, rows)


def _coarse(rows: float) -> float:
    """Rows to two digits: what is refused, or not, says no more of how many there are."""
    return float(f"{rows:.1e}")


def _columns(spec: Any) -> Sequence[str]:
    return getattr(spec, "columns", None) or getattr(spec, "quasi_identifiers", None) or ()


def _frame(rows: float, columns: int) -> Estimate:
    """Columns read, a release written in three formats."""
    cells = rows * (columns + 2)
    return Estimate(_SECONDS + 2e-6 * cells, _BYTES + 60 * cells)


def _boxes(spec: BoxesSpec, rows: float) -> Estimate:
    """A partition of N log(N / k) steps an axis; ranges of pairs of columns, which are proven box by box."""
    boxes = max(2.0, rows / spec.k)
    width = len(spec.columns)
    pairs = sum(len(getattr(one, "of", ())) > 1 for one in spec.statistics or ())
    singles = len(spec.statistics or ()) - pairs
    ranges = boxes * (3e-5 * pairs + 3e-6 * singles)
    return Estimate(8e-8 * rows * width * math.log2(boxes) + ranges, 80 * boxes * width)


def _uncertain(spec: UncertainSpec, rows: float) -> Estimate:
    """Neighbours of each record, N^1.4 as measured; moments of pairs; shapes of its own for a record, where asked."""
    width = len(spec.columns)
    near = 5e-7 * rows**1.4 * max(1.0, width / 20)
    need = Estimate(near + 6e-6 * width**2, 450 * width**2)
    if spec.scaling is not Scaling.ROTATED:
        return need
    shapes = rows * width**2
    return need + Estimate(2.9e-6 * shapes, 115 * shapes)


def _condensation(spec: CondensationSpec, rows: float) -> Estimate:
    """Matrices of a group and their eigenvectors, O(n^3); few groups at a time, of narrow tables all their rows."""
    width = len(spec.columns)
    groups = max(1.0, rows / spec.k)
    matrices = 1.5e-9 * width**3 + 5e-7 * width**2
    held = min(groups, 4096.0) * spec.k if width < _WIDE else max(1.0, _CELLS / width**2)
    return Estimate(groups * matrices, 8 * 4 * held * width**2)


def _group(spec: GroupSpec, rows: float) -> Estimate:
    """Rules tried times records looked at."""
    return Estimate(_searching(spec.search, spec.variables) * rows, 30 * rows * len(spec.variables))


def _searching(search: GroupSearch, variables: Sequence[Variable]) -> float:
    """Seconds of a search for rules, a record."""
    if isinstance(search, EvolutionSearch):
        tried = search.runs * (search.population + search.generations * search.replaced)
        return tried * (1e-10 if search.diversity else 2.5e-11)
    every = math.prod(len(one.terms) + 1 for one in variables if one.terms)
    return min(every, _PRUNED) * 1.4e-11


def _swaps(spec: SwapsSpec, rows: float) -> Estimate:
    """Sets of swaps tried; what is learnt again from the auxiliary data, and tried against the release."""
    need = Estimate(30.0 + 2e-5 * rows, 120 * rows)
    if isinstance(spec.search, MemeticSearch):
        tried = spec.search.runs * (spec.search.population + 2 * spec.search.pairs * spec.search.generations)
        need += Estimate(tried * _SWAPS * 5e-7, 100 * _SWAPS * (spec.search.population + 2 * spec.search.pairs))
    return need


def _detection(spec: SwapDetectionSpec, rows: float) -> Estimate:  # noqa: ARG001 - as all others
    """Two classifiers, trained on the auxiliary data."""
    return Estimate(2e-5 * rows, 200 * rows)


def _linkage(spec: LinkageSpec, rows: float) -> Estimate:  # noqa: ARG001 - as all others
    """The records that fit each row, N^1.5 as measured, by fit and by fit with scales."""
    return Estimate(2.7e-6 * rows**1.5, 600 * rows)


_METHODS: Final[dict[str, Callable[[Any, float], Estimate]]] = {
    "boxes": _boxes,
    "uncertain": _uncertain,
    "condensation": _condensation,
    "group": _group,
    "swaps": _swaps,
    "swap_detection": _detection,
    "linkage": _linkage,
}
