"""A specification and its records as the algorithm's request, and what the algorithm refuses in the user's words."""

from collections.abc import Mapping

from app.contracts.box_columns import ColumnKind
from app.contracts.boxes import BoxesSpec, MissingValues, Partition, RareRecords
from app.errors import FieldError, InfeasibleError, InvalidError, SureboxError, pointer
from surebox_verify.core.errors import InvalidColumnError, UndefinedStatisticError
from workers.algorithms.boxes import anonymization
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
    if asked.rare_records != "keep" and not asked.plain:
        detail = "`rare_records` other than `keep` takes complete numbers of equal weight; no `person`, `t`, `alpha`"
        raise InvalidError(detail, errors=[FieldError("/rare_records", detail)])
    try:
        return anonymization.init(found.x, asked)
    except (InfeasibleKError, SuppressionError) as error:
        raise left_out(error, spec) from None
    except InfeasibleAlphaError as error:
        name = spec.sensitive[error.column]
        detail = f"alpha = {error.asked:g} asked, one value of {name!r} has a share of {error.least:.3g} of all records"
        raise InfeasibleError(detail, errors=[FieldError("/alpha", detail)]) from None
    except InfeasibleDiversityError as error:
        name = (*spec.sensitive, *spec.epsilon)[error.column]
        counted = f"{spec.epsilon[name]:g} apart" if error.column >= len(spec.sensitive) else "distinct"
        detail = f"l = {error.asked} asked, column {name!r} has {error.largest} values {counted}: that is the largest l"
        raise InfeasibleError(detail, errors=[FieldError("/l", detail)]) from None
    except UndefinedStatisticError as error:
        raise undefined(error, spec, arrangement) from None
    except OutsideDomainError as error:
        name = arrangement.name(error.column)
        detail = f"{error.count} values of column {name!r} lie outside its domain"
        raise InvalidError(detail, errors=[FieldError(pointer("domains", name), detail)]) from None
    except InvalidColumnError as error:
        name = arrangement.name(error.column)
        detail = f"column {name!r}: {error.reason}"
        where = pointer("columns", spec.columns.index(name))
        raise InvalidError(detail, errors=[FieldError(where, detail)]) from None


def left_out(error: InfeasibleKError | SuppressionError, spec: BoxesSpec) -> SureboxError:
    """What to say where too many records, or all, fit in no box."""
    if isinstance(error, InfeasibleKError):
        detail = f"k = {error.asked} asked, {error.largest} {_counted(spec)}: the largest k is {error.largest}"
        return InfeasibleError(detail, errors=[FieldError("/k", detail)])
    which = ", ".join(map(repr, spec.keep)) or "none"
    detail = (
        f"{error.records} of {error.of} records have kept or missing values too rare for any box, at most a share of "
        f"{error.allowed:g} may be left out: drop columns of `keep` ({which}), or raise `suppress_at_most`"
    )
    return InfeasibleError(detail, errors=[FieldError("/keep", detail)])


def undefined(error: UndefinedStatisticError, spec: BoxesSpec, arrangement: Arrangement) -> SureboxError:
    """What to say of a statistic that these records leave undefined."""
    index = arrangement.statistics[error.index]
    names = ", ".join(map(repr, (spec.statistics or ())[index].of))
    told = error.told(lambda column: repr(arrangement.name(column)))
    detail = f"the {error.kind} of {names} is undefined: {told}"
    return InfeasibleError(detail, errors=[FieldError(pointer("statistics", index), detail)])


def _counted(spec: BoxesSpec) -> str:
    if spec.person is not None:
        return "persons"
    return "records in the rarest class of `keep`" if spec.count_keep else "records"
