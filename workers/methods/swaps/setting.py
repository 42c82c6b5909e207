"""What a `swaps` job works on, read and checked: records, what the rules see of them, and the problem of swapping."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.contracts.inputs import listed
from app.errors import InfeasibleError, pointer
from app.methods.group.spec import GroupSpec, SignalKind, group_spec
from app.methods.swaps.spec import RecordModel, SwapsSpec, model_of
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.profile.decoys import Everybody
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.profile import GRID
from workers.algorithms.groups.signals.signals import members
from workers.algorithms.groups.swaps.problem import Problem, shuffled, without
from workers.algorithms.groups.swaps.several import SeveralGroups
from workers.frames.row_order import ranked
from workers.methods.context import JobContext
from workers.methods.microfile.attack import Places, check_auxiliary, fitting, no_records, vital_of
from workers.methods.microfile.given_model import learned_by, rules_by, rules_learned
from workers.methods.microfile.microfile import Microfile, Wanted, fuzzified, read
from workers.methods.microfile.standings import judge_of
from workers.methods.swaps.hiding import Hiding, alphas_of, families_of
from workers.methods.swaps.keys import Keys
from workers.methods.swaps.mask import Masking, encoded, masking_of, metric_of, problem_of

#: Share of the whole job.
READ = 0.05


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """A further group that is masked too.

    Attributes
    ----------
    id : of the job that its rules are of.
    rules : how many there are.
    member : (N,), who is in it.
    masking : bounds on its signal, which is of `kind`.
    """

    id: str
    rules: int
    member: BoolArray
    masking: Masking
    kind: SignalKind


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same while the job runs.

    Attributes
    ----------
    microfile, seen : in-range records, and as rules see them.
    hiding : the places and records to hide.
    problem, plain : of swapping, and with the demands on the members alone.
    everybody : the records that decoys are among.
    others : further groups.
    learned : the specification of the job that the model comes from.
    auxiliary : what rules are learned from anew, and who is the group's there.
    """

    spec: SwapsSpec
    model: RecordModel
    rules: Rules
    microfile: Microfile
    seen: Fuzzified
    hiding: Hiding
    problem: Problem
    plain: Problem
    everybody: Everybody
    others: tuple[OtherGroup, ...]
    learned: GroupSpec | None
    auxiliary: tuple[Fuzzified, BoolArray] | None

    @property
    def several(self) -> SeveralGroups | None:
        """All groups together; None where there is one."""
        if not self.others:
            return None
        hiding, everybody = self.hiding, self.everybody
        return SeveralGroups(
            parameter=hiding.region,
            groups=hiding.groups,
            member=np.stack([members(hiding.grades, hiding.alpha), *(one.member for one in self.others)]),
            values=everybody.values,
            metric=metric_of(self.spec),
            restrictions=(hiding.masking.restrictions, *(one.masking.restrictions for one in self.others)),
            ceilings=hiding.masking.ceilings,
            order=everybody.order,
        )

    @property
    def alpha(self) -> float:
        """Where the fuzzy group begins."""
        return self.hiding.alpha

    @property
    def membership(self) -> FloatArray:
        """(N,), by the model's rules; 0 outside the fuzzy group."""
        return np.where(members(self.hiding.grades, self.alpha), self.hiding.grades, 0.0)


def setting_of(job: JobContext, keys: Keys) -> Setting:
    """Read what a job works on.

    Raises
    ------
    InfeasibleError, InvalidError
        What only the records could reveal.
    """
    spec = job.specification(SwapsSpec)
    job.tick(0.0, "read")
    learned = learned_by(spec, job)
    model = model_of(spec, learned)
    if model is None:
        msg = "the specification was not filled in"
        raise ValueError(msg)
    microfile = _read(spec, model, job)
    seen = fuzzified(microfile, model.variables)
    rules, alpha = rules_by(spec, job, learned)
    hiding = _hiding(spec, microfile, seen, rules, alpha, job)
    problem, plain, everybody = _problems(spec, microfile, hiding, ranked(job.dataset_path(), microfile.rows), keys)
    others = tuple(_others(spec, microfile, seen, job))
    auxiliary, slim = _auxiliary(spec, job, learned), microfile.counted()
    return Setting(spec, model, rules, slim, seen, hiding, problem, plain, everybody, others, learned, auxiliary)


