"""Parameters of an evolution."""

from dataclasses import dataclass

from workers.algorithms.groups.rules.patterns import check_alpha
from workers.algorithms.groups.rules.rules import check_thresholds


@dataclass(frozen=True)
class EvolutionRequest:
    """Parameters; defaults are the paper's parameters.

    Attributes
    ----------
    population : mu, at least 2; with `diversity` the rules that a run begins with.
    replaced : lambda, individuals made in every generation, in [1, mu].
    tournament : individuals among which each parent is the best.
    crossover : probability that two parents are crossed.
    mutation : probability that a term is drawn anew.
    generations : made after the first one.
    runs : independent repetitions.
    diversity : False for the paper's evolution.
    min_membership, min_relative_confidence, min_support : thresholds of APC, RCF and support (the paper's alpha, gamma,
        kappa).
    denominator_floor : least denominator of the RCF in the fitness, in records; 0 in the paper.
    """

    population: int = 100
    replaced: int = 40
    tournament: int = 10
    crossover: float = 1.0
    mutation: float = 0.05
    generations: int = 100
    runs: int = 10
    diversity: bool = True
    min_membership: float = 0.5
    min_relative_confidence: float = 0.75
    min_support: float = 0.001
    denominator_floor: float = 1.0

    @property
    def evaluations(self) -> int:
        """Individuals that all runs make: the fitness is requested so many times, at most."""
        return self.runs * (self.population + self.replaced * self.generations)


def check_request(request: EvolutionRequest) -> None:
    """Whether the request can be met.

    Raises
    ------
    ValueError
        A parameter outside its range.
    """
    check_alpha(request.min_membership)
    check_thresholds(request.min_relative_confidence, request.min_support, request.denominator_floor)
    if request.population < 2 or not 1 <= request.replaced <= request.population:
        raise ValueError(
            f"population must be at least 2 and replaced in [1, population], got {request.population} and "
            f"{request.replaced}"
        )
    if request.tournament < 1 or request.generations < 0 or request.runs < 1:
        raise ValueError("tournament and runs must be at least 1, generations at least 0")
    if not (0.0 <= request.crossover <= 1.0 and 0.0 <= request.mutation <= 1.0):
        raise ValueError("crossover and mutation are probabilities: in [0, 1]")
