"""Where the work on boxes is between two steps: one frozen class per stage."""

from dataclasses import dataclass
from typing import TypeAlias

from surebox_core.influence import Influences
from surebox_core.moments import Sums
from surebox_core.types import BoolArray, FloatArray, IntArray, SingleArray
from surebox_verify.estimates import Estimate
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.steps import RangeSteps
from surebox_verify.readings import Readings
from workers.algorithms.boxes.charges import ChargedRecords, Sides
from workers.algorithms.boxes.partition.admission import Admitted
from workers.algorithms.boxes.partition.partition import Partition, PartitionState
from workers.algorithms.boxes.rare.rarity import Criterion
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest, Certificate, Chosen
from workers.algorithms.boxes.sides import Boxes

__all__ = ["BoxesOutcome", "BoxesRequest", "Certificate", "Chosen"]  # what stages are about, besides these


@dataclass(frozen=True)
class Checked:
    """The request can be met as far as its wording reveals. `seen` are the records as what decides sees them."""

    x: FloatArray
    seen: FloatArray
    request: BoxesRequest


@dataclass(frozen=True)
class Averaging:
    """Moments are computed, of the records and of those that decide (`tempered`); the sums grow in place."""

    x: FloatArray
    seen: FloatArray
    tempered: FloatArray
    request: BoxesRequest
    sums: Sums
    deciding: Sums


@dataclass(frozen=True)
class Measuring:
    """Influences of records are computed, up to `row`; `worth` and `squares` grow in place.

    `deviation` is sigma on its rung, `field` what decides: derivatives at moments on rungs; `weighed` the same with
    the weights that cuts count. `true` are those at the
    records' own moments, of the statistics that these leave defined, with the same weights; restricted, as all that
    follows from it (`squares`, and `deviations` later on).
    """

    x: FloatArray
    seen: FloatArray
    request: BoxesRequest
    field: Influences
    weighed: Influences
    true: Influences
    scale: FloatArray
    deviation: FloatArray
    worth: SingleArray
    squares: FloatArray
    row: int


@dataclass(frozen=True)
class Cutting:
    """The partition is being made."""

    x: FloatArray
    seen: FloatArray
    request: BoxesRequest
    field: Influences
    true: Influences
    deviations: FloatArray
    cuts: PartitionState


@dataclass(frozen=True)
class Bounding:
    """The partition is made; bounds are not yet."""

    x: FloatArray
    seen: FloatArray
    request: BoxesRequest
    field: Influences
    true: Influences
    deviations: FloatArray
    partition: Partition


@dataclass(frozen=True)
class Choosing:
    """Boxes are judged, up to `box`; g and the sums of influences grow in place. `rows` as in `Chosen`.

    `judged` are the boxes with the bounds that the records as seen would give them; `middles` these as points, for the
    criterion, None once that is settled. `allowed` records may still go.
    """

    x: FloatArray
    seen: FloatArray
    request: BoxesRequest
    field: Influences
    true: Influences
    deviations: FloatArray
    boxes: Boxes
    judged: Boxes
    criterion: Criterion
    published: Influences | None
    g: FloatArray
    sums: FloatArray
    box: int
    rows: IntArray
    middles: Boxes | None
    allowed: float


def rows_of_derivatives(field: Influences, derivatives: int) -> int:
    """How many rows have so many derivatives."""
    return max(derivatives // (len(field.beta) + len(field.quadratic) + 4 * len(field.mean)), 1)


@dataclass(frozen=True)
class Anticipating:
    """The boxes to publish are there (x their records from here on); what the optimum would have been is not known."""

    x: FloatArray
    request: BoxesRequest
    true: Influences
    deviations: FloatArray
    boxes: Boxes
    chosen: Chosen


@dataclass(frozen=True)
class Comparing:
    """The uncertainty of the kept boxes is summed over their records up to `row`, `delta` in place."""

    x: FloatArray
    request: BoxesRequest
    true: Influences
    deviations: FloatArray
    boxes: Boxes
    chosen: Chosen
    asymptotic: float | None
    delta: FloatArray
    row: int


@dataclass(frozen=True)
class Certifying:
    """Guaranteed ranges are computed, statistic by statistic, in steps; `readings` keeps prepared columns.

    Where boxes are marked those of the core come after those of all, whose ranges are `found` meanwhile.
    """

    x: FloatArray
    request: BoxesRequest
    true: Influences
    deviations: FloatArray
    boxes: Boxes
    chosen: Chosen
    asymptotic: float | None
    delta: FloatArray
    readings: Readings
    core: Readings | None
    certificates: tuple[Certificate, ...]
    ranges: RangeSteps | None = None
    about_all: tuple[Range, ...] | None = None


@dataclass(frozen=True)
class AnonymizationFinished:
    """The outcome is there."""

    outcome: BoxesOutcome


@dataclass(frozen=True)
class Mixed:
    """Records of all kinds of columns that take part, and what their sides cost.

    Attributes
    ----------
    given : who takes part, with the rest of their values, as what decides sees these. Restricted, like all of it.
    x : (M, n), the same values as they are.
    request : with the nominal columns, demands and design weights of these records.
    records : the records as they are, with their own moments.
    field : derivatives of the statistics of moments there, of those that they leave defined, with the weights that
        decide; `owner` are places among all statistics.
    charges : what the other statistics cost; without `unlisted_column_weight`.
    deciding : derivatives of all statistics of moments at the moments that decide.
    seen_weights : (M,), design weights as what decides sees them; None for equal ones.
    """

    given: Admitted
    x: FloatArray
    request: BoxesRequest
    records: ChargedRecords
    field: Influences
    charges: Sides
    deciding: Influences
    seen_weights: FloatArray | None


@dataclass(frozen=True)
class MixedCutting:
    """The partition of columns of all kinds is being made."""

    mixed: Mixed
    cuts: PartitionState


@dataclass(frozen=True)
class MixedCertifying:
    """Boxes are there; ranges are computed statistic by statistic, in steps.

    `delta` is that of the statistics of moments at the true records; `readings` keeps prepared columns. Where boxes are
    `marked` the statement about their core comes after the statement about all, which is `found` meanwhile; where rare
    ones were requested to be left out `everyone` are the records before.
    """

    mixed: Mixed
    boxes: Boxes
    delta: FloatArray
    readings: Readings
    certificates: tuple[Certificate, ...]
    ranges: RangeSteps | None = None
    core: Readings | None = None
    marked: BoolArray | None = None
    everyone: Mixed | None = None
    estimates: tuple[Estimate, ...] | None = None


PlainState: TypeAlias = Averaging | Measuring | Cutting | Bounding | Choosing | Anticipating | Comparing | Certifying
BoxesState: TypeAlias = Checked | PlainState | MixedCutting | MixedCertifying | AnonymizationFinished
