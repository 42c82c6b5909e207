"""What a box release and its job say in words and numbers: result, public statistics, flags, schema."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.contracts.boxes import (
    WITH_SAMPLE_FORM,
    Bounds,
    BoxesResult,
    BoxesSpec,
    RareRecords,
    RestrictedStatistic,
    StatisticResult,
)
from app.contracts.flags import Flag, raised
from app.contracts.inputs import DatasetInput
from surebox_verify.core.intervals import Interval
from workers.algorithms.boxes.rare.rarity import Criterion
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import BoxesOutcome, Certificate

#: What a release says of a statistic; everything else is restricted to the job's owner.
PUBLIC = tuple(StatisticResult.model_fields)


def result(
    spec: BoxesSpec, outcome: BoxesOutcome, *, records: int, complete: int, kept: int, k_with_keep: int
) -> dict[str, Any]:
    """The job's whole result, restricted fields included.

    Parameters
    ----------
    spec : what was asked.
    outcome : what was made.
    records, complete, kept : of the dataset; those that took part; those that are published.
    k_with_keep : least number of rows that agree in box and kept columns.
    """
    made = BoxesResult(
        records=records,
        kept=kept,
        dismissed=complete - kept,
        dropped=records - complete,
        boxes=len(outcome.boxes.counts),
        smallest_box=int(outcome.boxes.counts.min()),
        largest_box=int(outcome.boxes.counts.max()),
        k_with_keep=k_with_keep,
        privacy_uncertainty=outcome.privacy_uncertainty,
        asymptotic_uncertainty=outcome.asymptotic_uncertainty,
        statistical_uncertainty=outcome.statistical_uncertainty,
        statistics=tuple(_statistic(spec, index, one) for index, one in enumerate(outcome.certificates)),
    )
    return made.model_copy(update={"lambda_": outcome.chosen.optimum}).model_dump(mode="json", by_alias=True)


def _statistic(spec: BoxesSpec, index: int, certificate: Certificate) -> RestrictedStatistic:
    asked = (spec.statistics or ())[index]
    single = asked.kind != "regression"
    published = certificate.published

    def shape(values: Sequence[Any]) -> Any:
        return values[0] if single else tuple(values)

    gaps = [one.gap for one in published]
    return RestrictedStatistic(
        kind=asked.kind,
        of=asked.of,
        weight=1.0 if asked.weight is None else asked.weight,
        ddof=spec.ddof if asked.kind in WITH_SAMPLE_FORM else None,
        estimate=shape([one.estimate for one in published]),
        linear=shape([_pair(one.linear) for one in published]),
        guaranteed=shape([_pair(one.guaranteed) for one in published]),
        inner=shape([_pair(one.inner) for one in published]),
        exact=all(one.exact for one in published),
        gap=None if None in gaps else max(gap for gap in gaps if gap is not None),
        true_value=shape(certificate.true_value),
        shift=shape(certificate.shift),
        delta_at_records=shape(certificate.delta),
    )


def _pair(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.lower, interval.upper)


def public_statistics(whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The statistics without what is restricted."""
    return [{name: one[name] for name in PUBLIC} for one in whole["statistics"]]


def public_parameters(spec: BoxesSpec, criterion: Criterion | None) -> dict[str, Any]:
    """What a release may say of how it was made; weights can be computed again from it and the boxes alone."""
    fields = {"method", "columns", "k", "statistics", "domains", "bounds", "rare_records", "confidence", "partition"}
    fields |= {"ddof", "floor", "l", "epsilon", "sensitive", "keep", "count_keep"}
    found = spec.model_dump(mode="json", include=fields)
    if criterion is not None and spec.rare_records is RareRecords.WEIGH:
        found["weighed_by"] = {
            "mean": criterion.mean.tolist(),
            "deviation": criterion.deviation.tolist(),
            "correlation": criterion.correlation.tolist(),
            "uncertainty_of_one_record": criterion.statistical,
        }
    return found


def flags(spec: BoxesSpec, boxes: Boxes) -> list[Flag]:
    """What a reader of the release must know."""
    return raised(
        {
            Flag.TIGHT_BOUNDS: spec.bounds is Bounds.TIGHT,
            Flag.OUTER_BOUNDS_FROM_DATA: spec.bounds is Bounds.CELLS and bool(boxes.outer_from_data.any()),
            Flag.RARE_RECORDS_DISMISSED: spec.rare_records is RareRecords.DISMISS,
            Flag.WEIGHED: spec.rare_records is RareRecords.WEIGH,
            Flag.KEPT_COLUMNS_NOT_COUNTED: bool(spec.keep) and not spec.count_keep,
        }
    )


def release_schema(spec: BoxesSpec, dataset: DatasetInput | None) -> list[dict[str, str]]:
    """Names and types of the release's columns."""
    types = {} if dataset is None else {column.name: str(column.type) for column in dataset.columns}
    ends = [{"name": f"{name}_{end}", "type": "number"} for name in spec.columns for end in ("lo", "hi")]
    weight = [{"name": "weight", "type": "number"}] if spec.rare_records is RareRecords.WEIGH else []
    return [
        {"name": "box", "type": "integer"},
        *ends,
        *weight,
        *({"name": name, "type": types[name]} for name in spec.keep),
    ]
