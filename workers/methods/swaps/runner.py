"""Runner of `swaps`: a group's outlier regions masked, the attack run again, a file released."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from app.contracts.groups import GroupSpec, SignalKind
from app.contracts.jobs import Progress
from app.contracts.rule_models import Model, group_spec, model_of
from app.contracts.swaps import SwapsSpec
from app.errors import FieldError, InfeasibleError
from surebox_verify.core.types import BoolArray, FloatArray
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.signals import members
from workers.algorithms.groups.swaps.problem import Problem, shuffled
from workers.methods.context import JobContext
from workers.methods.microfile.attack import Places, attack, check_auxiliary, no_records, vital_of
from workers.methods.microfile.microfile import Microfile, Wanted, fuzzified, read
from workers.methods.microfile.rule_search import Search, search_for
from workers.methods.outcome import Outcome
from workers.methods.protocol import Arrays
from workers.methods.swaps import report as swaps_report
from workers.methods.swaps.mask import Masking, masking, problem_of
from workers.methods.swaps.release import Exchange, exchanged_codes
from workers.methods.swaps.report import Swapped, View
from workers.methods.swaps.search import SwapSearch, reordered, swap_search, warm_swaps

#: Shares of the whole job: read, swaps found, rules learned, attacked again.
_READ, _SWAPPED, _LEARNED, _WRITTEN = 0.05, 0.6, 0.85, 0.95


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same while the job runs.

    Attributes
    ----------
    microfile, seen : in-range records, and as rules see them.
    membership : (N,), by the model's rules.
    learned : the specification of the job that the model comes from.
    auxiliary : what rules are learned from anew, and who is the group's there.
    """

    spec: SwapsSpec
    model: Model
    alpha: float
    rules: Rules
    microfile: Microfile
    seen: Fuzzified
    membership: FloatArray
    asked: Masking
    problem: Problem
    learned: GroupSpec | None
    auxiliary: tuple[Fuzzified, BoolArray] | None


@dataclass(frozen=True, slots=True)
class Swapping:
    """Where the work stands: swaps first, then rules learned anew (None where they are not)."""

    setting: Setting
    search: SwapSearch
    again: Search | None


class SwapsRunner:
    """Finds swaps, makes them, and attacks the result."""

    #: Of what checkpoints hold.
    algorithm = 1

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Run a few made-up records through both searches."""
        warm_swaps()

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Swapping:
        """Read the dataset, apply the model, and begin to search.

        Raises
        ------
        InfeasibleError, InvalidError
            What only the records could tell.
        """
        setting = _setting(job)
        setting = replace(setting, problem=shuffled(setting.problem, rng))
        search = swap_search(setting.spec, setting.problem, setting.asked, rng=rng, threads=job.threads)
        return Swapping(setting, search, _learn(setting, job, rng=rng))

    def step(self, state: Swapping, *, rng: np.random.Generator) -> Swapping:  # noqa: ARG002 - runs have their own
        """Advance the swaps, then the rules."""
        if not state.search.done:
            return replace(state, search=state.search.step())
        return replace(state, again=None if state.again is None else state.again.step())

    def done(self, state: Swapping) -> bool:
        """Whether both are there."""
        return state.search.done and (state.again is None or state.again.done)

    def progress(self, state: Swapping) -> Progress:
        """Stage of what is under way."""
        if not state.search.done or state.again is None:
            stage, share = state.search.progress
            return Progress(fraction=_READ + (_SWAPPED - _READ) * share, stage=stage)
        stage, share = state.again.progress
        return Progress(fraction=_SWAPPED + (_LEARNED - _SWAPPED) * share, stage=f"attack again: {stage}")

    def finish(self, state: Swapping, job: JobContext, *, rng: np.random.Generator) -> Outcome:
        """Exchange the parameter values, attack the file again, and write it, rows in random order."""
        setting, ran = state.setting, state.search.result()
        job.tick(_LEARNED, "attack again")
        exchange = Exchange.of(setting.spec, setting.model, job, setting.microfile, ran.chosen.swaps)
        again = "" if setting.learned is None or state.again is None else setting.learned.search.method
        done = Swapped(
            microfile=setting.microfile,
            asked=setting.asked,
            problem=setting.problem,
            ran=ran,
            bound=state.search.bound(),
            parameter=exchanged_codes(setting.microfile.parameter, ran.chosen.swaps),
            old=View(setting.rules, setting.membership),
            new=_view(state, job),
            learned=swaps_report.learned_text(setting.spec, again),
            inconsistent_dependencies=exchange.inconsistent_dependencies(
                job, lambda share: job.tick(_WRITTEN + (1.0 - _WRITTEN) * share, "check")
            ),
        )
        kind = SignalKind.QUANTITY if setting.learned is None else setting.learned.signal
        whole = swaps_report.result(setting.spec, setting.alpha, kind, done)
        return Outcome(
            summary=swaps_report.summary(whole), result=whole, release=exchange.release(setting.spec, job, rng=rng)
        )

    def pack(self, state: Swapping) -> Arrays:
        """The order of the records, and both searches' states; the records are read again."""
        problem = state.setting.problem
        packed: Arrays = {"source_rows": problem.source_rows, "partner_rows": problem.partner_rows}
        packed |= {f"swaps.{name}": array for name, array in state.search.pack().items()}
        if state.again is not None:
            packed |= {f"again.{name}": array for name, array in state.again.pack().items()}
        return packed

    def unpack(self, job: JobContext, arrays: Arrays) -> Swapping:
        """Go on with both."""
        setting = _setting(job)
        problem = reordered(setting.problem, arrays["source_rows"], arrays["partner_rows"])
        setting = replace(setting, problem=problem)
        search = swap_search(setting.spec, problem, setting.asked, arrays=_part(arrays, "swaps."), threads=job.threads)
        return Swapping(setting, search, _learn(setting, job, arrays=_part(arrays, "again.")))


