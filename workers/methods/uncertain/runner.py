"""Runner of `uncertain`: columns in, densities that k records fit out."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.jobs import JobProgress
from app.contracts.statistics import StatisticBase
from app.contracts.warnings import JobWarning
from app.errors import InfeasibleError, InvalidError
from app.methods.columns import k_too_large
from app.methods.draws import refuse_repeat
from app.methods.uncertain.spec import SCALING_UNIT, EstimatedStatistic, UncertainSpec
from surebox_core.errors import InvalidColumnError
from workers.algorithms.uncertain.calibration import calibration
from workers.algorithms.uncertain.calibration.calibration import CalibrationState
from workers.algorithms.uncertain.calibration.drawing import draw
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest, UnreachableKError
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.density.estimates import estimates
from workers.frames.columns import take_rows
from workers.frames.records import CompleteRecords, complete_records, invalid_column, within_domains
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome, ReleaseDraft
from workers.methods.protocol import Arrays
from workers.methods.released.drafts import release_draft
from workers.methods.uncertain import report as uncertain_report
from workers.methods.uncertain import warnings as uncertain_warnings
from workers.methods.uncertain.anonymity import after_draws, demanded, expected, with_kept
from workers.methods.uncertain.request import request, wanted

#: Share of the whole job that is spent before the calibration and before the release is written.
_READ, _CALIBRATED = 0.05, 0.85


@dataclass(frozen=True, slots=True)
class Calibrating:
    """State of the work: the algorithm's state, and which records it works on."""

    spec: UncertainSpec
    records: CompleteRecords
    algorithm: CalibrationState


class UncertainRunner:
    """Reads the columns, calibrates every record's density, draws from it, writes the release."""

    #: Of what checkpoints contain.
    algorithm = 2

    def warm(self) -> None:
        """Calibrate a few made-up records in every way."""
        rng = np.random.default_rng(0)
        values = rng.normal(size=(64, 2))
        requests = (
            CalibrationRequest(k=3.0),
            CalibrationRequest(k=3.0, model="uniform"),
            CalibrationRequest(k=3.0, scales="levels"),
            CalibrationRequest(k=3.0, scales="levels", model="uniform"),
            CalibrationRequest(k=3.0, scales="shared", scaling="local"),
            CalibrationRequest(k=3.0, scales="per_record", scaling="rotated"),
        )
        for each in requests:
            draw(values, calibration.calibrate(values, each), rng)

    def init(self, job: JobContext) -> Calibrating:
        """Read the columns and leave out what the specification states.

        Raises
        ------
        InfeasibleError, InvalidError
            What only the records could reveal.
        """
        spec = _specification(job)
        refuse_repeat(job.draw - 1, allowed=bool(spec.accept_findings))
        job.tick(0.0, "read")
        records = complete_records(job.dataset_path(), spec.quasi_identifiers)
        within_domains(records.values, spec.quasi_identifiers, spec.domains)
        return Calibrating(spec, records, _begun(job, spec, records))

    def pack(self, state: Calibrating) -> Arrays:
        """What the calibration has found; the records are read again."""
        return calibration.pack(state.algorithm)

    def unpack(self, job: JobContext, arrays: Arrays) -> Calibrating:
        """Go on with a calibration."""
        spec = _specification(job)
        job.tick(0.0, "read")
        records = complete_records(job.dataset_path(), spec.quasi_identifiers)
        return Calibrating(spec, records, _begun(job, spec, records, arrays=arrays))

    def step(self, state: Calibrating, job: JobContext) -> Calibrating:  # noqa: ARG002 - nothing is drawn
        """Advance the calibration."""
        try:
            following = calibration.step(state.algorithm)
        except UnreachableKError as error:
            raise _infeasible(error, state.spec) from None
        except InvalidColumnError as error:
            raise _invalid(error, state.spec) from None
        return Calibrating(state.spec, state.records, following)

    def done(self, state: Calibrating) -> bool:
        """Whether every density is known."""
        return calibration.done(state.algorithm)

    def progress(self, state: Calibrating) -> JobProgress:
        """Stage of the calibration."""
        stage, share = calibration.progress(state.algorithm)
        return JobProgress(fraction=_READ + (_CALIBRATED - _READ) * share, stage=stage)

    def finish(self, state: Calibrating, job: JobContext) -> Outcome:
        """Draw, write the release, rows in random order, and the result."""
        spec, records, calibrated = state.spec, state.records, calibration.result(state.algorithm)
        job.tick(_CALIBRATED, "draw")
        drawn = draw(records.values, calibrated, job.rng)
        order = job.rng.permutation(len(calibrated.rows))
        densities = _densities(calibrated, drawn, order)
        link = records.rows[calibrated.rows[order]]
        job.tick(_CALIBRATED + 0.05, "release")
        anonymity = expected(calibrated)
        result = uncertain_report.result(
            spec,
            records,
            calibrated,
            demands=demanded(wanted(job.dataset_path(), spec, records), calibrated),
            expected=(anonymity, calibrated.certified_error),
            release_number=job.draw,
            with_kept=with_kept(job, spec, records, calibrated),
            all_releases=after_draws(job, spec, records, calibrated),
        )
        truth = np.ascontiguousarray(records.values[calibrated.rows[order]])
        shares = uncertain_warnings.attacked(job, densities, truth, records.values, job.rng)
        public = uncertain_warnings.of_release(spec, densities)
        warnings = uncertain_warnings.of_job(spec, calibrated, shares=shares, anonymity=anonymity, public=public)
        return Outcome(
            summary=result,
            result=result,
            warnings=warnings,
            release=_draft(spec, job, calibrated, densities, link=link, public=public),
        )


