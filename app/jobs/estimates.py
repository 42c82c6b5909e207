"""What a job is expected to need: CPU seconds of one core and bytes of memory, from its specification and profiles.

Orders of magnitude, so that a small body cannot ask for all memory or for weeks. The coefficients were measured on some
thirty jobs of 300 to 100,000 records (`benchmarks/estimates.py` holds them against what jobs take); what the values
themselves decide (how fast a range is proven, how soon a search stops) is not known before the work is done.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from app.contracts.datasets import ColumnType, DatasetColumn
from app.contracts.inputs import Given
from app.contracts.jobs import JobSpec, Queue, ReleasingSpec
from app.contracts.releases import ReleaseFormat
from app.contracts.statistics import StatisticKind
from app.jobs.needs import Estimate
from app.jobs.question_estimates import question_estimate, ranges
from app.jobs.search_estimates import group_estimate
from app.methods.boxes.spec import BoxesSpec, DistributionDistance, LeastWidths, PartitionMethod
from app.methods.catalogue import METHODS
from app.methods.composition.spec import CompositionSpec
from app.methods.condensation.spec import CondensationSpec
from app.methods.determination.spec import DeterminationSpec
from app.methods.frontier.spec import FrontierSpec
from app.methods.influence.spec import InfluenceSpec
from app.methods.linkage.spec import LinkageSpec
from app.methods.swap_detection.spec import SwapDetectionSpec
from app.methods.swaps.spec import MemeticSearch, SwapsSpec
from app.methods.table.spec import MOST_QUASI_IDENTIFIERS, TableSpec
from app.methods.table.whose_rows import may_say_whose_rows
from app.methods.uncertain.spec import DensityAxes, UncertainSpec

#: What every job takes and keeps.
_SECONDS: Final = 0.3
_BYTES: Final = 30_000_000
#: Columns from which `condensation` makes groups one by one, and cells of the matrices that it keeps at once.
_WIDE: Final = 32
_CELLS: Final = 4_000_000
#: Bytes of a column of bounds, or of a value and its scale, in each format, by row.
_PAIR: Final = {"csv": 15.0, "ndjson": 33.0, "parquet": 6.0}
#: Bytes of a cell, and of a value in a set.
_CELL: Final = {"csv": 6.0, "ndjson": 14.0, "parquet": 2.0}
_MEMBER: Final = {"csv": 9.0, "ndjson": 6.5, "parquet": 0.6}
_SHAPE: Final = {"csv": 21.0, "ndjson": 35.0, "parquet": 9.4}
#: How near the values left in sets are to what cuts leave that take one column first, and not all in turn; from 0 to 1.
_FIRST: Final = 0.7
#: What a cell of a cross-table takes of the time of another number that a partition keeps narrow.
_CELL_KEPT: Final = 0.1
#: Bytes of a row of what links a release to its records.
_LINK: Final = 8.0
#: Seconds that an optimal partition takes for each record and number that it keeps narrow.
_PER_NUMBER: Final = 5e-8
_PER_SHARE: Final = 1e-8
#: Records times sets of columns that `table` looks at: of more it looks at smaller sets.
_TRIED: Final = 1e9
#: Columns up to which, and from which on, a tree of records is as good and as bad as with any.
_NARROW, _FAR = 5, 50
#: Bytes of the library of classifiers, which a process imports with its first job that trains one.
_CLASSIFIERS: Final = 90_000_000
#: Swaps of a set: how many are needed is known once the signals are counted.
_SWAPS: Final = 130
#: Seconds of all four turns of a search for an inconspicuous mask; one that meets it in its first ends after one.
_MASKED: Final = 30.0
#: The middle of those and of the two that a search takes which ends at once: about as many times each.
_HALFWAY: Final = 8.0
#: Sides that boxes have of a column of numbers, where its least width is the default one.
_BY_DEFAULT: Final = 10.0
#: Records of which boxes are made again to see which statistics compete, and most that are compared.
_COMPARED, _MOST_COMPARED = 3_000, 100
#: Of those so many alone; without so many kinds of up to so many.
_ALONE, _KINDS, _MOST_WITHOUT = 6, 3, 20


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
    if (question := question_estimate(spec, given)) is not None:
        return replace(question, scratch=_fetched(given, 1.0))
    sizes = [*(one.rows for one in given.datasets.values()), *(one.rows for one in given.releases.values())]
    rows = _coarse(share * max(sizes, default=0))
    width = max(1, len(columns_of(spec)))
    frame = _frame(spec, rows, width) if isinstance(spec, ReleasingSpec) else _read(rows, width)
    need = frame + _METHODS[spec.method](spec, given, rows) if spec.method in _METHODS else frame
    need += _of_persons(given, rows, share)
    link = _LINK * rows if isinstance(spec, ReleasingSpec) else 0.0
    return replace(need, scratch=_fetched(given, share) + need.scratch + need.written + link)


def _fetched(given: Given, share: float) -> float:
    """Bytes of what a job works on, as files that it reads: typed copies, and releases with what links them."""
    copies = sum(one.bytes for one in given.datasets.values())
    releases = sum(one.read_bytes + _LINK * one.rows for one in given.releases.values())
    return _coarse(share * (copies + releases))


def _of_persons(given: Given, rows: float, share: float) -> Estimate:
    """Tables of counts written anew with a row for each person, all of their columns: alike rows compress well."""
    counts = [one for one in given.datasets.values() if one.frequency_column is not None]
    cells = rows * sum(len(one.columns) for one in counts)
    copies = _coarse(share * sum(one.bytes for one in counts))
    return Estimate(5e-8 * cells, min(1.5e8, 30 * cells), scratch=2 * copies + 0.05 * cells)


def _coarse(figure: float) -> float:
    """Rows, bytes or a range to two digits: a refusal, or its absence, reveals no more of them."""
    return float(f"{figure:.1e}")


def columns_field(spec: JobSpec) -> str | None:
    """The field that names the columns a job computes with; None: the specification names none."""
    return next((name for name in ("quasi_identifiers", "join_columns") if getattr(spec, name, None)), None)


def items_field(spec: JobSpec) -> str | None:
    """The field that lists what a question asks, one thing after the other; None: it asks one thing."""
    if spec.queue is not Queue.INTERACTIVE:
        return None
    return next((name for name in ("queries", "points", "statistics") if getattr(spec, name, None)), None)


def columns_of(spec: JobSpec) -> tuple[str, ...]:
    """The columns that a job computes with, as its specification names them."""
    field = columns_field(spec)
    return () if field is None else tuple(getattr(spec, field))


def _read(rows: float, columns: int) -> Estimate:
    """Columns read."""
    return Estimate(_SECONDS + 1e-7 * rows * columns, _BYTES + 30 * rows * columns)


def _frame(spec: JobSpec, rows: float, columns: int) -> Estimate:
    """Columns read, a release written in its formats, which take as much for each column of however few rows."""
    cells = rows * (columns + 2)
    kept = rows * len(getattr(spec, "keep", ()))
    written = _written(spec, _PAIR, rows * columns) + _written(spec, _CELL, kept + rows)
    return Estimate(_SECONDS + 1.6e-3 * columns + 2e-6 * cells, _BYTES + 1e5 * columns + 60 * cells, written)


def _written(spec: JobSpec, each: Mapping[str, float], cells: float) -> float:
    """Bytes of so many cells in all formats of a release, Parquet among them; audits write none that stays."""
    formats = {*spec.formats, ReleaseFormat.PARQUET} if isinstance(spec, ReleasingSpec) else ()
    return sum(each[one.split(".")[0]] for one in formats) * cells


def _boxes(spec: BoxesSpec, given: Given, rows: float) -> Estimate:
    """A partition of N log(N / k) steps an axis; what is demanded and computed of the boxes; sets of values written."""
    width = len(spec.quasi_identifiers)
    values = {one.name: one for data in given.datasets.values() for one in data.columns}

    def distinct(name: str) -> float:
        return min(float(values[name].distinct), rows) if name in values else 1.0

    texts = [name for name in spec.quasi_identifiers if _is_text(spec, values, name)]
    combined = math.prod(_sides(spec, given, name, distinct(name)) for name in spec.quasi_identifiers)
    boxes = max(2.0, min(rows / spec.k, combined))
    cut = Estimate(3e-8 * rows * width * math.log2(boxes) + _competing(spec, rows), 80 * boxes * width)
    own = frozenset(spec.quasi_identifiers)

    def left(name: str) -> float:
        return _not_rare(distinct(name), boxes) if name in own else distinct(name)

    followed = _followed(spec, rows, left) + ranges(spec.statistics or (), boxes, left, own=own)
    demanded = _near_all(spec, rows, boxes, distinct)
    return cut + demanded + followed + _sets(spec, rows, boxes, [distinct(name) for name in texts])


def _competing(spec: BoxesSpec, rows: float) -> float:
    """Seconds of boxes of some records made again: for all statistics, for some alone, and without each or a kind.

    Statistics of one kind about the same columns are one number to keep narrow. The range of a regression takes longer
    than the boxes, and is proven for all statistics and again for each alone.
    """
    listed = spec.statistics or ()
    many = len(listed)
    if not 1 < many <= _MOST_COMPARED:
        return 0.0
    numbers = len({(one.kind, one.of) for one in listed})
    without = many if many <= _ALONE else _KINDS if many <= _MOST_WITHOUT else 0
    columns = 1.3e-3 * len(spec.quasi_identifiers) * (1 + min(many, _ALONE) + without)
    slow = [one for one in listed if one.kind in (StatisticKind.REGRESSION, StatisticKind.PREDICTION)]
    boxes = min(rows, _COMPARED) / spec.k
    proven = [slow, *([one] for one in slow[:_ALONE])]
    again = sum(ranges(each, boxes, lambda _: 1.0, own=()).seconds for each in proven)
    return columns + again + 6e-4 * min(1.0, rows / _COMPARED) * numbers**2 * (1 + without)


def _sides(spec: BoxesSpec, given: Given, name: str, distinct: float) -> float:
    """The most sides that boxes have of a column: as many as its values, fewer where they have a least width."""
    numeric = [data.profile.numeric[name] for data in given.datasets.values() if name in data.profile.numeric]
    least = spec.min_width.get(name)
    if not numeric or numeric[0].finite_minimum is None or numeric[0].finite_maximum is None or least == 0.0:
        return distinct
    if least is not None:
        return min(distinct, 1.0 + _coarse(numeric[0].finite_maximum - numeric[0].finite_minimum) / least)
    return min(distinct, _BY_DEFAULT) if spec.least_widths is LeastWidths.AUTO else distinct


def _near_all(spec: BoxesSpec, rows: float, boxes: float, distinct: Callable[[str], float]) -> Estimate:
    """The distributions that `t` compares: in each set that is tried, of each value.

    Where all values are equally far apart, s records meet at most s of m values, so a box is within t only from
    (1 - t) m records on: boxes are fewer, and sets that are tried.
    """
    if spec.t is None:
        return Estimate(0.0, 0.0)
    looks = 0.0
    for name in spec.sensitive:
        values, most = distinct(name), boxes
        if spec.t_distance.get(name) is DistributionDistance.EQUAL:
            most = min(boxes, max(2.0, rows / max(1.0, (1.0 - spec.t) * values)))
        looks += most * values
    return Estimate(3e-8 * looks, 0.0)


def _not_rare(values: float, boxes: float) -> float:
    """About how many values have k records: where a value has not even k on average, hardly any have."""
    return max(1.0, values * min(1.0, boxes / max(1.0, values)) ** 4)


def _is_text(spec: BoxesSpec, values: Mapping[str, DatasetColumn], name: str) -> bool:
    """Return whether boxes have sets of a column's values."""
    type_ = values[name].type if name in values else None
    return name not in spec.ordinal and (name in spec.nominal or type_ in (ColumnType.STRING, ColumnType.BOOLEAN))


