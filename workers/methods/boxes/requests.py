"""A specification and its records as the algorithm's request, and what the algorithm refuses in the user's words."""

from collections.abc import Mapping
from typing import Final

from app.contracts.columns import ColumnKind
from app.errors import InfeasibleError, InvalidError, SureboxError, pointer
from app.methods.boxes.spec import BoxesMissingPolicy, BoxesSpec, PartitionMethod, RareRecords, ReleasedWeights
from app.methods.columns import k_too_large
from surebox_core.errors import InvalidColumnError, UndefinedStatisticError
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.checks import rare_fault
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.partition import Method
from workers.algorithms.boxes.rare.rarity import RareRecords as Rare
from workers.algorithms.boxes.state import BoxesRequest, BoxesState
from workers.algorithms.core.errors import (
    InfeasibleAlphaError,
    InfeasibleDiversityError,
    InfeasibleKError,
    SuppressionError,
)
from workers.frames.records import invalid_column, within_domains
from workers.methods.boxes.canonical_order import CanonicalOrder
from workers.methods.boxes.reading import BoxRecords, domain_of, numeric_kinds

_PARTITIONS: dict[PartitionMethod, Method] = {
    PartitionMethod.OPTIMAL: "optimal",
    PartitionMethod.FAST: "fast",
    PartitionMethod.MONDRIAN: "mondrian",
}
#: What the algorithm refuses: `refused` puts it into words.
REFUSALS: Final = (
    InfeasibleAlphaError,
    InfeasibleDiversityError,
    InfeasibleKError,
    InvalidColumnError,
    SuppressionError,
    UndefinedStatisticError,
)
_RARE: dict[RareRecords, Rare] = {
    RareRecords.KEEP: "keep",
    RareRecords.MARK: "mark",
    RareRecords.SUPPRESS: "suppress",
    RareRecords.WEIGH: "weigh",
}


def request(
    spec: BoxesSpec,
    records: BoxRecords,
    canonical: CanonicalOrder,
    kinds: Mapping[str, ColumnKind],
    held: BoxConstraints,
) -> BoxesRequest:
    """The request about the algorithm.

    Parameters
    ----------
    spec
        The specification.
    records
        The records.
    canonical, kinds
        The order of columns and statistics; what the columns are.
    held
        What a box must hold as well as k records.
    """
    order = canonical.order
    return BoxesRequest(
        k=spec.k,
        statistics=canonical.statistics_in_order,
        partition=_PARTITIONS[spec.partition],
        bounds=spec.bounds.value,
        domains=tuple(domain_of(spec, name) for name in order.numeric),
        confidence=spec.confidence,
        demands=held,
        rare_records=_RARE[spec.rare_records],
        keys=order.keys,
        unlisted_column_weight=spec.unlisted_column_weight,
        ddof=spec.ddof,
        columns=numeric_kinds(spec, order, kinds),
        nominal=records.nominal,
        patterns=spec.missing_policy is BoxesMissingPolicy.PATTERN,
        min_records_at_bound=spec.min_records_at_bound,
        max_suppressed_classes=spec.max_suppressed_classes,
        survey=records.survey,
        weights_apart=records.survey is not None and spec.released_weights is ReleasedWeights.ROW,
        objective=spec.objective.value,
        max_suppressed=spec.max_suppressed,
        box_means=spec.box_means.value,
        mean_interval_in_boxes=spec.mean_interval_in_boxes,
        p_percent=spec.p_percent,
        separation=tuple(spec.min_separation.get(name, 0.0) for name in order.numeric),
    )


def begin(records: BoxRecords, boxes_request: BoxesRequest, spec: BoxesSpec, canonical: CanonicalOrder) -> BoxesState:
    """The algorithm's first state.

    Raises
    ------
    InfeasibleError, InvalidError
        What follows from the records alone.
    """
    if (fault := rare_fault(boxes_request)) is not None:
        raise InvalidError.at("/rare_records", fault)
    within_domains(records.x, canonical.order.numeric, spec.domains)
    try:
        return anonymization.init(records.x, boxes_request)
    except REFUSALS as error:
        raise refused(error, spec, canonical) from None


def refused(error: ValueError, spec: BoxesSpec, canonical: CanonicalOrder) -> SureboxError:
    """What to state about one of `REFUSALS`."""
    match error:
        case InfeasibleKError() | SuppressionError():
            return left_out(error, spec)
        case UndefinedStatisticError():
            return undefined(error, spec, canonical)
        case InfeasibleAlphaError():
            share = f"one value of {spec.sensitive[error.column]!r} has a share of {error.least:.3g} of those with one"
            detail, where = f"alpha = {error.required:g} requested, {share}", "/alpha"
        case InfeasibleDiversityError():
            name = (*spec.sensitive, *spec.min_separation)[error.column]
            counted = f"{spec.min_separation[name]:g} apart" if error.column >= len(spec.sensitive) else "distinct"
            has = f"column {name!r} has {error.largest} values {counted}: that is the largest l"
            detail, where = f"l = {error.required} requested, {has}", "/l"
        case InvalidColumnError():
            return invalid_column(canonical.name(error.column), error.reason, spec.quasi_identifiers)
        case _:
            raise error
    return InfeasibleError.at(where, detail)


def left_out(error: InfeasibleKError | SuppressionError, spec: BoxesSpec) -> SureboxError:
    """What to state where too many records, or all, fit in no box."""
    if isinstance(error, InfeasibleKError):
        detail = k_too_large(error.required, f"{error.largest} {_counted(spec)}", error.largest)
        return InfeasibleError.at("/k", detail)
    kept, remedies = spec.k_counts_kept and spec.keep, ["take a smaller k"]
    if kept:
        remedies.append(f"drop columns of `keep` ({', '.join(map(repr, spec.keep))})")
    if spec.missing_policy is BoxesMissingPolicy.PATTERN:
        remedies.append("drop columns that lack values")
    rare = "kept or missing values" if kept else "missing values"
    detail = (
        f"{error.records} of {error.of} records have {rare} too rare for any box, at most a share of "
        f"{error.allowed:g} may be left out: {', '.join(remedies)}, or raise `max_suppressed_classes`"
    )
    if spec.released_weights is ReleasedWeights.ROW:
        detail += "; `released_weights: box` publishes the mean weight of each box, which fits in any"
    return InfeasibleError.at("/keep" if kept else "/max_suppressed_classes", detail)


def undefined(error: UndefinedStatisticError, spec: BoxesSpec, canonical: CanonicalOrder) -> SureboxError:
    """What to state about a statistic that these records leave undefined."""
    index = canonical.statistics[error.index]
    names = ", ".join(map(repr, (spec.statistics or ())[index].of))
    reason = error.in_words(lambda column: repr(canonical.name(column)))
    detail = f"the {error.kind} of {names} is undefined: {reason}"
    return InfeasibleError.at(pointer("statistics", index), detail)


def _counted(spec: BoxesSpec) -> str:
    if spec.person_column is not None:
        return "persons"
    return "records in the rarest class of `keep`" if spec.k_counts_kept else "records"
