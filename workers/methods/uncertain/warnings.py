"""What an uncertain release and its job warn of.

A release's warnings follow from the published data; a job's may state what only its keepers may know.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from app.contracts.warnings import JobWarning, WarningCode, warning
from app.methods.uncertain.spec import Anonymity, ScaleSharing, UncertainSpec
from surebox_core.types import FloatArray
from workers.algorithms.uncertain.calibration.state import Calibrated
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.linkage import attack as linkage
from workers.algorithms.uncertain.linkage.attack import Matching
from workers.methods.context import JobContext

#: Rows that are attacked.
_ROWS = 1_000
_TICK = 0.97
#: A release whose noise is so many times a column's own spread reveals little of the column.
_WIDE = 1.0
#: An anonymity of so many times k is more than was requested.
_MUCH = 50.0


def of_release(spec: UncertainSpec, densities: Densities) -> list[JobWarning]:
    """Warnings that anyone may read: functions of the published data."""
    return [*_zero_scales(densities), *_wide(spec, densities)]


def of_job(
    spec: UncertainSpec,
    calibrated: Calibrated,
    *,
    shares: tuple[float, float],
    anonymity: Anonymity,
    public: Sequence[JobWarning],
) -> list[JobWarning]:
    """Warnings for the data's keepers.

    Parameters
    ----------
    spec, calibrated : the specification, and the calibration.
    shares : of `attacked`.
    anonymity : expected one.
    public : the release's own.
    """
    return [_linkage(spec, shares), *public, *_few(calibrated), *_much(spec, anonymity)]


def attacked(
    job: JobContext,
    densities: Densities,
    truth: FloatArray,
    candidates: FloatArray,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Shares of rows whose record an adversary who knows all of them ranks first: by fit, and with scales compared.

    Parameters
    ----------
    job : receives how far it is.
    densities : the released data.
    truth : (M, n) the record of each row.
    candidates : (N, n) all complete records, suppressed ones among them.
    rng : draws the rows that are tried.

    Notes
    -----
    Whoever knows the original computes what the release computed: the candidates whose scales match a row's are the
    released records, each with its published scale.
    """
    matching = Matching(densities.scale, densities.scale)
    rows = np.sort(rng.choice(len(truth), min(len(truth), _ROWS), replace=False))
    shares = []
    for known, scales in ((candidates, None), (truth, matching)):
        job.tick(_TICK, "attack")
        state = linkage.init(densities, truth, known, rng, rows=rows, matching=scales, threads=job.threads)
        while not linkage.done(state):
            state = linkage.step(state)
            job.tick(_TICK, "attack")
        shares.append(float((linkage.result(state).rank == 1.0).mean()))
    return shares[0], shares[1]


def _linkage(spec: UncertainSpec, shares: tuple[float, float]) -> JobWarning:
    advice = {
        ScaleSharing.PER_RECORD: "scales of their own name records: use `levels` or `common`",
        ScaleSharing.COMMON: "`k` holds on average over the noise; a larger `k` lowers the share",
    }.get(spec.scales, "`k` holds on average over the noise; a larger `k`, or scales `common`, lower the shares")
    return warning(
        WarningCode.LINKAGE,
        f"An adversary who knows the whole original finds the true record of {shares[0]:.1%} of the rows at rank 1 by "
        f"fit alone, and of {shares[1]:.1%} when they also compare scales (at most {_ROWS} rows were tried). "
        f"{advice.capitalize()}. The audit `linkage` reveals more.",
        "/spec/scales",
    )


def _zero_scales(densities: Densities) -> Iterator[JobWarning]:
    still = (densities.scale == 0.0).all(axis=1)
    if still.any():
        yield warning(
            WarningCode.ZERO_SCALE,
            f"{still.mean():.1%} of the rows have no noise at all: their values are published as they are, because so "
            "many records are equal. `min_scale` forbids it.",
        )


def _wide(spec: UncertainSpec, densities: Densities) -> Iterator[JobWarning]:
    if densities.axes is not None:
        return
    noise = (densities.scale**2).mean(axis=0) * _variance(spec)
    spread = np.maximum(densities.z.var(axis=0) - noise, 0.0)
    names = [name for name, own, more in zip(spec.quasi_identifiers, spread, noise, strict=True) if more > _WIDE * own]
    if names:
        yield warning(
            WarningCode.WIDE_NOISE,
            f"The noise of {', '.join(map(repr, names))} is wider than the column's spread: its values show little. "
            "Fewer columns, a smaller `k`, or a `suppress_share` of rare records make it narrower.",
        )


def _variance(spec: UncertainSpec) -> float:
    return 1.0 if spec.density.value == "gaussian" else 1.0 / 12.0


def _few(calibrated: Calibrated) -> Iterator[JobWarning]:
    if calibrated.few:
        yield warning(
            WarningCode.SCALE_OF_FEW,
            "Fewer than k records determine the common scale, so it reveals how far out they are to anyone who knows "
            "the others. Let `suppress_share` leave them out, or use scales `levels`.",
            "/spec/suppress_share",
        )


def _much(spec: UncertainSpec, anonymity: Anonymity) -> Iterator[JobWarning]:
    if spec.k is not None and spec.k_column is None and anonymity.mean > _MUCH * spec.k:
        yield warning(
            WarningCode.MUCH_ANONYMITY,
            f"On average {anonymity.mean:.0f} records fit a row, k is {spec.k:g}: the rarest records set the noise of "
            "all others. Scales `levels`, or a larger `suppress_share`, spare it.",
            "/spec/scales",
        )