def _followed(spec: BoxesSpec, rows: float, distinct: Callable[[str], float]) -> Estimate:
    """The need of an optimal partition for the numbers that it keeps narrow: of a cross-table one a cell."""
    if spec.partition is not PartitionMethod.OPTIMAL:
        return Estimate(0.0, 0.0)
    seconds = 0.0
    for one in spec.statistics or ():
        named = one.values is not None or one.interval is not None
        by_value = {"share": one.of[:1], "crosstab": one.of, "domain_mean": one.of[1:]}.get(one.kind, ())
        numbers = 1.0 if named else math.prod(distinct(name) for name in by_value)
        if one.kind == "crosstab":
            numbers *= _CELL_KEPT
        seconds += numbers * (_PER_SHARE if numbers > 1.0 and len(by_value) == 1 else _PER_NUMBER)
    return Estimate(rows * seconds, 0.0)


def _sets(spec: BoxesSpec, rows: float, boxes: float, values: Sequence[float]) -> Estimate:
    """Sets of values: each row has those that its box leaves, written out."""
    if not values:
        return Estimate(0.0, 0.0)
    held, table = members(spec, rows, values), boxes * sum(_not_rare(one, boxes) for one in values)
    return Estimate(2e-7 * held + 5e-8 * table, 80 * held + 10 * table, _written(spec, _MEMBER, held))


