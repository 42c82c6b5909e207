"""What the audit `table` states."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract
from app.contracts.columns import SpecifiedColumn, SuppressedRecords, ValueDisclosure
from app.contracts.findings import AuditResult
from app.contracts.gate import MissingMatches


class ClassSize(Contract):
    """Equivalence classes of one size, counted."""

    size: int = Field(description="Number of records of each class.")
    classes: int = Field(description="How many classes have that size.")


class ClassCounts(Contract):
    """Equivalence classes of a table, counted."""

    count: int = Field(description="Different combinations of the quasi-identifiers.")
    histogram: tuple[ClassSize, ...] = Field(description="Number of classes by size, ascending.")


class RecursiveDiversity(Contract):
    """Recursive diversity: (c, l)-diverse for every c above this one."""

    l: int = Field(description="Parameter l of recursive (c, l)-diversity, at least 1.")  # noqa: E741 - the field's own name
    c: float = Field(description="Least c; every larger one is met too.")


class LDiversity(Contract):
    """Diversity of a sensitive column, or the least of all."""

    distinct: int = Field(
        description="Least distinct values in a class: spellings of one word are one, a missing value is none."
    )
    entropy: float = Field(description="Least exp(entropy) of a class.")
    recursive: RecursiveDiversity = Field(description="For the l that distinct diversity has.")


class TCloseness(Contract):
    """Largest distance of a class to the table."""

    value: float = Field(description="Ordered distance for numbers and dates, equal distance for others.")
    equal: float = Field(description="Half the sum of differences of shares.")
    ordered: float | None = Field(description="Earth mover's distance along the order of values; null: no order.")


class BetaLikeness(Contract):
    """Relative gain of a share."""

    basic: float = Field(description="Largest (p - q) / q over classes and values.")
    enhanced: float = Field(description="The bound min(basic, -ln q) of the rarest value.")
    enhanced_holds: bool = Field(description="Whether no value gains more than min(basic, -ln q).")


class SensitiveColumn(SpecifiedColumn):
    """The measures of one sensitive column."""

    value_count: int = Field(
        description="Different values; a missing one is one of them, spellings of one word are one."
    )
    alpha: float = Field(description="Largest share of one value among the records of a class that have one.")
    l_diversity: LDiversity = Field(description="Measured l-diversity of the column.")
    t_closeness: TCloseness = Field(description="Measured t-closeness of the column, from 0 to 1.")
    delta_disclosure: float = Field(description="Largest |ln(p / q)| over values that a class has.")
    absent_values: bool = Field(description="A class lacks a value: by the letter of the definition delta is infinite.")
    beta: BetaLikeness = Field(description="Measured beta-likeness of the column.")
    share_certain: float = Field(description="Share of records whose class has one value only.")
    share_nearly_certain: float = Field(description="Share of records whose class gives one value 0.9 or more.")


class AdversaryRisk(Contract):
    """Probabilities of success of one adversary."""

    highest: float = Field(description="Highest probability over all records, from 0 to 1.")
    average: float = Field(description="Mean probability over all records, from 0 to 1.")
    share_above: float = Field(description="Share of records whose risk is above the threshold.")


class ReidentificationRisks(Contract):
    """Chances of naming the person behind a record."""

    threshold: float = Field(description="As in the specification.")
    prosecutor: AdversaryRisk = Field(description="They know that their person is in the table.")
    journalist: AdversaryRisk = Field(description="They look for any person of the population.")
    marketer: AdversaryRisk = Field(description="They match every record; the average is the share they get right.")


class PopulationUniques(Contract):
    """Persons who are alone in the population, estimated."""

    sampling_fraction: float = Field(description="As given, or records by the sum of weights.")
    pitman: float | None = Field(description="By Pitman's sampling formula; null: it does not fit.")
    zayatz: float | None = Field(description="Expected number by Zayatz' estimate.")


class UniqueCombination(Contract):
    """Records that one set of columns singles out, and no part of it."""

    columns: tuple[str, ...] = Field(description="Names of the quasi-identifiers.")
    records: int = Field(description="Records that are minimally unique on them.")


class SampleUniques(Contract):
    """Minimal sample uniques of a table."""

    depth: int = Field(description="Columns of the largest sets that were looked at.")
    records: int = Field(description="Records that some set singles out.")
    by_size: tuple[int, ...] = Field(description="Minimal uniques of one column, of two, of three.")
    combinations: tuple[UniqueCombination, ...] = Field(description="Sets that single records out, most records first.")


class SpecialUniques(Contract):
    """Scores of special uniques (SUDA), and what they mean (DIS)."""

    dis: float | None = Field(
        description="Chance that a match of a unique is right; null: no record is unique, or no sample."
    )
    highest_score: float = Field(description="Largest score of a record.")
    highest_risk: float | None = Field(description="Largest DIS-SUDA score of a record; null without a sample.")
    risk_quantiles: dict[str, float] | None = Field(description="Of the DIS-SUDA scores above 0; null: there are none.")


class IdentifyingColumn(Contract):
    """How much one quasi-identifier identifies."""

    column: str = Field(description="Name of the quasi-identifier.")
    distinct: int = Field(description="Number of different values.")
    missing: int = Field(description="Number of records without a value.")
    unique_alone: int = Field(description="Records that it alone singles out.")
    unique_without: int = Field(description="Records that the others still single out.")
    k_without: int = Field(description="k of the table without this column.")
    classes_without: int = Field(description="Number of equivalence classes without this column.")
    contribution: float = Field(
        description="Share of the special uniques' scores that comes from sets with the column. A set counts for each "
        "of its columns, so shares may add up to more than 1."
    )


class ProposedColumn(Contract):
    """Records that one column alone singles out."""

    column: str = Field(description="Name of the column.")
    direct_identifier: bool = Field(
        description="It alone singles out nine of ten records, and is a name or a number that was assigned; a quantity "
        "or a day that is as fine is a quasi-identifier."
    )
    distinct: int = Field(description="Number of different values.")
    missing: int = Field(description="Number of records without a value.")
    unique_alone: int = Field(description="Records that it alone singles out.")
    unique_without: int | None = Field(
        description="Records that the others still single out; null of columns that alone single out nine of ten "
        "records: the others are measured without them."
    )
    contribution: float | None = Field(
        description="Share of the special uniques' scores from sets with the column; null as `unique_without`."
    )
    detail: str = Field(description="The finding as one sentence.")


class ProposedPair(Contract):
    """Records that two columns together single out."""

    columns: tuple[str, str] = Field(description="Names of the two columns.")
    unique: int = Field(description="Records that the two single out.")
    detail: str = Field(description="The finding as one sentence.")


class PossiblePersonColumn(Contract):
    """A column that may say whose record it is, which you are asked about."""

    column: str = Field(description="Name of the column.")
    distinct: int = Field(description="Number of different values.")
    rows_per_value: float = Field(description="Mean number of records that have one of its values.")
    constant_columns: tuple[str, ...] = Field(
        description="Columns that are the same within its values, beyond chance, none of which follows from another."
    )
    numbering_columns: tuple[str, ...] = Field(description="Columns that number the records of one value.")
    detail: str = Field(description="The finding as one sentence, and the question.")


class QuasiIdentifierProposal(Contract):
    """Which columns identify, where none were named. Nothing is anonymized, and no demand is checked on it."""

    direct_identifiers: tuple[str, ...] = Field(description="Columns to leave out of any release.")
    person_columns: tuple[PossiblePersonColumn, ...] = Field(
        default=(),
        description="Columns that may say whose record it is: name one as `person_column` if it does. They are no "
        "quasi-identifiers, and the others are measured without them.",
    )
    quasi_identifiers: tuple[str, ...] = Field(
        description="Columns that have a part in singling records out, most first."
    )
    columns: tuple[ProposedColumn, ...] = Field(description="Direct identifiers first, then by contribution.")
    pairs: tuple[ProposedPair, ...] = Field(description="Of the columns that contribute most; most records first.")


class TableUtility(Contract):
    """Accuracy that anonymization has cost."""

    average_class_size: float = Field(description="Mean number of records per class.")
    normalized_class_size: float = Field(description="The same by k: 1 is best.")
    discernibility: int = Field(
        description="Sum of squared class sizes; a record that was left out counts all records."
    )
    ncp: float | None = Field(
        description="Normalized certainty penalty of bounds, sets and missing cells, also as other programs write them "
        "(`20-39`, `[20, 40[`, `{a, b}`, `*`): 0 none, 1 all; null: it cannot be measured. Words are single values."
    )
    not_measured: tuple[str, ...] = Field(
        default=(), description="Columns whose cells do not state how much they leave open: why `ncp` is null."
    )


class RegionPopulation(Contract):
    """Population of the regions of a table."""

    region_count: int = Field(description="Number of different regions.")
    smallest_region: float = Field(description="Persons of the population in the smallest region.")


class SumsResult(Contract):
    """Cells of one table of sums."""

    of: str = Field(description="Name of the column that is summed.")
    by: tuple[str, ...] = Field(description="Names of the columns whose values define the cells.")
    cells: int = Field(description="Number of cells with at least one record.")
    few_contributors: int = Field(description="Number of cells with fewer than three contributors.")
    estimable: int = Field(description="Number of cells that fail the p %-rule.")
    dominated: int = Field(description="Number of cells that fail the rule of dominance.")
    sensitive_cells: int = Field(description="Number of cells that fail either rule.")
    first_sensitive_cells: tuple[dict[str, str | None], ...] = Field(
        default=(), description="The first 100 of these cells, each by the values of `by` as text. Null: missing."
    )


class TableResult(AuditResult):
    """Result of a `table` job; restricted to its owner."""

    method: Literal["table"] = Field(default="table", description="Method of the job that has this result.")
    records: int = Field(description="Records that were looked at.")
    suppressed: SuppressedRecords = Field(description="Records that were not looked at, by reason.")
    quasi_identifiers: tuple[str, ...] = Field(
        description="Quasi-identifiers that were measured. `age_lo` with `age_hi`, or `age_set`, counts as `age`."
    )
    missing_matches: MissingMatches = Field(description="As in the specification.")
    k: int = Field(description="Records (persons, with `person_column`) of the smallest class.")
    k_records: int = Field(description="Records of the smallest class.")
    classes: ClassCounts = Field(description="Equivalence classes of a table, counted.")
    unique: int = Field(description="Records that are alone in their class.")
    alpha: float | None = Field(
        description="Largest share of one value in a class, over all sensitive columns. Null if `sensitive` is empty."
    )
    l_diversity: LDiversity | None = Field(
        description="Least l-diversity over the sensitive columns. Null if `sensitive` is empty."
    )
    t_closeness: TCloseness | None = Field(
        description="Largest t-closeness over the sensitive columns. Null if `sensitive` is empty."
    )
    delta_disclosure: float | None = Field(
        description="Largest delta-disclosure over the sensitive columns. Null if `sensitive` is empty."
    )
    beta: BetaLikeness | None = Field(
        description="Largest beta-likeness over the sensitive columns. Null if `sensitive` is empty."
    )
    sensitive: tuple[SensitiveColumn, ...] = Field(description="Measures of each sensitive column.")
    value_disclosure: dict[str, ValueDisclosure] = Field(
        description="By quasi-identifier, the rows whose value every reader knows: from the cell, in a release of "
        "boxes also from means. A plain value is known."
    )
    risk: ReidentificationRisks = Field(description="Probabilities of success of adversaries.")
    population_k: float | None = Field(description="Least persons of the population in a class; null: not known.")
    population_uniques: PopulationUniques | None = Field(description="Null: the table is not said to be a sample.")
    sample_uniques: SampleUniques = Field(description="The smallest sets of columns that single records out.")
    special_uniques: SpecialUniques = Field(description="Special uniques with their SUDA and DIS scores.")
    quasi_identifier_risks: tuple[IdentifyingColumn, ...] = Field(description="By how much they identify, most first.")
    utility: TableUtility = Field(description="Accuracy that anonymization has cost.")
    regions: RegionPopulation | None = Field(description="Null: no region was named.")
    sums: tuple[SumsResult, ...] = Field(description="Tables of sums, in the order of the specification.")
    proposal: QuasiIdentifierProposal | None = Field(description="Where no quasi-identifiers were named; else null.")
    meaning: dict[str, str] = Field(description="Meaning of each measure, one sentence each.")
