"""What a certificate states about a release next to its ranges, checked on the file: rows, k, bounds, columns, flags.

All of it follows from the file alone, as far as a file can show it; what it cannot show is said, never passed over.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from surebox_core.types import FloatArray, IntArray
from surebox_verify.boxes import even_step
from surebox_verify.certificate import Certificate
from surebox_verify.envelope import UnreadableError
from surebox_verify.findings import CORE
from surebox_verify.other_methods import Unboxed
from surebox_verify.overlaps import Layout, overlapping
from surebox_verify.parameters import Parameters
from surebox_verify.released.boxes import ReleasedBoxes, has_means, weight_columns
from surebox_verify.released.intervals import number_of
from surebox_verify.released.listed import is_plain
from surebox_verify.released.orders import order_of
from surebox_verify.sensitive import Sensitive
from surebox_verify.weighing import compared, follow

_SIDES: Final = ("lo", "hi", "set")
_MOMENTS: Final = ("mean", "deviation", "correlation")
_ROUNDED: Final = 1e-9
_MOST_BOXES: Final = 20_000  # of which every two are held against each other
_MOST_CLASSES: Final = 50_000_000  # of boxes and kept classes together
#: Flags of boxes that follow from the parameters: what each states about them.
_FLAGS: Final[Mapping[str, tuple[str, frozenset[Any]]]] = {
    "tight-bounds": ("bounds", frozenset({"tight"})),
    "grid-bounds": ("bounds", frozenset({"grid"})),
    "rare-records-suppressed": ("rare_records", frozenset({"suppress"})),
    "means-inside-boxes": ("box_means", frozenset({"exact", "rounded"})),
    "weighed": ("rare_records", frozenset({"weigh"})),
}


@dataclass(frozen=True)
class Claims:
    """The findings about the claims: those that are wrong, that no file can show, and that this version cannot read."""

    problems: tuple[str, ...] = ()
    beyond_the_file: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Held:
    """A data file with its certificate.

    Attributes
    ----------
    table : all of its columns, as they are called in Parquet.
    typed : whether the file has the types of its columns.
    boxes : of a release of boxes, where they can be read from it.
    """

    table: pa.Table
    certificate: Certificate
    typed: bool
    boxes: ReleasedBoxes | None

    @property
    def said(self) -> Mapping[str, Any]:
        """How the release was made."""
        return self.certificate.parameters

    @property
    def kept(self) -> list[str]:
        """Columns next to the boxes that the file has."""
        return [name for name in self.said.get("keep") or () if name in self.table.column_names]

    @cached_property
    def of_row(self) -> IntArray:
        """(rows,), box of each row, numbered from 0."""
        return np.asarray(codes(self.table.column("box")))

    @cached_property
    def classes(self) -> IntArray:
        """(rows,), kept values of each row together, numbered from 0."""
        labels = np.zeros(self.table.num_rows, dtype=np.int64)
        for name in self.kept:
            labels = _together(labels, codes(self.table.column(name)))
        return labels


def claims(held: Held) -> Claims:
    """Hold the statement about a release against its file.

    Parameters
    ----------
    held : the file, and the claims.
    """
    parameters = Parameters(held.certificate, held.boxes)
    problems = [*_wrong_rows(held), *_wrong_columns(held), *_wrong_k(held), *parameters.problems()]
    beyond = list(parameters.beyond_the_file())
    if held.said.get("method") == "boxes" and "box" not in held.table.column_names:
        problems.append("columns: the file has no 'box', which states what is one box")
    elif held.said.get("method") == "boxes":
        problems += [*_wrong_boxes(held), *_wrong_flags(held), *_wrong_statistics(held), *_wrong_weighing(held)]
        sensitive = Sensitive(held.table, held.of_row, held.said)
        problems += sensitive.problems()
        beyond += [*_beyond(held), *sensitive.beyond_the_file()]
    else:
        other = Unboxed(held.table, held.said, held.certificate.flags, held.certificate.statistics)
        problems += other.problems()
        beyond += other.beyond_the_file()
    return Claims(tuple(problems), tuple(beyond), tuple(parameters.unknown()))


def codes(column: pa.ChunkedArray) -> IntArray:
    """(rows,), values of a column as whole numbers; missing ones have one of their own."""
    encoded = column.combine_chunks().dictionary_encode("encode")
    whole = pa.concat_arrays(encoded.chunks) if isinstance(encoded, pa.ChunkedArray) else encoded
    indices: IntArray = whole.indices.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return indices


def _wrong_rows(held: Held) -> Iterator[str]:
    rows, there = held.certificate.rows, held.table.num_rows
    if rows is not None and rows != there:
        yield f"rows: {rows} published, the file has {there}"


def _wrong_columns(held: Held) -> Iterator[str]:
    """Names and types that are not the file's."""
    said, there = held.certificate.columns, held.table.column_names
    if held.certificate.rows is None:  # of before, when not all were listed
        return
    if sorted(said) != sorted(there):
        other = sorted(set(said) ^ set(there))
        yield f"columns: the file has not those that are published ({', '.join(map(repr, other))})"
    elif held.typed:
        for name in there:
            kind = kind_of(held.table.schema.field(name).type)
            if kind is not None and said[name] != kind:
                yield f"columns: {name!r} is {said[name]} as published, {kind} in the file"
    for name in [name for name in held.certificate.plain if name in there]:
        yield from _wrong_sets(held, name)


