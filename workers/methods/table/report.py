"""The audit `table`: everything measured, in the words of the contract."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from app.contracts import table_results as told_as
from app.contracts.demands import MissingCells
from app.contracts.findings import all_met
from app.contracts.tables import SumsAudit, TableSpec
from workers.algorithms.tables.classes import classes, histogram
from workers.algorithms.tables.magnitudes import sensitive_cells
from workers.algorithms.tables.population import population_uniques
from workers.algorithms.tables.risk import Risk, journalist, marketer, prosecutor
from workers.algorithms.tables.special_uniques import Special, intrusion, record_risks
from workers.methods.table.findings import demanded, noticed, verdict
from workers.methods.table.meanings import MEANING
from workers.methods.table.measures import Neighbourhoods, Told, Without
from workers.methods.table.reading import Audited, Sums

_QUANTILES = (0.5, 0.9, 0.99)
#: Combinations that are shown.
_SHOWN = 300
_FEW = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """All that was measured; see `runner.Auditing`."""

    audited: Audited
    seen: Neighbourhoods
    told: tuple[Told, ...]
    without: tuple[Without, ...]
    special: Special
    depth: int


def result(spec: TableSpec, made: Measured) -> told_as.TableResult:
    """The job's result."""
    audited, seen = made.audited, made.seen
    size = seen.size
    persons = size if audited.person is None else seen.distinct(audited.person)
    sizes, number = histogram(size)
    sensitive = tuple(_sensitive(one) for one in made.told)
    population = _population(spec, audited, seen)
    fraction = _fraction(spec, audited)
    found = told_as.TableResult(
        records=audited.records,
        dropped=audited.dropped,
        quasi_identifiers=tuple(one.name for one in audited.quasi_identifiers),
        missing=MissingCells(spec.missing),
        k=int(persons.min()),
        k_records=int(size.min()),
        classes=told_as.ClassCounts(
            count=len(size),
            histogram=tuple(
                told_as.ClassSize(size=int(one), classes=int(many)) for one, many in zip(sizes, number, strict=True)
            ),
        ),
        unique=seen.unique,
        **_worst(sensitive),
        sensitive=sensitive,
        risk=_risks(seen, population, spec.threshold),
        population_k=None if population is None else float(population.min()),
        population_uniques=_population_uniques(seen, fraction),
        sample_uniques=_sample_uniques(made),
        special_uniques=_special(made, fraction),
        columns=_columns(made),
        utility=_utility(made, int(size.min())),
        regions=_regions(spec, audited),
        sums=tuple(_sums(one, cells, audited) for one, cells in zip(spec.sums, audited.sums, strict=True)),
        proposal=None,
        passed=None,
        demands={},
        findings=(),
        verdict="",
        meaning=MEANING,
    )
    return _judged(spec, found, made.told)


def _judged(spec: TableSpec, found: told_as.TableResult, told: tuple[Told, ...]) -> told_as.TableResult:
    recursive = max((one.demanded for one in told if one.demanded is not None), default=None)
    demands, failed = demanded(spec, found, recursive)
    answered = found.model_copy(
        update={
            "passed": all_met(demands),
            "demands": demands,
            "findings": (*failed, *sorted(noticed(spec, found), key=lambda one: one.severity != "high")),
        }
    )
    return answered.model_copy(update={"verdict": verdict(answered)})


def _sensitive(one: Told) -> told_as.SensitiveColumn:
    measures = one.closeness
    equal, ordered = float(measures.equal.max()), float(measures.ordered.max())
    basic = float(measures.beta.max())
    rarest = float(np.bincount(one.column.codes).min() / len(one.column.codes))
    return told_as.SensitiveColumn(
        column=one.column.name,
        values=one.values,
        alpha=float(measures.top.max()),
        l=told_as.LDiversity(
            distinct=int(measures.distinct.min()),
            entropy=float(np.exp(measures.entropy.min())),
            recursive=told_as.Recursive(l=int(measures.distinct.min()), c=one.recursive),
        ),
        t=told_as.Closeness(
            value=ordered if one.column.ordered else equal, equal=equal, ordered=ordered if one.column.ordered else None
        ),
        delta_disclosure=float(measures.delta.max()),
        absent_values=bool(measures.distinct.min() < one.values),
        beta=told_as.BetaLikeness(
            basic=basic, enhanced=min(basic, -float(np.log(rarest))), enhanced_holds=bool(measures.excess.max() <= 0.0)
        ),
        share_certain=one.whole.share_certain,
        share_nearly_certain=one.whole.share_nearly_certain,
    )


def _worst(columns: tuple[told_as.SensitiveColumn, ...]) -> dict[str, object]:
    """The worst of all sensitive columns, measure by measure."""
    if not columns:
        return dict.fromkeys(("alpha", "l", "t", "delta_disclosure", "beta"))
    closeness = [one.t for one in columns]
    ordered = [one.ordered for one in closeness if one.ordered is not None]
    return {
        "alpha": max(one.alpha for one in columns),
        "l": told_as.LDiversity(
            distinct=min(one.l.distinct for one in columns),
            entropy=min(one.l.entropy for one in columns),
            recursive=max((one.l.recursive for one in columns), key=lambda one: (-one.l, one.c)),
        ),
        "t": told_as.Closeness(
            value=max(one.value for one in closeness),
            equal=max(one.equal for one in closeness),
            ordered=max(ordered, default=None),
        ),
        "delta_disclosure": max(one.delta_disclosure for one in columns),
        "beta": told_as.BetaLikeness(
            basic=max(one.beta.basic for one in columns),
            enhanced=max(one.beta.enhanced for one in columns),
            enhanced_holds=all(one.beta.enhanced_holds for one in columns),
        ),
    }


