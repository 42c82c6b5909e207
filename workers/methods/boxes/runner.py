"""Runner of `boxes`: columns in, k-anonymous boxes with their certificates out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.datasets import ColumnType
from app.contracts.jobs import JobProgress
from app.errors import FieldError, InfeasibleError, SureboxError
from app.methods.boxes.check import foreseen_boxes
from app.methods.boxes.spec import BoxesSpec, LeastWidths, kinds_of
from surebox_core.statistics import Statistic, all_moments
from surebox_core.types import IntArray
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.sides import NominalColumn
from workers.algorithms.boxes.state import BoxesRequest, BoxesState
from workers.frames.classes import shares_certain, smallest_class
from workers.frames.codes import Codes
from workers.frames.columns import take_rows
from workers.methods.boxes import beside, least_widths, series, versions
from workers.methods.boxes import report as boxes_report
from workers.methods.boxes import warnings as boxes_warnings
from workers.methods.boxes.canonical_order import CanonicalOrder, in_canonical_order, ordered
from workers.methods.boxes.columns import Shown, release_columns, release_types
from workers.methods.boxes.competition import competition
from workers.methods.boxes.constraints import demands
from workers.methods.boxes.demanded import demanded
from workers.methods.boxes.exposure import SensitiveExposure, exposure_of
from workers.methods.boxes.kept import kept_classes
from workers.methods.boxes.reading import BoxRecords, read, records
from workers.methods.boxes.requests import REFUSALS, begin, refused, request
from workers.methods.boxes.series import Later
from workers.methods.boxes.statistic_entries import public_statistics
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.drafts import release_draft

#: Share of the whole job that is spent before the algorithm and before the release is written.
_READ, _COMPUTED = 0.1, 0.8
#: Distances differ by rounding; a search that came out too far demands this share of `t` less, at least.
_ROUNDING, _LEAST_STEP = 1e-9, 0.1
#: A distance that no cut meets.
_UNCUT = -1.0
#: What specifications meant that were written before these fields.
_BEFORE = {"unlisted_column_weight": 0.0, "objective": "paper", "max_suppressed": 1.0, "least_widths": "none"}
_RECORDS: Final = 5000  # more than `optimal` sorts at a time
_MEAN: Final = (Statistic("mean", (0,)),)


@dataclass(frozen=True, slots=True)
class Anonymizing:
    """State of the work: the algorithm's state, and which records it works on."""

    shown: Shown
    total: int
    records: BoxRecords
    canonical: CanonicalOrder
    algorithm: BoxesState
    #: The t that is searched with: at most the one that every box is to have.
    closeness: float | None = None
    #: What the boxes state about sensitive columns, where `t` had to be measured before they were settled.
    sensitive: SensitiveExposure | None = None
    #: The work with its own least widths, where these leave one box or none, and why none.
    first: "Anonymizing | None" = None
    error: SureboxError | None = None
    #: The least widths that are tried instead, which of them now, and whether there are several boxes without any.
    ways: tuple[Mapping[str, float], ...] = ()
    way: int = 0
    has_several: bool = False