def _wrong_sets(held: Held, name: str) -> Iterator[str]:
    """Sets that CSV has otherwise, by their values, than the certificate states."""
    if held.certificate.columns.get(name) != "list":
        yield f"columns: it is published how CSV has the sets of {name!r}, which is none of lists"
        return
    plain = held.certificate.plain[name]
    try:
        if plain != is_plain(held.table.column(name), name):
            yield f"columns: sets of {name!r} are {in_csv(plain=plain)} in CSV as published, and not by their values"
    except UnreadableError as error:
        yield f"columns: {error}"


def in_csv(*, plain: bool) -> str:
    """Name the form of sets in CSV."""
    return "plain values" if plain else "JSON arrays"


def kind_of(kind: pa.DataType) -> str | None:
    """The name of a column's type in a certificate; None of those that no release has."""
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    for name, holds in _KINDS.items():
        if any(each(kind) for each in holds):
            return name
    return None


_KINDS: Final = {
    "integer": (pa.types.is_integer,),
    "number": (pa.types.is_floating,),
    "string": (pa.types.is_string, pa.types.is_large_string),
    "boolean": (pa.types.is_boolean,),
    "date": (pa.types.is_date,),
    "list": (pa.types.is_list, pa.types.is_large_list),
}


def _wrong_k(held: Held) -> Iterator[str]:
    """What states k in two places, and boxes with fewer rows; of persons there are no more than rows."""
    k, again = held.certificate.k, held.said.get("k")
    if k is not None and again is not None and float(again) != k:
        yield f"k: {k:g} published, and {again} among the parameters"
    said = max((float(each) for each in (k, again) if each is not None), default=None)
    if held.said.get("method") != "boxes" or said is None or "box" not in held.table.column_names:
        return
    if not held.table.num_rows:
        return
    counted = bool(held.said.get("k_counts_kept"))
    classes = _together(held.of_row, held.classes) if counted else held.of_row
    what = "a box and its kept columns" if counted else "a box"
    least = int(np.unique(classes, return_counts=True)[1].min())
    if least < said:
        yield f"k: {said:g} published, {what} has {least} rows"


def _together(first: IntArray, second: IntArray) -> IntArray:
    """Pairs of two columns' values as whole numbers."""
    return np.asarray(np.unique(first * (int(second.max(initial=0)) + 1) + second, return_inverse=True)[1])


def _wrong_boxes(held: Held) -> Iterator[str]:
    """Rows of a box that differ, and bounds that are not as claimed."""
    yield from _wrong_names(held)
    yield from _unlike(held)
    if (boxes := held.boxes) is None:
        return
    lower, upper = boxes.lower, boxes.upper
    for index, name in enumerate(boxes.numeric):
        low, high = lower[:, index], upper[:, index]
        if (np.isnan(low) != np.isnan(high)).any() or (low > high).any():
            yield f"bounds: {name!r} has a lower one above its upper one, or one of both is missing"
        yield from _wrong_bounds(held, name, low, high)
    if held.said.get("missing_policy", "pattern") != "pattern" and np.isnan(lower).any():
        yield f"missing_policy: {held.said['missing_policy']} published, boxes have missing bounds"
    yield from _wrong_means(held, boxes)
    yield from _wrong_layout(held, boxes)


