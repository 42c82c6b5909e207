"""Runner of the audit `linkage`: a release and someone's knowledge in, the ranks of the true records out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.jobs import JobProgress
from app.methods.linkage.spec import EXHAUSTIVE, LinkageSpec
from app.methods.uncertain.spec import ScaleSharing
from surebox_core.errors import InvalidColumnError
from workers.algorithms.tables.locating import rehearse
from workers.algorithms.uncertain.calibration import calibration
from workers.algorithms.uncertain.calibration.state import Calibrated, UnreachableKError
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.linkage import attack as linkage
from workers.algorithms.uncertain.linkage.attack import Linkage, Matching
from workers.methods.context import JobContext
from workers.methods.linkage import report as linkage_report
from workers.methods.linkage.boxes import attack_boxes
from workers.methods.linkage.jointly import matched, of_boxes
from workers.methods.linkage.knowledge import Attacked, Knowledge, attacked
from workers.methods.linkage.several import attack_together
from workers.methods.outcome import Outcome
from workers.methods.uncertain.request import request

_READ = 0.05


@dataclass(frozen=True, slots=True)
class Attacking:
    """State of the work.

    `pending` are the attacks still to be made, by name; `working` is the one under way, or the calibration before it;
    `gone` marks the rows whose record was suppressed, while only suppressed records are counted.
    """

    records: int
    candidates: int
    k: float | NDArray[np.float64]
    threads: int = 1
    release: Attacked | None = None
    knowledge: Mapping[str, Knowledge] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    working: linkage.LinkageState | calibration.CalibrationState | None = None
    linkages: Mapping[str, Linkage] = field(default_factory=dict)
    gone: NDArray[np.bool_] | None = None
    best: Mapping[str, Any] | None = None
    releases: int = 1


class LinkageRunner:
    """Makes the attacks one after the other."""

    def warm(self) -> None:
        """Attack a few made-up rows and boxes."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(64, 2))
        densities = Densities("gaussian", x + 0.1, np.ones_like(x), None, np.ones(2))
        linkage.attack(linkage.init(densities, x, x, rng, matching=Matching(densities.scale, densities.scale)))
        rehearse()

    def init(self, job: JobContext) -> Attacking:
        """Read the release and what the adversary knows.

        Raises
        ------
        InvalidError
            What only the records could reveal.
        """
        job.tick(0.0, "read")
        if several := len(job.specification(LinkageSpec).release_ids):
            made = attack_together(job)
            return Attacking(
                made.records, made.candidates, made.k, linkages=made.linkages, best=made.best, releases=several
            )
        released = job.releases["release_id"]
        if released.method == "boxes":
            attacks, candidates = attack_boxes(job, job.rng)
            return Attacking(released.rows, candidates, float(released.made.k or 1.0), linkages=attacks)
        release, whole = attacked(job)
        knowledge = {"": whole, "_90": whole.part(job.rng)}
        matchable = release.spec is not None and whole.k is not None
        names = ("fit", "fit_90", "matched", "matched_90") if matchable else ("fit", "fit_90")
        return Attacking(
            released.rows,
            len(whole.values),
            release.k,
            threads=job.threads,
            release=release,
            knowledge=knowledge,
            pending=tuple(name for name in names if _rows(name, knowledge[_known(name)])),
        )

    def step(self, state: Attacking, job: JobContext) -> Attacking:
        """Advance the attack under way, or begin the next."""
        name, working = state.pending[0], state.working
        if working is None:
            return _begun(state, name, job.rng)
        if isinstance(working, linkage.LinkageState):
            following = linkage.step(working)
            if not linkage.done(following):
                return replace(state, working=following)
            return _finished(state, name, linkage.result(following))
        return _calibrated(state, name, working, job.rng)

    def done(self, state: Attacking) -> bool:
        """Whether all attacks are made."""
        return not state.pending

    def progress(self, state: Attacking) -> JobProgress:
        """Attacks made."""
        made = len(state.linkages)
        part = linkage.progress(state.working) if isinstance(state.working, linkage.LinkageState) else 0.0
        share = (made + part) / max(made + len(state.pending), 1)
        return JobProgress(fraction=_READ + (1.0 - _READ) * share, stage="attack")

    def finish(self, state: Attacking, job: JobContext) -> Outcome:
        """Match all rows at once and report; an audit has no release."""
        spec = job.specification(LinkageSpec)
        original = all(one.dataset_id == spec.knowledge_dataset_id for one in job.releases.values())
        best: Mapping[str, Any]
        if state.best is not None:
            best = state.best
        elif state.release is None:
            best = of_boxes(state.linkages["fit"], original=original)
        else:
            best = matched(job, state.release, state.knowledge[""], state.linkages["fit"])
        result = linkage_report.result(
            state.linkages,
            records=state.records,
            candidates=state.candidates,
            k=state.k,
            posterior=state.release is None or state.release.spec is not None,
            best={**best, "release_count": state.releases},
            require=spec.require,
            original=original,
        )
        return Outcome(summary=result, result=result)


def _known(name: str) -> str:
    return "_90" if name.endswith("_90") else ""


def _rows(name: str, knowledge: Knowledge) -> bool:
    """Whether there is a row to try: the weaker adversary is tried on those whose record they know."""
    return bool(len(knowledge.values)) and (not _known(name) or bool((knowledge.of_row >= 0).any()))


