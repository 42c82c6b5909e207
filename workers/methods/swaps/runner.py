"""Runner of `swaps`: a group's outlier regions masked, the attack run again, a file released."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.contracts.jobs import JobProgress
from app.methods.group.spec import SignalKind
from app.methods.swaps.spec import SwapsSpec, model_of
from workers.algorithms.groups.rules.fits import confidence_order
from workers.algorithms.groups.signals.signals import members
from workers.algorithms.groups.swaps.assignment import cheapest, moves_needed
from workers.methods.context import JobContext
from workers.methods.microfile.attack import fitting
from workers.methods.microfile.given_model import learned_by
from workers.methods.microfile.rule_search import Search, search_for
from workers.methods.outcome import Outcome
from workers.methods.protocol import Arrays
from workers.methods.swaps import report as swaps_report
from workers.methods.swaps.classifier_attack import seen_through
from workers.methods.swaps.hiding import families_of
from workers.methods.swaps.keys import Keys, keying, keys_of
from workers.methods.swaps.release import Exchange
from workers.methods.swaps.report import Swapped, View
from workers.methods.swaps.search import SwapSearch, swap_search, warm_swaps
from workers.methods.swaps.setting import READ, Setting, lowest_of, setting_of

#: Shares of the whole job: swaps found, rules learned, attacked again.
_SWAPPED, _LEARNED, _WRITTEN = 0.6, 0.85, 0.95


@dataclass(frozen=True, slots=True)
class Swapping:
    """State of the work: swaps first, then rules learned anew (None where they are not)."""

    setting: Setting
    search: SwapSearch
    again: Search | None


class SwapsRunner:
    """Finds swaps, makes them, and attacks the result."""

    #: Of what checkpoints contain.
    algorithm = 5

    def warm(self) -> None:
        """Run a few made-up records through both searches."""
        warm_swaps()

    def keyed_by(self, job: JobContext) -> Sequence[str]:
        """Who is swapped, and how far places come down, follow from the secrets of what the rules read."""
        spec = job.specification(SwapsSpec)
        model = model_of(spec, learned_by(spec, job))
        names = [] if model is None else [one.column for one in model.variables]
        return keying(job.datasets["dataset_id"].columns, names, {} if model is None else model.recode)

    def init(self, job: JobContext) -> Swapping:
        """Read the dataset, apply the model, and begin to search.

        Raises
        ------
        InfeasibleError, InvalidError
            What only the records could reveal.
        """
        keys = keys_of(job.secrets, job.rng)
        setting = setting_of(job, keys)
        return Swapping(setting, _search(setting, keys, job), _learn(setting, job, rng=job.rng))

    def step(self, state: Swapping, job: JobContext) -> Swapping:  # noqa: ARG002 - runs have their own generators
        """Advance the swaps, then the rules."""
        if not state.search.done:
            return replace(state, search=state.search.step())
        return replace(state, again=None if state.again is None else state.again.step())

    def done(self, state: Swapping) -> bool:
        """Whether both are there."""
        return state.search.done and (state.again is None or state.again.done)

    def progress(self, state: Swapping) -> JobProgress:
        """Stage of the current step."""
        if not state.search.done or state.again is None:
            stage, detail, share = state.search.progress
            return JobProgress(fraction=READ + (_SWAPPED - READ) * share, stage=stage, detail=detail)
        detail, share = state.again.progress
        return JobProgress(fraction=_SWAPPED + (_LEARNED - _SWAPPED) * share, stage="attack_again", detail=detail)

    def finish(self, state: Swapping, job: JobContext) -> Outcome:
        """Exchange the regions, attack the file again, and write it, rows in random order."""
        setting, ran, decoys = state.setting, state.search.result(), state.search.decoys()
        job.tick(_LEARNED, "attack_again")
        exchange = Exchange.of(setting.spec, setting.model, job, setting.microfile, ran.chosen.swaps, decoys)
        classifiers, warnings = seen_through(
            setting, job, exchange, ran.chosen.swaps, rng=job.rng, stage=((_LEARNED + _WRITTEN) / 2, _WRITTEN)
        )
        again = "" if setting.learned is None or state.again is None else setting.learned.search.method
        done = Swapped(
            microfile=setting.microfile,
            hiding=setting.hiding,
            problem=state.search.problem,
            ran=ran,
            decoys=decoys,
            others=setting.others,
            values=setting.everybody.values,
            bound=state.search.bound(),
            letter=cheapest(setting.plain, moves_needed(setting.plain)),
            old=View(setting.rules, setting.membership, setting.hiding.families),
            new=_view(state, job),
            classifiers=classifiers,
            learned=swaps_report.learned_text(setting.spec, again),
            inconsistent_dependencies=exchange.inconsistent_dependencies(
                job, lambda share: job.tick(_WRITTEN + (1.0 - _WRITTEN) * share, "check")
            ),
        )
        kind = setting.spec.signal or SignalKind.QUANTITY
        whole = swaps_report.result(setting.spec, setting.alpha, kind, done)
        return Outcome(
            summary=swaps_report.summary(whole),
            result=whole,
            release=exchange.release(setting.spec, job, rng=job.rng),
            warnings=warnings,
        )

    def pack(self, state: Swapping) -> Arrays:
        """Both searches' states; the records are read again, in the order that the key gives them."""
        packed: Arrays = {f"swaps.{name}": array for name, array in state.search.pack().items()}
        if state.again is not None:
            packed |= {f"again.{name}": array for name, array in state.again.pack().items()}
        return packed

    def unpack(self, job: JobContext, arrays: Arrays) -> Swapping:
        """Go on with both."""
        own = _part(arrays, "swaps.")
        keys = Keys(own["key"].tobytes())
        setting = setting_of(job, keys)
        search = _search(setting, keys, job).resumed(own)
        return Swapping(setting, search, _learn(setting, job, arrays=_part(arrays, "again.")))


def _search(setting: Setting, keys: Keys, job: JobContext) -> SwapSearch:
    return swap_search(
        setting.problem,
        setting.plain,
        setting.hiding,
        keys,
        setting.everybody,
        threads=job.threads,
        several=setting.several,
    )


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
    setting, hiding = state.setting, state.setting.hiding
    if state.again is None:
        return None
    learned = state.again.result()
    rules = learned.rules[confidence_order(learned.metrics.relative_confidence_factor)]
    fits = fitting(
        len(hiding.region),
        setting.seen,
        rules,
        setting.alpha,
        lowest_of(setting.spec, setting.alpha),
        tick=lambda done: job.tick(_LEARNED + (1.0 - _LEARNED) / 2 * done, "attack_again"),
    )
    membership = np.where(members(fits.grade, setting.alpha), fits.grade, 0.0)
    return View(rules, membership, families_of(fits, setting.alpha, hiding.alphas))
