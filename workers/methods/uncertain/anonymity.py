"""What an uncertain release's job states about anonymity beyond k: with kept columns, and after further draws."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.methods.uncertain.spec import Anonymity, ScaleSharing, UncertainSpec
from workers.algorithms.uncertain.calibration.expected import Anonymity as Evaluated
from workers.algorithms.uncertain.calibration.expected import anonymity
from workers.algorithms.uncertain.calibration.state import Calibrated
from workers.frames.classes import classes
from workers.frames.columns import take_rows
from workers.frames.records import CompleteRecords
from workers.methods.context import JobContext
from workers.methods.released.demanded import Demanded

#: Records that are evaluated of one set of candidates; of more, an even sample.
_MOST = 2_000
#: Sets of candidates that are evaluated; of more, an even sample.
_MOST_CLASSES = 5_000
_TOLERANCE = 1e-3
_FRACTION = 0.95


def expected(calibrated: Calibrated) -> Anonymity:
    """Expected anonymity of the released records."""
    figures = calibrated.expected
    return Anonymity(min=figures.least, mean=figures.mean, max=figures.largest, evaluated=figures.evaluated)


def demanded(k: float | NDArray[np.float64], calibrated: Calibrated) -> list[Demanded]:
    """Anonymity of the released records, and the k that they must have.

    Parameters
    ----------
    k : one for all, or of each complete record; these are cells, of which only a share is stated.
    calibrated : the densities.
    """
    own = calibrated.anonymity
    if np.ndim(k) == 0:
        return [Demanded("expected anonymity of a record", float(k), float(own.min()))]
    shares = own / np.asarray(k)[calibrated.rows]
    return [Demanded("expected anonymity of a record, as a share of its own k", 1.0, float(shares.min()))]


def with_kept(
    job: JobContext, spec: UncertainSpec, records: CompleteRecords, calibrated: Calibrated
) -> Anonymity | None:
    """Expected anonymity among the released records that agree in the kept columns; None where none are kept.

    Parameters
    ----------
    job : receives how far it is; where the records' kept columns are read.
    spec : the request.
    records, calibrated : the records and their densities.
    """
    if not spec.keep:
        return None
    codes = classes(take_rows(job.dataset_path(), spec.keep, records.rows[calibrated.rows])).astype(np.int64)
    matched = _matched(spec, calibrated)
    members = _by_class(codes * (int(matched.max()) + 1) + matched)
    alone = [np.ones(sum(len(one) == 1 for one in members))]
    several = [one for one in members if len(one) > 1]
    step = max(1, -(-len(several) // _MOST_CLASSES))
    return _summary(alone + [_among(job, records, calibrated, members=one).least for one in several[::step]])


def after_draws(
    job: JobContext, spec: UncertainSpec, records: CompleteRecords, calibrated: Calibrated
) -> Anonymity | None:
    """Expected anonymity when all draws of these data are known, had all of them these scales; None at the first.

    Notes
    -----
    Gaussian: the mean of m draws is one draw with scale / sqrt(m), exactly. Uniform: a record stays possible where it
    is in all m cubes, with probability prod (1 - |w|/a)^m >= prod max(1 - m |w|/a, 0): as in one cube of side a/m.
    """
    if job.draw == 1:
        return None
    members = _by_class(_matched(spec, calibrated))
    if calibrated.model == "uniform":
        calibrated = replace(calibrated, scale=calibrated.scale / job.draw)
    draws = job.draw if calibrated.model == "gaussian" else 1
    return _summary([_among(job, records, calibrated, members=one, draws=draws).least for one in members])


def _matched(spec: UncertainSpec, calibrated: Calibrated) -> NDArray[np.int64]:
    """Who is still a candidate for whom after scales have been compared: those who share one, where scales are shared.

    Scales per record leave no one; the statement about such a release is the paper's count, among all.
    """
    if spec.scales in {ScaleSharing.COMMON, ScaleSharing.PER_RECORD}:
        return np.zeros(len(calibrated.rows), dtype=np.int64)
    shape = calibrated.scale
    if calibrated.axes is not None:
        shape = np.hstack([shape, calibrated.axes.reshape(len(shape), -1)])
    return np.unique(shape, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _by_class(codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _among(
    job: JobContext, records: CompleteRecords, calibrated: Calibrated, *, members: NDArray[np.int64], draws: int = 1
) -> Evaluated:
    """Expected anonymity of some released records among themselves, of very many of a sample."""
    job.tick(_FRACTION, "anonymity")
    part = replace(
        calibrated,
        rows=calibrated.rows[members],
        scale=np.ascontiguousarray(calibrated.scale[members]),
        axes=None if calibrated.axes is None else np.ascontiguousarray(calibrated.axes[members]),
    )
    sample = np.unique(np.linspace(0, len(members) - 1, min(len(members), _MOST)).astype(np.int64))
    return anonymity(records.values, part, draws=draws, places=sample, tolerance=_TOLERANCE, threads=job.threads)


def _summary(parts: Sequence[NDArray[np.float64]]) -> Anonymity:
    values = np.concatenate(parts)
    return Anonymity(min=float(values.min()), mean=float(values.mean()), max=float(values.max()), evaluated=len(values))