class BoxesRunner:
    """Reads the columns, advances the algorithm, writes the release."""

    def warm(self) -> None:
        """Run what jobs on numbers alone run, and what those on columns of all kinds do."""
        warm_numeric()
        warm_mixed()

    def keyed_by(self, job: JobContext) -> Sequence[str]:
        """Cuts, and the order of columns where they are alike, follow from the secrets of columns."""
        spec = _specification(job)
        if spec.base_release_id is not None or spec.previous_release_id is not None:
            return ()
        return (*spec.quasi_identifiers, *(() if spec.survey_weight_column is None else (spec.survey_weight_column,)))

    def init(self, job: JobContext) -> Anonymizing | Later:
        """Read the columns and leave out what the specification states; of a series, read the base alone.

        Raises
        ------
        InfeasibleError, InvalidError
            What follows from the records alone.
        """
        whole = _specification(job)
        job.tick(0.0, "read")
        try:
            return _beginning(job, beside.steering(whole))
        except SureboxError as error:
            raise beside.repointed(error, whole) from None

    def step(self, state: Anonymizing | Later, job: JobContext) -> Anonymizing | Later:
        """Advance the algorithm."""
        if isinstance(state, Later):
            return series.step(state)
        try:
            following = anonymization.step(state.algorithm, rng=job.rng)
        except REFUSALS as error:
            said = beside.repointed(refused(error, state.shown.spec, state.canonical), _specification(job))
            return _without_refusal(state, job, said)
        following_state = replace(state, algorithm=following)
        if not anonymization.done(following):
            return following_state
        within = _within_t(following_state, job)
        return _in_several(within, job) if anonymization.done(within.algorithm) else within

    def done(self, state: Anonymizing | Later) -> bool:
        """Whether boxes and certificates are there."""
        if isinstance(state, Later):
            return state.certificates is not None
        return anonymization.done(state.algorithm)

    def progress(self, state: Anonymizing | Later) -> JobProgress:
        """Stage of the algorithm."""
        if isinstance(state, Later):
            return JobProgress(fraction=_COMPUTED * state.fraction, stage="ranges")
        stage, share = anonymization.progress(state.algorithm)
        return JobProgress(fraction=_READ + (_COMPUTED - _READ) * share, stage=stage)

    def finish(self, state: Anonymizing | Later, job: JobContext) -> Outcome:
        """Write the release, rows in random order, and the result."""
        job.tick(_COMPUTED, "release")
        outcome = series.finish(state, job) if isinstance(state, Later) else _finished(state, job)
        spec = _specification(job)
        whole = beside.with_all_statistics(outcome, job, spec)
        return replace(whole, warnings=[*whole.warnings, *foreseen_boxes(spec)])


def _beginning(job: JobContext, spec: BoxesSpec) -> Anonymizing | Later:
    """The first state, for the statistics that boxes are made narrow for."""
    if spec.base_release_id is not None:
        return series.begin(job, spec)
    if spec.previous_release_id is not None:
        return versions.begin(job, spec)
    types = _types(job)
    kinds, path = kinds_of(spec, types), job.dataset_path()
    order = ordered(spec, kinds, job.secrets)
    whole = read(path, spec, order, types)
    included = records(whole, spec, order, types)
    canonical = in_canonical_order(spec, order, included.books, types)
    shown = least_widths.with_widths(
        Shown(spec, kinds, types, included.books), included, canonical.order, _earlier_widths(job, spec)
    )
    algorithm = _begun(job, shown, included, canonical, spec.t)
    return Anonymizing(shown, len(whole.values), included, canonical, algorithm, spec.t)


def _earlier_widths(job: JobContext, spec: BoxesSpec) -> dict[str, float]:
    return job.earlier_widths() if spec.least_widths is LeastWidths.AUTO else {}


def _begun(
    job: JobContext, shown: Shown, included: BoxRecords, canonical: CanonicalOrder, closeness: float | None
) -> BoxesState:
    """The search from its beginning."""
    spec = shown.spec
    held = demands(job.dataset_path(), spec, included.rows, included.persons, shown.types)
    boxes_request = request(spec, included, canonical, shown.kinds, replace(held, t=closeness))
    return begin(included, boxes_request, spec, canonical)


