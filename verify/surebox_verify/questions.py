"""Statistics as they are requested by name, computed from the boxes of a release a step at a time.

How far a range is searched for depends on all that is requested together and on the number of boxes
(estimates.affordable): whoever asks the same of the same boxes has the same ranges.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import product
from typing import Any, get_args

import numpy as np

from surebox_core.moments import LARGEST
from surebox_core.spellings import in_normal_form
from surebox_core.statistics import OF_LINES, Kind, Statistic, check_statistics, depends_on_ddof
from surebox_verify.bases import said_of
from surebox_verify.boxes import Meaning
from surebox_verify.counted import cell_of
from surebox_verify.envelope import UnreadableError
from surebox_verify.estimates import Estimate, affordable, estimates, reading_steps, reason_of
from surebox_verify.readings import Readings
from surebox_verify.reasons import NO_RECORD
from surebox_verify.released.boxes import ReleasedBoxes
from surebox_verify.released.codebooks import Codebook, Meant, as_shown, codebooks_of, same
from surebox_verify.released.grammar import parse_statistic
from surebox_verify.released.intervals import as_sent, number_of, wrong_interval
from surebox_verify.released.naming import CLASS, as_value, as_written, named
from surebox_verify.released.orders import LABELLED, Order, called, labels

KINDS: tuple[str, ...] = get_args(Kind)
#: Kinds about a set of values of a column, nominal or ordinal.
_OF_VALUES = ("share", "domain_mean")
_SYMMETRIC = ("covariance", "correlation")


@dataclass(frozen=True)
class Question:
    """One statistic, its columns by name; `ddof` as in the release's specification.

    `interval` has the ends of a closed interval of the last column, None for an open one: of a share or a domain_mean
    in the place of `values`. `at` has a value of each predictor of a prediction.
    """

    kind: str
    of: tuple[str, ...]
    ddof: int = 0
    p: float | None = None
    values: tuple[Any, ...] | None = None
    interval: tuple[Any, Any] | None = None
    at: tuple[Any, ...] | None = None


class MisplacedValueError(UnreadableError):
    """A question that names a column or a value that is not there.

    Attributes
    ----------
    index : its place among all questions.
    at : of a value at which a prediction is made, its place in `at`; else None.
    """

    def __init__(self, index: int, reason: str, at: int | None = None) -> None:
        super().__init__(reason)
        self.index = index
        self.at = at


def parse_question(text: str, *, ddof: int = 0) -> Question:
    """Read a statistic as a person writes it.

    Parameters
    ----------
    text : such as ``mean(age)``, ``correlation(age, "hours, weekly")``, ``regression(income, age, education)``,
        ``prediction(income, age=40, education=12)``, or the JSON object of the HTTP contract.
    ddof : of variances, standard deviations and covariances.

    Raises
    ------
    UnreadableError
        It is no statistic that can be computed here.
    """
    try:
        spec = parse_statistic(text)
    except ValueError as error:
        msg = f"{text!r} is no JSON object of a statistic" if text.lstrip().startswith("{") else str(error)
        raise UnreadableError(msg) from None
    return question(spec, ddof=ddof)


def question(spec: Mapping[str, Any], *, ddof: int = 0) -> Question:
    """Read a statistic from its JSON object, its texts as they compare; errors as of `parse_question`."""
    spec = _compared(spec)
    kind, of = spec.get("kind"), spec.get("of")
    if kind not in KINDS:
        msg = f"statistics of kind {kind!r} cannot be computed here; those that can: {', '.join(KINDS)}"
        raise UnreadableError(msg)
    if not isinstance(of, list | tuple) or not all(isinstance(each, str) for each in of):
        msg = f"`of` of a {kind} is a list of columns"
        raise UnreadableError(msg)
    p = spec.get("p")
    if kind == "quantile" and not (isinstance(p, float) and 0.0 < p < 1.0):
        msg = "a quantile takes `p`, above 0 and below 1: quantile(age, 0.5)"
        raise UnreadableError(msg)
    values, interval, at = spec.get("values"), spec.get("interval"), spec.get("at")
    if kind == "prediction" and not (isinstance(at, list | tuple) and 0 < len(at) == len(of) - 1):
        msg = "a prediction has the target first and is `at` a value of each predictor: prediction(income, age=40)"
        raise UnreadableError(msg)
    if isinstance(interval, list | tuple) and len(interval) == 2:
        interval = as_sent(interval)
    if interval is not None and (fault := wrong_interval(str(kind), values, interval)) is not None:
        raise UnreadableError(fault)
    return Question(
        str(kind),
        tuple(of),
        ddof if depends_on_ddof(kind) else 0,
        p if kind == "quantile" else None,
        None if values is None else tuple(values),
        None if interval is None else tuple(interval),
        tuple(at) if kind == "prediction" and at is not None else None,
    )


def _compared(value: Any) -> Any:
    """A JSON value with its texts in normal form."""
    if isinstance(value, str):
        return in_normal_form(value)
    if isinstance(value, Mapping):
        return {name: _compared(each) for name, each in value.items()}
    return [_compared(each) for each in value] if isinstance(value, list | tuple) else value


def name_of(published: Mapping[str, Any]) -> str:
    """A published statistic as a person writes it; of ranks what it is called, of a cell the value of each column."""
    kind, of = str(published.get("kind")), [str(each) for each in published.get("of") or ()]
    values = [as_written(each) for each in published.get("values") or ()]
    if (interval := published.get("interval")) is not None and of:
        values = ["..".join("" if end is None else str(end) for end in interval)]
    if kind == "crosstab":
        of[: len(values)] = [f"{name}={value}" for name, value in zip(of, values, strict=False)]
    elif kind == "prediction":
        of[1:] = [f"{name}={_text(at)}" for name, at in zip(of[1:], published.get("at") or (), strict=False)]
    elif values and of:
        of[-1] += f"={'|'.join(values)}"
    if published.get("p") is not None:
        of.append(str(published["p"]))
    if published.get("called") is not None:
        return f"{published['called']} of {', '.join(of)}"
    return f"{kind}({', '.join(of)})"


def computing(
    boxes: ReleasedBoxes,
    questions: Sequence[Question],
    meaning: Meaning | None = None,
    books: Mapping[str, Codebook] | None = None,
    *,
    by_value: bool = False,
) -> Generator[float, None, list[dict[str, Any]]]:
    """Compute statistics, yielding after about 0.2 s of work which share of them is done.

    Parameters
    ----------
    boxes : of the release.
    questions : the request; all together decide how far each range is searched for.
    meaning : what the release states about its bounds; None for nothing, which is true of every release.
    books : codebooks of the columns without numbers, by which values are read; None: as of a release of which nothing
        is known but its boxes.
    by_value : whether a question about values that names none has an object for each value of its column (for each cell
        of a cross-table), with the value in `values`, rather than one of lists.

    Returns
    -------
    list
        An object a question, as releases publish them: `estimate`, `first_order`, `guaranteed`, `attained`, `sharp`,
        `gap`, `value_known`, `reason`, `base` and `n` (which records it counts, and how many), and of a `domain_mean`
        `domain_may_be_empty`, whether data that fit the boxes have no record with the values.

    Raises
    ------
    surebox_core.errors.UndefinedStatisticError
        A question whose wording is wrong; `index` states which.
    surebox_verify.released.codebooks.UnlistedValueError
        A value that a declared codebook does not have.
    """
    answers = yield from computed(boxes, questions, meaning, books, by_value=by_value)
    return [one for each in answers for one in each]


def computed(
    boxes: ReleasedBoxes,
    questions: Sequence[Question],
    meaning: Meaning | None,
    books: Mapping[str, Codebook] | None,
    *,
    by_value: bool,
) -> Generator[float, None, list[list[dict[str, Any]]]]:
    """The objects of each question; as `computing`."""
    books = codebooks_of(boxes) if books is None else books
    statistics = [_placed(each, boxes, books, index) for index, each in enumerate(questions)]
    check_statistics(statistics, len(boxes.numeric), [len(each) for each in boxes.codebooks], _sizes(boxes), fewest=0)
    meaning = replace(meaning or Meaning(), labels=boxes.labels)
    readings = Readings(boxes, meaning, boxes.weights, released=len(boxes.of_row))
    results: list[list[dict[str, Any]]] = []
    for index, (each, statistic) in enumerate(zip(questions, statistics, strict=True)):
        effort = affordable(statistic, statistics, len(boxes.counts))
        steps = reading_steps(statistic, readings, effort, each.ddof)
        while steps.ranges is None:
            steps.step()
            yield index / len(questions)
        parts = estimates(statistic, readings, steps.ranges, each.ddof)
        if not parts:
            results.append([unanswered(each, NO_RECORD)])
            continue
        if each.kind == "crosstab" and each.values is not None:
            cell = [books[name].meant(value) for name, value in zip(each.of, each.values, strict=True)]
            parts = (_cell(statistic, readings, parts, cell),)
        if by_value and each.values is None and each.kind in (*_OF_VALUES, "crosstab"):
            entries = [_entry(cell, (part,), boxes) for cell, part in zip(_cells(each, books), parts, strict=True)]
            unsure = [place for place, cell in enumerate(_codes_of_cells(each, books)) if _is_unsure(each, cell, books)]
            if unsure:  # each of them by its name: it may be a value, or a class
                again = [replace(each, values=tuple(entries[place]["values"])) for place in unsure]
                of_names = yield from computed(boxes, again, meaning, books, by_value=False)
                for place, (entry,) in zip(unsure, of_names, strict=True):
                    entries[place] = entry
            results.append(entries)
            continue
        results.append([{**described(each, parts, boxes.orders), "terms": _terms(each, boxes, books)}])
    return results


def _sizes(boxes: ReleasedBoxes) -> list[int | None]:
    """Number of values in the order of each numeric column; None of a column without one."""
    return [None if labels is None else len(labels) for labels in boxes.labels]


def unanswered(each: Question, reason: str) -> dict[str, Any]:
    """A statistic without an answer as it is published, and why it has none."""
    return {
        "kind": each.kind,
        "of": list(each.of),
        "values": None if each.values is None else list(each.values),
        "interval": None if each.interval is None else list(each.interval),
        "p": each.p,
        "at": None if each.at is None else list(each.at),
        "ddof": None,
        **dict.fromkeys(("estimate", "first_order", "guaranteed", "attained")),
        "sharp": False,
        "gap": None,
        "called": None,
        "labels": None,
        "domain_may_be_empty": None,
        "value_known": False,
        "reason": reason,
        **said_of(None),
        "terms": None,
    }


def described(each: Question, parts: Sequence[Estimate], orders: Mapping[str, Order]) -> dict[str, Any]:
    """A statistic as it is published; of a regression lists, the intercept first."""

    def shape(values: Sequence[Any]) -> Any:
        return list(values) if each.kind == "regression" or len(values) > 1 else values[0]

    gaps = [part.gap for part in parts]
    ranges = {
        "estimate": shape([part.estimate for part in parts]),
        "first_order": shape([part.linear and [part.linear.lower, part.linear.upper] for part in parts]),
        "guaranteed": shape([part.guaranteed and [part.guaranteed.lower, part.guaranteed.upper] for part in parts]),
        "attained": shape([part.inner and [part.inner.lower, part.inner.upper] for part in parts]),
    }
    return {
        "kind": each.kind,
        "of": list(each.of),
        "values": None if each.values is None else list(each.values),
        "interval": None if each.interval is None else list(each.interval),
        "p": each.p,
        "at": None if each.at is None else list(each.at),
        "ddof": each.ddof if depends_on_ddof(_kind(each)) else None,
        **ranges,
        "called": called(each.kind, each.of, orders),
        "labels": labels(each.kind, each.of, orders, {name: ranges[name] for name in LABELLED}),
        "sharp": all(part.exact for part in parts),
        "gap": None if None in gaps else max(gap for gap in gaps if gap is not None),
        "domain_may_be_empty": (
            shape([part.domain_may_be_empty for part in parts]) if each.kind == "domain_mean" else None
        ),
        "value_known": all(part.is_known for part in parts),
        "reason": reason_of(parts, each.of),
        **said_of(parts[0].base if parts else None),
    }


def _entry(each: Question, parts: Sequence[Estimate], boxes: ReleasedBoxes) -> dict[str, Any]:
    return {**described(each, parts, boxes.orders), "terms": None}


def _of_cells(each: Question) -> Sequence[str]:
    """The columns whose values the numbers of a statistic without values are about."""
    return each.of if each.kind == "crosstab" else each.of[-1:]


def _codes_of_cells(each: Question, books: Mapping[str, Codebook]) -> Iterator[tuple[int, ...]]:
    """The codes that each number of such a statistic is about, in their order."""
    return product(*(range(len(books[name].values)) for name in _of_cells(each)))


def _cells(each: Question, books: Mapping[str, Codebook]) -> Iterator[Question]:
    """The question about each of the numbers of a statistic without values, in their order."""
    for codes in _codes_of_cells(each, books):
        cell = zip(_of_cells(each), codes, strict=True)
        yield replace(each, values=tuple(books[name].name_of(code) for name, code in cell))


def _is_unsure(each: Question, codes: Sequence[int], books: Mapping[str, Codebook]) -> bool:
    """Return whether a number is about a word that may be a value, or all values that are not listed."""
    return any(books[name].is_unsure(code) for name, code in zip(_of_cells(each), codes, strict=True))


def _terms(each: Question, boxes: ReleasedBoxes, books: Mapping[str, Codebook]) -> list[dict[str, Any]] | None:
    """What the coefficients of a regression are of, where a predictor is nominal."""
    if each.kind != "regression" or not set(each.of[1:]) & set(boxes.nominal):
        return None
    nominal = [name for name in each.of[1:] if name in boxes.nominal]
    values = {name: [books[name].name_of(code) for code in range(1, len(books[name].values))] for name in nominal}
    return terms(each.of[1:], values)


def terms(predictors: Sequence[str], values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """What the coefficients of a regression are of, the intercept first.

    Parameters
    ----------
    predictors : its columns without the target.
    values : of the nominal ones all values but the first, which the others are compared with.
    """
    entries: list[dict[str, Any]] = [{"column": None, "value": None}]
    for name in predictors:
        entries += [{"column": name, "value": value} for value in values.get(name, (None,))]
    return entries


def with_values(
    boxes: ReleasedBoxes, questions: Sequence[Question], declared: Mapping[str, Sequence[Any]] | None = None
) -> ReleasedBoxes:
    """The boxes, with codebooks that have every value queried: it may be in no box.

    Parameters
    ----------
    boxes : of the release.
    questions : the request.
    declared : all values of columns whose codebook is declared; of a predictor each is compared with the first.
    """
    books = {name: list(book) for name, book in zip(boxes.nominal, boxes.codebooks, strict=True)}
    for each in questions:
        values = each.values or ()
        of = each.of if each.kind == "crosstab" else each.of[-1:] * len(values)
        about = [*zip(of, values, strict=False)]  # a cross-table without values is one of all cells
        about += zip(each.of[1:], each.at or (), strict=False)
        if each.kind in OF_LINES:
            about += [(name, value) for name in each.of for value in (declared or {}).get(name, ())]
        for name, value in about:
            if name in books and _is_lacking(value, books[name], (declared or {}).get(name, ())):
                books[name].append(as_shown(as_value(value), books[name]))
    orders = [_ascending(books[name]) for name in boxes.nominal]
    more = [len(order) - held.shape[1] for order, held in zip(orders, boxes.sets, strict=True)]
    sets = tuple(
        np.pad(held, ((0, 0), (0, count)))[:, order]
        for held, count, order in zip(boxes.sets, more, orders, strict=True)
    )
    codebooks = tuple(
        tuple(books[name][code] for code in order) for name, order in zip(boxes.nominal, orders, strict=True)
    )
    return replace(boxes, sets=sets, codebooks=codebooks)


def _is_lacking(value: Any, book: Sequence[Any], declared: Sequence[Any]) -> bool:
    """Return whether a value is named that the boxes lack and the codebook has; of one from the data it may be any.

    No file shows that a value which is in no box is none of the merged ones: `claims` states it.
    """
    if named(value).kind == CLASS or any(same(known, value) for known in book):
        return False
    values = [known for known in declared if known is not None]  # the missing value may be all that is declared
    return not values or any(same(known, value) for known in values)


def _ascending(book: Sequence[Any]) -> list[int]:
    """Places of values as a release has them: ascending, the missing one last."""
    known = [code for code, value in enumerate(book) if value is not None]
    try:
        known.sort(key=lambda code: book[code])
    except TypeError:  # values of several types: as they came
        known.sort()
    return [*known, *(code for code, value in enumerate(book) if value is None)]


def _placed(each: Question, boxes: ReleasedBoxes, books: Mapping[str, Codebook], index: int) -> Statistic:
    place = {name: number for number, name in enumerate((*boxes.numeric, *boxes.nominal))}
    unknown = [name for name in each.of if name not in place]
    if unknown:
        msg = f"the release has no column {unknown[0]!r} with bounds or sets; those that have: {', '.join(place)}"
        raise MisplacedValueError(index, msg)
    of = tuple(place[name] for name in each.of)
    codes: tuple[int, ...] = ()
    perhaps: tuple[int, ...] | None = None
    if each.kind in _OF_VALUES and each.values is not None and each.of[-1] in books:
        meant = books[each.of[-1]].all_of(each.values)
        codes, more = _codes(meant)
        perhaps = more if more or not codes else None
    of = tuple(sorted(of)) if each.kind in _SYMMETRIC else of
    numbers: list[float] = []
    for position, (name, value) in enumerate(zip(each.of[1:], each.at or (), strict=False)):
        try:
            numbers += _numbers(name, value, boxes, books)
        except UnreadableError as error:
            raise MisplacedValueError(index, str(error), position) from None
    return Statistic(_kind(each), of, 1.0, codes, each.p, perhaps, tuple(numbers))


def _numbers(name: str, value: Any, boxes: ReleasedBoxes, books: Mapping[str, Codebook]) -> list[float]:
    """The value of a predictor as a number; of a nominal one its indicators."""
    if name not in books:
        return [_finite(name, value)]
    order = boxes.orders.get(name)
    if order is not None and not order.by_rank and named(value).kind != CLASS:
        number = order.number_of(as_value(value))
        if number is not None:
            return [_finite(name, number)]
    meant = books[name].meant(value)
    if len(meant.sure) != 1 or meant.perhaps != meant.sure:
        msg = f"{value!r} is not one value of column {name!r}: a prediction is at one value of each predictor"
        raise UnreadableError(msg)
    (code,) = meant.sure
    if order is not None:
        return [order.numbers[code]]
    size = len(boxes.codebooks[boxes.nominal.index(name)])
    return [float(code == other) for other in range(1, size)]


def _finite(name: str, value: Any) -> float:
    """A number, or a day as it is counted from 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | date):
        msg = f"{value!r} is neither a number nor a day, as column {name!r} has them"
        raise UnreadableError(msg)
    number = number_of(value)
    if not abs(number) <= LARGEST:  # whole numbers of any size are compared as they are
        msg = f"a prediction is at numbers of at most {LARGEST:g} in size"
        raise UnreadableError(msg)
    return float(number)


