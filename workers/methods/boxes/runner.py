"""Runner of `boxes`: columns in, k-anonymous boxes with their certificates out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.contracts.boxes import BoxesSpec
from app.contracts.datasets import ColumnType
from app.contracts.jobs import Progress
from app.errors import FieldError, InfeasibleError, SureboxError
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.state import BoxesState
from workers.frames.classes import shares_certain, smallest_class
from workers.frames.columns import take_rows
from workers.methods.boxes import beside, series, versions
from workers.methods.boxes import report as boxes_report
from workers.methods.boxes import warnings as boxes_warnings
from workers.methods.boxes.arranged import Arrangement, arranged, ordered
from workers.methods.boxes.certified import public_statistics
from workers.methods.boxes.columns import Shown, release_columns, release_types
from workers.methods.boxes.demands import demands
from workers.methods.boxes.kept import kept_classes
from workers.methods.boxes.reading import Records, kinds_of, read, records
from workers.methods.boxes.requests import REFUSALS, begin, refused, request
from workers.methods.boxes.series import Later
from workers.methods.boxes.telling import Told, told_of
from workers.methods.boxes.warming import warm_mixed, warm_numeric
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
_BEFORE = {"floor": 0.0, "objective": "paper", "dismiss_at_most": 1.0}


@dataclass(frozen=True, slots=True)
class Anonymizing:
    """Where the work stands: the algorithm's state, and which records it works on."""

    shown: Shown
    total: int
    records: Records
    arrangement: Arrangement
    algorithm: BoxesState
    #: The t that is searched with: at most the one that every box is to have.
    closeness: float | None = None
    #: What the boxes tell of sensitive columns, where it had to be known before they were settled.
    sensitive: Told | None = None


class BoxesRunner:
    """Reads the columns, advances the algorithm, writes the release."""

    def warmings(self) -> Sequence[Callable[[], None]]:
        """What jobs on columns of all kinds run, and what those on numbers alone run."""
        return warm_mixed, warm_numeric

    def keyed_by(self, job: JobContext) -> Sequence[str]:
        """Cuts, and the order of columns where they are alike, follow from the secrets of columns."""
        spec = _specification(job)
        if spec.base_release_id is not None or spec.previous_release_id is not None:
            return ()
        return (*spec.columns, *(() if spec.survey_weight is None else (spec.survey_weight,)))

    def init(self, job: JobContext) -> Anonymizing | Later:
        """Read the columns and leave out what the specification says; of a series, read the base alone.

        Raises
        ------
        InfeasibleError, InvalidError
            What only the records could tell.
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
            raise beside.repointed(refused(error, state.shown.spec, state.arrangement), _specification(job)) from None
        following_state = replace(state, algorithm=following)
        return _within_t(following_state, job) if anonymization.done(following) else following_state

    def done(self, state: Anonymizing | Later) -> bool:
        """Whether boxes and certificates are there."""
        if isinstance(state, Later):
            return state.certificates is not None
        return anonymization.done(state.algorithm)

    def progress(self, state: Anonymizing | Later) -> Progress:
        """Stage of the algorithm."""
        if isinstance(state, Later):
            return Progress(fraction=_COMPUTED * state.fraction, stage="ranges")
        stage, share = anonymization.progress(state.algorithm)
        return Progress(fraction=_READ + (_COMPUTED - _READ) * share, stage=stage)

    def finish(self, state: Anonymizing | Later, job: JobContext) -> Outcome:
        """Write the release, rows in random order, and the result."""
        job.tick(_COMPUTED, "release")
        outcome = series.finish(state, job) if isinstance(state, Later) else _finished(state, job)
        return beside.with_all_statistics(outcome, job, _specification(job))


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
    found = records(whole, spec, order, types)
    arrangement = arranged(spec, order, found.books, types)
    shown = Shown(spec, kinds, types, found.books)
    algorithm = _begun(job, shown, found, arrangement, spec.t)
    return Anonymizing(shown, len(whole.values), found, arrangement, algorithm, spec.t)


def _begun(
    job: JobContext, shown: Shown, found: Records, arrangement: Arrangement, closeness: float | None
) -> BoxesState:
    """The search from its beginning."""
    spec = shown.spec
    held = demands(job.dataset_path(), spec, found.rows, found.persons, shown.types)
    asked = request(spec, found, arrangement, shown.kinds, replace(held, closeness=closeness))
    return begin(found, asked, spec, arrangement)


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
    sensitive = told_of(job.dataset_path(), state.shown, rows, outcome.boxes.box)
    excess = max(sensitive.t.values(), default=0.0) - spec.t
    if excess <= _ROUNDING:
        return replace(state, sensitive=sensitive)
    if state.closeness < 0.0:
        detail = f"t = {spec.t:g} was asked, and no search found boxes so close; the closest have {spec.t + excess:.3g}"
        raise InfeasibleError(detail, errors=[FieldError("/t", detail)])
    closeness = _UNCUT
    if state.closeness > 0.0:
        closeness = max(0.0, state.closeness - max(excess, _LEAST_STEP * spec.t))
    algorithm = _begun(job, state.shown, state.records, state.arrangement, closeness)
    return replace(state, algorithm=algorithm, closeness=closeness)


def _finished(state: Anonymizing, job: JobContext) -> Outcome:
    """What an anonymization leaves."""
    shown, spec = state.shown, state.shown.spec
    outcome = state.arrangement.restored(anonymization.result(state.algorithm), spec)
    boxes, rows = outcome.boxes, state.records.rows
    if outcome.chosen.rows is not None:
        rows = rows[outcome.chosen.rows]
    order = job.rng.permutation(len(rows))
    kept, of_row = take_rows(job.dataset_path(), spec.keep, rows[order]), boxes.box[order]
    weights = boxes.survey if outcome.chosen.weights is None else outcome.chosen.weights
    columns = release_columns(shown, boxes, weights, of_row, outcome.chosen.core)
    job.tick(_COMPUTED + 0.05, "release")
    least = smallest_class(kept, of_row) if spec.keep else int(boxes.counts.min())
    sensitive = state.sensitive or told_of(job.dataset_path(), shown, rows, boxes.box)
    result = boxes_report.result(shown, outcome, counts=_counts(state, len(order), least), told=sensitive)
    certain = shares_certain(kept, of_row) if spec.keep else {}
    behind = {name: share for name, share in result["share_certain"].items() if name not in spec.keep}
    said = boxes_warnings.released(shown, boxes, result, certain, kept_classes(kept, of_row, spec))
    return Outcome(
        summary=result,
        result=result,
        warnings=[
            *said,
            *boxes_warnings.restricted(spec, result, behind),
            *boxes_warnings.rare_values(shown, state.records.rare, state.total),
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
            parameters=boxes_report.public_parameters(spec, outcome.chosen.criterion),
        ),
    )


def _counts(state: Anonymizing, kept: int, least: int) -> boxes_report.Counts:
    """Records, and how many of them are where."""
    return boxes_report.Counts(
        records=state.total,
        complete=len(state.records.rows),
        kept=kept,
        k_with_keep=least,
        rare=state.records.rare,
    )


def _specification(job: JobContext) -> BoxesSpec:
    """The job's specification; the seed stands beside it, never in it."""
    return BoxesSpec.model_validate({**_BEFORE, **job.spec, "seed": job.seed})


def _types(job: JobContext) -> dict[str, ColumnType]:
    return {} if job.dataset is None else {column.name: column.type for column in job.dataset.columns}