def _begun(state: Attacking, name: str, rng: np.random.Generator) -> Attacking:
    """The attack itself, or first the scales that the adversary computes again."""
    release, knowledge = _release(state), state.knowledge[_known(name)]
    if name.startswith("fit"):
        return replace(state, working=_attack(state, name, knowledge, None, rng))
    if knowledge.original and _common(release):
        released = np.zeros(len(knowledge.values), dtype=np.bool_)
        released[knowledge.of_row] = True
        return _without(state, name, knowledge, np.flatnonzero(~released), rng)
    if knowledge.original:  # they compute what the release computed: the published scales of the released records
        row = np.arange(len(release.truth))
        own = replace(knowledge, values=release.truth, of_row=row)
        matching = Matching(release.densities.scale, release.densities.scale)
        return replace(state, working=_attack(state, name, own, matching, rng))
    if release.spec is None or knowledge.k is None:
        msg = "scales are matched of densities only"
        raise ValueError(msg)
    try:
        calibration_request = request(release.spec, knowledge.values, knowledge.k, threads=state.threads)
        return replace(state, working=calibration.init(knowledge.values, calibration_request))
    except InvalidColumnError:
        return replace(state, working=None, pending=state.pending[1:])


def _calibrated(
    state: Attacking, name: str, working: calibration.CalibrationState, rng: np.random.Generator
) -> Attacking:
    """Go on with the scales that the adversary computes; without them this attack is left out."""
    try:
        following = calibration.step(working)
    except (UnreachableKError, InvalidColumnError):
        return replace(state, working=None, pending=state.pending[1:])
    if not calibration.done(following):
        return replace(state, working=following)
    knowledge = state.knowledge[_known(name)]
    made = calibration.result(following)
    if _common(_release(state)):
        return _without(state, name, knowledge, np.delete(np.arange(len(knowledge.values)), made.rows), rng)
    own, matching = _recomputed(_release(state), knowledge, made)
    return replace(state, working=_attack(state, name, own, matching, rng))


def _common(release: Attacked) -> bool:
    """Whether scales show no more than which records were suppressed."""
    return release.spec is not None and release.spec.scales is ScaleSharing.COMMON


def _without(
    state: Attacking, name: str, knowledge: Knowledge, suppressed: NDArray[np.int64], rng: np.random.Generator
) -> Attacking:
    """One scale for all: suppressed records are no candidates, so only these are counted again."""
    fit = state.linkages[_fit(name)]
    if not len(suppressed):
        return _ended(state, name, fit)
    release = _release(state)
    working = linkage.init(
        release.densities,
        release.truth,
        knowledge.values[suppressed],
        rng,
        included=np.zeros(len(release.truth), dtype=np.bool_),
        rows=fit.rows,
        threads=state.threads,
    )
    gone = np.isin(knowledge.of_row, suppressed)
    return replace(state, working=working, gone=gone)


def _finished(state: Attacking, name: str, made: Linkage) -> Attacking:
    """An attack is over; where it counted only suppressed records, the attack by fit loses these."""
    if state.gone is None:
        return _ended(state, name, made)
    fit = state.linkages[_fit(name)]
    own = state.gone[fit.rows]  # the true record itself was suppressed: it would be among the others if it were known
    rank = fit.rank - (made.rank - 1.0) + own
    weight = 1.0 / fit.posterior - (1.0 / made.posterior - 1.0) + own
    return _ended(state, name, replace(fit, rank=rank, posterior=1.0 / np.maximum(weight, 1.0)))


def _ended(state: Attacking, name: str, made: Linkage) -> Attacking:
    return replace(state, working=None, gone=None, pending=state.pending[1:], linkages={**state.linkages, name: made})


def _fit(name: str) -> str:
    return f"fit{_known(name)}"


def _recomputed(release: Attacked, knowledge: Knowledge, made: Calibrated) -> tuple[Knowledge, Matching]:
    """Candidates with their scales.

    A record that this calibration suppresses is no candidate; its row counts as one whose scale the adversary finds.
    """
    place = np.full(len(knowledge.values) + 1, -1, dtype=np.int64)
    place[made.rows] = np.arange(len(made.rows))
    of_row = place[knowledge.of_row]
    scale = np.where((of_row >= 0)[:, None], made.scale[of_row], release.densities.scale)
    return replace(knowledge, values=knowledge.values[made.rows], of_row=of_row), Matching(made.scale, scale)


def _attack(
    state: Attacking, name: str, candidates: Knowledge, matching: Matching | None, rng: np.random.Generator
) -> linkage.LinkageState:
    release = _release(state)
    of_row = state.knowledge[_known(name)].of_row
    return linkage.init(
        release.densities,
        release.truth,
        candidates.values,
        rng,
        included=candidates.of_row >= 0,
        rows=np.flatnonzero(of_row >= 0) if _known(name) else None,
        matching=matching,
        most=EXHAUSTIVE,
        threads=state.threads,
        posteriors=release.spec is not None,
    )


def _release(state: Attacking) -> Attacked:
    if state.release is None:
        msg = "boxes are attacked at once"
        raise ValueError(msg)
    return state.release
