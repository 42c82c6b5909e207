"""Certain ranges of statistics that no one requested at the time, from the published rows alone.

    >>> from surebox_verify.certify import certify

    certify(polars.read_parquet("release.parquet"), ["mean(age)", "correlation(age, hours)"])

The frame is one of polars, pandas or pyarrow: whatever hands its columns over as Arrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from surebox_core.steps import finished
from surebox_verify.answering import answering
from surebox_verify.boxes import Meaning
from surebox_verify.certificate import Certificate, read_certificate
from surebox_verify.envelope import UnreadableError, read_envelope
from surebox_verify.questions import Question, parse_question
from surebox_verify.released.boxes import (
    WEIGHT,
    WEIGHT_ENDS,
    Orders,
    ReleasedBoxes,
    boxes_of,
    has_means,
    meaning_of,
    weight_of,
)
from surebox_verify.released.codebooks import Codebook, codebooks_of
from surebox_verify.released.frames import frame_of, is_ambiguous
from surebox_verify.released.listed import is_text

__all__ = ["bounded_columns", "certify"]

_LO, _HI, _SET, _MEAN = "_lo", "_hi", "_set", "_mean"


@dataclass(frozen=True)
class _Said:
    """The known facts of a release next to its rows: from its certificate, or from how they are written."""

    names: Sequence[str]
    weights: str | tuple[str, str] | None
    means: bool
    meaning: Meaning
    orders: Orders
    declared: Mapping[str, Any]


def certify(
    frame: Any,
    statistics: Sequence[str | Question],
    *,
    columns: Sequence[str] | None = None,
    weight: str | bool | None = None,
    means: bool = False,
    ddof: int = 0,
    nominal: Mapping[str, Any] | None = None,
    certificate: bytes | str | PathLike[str] | None = None,
) -> list[dict[str, Any]]:
    """Compute certain ranges of statistics of a release of boxes, and of the columns that it keeps next to them.

    Parameters
    ----------
    frame : the release's rows: the path of its file, a polars or pandas data frame, or a pyarrow table. Frames that
        were read from CSV are understood as the file is. pandas reads missing values and texts such as `NA` as one:
        where a statistic is of such a column, give the path.
    statistics : such as ``mean(age)`` or ``regression(income, age)``.
    columns : those that were anonymized; by default all that have `<column>_lo` and `<column>_hi`, or
        `<column>_set`, but those of texts or truths in an order: a file does not state it.
    weight : True where rows weigh what the column `weight` states, or, of a survey, boxes an interval about it
        (`weight_mean_lo`, `weight_mean_hi`); the column's name where it has another; False where rows are not
        weighed. By default such columns next to the bounds are refused, for they may have been kept.
    means : whether `<column>_mean_lo` and `<column>_mean_hi` contain the means of the boxes' records, which make ranges
        narrower. The release's `box_means` states whether they do: they may be columns that were kept.
    ddof : 1 for the sample form of variances, standard deviations and covariances.
    nominal : codebooks and hierarchies of columns without numbers, as the release's `parameters` have them. Without it
        a value that no set has may be under `other`, and a class of a hierarchy cannot be queried.
    certificate : the release's envelope, or the path of its file. It states all that the other arguments state, what
        bounds mean, and the order of texts: ranges and estimates are those of `POST /v1/releases/{id}/statistics`. Its
        signature, and whether the rows are those that it is about, are for `surebox-verify` to check.

    Returns
    -------
    list of dict
        One a statistic, and one for each value, in `values`, of a share, a mean within values or a cross-table that
        names none: `estimate`, `first_order`, `guaranteed` (certain to contain the value of the released records),
        `attained` (reached by data consistent with the boxes), `sharp`, `gap`, `base` and `n` (which released records
        it counts, each once or by its weight, and how many have a value in each of its columns); of a `domain_mean`
        also `domain_may_be_empty`: where it is true, ranges are about the mean if there is a record with the values.

    Raises
    ------
    UnreadableError
        The frame is no release of boxes, a statistic cannot be read, or the certificate gives the file a meaning that
        this version does not know.
    """
    certified = _certificate(certificate)
    table = frame_of(frame, None if certified is None else certified.columns)
    if certified is None:
        said = _as_written(table, columns, weight, means=means, nominal=nominal)
    else:
        said = _as_certified(certified)
    questions = [each if isinstance(each, Question) else parse_question(each, ddof=ddof) for each in statistics]
    _refuse_ambiguous(frame, table, questions)
    bounded = said.names if certified is not None or columns is not None else bounded_columns(table.column_names)
    plain = _plain(table, bounded, said.weights)
    boxes = boxes_of(plain, said.names, weight=said.weights, orders=said.orders, means=said.means)
    classed = [name for name in boxes.nominal if name in table.column_names]
    kept = table.select([name for name in table.column_names if name not in _of_boxes(bounded, said.weights)])

    def books(parts: ReleasedBoxes, beside: Sequence[str]) -> Mapping[str, Codebook]:
        return codebooks_of(parts, said.declared, classed=classed, beside=beside)

    answers = finished(answering(boxes, kept, questions, said.meaning, books))
    return [entry for each in answers for entry in each]


def _certificate(given: bytes | str | PathLike[str] | None) -> Certificate | None:
    if given is None:
        return None
    certificate = read_certificate(read_envelope(given if isinstance(given, bytes) else Path(given).read_bytes()))
    certificate.refuse_unread()
    return certificate


def _refuse_ambiguous(frame: Any, table: pa.Table, questions: Sequence[Question]) -> None:
    """Refuse statistics of columns in which pandas has read texts as missing, for all that can be seen.

    Raises
    ------
    UnreadableError
        There is one.
    """
    for name in dict.fromkeys(name for question in questions for name in question.of):
        sides = [f"{name}{end}" for end in (_LO, _HI) if _is_bound_of_texts(table, f"{name}{end}")]
        for column in (name, *sides):
            if column in table.column_names and is_ambiguous(frame, table.column(column)):
                msg = (
                    f"column {column!r} has missing cells, and pandas reads texts such as `NA` and empty ones as "
                    "missing too: give certify the path of the file, or a frame of polars"
                )
                raise UnreadableError(msg)


def _is_bound_of_texts(table: pa.Table, name: str) -> bool:
    return name in table.column_names and is_text(table.schema.field(name).type)


def _as_certified(certificate: Certificate) -> _Said:
    """What a certificate states about its release.

    Raises
    ------
    UnreadableError
        The release is none of boxes.
    """
    parameters, columns = certificate.parameters, certificate.columns
    if parameters.get("method") != "boxes":
        msg = "this is no release of boxes, as its certificate states"
        raise UnreadableError(msg)
    names = [str(each) for each in parameters.get("quasi_identifiers") or ()]
    return _Said(
        names,
        weight_of(parameters, columns),
        has_means(parameters),
        meaning_of(parameters, columns),
        parameters.get("ordinal") or {},
        parameters,
    )


def _as_written(
    table: pa.Table,
    columns: Sequence[str] | None,
    weight: str | bool | None,
    *,
    means: bool,
    nominal: Mapping[str, Any] | None,
) -> _Said:
    """What follows from how the rows are written.

    Raises
    ------
    UnreadableError
        They are of no release of boxes, or it is not clear what a column is.
    """
    bounded = bounded_columns(table.column_names) if columns is None else list(columns)
    names = _readable(table, bounded) if columns is None else bounded
    if not names or "box" not in table.column_names:
        msg = "this is no release of boxes: it has no column `box`, or no pair of columns `…_lo`, `…_hi`"
        raise UnreadableError(msg)
    if weight is None and _beside(table.column_names, bounded):
        msg = "`weight`, or `weight_mean_lo`, may be of the rows' weights or one that was kept: state which (`weight`)"
        raise UnreadableError(msg)
    weights = weights_in(table.column_names) if weight is True else weight or None
    sides = [table.schema.field(f"{name}{_LO}").type for name in names if f"{name}{_SET}" not in table.column_names]
    # how bounds are written states what values seem to be multiples of; ranges must contain whatever they are
    steps = tuple(1.0 if _is_whole(kind) else None for kind in sides)
    return _Said(names, weights, means, Meaning(probable_steps=steps), {}, {"nominal": dict(nominal or {})})


def _is_whole(kind: pa.DataType) -> bool:
    is_ = pa.types
    return bool(is_.is_integer(kind) or is_.is_date(kind) or is_.is_timestamp(kind))


def _of_boxes(bounded: Sequence[str], weight: str | tuple[str, str] | None) -> set[str]:
    """Names of what boxes have in a file; all others are columns that were kept."""
    ends = (_LO, _HI, _SET, _MEAN + _LO, _MEAN + _HI)
    sides = {name + end for name in bounded for end in ends}
    return {"box", *sides, *bounded, *({weight} if isinstance(weight, str) else set(weight or ()))}


def weights_in(names: Sequence[str]) -> str | tuple[str, str]:
    """The column of the rows' weights in a file, or both ends of the intervals of boxes'."""
    return WEIGHT_ENDS if set(WEIGHT_ENDS) <= set(names) else WEIGHT


def bounded_columns(names: Sequence[str]) -> list[str]:
    """The columns whose bounds or sets are in a file, in its order; intervals of means after them are no columns."""
    there = set(names)
    return [
        name[: name.rindex("_")]
        for place, name in enumerate(names)
        if (
            name.endswith(_LO)
            and name.removesuffix(_LO) + _HI in there
            and name != WEIGHT_ENDS[0]
            and not _averages(name, names[:place])
        )
        or name.endswith(_SET)
    ]


def _readable(table: pa.Table, names: Sequence[str]) -> list[str]:
    """Those of them that are no columns of texts or truths in an order, which the file does not state."""
    ends = {name: (f"{name}{_LO}", f"{name}{_HI}") for name in names if f"{name}{_SET}" not in table.column_names}
    return [name for name in names if not any(_is_word(table.schema.field(end).type) for end in ends.get(name, ()))]


def _is_word(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_word(kind.value_type)
    return bool(
        pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or kind == pa.string_view()
    )


def _averages(name: str, before: Sequence[str]) -> bool:
    """Whether a column is the lower end of means: it is right after the upper bound of what they are of."""
    return bool(before) and name.endswith(_MEAN + _LO) and before[-1] == name.removesuffix(_MEAN + _LO) + _HI


def _plain(table: pa.Table, names: Sequence[str], weight: str | tuple[str, str] | None) -> pa.Table:
    """The data that are read, as all of pyarrow takes it: polars has texts as views, pandas days as instants."""
    of_boxes = _of_boxes(names, None)
    read = _of_boxes(names, weight)
    table = table.select([name for name in table.column_names if name in read])
    fields = [(each.name, _plain_type(each.type) if each.name in of_boxes else each.type) for each in table.schema]
    plain = table.cast(pa.schema(fields))
    for name, kind in fields:
        column = table.column(name)
        if kind == pa.date32() != column.type and not plain.column(name).cast(column.type).equals(column):
            msg = f"column {name!r} has instants within days, which no release has"
            raise UnreadableError(msg)
    return plain


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.large_list(_plain_type(kind.value_type))
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_null(kind):
        return pa.float64()
    return pa.large_string() if kind == pa.string_view() else kind


def _beside(names: Sequence[str], bounded: Sequence[str]) -> bool:
    """Whether `weight` is where weights are: after the last bound."""
    last = bounded[-1] + (_SET if bounded[-1] + _SET in names else _HI)
    after = list(names).index(last) + 1
    if after + 1 < len(names) and names[after] == bounded[-1] + _MEAN + _LO:
        after += 2
    return after < len(names) and names[after] in {WEIGHT, WEIGHT_ENDS[0]}
