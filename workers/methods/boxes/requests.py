"""A specification and its records as the algorithm's request, and what the algorithm refuses in the user's words."""

from collections.abc import Mapping
from typing import Final

from app.contracts.box_columns import ColumnKind
from app.contracts.boxes import BoxesSpec, MissingValues, Partition, RareRecords, ReleasedWeights
from app.errors import InfeasibleError, InvalidError, SureboxError, pointer
from surebox_verify.core.errors import InvalidColumnError, UndefinedStatisticError
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.checks import rare_fault
from workers.algorithms.boxes.partition.diversity import BoxConstraints
from workers.algorithms.boxes.partition.partition import Method
from workers.algorithms.boxes.rare.rarity import RareRecords as Rare
from workers.algorithms.boxes.state import BoxesRequest, BoxesState
from workers.algorithms.core.errors import (
    InfeasibleAlphaError,
    InfeasibleDiversityError,
    InfeasibleKError,
    OutsideDomainError,
    SuppressionError,
)
from workers.methods.boxes.arranged import Arrangement
from workers.methods.boxes.reading import Records, domain_of, numeric_kinds

_PARTITIONS: dict[Partition, Method] = {
    Partition.OPTIMAL: "optimal",
    Partition.FAST: "fast",
    Partition.MONDRIAN: "mondrian",
}
#: What the algorithm refuses: `refused` puts it into words.
REFUSALS: Final = (
    InfeasibleAlphaError,
    InfeasibleDiversityError,
    InfeasibleKError,
    InvalidColumnError,
    OutsideDomainError,
    SuppressionError,
    UndefinedStatisticError,
)
_RARE: dict[RareRecords, Rare] = {
    RareRecords.KEEP: "keep",
    RareRecords.MARK: "mark",
    RareRecords.DISMISS: "dismiss",
    RareRecords.WEIGH: "weigh",
}


def request(
    spec: BoxesSpec,
    found: Records,
    arrangement: Arrangement,
    kinds: Mapping[str, ColumnKind],
    held: BoxConstraints,
) -> BoxesRequest:
    """What is asked of the algorithm.

    Parameters
    ----------
    spec
        What is asked of the service.
    found
        The records.
    arrangement, kinds
        The order of columns and statistics; what the columns are.
    held
        What a box must hold beside k records.
    """
    order = arrangement.order
    return BoxesRequest(
        k=spec.k,
        statistics=arrangement.asked,
        partition=_PARTITIONS[spec.partition],
        bounds=spec.bounds.value,
        domains=tuple(domain_of(spec, name) for name in order.numeric),
        confidence=spec.confidence,
        demands=held,
        rare_records=_RARE[spec.rare_records],
        keys=order.keys,
        floor=spec.floor,
        ddof=spec.ddof,
        columns=numeric_kinds(spec, order, kinds),
        nominal=found.nominal,
        patterns=spec.missing is MissingValues.PATTERN,
        snug_records=spec.snug_records,
        suppress_at_most=spec.suppress_at_most,
        survey=found.survey,
        weights_apart=found.survey is not None and spec.weights is ReleasedWeights.ROW,
        objective=spec.objective.value,
        dismiss_at_most=spec.dismiss_at_most,
        content=spec.content.value,
        mean_rounding=spec.mean_rounding,
        percentage=spec.p,
    )


def begin(found: Records, asked: BoxesRequest, spec: BoxesSpec, arrangement: Arrangement) -> BoxesState:
    """The algorithm's first state.

    Raises
    ------
    InfeasibleError, InvalidError
        What only the records could tell.
    """
    if (fault := rare_fault(asked)) is not None:
        raise InvalidError.at("/rare_records", fault)
    try:
        return anonymization.init(found.x, asked)
    except REFUSALS as error:
        raise refused(error, spec, arrangement) from None


def refused(error: ValueError, spec: BoxesSpec, arrangement: Arrangement) -> SureboxError:
    """What to say of one of `REFUSALS`."""
    match error:
        case InfeasibleKError() | SuppressionError():
            return left_out(error, spec)
        case UndefinedStatisticError():
            return undefined(error, spec, arrangement)
        case InfeasibleAlphaError():
            share = f"one value of {spec.sensitive[error.column]!r} has a share of {error.least:.3g} of all records"
            detail, where = f"alpha = {error.asked:g} asked, {share}", "/alpha"
        case InfeasibleDiversityError():
            name = (*spec.sensitive, *spec.epsilon)[error.column]
            counted = f"{spec.epsilon[name]:g} apart" if error.column >= len(spec.sensitive) else "distinct"
            has = f"column {name!r} has {error.largest} values {counted}: that is the largest l"
            detail, where = f"l = {error.asked} asked, {has}", "/l"
        case OutsideDomainError():
            name = arrangement.name(error.column)
            detail = f"{error.count} values of column {name!r} lie outside its domain"
            return InvalidError.at(pointer("domains", name), detail)
        case InvalidColumnError():
            name = arrangement.name(error.column)
            detail, where = f"column {name!r}: {error.reason}", pointer("columns", spec.columns.index(name))
            return InvalidError.at(where, detail)
        case _:
            raise error
    return InfeasibleError.at(where, detail)


def left_out(error: InfeasibleKError | SuppressionError, spec: BoxesSpec) -> SureboxError:
    """What to say where too many records, or all, fit in no box."""
    if isinstance(error, InfeasibleKError):
        detail = f"k = {error.asked} asked, {error.largest} {_counted(spec)}: the largest k is {error.largest}"
        return InfeasibleError.at("/k", detail)
    which = ", ".join(map(repr, spec.keep)) or "none"
    detail = (
        f"{error.records} of {error.of} records have kept or missing values too rare for any box, at most a share of "
        f"{error.allowed:g} may be left out: drop columns of `keep` ({which}), or raise `suppress_at_most`"
    )
    if spec.weights is ReleasedWeights.ROW:
        detail += "; `weights: box` publishes the mean weight of each box, which fits in any"
    return InfeasibleError.at("/keep", detail)


def undefined(error: UndefinedStatisticError, spec: BoxesSpec, arrangement: Arrangement) -> SureboxError:
    """What to say of a statistic that these records leave undefined."""
    index = arrangement.statistics[error.index]
    names = ", ".join(map(repr, (spec.statistics or ())[index].of))
    told = error.told(lambda column: repr(arrangement.name(column)))
    detail = f"the {error.kind} of {names} is undefined: {told}"
    return InfeasibleError.at(pointer("statistics", index), detail)


def _counted(spec: BoxesSpec) -> str:
    if spec.person is not None:
        return "persons"
    return "records in the rarest class of `keep`" if spec.count_keep else "records"