def _population(spec: TableSpec, audited: Audited, seen: Neighbourhoods) -> NDArray[np.float64] | None:
    """Persons of the population in each neighbourhood."""
    if audited.weight is not None:
        return seen.summed(audited.weight)
    return None if spec.sampling_fraction is None else seen.size / spec.sampling_fraction


def _fraction(spec: TableSpec, audited: Audited) -> float | None:
    """Share of the population that the table holds."""
    if spec.sampling_fraction is not None or audited.weight is None:
        return spec.sampling_fraction
    return min(1.0, audited.records / float(audited.weight.sum()))


def _risks(seen: Neighbourhoods, population: NDArray[np.float64] | None, threshold: float) -> told_as.Risks:
    size, records = seen.size, seen.classes.size
    people = size.astype(np.float64) if population is None else population

    def told(risk: Risk) -> told_as.AdversaryRisk:
        return told_as.AdversaryRisk(**asdict(risk))

    return told_as.Risks(
        threshold=threshold,
        prosecutor=told(prosecutor(size, records, threshold)),
        journalist=told(journalist(size, records, people, threshold)),
        marketer=told(marketer(size, records, people, threshold)),
    )


def _population_uniques(seen: Neighbourhoods, fraction: float | None) -> told_as.PopulationUniques | None:
    if fraction is None:
        return None
    found = population_uniques(*histogram(seen.classes.size), fraction)
    return told_as.PopulationUniques(sampling_fraction=fraction, **asdict(found))


def _sample_uniques(made: Measured) -> told_as.SampleUniques:
    names = [one.name for one in made.audited.quasi_identifiers]
    counts = made.special.counts
    by_size = [sum(many for columns, many in counts.items() if len(columns) == size + 1) for size in range(made.depth)]
    somebody = sorted((-many, columns) for columns, many in counts.items() if many)
    return told_as.SampleUniques(
        depth=made.depth,
        records=int(np.count_nonzero(made.special.score)),
        by_size=tuple(by_size),
        combinations=tuple(
            told_as.Combination(columns=tuple(names[at] for at in columns), records=-less)
            for less, columns in somebody[:_SHOWN]
        ),
    )


def _special(made: Measured, fraction: float | None) -> told_as.SpecialUniques:
    score = made.special.score
    risks = np.zeros(0)
    if fraction is not None:
        risks = record_risks(score, made.seen.size, fraction, len(made.audited.codes))
    scored = risks[risks > 0.0]
    return told_as.SpecialUniques(
        dis=None if fraction is None else intrusion(made.seen.size, fraction),
        highest_score=float(score.max()),
        highest_risk=None if fraction is None else float(risks.max()),
        risk_quantiles={str(p): float(np.quantile(scored, p)) for p in _QUANTILES} if len(scored) else None,
    )


def _columns(made: Measured) -> tuple[told_as.IdentifyingColumn, ...]:
    audited, contribution = made.audited, made.special.contribution
    found = [
        told_as.IdentifyingColumn(
            column=one.name,
            distinct=len(np.unique(audited.codes[at][audited.codes[at] >= 0])),
            missing=int(np.count_nonzero(audited.codes[at] < 0)),
            contribution=float(contribution[at]),
            **asdict(made.without[at]),
        )
        for at, one in enumerate(audited.quasi_identifiers)
    ]
    return tuple(sorted(found, key=lambda one: (one.unique_without, one.classes_without, one.column)))


def _utility(made: Measured, k: int) -> told_as.Utility:
    records, own = made.audited.records, made.seen.classes.size
    average = records / len(own)
    everybody = records + made.audited.dropped
    return told_as.Utility(
        average_class_size=average,
        normalized_class_size=average / k,
        discernibility=int((own * made.seen.size).sum()) + made.audited.dropped * everybody,
        ncp=made.audited.ncp,
        not_measured=made.audited.not_measured,
    )


def _regions(spec: TableSpec, audited: Audited) -> told_as.RegionPopulation | None:
    if audited.region is None:
        return None
    found = classes(audited.region)
    stands_for = 1.0 if spec.sampling_fraction is None else 1.0 / spec.sampling_fraction
    weight = audited.weight if audited.weight is not None else np.full(audited.records, stands_for)
    people = np.bincount(found.of_record, weights=weight)
    return told_as.RegionPopulation(regions=len(people), least=float(people.min()))


def _sums(asked: SumsAudit, cells: Sums, audited: Audited) -> told_as.SumsResult:
    person = np.arange(audited.records) if audited.person is None else audited.person
    found = sensitive_cells(classes(cells.cell).of_record, person, cells.value, largest=asked.n)
    estimable, dominated = found.estimable(asked.p), found.dominated(asked.percent)
    return told_as.SumsResult(
        of=asked.of,
        by=asked.by,
        cells=len(found.contributors),
        few=int(np.count_nonzero(found.contributors < _FEW)),
        estimable=int(np.count_nonzero(estimable)),
        dominated=int(np.count_nonzero(dominated)),
        failing=int(np.count_nonzero(estimable | dominated)),
    )
