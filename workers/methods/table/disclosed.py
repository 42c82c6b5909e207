"""The audit `table`: what cells give away of values, whoever wrote them: plain ones, bounds, sets, texts of either."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.contracts.quasi_identifiers import Form
from app.methods.table.spec import TableSpec
from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.disclosure import ValueDisclosure, value_disclosure
from workers.frames.counted_cells import CountedCells, counted_cells
from workers.methods.context import JobContext
from workers.methods.released.disclosed import release_disclosure
from workers.methods.table.reading import Audited

_ONE: Final = "column"
#: Methods that publish no value of a quasi-identifier.
_DRAWN: Final = frozenset({"uncertain", "condensation"})


@dataclass(frozen=True, slots=True)
class Disclosed:
    """Values that a table gives away.

    Attributes
    ----------
    columns
        By quasi-identifier.
    generalized
        Those of which some cells leave more than one value, as far as cells show it.
    """

    columns: Mapping[str, ValueDisclosure]
    generalized: frozenset[str]


def disclosed(job: JobContext, spec: TableSpec, audited: Audited, types: Mapping[str, str]) -> Disclosed:
    """Return what the audited data give away of the values of each quasi-identifier.

    Parameters
    ----------
    job, spec
        The audit.
    audited
        Its table.
    types
        Of its columns, by name.
    """
    path = job.dataset_path() if spec.release_id is None else job.release_path()
    orders: Mapping[str, Sequence[Any]] = {}
    of_release: Mapping[str, ValueDisclosure] = {}
    drawn = frozenset(spec.microaggregated)
    if spec.release_id is not None:
        release = job.releases["release_id"]
        orders = release.made.ordinal
        if release.method in _DRAWN:
            drawn = frozenset(release.made.quasi_identifiers)
        elif release.method == "boxes" and audited.kept.all():
            of_release = release_disclosure(path, release.spec, types, spec.tolerances)
    shown: dict[str, ValueDisclosure] = {}
    wide = set()
    for one in audited.quasi_identifiers:
        if one.name in of_release and one.form is not Form.PLAIN:
            shown[one.name], is_wide = of_release[one.name], True
        elif one.name in drawn:
            shown[one.name], is_wide = ValueDisclosure(0.0, 0.0, spec.tolerances.get(one.name), 0.0), True
        else:
            cells = counted_cells(path, one, audited.kept, orders.get(one.name))
            shown[one.name], is_wide = _shares(cells, spec.tolerances.get(one.name)), cells.is_generalized
        if is_wide:
            wide.add(one.name)
    return Disclosed(shown, frozenset(wide))


def _shares(cells: CountedCells, tolerance: float | None) -> ValueDisclosure:
    if cells.ends is None:
        there = int(cells.counts[cells.sizes > 0].sum())
        return ValueDisclosure(float(cells.counts[cells.sizes == 1].sum() / there) if there else 0.0)
    boxes = PublishedBoxes(cells.ends[:, :1], cells.ends[:, 1:], cells.counts)
    meaning = Meaning(steps=(cells.step,))
    named = {} if tolerance is None else {_ONE: tolerance}
    return value_disclosure(boxes, meaning, [_ONE], [], () if cells.is_amount else [_ONE], named)[_ONE]