def _within_t(state: Anonymizing, job: JobContext) -> Anonymizing:
    """Boxes whose values are as close as `t` demands, or the beginning of a search that demands more.

    The search counts the outermost sensitive values as one; a distance between values as they are can be larger, also
    where the search demands a distance of 0. The last search cuts nothing.

    Raises
    ------
    InfeasibleError
        Not even what no cut divides is close enough: all records of one weight, where rows have their own.
    """
    spec = state.shown.spec
    if spec.t is None or state.closeness is None:
        return state
    outcome = anonymization.result(state.algorithm)
    rows = state.records.rows if outcome.chosen.rows is None else state.records.rows[outcome.chosen.rows]
    sensitive = exposure_of(job.dataset_path(), state.shown, rows, outcome.boxes.box)
    excess = max(sensitive.t.values(), default=0.0) - spec.t
    if excess <= _ROUNDING:
        return replace(state, sensitive=sensitive)
    if state.closeness < 0.0:
        detail = f"t = {spec.t:g} was requested; no search found boxes so close; the closest have {spec.t + excess:.3g}"
        raise InfeasibleError(detail, errors=[FieldError("/t", detail)])
    closeness = _UNCUT
    if state.closeness > 0.0:
        closeness = max(0.0, state.closeness - max(excess, _LEAST_STEP * spec.t))
    algorithm = _begun(job, state.shown, state.records, state.canonical, closeness)
    return replace(state, algorithm=algorithm, closeness=closeness)


def _in_several(state: Anonymizing, job: JobContext) -> Anonymizing:
    """Boxes, or the beginning of a search with lower least widths where no two boxes have these.

    A search without any comes first: where that makes one box too, or is refused too, nothing is lowered.
    """
    several = len(anonymization.result(state.algorithm).boxes.counts) > 1
    if state.first is None:
        return state if several else _lowered(state, job, None)
    if state.way == 0:
        if several or state.error is not None:
            return _with_way(replace(state, has_several=several), 1, job)
        return state.first
    return state if several or not state.has_several else _with_way(state, state.way + 1, job)


def _without_refusal(state: Anonymizing, job: JobContext, error: SureboxError) -> Anonymizing:
    """The beginning of a search with lower least widths; the refusal where they are not the reason of it."""
    if state.first is None:
        lowered = _lowered(state, job, error)
        if lowered.first is None:
            raise error
        return lowered
    if state.way == 0:
        raise state.error or error
    return _with_way(state, state.way + 1, job)


def _lowered(state: Anonymizing, job: JobContext, error: SureboxError | None) -> Anonymizing:
    """The beginning of a search without least widths; as it stands where none may be lowered."""
    together = error is not None
    ways = least_widths.lowerings(state.shown, state.records, state.canonical.order, together=together)
    return _with_way(replace(state, first=state, error=error, ways=tuple(ways)), 0, job) if ways else state


def _with_way(state: Anonymizing, way: int, job: JobContext) -> Anonymizing:
    """The beginning of a search with other least widths."""
    first = state if state.first is None else state.first
    return replace(_anew(state, least_widths.lowered(first.shown, state.ways[way]), job), way=way)


def _anew(state: Anonymizing, shown: Shown, job: JobContext) -> Anonymizing:
    algorithm = _begun(job, shown, state.records, state.canonical, shown.spec.t)
    return replace(state, shown=shown, algorithm=algorithm, closeness=shown.spec.t, sensitive=None)


