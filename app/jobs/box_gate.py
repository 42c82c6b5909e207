"""What the specification of `boxes` can say before it can be done: refused by name, never ignored."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.contracts.box_columns import ColumnKind
from app.contracts.box_statistics import ABOUT_VALUES, StatisticKind
from app.contracts.boxes import BoxesSpec, Content, MissingValues, RareRecords, ReleasedWeights
from app.errors import FieldError, pointer

#: Fields that have one value only until what they are for is there: field -> the value that is.
_ONLY: Final[Mapping[str, Any]] = {"content": Content.BOUNDS, "weights": ReleasedWeights.BOX}


def unfinished(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> Iterator[FieldError]:
    """What is asked for and not there yet."""
    for field, there in _ONLY.items():
        if getattr(spec, field) is not there:
            yield FieldError(pointer(field), f"`{field}` has the value `{there}` only: others are not built yet")
    if spec.rare_records is not RareRecords.KEEP and not _plain(spec, kinds):
        detail = (
            f"`rare_records: {spec.rare_records}` takes complete columns of numbers and their moments only, without "
            "`person`, `survey_weight`, `t`, `alpha`, `count_keep` or `minimum_width`: ask `keep`"
        )
        yield FieldError("/rare_records", detail)


def _plain(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> bool:
    """Whether rare records can be told: complete numeric columns, and statistics that are functions of moments."""
    asked = (spec.person, spec.survey_weight, spec.t, spec.alpha, spec.count_keep and spec.keep, spec.minimum_width)
    return (
        not any(asked)
        and spec.missing is not MissingValues.PATTERN
        and ColumnKind.NOMINAL not in kinds.values()
        and not any(one.kind in (*ABOUT_VALUES, StatisticKind.QUANTILE) for one in spec.statistics or ())
    )
