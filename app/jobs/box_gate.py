"""What the specification of `boxes` can say before it can be done: refused by name, never ignored."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.contracts.box_columns import ColumnKind
from app.contracts.box_statistics import ABOUT_VALUES, StatisticKind
from app.contracts.boxes import Bounds, BoxesSpec, Content, MissingValues, RareRecords, ReleasedWeights
from app.errors import FieldError, pointer

#: Fields that have one value only until what they are for is there: field -> the value that is.
_ONLY: Final[Mapping[str, Any]] = {"weights": ReleasedWeights.BOX}


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


def wrong_content(spec: BoxesSpec, kinds: Mapping[str, ColumnKind]) -> Iterator[FieldError]:
    """Means that boxes cannot have, or that would say single values."""
    if spec.content is Content.BOUNDS:
        return
    if not any(kind in _AVERAGED for kind in kinds.values()):
        yield FieldError("/content", "`columns` has no numbers and no days: there is nothing to have means of")
    if spec.survey_weight is not None:
        yield FieldError("/content", "means inside boxes are of records that count alike: no `survey_weight` with them")
    if spec.rare_records is not RareRecords.KEEP:
        yield FieldError("/content", "means inside boxes are those of all records: `rare_records` is `keep` with them")
    whole = [name for name, kind in kinds.items() if kind in _AVERAGED[1:] or name in spec.grid]
    if spec.content is Content.MEANS and spec.bounds is not Bounds.CELLS and whole:
        detail = (
            f"exact means of {whole[0]!r}, which has whole numbers or a grid, tell single values within "
            f"{spec.bounds} bounds: ask bounds `cells`, or `rounded_means`"
        )
        yield FieldError("/content", detail)


#: Kinds of columns whose boxes have means; those after the first have whole numbers.
_AVERAGED: Final = (ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.DATE)