def _setting(job: JobContext) -> Setting:
    spec = job.specification(SwapsSpec)
    job.tick(0.0, "read")
    learned = group_spec(job.jobs["model_job_id"].spec) if spec.model_job_id is not None else None
    model = model_of(spec, learned)
    if model is None or spec.metric is None:
        msg = "the specification was not filled in"
        raise ValueError(msg)
    wanted = Wanted(
        model.variables,
        model.recode,
        parameter=spec.parameter,
        numbers=tuple(spec.metric.ordinal),
        categories=tuple(spec.metric.categorical),
    )
    microfile = read(job.dataset_path(), wanted)
    if not len(microfile.rows):
        raise no_records("the dataset", microfile, "/model" if spec.model is not None else "/model_job_id")
    seen = fuzzified(microfile, model.variables)
    rules, alpha = _rules(spec, job, learned)
    seen_by = attack(microfile, seen, rules, alpha, tick=lambda share: job.tick(_READ * share, "read"))
    asked = masking(spec, seen_by.signals.crisp, Places(microfile.parameter_values))
    problem = problem_of(spec, microfile, members(seen_by.membership, alpha), asked)
    auxiliary = _auxiliary(spec, job, learned)
    slim = microfile.counted()
    return Setting(spec, model, alpha, rules, slim, seen, seen_by.membership, asked, problem, learned, auxiliary)


def _rules(spec: SwapsSpec, job: JobContext, learned: GroupSpec | None) -> tuple[Rules, float]:
    if spec.model is not None:
        return np.array([rule.terms for rule in spec.model.rules], dtype=np.int8), spec.model.alpha
    found = [rule["terms"] for rule in job.job_result("model_job_id")["rules"]]
    if not found or learned is None:
        detail = "the job found no rules: there is no model of the group to mask"
        raise InfeasibleError(detail, errors=[FieldError("/model_job_id", detail)])
    return np.array(found, dtype=np.int8), learned.alpha


def _auxiliary(spec: SwapsSpec, job: JobContext, learned: GroupSpec | None) -> tuple[Fuzzified, BoolArray] | None:
    """What rules are learned from anew."""
    if spec.auxiliary_dataset_id is None or learned is None:
        return None
    wanted = Wanted(learned.variables, learned.recode.auxiliary, vital=learned.conditions)
    microfile = read(job.dataset_path("auxiliary_dataset_id"), wanted)
    check_auxiliary(microfile, "/auxiliary_dataset_id")
    return fuzzified(microfile, learned.variables), vital_of(microfile)


def _learn(
    setting: Setting, job: JobContext, *, rng: np.random.Generator | None = None, arrays: Arrays | None = None
) -> Search | None:
    if setting.auxiliary is None or setting.learned is None:
        return None
    seen, vital = setting.auxiliary
    return search_for(setting.learned, seen, vital, threads=job.threads, rng=rng, arrays=arrays)


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _view(state: Swapping, job: JobContext) -> View | None:
    """What the rules learned anew see."""
    setting = state.setting
    if state.again is None:
        return None
    rules = state.again.result().rules
    share = (1.0 - _LEARNED) / 2
    seen_by = attack(
        setting.microfile,
        setting.seen,
        rules,
        setting.alpha,
        tick=lambda done: job.tick(_LEARNED + share * done, "attack again"),
    )
    return View(rules, seen_by.membership)