def _others(spec: SwapsSpec, microfile: Microfile, seen: Fuzzified, job: JobContext) -> Iterator[OtherGroup]:
    """Further groups, each with every outlier of its signal."""
    sizes = np.bincount(microfile.region, minlength=len(microfile.regions))
    for role, one in listed(job.jobs, "more_model_job_ids").items():
        learned = group_spec(one.spec)
        rules, alpha = rules_learned(job, role, learned)
        fits = fitting(len(microfile.rows), seen, rules, alpha, alpha, tick=lambda _: job.tick(READ, "read"))
        member = members(fits.grade, alpha)
        crisp = np.bincount(microfile.region[member], minlength=len(microfile.regions))
        own = spec.model_copy(update={"mask": "outliers", "signal": learned.signal})
        try:
            masking = masking_of(own, crisp, sizes, Places(microfile.regions))
        except InfeasibleError as error:
            raise InfeasibleError.at(pointer(*role.split("/")), error.detail) from None
        yield OtherGroup(one.id, len(rules), member, masking, learned.signal)


def _read(spec: SwapsSpec, model: RecordModel, job: JobContext) -> Microfile:
    if spec.metric is None:
        msg = "the specification was not filled in"
        raise ValueError(msg)
    wanted = Wanted(
        model.variables,
        model.recode,
        region_columns=spec.region_columns,
        numbers=tuple(spec.metric.ordinal),
        categories=tuple(spec.metric.categorical),
    )
    microfile = read(job.dataset_path(), wanted)
    if not len(microfile.rows):
        raise no_records("the dataset", microfile, "/rules_model" if spec.rules_model is not None else "/model_job_id")
    return microfile


def _hiding(
    spec: SwapsSpec, microfile: Microfile, seen: Fuzzified, rules: Rules, alpha: float, job: JobContext
) -> Hiding:
    """How records fit, down to the lowest alpha that anyone looks at, and the request about them."""
    lowest, values = lowest_of(spec, alpha), Places(microfile.regions)
    fits = fitting(len(microfile.rows), seen, rules, alpha, lowest, tick=lambda share: job.tick(READ * share, "read"))
    groups = len(microfile.regions)
    crisp = np.bincount(microfile.region[members(fits.grade, alpha)], minlength=groups)
    masking = masking_of(spec, crisp, np.bincount(microfile.region, minlength=groups), values)
    alphas = alphas_of(spec, alpha, masking)
    judge = judge_of(
        spec.outliers, tuple(one.element for one in masking.restrictions), values, low=spec.mask == "outliers"
    )
    counted = families_of(fits, alpha, alphas)
    return Hiding(spec, masking, alphas, alpha, microfile.region, fits, counted, judge, groups)


def lowest_of(spec: SwapsSpec, alpha: float) -> float:
    """The lowest grade that anyone looks at."""
    return min(alpha, *spec.protected_alphas, *GRID)


def _problems(
    spec: SwapsSpec, microfile: Microfile, hiding: Hiding, rank: IntArray, keys: Keys
) -> tuple[Problem, Problem, Everybody]:
    """The problem, that of the members alone, and all records, in orders that follow from the key and from `rank`."""
    values, member = encoded(spec, microfile), members(hiding.grades, hiding.alpha)
    plain = _canonical(problem_of(spec, microfile, values, member, hiding.masking), rank)
    problem = plain
    if not hiding.letter:
        problem = _canonical(problem_of(spec, microfile, values, member, hiding.masking, hiding.levels), rank)
    order = keys.generator("order")
    everybody = Everybody(microfile.region, hiding.band, values, order.permutation(np.argsort(rank)))
    return shuffled(problem, order), plain, everybody


def _canonical(problem: Problem, rank: IntArray) -> Problem:
    """The problem with its records in an order that does not depend on the file's."""
    ours = np.lexsort((rank[problem.source_rows], problem.source_code))
    theirs = np.lexsort((rank[problem.partner_rows], problem.partner_code))
    return without(problem, ours, theirs)


def _auxiliary(spec: SwapsSpec, job: JobContext, learned: GroupSpec | None) -> tuple[Fuzzified, BoolArray] | None:
    """What rules are learned from anew."""
    if spec.auxiliary_dataset_id is None or learned is None:
        return None
    wanted = Wanted(learned.variables, learned.recode.auxiliary, vital=learned.conditions)
    microfile = read(job.dataset_path("auxiliary_dataset_id"), wanted)
    check_auxiliary(microfile, "/auxiliary_dataset_id")
    return fuzzified(microfile, learned.variables), vital_of(microfile)
