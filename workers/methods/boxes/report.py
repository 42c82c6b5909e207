"""What a box release and its job state in words and numbers: result, flags, parameters."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import SuppressedRecords
from app.contracts.flags import Flag, raised
from app.contracts.inputs import BASE, PREVIOUS
from app.methods.boxes.result import BoxesResult, Uncertainty
from app.methods.boxes.spec import BoxBounds, BoxesSpec, BoxMeans, RareRecords
from workers.algorithms.boxes.rare.rarity import Criterion
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import BoxesOutcome
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.exposure import SensitiveExposure, guessed, side_measures
from workers.methods.boxes.statistic_entries import statistics
from workers.methods.released.demanded import Demanded, verdict


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """Records of the dataset; those that took part; those that are published; least rows alike in kept columns.

    `rare` did not take part because of a rare value.
    """

    records: int
    complete: int
    released: int
    k_with_kept: int
    rare: int = 0


def result(
    shown: Shown,
    outcome: BoxesOutcome,
    *,
    counts: RecordCounts,
    exposure: SensitiveExposure,
    demands: Iterable[Demanded],
    values: Callable[[str], NDArray[np.generic]],
) -> dict[str, Any]:
    """The job's whole result, restricted fields included.

    Parameters
    ----------
    shown
        The columns.
    outcome
        The outcome, in the specification's order.
    counts
        Records.
    exposure
        What boxes show of sensitive columns.
    demands
        What was demanded, as measured.
    values
        Of a column, the released records' numbers or codes.
    """
    boxes = outcome.boxes
    measures = side_measures(shown, boxes)
    made = BoxesResult(
        **verdict("boxes", demands),
        records=counts.records,
        released=counts.released,
        suppressed=SuppressedRecords(
            missing=counts.records - counts.complete - counts.rare,
            rare=counts.complete - counts.released - outcome.suppressed,
            rare_class=outcome.suppressed + counts.rare,
        ),
        suppressed_cells=outcome.blanked,
        box_count=len(boxes.counts),
        smallest_box=int(boxes.counts.min()),
        largest_box=int(boxes.counts.max()),
        k_with_kept=counts.k_with_kept,
        uncertainty=Uncertainty(
            privacy=outcome.privacy_uncertainty,
            statistical=outcome.statistical_uncertainty,
            asymptotic=outcome.asymptotic_uncertainty,
        ),
        weight_cutoff=outcome.chosen.optimum,
        **measures,
        guessed=guessed(shown, boxes, values, measures["value_disclosure"]),
        share_certain=exposure.share_certain,
        share_nearly_certain=exposure.share_nearly_certain,
        t_closeness=exposure.t,
        **exposure.guesses,
        statistics=tuple(statistics(shown, outcome.certificates)),
    )
    return made.model_dump(mode="json")


#: Of a specification, what a release may state about how it was made.
_PUBLIC: Final = frozenset({
    "method", "quasi_identifiers", "nominal", "ordinal", "k", "person_column", "frequency_column",
    "frequencies_are_exact", "statistics", "unlisted_column_weight", "ddof", "domains", "bounds", "value_step",
    "min_records_at_bound", "min_width", "spikes", "rare_records", "objective", "max_suppressed", "confidence",
    "partition", "missing_policy", "box_means", "l", "t", "t_distance", "alpha", "min_separation", "sensitive", "keep",
    "k_counts_kept", "survey_weight_column", "released_weights",
})  # fmt: skip


def public_parameters(
    shown: Shown,
    criterion: Criterion | None,
    disclosed: Mapping[str, Mapping[str, float | None]],
    exposure: SensitiveExposure,
) -> dict[str, Any]:
    """What a release may state about how it was made; weights can be computed again from it and the boxes alone.

    Parameters
    ----------
    shown
        The columns, and the specification.
    criterion
        What boxes were judged by; published where they are weighed.
    disclosed
        What the released boxes give away of values, by column, so that a certificate tells it.
    exposure
        What boxes show of sensitive columns: of the published ones it is public.
    """
    spec = shown.spec
    means = () if spec.box_means is BoxMeans.NONE else ("mean_interval_in_boxes", "p_percent")
    parameters = spec.model_dump(mode="json", include={*_PUBLIC, *means})
    for name in (BASE, PREVIOUS):
        if (made_from := getattr(spec, name)) is not None:
            parameters[name] = made_from
    parameters["withheld"] = [name for name in spec.sensitive if name not in spec.keep]
    parameters["value_disclosure"] = dict(disclosed)
    parameters |= exposure.guesses_of(spec.keep)
    words = {name: book.merged_as for name, book in shown.books.items()}
    parameters["merged_as"] = {name: words[name] for name in shown.nominal if words[name] is not None}
    if criterion is not None and spec.rare_records is RareRecords.WEIGH:
        parameters["weighed_by"] = _weighed_by(spec, criterion)
    return parameters


def _weighed_by(spec: BoxesSpec, criterion: Criterion) -> dict[str, Any]:
    """What weights follow from, apart from the boxes; prices of shifts by statistic."""
    inputs: dict[str, Any] = {
        "mean": criterion.mean.tolist(),
        "deviation": criterion.deviation.tolist(),
        "correlation": criterion.correlation.tolist(),
        "uncertainty_of_one_record": criterion.statistical,
    }
    if criterion.prices is not None and criterion.owner is not None:
        of = range(len(spec.statistics or ()))
        inputs["prices"] = [criterion.prices[criterion.owner == index].tolist() for index in of]
    return inputs


def flags(shown: Shown, boxes: Boxes) -> list[Flag]:
    """What a reader of the release must know."""
    spec = shown.spec
    return raised(
        {
            Flag.TIGHT_BOUNDS: spec.bounds is BoxBounds.TIGHT,
            Flag.GRID_BOUNDS: spec.bounds is BoxBounds.GRID,
            Flag.OUTER_BOUNDS_FROM_DATA: spec.bounds is not BoxBounds.TIGHT and bool(boxes.outer_from_data.any()),
            Flag.CODEBOOK_FROM_DATA: any(book.from_data for book in shown.books.values()),
            Flag.RARE_RECORDS_SUPPRESSED: spec.rare_records is RareRecords.SUPPRESS,
            Flag.MEANS: spec.box_means is not BoxMeans.NONE,
            Flag.WEIGHED: spec.rare_records is RareRecords.WEIGH,
            Flag.SURVEY_WEIGHTS: spec.survey_weight_column is not None,
            Flag.KEPT_COLUMNS_NOT_COUNTED: bool(spec.keep) and not spec.k_counts_kept,
        }
    )