def members(spec: BoxesSpec, rows: float, values: Sequence[float]) -> float:
    """Estimate the number of values that all sets of all rows have together.

    A box is one of N / k, so log2(N / k) cuts lead to it. Either they leave one value of the column with the fewest
    first, and halve what the others have, in turn; or they halve all columns in turn. What is expected is between both.
    Values of fewer than k records are one together.

    Parameters
    ----------
    spec, rows
        The request, and how many records take part.
    values
        Of each column of texts how many it has.
    """
    boxes = max(2.0, rows / spec.k)
    values = [_not_rare(one, boxes) for one in values]
    least = min(values)
    left = max(0.0, math.log2(boxes) - math.log2(least))
    halved = 2.0 ** (left / max(1, len(spec.quasi_identifiers) - 1))
    others = sum(max(1.0, one / halved) for one in values) - max(1.0, least / halved)
    first = max(1.0, least / boxes) + others
    each = 2.0 ** (math.log2(boxes) / max(1, len(spec.quasi_identifiers)))
    evenly = sum(max(1.0, one / each) for one in values)
    return float(rows * first**_FIRST * evenly ** (1.0 - _FIRST))


def _uncertain(spec: UncertainSpec, given: Given, rows: float) -> Estimate:  # noqa: ARG001
    """Neighbours of each record; moments of pairs; shapes for each record, where requested."""
    width = len(spec.quasi_identifiers)
    near = min(5e-7 * rows**1.4 * _apart(width, 0.8), 1.45e-9 * width * rows**2)
    need = Estimate(near + 6e-6 * width**2, 450 * width**2)
    if spec.axes is not DensityAxes.ROTATED:
        return need
    shapes = rows * width**2
    return need + Estimate(2.9e-6 * shapes, 115 * shapes, _written(spec, _SHAPE, shapes))


