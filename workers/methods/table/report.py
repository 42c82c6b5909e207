"""The audit `table`: everything measured, in the words of the contract."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import SuppressedRecords, ValueDisclosure
from app.contracts.findings import all_met
from app.contracts.gate import MissingMatches
from app.methods.table import result as table_results
from app.methods.table.spec import SumsAudit, TableSpec
from surebox_core.types import BoolArray, IntArray
from workers.algorithms.tables.classes import classes, histogram
from workers.algorithms.tables.magnitudes import sensitive_cells
from workers.algorithms.tables.population import population_uniques
from workers.algorithms.tables.risk import Risk, journalist, marketer, prosecutor
from workers.algorithms.tables.special_uniques import Special, intrusion, record_risks
from workers.methods.table.disclosed import Disclosed
from workers.methods.table.findings import demanded, noticed, verdict
from workers.methods.table.meanings import MEANING
from workers.methods.table.measures import Neighbourhoods, SensitiveExposure, Without
from workers.methods.table.reading import Audited, Sums

_QUANTILES = (0.5, 0.9, 0.99)
#: Combinations that are shown.
_SHOWN = 300
_FEW = 3
#: Failing cells of a table of sums that are named.
_MOST_CELLS = 100


@dataclass(frozen=True, slots=True)
class Measured:
    """All that was measured; see `runner.Auditing`."""

    audited: Audited
    seen: Neighbourhoods
    exposures: tuple[SensitiveExposure, ...]
    without: tuple[Without, ...]
    special: Special
    depth: int
    disclosed: Disclosed


def result(spec: TableSpec, made: Measured) -> table_results.TableResult:
    """The job's result."""
    audited, seen = made.audited, made.seen
    size = seen.size
    persons = size if audited.person is None else seen.distinct(audited.person)
    sensitive = tuple(_sensitive(one) for one in made.exposures)
    population = _population(spec, audited, seen)
    fraction = _fraction(spec, audited)
    measured = table_results.TableResult(
        records=audited.records,
        suppressed=SuppressedRecords(missing=audited.dropped),
        quasi_identifiers=tuple(one.name for one in audited.quasi_identifiers),
        missing_matches=MissingMatches(spec.missing_matches),
        k=int(persons.min()),
        k_records=int(size.min()),
        classes=_classes(size),
        unique=seen.unique,
        **_worst(sensitive),
        sensitive=sensitive,
        value_disclosure={name: ValueDisclosure(**asdict(one)) for name, one in made.disclosed.columns.items()},
        risk=_risks(seen, population, spec.threshold),
        population_k=None if population is None else float(population.min()),
        population_uniques=_population_uniques(seen, fraction),
        sample_uniques=_sample_uniques(made),
        special_uniques=_special(made, fraction),
        quasi_identifier_risks=_columns(made),
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
    return _judged(spec, measured, made)


def _classes(size: IntArray) -> table_results.ClassCounts:
    """How many classes there are, and how many of each size."""
    counts = zip(*histogram(size), strict=True)
    listed = tuple(table_results.ClassSize(size=int(one), classes=int(many)) for one, many in counts)
    return table_results.ClassCounts(count=len(size), histogram=listed)


def _judged(spec: TableSpec, measured: table_results.TableResult, made: Measured) -> table_results.TableResult:
    recursive = max((one.demanded for one in made.exposures if one.demanded is not None), default=None)
    demands, failed = demanded(spec, measured, recursive)
    answered = measured.model_copy(
        update={
            "passed": all_met(demands),
            "demands": demands,
            "findings": (
                *failed,
                *sorted(noticed(spec, measured, made.disclosed.generalized), key=lambda one: one.severity != "high"),
            ),
        }
    )
    return answered.model_copy(update={"verdict": verdict(answered)})


def _sensitive(one: SensitiveExposure) -> table_results.SensitiveColumn:
    measures = one.closeness
    equal, ordered = float(measures.equal.max()), float(measures.ordered.max())
    basic = float(measures.beta.max())
    rarest = float(np.bincount(one.column.codes).min() / len(one.column.codes))
    return table_results.SensitiveColumn(
        column=one.column.name,
        value_count=one.values,
        alpha=float(measures.top.max()),
        l_diversity=table_results.LDiversity(
            distinct=int(measures.distinct.min()),
            entropy=float(np.exp(measures.entropy.min())),
            recursive=table_results.RecursiveDiversity(l=max(int(measures.distinct.min()), 1), c=one.recursive),
        ),
        t_closeness=table_results.TCloseness(
            value=ordered if one.column.ordered else equal, equal=equal, ordered=ordered if one.column.ordered else None
        ),
        delta_disclosure=float(measures.delta.max()),
        absent_values=bool(measures.present.min() < one.values),
        beta=table_results.BetaLikeness(
            basic=basic, enhanced=min(basic, -float(np.log(rarest))), enhanced_holds=bool(measures.excess.max() <= 0.0)
        ),
        share_certain=one.whole.share_certain,
        share_nearly_certain=one.whole.share_nearly_certain,
    )


def _worst(columns: tuple[table_results.SensitiveColumn, ...]) -> dict[str, object]:
    """The worst of all sensitive columns, measure by measure."""
    if not columns:
        return dict.fromkeys(("alpha", "l_diversity", "t_closeness", "delta_disclosure", "beta"))
    closeness = [one.t_closeness for one in columns]
    ordered = [one.ordered for one in closeness if one.ordered is not None]
    return {
        "alpha": max(one.alpha for one in columns),
        "l_diversity": table_results.LDiversity(
            distinct=min(one.l_diversity.distinct for one in columns),
            entropy=min(one.l_diversity.entropy for one in columns),
            recursive=max((one.l_diversity.recursive for one in columns), key=lambda one: (-one.l, one.c)),
        ),
        "t_closeness": table_results.TCloseness(
            value=max(one.value for one in closeness),
            equal=max(one.equal for one in closeness),
            ordered=max(ordered, default=None),
        ),
        "delta_disclosure": max(one.delta_disclosure for one in columns),
        "beta": table_results.BetaLikeness(
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
    """Share of the population that is in the table, above 0 and at most 1."""
    if spec.sampling_fraction is not None or audited.weight is None:
        return spec.sampling_fraction
    return min(1.0, audited.records / float(audited.weight.sum()))


def _risks(
    seen: Neighbourhoods, population: NDArray[np.float64] | None, threshold: float
) -> table_results.ReidentificationRisks:
    size, records = seen.size, seen.classes.size
    people = size.astype(np.float64) if population is None else population

    def adversary(risk: Risk) -> table_results.AdversaryRisk:
        return table_results.AdversaryRisk(**asdict(risk))

    return table_results.ReidentificationRisks(
        threshold=threshold,
        prosecutor=adversary(prosecutor(size, records, threshold)),
        journalist=adversary(journalist(size, records, people, threshold)),
        marketer=adversary(marketer(size, records, people, threshold)),
    )


def _population_uniques(seen: Neighbourhoods, fraction: float | None) -> table_results.PopulationUniques | None:
    if fraction is None:
        return None
    estimates = population_uniques(*histogram(seen.classes.size), fraction)
    return table_results.PopulationUniques(sampling_fraction=fraction, **asdict(estimates))


def _sample_uniques(made: Measured) -> table_results.SampleUniques:
    names = [one.name for one in made.audited.quasi_identifiers]
    counts = made.special.counts
    by_size = [sum(many for columns, many in counts.items() if len(columns) == size + 1) for size in range(made.depth)]
    somebody = sorted((-many, columns) for columns, many in counts.items() if many)
    return table_results.SampleUniques(
        depth=made.depth,
        records=int(np.count_nonzero(made.special.score)),
        by_size=tuple(by_size),
        combinations=tuple(
            table_results.UniqueCombination(columns=tuple(names[at] for at in columns), records=-less)
            for less, columns in somebody[:_SHOWN]
        ),
    )


def _special(made: Measured, fraction: float | None) -> table_results.SpecialUniques:
    score = made.special.score
    risks = np.zeros(0)
    if fraction is not None:
        risks = record_risks(score, made.seen.size, fraction, len(made.audited.codes))
    scored = risks[risks > 0.0]
    return table_results.SpecialUniques(
        dis=None if fraction is None else intrusion(made.seen.size, fraction),
        highest_score=float(score.max()),
        highest_risk=None if fraction is None else float(risks.max()),
        risk_quantiles={str(p): float(np.quantile(scored, p)) for p in _QUANTILES} if len(scored) else None,
    )


def _columns(made: Measured) -> tuple[table_results.IdentifyingColumn, ...]:
    audited, contribution = made.audited, made.special.contribution
    columns = [
        table_results.IdentifyingColumn(
            column=one.name,
            distinct=len(np.unique(audited.codes[at][audited.codes[at] >= 0])),
            missing=int(np.count_nonzero(audited.codes[at] < 0)),
            contribution=float(contribution[at]),
            **asdict(made.without[at]),
        )
        for at, one in enumerate(audited.quasi_identifiers)
    ]
    return tuple(sorted(columns, key=lambda one: (one.unique_without, one.classes_without, one.column)))


def _utility(made: Measured, k: int) -> table_results.TableUtility:
    records, own = made.audited.records, made.seen.classes.size
    average = records / len(own)
    everybody = records + made.audited.dropped
    return table_results.TableUtility(
        average_class_size=average,
        normalized_class_size=average / k,
        discernibility=int((own * made.seen.size).sum()) + made.audited.dropped * everybody,
        ncp=made.audited.ncp,
        not_measured=made.audited.not_measured,
    )


def _regions(spec: TableSpec, audited: Audited) -> table_results.RegionPopulation | None:
    if audited.region is None:
        return None
    regions = classes(audited.region)
    stands_for = 1.0 if spec.sampling_fraction is None else 1.0 / spec.sampling_fraction
    weight = audited.weight if audited.weight is not None else np.full(audited.records, stands_for)
    people = np.bincount(regions.of_record, weights=weight)
    return table_results.RegionPopulation(region_count=len(people), smallest_region=float(people.min()))


def _sums(audit: SumsAudit, cells: Sums, audited: Audited) -> table_results.SumsResult:
    person = np.arange(audited.records) if audited.person is None else audited.person
    cell = classes(cells.cell).of_record
    measured = sensitive_cells(cell, person, cells.value, largest=audit.dominance.n)
    estimable, dominated = measured.estimable(audit.p_percent), measured.dominated(audit.dominance.percent)
    return table_results.SumsResult(
        of=audit.of,
        by=audit.by,
        cells=len(measured.contributors),
        few_contributors=int(np.count_nonzero(measured.contributors < _FEW)),
        estimable=int(np.count_nonzero(estimable)),
        dominated=int(np.count_nonzero(dominated)),
        sensitive_cells=int(np.count_nonzero(estimable | dominated)),
        first_sensitive_cells=_named_cells(audit, cells, cell, estimable | dominated),
    )


def _named_cells(
    audit: SumsAudit, cells: Sums, cell: IntArray, failing: BoolArray
) -> tuple[dict[str, str | None], ...]:
    """The values that define the failing cells, in the order of the values; of many the first."""
    numbers, first = np.unique(cell, return_index=True)
    codes = cells.cell[:, first[failing[numbers]]]
    shown = codes[:, np.lexsort(codes[::-1])[:_MOST_CELLS]]
    return tuple(
        {
            column: None if code < 0 else names[code]
            for column, names, code in zip(audit.by, cells.names, one, strict=True)
        }
        for one in shown.T
    )
