"""Expected needs of searches for rules about a group: of every rule, and of rules that evolve.

How many rules are worth a look follows from the terms: a rule of j terms is met by about as large a share of records as
the product of what its terms cover. With a least support of m members of the group, a rule is alive with the
probability that a Poisson variable of the members that are to be expected is at least m.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.contracts.inputs import Given
from app.jobs.needs import Estimate
from app.methods.group.spec import EvolutionSearch, GroupSpec
from app.methods.microfile.spec import FuzzyTerm, FuzzyVariable

#: Groups that a column divides the records into, where its values are not known before: it is derived.
_GROUPS: Final = 10
#: Candidates for each child that is wanted, and after how many of those a generation is left short, on average.
_CANDIDATES: Final = 5
_LEFT_SHORT: Final = 45
#: Least numbers up to which a probability is added up; above it the normal distribution is near enough.
_BY_TERMS: Final = 50
#: Seconds of a comparison of a candidate with one rule that is known.
_COMPARED: Final = 5e-9
#: Draws of candidates in a generation, one of which is enough, or which are left short; seconds of each, and by child.
_DRAWN, _SHORT = 2, 30
_DRAW, _DRAWN_CHILD = 1e-4, 1.5e-6


@dataclass(frozen=True, slots=True)
class Rules:
    """Numbers of rules: of all; of those that some record meets; of those with support; of those worth judging."""

    every: float
    fits: float
    alive: float
    judged: float


def group_estimate(spec: GroupSpec, given: Given, rows: float) -> Estimate:
    """Rules tried times records looked at, and what each rule takes by itself."""
    recoded = len(spec.recode.auxiliary) + len(spec.recode.target or ())
    need = Estimate(1e-5 * rows * recoded, 30 * rows * len(spec.variables) + 300 * rows * recoded)
    rules = rules_of(spec, members=_members(spec, given, rows))
    if isinstance(spec.search, EvolutionSearch):
        return need + _evolving(spec.search, rows, rules.judged)
    met = min(rules.every, rows * rules.fits)
    kept = 9e-5 * min(met, rules.alive) if spec.min_relative_confidence > 0.0 else 2e-11 * met**1.67
    held = rules.alive if spec.min_support > 0.0 else met
    return need + Estimate(1.2e-8 * rows * rules.fits + kept, 500 * rows + 6 * held)


def _members(spec: GroupSpec, given: Given, rows: float) -> float:
    """About how many records are of the group."""
    distinct = {one.name: one.distinct for data in given.datasets.values() for one in data.columns}
    hidden = spec.hidden_group if isinstance(spec.hidden_group, tuple) else (spec.hidden_group,)
    share = math.prod(min(1.0, len(one.values) / max(1, distinct.get(one.column, _GROUPS))) for one in hidden)
    return max(1.0, rows * share)


def rules_of(spec: GroupSpec, *, members: float) -> Rules:
    """Estimate how many rules there are.

    Parameters
    ----------
    spec
        With the terms of its variables, and the least support.
    members
        Records of the group.
    """
    variables = [one for one in spec.variables if one.terms]
    covers = [_cover(one) for one in variables]
    terms = [len(one.terms) for one in variables]
    share = math.exp(sum(math.log(max(c / t, 1e-9)) for c, t in zip(covers, terms, strict=True)) / max(1, len(terms)))
    least = math.floor(spec.min_support * members) + 1
    alive = judged = 0.0
    before = 1.0
    for many, sets in enumerate(_sets(terms)):
        expected = members * share**many
        survives = _tail(expected, least)
        if many:
            alive += sets * survives
            judged += sets * before**many
        before = survives
    every = math.prod(1.0 + one for one in terms)
    return Rules(every, math.prod(1.0 + one for one in covers), alive, judged)


def _tail(expected: float, least: int) -> float:
    """P(X >= least), X a Poisson variable of mean `expected`."""
    if expected < 0.01 * least:  # hardly more than the first of its terms
        return math.exp(least * math.log(max(expected, 1e-300)) - expected - math.lgamma(least + 1))
    if least > _BY_TERMS:
        return 0.5 * math.erfc((least - 0.5 - expected) / math.sqrt(2.0 * expected))
    term, below = math.exp(-expected), 0.0
    for many in range(least):
        below += term
        term *= expected / (many + 1)
    return max(0.0, 1.0 - below)


def _sets(terms: Sequence[int]) -> Iterator[float]:
    """Count the rules with no term, one, two, …: elementary symmetric sums."""
    sums = [1.0] + [0.0] * len(terms)
    for at, one in enumerate(terms):
        for many in range(at + 1, 0, -1):
            sums[many] += one * sums[many - 1]
    yield from sums


def _cover(variable: FuzzyVariable) -> float:
    """Count the terms of a variable that a record meets on average: as often as their widths cover its range."""
    span = (variable.range[1] - variable.range[0]) or 1.0
    return min(float(len(variable.terms)), sum(_width(term) / span for term in variable.terms))


def _width(term: FuzzyTerm) -> float:
    """About how many values of a variable a term takes, in the variable's units."""
    points = getattr(term, "points", None)
    return points[-1] - points[0] if points else 2.4 * float(getattr(term, "sigma", 0.0))


def _evolving(search: EvolutionSearch, rows: float, judged: float) -> Estimate:
    """Rules tried, and of a search that keeps its diversity candidates compared with the rules that are known.

    Once hardly any rule is left that is worth judging, each generation looks for its children in vain, many times.
    """
    wanted = search.population + search.generations * search.replaced
    tried = search.runs * wanted
    if not search.diversity:
        return Estimate(tried * (2.5e-11 * rows + 2.5e-6), 500.0 * tried)
    known = min(float(wanted), judged)
    late = search.generations * max(0.0, 1.0 - judged / wanted)
    early = search.generations - late
    compared = search.replaced * known * (0.5 * _CANDIDATES * early + _LEFT_SHORT * late)
    first = min(float(search.population), known)  # judged all at once
    each = search.runs * (1e-10 * rows * known + 3e-5 * first + 1e-4 * (known - first))
    drawn = (_DRAWN * early + _SHORT * late) * (_DRAW + _DRAWN_CHILD * search.replaced)
    return Estimate(each + search.runs * (_COMPARED * compared + drawn), 500.0 * tried)