def _apart(width: int, power: float) -> float:
    """Return the part of a tree of records that is looked at, over that with five columns: in many, all are far apart.

    With enough columns each record is compared with all others, which is the most that a search takes.
    """
    return float(2.0 ** (power * max(0, min(width, _FAR) - _NARROW)))


def _condensation(spec: CondensationSpec, given: Given, rows: float) -> Estimate:  # noqa: ARG001
    """Matrices of a group and their eigenvectors, O(n^3); few groups at a time, of narrow tables all their rows."""
    width = len(spec.quasi_identifiers)
    groups = max(1.0, rows / spec.k)
    matrices = 1e-9 * width**2 * min(width, 2 * spec.k) + 1e-7 * width**2
    held = min(groups, 4096.0) * spec.k if width < _WIDE else max(1.0, _CELLS / width**2)
    return Estimate(groups * matrices, 8 * 4 * held * width**2)


def _swaps(spec: SwapsSpec, given: Given, rows: float) -> Estimate:
    """Sets of swaps tried; the rules learned again from the auxiliary data, and tried against the release.

    Masks are judged beside all other places, again for each: of thousands that takes longest. How many turns the
    search for one takes is not known before it ends, so its seconds are those of all turns.
    """
    columns = {one.name: one for data in given.datasets.values() for one in data.columns}
    places = math.prod(columns[name].distinct for name in spec.region_columns if name in columns)
    turns = _MASKED if is_upper(spec) else 0.0
    need = Estimate(turns + 2e-5 * rows + 3e-7 * min(places, rows) ** 2, _CLASSIFIERS + 120 * rows)
    if isinstance(spec.search, MemeticSearch):
        tried = spec.search.runs * (spec.search.population + 2 * spec.search.pairs * spec.search.generations)
        need += Estimate(tried * _SWAPS * 5e-7, 100 * _SWAPS * (spec.search.population + 2 * spec.search.pairs))
    return need


def is_upper(spec: JobSpec) -> bool:
    """Whether the expected CPU seconds are the most: the search ends as soon as a mask is inconspicuous."""
    return isinstance(spec, SwapsSpec) and len(spec.protected_alphas) > 1


