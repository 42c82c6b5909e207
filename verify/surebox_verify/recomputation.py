"""Claims of a certificate computed again from the data files; needs the extra `ranges`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from surebox_core.errors import UndefinedStatisticError
from surebox_core.steps import finished
from surebox_core.types import BoolArray
from surebox_verify.answering import answering
from surebox_verify.boxes import Meaning
from surebox_verify.certificate import Certificate
from surebox_verify.claims import Claims, Held, claims, in_csv, kind_of
from surebox_verify.envelope import UnreadableError
from surebox_verify.findings import CORE, about_core, judged
from surebox_verify.questions import KINDS, question, with_values
from surebox_verify.released.boxes import (
    ReleasedBoxes,
    boxes_of,
    has_means,
    meaning_of,
    taking_rows,
    weight_columns,
    weight_of,
)
from surebox_verify.released.codebooks import Codebook, codebooks_of, declared_values
from surebox_verify.released.files import cells, format_of, numbers, rows, typed, whole
from surebox_verify.released.formats import difference
from surebox_verify.released.listed import has_arrays
from surebox_verify.report import Finding, Recomputed, StatisticFinding

#: What reading and computing answer a damaged file or a misshapen claim with.
_UNREAD = (ValueError, TypeError, AttributeError, ArithmeticError, LookupError, MemoryError, OSError)
_NUMBERS = ("integer", "number")


def recomputed(data: Mapping[str, bytes], certificate: Certificate) -> Recomputed:
    """Every published statistic and claim, computed again from data files and their certificate."""
    try:
        with np.errstate(all="ignore"):  # what is not as certified may overflow anything
            return _recomputed(data, certificate)
    except (UndefinedStatisticError, *_UNREAD) as error:
        return Recomputed(unread=[f"statistics: {error}"])


def _easiest(data: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Parquet, where there is one."""
    return min(data.items(), key=lambda item: not item[0].endswith(".parquet"))


def _other_rows(data: Mapping[str, bytes], certificate: Certificate) -> Claims:
    """Files that do not contain the rows of the one that is computed from, and files that cannot be read."""
    wrong, unread = [], []
    if len(data) > 1 and certificate.rows is not None:
        first, raw = _easiest(data)
        for name, other in data.items():
            try:
                unlike = difference((raw, format_of(first)), (other, format_of(name)), certificate.columns)
            except UnreadableError as error:
                unread.append(f"{name}: {error}")
                continue
            if unlike is not None:
                wrong.append(f"{name}: {unlike} than {first}")
    return Claims(tuple(wrong), tuple(unread))


def _other_spellings(data: Mapping[str, bytes], certificate: Certificate) -> Iterator[str]:
    """CSV files whose sets are not spelled as the certificate states; of one that cannot be read, others state it."""
    sets = [name for name in certificate.plain if certificate.columns.get(name) == "list"]
    for name in [name for name in data if "csv" in format_of(name) and sets]:
        with suppress(UnreadableError):
            table = cells(data[name], format_of(name), sets)
            for column in table.column_names:
                plain, there = certificate.plain[column], table.column(column)
                if there.null_count < len(there) and has_arrays(there) == plain:
                    published, written = in_csv(plain=plain), in_csv(plain=not plain)
                    yield f"{name}: sets of {column!r} are {published} as published, and {written} in the file"


def _recomputed(data: Mapping[str, bytes], certificate: Certificate) -> Recomputed:
    """All that is published again, from a data file and what the certificate states; the core last."""
    name, raw = _easiest(data)
    others, spelled = _other_rows(data, certificate), _other_spellings(data, certificate)
    boxes, core, fault, unread = None, None, None, others.beyond_the_file
    file_format = format_of(name)
    try:
        if certificate.parameters.get("method") == "boxes":
            boxes, core = _boxes(name, raw, certificate)
    except _UNREAD as error:  # the rest can be checked all the same
        fault = f"statistics: {error}"
    table = whole(raw, file_format, certificate.columns)
    checked = claims(Held(table, certificate, typed=file_format == "parquet", boxes=boxes))
    unread = (*unread, *checked.unread)
    again = Recomputed(
        problems=(*checked.problems, *others.problems, *spelled), beyond_the_file=checked.beyond_the_file
    )
    if fault is not None:
        return replace(again, unread=[*unread, fault])
    try:
        statistics = _judged(boxes, core, certificate, _beside(raw, file_format, certificate))
    except (UndefinedStatisticError, *_UNREAD) as error:
        return replace(again, unread=[*unread, f"statistics: {error}"])
    return replace(again, statistics=statistics, unread=unread)


