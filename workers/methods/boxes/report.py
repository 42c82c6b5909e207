"""What a box release and its job say in words and numbers: result, flags, parameters."""

from dataclasses import dataclass
from typing import Any

from app.contracts.box_results import BoxesResult
from app.contracts.boxes import Bounds, BoxesSpec, Content, RareRecords
from app.contracts.flags import Flag, raised
from workers.algorithms.boxes.rare.rarity import Criterion
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import BoxesOutcome
from workers.methods.boxes.certified import statistics
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.telling import Told, sides_told


@dataclass(frozen=True, slots=True)
class Counts:
    """Records of the dataset; those that took part; those that are published; least rows that agree in what is kept.

    `rare` did not take part because of a rare value.
    """

    records: int
    complete: int
    kept: int
    k_with_keep: int
    rare: int = 0


def result(shown: Shown, outcome: BoxesOutcome, *, counts: Counts, told: Told) -> dict[str, Any]:
    """The job's whole result, restricted fields included.

    Parameters
    ----------
    shown
        The columns.
    outcome
        What was made, in the specification's order.
    counts
        Records.
    told
        What boxes tell of sensitive columns.
    """
    boxes = outcome.boxes
    made = BoxesResult(
        records=counts.records,
        kept=counts.kept,
        dismissed=counts.complete - counts.kept - outcome.suppressed,
        suppressed=outcome.suppressed + counts.rare,
        blanked=outcome.blanked,
        dropped=counts.records - counts.complete - counts.rare,
        boxes=len(boxes.counts),
        smallest_box=int(boxes.counts.min()),
        largest_box=int(boxes.counts.max()),
        k_with_keep=counts.k_with_keep,
        privacy_uncertainty=outcome.privacy_uncertainty,
        asymptotic_uncertainty=outcome.asymptotic_uncertainty,
        statistical_uncertainty=outcome.statistical_uncertainty,
        **sides_told(shown, boxes),
        share_certain=told.share_certain,
        share_nearly_certain=told.share_nearly_certain,
        t=told.t,
        statistics=tuple(statistics(shown, outcome.certificates)),
    )
    return made.model_copy(update={"lambda_": outcome.chosen.optimum}).model_dump(mode="json", by_alias=True)


def public_parameters(spec: BoxesSpec, criterion: Criterion | None) -> dict[str, Any]:
    """What a release may say of how it was made; weights can be computed again from it and the boxes alone."""
    fields = {"method", "columns", "nominal", "ordinal", "k", "person", "statistics", "floor", "ddof", "domains"}
    fields |= {
        "bounds",
        "grid",
        "snug_records",
        "minimum_width",
        "rare_records",
        "objective",
        "dismiss_at_most",
        "confidence",
        "partition",
        "missing",
    }
    fields |= {"content", *(() if spec.content is Content.BOUNDS else ("mean_rounding", "p"))}
    fields |= {
        "l",
        "t",
        "t_distance",
        "alpha",
        "epsilon",
        "sensitive",
        "keep",
        "count_keep",
        "survey_weight",
        "weights",
    }
    found = spec.model_dump(mode="json", include=fields)
    for name in ("base_release_id", "previous_release_id"):
        if (made_from := getattr(spec, name)) is not None:
            found[name] = made_from
    if criterion is not None and spec.rare_records is RareRecords.WEIGH:
        found["weighed_by"] = _weighed_by(spec, criterion)
    return found


def _weighed_by(spec: BoxesSpec, criterion: Criterion) -> dict[str, Any]:
    """What weights follow from, beside the boxes; prices of shifts by statistic."""
    found: dict[str, Any] = {
        "mean": criterion.mean.tolist(),
        "deviation": criterion.deviation.tolist(),
        "correlation": criterion.correlation.tolist(),
        "uncertainty_of_one_record": criterion.statistical,
    }
    if criterion.prices is not None and criterion.owner is not None:
        of = range(len(spec.statistics or ()))
        found["prices"] = [criterion.prices[criterion.owner == index].tolist() for index in of]
    return found


def flags(shown: Shown, boxes: Boxes) -> list[Flag]:
    """What a reader of the release must know."""
    spec = shown.spec
    return raised(
        {
            Flag.TIGHT_BOUNDS: spec.bounds is Bounds.TIGHT,
            Flag.SNUG_BOUNDS: spec.bounds is Bounds.SNUG,
            Flag.OUTER_BOUNDS_FROM_DATA: spec.bounds is not Bounds.TIGHT and bool(boxes.outer_from_data.any()),
            Flag.CODEBOOK_FROM_DATA: any(book.from_data for book in shown.books.values()),
            Flag.RARE_RECORDS_DISMISSED: spec.rare_records is RareRecords.DISMISS,
            Flag.MEANS: spec.content is not Content.BOUNDS,
            Flag.WEIGHED: spec.rare_records is RareRecords.WEIGH,
            Flag.SURVEY_WEIGHTS: spec.survey_weight is not None,
            Flag.KEPT_COLUMNS_NOT_COUNTED: bool(spec.keep) and not spec.count_keep,
        }
    )