def _wrong_means(held: Held, boxes: ReleasedBoxes) -> Iterator[str]:
    """Means outside their boxes, and exact ones that are not: of whole numbers three sums at most are one."""
    if boxes.means is None:
        return
    low, high = boxes.means
    size = np.maximum(np.abs(boxes.lower), np.abs(boxes.upper))
    if (low > high).any() or (low < boxes.lower).any() or (high > boxes.upper).any():
        yield "box_means: means are outside their boxes, or their lower end is above the upper one"
    elif held.said.get("box_means") == "exact":
        steps = np.array([_sum_step(held, boxes, name) for name in boxes.numeric])
        play = np.where([_is_whole(held, name) for name in boxes.numeric], 2.0 * steps, 0.0) / boxes.counts[:, None]
        if (high - low > play * (1.0 + _ROUNDED) + _ROUNDED * size).any():
            yield "box_means: `exact` published, those of the file are rounded"


def _sum_step(held: Held, boxes: ReleasedBoxes, name: str) -> float:
    """Number whose multiples the sums of a column's values, less the lower bound of their box each, are."""
    if name in boxes.orders:
        return even_step(boxes.orders[name].numbers) or 0.0
    return float((held.said.get("value_step") or {}).get(name, 1.0))


def _wrong_names(held: Held) -> Iterator[str]:
    """Columns that the parameters do not account for, or that are not there."""
    said, there = held.said, held.table.column_names
    names = [str(each) for each in said.get("quasi_identifiers") or ()]
    for name in names:
        sides = [side for side in _SIDES if f"{name}_{side}" in there]
        if sides not in (["lo", "hi"], ["set"], ["lo", "hi", "set"]):
            yield f"columns: the file has no bounds and no set of {name!r}"
    about = {"box", *(f"{name}_{side}" for name in names for side in _SIDES), *names, *(said.get("keep") or ())}
    if has_means(said):
        about |= {f"{name}_mean_{end}" for name in names for end in ("lo", "hi")}
    weights, mark = weight_columns(said, held.certificate.columns), said.get("rare_records") == "mark"
    needed = [*(said.get("keep") or ()), *weights, *([CORE] if mark else [])]
    about |= set(needed)
    for name in there:
        if name not in about:
            yield f"columns: the file has {name!r}, which nothing published accounts for"
    for name in needed:
        if name not in there:
            yield f"columns: {name!r} is published, the file has none"


def _unlike(held: Held) -> Iterator[str]:
    """Rows of a box have one and the same sides, weight and mark."""
    table, kept = held.table, set(held.said.get("keep") or ())
    if not table.num_rows:
        return
    first = np.zeros(int(held.of_row.max()) + 1, dtype=np.int64)
    first[held.of_row[::-1]] = np.arange(table.num_rows)[::-1]
    places = pa.array(first[held.of_row])
    for name in table.column_names:
        if name != "box" and name not in kept and not table.column(name).equals(table.column(name).take(places)):
            yield f"boxes: rows of one box differ in {name!r}"


def _wrong_bounds(held: Held, name: str, low: FloatArray, high: FloatArray) -> Iterator[str]:
    """Bounds of one column outside its domain, off its steps, or nearer than they may be."""
    said = held.said
    yield from _wrong_width(held, name, low, high)
    domain = (said.get("domains") or {}).get(name)
    if domain is not None and (ends := _ends(domain)) is not None:
        least, most = float(np.nanmin(low)), float(np.nanmax(high))
        if least < ends[0] or most > ends[1]:
            yield f"domains: {list(domain)} of {name!r} published, bounds are beyond it"
        elif _tiles(said) and (least, most) != ends:
            yield f"domains: {list(domain)} of {name!r} published, `cells` do not reach its ends"
    step = (said.get("value_step") or {}).get(name)
    if step is not None and said.get("bounds") != "grid":
        parts = np.concatenate([low, high]) / float(step)
        if (np.abs(parts - np.rint(parts)) > _ROUNDED * np.maximum(np.abs(parts), 1.0)).any():
            yield f"value_step: {step} of {name!r} published, a bound is not on one"


def _wrong_width(held: Held, name: str, low: FloatArray, high: FloatArray) -> Iterator[str]:
    """Bounds that are nearer than they may be; of a box that may have the spike alone they contain it."""
    said, boxes = held.said, held.boxes
    width, spike = ((said.get(field) or {}).get(name) for field in ("min_width", "spikes"))
    if width is None or boxes is None:
        if spike is not None:
            yield f"spikes: {name!r} has no `min_width`"
        return
    narrow = high - low < float(width) * (1.0 - _ROUNDED)
    if spike is not None:
        number = _number(spike, (said.get("ordinal") or {}).get(name))
        if number is None:
            yield f"spikes: not a value of {name!r}"
            return
        has = (low <= number) & (number <= high)
        if 2 * boxes.counts[has].sum() < boxes.counts[~np.isnan(low)].sum():
            yield f"spikes: {spike!r} of {name!r} published, boxes of fewer than half of the rows contain it"
        narrow &= ~has
    if narrow.any():
        yield f"min_width: {width} of {name!r} published, a box has {float(np.nanmin((high - low)[narrow])):g}"