def usual_seconds(spec: JobSpec, need: Estimate) -> float:
    """The CPU seconds of a search that neither ends at once nor goes on to its end; of other jobs all."""
    return need.seconds - (_MASKED - _HALFWAY if is_upper(spec) else 0.0)


def _detection(spec: SwapDetectionSpec, given: Given, rows: float) -> Estimate:  # noqa: ARG001
    """Two classifiers, trained on the auxiliary data."""
    return Estimate(2e-5 * rows, _CLASSIFIERS + 200 * rows)


def _frontier(spec: FrontierSpec, given: Given, rows: float) -> Estimate:
    """Boxes for one k after the other, each with its release, and again with means."""
    each = [one for k in spec.k for one in (spec.at(k), spec.with_means(k)) if one is not None]
    return _in_turn([_frame(one, rows, len(columns_of(one))) + _boxes(one, given, rows) for one in each])


def _table(spec: TableSpec, given: Given, rows: float) -> Estimate:
    """Classes without each column, and of sets of up to three: as many as the job looks at, fewer where it proposes.

    A column that says whose record it is is looked for among all of them, if none is named and the profile has one.
    """
    profiles = [one.profile for one in given.datasets.values()]
    columns = sum(len(one.columns) for one in profiles) + sum(len(one.columns) for one in given.releases.values())
    every = min(columns, MOST_QUASI_IDENTIFIERS)
    width = len(spec.quasi_identifiers) or every
    asks = spec.person_column is None and any(may_say_whose_rows(one.columns, one.rows) for one in profiles)
    read = every if asks else width
    sets = sum(math.comb(width, many) for many in range(1, min(width, 3) + 1))
    tried = min(rows * sets, _TRIED if spec.quasi_identifiers else _TRIED / 10)
    counted = 1 + len(spec.sensitive) + len(spec.sums)
    return Estimate(4e-8 * tried + rows * (2e-7 * read + 5e-7 * counted), rows * (40 * read + 60 * counted))


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
        again = METHODS[one.method].spec.model_validate({**one.spec, "seed": None, "formats": ["parquet"]})
        width = len(columns_of(again))
        around = _read(rows, width) if one.method == "condensation" else _frame(again, rows, width)
        need = _METHODS[one.method](again, given, rows) + around
        runs += [need] * (1 + 2 * spec.records)
    copy = max((float(one.bytes) for one in given.datasets.values()), default=0.0)  # with a record changed
    return _in_turn(runs) + Estimate(0.0, 0.0, scratch=_coarse(copy))


def _in_turn(needs: Sequence[Estimate]) -> Estimate:
    """One after the other: their seconds add up, memory and files are those of the largest, and no file stays."""
    return Estimate(
        sum(one.seconds for one in needs),
        max((one.bytes for one in needs), default=0.0),
        scratch=max((one.written for one in needs), default=0.0),
    )


def _linkage(spec: LinkageSpec, given: Given, rows: float) -> Estimate:  # noqa: ARG001 - as all others
    """The records that fit each row, by fit and by fit with scales; records in a box are counted.

    As many as are near in a tree, N^1.5 as measured, and at most all pairs.
    """
    methods = {one.method for one in given.releases.values()}
    if methods <= {"boxes"}:
        return Estimate(3e-6 * rows, 200 * rows)
    width = max((len(one.made.quasi_identifiers) for one in given.releases.values()), default=1)
    if methods == {"condensation"}:  # the nearest of few columns are found at once, of many they are looked for
        near, pairs = 1e-7 * max(width, 2) * _apart(width, 0.3), 2.2e-9 * max(width, 2)
    else:
        near, pairs = 2.7e-6 * _apart(width, 0.5), 4e-8 + 4.6e-9 * width
    return Estimate(min(near * rows**1.5, pairs * rows**2), 2_500 * rows)


#: What a job of each method needs besides reading and writing: by its specification, what that names, and its rows.
_METHODS: Final[dict[str, Callable[[Any, Given, float], Estimate]]] = {
    "boxes": _boxes,
    "uncertain": _uncertain,
    "condensation": _condensation,
    "group": group_estimate,
    "swaps": _swaps,
    "swap_detection": _detection,
    "frontier": _frontier,
    "table": _table,
    "composition": _composition,
    "determination": _determination,
    "influence": _influence,
    "linkage": _linkage,
}