def _draft(
    spec: UncertainSpec,
    job: JobContext,
    calibrated: Calibrated,
    densities: Densities,
    *,
    link: NDArray[np.int64],
    public: Sequence[JobWarning],
) -> ReleaseDraft:
    """The published data; only the link is not."""
    columns = uncertain_report.release_columns(spec, densities)
    return release_draft(
        job,
        columns,
        take_rows(job.dataset_path(), spec.keep, link),
        types=dict.fromkeys(columns, "number"),
        formats=spec.formats,
        flags=uncertain_report.flags(spec, densities.scale, release_number=job.draw),
        statistics=public_estimates(spec.quasi_identifiers, densities),
        parameters=uncertain_report.public_parameters(spec, calibrated.unit, rows=len(link)),
        link=link,
        warnings=public,
        draw=job.draw,
    )


def _specification(job: JobContext) -> UncertainSpec:
    """The job's specification; the seed is next to it, never in it."""
    return job.specification(UncertainSpec)


def _begun(
    job: JobContext, spec: UncertainSpec, records: CompleteRecords, *, arrays: Arrays | None = None
) -> CalibrationState:
    """The first state of the calibration, or of one that goes on from a checkpoint.

    Raises
    ------
    InfeasibleError
        What the records do not admit.
    """
    if not len(records.rows):
        detail = "no record is complete: there is nothing to publish"
        raise InfeasibleError.at("/missing_policy", detail)
    k = wanted(job.dataset_path(), spec, records)
    try:
        calibration_request = request(spec, records.values, k, threads=job.threads)
        if arrays is not None:
            return calibration.unpack(records.values, calibration_request, arrays)
        return calibration.init(records.values, calibration_request)
    except InvalidColumnError as error:
        raise _invalid(error, spec) from None


def _invalid(error: InvalidColumnError, spec: UncertainSpec) -> InvalidError:
    return invalid_column(spec.quasi_identifiers[error.column], error.reason, spec.quasi_identifiers)


def _infeasible(error: UnreachableKError, spec: UncertainSpec) -> InfeasibleError:
    """What would be feasible; a k that is in a column is a cell of someone's, and is not reported."""
    where = {"shared": " in a cell: larger cells allow a larger k"}.get(spec.scales.value, "")
    had = f"{error.records} records{where}; no noise makes so many fit"
    if spec.k_column is None:
        return InfeasibleError.at("/k", k_too_large(error.required, had, error.largest))
    detail = f"the column has a larger k than can be had, {had}: the largest k is {error.largest}"
    return InfeasibleError.at("/k_column", detail)


def _densities(calibrated: Calibrated, drawn: NDArray[np.float64], order: NDArray[np.int64]) -> Densities:
    """The released data, in the order of the release."""
    return Densities(
        model=calibrated.model,
        z=np.ascontiguousarray(drawn[order]),
        scale=np.ascontiguousarray(calibrated.scale[order]),
        axes=None if calibrated.axes is None else np.ascontiguousarray(calibrated.axes[order]),
        unit=calibrated.unit,
    )


def public_estimates(columns: Sequence[str], densities: Densities) -> list[dict[str, Any]]:
    """Mean and variance of every column, covariance and correlation of every pair, and the columns' units.

    Parameters
    ----------
    columns : names of the columns.
    densities : the published data, and nothing else.
    """
    return [one.model_dump(mode="json") for one in _estimated(columns, densities)]


def _estimated(columns: Sequence[str], densities: Densities) -> Iterator[EstimatedStatistic]:
    moments, n = estimates(densities), len(densities.z)
    for i, name in enumerate(columns):
        yield _one("mean", (name,), moments.mean[i], moments.mean_error[i], n)
    for i, name in enumerate(columns):
        yield _one("variance", (name,), moments.covariance[i, i], moments.covariance_error[i, i], n)
    for i, j in combinations(range(len(columns)), 2):
        yield _one("covariance", (columns[i], columns[j]), moments.covariance[i, j], moments.covariance_error[i, j], n)
    for i, j in combinations(range(len(columns)), 2):
        both = moments.correlation[i, j], moments.correlation_error[i, j]
        yield _one("correlation", (columns[i], columns[j]), *both, n)
    for i, name in enumerate(columns):
        yield _one(SCALING_UNIT, (name,), densities.unit[i], math.nan, None)


def _one(kind: str, of: tuple[str, ...], estimate: float, error: float, n: int | None) -> EstimatedStatistic:
    """A number of the `n` records; None of one that is no statistic of them."""
    base = None if n is None else StatisticBase.RECORDS
    return EstimatedStatistic(
        kind=kind, of=of, estimate=_finite(estimate), standard_error=_finite(error), base=base, n=n
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