def _number(value: Any, order: Sequence[Any] | None) -> float | None:
    """A value as the number that it counts as in a column, which may have an order; None: it is none of that."""
    try:
        if order is None:
            return float(number_of(value))
        return order_of(order).numbers[list(order).index(value)]
    except (TypeError, ValueError, UnreadableError):
        return None


def _ends(domain: Any) -> tuple[float, float] | None:
    """A domain of numbers, or of days as they are counted; None of anything else."""
    try:
        low, high = (
            float(np.datetime64(each, "D").astype(np.int64)) if isinstance(each, str) else float(each)
            for each in domain
        )
    except (TypeError, ValueError):
        return None
    return low, high


def _tiles(said: Mapping[str, Any]) -> bool:
    """Whether boxes are all of the cells that the domains were cut into."""
    made_from = said.get("base_release_id"), said.get("previous_release_id")
    return said.get("bounds") == "cells" and said.get("rare_records") in ("keep", "mark") and made_from == (None, None)


def _wrong_layout(held: Held, boxes: ReleasedBoxes) -> Iterator[str]:
    """Boxes of one release are disjoint; tight ones do not even touch, for no cut goes through a value."""
    said = held.said
    if not _is_compared(held, boxes):
        return
    whole = np.array([_is_whole(held, name) for name in boxes.numeric], dtype=np.bool_)
    apart = boxes.weights if said.get("released_weights") == "row" else None
    tight = said.get("bounds") == "tight"
    classes = None
    if said.get("k_counts_kept"):
        classes = np.zeros((len(boxes.counts), int(held.classes.max(initial=0)) + 1), dtype=np.bool_)
        classes[boxes.of_row, held.classes] = True
    if overlapping(Layout(boxes, whole | tight, apart, classes)):
        yield "bounds: `tight` published, boxes touch or overlap" if tight else "bounds: boxes overlap"
    if tight:
        wide = ((boxes.lower < boxes.upper) & (boxes.counts < 2)[:, None]).any()
        if wide or any((each.sum(axis=1) > boxes.counts).any() for each in boxes.sets):
            yield "bounds: `tight` published, a box has more ends or values than records"


def _unseen(held: Held) -> Iterator[str]:
    """Values that statistics name, that no box has, and that may be among those which the codebook does not list."""
    words, boxes = held.said.get("merged_as") or {}, held.boxes
    for name, book, sets in () if boxes is None else zip(boxes.nominal, boxes.codebooks, boxes.sets, strict=True):
        shown = np.atleast_1d(sets.any(axis=0)).tolist()
        unseen = [value for value, seen in zip(book, shown, strict=True) if not seen and value is not None]
        if name in words and unseen:
            yield (
                f"that {', '.join(map(repr, unseen))} of {name!r} {'is' if len(unseen) == 1 else 'are'} not among "
                f"{words[name]!r}: statistics take it that no released record has what no box shows"
            )


def _is_compared(held: Held, boxes: ReleasedBoxes) -> bool:
    """Whether boxes are disjoint, and few enough to see it; unions of boxes, or over fewer columns, may overlap."""
    made_from = held.said.get("base_release_id"), held.said.get("previous_release_id")
    classes = int(held.classes.max(initial=0)) + 1 if held.said.get("k_counts_kept") else 1
    few = len(boxes.counts) <= _MOST_BOXES and len(boxes.counts) * classes <= _MOST_CLASSES
    return few and made_from == (None, None)


def _is_whole(held: Held, name: str) -> bool:
    """Return whether bounds are both included: whole numbers, days and orders."""
    return name in (held.said.get("ordinal") or {}) or held.certificate.columns.get(f"{name}_lo") != "number"


def _wrong_flags(held: Held) -> Iterator[str]:
    """Flags that do not follow from the parameters."""
    flags, said = held.certificate.flags, held.said
    if flags is None:
        return
    for flag, (name, values) in _FLAGS.items():
        if said.get(name) is not None and (said[name] in values) != (flag in flags):
            yield f"flags: {flag!r} is {'' if flag in flags else 'not '}published, {name} is {said[name]}"
    if ("survey-weights" in flags) != (said.get("survey_weight_column") is not None):
        yield "flags: 'survey-weights' is not as `survey_weight_column` states"
    kept = bool(said.get("keep")) and not said.get("k_counts_kept")
    if "k_counts_kept" in said and kept != ("kept-columns-not-counted" in flags):
        yield "flags: 'kept-columns-not-counted' is not as `keep` and `k_counts_kept` state"


