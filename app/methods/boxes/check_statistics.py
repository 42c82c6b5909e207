"""Statistics of a box release: which it has by default, and which its columns cannot have."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any
from unicodedata import normalize

from app.contracts.columns import NUMERIC_KINDS, ColumnKind, names_class, text_of, value_in
from app.contracts.statistics import MOST_STATISTICS, Statistic, StatisticKind, steers
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import FieldError, pointer
from app.methods.boxes.nominal import NominalColumn
from app.methods.boxes.spec import BoxesSpec, ReleasedWeights
from app.methods.columns import kind_counted, not_used, unfit
from app.sentences import listed as list_of

#: Statistics that a warning names.
_SHOWN = 5


def default_statistics(columns: Sequence[str], kinds: Mapping[str, ColumnKind]) -> tuple[Statistic, ...] | None:
    """Means, variances and correlations of columns with an order, and the shares of the values of the others.

    All columns are named, whatever their values are: to leave out those with one value would reveal whether a single
    record differs. Undefined statistics then have no range, as the published bounds show. Of very many columns the list
    would be too long: none, which `too_many_statistics` refuses.

    Parameters
    ----------
    columns
        In the specification's order.
    kinds
        Of those that are there.
    """
    used = [name for name in columns if kinds.get(name) in NUMERIC_KINDS]
    shares = [
        Statistic(kind=StatisticKind.SHARE, of=(name,)) for name in columns if kinds.get(name) is ColumnKind.NOMINAL
    ]
    if _defaults(len(used)) + len(shares) > MOST_STATISTICS:
        return None
    if not used and not shares:
        return None
    statistics = [Statistic(kind=StatisticKind.MEAN, of=(name,)) for name in used]
    statistics += [Statistic(kind=StatisticKind.VARIANCE, of=(name,)) for name in used]
    statistics += [Statistic(kind=StatisticKind.CORRELATION, of=pair) for pair in combinations(used, 2)]
    return (*statistics, *shares)


def with_steering(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> BoxesSpec:
    """The specification with statistics that its boxes are made narrow for: by default, if it lists no such.

    Parameters
    ----------
    spec
        The specification.
    kinds
        Of its columns, those that are there.
    """
    listed = spec.statistics or ()
    if any(steers(one, spec.quasi_identifiers) for one in listed):
        return spec
    default = default_statistics(spec.quasi_identifiers, kinds)
    if default is None:
        return spec
    return spec.model_copy(update={"statistics": (*listed, *default)})


def wrong_statistics(
    spec: BoxesSpec,
    kinds: Mapping[str, ColumnKind],
    kept: Mapping[str, ColumnKind],
    there: Collection[str],
    *,
    may_be_added: bool = True,
) -> Iterator[FieldError]:
    """Statistics of values not among the columns, or of columns of the wrong kind.

    Parameters
    ----------
    spec
        The specification.
    kinds, kept
        Of its columns, and of those that rows keep, as far as they are there.
    there
        Columns of the data.
    may_be_added
        Whether the job could use more of them.
    """
    if spec.statistics and not any(steers(one, spec.quasi_identifiers) for one in spec.statistics):
        detail = (
            "boxes are made narrow for statistics of `quasi_identifiers`, of which there are too many to list all: "
            "name some"
        )
        yield FieldError("/statistics", detail)
    for index, statistic in enumerate(spec.statistics or ()):
        for position, name in enumerate(statistic.of):
            kind = kinds.get(name) or kept.get(name)
            if name not in (*spec.quasi_identifiers, *spec.keep):
                hint = " (withheld columns are not published)" if name in spec.sensitive else ""
                used = (*spec.quasi_identifiers, *spec.keep)
                detail = not_used(name, used, there, f"`quasi_identifiers` or `keep`{hint}", may_be_added=may_be_added)
                yield FieldError(pointer("statistics", index, "of", position), detail)
            elif kind is not None and (
                wrong := unfit(
                    statistic,
                    position,
                    kind,
                    kept=name not in spec.quasi_identifiers,
                    order=spec.ordinal.get(name, ()),
                )
            ):
                where, reason = wrong
                yield FieldError(pointer("statistics", index, *where), f"column {name!r} is {kind}: {reason}")
        if statistic.weight and not steers(statistic, spec.quasi_identifiers):
            detail = (
                "kept columns and intervals are answered from the boxes and do not steer them: leave the weight out"
            )
            yield FieldError(pointer("statistics", index, "weight"), detail)
        for field, name, place, value in _named(statistic):
            if name in spec.ordinal and not _is_of_order(field, value, spec, name):
                detail = f"not in the order of column {name!r}, which `ordinal` lists"
                yield FieldError(pointer("statistics", index, field, place), detail)
            elif name in spec.quasi_identifiers and _is_undeclared(value, spec.nominal.get(name)):
                detail = f"no value or class of column {name!r} that `nominal` declares"
                yield FieldError(pointer("statistics", index, field, place), detail)


def _is_undeclared(named: Any, declared: NominalColumn | None) -> bool:
    """Return whether a declared codebook has no value and no class that may be meant, in whatever spelling."""
    value = value_in(named)
    if declared is None or value is None or (declared.values is None and declared.hierarchy is None):
        return False
    labels = [label for row in (declared.hierarchy.rows if declared.hierarchy else ()) for label in row]
    keys = {key for one in (*(declared.values or ()), *labels) if one is not None for key in _keys(one)}
    return keys.isdisjoint(_keys(value))


def _keys(value: Any) -> set[str]:
    """Return what a value is compared by: its text without case and width, and its number."""
    text = normalize("NFKC", text_of(value)).casefold().strip()
    try:
        return {text, repr(float(value))}
    except ValueError:
        return {text}


def _is_of_order(field: str, named: Any, spec: BoxesSpec, name: str) -> bool:
    """Return whether a value is of an order, or a prediction at a number, or a day, where the order counts as such."""
    value, counted = value_in(named), kind_counted(ColumnKind.ORDINAL, spec.ordinal[name])
    if names_class(named) or value in spec.ordinal[name]:
        return not names_class(named)
    return field == "at" and counted is not ColumnKind.ORDINAL and kind_counted(ColumnKind.ORDINAL, [value]) is counted


def _named(statistic: Statistic) -> Iterator[tuple[str, str, int, Any]]:
    """Values that a statistic names: the field, the column, the place in the field, the value."""
    for place, value in enumerate(statistic.values or ()):
        yield "values", statistic.of[-1], place, value
    for place, value in enumerate(statistic.at or ()):
        yield "at", statistic.of[place + 1], place, value


def too_many_statistics(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> Iterator[FieldError]:
    """More statistics than can be listed by default."""
    if spec.statistics is None and len(kinds) == len(spec.quasi_identifiers):
        count = _defaults(sum(kind in NUMERIC_KINDS for kind in kinds.values()))
        yield FieldError(
            "/statistics",
            f"by default {len(spec.quasi_identifiers)} columns would have {count:,} statistics; "
            f"list those that matter, at most {MOST_STATISTICS:,}",
        )


def _defaults(columns: int) -> int:
    return 2 * columns + columns * (columns - 1) // 2


def foreseen(spec: BoxesSpec) -> Iterator[JobWarning]:
    """Yield warnings that follow from the specification alone.

    Parameters
    ----------
    spec
        With its defaults.
    """
    listed = spec.statistics or ()
    of_kept = [place for place, one in enumerate(listed) if set(one.of) & set(spec.keep)]
    if spec.survey_weight_column is not None and spec.released_weights is not ReleasedWeights.ROW:
        if of_kept:
            detail = (
                "The release has weights of boxes and not of rows, so nothing narrow follows about weighted statistics "
                f"of kept columns: {_some(listed, of_kept)}. `released_weights: row` with `k_counts_kept: true` makes "
                "them certain, and so does each of these columns as a quasi-identifier instead of in `keep`."
            )
            yield _stays_wide(detail, of_kept)
        return
    cut = {name for one in listed if steers(one, spec.quasi_identifiers) for name in one.of}
    uncut = [place for place in of_kept if set(listed[place].of) - set(spec.keep) - cut]
    if uncut:
        columns = sorted({name for place in uncut for name in listed[place].of} - set(spec.keep) - cut)
        detail = (
            "Boxes are made narrow for statistics of `quasi_identifiers` alone, and none is listed of "
            f"{list_of([*map(repr, columns)])}, so hardly anything follows about {_some(listed, uncut)}. List one of "
            'each, such as {"kind": "share", "of": [...]} of values or {"kind": "mean", "of": [...]} of numbers.'
        )
        yield _stays_wide(detail, uncut)


def _some(listed: Sequence[Statistic], places: Sequence[int]) -> str:
    """Return the first statistics that a warning is about, and how many more there are."""
    shown = [listed[place] for place in places[:_SHOWN]]
    named = "; ".join(f"{one.kind} of {', '.join(map(repr, one.of))}" for one in shown)
    return f"{named} and {len(places) - _SHOWN} more" if len(places) > _SHOWN else named


def _stays_wide(detail: str, places: Sequence[int]) -> JobWarning:
    where = pointer("spec", "statistics", places[0]) if len(places) == 1 else "/spec/statistics"
    return warning(WarningCode.RANGE_STAYS_WIDE, detail, where)