def _beside(data: bytes, file_format: str, certificate: Certificate) -> pa.Table:
    """Columns next to the boxes that statistics are about, those whose values the file has as they are."""
    named = {str(name) for one in certificate.statistics for name in one.get("of") or ()}
    kept = [name for name in certificate.parameters.get("keep") or () if name in named]
    if not kept:
        return pa.table({})
    table = rows(data, file_format, certificate.columns)
    there = [name for name in kept if name in table.column_names]
    right = [name for name in there if kind_of(table.schema.field(name).type) == certificate.columns.get(name)]
    return table.select(right)


def _judged(
    boxes: ReleasedBoxes | None, core: BoolArray | None, certificate: Certificate, kept: pa.Table
) -> Sequence[StatisticFinding]:
    """Every statistic of a certificate, held against boxes and columns next to them; those of the core last."""
    published, of_core = certificate.statistics, [about_core(each) for each in certificate.statistics]
    both = [each for each in (*published, *of_core) if each is not None]
    if boxes is None:
        return [judged(each, None) for each in both]
    meaning = meaning_of(certificate.parameters, certificate.columns)
    own = boxes, core, certificate, of_core
    again = _all_again(*own, meaning, kept)
    statistics = [judged(each, again.get(id(each))) for each in both]
    if meaning.attained and any(each.finding is Finding.CONSISTENT for each in statistics):
        without = _all_again(*own, replace(meaning, attained=False), kept)
        statistics = [judged(each, again.get(id(each)), without.get(id(each))) for each in both]
    return statistics


def _all_again(
    boxes: ReleasedBoxes,
    core: BoolArray | None,
    certificate: Certificate,
    of_core: Sequence[Mapping[str, Any] | None],
    meaning: Meaning,
    kept: pa.Table,
) -> dict[int, Mapping[str, Any]]:
    """Statistics of all boxes and of the core, by the identity of the published part of them."""
    parameters, published = certificate.parameters, certificate.statistics
    again = _again(boxes, kept, published, meaning, parameters)
    if core is None:
        return again
    rows = kept.filter(pa.array(core)) if kept.column_names else kept
    return again | _again(taking_rows(boxes, core), rows, of_core, meaning, parameters)


def _again(
    boxes: ReleasedBoxes,
    kept: pa.Table,
    published: Sequence[Mapping[str, Any] | None],
    meaning: Meaning,
    parameters: Mapping[str, Any],
) -> dict[int, Mapping[str, Any]]:
    """Statistics of some boxes, by the identity of the published part of them."""
    # all statistics of the release, known or not claimed, decide how far each is searched for
    entries = [each for each in published if each is not None and each.get("kind") in KINDS]
    if not entries:
        return {}
    questions = [question(each, ddof=int(each.get("ddof") or 0)) for each in entries]

    def books(parts: ReleasedBoxes, names: Sequence[str]) -> Mapping[str, Codebook]:
        return codebooks_of(parts, parameters, beside=names)

    computed = finished(answering(boxes, kept, questions, meaning, books, by_value=False, refuse=False))
    return {id(each): one for each, (one,) in zip(entries, computed, strict=True)}


def _boxes(name: str, data: bytes, certificate: Certificate) -> tuple[ReleasedBoxes, BoolArray | None]:
    """The boxes of the data file, and which rows are of the core."""
    columns, parameters = certificate.columns, certificate.parameters
    names = [str(each) for each in parameters["quasi_identifiers"]]
    weight, means = weight_of(parameters, columns), has_means(parameters)
    ends = ("lo", "hi", "set", *(("mean_lo", "mean_hi") if means else ()))
    sides = [side for each in names for end in ends if (side := f"{each}_{end}") in columns]
    file_format = format_of(name)
    marks = [CORE] if parameters.get("rare_records") == "mark" and columns.get(CORE) == "boolean" else []
    wanted = ["box", *sides, *weight_columns(parameters, columns)]
    if all(columns[side] in _NUMBERS for side in sides):
        table = numbers(data, file_format, wanted, flags=marks)
    else:
        table = typed(rows(data, file_format, columns), [*wanted, *marks], columns)
    boxes = boxes_of(table, names, weight=weight, orders=parameters.get("ordinal"), means=means)
    core = np.asarray(table.column(CORE).to_numpy(), dtype=np.bool_) if marks else None
    questions = [question(each) for each in certificate.statistics if each.get("kind") in KINDS]
    return with_values(boxes, questions, declared_values(boxes, parameters)), core