def _codes(meant: Meant) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Codes that are meant for certain, and those that may be."""
    return tuple(sorted(meant.sure)), tuple(sorted(meant.perhaps - meant.sure))


def _cell(statistic: Statistic, readings: Readings, parts: Sequence[Estimate], meant: Sequence[Meant]) -> Estimate:
    """One cell of a cross-table, or several that cannot be distinguished."""
    first, second = (_codes(each) for each in meant)
    if (len(first[0]), len(first[1]), len(second[0]), len(second[1])) == (1, 0, 1, 0):
        return parts[first[0][0] * readings.size(statistic.of[1]) + second[0][0]]
    reading = readings.of(statistic.of)
    if not len(reading.boxes.counts):
        return Estimate(None, None, None, None, None, exact=False, base=readings.base(statistic.of))
    count = cell_of(reading, (statistic.of[0], statistic.of[1]), (first, second))
    inside = [parts[one * readings.size(statistic.of[1]) + two] for one in first[0] for two in second[0]]
    values = [part.estimate for part in inside if part.estimate is not None]
    outer = count.outer
    estimate = outer.clip(sum(values)) if outer is not None and len(values) == len(inside) else None
    base = readings.base(statistic.of)
    return Estimate(estimate, None, outer, count.inner, count.gap, count.exact, base=base)


def _kind(each: Question) -> Kind:
    kind: Kind = each.kind  # type: ignore[assignment]  # one of KINDS: `question` has looked
    return kind


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else as_written(value)