def _wrong_statistics(held: Held) -> Iterator[str]:
    """Statistics with other degrees of freedom than the parameters state, and a core that is too small."""
    ddof, at_most = held.said.get("ddof"), held.said.get("max_suppressed")
    for each in held.certificate.statistics:
        if ddof is not None and each.get("ddof") not in (None, ddof):
            yield f"ddof: {each.get('ddof')} of a statistic published, and {ddof} among the parameters"
    if held.said.get("rare_records") == "mark" and at_most is not None and CORE in held.table.column_names:
        outside = 1.0 - float(np.mean(held.table.column(CORE).to_numpy().astype(np.float64)))
        if outside > float(at_most) + _ROUNDED:
            yield f"max_suppressed: {at_most} published, {outside:g} of the rows are not of the core"


def _wrong_weighing(held: Held) -> Iterator[str]:
    """What weights are said to follow from, in a form that nothing has; the boxes that are left out are not there."""
    said, weighs = held.said.get("weighed_by"), held.said.get("rare_records") == "weigh"
    if weighs != (said is not None):
        what, are = "nothing" if said is None else "moments", "are" if weighs else "are not"
        yield f"weighed_by: {what} published, boxes {are} weighed"
    if said is None or not weighs:
        return
    wrong = list(_wrong_moments(held, said))
    yield from wrong
    if not wrong and held.boxes is not None and not held.boxes.nominal and follow(held.boxes, held.said) is False:
        yield "weighed_by: other weights follow from it than the file has"


def _wrong_moments(held: Held, said: Mapping[str, Any]) -> Iterator[str]:
    """Moments that no boxes have, or of other columns and statistics."""
    names, statistics = held.said.get("quasi_identifiers") or (), held.said.get("statistics") or ()
    try:
        mean, deviation, rho = (np.asarray(said[name], dtype=np.float64) for name in _MOMENTS)
        one, prices = float(said["uncertainty_of_one_record"]), said.get("prices")
        strange = prices is not None and not all(np.isfinite(float(price)) for each in prices for price in each)
    except (KeyError, TypeError, ValueError):
        yield "weighed_by: it lacks what every weighed release has"
        return
    size = len(mean) if any(f"{name}_set" in held.table.column_names for name in names) else len(names)
    if (mean.shape, deviation.shape, rho.shape) != ((size,), (size,), (size, size)):
        yield "weighed_by: moments of other columns"
    elif not (np.isfinite(mean).all() and (deviation >= 0.0).all() and one >= 0.0):
        yield "weighed_by: a deviation or an uncertainty is below 0, or a mean is none"
    elif not (np.allclose(rho, rho.T) and np.allclose(np.diag(rho), 1.0) and (np.abs(rho) <= 1.0 + _ROUNDED).all()):
        yield "weighed_by: correlations that no data have"
    elif any(float(f"{each:.1e}") != each for each in (*deviation, one)):
        yield "weighed_by: a deviation or an uncertainty has more than two digits"
    if strange or (prices is not None and len(prices) != len(statistics)):
        yield "weighed_by: prices of other statistics, or some that are no numbers"


def _beyond(held: Held) -> Iterator[str]:
    """Claims about boxes that no file can show."""
    said = held.said
    if said.get("person_column") is not None:
        yield f"that k counts persons ({said['person_column']!r}); rows were counted, and a person may have several"
    if said.get("bounds") in ("tight", "grid"):
        yield f"that bounds are `{said['bounds']}`: what is at or near them are records that the file does not have"
    if said.get("weighed_by") is not None and held.boxes is not None:
        same, boxes = int(compared(held.boxes, said).sum()), len(held.boxes.counts)
        if same < boxes:
            yield (
                f"that weights follow from `weighed_by` in {boxes - same if same > 1 else boxes} of {boxes} boxes: "
                "their bounds follow the outermost records, and weights do not"
            )
        yield "the moments of `weighed_by` beyond what weights show: they are of all boxes, those left out among them"
    if said.get("survey_weight_column") is not None:
        yield "the design weights of single records; ranges are about those that the boxes have"
    yield from _unseen(held)
    if held.boxes is None:
        yield "bounds: this format does not have the types that they are read back by"
    elif not _is_compared(held, held.boxes):
        yield "whether boxes overlap: those of a series and of versions may, and very many are not compared"
