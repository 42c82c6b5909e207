"""One generation of the search that keeps its diversity: what the paper's evolution lacks to find most rules.

Notation as in rules.rules, and
--------
over : a rule over the thresholds.  dead : one with support at most kappa; everything more specific is dead too.
open : a rule of the archive that is neither, with DF > 0, and with no rule over the thresholds more general than it:
    only below open rules are most general ones still to be found.
mask : (n, W) uint64, a rule's terms as bits.

The paper's fitness makes a population converge on one kind of rule (15 of the 121 most general rules of our reference
after 41,000 evaluations). Here the archive is the population:
- nothing is judged twice, nor a rule that is dead or has a more general one over the thresholds: that is known before;
- parents win tournaments among *all* open rules by how near their guarded RCF is to gamma, so that every niche goes on
  until it is exhausted, whatever its support;
- children come from uniform crossover and random resetting as in the paper, or from a move to a neighbour: one term
  more, one less, one exchanged;
- of a rule over the thresholds all rules with one term less follow at once, down to the most general ones;
- a share of children is drawn at random, with few terms: a restart.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.evolution.archive import Archive, keys
from workers.algorithms.groups.evolution.paper import crossed, reset, tournament
from workers.algorithms.groups.rules.rules import Metrics, Rules, relative_confidence

Masks = NDArray[np.uint64]

_CROSSED: Final = 0.25  # shares of the children by how they are made; the rest gains a term
_LESS: Final = 0.1
_EXCHANGED: Final = 0.15
_RESTARTED: Final = 0.02
_FEW: Final = 3  # terms that a restart begins with, at most
_SPARE: Final = 3  # candidates per child wanted
_PAIRS: Final = 2_000_000  # of rules that are compared at once: 16 MB a word
_ATTEMPTS: Final = 30  # draws of candidates before a generation is left short


@dataclass(frozen=True)
class Niches:
    """What the archive states about where to look; never changed, only replaced.

    Attributes
    ----------
    dead, over : (., W), masks.
    open : places in the archive.
    worth : of the open rules, min(guarded RCF, gamma).
    queue : (., V), candidates that go first.
    """

    dead: Masks
    over: Masks
    open: IntArray
    open_masks: Masks
    worth: FloatArray
    queue: Rules


def masks(rules: Rules, first: IntArray, width: int) -> Masks:
    """(R, W), terms as bits; `first` is the place of each variable's first term, `width` is W."""
    bits = np.zeros((len(rules), width), dtype=np.uint64)
    rows, variables = np.nonzero(rules)
    place = first[variables] + rules[rows, variables] - 1
    np.bitwise_or.at(bits, (rows, place // 64), np.uint64(1) << (place % 64).astype(np.uint64))
    return bits


def below(rules: Masks, general: Masks) -> BoolArray:
    """Whether each rule is as specific as, or more specific than, one of `general`."""
    covered = np.zeros(len(rules), dtype=np.bool_)
    some = max(1, _PAIRS // max(1, len(general)))
    for begin in range(0, len(rules), some):
        part = rules[begin : begin + some]
        within = np.ones((len(part), len(general)), dtype=np.bool_)
        for word in range(rules.shape[1]):
            within &= (part[:, None, word] & general[None, :, word]) == general[None, :, word]
        covered[begin : begin + some] = np.logical_or.reduce(within, axis=1)
    return covered


def nothing_known(variables: int, width: int) -> Niches:
    """Niches of an empty archive."""
    none = np.zeros((0, width), dtype=np.uint64)
    places, rules = np.zeros(0, dtype=np.int64), np.zeros((0, variables), dtype=np.int8)
    return Niches(none, none, places, none, np.zeros(0), rules)


def learned(
    niches: Niches, archive: Archive, begin: int, judged: Metrics, first: IntArray, *, thresholds: tuple[float, ...]
) -> Niches:
    """Niches after the rules of the archive from place `begin` on have been judged; thresholds: gamma, kappa, guard."""
    gamma, kappa, guard = thresholds
    rules = archive.rules[begin:]
    mask = masks(rules, first, niches.dead.shape[1])
    over = judged.over(gamma, kappa)
    dead = judged.support <= kappa
    hopeful = ~over & ~dead & (judged.discriminative_factor > 0.0)
    worth = np.minimum(relative_confidence(judged.inside, np.maximum(judged.outside, guard)), gamma)[hopeful]
    places = np.concatenate([niches.open, begin + np.flatnonzero(hopeful)])
    open_masks = np.concatenate([niches.open_masks, mask[hopeful]])
    left = ~below(open_masks, mask[over])
    return Niches(
        dead=np.concatenate([niches.dead, mask[dead]]),
        over=np.concatenate([niches.over, mask[over]]),
        open=places[left],
        open_masks=open_masks[left],
        worth=np.concatenate([niches.worth, worth])[left],
        queue=np.concatenate([niches.queue, generalised(rules[over])]),
    )


def generalised(rules: Rules) -> Rules:
    """All rules with one term less."""
    rows, variables = np.nonzero(rules)
    less = rules[rows]
    less[np.arange(len(rows)), variables] = 0
    return less


def _restarts(count: int, terms: IntArray, rng: np.random.Generator) -> Rules:
    """Random rules of few terms."""
    most = min(_FEW, len(terms))
    rank = np.argsort(rng.random((count, len(terms))), axis=1)
    chosen = rank < rng.integers(1, most + 1, size=(count, 1))
    return np.where(chosen, rng.integers(1, terms + 1, size=rank.shape), 0).astype(np.int8)


def _one_of(allowed: BoolArray, rng: np.random.Generator) -> IntArray:
    """(R,), a random place of each row where `allowed` holds; any where it holds nowhere."""
    places: IntArray = np.argmax(rng.random(allowed.shape) * allowed, axis=1)
    return places


def _moved(
    archive: Archive,
    niches: Niches,
    terms: IntArray,
    count: int,
    *,
    size: int,
    crossover: float,
    mutation: float,
    rng: np.random.Generator,
) -> Rules:
    """Candidates from parents among the open rules."""
    chosen = niches.open[tournament(niches.worth, 2 * count, size, rng)]
    parents, mates = archive.rules[chosen[:count]].copy(), archive.rules[chosen[count:]]
    kind = rng.random(count)
    mixed = kind < _CROSSED
    parents[mixed] = reset(crossed(parents[mixed], mates[mixed], crossover, rng)[0], terms, mutation, rng)
    rows = np.arange(count)
    less = (kind >= _CROSSED) & (kind < _CROSSED + _LESS + _EXCHANGED)
    drop, gain = _one_of(parents > 0, rng), _one_of(parents == 0, rng)
    parents[rows[less], drop[less]] = 0
    more = (kind >= _CROSSED + _LESS) & (parents[rows, gain] == 0)
    parents[rows[more], gain[more]] = rng.integers(1, terms[gain[more]] + 1)
    restarts = rng.random(count) < _RESTARTED
    return np.where(restarts[:, None], _restarts(count, terms, rng), parents)


def proposed(
    archive: Archive,
    niches: Niches,
    terms: IntArray,
    first: IntArray,
    count: int,
    *,
    size: int,
    crossover: float,
    mutation: float,
    rng: np.random.Generator,
) -> tuple[Rules, Niches]:
    """Up to `count` rules worth judging, none of them known; fewer where hardly any are left.

    Returns
    -------
    Children, and the niches without the candidates that were taken from the queue.
    """
    taken: dict[bytes, Rules] = {}
    queue = niches.queue
    for _ in range(_ATTEMPTS):
        queued = len(queue) > 0
        if queued:
            candidates, queue = queue[: _SPARE * count], queue[_SPARE * count :]
        elif len(niches.open) < 2:
            candidates = _restarts(_SPARE * count, terms, rng)
        else:
            candidates = _moved(
                archive,
                niches,
                terms,
                _SPARE * count,
                size=size,
                crossover=crossover,
                mutation=mutation,
                rng=rng,
            )
        rest = _take(taken, candidates[_useful(candidates, niches, first)], archive, count)
        if len(taken) == count:
            if queued:
                queue = np.concatenate([rest, queue])
            break
    return np.array(list(taken.values()), dtype=np.int8).reshape(-1, len(terms)), replace(niches, queue=queue)


def _useful(candidates: Rules, niches: Niches, first: IntArray) -> BoolArray:
    """Which candidates have a term, are not known to be dead and have no more general rule over the thresholds."""
    mask = masks(candidates, first, niches.dead.shape[1])
    return mask.any(axis=1) & ~below(mask, niches.dead) & ~below(mask, niches.over)


def _take(taken: dict[bytes, Rules], candidates: Rules, archive: Archive, count: int) -> Rules:
    """Take unknown candidates until there are `count`; returns those that were not looked at."""
    for at, (rule, key) in enumerate(zip(candidates, keys(candidates), strict=True)):
        if len(taken) == count:
            return candidates[at:]
        if key not in archive.place:
            taken.setdefault(key, rule)
    return candidates[:0]
