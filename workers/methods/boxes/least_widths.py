"""Least widths of boxes that a specification asks for without numbers: found, inherited, and lowered where none fit.

A request states `least_widths: auto`; what the job works with, publishes and leaves to later releases are the numbers,
in `min_width` and `spikes` (boxes.default_widths).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import ColumnKind
from app.methods.boxes.result import LeastWidth, WidthExemption, WidthSource
from app.methods.boxes.spec import (
    BoxBounds,
    BoxesSpec,
    BoxMeans,
    LeastWidths,
    RareRecords,
    SuppressionObjective,
)
from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.boxes.default_widths import default_width, halvings, possible_width, spike_in
from workers.algorithms.boxes.sides import NumericColumn
from workers.algorithms.core.winsorized import ends
from workers.methods.boxes.canonical_order import Order
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.reading import BoxRecords, domain_of, numeric_kinds, spike_of

_EPOCH: Final = date(1970, 1, 1)

Value = bool | int | float | str | None


def with_widths(shown: Shown, records: BoxRecords, order: Order, earlier: Mapping[str, float]) -> Shown:
    """Return the columns with the least widths that their boxes are to have.

    Parameters
    ----------
    shown : the columns; their specification may ask for widths without numbers.
    records, order : the records that take part, and the order of their columns.
    earlier : by column, what boxes of the same data had when they were first published; 0 for none.
    """
    spec = shown.spec
    columns = dict(zip(order.numeric, numeric_kinds(spec, order, shown.kinds), strict=True))
    settled = {
        name: _width(shown, records, records.x[:, index], columns[name], name, earlier)
        for index, name in enumerate(order.numeric)
    }
    return _stating(shown, {name: settled[name] for name in shown.numeric})


def inherited(shown: Shown) -> Shown:
    """Return the columns with the widths of the release that a later one is made from.

    Parameters
    ----------
    shown : the columns; their specification has the numbers.
    """
    spec, widths = shown.spec, {}
    for name in shown.numeric:
        width = float(spec.min_width.get(name, 0.0))
        exempt = None if width else WidthExemption.FAMILY
        widths[name] = _stated(width, width, WidthSource.FAMILY, exempt, spec.spikes.get(name))
    return replace(shown, widths=widths)


def lowerings(shown: Shown, records: BoxRecords, order: Order, *, together: bool) -> list[dict[str, float]]:
    """Return what to demand where no two boxes have the widths: by column, fewest demands lowered first.

    Parameters
    ----------
    shown, records, order : as of `with_widths`; the widths are there.
    together : whether all are lowered at once, since some group of records has none of them.

    Returns
    -------
    list of {column: width}
        All dropped comes first: where that gives one box too, nothing is lowered; and last. Cuts of `cells` narrow one
        column, so that one lowered demand suffices; bounds that follow the records may need all lowered.
    """
    spec, persons = shown.spec, _persons(records)
    columns = dict(zip(order.numeric, numeric_kinds(spec, order, shown.kinds), strict=True))
    own = [
        name for name, one in shown.widths.items() if one.source not in {None, WidthSource.NAMED} and one.width > 0.0
    ]
    halves = {name: [*halvings(shown.widths[name].width, columns[name])[1:], 0.0] for name in own}
    dropped = dict.fromkeys(own, 0.0)
    if not own:
        return []
    if not together and spec.bounds is BoxBounds.CELLS and spec.box_means is not BoxMeans.EXACT:
        spans = {name: np.subtract(*ends(records.x[:, order.place[name]], spec.k, persons)[::-1]) for name in own}
        by_room = sorted(own, key=lambda name: shown.widths[name].width / spans[name])
        return [dropped, *({name: width} for name in by_room for width in halves[name]), dropped]
    most = max(map(len, halves.values()))
    at_once = [{name: each[min(step, len(each) - 1)] for name, each in halves.items()} for step in range(most)]
    return [dropped, *at_once, dropped]


def lowered(shown: Shown, widths: Mapping[str, float]) -> Shown:
    """Return the columns with some widths lowered.

    Parameters
    ----------
    shown : the columns with their widths.
    widths : the lower ones, by column.
    """
    settled = {
        name: one.model_copy(update={"width": widths[name]}) if name in widths else one
        for name, one in shown.widths.items()
    }
    return _stating(shown, settled)


def _may_be_lowered(one: LeastWidth) -> bool:
    return one.width > 0.0 and one.source is not WidthSource.NAMED


def with_shares(shown: Shown, values: Callable[[str], NDArray[np.generic]], box: IndexArray) -> Shown:
    """Return the columns, their widths with the shares of rows whose boxes have the spike alone.

    Parameters
    ----------
    shown : the columns with their widths.
    values : the released records' numbers of a column, (N,).
    box : (N,), the box of each.
    """
    widths = dict(shown.widths)
    for name, one in shown.widths.items():
        if one.spike is not None:
            others = np.bincount(box, weights=values(name) != spike_of(shown.spec, name))
            share = float((others == 0.0)[box].mean())
            widths[name] = one.model_copy(update={"spike_share": share})
    return replace(shown, widths=widths)


def _width(
    shown: Shown,
    records: BoxRecords,
    values: FloatArray,
    column: NumericColumn,
    name: str,
    earlier: Mapping[str, float],
) -> LeastWidth:
    """The demand on one column, and its origin."""
    spec, persons = shown.spec, _persons(records)
    if name in spec.min_width:
        width = float(spec.min_width[name])
        return _stated(width, width, WidthSource.NAMED, None, spec.spikes.get(name))
    if spec.least_widths is LeastWidths.NONE:
        return _stated(0.0, 0.0, None, WidthExemption.NOT_DEMANDED)
    if _cannot_be(spec):
        return _stated(0.0, 0.0, None, WidthExemption.SETTINGS)
    if name in earlier:
        demanded, source = earlier[name], WidthSource.FAMILY
        spike = spike_in(values, spec.k, persons)
        exempt = WidthExemption.FAMILY if demanded == 0.0 else None
    else:
        own = default_width(values, column, spec.k, declared=_declared(spec, name, column), persons=persons)
        demanded, source, spike = own.width, WidthSource.SCALE, own.spike
        exempt = None if own.exempt is None else WidthExemption(own.exempt)
    if demanded == 0.0:
        return _stated(0.0, 0.0, WidthSource.FAMILY if name in earlier else None, exempt)
    width = possible_width(demanded, values, column, spec.k, persons)
    return _stated(width, demanded, source, None, _as_written(shown, name, spike))


def _stated(
    width: float,
    demanded: float,
    source: WidthSource | None,
    exempt: WidthExemption | None,
    spike: Value = None,
) -> LeastWidth:
    return LeastWidth(
        width=width,
        demanded=demanded,
        source=source,
        exempt=exempt,
        spike=spike if width > 0.0 else None,
        spike_share=None,
    )


def _stating(shown: Shown, widths: Mapping[str, LeastWidth]) -> Shown:
    """The columns with these widths, and a specification that has their numbers."""
    wide = {name: one for name, one in widths.items() if one.width > 0.0}
    update = {
        "min_width": {name: one.width for name, one in wide.items()},
        "spikes": {name: one.spike for name, one in wide.items() if one.spike is not None},
        "least_widths": LeastWidths.NONE,
    }
    return replace(shown, spec=shown.spec.model_copy(update=update), widths=dict(widths))


def _cannot_be(spec: BoxesSpec) -> bool:
    """Test for weighed boxes, or the papers' objective: neither is defined with widths of these bounds."""
    papers = spec.rare_records is RareRecords.SUPPRESS and spec.objective is SuppressionObjective.PAPER
    by_records = spec.bounds is not BoxBounds.CELLS or spec.box_means is BoxMeans.EXACT
    return by_records and (papers or spec.rare_records is RareRecords.WEIGH)


def _declared(spec: BoxesSpec, name: str, column: NumericColumn) -> int | None:
    """Count the values that a column can have; None where none are declared."""
    if name in spec.ordinal:
        return len(spec.ordinal[name])
    step, domain = spec.value_step.get(name, column.step), domain_of(spec, name)
    return None if step is None or domain is None else int((domain[1] - domain[0]) / float(step) + 1.5)


def _persons(records: BoxRecords) -> IndexArray | None:
    return None if records.persons is None else records.persons.astype(np.int32)


def _as_written(shown: Shown, name: str, spike: float | None) -> Value:
    """A number as the value of the column that counts as it."""
    if spike is None:
        return None
    if name in shown.spec.ordinal:
        values: Sequence[Value] = shown.spec.ordinal[name]
        return values[shown.orders[name].numbers.index(spike)]
    if shown.kinds[name] is ColumnKind.DATE:
        return (_EPOCH + timedelta(days=int(spike))).isoformat()
    return int(spike) if shown.kinds[name] is ColumnKind.INTEGER else spike
