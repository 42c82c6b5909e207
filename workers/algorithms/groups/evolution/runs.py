"""One run of an evolution: it proposes children, and learns what they are worth.

Notation as in evolution.search.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.evolution import diverse, paper
from workers.algorithms.groups.evolution.archive import Archive, archive
from workers.algorithms.groups.evolution.diverse import Niches
from workers.algorithms.groups.evolution.request import EvolutionRequest
from workers.algorithms.groups.rules.generality import Kept, ordered
from workers.algorithms.groups.rules.patterns import Patterns
from workers.algorithms.groups.rules.rules import Rules, metrics

Seeds: TypeAlias = NDArray[np.uint64]

_SEED = 4  # words of 64 bits


@dataclass(frozen=True)
class Run:
    """State of a run.

    Attributes
    ----------
    index : its place among all runs.
    generation : the next one to be made; 0 is the initial population.
    archive : all rules it has judged; grows in place.
    population, fitness : (mu, V) and (mu,), to the paper's letter only.
    niches : with diversity only.
    """

    index: int
    generation: int
    archive: Archive
    population: Rules
    fitness: FloatArray
    niches: Niches


@dataclass(frozen=True)
class Proposal:
    """Children of a run, and those of them that it does not know yet."""

    children: Rules
    unknown: Rules
    niches: Niches


def seeds(runs: int, rng: np.random.Generator) -> Seeds:
    """(runs, 4), a seed for each run: secret like the generator."""
    return rng.integers(0, 1 << 64, size=(runs, _SEED), dtype=np.uint64, endpoint=False)


def begin(index: int, terms: IntArray) -> Run:
    """A run that has made nothing."""
    rules = np.zeros((0, len(terms)), dtype=np.int8)
    niches = diverse.nothing_known(len(terms), -(-int(terms.sum()) // 64))
    return Run(index, 0, archive(rules, np.zeros((0, 2))), rules, np.zeros(0), niches)


def propose(run: Run, request: EvolutionRequest, patterns: Patterns, seed: Seeds) -> Proposal:
    """Children of the next generation; its randomness comes from the run's seed and the generation's number alone."""
    rng = np.random.default_rng(np.random.SeedSequence([*seed[run.index].tolist(), run.generation]))
    first = run.generation == 0
    count = request.population if first else request.replaced
    size, crossover, mutation = request.tournament, request.crossover, request.mutation
    if request.diversity:
        children, niches = diverse.proposed(
            run.archive,
            run.niches,
            patterns.terms,
            patterns.first,
            count,
            size=size,
            crossover=crossover,
            mutation=mutation,
            rng=rng,
        )
        return Proposal(children, children, niches)
    if first:
        children = paper.random_rules(count, patterns.terms, rng)
    else:
        children = paper.offspring(
            run.population,
            run.fitness,
            patterns.terms,
            count=count,
            size=size,
            crossover=crossover,
            mutation=mutation,
            rng=rng,
        )
    return Proposal(children, run.archive.unknown(children), run.niches)


def learn(run: Run, proposal: Proposal, sums: FloatArray, request: EvolutionRequest, patterns: Patterns) -> Run:
    """The run after its unknown children have been judged."""
    known = len(run.archive.rules)
    run.archive.add(proposal.unknown, sums)
    size = {"records": patterns.records, "vital": patterns.vital}
    if request.diversity:
        judged = metrics(sums, guard=request.denominator_floor, **size)
        thresholds = (request.min_relative_confidence, request.min_support, request.denominator_floor)
        niches = diverse.learned(proposal.niches, run.archive, known, judged, patterns.first, thresholds=thresholds)
        return replace(run, generation=run.generation + 1, niches=niches)
    all_sums = run.archive.sums[run.archive.places(proposal.children)]
    fitness = metrics(all_sums, guard=request.denominator_floor, **size).fitness
    stay = paper.survivors(run.fitness, len(fitness)) if run.generation > 0 else np.zeros(0, dtype=np.int64)
    return replace(
        run,
        generation=run.generation + 1,
        population=np.concatenate([run.population[stay], proposal.children]),
        fitness=np.concatenate([run.fitness[stay], fitness]),
    )


def costs(rules: Rules, patterns: Patterns) -> FloatArray:
    """(R,), about what judging each rule costs: words of bit sets looked at, and products of likely survivors.

    Survivors are those of independent terms, times eight: an estimate for the length of a step, no more.
    """
    slots = patterns.codes.shape[1]
    active = rules > 0
    reach = patterns.reach[np.where(active, patterns.first + rules - 1, 0)]
    fuzzy = active & (reach[..., 0] != reach[..., 1])
    share = np.where(active, reach[..., 0] / slots, 1.0)
    survivors = slots * np.minimum(share.min(axis=1), 8.0 * share.prod(axis=1))
    words = patterns.some.shape[1] * (1.0 + np.count_nonzero(active, axis=1))
    estimate: FloatArray = words + 6.0 * survivors * (1.0 + np.count_nonzero(fuzzy, axis=1))
    return estimate


def kept(run: Run, request: EvolutionRequest, patterns: Patterns) -> Kept:
    """All rules over the thresholds that a run has seen."""
    judged = metrics(run.archive.sums, records=patterns.records, vital=patterns.vital, guard=request.denominator_floor)
    over = np.flatnonzero(judged.over(request.min_relative_confidence, request.min_support))
    over = over[ordered(run.archive.rules[over])]
    made = len(run.archive.rules) if request.diversity else request.population + request.replaced * request.generations
    return Kept(run.archive.rules[over], judged.at(over), made)


def packed(runs: tuple[Run, ...]) -> dict[str, NDArray[np.generic]]:
    """Runs as arrays; niches but for their queue follow from the archive."""
    arrays: dict[str, NDArray[np.generic]] = {"runs": np.array([run.index for run in runs], dtype=np.int64)}
    for run in runs:
        arrays[f"{run.index}.generation"] = np.array(run.generation, dtype=np.int64)
        arrays[f"{run.index}.rules"] = run.archive.rules
        arrays[f"{run.index}.sums"] = run.archive.sums
        arrays[f"{run.index}.population"] = run.population
        arrays[f"{run.index}.fitness"] = run.fitness
        arrays[f"{run.index}.queue"] = run.niches.queue
    return arrays


def unpacked(
    arrays: Mapping[str, NDArray[np.generic]], request: EvolutionRequest, sizes: tuple[IntArray, int, int]
) -> tuple[Run, ...]:
    """Runs from arrays; `sizes` : L_v, rho, rho_v."""
    terms, records, vital = sizes
    first = np.cumsum(terms) - terms
    runs = []
    for index in np.asarray(arrays["runs"], dtype=np.int64).tolist():
        rules = np.asarray(arrays[f"{index}.rules"], dtype=np.int8)
        sums = np.asarray(arrays[f"{index}.sums"], dtype=np.float64)
        run = begin(index, terms)
        niches = run.niches
        if request.diversity:
            judged = metrics(sums, records=records, vital=vital, guard=request.denominator_floor)
            thresholds = (request.min_relative_confidence, request.min_support, request.denominator_floor)
            niches = diverse.learned(niches, archive(rules, sums), 0, judged, first, thresholds=thresholds)
            niches = replace(niches, queue=np.asarray(arrays[f"{index}.queue"], dtype=np.int8))
        runs.append(
            Run(
                index=index,
                generation=int(arrays[f"{index}.generation"]),
                archive=archive(rules, sums),
                population=np.asarray(arrays[f"{index}.population"], dtype=np.int8),
                fitness=np.asarray(arrays[f"{index}.fitness"], dtype=np.float64),
                niches=niches,
            )
        )
    return tuple(runs)