def _finished(state: Anonymizing, job: JobContext) -> Outcome:
    """What an anonymization leaves."""
    shown, spec = state.shown, state.shown.spec
    outcome = state.canonical.restored(anonymization.result(state.algorithm), spec)
    boxes, rows, persons = outcome.boxes, *_released(state, outcome.chosen.rows)
    order = job.rng.permutation(len(rows))
    kept, of_row = take_rows(job.dataset_path(), spec.keep, rows[order]), boxes.box[order]
    weights = boxes.survey if outcome.chosen.weights is None else outcome.chosen.weights
    columns = release_columns(shown, boxes, weights, of_row, outcome.chosen.core)
    job.tick(_COMPUTED + 0.05, "release")
    sensitive = state.sensitive or exposure_of(job.dataset_path(), shown, rows, boxes.box)
    held = demanded(spec, kept, of_row, sensitive, persons if persons is None else persons[order])
    counts = _counts(state, len(order), smallest_class(kept, of_row) if spec.keep else int(boxes.counts.min()))
    values = _values(state, outcome.chosen.rows)
    shown = least_widths.with_shares(shown, values, boxes.box)
    result = boxes_report.result(shown, outcome, counts=counts, exposure=sensitive, demands=held, values=values)
    certain = shares_certain(kept, of_row) if spec.keep else {}
    behind = {name: share for name, share in result["share_certain"].items() if name not in spec.keep}
    said = boxes_warnings.released(shown, boxes, result, certain, kept_classes(kept, of_row, spec))
    return Outcome(
        summary=result,
        result=result,
        warnings=[
            *said,
            *boxes_warnings.restricted(spec, result, behind, job.datasets["dataset_id"].columns),
            *boxes_warnings.rare_values(shown, state.records.rare, state.total),
            *(competition(shown, state.records, state.canonical.order) if job.is_advised else ()),
        ],
        release=release_draft(
            job,
            columns,
            kept,
            types=release_types(shown),
            formats=spec.formats,
            flags=boxes_report.flags(shown, boxes),
            warnings=boxes_warnings.unplaced(said),
            statistics=public_statistics(result),
            parameters=boxes_report.public_parameters(
                shown, outcome.chosen.criterion, result["value_disclosure"], sensitive
            ),
        ),
    )


def _released(state: Anonymizing, chosen: IntArray | None) -> tuple[NDArray[np.int64], Codes | None]:
    """Rows of the records that are released, and whose each is."""
    rows, persons = state.records.rows, state.records.persons
    if chosen is None:
        return rows, persons
    return rows[chosen], None if persons is None else persons[chosen]


def _values(state: Anonymizing, chosen: IntArray | None) -> Callable[[str], NDArray[np.generic]]:
    """The released records' numbers, or codes, of a column."""
    records, place = state.records, state.canonical.order.place

    def of(name: str) -> NDArray[np.generic]:
        at, numeric = place[name], records.x.shape[1]
        values = records.x[:, at] if at < numeric else records.nominal[at - numeric].codes
        return values if chosen is None else values[chosen]

    return of


def _counts(state: Anonymizing, released: int, least: int) -> boxes_report.RecordCounts:
    """Records, and how many of them are where."""
    return boxes_report.RecordCounts(
        records=state.total,
        complete=len(state.records.rows),
        released=released,
        k_with_kept=least,
        rare=state.records.rare,
    )


def _specification(job: JobContext) -> BoxesSpec:
    """The job's specification; the seed is next to it, never in it."""
    return BoxesSpec.model_validate({**_BEFORE, **job.spec, "seed": job.seed})


def _types(job: JobContext) -> dict[str, ColumnType]:
    return {} if job.dataset is None else {column.name: column.type for column in job.dataset.columns}


def warm_numeric() -> None:
    """Columns of numbers alone: every partition, both kinds of bounds, all kinds of statistics."""
    pair = (Statistic("covariance", (0, 1)), Statistic("regression", (0, 1)))
    free = BoxConstraints(1, codes=np.zeros((_RECORDS, 1), dtype=np.int32))
    _run(BoxesRequest(250, (*all_moments(3), *pair), "optimal", "cells"))
    _run(BoxesRequest(250, _MEAN, "fast", "tight"))
    _run(BoxesRequest(250, _MEAN, "mondrian", "cells", demands=free))  # without demands it runs what `fast` does


def warm_mixed() -> None:
    """A nominal column next to those of numbers."""
    codes = NominalColumn(np.arange(_RECORDS, dtype=np.int32) % 7, 7)
    statistics = (*_MEAN, Statistic("share", (3,)))
    _run(BoxesRequest(250, statistics, "optimal", "cells", nominal=(codes,), unlisted_column_weight=0.03))
    _run(BoxesRequest(250, statistics, "fast", "cells", nominal=(codes,), unlisted_column_weight=0.03))


def _run(request: BoxesRequest) -> None:
    rng = np.random.default_rng(0)
    state = anonymization.init(rng.normal(size=(_RECORDS, 3)), request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
