"""Statistics that compete for the same boxes: which of them makes the range of which other one how much wider.

Boxes are made again by `fast` from some of the records: once for all statistics, once for each of a few alone, and once
without each, or, of many, without those of one kind. That is at most 13 times, of 3,000 records: less than a second of
one core for up to 20 statistics. Default statistics are not compared: a caller who lists none states no preference.
What is compared is restricted, as the job's other warnings are: it follows from the records.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from app.contracts.statistics import Statistic
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import SureboxError, pointer
from app.methods.boxes.check_statistics import default_statistics
from app.methods.boxes.spec import BoxBounds, BoxesSpec, PartitionMethod, RareRecords
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.methods.boxes.canonical_order import Order, in_canonical_order
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.reading import BoxRecords
from workers.methods.boxes.requests import REFUSALS, begin, request

#: Records that boxes are made of again, and statistics and kinds of statistics that are compared, at most.
_RECORDS, _STATISTICS, _KINDS = 3_000, 6, 3
#: Statistics from which on fewer records are taken, and how many at least.
_MANY, _FEWEST = 16, 500
#: Above so many statistics it is not looked which kind costs the most, and above so many nothing is compared.
_MOST, _TOO_MANY = 20, 100
#: Passes over the boxes that a range costs at most: more make a regression's narrower, alone and beside others.
_PASSES = 50
#: A range that is narrower than this share of another has no width but rounding.
_EXACT = 1e-9
#: A range is reported that is as many times as wide as alone; a statistic that makes another as many times as wide.
_WIDER, _COSTS = 2.0, 1.25
_SHOWN = 5


def competition(shown: Shown, records: BoxRecords, order: Order) -> Iterator[JobWarning]:
    """Yield a warning for each statistic that others make much wider; none of the default ones.

    Parameters
    ----------
    shown : the columns, and the request with the statistics that boxes are made narrow for.
    records : that take part.
    order : of the columns.
    """
    spec, listed = shown.spec, shown.spec.statistics or ()
    if not 1 < len(listed) <= _TOO_MANY or listed == default_statistics(spec.quasi_identifiers, shown.kinds):
        return
    some = _some(records, max(_FEWEST, _RECORDS * _MANY // max(_MANY, len(listed))))
    order = replace(order, keys=order.keys[: len(order.numeric) + len(order.nominal)])
    whole = _widths(shown, some, order, listed)
    if whole is None:
        return
    wider = _wider(shown, some, order, whole)
    if not wider:
        return
    if len(listed) > _STATISTICS:
        yield warning(
            WarningCode.STATISTICS_COMPETE,
            _of_many(listed, wider, _kinds(shown, some, order, whole, min(wider, key=lambda place: wider[place]))),
            pointer("spec", "statistics"),
        )
        return
    rests = [tuple(one for index, one in enumerate(listed) if index != other) for other in range(len(listed))]
    without = [_widths(shown, some, order, rest) for rest in rests]
    for place, share in wider.items():
        yield warning(
            WarningCode.STATISTICS_COMPETE,
            _detail(listed, place, share, _causes(without, place, whole[place])),
            pointer("spec", "statistics", place),
        )


def _wider(shown: Shown, some: BoxRecords, order: Order, whole: Sequence[float]) -> dict[int, float]:
    """Return statistics whose ranges are much wider than alone, each with the share of its width that it has alone.

    Of many statistics those are compared that have the largest weights, and of these the first.
    """
    listed = shown.spec.statistics or ()
    weights = [1.0 if one.weight is None else one.weight for one in listed]
    compared = sorted(range(len(listed)), key=lambda place: -weights[place])[:_STATISTICS]
    shares = {}
    for place in sorted(compared):
        alone = _widths(shown, some, order, (listed[place],)) if whole[place] > 0.0 else None
        if alone is not None and whole[place] >= _WIDER * alone[0]:
            shares[place] = alone[0] / whole[place]
    return shares


def _kinds(shown: Shown, some: BoxRecords, order: Order, whole: Sequence[float], place: int) -> list[tuple[float, str]]:
    """Return the kinds without whose other statistics the range of one is clearly narrower, with its share then."""
    listed = shown.spec.statistics or ()
    if len(listed) > _MOST:
        return []
    shares = []
    for kind, _ in Counter(one.kind for one in listed).most_common(_KINDS):
        rest = [index for index, one in enumerate(listed) if index == place or one.kind != kind]
        widths = (
            _widths(shown, some, order, tuple(listed[index] for index in rest)) if len(rest) < len(listed) else None
        )
        if widths is not None:
            shares.append((widths[rest.index(place)] / whole[place], str(kind)))
    return sorted((share, kind) for share, kind in shares if share * _COSTS < 1.0)


def _causes(without: Sequence[list[float] | None], place: int, width: float) -> list[tuple[float, int]]:
    """Return the statistics without which the range of one is clearly narrower, with its share then, least first."""
    shares = [
        (widths[place - (other < place)] / width, other)
        for other, widths in enumerate(without)
        if widths is not None and other != place
    ]
    return sorted((share, other) for share, other in shares if share * _COSTS < 1.0)


def _detail(listed: Sequence[Statistic], place: int, share: float, causes: Sequence[tuple[float, int]]) -> str:
    named = [f"without {_name(listed[other])} {_times(part)}" for part, other in causes[:_SHOWN]]
    which = f" ({'; '.join(named)})" if named else ""
    width = f"about {_times(share)}" if share > _EXACT else _times(share)
    return (
        f"The statistics compete for the same boxes: alone, {_name(listed[place])} would have a range {width}{which}. "
        "Leave out what you do not need, or give it a smaller `weight` than this one: the weight of a statistic says "
        "how much it matters."
    )


def _of_many(listed: Sequence[Statistic], wider: dict[int, float], kinds: Sequence[tuple[float, str]]) -> str:
    worst = sorted(wider, key=lambda place: wider[place])[:_SHOWN]
    alone = "; ".join(f"{_name(listed[place])} {_times(wider[place])}" for place in worst)
    named = ", ".join(f"without other statistics of the kind `{kind}` {_times(share)}" for share, kind in kinds)
    costs = f" ({_name(listed[worst[0]])}: {named})" if named else ""
    return (
        f"{len(listed)} statistics compete for the same boxes. Alone, ranges would be about: {alone}{costs}. List "
        "those that you need, or give the others a smaller `weight`: the weight of a statistic says how much it "
        "matters."
    )


def _times(share: float) -> str:
    return f"{share:.2g} times as wide" if share > _EXACT else "without any width"


def _name(statistic: Statistic) -> str:
    return f"{statistic.kind} of {', '.join(map(repr, statistic.of))}"


def _some(records: BoxRecords, most: int) -> BoxRecords:
    """Return records from the first to the last, as many as are compared."""
    count = len(records.rows)
    if count <= most:
        return replace(records, persons=None, survey=None)
    take = np.linspace(0, count - 1, most).astype(np.int64)
    nominal = tuple(replace(one, codes=one.codes[take]) for one in records.nominal)
    return replace(
        records, x=np.ascontiguousarray(records.x[take]), nominal=nominal, rows=records.rows[take], persons=None,
        survey=None,
    )  # fmt: skip


def _widths(shown: Shown, some: BoxRecords, order: Order, statistics: tuple[Statistic, ...]) -> list[float] | None:
    """Return the width of each statistic's range in boxes that are made for all of these; None where there are none."""
    spec: BoxesSpec = shown.spec.model_copy(
        update={
            "statistics": statistics, "partition": PartitionMethod.FAST, "rare_records": RareRecords.KEEP,
            "bounds": BoxBounds.CELLS, "max_suppressed_classes": 0, "survey_weight_column": None, "min_separation": {},
        }
    )  # fmt: skip
    try:
        canonical = in_canonical_order(spec, order, some.books, shown.types)
        wanted = request(spec, some, canonical, shown.kinds, BoxConstraints())
        state = begin(some, replace(wanted, range_passes=_PASSES), spec, canonical)
        rng = np.random.default_rng(0)  # of nothing that is published
        while not anonymization.done(state):
            state = anonymization.step(state, rng=rng)
    except (SureboxError, *REFUSALS):
        return None
    outcome = canonical.restored(anonymization.result(state), spec)
    return [
        sum(
            number.guaranteed.upper - number.guaranteed.lower
            for number in certificate.published
            if number.guaranteed is not None and np.isfinite(number.guaranteed.upper - number.guaranteed.lower)
        )
        for certificate in outcome.certificates
    ]
