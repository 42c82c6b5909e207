"""What the specification of `boxes` can say before it can be done: refused by name, never ignored."""

from collections.abc import Iterator, Mapping
from typing import Final

from app.contracts.box_columns import ColumnKind
from app.contracts.box_statistics import StatisticKind
from app.contracts.boxes import Bounds, BoxesSpec, Content, MissingCells
from app.errors import FieldError, pointer

_KINDS: Final = (ColumnKind.NOMINAL, ColumnKind.ORDINAL, ColumnKind.DATE)
_STATISTICS: Final = (
    StatisticKind.SHARE,
    StatisticKind.CROSSTAB,
    StatisticKind.DOMAIN_MEAN,
    StatisticKind.QUANTILE,
)


def unfinished(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> Iterator[FieldError]:
    """What is asked for and not there yet."""
    for name, kind in kinds.items():
        if kind in _KINDS:
            where = pointer("columns", spec.columns.index(name))
            yield FieldError(where, f"column {name!r} is {kind}, not numeric: such columns are not built yet")
    for index, statistic in enumerate(spec.statistics or ()):
        if statistic.kind in _STATISTICS:
            yield FieldError(pointer("statistics", index, "kind"), f"{statistic.kind} is not built yet")
    asked = {
        "person": spec.person is not None,
        "t": spec.t is not None,
        "alpha": spec.alpha is not None,
        "bounds": spec.bounds is Bounds.SNUG,
        "grid": bool(spec.grid),
        "minimum_width": bool(spec.minimum_width),
        "content": spec.content is not Content.BOUNDS,
        "suppress_at_most": "suppress_at_most" in spec.model_fields_set,
        "survey_weight": spec.survey_weight is not None,
        "missing": spec.missing is MissingCells.PATTERN,
    }
    for field, is_asked in asked.items():
        if is_asked:
            yield FieldError(pointer(field), f"`{field}` with this value is not built yet")
