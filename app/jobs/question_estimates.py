"""Expected needs of questions to releases: the release made ready, then one thing asked after the other.

The coefficients were measured as those of jobs were (`benchmarks/estimates.py`). All of it follows from the question
and from what everyone learns of the release who may ask it: its rows, its columns, the size of its files, its k. How
many values a column has is not among them; for kept columns a usual number is taken.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from app.contracts.inputs import Given, ReleaseInput
from app.contracts.jobs import JobSpec
from app.contracts.statistics import Statistic, StatisticKind
from app.jobs.needs import Estimate
from app.methods.queries.spec import ClassifySpec, CountSpec, StatisticsSpec
from app.methods.report.spec import JobReportSpec, ReleaseReportSpec

#: What every question takes and keeps.
_SECONDS: Final = 0.01
_BYTES: Final = 20_000_000
#: Seconds of a page and of each of its figures, and of drawing its first picture.
_PAGE: Final = 1.0
_FIGURE: Final = 3e-4
#: Values of a kept column, where nothing states how many there are.
_VALUES: Final = 100
#: Values that a question distinguishes in one column.
_MOST_VALUES: Final = 1_000
#: Bytes of a value in a file, with its comma and quotes.
_WRITTEN: Final = 6
#: Seconds of a box and a cell of two columns that boxes divide, and of how many cells none waits for memory.
_DIVIDED: Final = 2e-7
_NEAR: Final = 10_000.0
#: Predictors of more than which a search for the range of a coefficient seldom goes on.
_PREDICTORS: Final = 3
#: Simple steps of a rotated density next to one that is not.
_ROTATED: Final = 15


def question_estimate(spec: JobSpec, given: Given) -> Estimate | None:
    """Return what a question is expected to need; None if it is no question."""
    if spec.method not in _QUESTIONS:
        return None
    release = next(iter(given.releases.values()), None)
    of_release = Estimate(0.0, 0.0) if release is None else _made_ready(release)
    return Estimate(_SECONDS, _BYTES) + of_release + _QUESTIONS[spec.method](spec, release)


def _made_ready(release: ReleaseInput) -> Estimate:
    """Its file read, and an index of its rows."""
    return Estimate(1.5e-6 * release.rows + 5e-9 * release.bytes, 150 * release.rows + 1.2 * release.bytes)


def boxes_of(release: ReleaseInput) -> float:
    """Boxes that a release has at most; of other methods its rows."""
    return max(1.0, release.rows / max(1.0, release.made.k or 1.0)) if release.method == "boxes" else release.rows


def _cells(release: ReleaseInput) -> float:
    """Boxes, or rows, times the columns that are anonymized."""
    return boxes_of(release) * max(1, len(release.made.quasi_identifiers))


def values_of(release: ReleaseInput, name: str) -> float:
    """About how many values a column has that is no column of numbers."""
    sets = sum(column.name.endswith("_set") for column in release.columns)
    if name not in release.made.quasi_identifiers or not sets or not release.rows:
        return min(_VALUES, release.rows)
    held = release.bytes / (release.rows * sets * _WRITTEN)
    return min(_MOST_VALUES, max(2.0, 3.0 * held))


def _count(spec: CountSpec, release: ReleaseInput) -> Estimate:
    """Of each query what it names, and the boxes that it may meet; sets that it names are looked through one by one."""
    every, cells = len(spec.queries), _cells(release)
    if release.method == "boxes":
        named = [name for query in spec.queries for name, one in query.items() if isinstance(one, dict)]
        sets = boxes_of(release) * _summed(named, lambda name: values_of(release, name))
        return Estimate(every * (3e-5 + 5e-10 * cells) + 6e-10 * sets, 300.0 * every)
    if release.method == "uncertain":
        each = 1.2e-9 * cells * (_ROTATED if release.made.axes == "rotated" else 1)
    else:
        each = 1.5e-10 * cells if release.method == "condensation" else 4e-9 * release.rows
    return Estimate(every * (2e-5 + each), 300.0 * every)


def _summed(names: Iterable[str], of: Callable[[str], float]) -> float:
    """The sum over names of what is computed once for each different one."""
    known: dict[str, float] = {}
    return sum(known.setdefault(name, of(name)) for name in names)


def _classify(spec: ClassifySpec, release: ReleaseInput) -> Estimate:
    """The boxes or densities about each point; how many they are grows with the number of columns."""
    every, cells, width = len(spec.points), _cells(release), max(1, len(release.made.quasi_identifiers))
    each = {"boxes": 5e-10 * cells, "uncertain": 7e-10 * cells}.get(release.method, 3.5e-9 * cells * (width / 24) ** 2)
    if release.made.axes == "rotated" and release.method == "uncertain":
        each = 4e-8 * cells
    return Estimate(every * (2e-5 + min(each, 5e-8 * cells) + 2e-8 * spec.neighbours), 2_000.0 * every)


def _statistics(spec: StatisticsSpec, release: ReleaseInput) -> Estimate:
    """The ranges of each."""
    own = frozenset(release.made.quasi_identifiers)
    return ranges(spec.statistics, boxes_of(release), lambda name: values_of(release, name), own=own)


def ranges(
    statistics: Iterable[Statistic], boxes: float, values: Callable[[str], float], *, own: Collection[str]
) -> Estimate:
    """Ranges of statistics of so many boxes.

    Parameters
    ----------
    statistics
        The parts that are computed.
    boxes
        How many there are.
    values
        Of a column that is taken by its values: how many it has.
    own
        The columns of the boxes; the values of others divide each box.

    Notes
    -----
    How fast the range of a regression is proven is not known before: it takes a tenth of what is taken here, or twice
    as much. It has about as many passes over few boxes as over many, and more ends with more predictors, up to a number
    where it gives up. Of every value of a column, where none is named, all boxes are looked at; of each cell of a
    cross-table there is an answer of its own. What is asked twice is computed once.
    """
    different = {one.model_copy(update={"weight": None}).model_dump_json(): one for one in statistics}
    needs = [_range(one, boxes, values, own) for one in different.values()]
    return Estimate(
        sum(one.seconds for one in needs), max((one.bytes for one in needs), default=0.0) + 1e3 * len(needs)
    )


def _range(one: Statistic, boxes: float, values: Callable[[str], float], own: Collection[str]) -> Estimate:
    if one.kind in (StatisticKind.REGRESSION, StatisticKind.PREDICTION):
        return Estimate(0.3 * min(len(one.of) - 1, _PREDICTORS) ** 2 + 1.3e-4 * boxes, 400 * boxes)
    if one.kind is StatisticKind.CROSSTAB:
        first, second = (values(name) for name in one.of)
        looks, cells = _looks(one.of, boxes, values, own), first * second
        divided = all(name in own for name in one.of)
        each = _DIVIDED * max(1.0, cells / _NEAR) ** 0.4 if divided else 2e-10
        return looks + Estimate(6e-5 * cells + each * boxes * cells, 6_000 * cells)
    if one.kind in (StatisticKind.SHARE, StatisticKind.DOMAIN_MEAN) and one.values is None and one.interval is None:
        return Estimate(5e-3, 0.0) + _looks(one.of[-1:], boxes, values, own)
    return Estimate(5e-3 + (4e-6 if len(one.of) > 1 else 1.5e-6) * boxes, 200 * boxes)


def _looks(names: Sequence[str], boxes: float, values: Callable[[str], float], own: Collection[str]) -> Estimate:
    """Every box looked at for every value of some columns."""
    needs = [(5e-7, 100.0) if name not in own else (3e-8, 10.0) for name in names]
    many = [boxes * values(name) for name in names]
    return Estimate(
        sum(each * one for (each, _), one in zip(needs, many, strict=True)),
        sum(each * one for (_, each), one in zip(needs, many, strict=True)),
    )


def _release_report(spec: ReleaseReportSpec, release: ReleaseInput | None) -> Estimate:
    """A page: its pictures, and the figures of each column and statistic."""
    columns = 0 if release is None else len(release.columns)
    return Estimate(_PAGE + 1e-3 * columns + _FIGURE * len(spec.statistics), 60e6 + 1e4 * len(spec.statistics))


def _job_report(spec: JobReportSpec, release: ReleaseInput | None) -> Estimate:
    """The same with what only the owner sees."""
    figures = len(spec.release.statistics) if spec.release is not None else 0
    columns = 0 if release is None else len(release.columns)
    return Estimate(1.2 * _PAGE + 1e-3 * columns + 2 * _FIGURE * figures, 60e6 + 2e4 * figures)


_QUESTIONS: Final[Mapping[str, Callable[[Any, Any], Estimate]]] = {
    "count": _count,
    "classify": _classify,
    "statistics": _statistics,
    "release_report": _release_report,
    "job_report": _job_report,
}
