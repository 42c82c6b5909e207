"""Statistics of a box release: which it has by default, and which its columns cannot have."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from app.contracts.columns import NUMERIC_KINDS, ColumnKind
from app.contracts.statistics import MOST_STATISTICS, Statistic, StatisticKind, steers
from app.errors import FieldError, meant, pointer
from app.methods.boxes.spec import BoxesSpec
from app.methods.columns import unfit


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
    spec: BoxesSpec, kinds: Mapping[str, ColumnKind], kept: Mapping[str, ColumnKind]
) -> Iterator[FieldError]:
    """Statistics of values not among the columns, or of columns of the wrong kind.

    Parameters
    ----------
    spec
        The specification.
    kinds, kept
        Of its columns, and of those that rows keep, as far as they are there.
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
                hint = ", and `sensitive` columns are published if they are kept" if name in spec.sensitive else ""
                close = meant(name, (*spec.quasi_identifiers, *spec.keep))
                detail = f"{name!r} is not one of `quasi_identifiers` or `keep`{hint}{close}"
                yield FieldError(pointer("statistics", index, "of", position), detail)
            elif kind is not None and (
                wrong := unfit(statistic, position, kind, kept=name not in spec.quasi_identifiers)
            ):
                where, reason = wrong
                yield FieldError(pointer("statistics", index, *where), f"column {name!r} is {kind}: {reason}")
        if statistic.weight and not steers(statistic, spec.quasi_identifiers):
            detail = (
                "kept columns and intervals are answered from the boxes and do not steer them: leave the weight out"
            )
            yield FieldError(pointer("statistics", index, "weight"), detail)
        for field, name, place, value in _named(statistic):
            if name in spec.ordinal and value not in spec.ordinal[name]:
                detail = f"not in the order of column {name!r}, which `ordinal` lists"
                yield FieldError(pointer("statistics", index, field, place), detail)


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
