"""Types of answers and bodies: written by `make sdk` from openapi/openapi.json, never edited."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AdversaryRisk(TypedDict):
    highest: float
    average: float
    share_above: float


class Anonymity(TypedDict):
    min: float
    mean: float
    max: float
    evaluated: int


class ApiKey(TypedDict):
    id: str
    name: str
    scopes: list[str]
    expires_at: str | None
    renewable_until: str | None


class AssignmentSearch(TypedDict):
    method: Literal['assignment']


class AssignmentSearchSpec(TypedDict):
    method: Literal['assignment']


class AttackAfterSwaps(TypedDict):
    rule_count: int
    signal: list[float]
    crisp_signal: list[float]
    outliers: list[int]
    detected: list[int]


class BetaLikeness(TypedDict):
    basic: float
    enhanced: float
    enhanced_holds: bool


BoxBounds: TypeAlias = Literal['cells', 'grid', 'tight']


BoxDomainListOfDate: TypeAlias = list[str]


BoxDomainListOfNumber: TypeAlias = list[float]


BoxMeans: TypeAlias = Literal['none', 'rounded', 'exact']


BoxesMissingPolicy: TypeAlias = Literal['refuse', 'drop', 'pattern']


CellValue: TypeAlias = str | int | float | bool


class ClassSize(TypedDict):
    size: int
    classes: int


class ClassifierScope(TypedDict):
    records: int
    signal: list[float]
    outliers: list[int]
    detected: list[int]
    ranks: list[float]
    precision: float | None


class ClassifyResult(TypedDict):
    method: Literal['classify']
    classes: list[str]
    probabilities: list[dict[str, float]]


class ClassifySummary(TypedDict):
    method: Literal['classify']
    classes: NotRequired[list[str]]
    probabilities: NotRequired[list[dict[str, float]]]


class ColumnLikeness(TypedDict):
    column: str
    distance: float
    by_chance: float
    members_distance: float | None
    members_by_chance: float | None


ColumnType: TypeAlias = Literal['integer', 'number', 'string', 'boolean', 'date'] | str


ColumnValue: TypeAlias = bool | int | float | str | None


class ComposedColumn(TypedDict):
    column: str
    l_diversity: int
    alpha: float
    homogeneous: float


class ComposedDemands(TypedDict):
    k: float


class ComposedDemandsSpec(TypedDict):
    k: float


class CompositionDemands(TypedDict):
    k: NotRequired[float | None]
    candidates: NotRequired[float | None]
    expected: NotRequired[float | None]
    l: NotRequired[int | None]
    alpha: NotRequired[float | None]
    share_below: NotRequired[float | None]


class CompositionDemandsSpec(TypedDict):
    k: float | None
    candidates: float | None
    expected: float | None
    l: int | None
    alpha: float | None
    share_below: float | None


class CompositionGate(TypedDict):
    method: Literal['composition']
    require: ComposedDemands
    join_columns: NotRequired[dict[str, str]]


class CompositionGateSpec(TypedDict):
    method: Literal['composition']
    require: ComposedDemandsSpec
    join_columns: dict[str, str]


class CondensationStatistics(TypedDict):
    method: Literal['condensation']
    statistics: list[dict[str, Any]]


class DatasetChanges(TypedDict):
    name: NotRequired[str]
    tags: NotRequired[dict[str, str]]


DatasetState: TypeAlias = Literal['ingesting', 'ready', 'failed', 'deleted'] | str


DensityAxes: TypeAlias = Literal['global', 'local', 'rotated']


DensityAxesSpec: TypeAlias = Literal['global', 'local', 'rotated'] | str


DensityFamily: TypeAlias = Literal['gaussian', 'uniform']


DensityFamilySpec: TypeAlias = Literal['gaussian', 'uniform'] | str


class DeterminationDemands(TypedDict):
    share_single_value: NotRequired[float | None]
    share_certain: NotRequired[float | None]
    share_nearly_certain: NotRequired[float | None]
    t: NotRequired[float | None]


class DeterminationDemandsSpec(TypedDict):
    share_single_value: float | None
    share_certain: float | None
    share_nearly_certain: float | None
    t: float | None


class DeterminationGate(TypedDict):
    method: Literal['determination']
    require: DeterminationDemands
    value_step: NotRequired[dict[str, float]]


class DeterminationGateSpec(TypedDict):
    method: Literal['determination']
    require: DeterminationDemandsSpec
    value_step: dict[str, float]


class DeterminationRequest(TypedDict):
    method: Literal['determination']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: list[str]
    value_step: NotRequired[dict[str, float]]
    require: NotRequired[DeterminationDemands | None]


class DeterminationSpec(TypedDict):
    method: Literal['determination']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_ids: list[str]
    value_step: dict[str, float]
    require: DeterminationDemandsSpec | None


class DeterminedColumn(TypedDict):
    column: str
    share_single_value: float
    mean_values: float | None


DistributionDistance: TypeAlias = Literal['equal', 'ordered']


DistributionDistanceSpec: TypeAlias = Literal['equal', 'ordered'] | str


class DominanceRule(TypedDict):
    n: NotRequired[int]
    percent: NotRequired[float]


class DominanceRuleSpec(TypedDict):
    n: int
    percent: float


class DrivingColumn(TypedDict):
    column: str
    auc_lost: float


class EnvelopeSignature(TypedDict):
    keyid: str
    sig: str


class EvolutionSearch(TypedDict):
    method: Literal['evolution']
    population: NotRequired[int]
    replaced: NotRequired[int]
    tournament: NotRequired[int]
    crossover: NotRequired[float]
    mutation: NotRequired[float]
    generations: NotRequired[int]
    runs: NotRequired[int]
    diversity: NotRequired[bool]
    paper: NotRequired[bool]


class EvolutionSearchSpec(TypedDict):
    method: Literal['evolution']
    population: int
    replaced: int
    tournament: int
    crossover: float
    mutation: float
    generations: int
    runs: int
    diversity: bool
    paper: bool


class ExcludedRecords(TypedDict):
    records: int
    missing: dict[str, int]
    out_of_range: dict[str, int]


class ExhaustiveSearch(TypedDict):
    method: Literal['exhaustive']


class ExhaustiveSearchSpec(TypedDict):
    method: Literal['exhaustive']


class FamilyDataset(TypedDict):
    dataset_id: str
    name: str
    created_at: str
    reason: str


class FieldProblem(TypedDict):
    pointer: str
    detail: str


FileFormat: TypeAlias = Literal['csv', 'tsv', 'parquet', 'ndjson'] | str


FindingSeverity: TypeAlias = Literal['high', 'medium', 'low'] | str


class FitnessByGeneration(TypedDict):
    best: list[float]
    mean: list[float]
    spread: list[float]


class FrontierRecordCounts(TypedDict):
    k: int
    measured: int


class FuzzyRule(TypedDict):
    terms: list[int]
    text: str
    discriminative_factor: float
    relative_confidence_factor: float | None
    infinite: bool
    support: float


class GaussianTerm(TypedDict):
    name: str
    shape: Literal['gaussian']
    sigma: float
    centre: float


class GaussianTermSpec(TypedDict):
    name: str
    shape: Literal['gaussian']
    sigma: float
    centre: float


class GroupCondition(TypedDict):
    column: str
    values: list[CellValue]


class GroupConditionSpec(TypedDict):
    column: str
    values: list[CellValue]


class GroupLikeness(TypedDict):
    columns: list[ColumnLikeness]
    unlike_columns: int
    detail: str


class GroupRecordCounts(TypedDict):
    auxiliary: int
    members: int
    target: int
    target_members: int | None
    excluded: dict[str, ExcludedRecords]


GroupSearch: TypeAlias = EvolutionSearch | ExhaustiveSearch


GroupSearchSpec: TypeAlias = EvolutionSearchSpec | ExhaustiveSearchSpec


class GuessedValues(TypedDict):
    share: float
    baseline: float
    tolerance: float | None


class Health(TypedDict):
    status: Literal['ok']


HiddenGroupList: TypeAlias = list[GroupCondition]


HiddenGroupSpecList: TypeAlias = list[GroupConditionSpec]


class Hierarchy(TypedDict):
    levels: NotRequired[list[str]]
    rows: NotRequired[list[list[str]]]
    csv: NotRequired[str | None]


class HierarchySpec(TypedDict):
    levels: list[str]
    rows: list[list[str]]
    csv: str | None


class HomogeneousColumn(TypedDict):
    column: str
    share_certain: float
    share_nearly_certain: float
    t_closeness: float
    attribution: float
    baseline: float


class IdentifyingColumn(TypedDict):
    column: str
    distinct: int
    missing: int
    unique_alone: int
    unique_without: int
    k_without: int
    classes_without: int
    contribution: float


class InfluenceDemands(TypedDict):
    slope: NotRequired[float | None]
    change: NotRequired[float | None]


class InfluenceDemandsSpec(TypedDict):
    slope: float | None
    change: float | None


class InfluenceRequest(TypedDict):
    method: Literal['influence']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: list[str]
    dataset_id: NotRequired[str | None]
    records: NotRequired[int]
    require: NotRequired[InfluenceDemands | None]


class InfluenceSpec(TypedDict):
    method: Literal['influence']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_ids: list[str]
    dataset_id: str | None
    records: int
    require: InfluenceDemandsSpec | None


class JobEstimate(TypedDict):
    cpu_seconds: float
    memory_bytes: int
    release_bytes: int | None
    scratch_bytes: int | None


JobKind: TypeAlias = Literal['anonymization', 'audit', 'query', 'publication', 'report']


class JobProgress(TypedDict):
    fraction: float
    stage: (
        Literal[
            'queued',
            'starting',
            'waiting',
            'parts',
            'done',
            'failed',
            'cancelled',
            'read',
            'check',
            'gate',
            'composition',
            'release',
            'report',
            'influence',
            'partition',
            'bounds',
            'uncertainty',
            'ranges',
            'boxes',
            'places',
            'unions',
            'calibration',
            'groups',
            'records',
            'draw',
            'anonymity',
            'patterns',
            'search',
            'rules',
            'profile',
            'scores',
            'classifiers',
            'attack',
            'attack_again',
            'joint_attack',
            'assignment',
            'who_leaves',
            'nearest_partners',
            'generations',
            'classes',
            'classify',
            'count',
            'statistics',
            'uniques',
        ]
        | str
    )
    detail: str | None


class JobReportResult(TypedDict):
    html: str
    method: Literal['job_report']


class JobReportSpec(TypedDict):
    method: Literal['job_report']
    seed: Literal['given'] | None
    tags: dict[str, str]
    job_id: str
    release_id: str | None


class JobReportSummary(TypedDict):
    html: NotRequired[str]
    method: Literal['job_report']


JobState: TypeAlias = (
    Literal['queued', 'running', 'succeeded', 'failed', 'cancelled'] | str
)


class JobWarning(TypedDict):
    code: (
        Literal[
            'one_column',
            'charset_detected',
            'header_like_data',
            'nearly_numeric',
            'nearly_date',
            'nearly_boolean',
            'two_readings',
            'ordered_words',
            'suspect_rows',
            'whole_numbers',
            'empty_texts',
            'spreadsheet_cells',
            'other_spellings',
            'normal_form',
            'column_never_cut',
            'least_width_lowered',
            'one_box',
            'range_says_nothing',
            'range_stays_wide',
            'classes_estimated',
            'statistics_compete',
            'kept_below_k',
            'counts_as_withheld',
            'values_certain',
            'most_records_left_out',
            'values_merged',
            'rare_values_left_out',
            'most_changes_wait',
            'types_inferred',
            'k_of_one',
            'linkage',
            'zero_scale',
            'scale_of_few',
            'wide_noise',
            'classifiers_not_trained',
            'much_anonymity',
        ]
        | str
    )
    pointer: str | None
    detail: str


JoiningColumnsList: TypeAlias = list[str]


JoiningColumnsMap: TypeAlias = dict[str, str]


class JointMatching(TypedDict):
    mean_posterior: float
    share_rank_1: float
    share_posterior_above_half: float
    precision_above_half: float | None


LeastWidths: TypeAlias = Literal['auto', 'none']


LimitedResource: TypeAlias = (
    Literal['rows', 'bytes', 'datasets', 'releases', 'jobs', 'cpu_seconds'] | str
)


class LinkageDemands(TypedDict):
    mean_rank: NotRequired[float | None]
    share_rank_1: NotRequired[float | None]
    share_below_k: NotRequired[float | None]
    mean_posterior: NotRequired[float | None]
    share_posterior_above_half: NotRequired[float | None]


class LinkageDemandsSpec(TypedDict):
    mean_rank: float | None
    share_rank_1: float | None
    share_below_k: float | None
    mean_posterior: float | None
    share_posterior_above_half: float | None


class LinkageGate(TypedDict):
    method: Literal['linkage']
    require: LinkageDemands


class LinkageGateSpec(TypedDict):
    method: Literal['linkage']
    require: LinkageDemandsSpec


class LinkageRanks(TypedDict):
    mean_rank: float
    rank_quantiles: dict[str, float]
    share_rank_1: float
    share_below_k: float
    mean_posterior: float | None
    intervals: dict[str, list[float]] | None


class LinkageRequest(TypedDict):
    method: Literal['linkage']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_id: NotRequired[str | None]
    release_ids: NotRequired[list[str]]
    knowledge_dataset_id: NotRequired[str | None]
    original_dataset_id: NotRequired[str | None]
    require: NotRequired[LinkageDemands | None]


class LinkageSpec(TypedDict):
    method: Literal['linkage']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_id: str | None
    release_ids: list[str]
    knowledge_dataset_id: str | None
    original_dataset_id: str | None
    require: LinkageDemandsSpec | None


LogAction: TypeAlias = (
    Literal[
        'published',
        'accepted',
        'withdrawn',
        'shared',
        'read',
        'erased',
        'declared',
        'confirmed',
        'configured',
        'uploaded',
        'submitted',
        'cancelled',
        'ended',
        'deleted',
        'downloaded',
        'refused',
        'key_created',
        'key_renewed',
        'key_revoked',
        'signing_key_rotated',
        'signing_key_revoked',
        'secret_rotated',
        'quota_changed',
    ]
    | str
)


class LogEntry(TypedDict):
    sequence: int | None
    created_at: str
    key_id: str | None
    action: LogAction
    subject: str
    facts: dict[str, Any]
    previous: str | None
    hash: str | None


class LogList(TypedDict):
    items: list[LogEntry]
    next_cursor: str | None


class MeasuredDemand(TypedDict):
    required: float
    measured: float | None
    met: bool


MeasuredRowsList: TypeAlias = list[int]


MinScaleMap: TypeAlias = dict[str, float]


MissingMatches: TypeAlias = Literal['own_value', 'matches_anything', 'drop_records']


MissingMatchesSpec: TypeAlias = (
    Literal['own_value', 'matches_anything', 'drop_records'] | str
)


MissingPolicy: TypeAlias = Literal['refuse', 'drop']


MutationProbabilityList: TypeAlias = list[float]


NamedClass = TypedDict(
    'NamedClass',
    {
        'class': str,
    },
)


NamedClassSpec = TypedDict(
    'NamedClassSpec',
    {
        'class': str,
    },
)


class NamedValue(TypedDict):
    value: ColumnValue


class NamedValueSpec(TypedDict):
    value: ColumnValue


class NominalColumn(TypedDict):
    values: NotRequired[list[ColumnValue] | None]
    hierarchy: NotRequired[Hierarchy | None]
    missing_is_value: NotRequired[bool]


class NominalColumnSpec(TypedDict):
    values: list[ColumnValue] | None
    hierarchy: HierarchySpec | None
    missing_is_value: bool


NumericEnd: TypeAlias = int | float | None


class OverlayDiversity(TypedDict):
    l_diversity: int
    alpha: float
    homogeneous: float


class OwnerChanges(TypedDict):
    jobs_may_publish: NotRequired[bool | None]


class OwnerSettings(TypedDict):
    owner: str
    jobs_may_publish: bool
    key: ApiKey


PartitionMethod: TypeAlias = Literal['optimal', 'fast', 'mondrian']


class PendingChanges(TypedDict):
    boxes: int
    records_in_no_box: int


People: TypeAlias = Literal['same', 'other']


PeopleSpec: TypeAlias = Literal['same', 'other'] | str


class PointsTerm(TypedDict):
    name: str
    shape: Literal['trapezoid', 'triangle', 'pi', 's', 'z', 'range']
    points: list[float]


class PointsTermSpec(TypedDict):
    name: str
    shape: Literal['trapezoid', 'triangle', 'pi', 's', 'z', 'range'] | str
    points: list[float]


class PopulationUniques(TypedDict):
    sampling_fraction: float
    pitman: float | None
    zayatz: float | None


class PossiblePersonColumn(TypedDict):
    column: str
    distinct: int
    rows_per_value: float
    constant_columns: list[str]
    numbering_columns: list[str]
    detail: str


class PrecisionAtRecall(TypedDict):
    recall: float
    precision: float


class ProblemKind(TypedDict):
    type: (
        Literal[
            '/problems/internal-error',
            '/problems/bad-request',
            '/problems/unauthorized',
            '/problems/forbidden',
            '/problems/key-not-renewable',
            '/problems/quota-exceeded',
            '/problems/not-found',
            '/problems/method-not-allowed',
            '/problems/not-acceptable',
            '/problems/request-timeout',
            '/problems/conflict',
            '/problems/job-unfinished',
            '/problems/job-without-result',
            '/problems/dataset-in-use',
            '/problems/release-in-use',
            '/problems/job-in-use',
            '/problems/unresolved-findings',
            '/problems/published-meanwhile',
            '/problems/publishing-held',
            '/problems/request-in-flight',
            '/problems/gone',
            '/problems/result-erased',
            '/problems/too-large',
            '/problems/unsupported-media-type',
            '/problems/range-not-satisfiable',
            '/problems/invalid',
            '/problems/unreadable',
            '/problems/infeasible',
            '/problems/idempotency-mismatch',
            '/problems/too-many-requests',
            '/problems/too-many-jobs',
            '/problems/head-too-large',
            '/problems/job-too-large',
            '/problems/too-much-work',
            '/problems/storage-full',
            '/problems/storage-unavailable',
            '/problems/storage-damaged',
            '/problems/unavailable',
            '/problems/not-trusted',
            '/problems/attempts-exhausted',
            '/problems/time-limit',
            '/problems/memory-limit',
            '/problems/fenced',
            '/problems/cannot-start',
        ]
        | str
    )
    title: str
    status: int
    cause: str
    remedy: str


class ProfiledSignal(TypedDict):
    name: (
        Literal[
            'members',
            'sum',
            'near',
            'near_ratio',
            'rules',
            'confident',
            'members_share',
            'rules_share',
            'confident_share',
            'outlier_count',
            'mean_rank',
            'best_rank',
            'worst_rank',
            'rank_spread',
            'top_count',
            'below_top',
            'rules_contrast',
            'confident_contrast',
            'grade_contrast',
            'number_contrast',
        ]
        | str
    )
    alpha: float
    rules: int | None
    outliers: list[int]
    detected: list[int]
    exposed: list[int]
    auc: float | None
    auc_deviation: float | None
    highest: float | None
    highest_deviation: float | None
    lowest: float | None
    lowest_deviation: float | None
    values: list[float]
    degenerate: bool
    ranks: list[float]
    precision: float | None


class ProposedColumn(TypedDict):
    column: str
    direct_identifier: bool
    distinct: int
    missing: int
    unique_alone: int
    unique_without: int | None
    contribution: float | None
    detail: str


class ProposedPair(TypedDict):
    columns: list[str]
    unique: int
    detail: str


PublicationMode: TypeAlias = Literal['auto', 'draft']


class PublicationResult(TypedDict):
    method: Literal['publication']
    release_id: str


class QuantileLabels(TypedDict):
    estimate: ColumnValue | None
    guaranteed: list[ColumnValue] | None
    attained: list[ColumnValue] | None


class QuasiIdentifierProposal(TypedDict):
    direct_identifiers: list[str]
    person_columns: list[PossiblePersonColumn]
    quasi_identifiers: list[str]
    columns: list[ProposedColumn]
    pairs: list[ProposedPair]


class QueryCount(TypedDict):
    estimate: float
    standard_error: float | None
    guaranteed: list[int] | None


class Quota(TypedDict):
    resource: LimitedResource
    used: float | None
    limit: float
    requested: NotRequired[float | None]
    counts: str
    freed_by: str


RareRecords: TypeAlias = Literal['keep', 'mark', 'suppress', 'weigh']


class ReadOptions(TypedDict):
    format: FileFormat
    delimiter: str | None
    quote: str | None
    header: bool
    column: list[str]
    skip_rows: int
    comment: str | None
    trim: bool
    missing_values: list[str]
    type: dict[str, ColumnType]
    decimal: str | None
    thousands: str | None
    date_format: str | None
    charset: str | None


RecodedValue: TypeAlias = str | int | float | None


RecodedValues: TypeAlias = dict[str, RecodedValue]


class RecordDistance(TypedDict):
    ordinal: NotRequired[dict[str, float]]
    categorical: NotRequired[dict[str, float]]


class RecordDistanceSpec(TypedDict):
    ordinal: dict[str, float]
    categorical: dict[str, float]


class RecordHalfWidths(TypedDict):
    row: int
    cost: float
    density: float | None
    half_widths: dict[str, float]
    rare_by_density: float
    rare_by_influence: float
    at_resolution: bool


class RecursiveDemand(TypedDict):
    c: float
    l: int


class RecursiveDemandSpec(TypedDict):
    c: float
    l: int


class RecursiveDiversity(TypedDict):
    l: int
    c: float


RegionList: TypeAlias = list[CellValue]


class RegionPopulation(TypedDict):
    region_count: int
    smallest_region: float


RegionSpec: TypeAlias = list[CellValue]


class RegionSplitPart(TypedDict):
    value: CellValue
    group_share: float
    outliers: list[int] | None
    misses: list[int] | None
    auxiliary_outliers: list[int]
    false_alarms: list[int] | None


class RegionalChange(TypedDict):
    column: str
    statistic: Literal['mean', 'shares'] | str
    largest_change: float
    region_index: int
    mean_before: float | None
    mean_after: float | None
    median_change: float


class RegionalUtility(TypedDict):
    exchanged_regions: int
    columns: list[RegionalChange]
    altered_values: int
    share_altered: float


class ReidentificationRisks(TypedDict):
    threshold: float
    prosecutor: AdversaryRisk
    journalist: AdversaryRisk
    marketer: AdversaryRisk


class ReleaseColumn(TypedDict):
    name: str
    type: Literal['integer', 'number', 'string', 'boolean', 'date', 'list'] | str
    plain_in_csv: bool | None


ReleaseFormat: TypeAlias = Literal['csv', 'parquet', 'ndjson', 'csv.gz', 'csv.excel']


ReleaseFormatSpec: TypeAlias = (
    Literal['csv', 'parquet', 'ndjson', 'csv.gz', 'csv.excel'] | str
)


ReleaseReadersList: TypeAlias = list[str]


class ReleaseReportResult(TypedDict):
    html: str
    method: Literal['release_report']


class ReleaseReportSpec(TypedDict):
    method: Literal['release_report']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_id: str


class ReleaseReportSummary(TypedDict):
    html: NotRequired[str]
    method: Literal['release_report']


ReleaseState: TypeAlias = Literal['draft', 'published', 'withdrawn'] | str


class ReleasedFile(TypedDict):
    sha256: str
    bytes: int
    media_type: str


ReleasedWeights: TypeAlias = Literal['box', 'row']


class RenewedKey(TypedDict):
    id: str
    name: str
    scopes: list[str]
    expires_at: str | None
    renewable_until: str | None
    key: str
    former_key_id: str
    former_ends_at: str


class RevokedKey(TypedDict):
    revoked_at: int
    reason: str


class RulesModelRule(TypedDict):
    terms: list[int]


class RulesModelRuleSpec(TypedDict):
    terms: list[int]


ScaleSharing: TypeAlias = Literal['common', 'levels', 'shared', 'per_record']


ScaleSharingSpec: TypeAlias = Literal['common', 'levels', 'shared', 'per_record'] | str


class ServiceReady(TypedDict):
    status: Literal['ready']


class SignalAdequacy(TypedDict):
    hits: int
    misses: int
    false_alarms: int
    correct_rejections: int
    prediction_accuracy: float | None
    log_bayes_factor: float | None
    bayes_t1: int | None
    bayes_t2: int | None
    interpretation: str | None
    sensitivity: float | None
    specificity: float | None
    precision: float | None
    informedness: float | None
    markedness: float | None


class SignalCheck(TypedDict):
    name: (
        Literal[
            'members',
            'sum',
            'near',
            'near_ratio',
            'rules',
            'confident',
            'members_share',
            'rules_share',
            'confident_share',
            'outlier_count',
            'mean_rank',
            'best_rank',
            'worst_rank',
            'rank_spread',
            'top_count',
            'below_top',
            'rules_contrast',
            'confident_contrast',
            'grade_contrast',
            'number_contrast',
        ]
        | str
    )
    alpha: float
    rules: int | None
    outliers: list[int]
    detected: list[int]
    exposed: list[int]
    auc: float | None
    auc_deviation: float | None
    highest: float | None
    highest_deviation: float | None
    lowest: float | None
    lowest_deviation: float | None
    precision: float


SignalKind: TypeAlias = Literal['quantity', 'concentration']


SignalKindSpec: TypeAlias = Literal['quantity', 'concentration'] | str


class SignedEnvelope(TypedDict):
    payload: str
    payloadType: str
    signatures: list[EnvelopeSignature]


class SpecialUniques(TypedDict):
    dis: float | None
    highest_score: float
    highest_risk: float | None
    risk_quantiles: dict[str, float] | None


StatisticBase: TypeAlias = (
    Literal['records', 'records_with_value', 'weighted', 'weighted_with_value'] | str
)


StatisticKind: TypeAlias = Literal[
    'mean',
    'variance',
    'standard_deviation',
    'covariance',
    'correlation',
    'regression',
    'prediction',
    'share',
    'crosstab',
    'domain_mean',
    'quantile',
]


StatisticKindSpec: TypeAlias = (
    Literal[
        'mean',
        'variance',
        'standard_deviation',
        'covariance',
        'correlation',
        'regression',
        'prediction',
        'share',
        'crosstab',
        'domain_mean',
        'quantile',
    ]
    | str
)


class SumsAudit(TypedDict):
    of: str
    by: list[str]
    p_percent: NotRequired[float]
    dominance: NotRequired[DominanceRule]


class SumsAuditSpec(TypedDict):
    of: str
    by: list[str]
    p_percent: float
    dominance: DominanceRuleSpec


class SumsResult(TypedDict):
    of: str
    by: list[str]
    cells: int
    few_contributors: int
    estimable: int
    dominated: int
    sensitive_cells: int
    first_sensitive_cells: list[dict[str, str | None]]


class SuppressedRecords(TypedDict):
    missing: int
    rare: int
    rare_class: int


SuppressionObjective: TypeAlias = Literal['bias_aware', 'paper']


class SwapRun(TypedDict):
    swap_count: int
    distortion: float
    fitness: float | None
    valid: bool
    valid_share: float | None
    valid_mean_distortion: float | None
    added_swaps: int


class SwapsStatistics(TypedDict):
    method: Literal['swaps']
    statistics: list[dict[str, Any]]


class TCloseness(TypedDict):
    value: float
    equal: float
    ordered: float | None


class TableDemands(TypedDict):
    k: NotRequired[int | None]
    l: NotRequired[int | None]
    entropy_l: NotRequired[float | None]
    recursive: NotRequired[RecursiveDemand | None]
    alpha: NotRequired[float | None]
    t: NotRequired[float | None]
    delta: NotRequired[float | None]
    beta: NotRequired[float | None]
    enhanced_beta: NotRequired[float | None]
    unique: NotRequired[int | None]
    sample_uniques: NotRequired[float | None]
    dis_suda: NotRequired[float | None]
    prosecutor: NotRequired[float | None]
    journalist: NotRequired[float | None]
    marketer: NotRequired[float | None]
    population_k: NotRequired[float | None]
    population_uniques: NotRequired[float | None]
    region_population: NotRequired[float | None]
    share_certain: NotRequired[float | None]
    sensitive_cells: NotRequired[int | None]
    exact: NotRequired[float | None]
    within: NotRequired[float | None]


class TableDemandsSpec(TypedDict):
    k: int | None
    l: int | None
    entropy_l: float | None
    recursive: RecursiveDemandSpec | None
    alpha: float | None
    t: float | None
    delta: float | None
    beta: float | None
    enhanced_beta: float | None
    unique: int | None
    sample_uniques: float | None
    dis_suda: float | None
    prosecutor: float | None
    journalist: float | None
    marketer: float | None
    population_k: float | None
    population_uniques: float | None
    region_population: float | None
    share_certain: float | None
    sensitive_cells: int | None
    exact: float | None
    within: float | None


class TableGate(TypedDict):
    method: Literal['table']
    require: TableDemands
    quasi_identifiers: NotRequired[list[str]]
    sensitive: NotRequired[list[str]]
    missing_matches: NotRequired[MissingMatches]
    sampling_fraction: NotRequired[float | None]
    survey_weight_column: NotRequired[str | None]
    person_column: NotRequired[str | None]
    tolerances: NotRequired[dict[str, float]]


class TableGateSpec(TypedDict):
    method: Literal['table']
    require: TableDemandsSpec
    quasi_identifiers: list[str]
    sensitive: list[str]
    missing_matches: Literal['own_value', 'matches_anything', 'drop_records'] | str
    sampling_fraction: float | None
    survey_weight_column: str | None
    person_column: str | None
    tolerances: dict[str, float]


class TableRequest(TypedDict):
    method: Literal['table']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str | None]
    release_id: NotRequired[str | None]
    quasi_identifiers: NotRequired[list[str]]
    sensitive: NotRequired[list[str]]
    missing_matches: NotRequired[MissingMatches]
    sampling_fraction: NotRequired[float | None]
    person_column: NotRequired[str | None]
    frequency_column: NotRequired[str | None]
    frequencies_are_exact: NotRequired[bool]
    survey_weight_column: NotRequired[str | None]
    region_columns: NotRequired[list[str]]
    sums: NotRequired[list[SumsAudit]]
    tolerances: NotRequired[dict[str, float]]
    microaggregated: NotRequired[list[str]]
    threshold: NotRequired[float]
    require: NotRequired[TableDemands | None]


class TableSpec(TypedDict):
    method: Literal['table']
    seed: Literal['given'] | None
    tags: dict[str, str]
    dataset_id: str | None
    release_id: str | None
    quasi_identifiers: list[str]
    sensitive: list[str]
    missing_matches: Literal['own_value', 'matches_anything', 'drop_records'] | str
    sampling_fraction: float | None
    person_column: str | None
    frequency_column: str | None
    frequencies_are_exact: bool
    survey_weight_column: str | None
    region_columns: list[str]
    sums: list[SumsAuditSpec]
    tolerances: dict[str, float]
    microaggregated: list[str]
    threshold: float
    require: TableDemandsSpec | None


class TableUtility(TypedDict):
    average_class_size: float
    normalized_class_size: float
    discernibility: int
    ncp: float | None
    not_measured: list[str]


TypeSource: TypeAlias = Literal['declared', 'file', 'data'] | str


class Uncertainty(TypedDict):
    privacy: float
    statistical: float
    asymptotic: float | None


class UniqueCombination(TypedDict):
    columns: list[str]
    records: int


class UnreachedTerm(TypedDict):
    column: str
    term: str
    dataset: Literal['auxiliary', 'target'] | str


class Usage(TypedDict):
    owner: str
    quotas: list[Quota]


class ValueDisclosure(TypedDict):
    exact: float
    within: float | None
    tolerance: float | None
    estimable: float | None


ValueName: TypeAlias = ColumnValue | NamedValue | NamedClass


ValueNameSpec: TypeAlias = ColumnValue | NamedValueSpec | NamedClassSpec


ValueRange: TypeAlias = list[float]


class ValueSet(TypedDict):
    values: list[ValueName]


class ValueSetSpec(TypedDict):
    values: list[ValueNameSpec]


WidthExemption: TypeAlias = (
    Literal['few_values', 'one_value', 'settings', 'family', 'not_demanded'] | str
)


WidthSource: TypeAlias = Literal['named', 'scale', 'family'] | str


class WithdrawRequest(TypedDict):
    reason: NotRequired[str | None]


class LinkageOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_id: NotRequired[str | None]
    release_ids: NotRequired[list[str]]
    knowledge_dataset_id: NotRequired[str | None]
    original_dataset_id: NotRequired[str | None]
    require: NotRequired[LinkageDemands | None]


class TableOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str | None]
    release_id: NotRequired[str | None]
    quasi_identifiers: NotRequired[list[str]]
    sensitive: NotRequired[list[str]]
    missing_matches: NotRequired[MissingMatches]
    sampling_fraction: NotRequired[float | None]
    person_column: NotRequired[str | None]
    frequency_column: NotRequired[str | None]
    frequencies_are_exact: NotRequired[bool]
    survey_weight_column: NotRequired[str | None]
    region_columns: NotRequired[list[str]]
    sums: NotRequired[list[SumsAudit]]
    tolerances: NotRequired[dict[str, float]]
    microaggregated: NotRequired[list[str]]
    threshold: NotRequired[float]
    require: NotRequired[TableDemands | None]


class DeterminationOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    value_step: NotRequired[dict[str, float]]
    require: NotRequired[DeterminationDemands | None]


class InfluenceOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    dataset_id: NotRequired[str | None]
    records: NotRequired[int]
    require: NotRequired[InfluenceDemands | None]


class UploadOptions(TypedDict):
    format: NotRequired[Literal['csv', 'tsv', 'parquet', 'ndjson'] | None]
    delimiter: NotRequired[str | None]
    quote: NotRequired[str | None]
    header: NotRequired[bool]
    column: NotRequired[list[str]]
    skip_rows: NotRequired[int]
    comment: NotRequired[str | None]
    trim: NotRequired[bool]
    missing_values: NotRequired[list[str]]
    decimal: NotRequired[str | None]
    thousands: NotRequired[str | None]
    charset: NotRequired[str | None]
    date_format: NotRequired[str | None]
    same_data_as_dataset_id: NotRequired[str | None]
    version_of_dataset_id: NotRequired[str | None]
    new_family: NotRequired[bool]


BoxDomain: TypeAlias = BoxDomainListOfNumber | BoxDomainListOfDate


class ClassCounts(TypedDict):
    count: int
    histogram: list[ClassSize]


class ClassifyRequest(TypedDict):
    target: str
    neighbours: NotRequired[int]
    points: list[dict[str, ValueName]]


class ClassifySpec(TypedDict):
    method: Literal['classify']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_id: str
    target: str
    neighbours: int
    points: list[dict[str, ValueNameSpec]]


class CoreStatisticOfNumber(TypedDict):
    labels: NotRequired[QuantileLabels | None]
    sharp: bool
    gap: float | None
    value_known: NotRequired[bool | None]
    reason: NotRequired[str | None]
    base: NotRequired[StatisticBase | None]
    n: NotRequired[int | None]
    estimate: float | None
    first_order: ValueRange | None
    guaranteed: ValueRange | None
    attained: ValueRange | None
    domain_may_be_empty: NotRequired[bool | None]


class CoreStatisticOfRegression(TypedDict):
    labels: NotRequired[QuantileLabels | None]
    sharp: bool
    gap: float | None
    value_known: NotRequired[bool | None]
    reason: NotRequired[str | None]
    base: NotRequired[StatisticBase | None]
    n: NotRequired[int | None]
    estimate: list[float | None] | None
    first_order: list[list[float] | None] | None
    guaranteed: list[list[float] | None] | None
    attained: list[list[float] | None] | None
    domain_may_be_empty: NotRequired[bool | None]


class CountResult(TypedDict):
    method: Literal['count']
    counts: list[QueryCount]
    base: Literal['records']
    n: int | None


class CountSummary(TypedDict):
    method: Literal['count']
    counts: NotRequired[list[QueryCount]]
    base: NotRequired[Literal['records']]
    n: NotRequired[int | None]


class DatasetColumn(TypedDict):
    name: str
    type: ColumnType
    missing: int
    distinct: int
    other_spellings: int | None
    type_from: TypeSource | None


class DeterminedRelease(TypedDict):
    release_id: str
    columns: list[DeterminedColumn]
    kept_columns: list[HomogeneousColumn]


class EstimatedStatistic(TypedDict):
    kind: Literal['mean', 'variance', 'covariance', 'correlation', 'scaling_unit'] | str
    of: list[str]
    estimate: float | None
    standard_error: float | None
    base: StatisticBase | None
    n: int | None


class FamilyAnswer(TypedDict):
    other_family_id: str
    people: People


class FamilyComposition(TypedDict):
    composed_k: float
    overlay: int | None
    overlay_below: float | None
    candidates: int | None
    candidates_below: float | None
    changed: int | None
    expected: float | None
    expected_below: float | None
    diversity: dict[str, OverlayDiversity]
    release_count: int
    exact: bool
    unplaced: int
    new: int
    left: int


class FamilyPublication(TypedDict):
    release_id: str
    method: Literal['boxes', 'uncertain', 'condensation', 'swaps'] | str
    published_at: str
    base_release_id: str | None
    previous_release_id: str | None
    composition: FamilyComposition | None


class FamilyQuestion(TypedDict):
    other_family_id: str
    dataset_id: str
    other_dataset_id: str
    columns: list[str]
    share_agreeing: float
    share_by_chance: float
    people: PeopleSpec | None
    answered_at: str | None


class Finding(TypedDict):
    audit: (
        Literal[
            'boxes',
            'composition',
            'condensation',
            'determination',
            'frontier',
            'group',
            'group_profile',
            'influence',
            'job_report',
            'kept_columns',
            'linkage',
            'publication',
            'publishing',
            'recognition',
            'swap_detection',
            'swaps',
            'table',
            'uncertain',
        ]
        | str
    )
    severity: FindingSeverity
    detail: str
    measured: float | None
    required: float | None
    remedies: list[str]


class FrontierMeans(TypedDict):
    value_disclosure: dict[str, ValueDisclosure]
    left_to_insider: dict[str, float | None]


class FrontierRecords(TypedDict):
    k: int
    measured: int
    median_cost: float
    share_at_resolution: float
    listed: list[RecordHalfWidths]


FuzzyTerm: TypeAlias = GaussianTerm | PointsTerm


FuzzyTermSpec: TypeAlias = GaussianTermSpec | PointsTermSpec


class FuzzyVariable(TypedDict):
    column: str
    range: list[float]
    terms: NotRequired[list[FuzzyTerm]]


class FuzzyVariableSpec(TypedDict):
    column: str
    range: list[float]
    terms: list[FuzzyTermSpec]


GateDemand: TypeAlias = CompositionGate | TableGate | DeterminationGate | LinkageGate


GateDemandSpec: TypeAlias = (
    CompositionGateSpec | TableGateSpec | DeterminationGateSpec | LinkageGateSpec
)


HiddenGroup: TypeAlias = GroupCondition | HiddenGroupList


HiddenGroupSpec: TypeAlias = GroupConditionSpec | HiddenGroupSpecList


class InfluencedStatistic(TypedDict):
    published_figure: str
    value: float
    base: StatisticBase | None
    n: int | None
    change: float
    slope: float
    records: int


IntervalEnd: TypeAlias = NumericEnd | str


JoiningColumns: TypeAlias = JoiningColumnsList | JoiningColumnsMap


class LDiversity(TypedDict):
    distinct: int
    entropy: float
    recursive: RecursiveDiversity


class LeastWidth(TypedDict):
    width: float
    demanded: float
    source: WidthSource | None
    exempt: WidthExemption | None
    spike: ColumnValue | None
    spike_share: float | None


class LinkageAttack(TypedDict):
    mean_rank: float
    rank_quantiles: dict[str, float]
    share_rank_1: float
    share_below_k: float
    mean_posterior: float | None
    intervals: dict[str, list[float]] | None
    adversary_knows_90_percent: LinkageRanks | None


class LinkageResult(TypedDict):
    method: Literal['linkage']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    mean_rank: float
    rank_quantiles: dict[str, float]
    share_rank_1: float
    share_below_k: float
    mean_posterior: float | None
    intervals: dict[str, list[float]] | None
    adversary_knows_90_percent: LinkageRanks | None
    records: int
    candidates: int
    sampled: int
    k: float | None
    release_count: int
    share_posterior_above_half: float | None
    precision_above_half: float | None
    joint: JointMatching | None
    after_scale_matching: LinkageAttack | None
    meaning: dict[str, str]


class MaskedGroup(TypedDict):
    model_job_id: str
    rule_count: int
    members: int
    signal_kind: SignalKindSpec
    masked_regions: list[int]
    bounds: list[list[int | None]]
    signal_before: list[int]
    signal_after: list[int]
    outliers_before: list[int]
    outliers_after: list[int]
    valid: bool


MeasuredRows: TypeAlias = MeasuredRowsList | Literal['all']


MinScale: TypeAlias = float | MinScaleMap


class MovedRecords(TypedDict):
    records: int
    moved: int
    auc: float | None
    precision_at_recall: list[PrecisionAtRecall]


MutationProbability: TypeAlias = float | MutationProbabilityList


class OutlierOptionsSpec(TypedDict):
    test: Literal['thompson_tau', 'grubbs'] | str
    significance_level: float
    robust: bool
    ignore: list[RegionSpec]


class Problem(TypedDict):
    type: (
        Literal[
            '/problems/internal-error',
            '/problems/bad-request',
            '/problems/unauthorized',
            '/problems/forbidden',
            '/problems/key-not-renewable',
            '/problems/quota-exceeded',
            '/problems/not-found',
            '/problems/method-not-allowed',
            '/problems/not-acceptable',
            '/problems/request-timeout',
            '/problems/conflict',
            '/problems/job-unfinished',
            '/problems/job-without-result',
            '/problems/dataset-in-use',
            '/problems/release-in-use',
            '/problems/job-in-use',
            '/problems/unresolved-findings',
            '/problems/published-meanwhile',
            '/problems/publishing-held',
            '/problems/request-in-flight',
            '/problems/gone',
            '/problems/result-erased',
            '/problems/too-large',
            '/problems/unsupported-media-type',
            '/problems/range-not-satisfiable',
            '/problems/invalid',
            '/problems/unreadable',
            '/problems/infeasible',
            '/problems/idempotency-mismatch',
            '/problems/too-many-requests',
            '/problems/too-many-jobs',
            '/problems/head-too-large',
            '/problems/job-too-large',
            '/problems/too-much-work',
            '/problems/storage-full',
            '/problems/storage-unavailable',
            '/problems/storage-damaged',
            '/problems/unavailable',
            '/problems/not-trusted',
            '/problems/attempts-exhausted',
            '/problems/time-limit',
            '/problems/memory-limit',
            '/problems/fenced',
            '/problems/cannot-start',
        ]
        | str
    )
    title: str
    status: int
    detail: str
    instance: str | None
    errors: NotRequired[list[FieldProblem]]
    unavailable: NotRequired[list[str]]
    quota: NotRequired[Quota | None]


class ProfiledFile(TypedDict):
    id: str
    in_range: int
    regions: list[list[CellValue]]
    region_sizes: list[int]
    masked_regions: list[int]
    signals: list[ProfiledSignal]


class PublicKey(TypedDict):
    kty: str
    crv: str
    x: str
    use: str
    alg: str
    kid: str
    iat: int
    exp: NotRequired[int | None]
    revoked: NotRequired[RevokedKey | None]


class RecodeCase(TypedDict):
    when: dict[str, list[CellValue]]
    to: RecodedValue


class RecodeCaseSpec(TypedDict):
    when: dict[str, list[CellValue]]
    to: RecodedValue


Region: TypeAlias = RegionList | CellValue


class RegionCeiling(TypedDict):
    region: Region
    at_most: int


class RegionCeilingSpec(TypedDict):
    region: RegionSpec
    at_most: int


class RegionMask(TypedDict):
    region: Region
    at_most: NotRequired[int | None]
    zero_at: NotRequired[int | None]
    at_least: NotRequired[int | None]
    zero_below: NotRequired[int | None]


class RegionMaskSpec(TypedDict):
    region: RegionSpec
    at_most: int | None
    zero_at: int | None
    at_least: int | None
    zero_below: int | None


class RegionSplit(TypedDict):
    column: str
    min_share: float
    shown: int
    not_shown: int
    parts: list[RegionSplitPart]
    total: dict[str, int | None]
    adequacy: SignalAdequacy | None


class RegressionTerm(TypedDict):
    column: str | None
    value: ValueNameSpec | None


ReleaseReaders: TypeAlias = ReleaseReadersList | Literal['public']


class ReleaseReportJob(TypedDict):
    id: str
    kind: Literal['query']
    method: Literal['release_report']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: ReleaseReportSpec | None
    result: ReleaseReportSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class RestrictedStatisticOfNumber(TypedDict):
    kind: Literal[
        'mean',
        'variance',
        'standard_deviation',
        'covariance',
        'correlation',
        'prediction',
        'share',
        'crosstab',
        'domain_mean',
        'quantile',
    ]
    of: list[str]
    values: list[ValueNameSpec] | None
    interval: NotRequired[list[IntervalEnd] | None]
    p: float | None
    at: NotRequired[list[ValueNameSpec] | None]
    called: NotRequired[str | None]
    terms: list[RegressionTerm] | None
    labels: NotRequired[QuantileLabels | None]
    sharp: bool
    gap: float | None
    value_known: NotRequired[bool | None]
    reason: NotRequired[str | None]
    base: NotRequired[StatisticBase | None]
    n: NotRequired[int | None]
    weight: float
    ddof: int | None
    estimate: float | None
    first_order: ValueRange | None
    guaranteed: ValueRange | None
    attained: ValueRange | None
    domain_may_be_empty: NotRequired[bool | None]
    core: CoreStatisticOfNumber | None
    true_value: float | None
    true_label: ColumnValue | None
    shift: float | None
    delta_at_records: float | None


class RestrictedStatisticOfRegression(TypedDict):
    kind: Literal['regression']
    of: list[str]
    values: list[ValueNameSpec] | None
    interval: NotRequired[list[IntervalEnd] | None]
    p: float | None
    at: NotRequired[list[ValueNameSpec] | None]
    called: NotRequired[str | None]
    terms: list[RegressionTerm] | None
    labels: NotRequired[QuantileLabels | None]
    sharp: bool
    gap: float | None
    value_known: NotRequired[bool | None]
    reason: NotRequired[str | None]
    base: NotRequired[StatisticBase | None]
    n: NotRequired[int | None]
    weight: float
    ddof: int | None
    estimate: list[float | None] | None
    first_order: list[list[float] | None] | None
    guaranteed: list[list[float] | None] | None
    attained: list[list[float] | None] | None
    domain_may_be_empty: NotRequired[bool | None]
    core: CoreStatisticOfRegression | None
    true_value: list[float | None] | None
    true_label: ColumnValue | None
    shift: list[float | None] | None
    delta_at_records: list[float | None] | None


class SampleUniques(TypedDict):
    depth: int
    records: int
    by_size: list[int]
    combinations: list[UniqueCombination]


class SensitiveColumn(TypedDict):
    column: str
    value_count: int
    alpha: float
    l_diversity: LDiversity
    t_closeness: TCloseness
    delta_disclosure: float
    absent_values: bool
    beta: BetaLikeness
    share_certain: float
    share_nearly_certain: float


class Statistic(TypedDict):
    kind: StatisticKind
    of: list[str]
    weight: NotRequired[float | None]
    values: NotRequired[list[ValueName] | None]
    interval: NotRequired[list[IntervalEnd] | None]
    p: NotRequired[float | None]
    at: NotRequired[list[ValueName] | None]


class StatisticSpec(TypedDict):
    kind: StatisticKindSpec
    of: list[str]
    weight: float | None
    values: list[ValueNameSpec] | None
    interval: list[IntervalEnd] | None
    p: float | None
    at: list[ValueNameSpec] | None


class StatisticsRequest(TypedDict):
    statistics: list[Statistic]
    ddof: NotRequired[int | None]


class StatisticsSpec(TypedDict):
    method: Literal['statistics']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_id: str
    statistics: list[StatisticSpec]
    ddof: int | None


class SwapDetectionSpec(TypedDict):
    method: Literal['swap_detection']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_ids: list[str]
    dataset_ids: list[str]
    region_columns: list[str]
    masked_regions: list[RegionSpec] | None
    outliers: OutlierOptionsSpec
    model_job_id: str
    auxiliary_dataset_id: str | None
    drop: list[str]
    sample: int


SwapMaskList: TypeAlias = list[RegionMask]


SwapMaskSpecList: TypeAlias = list[RegionMaskSpec]


class TableResult(TypedDict):
    method: Literal['table']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    records: int
    suppressed: SuppressedRecords
    quasi_identifiers: list[str]
    missing_matches: MissingMatchesSpec
    k: int
    k_records: int
    classes: ClassCounts
    unique: int
    alpha: float | None
    l_diversity: LDiversity | None
    t_closeness: TCloseness | None
    delta_disclosure: float | None
    beta: BetaLikeness | None
    sensitive: list[SensitiveColumn]
    value_disclosure: dict[str, ValueDisclosure]
    risk: ReidentificationRisks
    population_k: float | None
    population_uniques: PopulationUniques | None
    sample_uniques: SampleUniques
    special_uniques: SpecialUniques
    quasi_identifier_risks: list[IdentifyingColumn]
    utility: TableUtility
    regions: RegionPopulation | None
    sums: list[SumsResult]
    proposal: QuasiIdentifierProposal | None
    meaning: dict[str, str]


class UncertainRequest(TypedDict):
    method: Literal['uncertain']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: str
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    quasi_identifiers: list[str]
    k: NotRequired[float | None]
    k_column: NotRequired[str | None]
    density: NotRequired[DensityFamily]
    scales: NotRequired[ScaleSharing]
    suppress_share: NotRequired[float | None]
    cell_size: NotRequired[int | None]
    axes: NotRequired[DensityAxes]
    min_scale: NotRequired[MinScale]
    domains: NotRequired[dict[str, list[float]]]
    keep: NotRequired[list[str]]
    missing_policy: NotRequired[MissingPolicy]


class UncertainResult(TypedDict):
    valid: bool
    findings: list[Finding]
    method: Literal['uncertain']
    records: int
    released: int
    suppressed: SuppressedRecords
    k: float | None
    density: DensityFamilySpec
    scales: ScaleSharingSpec
    axes: DensityAxesSpec
    expected_anonymity: Anonymity
    certified_error: float
    zero_scale_records: int
    mean_scale: dict[str, float]
    cell_count: int | None
    expected_anonymity_with_kept: Anonymity | None
    release_number: int
    expected_anonymity_of_all_releases: Anonymity | None


class UncertainSpec(TypedDict):
    method: Literal['uncertain']
    seed: Literal['given'] | None
    tags: dict[str, str]
    dataset_id: str
    formats: list[ReleaseFormatSpec]
    delimiter: str
    publish: Literal['auto', 'draft'] | str
    gate: list[GateDemandSpec]
    accept_findings: list[Literal['composition']]
    quasi_identifiers: list[str]
    k: float | None
    k_column: str | None
    density: Literal['gaussian', 'uniform'] | str
    scales: Literal['common', 'levels', 'shared', 'per_record'] | str
    suppress_share: float | None
    cell_size: int | None
    axes: Literal['global', 'local', 'rotated'] | str
    min_scale: MinScale
    domains: dict[str, list[float]]
    keep: list[str]
    missing_policy: Literal['refuse', 'drop'] | str


class UncertainStatistics(TypedDict):
    method: Literal['uncertain']
    statistics: list[EstimatedStatistic]


class BoxesOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str | None]
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    base_release_id: NotRequired[str | None]
    previous_release_id: NotRequired[str | None]
    quasi_identifiers: list[str]
    nominal: NotRequired[dict[str, NominalColumn]]
    ordinal: NotRequired[dict[str, list[ColumnValue]]]
    k: int
    person_column: NotRequired[str | None]
    frequency_column: NotRequired[str | None]
    frequencies_are_exact: NotRequired[bool]
    statistics: NotRequired[list[Statistic | str] | None]
    unlisted_column_weight: NotRequired[float]
    ddof: NotRequired[int]
    l: NotRequired[int | None]
    t: NotRequired[float | None]
    t_distance: NotRequired[dict[str, DistributionDistance]]
    alpha: NotRequired[float | None]
    min_separation: NotRequired[dict[str, float]]
    sensitive: NotRequired[list[str]]
    withheld: NotRequired[list[str]]
    domains: NotRequired[dict[str, BoxDomain]]
    bounds: NotRequired[BoxBounds]
    value_step: NotRequired[dict[str, float]]
    min_records_at_bound: NotRequired[int | None]
    min_width: NotRequired[dict[str, float]]
    spikes: NotRequired[dict[str, ColumnValue]]
    least_widths: NotRequired[LeastWidths]
    box_means: NotRequired[BoxMeans]
    mean_interval_in_boxes: NotRequired[float]
    p_percent: NotRequired[float]
    rare_records: NotRequired[RareRecords]
    max_suppressed: NotRequired[float]
    objective: NotRequired[SuppressionObjective]
    confidence: NotRequired[float]
    partition: NotRequired[PartitionMethod]
    keep: NotRequired[list[str]]
    k_counts_kept: NotRequired[bool]
    max_suppressed_classes: NotRequired[float]
    survey_weight_column: NotRequired[str | None]
    released_weights: NotRequired[ReleasedWeights]
    missing_policy: NotRequired[BoxesMissingPolicy]


class UncertainOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str]
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    quasi_identifiers: list[str]
    k: NotRequired[float | None]
    k_column: NotRequired[str | None]
    density: NotRequired[DensityFamily]
    scales: NotRequired[ScaleSharing]
    suppress_share: NotRequired[float | None]
    cell_size: NotRequired[int | None]
    axes: NotRequired[DensityAxes]
    min_scale: NotRequired[MinScale]
    domains: NotRequired[dict[str, list[float]]]
    keep: NotRequired[list[str]]
    missing_policy: NotRequired[MissingPolicy]


class CondensationOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str]
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    quasi_identifiers: list[str]
    k: int
    keep: NotRequired[list[str]]
    missing_policy: NotRequired[MissingPolicy]


class CompositionOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    dataset_ids: NotRequired[list[str]]
    dataset_id: NotRequired[str | None]
    join_columns: NotRequired[JoiningColumns]
    ordinal: NotRequired[dict[str, list[ColumnValue]]]
    k_required: NotRequired[float | None]
    sensitive: NotRequired[list[str]]
    person_column: NotRequired[str | None]
    require: NotRequired[CompositionDemands | None]


class FrontierOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str]
    quasi_identifiers: list[str]
    nominal: NotRequired[dict[str, NominalColumn]]
    ordinal: NotRequired[dict[str, list[ColumnValue]]]
    person_column: NotRequired[str | None]
    frequency_column: NotRequired[str | None]
    frequencies_are_exact: NotRequired[bool]
    statistics: NotRequired[list[Statistic | str] | None]
    unlisted_column_weight: NotRequired[float]
    ddof: NotRequired[int]
    l: NotRequired[int | None]
    t: NotRequired[float | None]
    t_distance: NotRequired[dict[str, DistributionDistance]]
    alpha: NotRequired[float | None]
    min_separation: NotRequired[dict[str, float]]
    sensitive: NotRequired[list[str]]
    withheld: NotRequired[list[str]]
    domains: NotRequired[dict[str, BoxDomain]]
    bounds: NotRequired[BoxBounds]
    value_step: NotRequired[dict[str, float]]
    min_records_at_bound: NotRequired[int | None]
    min_width: NotRequired[dict[str, float]]
    spikes: NotRequired[dict[str, ColumnValue]]
    least_widths: NotRequired[LeastWidths]
    box_means: NotRequired[BoxMeans]
    mean_interval_in_boxes: NotRequired[float]
    p_percent: NotRequired[float]
    rare_records: NotRequired[RareRecords]
    max_suppressed: NotRequired[float]
    objective: NotRequired[SuppressionObjective]
    confidence: NotRequired[float]
    partition: NotRequired[PartitionMethod]
    keep: NotRequired[list[str]]
    k_counts_kept: NotRequired[bool]
    max_suppressed_classes: NotRequired[float]
    survey_weight_column: NotRequired[str | None]
    released_weights: NotRequired[ReleasedWeights]
    missing_policy: NotRequired[BoxesMissingPolicy]
    k: NotRequired[list[int]]
    records: NotRequired[MeasuredRows | None]
    compare_means: NotRequired[bool]


class BoxStatisticOfNumber(TypedDict):
    kind: Literal[
        'mean',
        'variance',
        'standard_deviation',
        'covariance',
        'correlation',
        'prediction',
        'share',
        'crosstab',
        'domain_mean',
        'quantile',
    ]
    of: list[str]
    values: list[ValueNameSpec] | None
    interval: NotRequired[list[IntervalEnd] | None]
    p: float | None
    at: NotRequired[list[ValueNameSpec] | None]
    called: NotRequired[str | None]
    terms: list[RegressionTerm] | None
    labels: NotRequired[QuantileLabels | None]
    sharp: bool
    gap: float | None
    value_known: NotRequired[bool | None]
    reason: NotRequired[str | None]
    base: NotRequired[StatisticBase | None]
    n: NotRequired[int | None]
    weight: float
    ddof: int | None
    estimate: float | None
    first_order: ValueRange | None
    guaranteed: ValueRange | None
    attained: ValueRange | None
    domain_may_be_empty: NotRequired[bool | None]
    core: CoreStatisticOfNumber | None


class BoxStatisticOfRegression(TypedDict):
    kind: Literal['regression']
    of: list[str]
    values: list[ValueNameSpec] | None
    interval: NotRequired[list[IntervalEnd] | None]
    p: float | None
    at: NotRequired[list[ValueNameSpec] | None]
    called: NotRequired[str | None]
    terms: list[RegressionTerm] | None
    labels: NotRequired[QuantileLabels | None]
    sharp: bool
    gap: float | None
    value_known: NotRequired[bool | None]
    reason: NotRequired[str | None]
    base: NotRequired[StatisticBase | None]
    n: NotRequired[int | None]
    weight: float
    ddof: int | None
    estimate: list[float | None] | None
    first_order: list[list[float] | None] | None
    guaranteed: list[list[float] | None] | None
    attained: list[list[float] | None] | None
    domain_may_be_empty: NotRequired[bool | None]
    core: CoreStatisticOfRegression | None


class BoxesRequest(TypedDict):
    method: Literal['boxes']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str | None]
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    base_release_id: NotRequired[str | None]
    previous_release_id: NotRequired[str | None]
    quasi_identifiers: list[str]
    nominal: NotRequired[dict[str, NominalColumn]]
    ordinal: NotRequired[dict[str, list[ColumnValue]]]
    k: int
    person_column: NotRequired[str | None]
    frequency_column: NotRequired[str | None]
    frequencies_are_exact: NotRequired[bool]
    statistics: NotRequired[list[Statistic] | None]
    unlisted_column_weight: NotRequired[float]
    ddof: NotRequired[int]
    l: NotRequired[int | None]
    t: NotRequired[float | None]
    t_distance: NotRequired[dict[str, DistributionDistance]]
    alpha: NotRequired[float | None]
    min_separation: NotRequired[dict[str, float]]
    sensitive: NotRequired[list[str]]
    withheld: NotRequired[list[str]]
    domains: NotRequired[dict[str, BoxDomain]]
    bounds: NotRequired[BoxBounds]
    value_step: NotRequired[dict[str, float]]
    min_records_at_bound: NotRequired[int | None]
    min_width: NotRequired[dict[str, float]]
    spikes: NotRequired[dict[str, ColumnValue]]
    least_widths: NotRequired[LeastWidths]
    box_means: NotRequired[BoxMeans]
    mean_interval_in_boxes: NotRequired[float]
    p_percent: NotRequired[float]
    rare_records: NotRequired[RareRecords]
    max_suppressed: NotRequired[float]
    objective: NotRequired[SuppressionObjective]
    confidence: NotRequired[float]
    partition: NotRequired[PartitionMethod]
    keep: NotRequired[list[str]]
    k_counts_kept: NotRequired[bool]
    max_suppressed_classes: NotRequired[float]
    survey_weight_column: NotRequired[str | None]
    released_weights: NotRequired[ReleasedWeights]
    missing_policy: NotRequired[BoxesMissingPolicy]


class BoxesSpec(TypedDict):
    method: Literal['boxes']
    seed: Literal['given'] | None
    tags: dict[str, str]
    dataset_id: str | None
    formats: list[ReleaseFormatSpec]
    delimiter: str
    publish: Literal['auto', 'draft'] | str
    gate: list[GateDemandSpec]
    accept_findings: list[Literal['composition']]
    base_release_id: str | None
    previous_release_id: str | None
    quasi_identifiers: list[str]
    nominal: dict[str, NominalColumnSpec]
    ordinal: dict[str, list[ColumnValue]]
    k: int
    person_column: str | None
    frequency_column: str | None
    frequencies_are_exact: bool
    statistics: list[StatisticSpec] | None
    unlisted_column_weight: float
    ddof: int
    l: int | None
    t: float | None
    t_distance: dict[str, DistributionDistanceSpec]
    alpha: float | None
    min_separation: dict[str, float]
    sensitive: list[str]
    withheld: list[str]
    domains: dict[str, BoxDomain]
    bounds: Literal['cells', 'grid', 'tight'] | str
    value_step: dict[str, float]
    min_records_at_bound: int | None
    min_width: dict[str, float]
    spikes: dict[str, ColumnValue]
    least_widths: Literal['auto', 'none'] | str
    box_means: Literal['none', 'rounded', 'exact'] | str
    mean_interval_in_boxes: float
    p_percent: float
    rare_records: Literal['keep', 'mark', 'suppress', 'weigh'] | str
    max_suppressed: float
    objective: Literal['bias_aware', 'paper'] | str
    confidence: float
    partition: Literal['optimal', 'fast', 'mondrian'] | str
    keep: list[str]
    k_counts_kept: bool
    max_suppressed_classes: float
    survey_weight_column: str | None
    released_weights: Literal['box', 'row'] | str
    missing_policy: Literal['refuse', 'drop', 'pattern'] | str


class ClassifierReport(TypedDict):
    name: Literal['naive_bayes', 'gradient_boosting'] | str
    columns: list[str]
    training_records: int
    training_members: int
    auc: float | None
    precision_at_recall: list[PrecisionAtRecall]
    driving_columns: list[DrivingColumn]
    all_records: ClassifierScope | None
    out_of_range: ClassifierScope | None
    moved: MovedRecords | None


class ClassifyJob(TypedDict):
    id: str
    kind: Literal['query']
    method: Literal['classify']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: ClassifySpec | None
    result: ClassifySummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


ColumnRestrictionList: TypeAlias = list[IntervalEnd]


ColumnRestrictionSpecList: TypeAlias = list[IntervalEnd]


class CompositionRequest(TypedDict):
    method: Literal['composition']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    dataset_ids: NotRequired[list[str]]
    dataset_id: NotRequired[str | None]
    join_columns: NotRequired[JoiningColumns]
    ordinal: NotRequired[dict[str, list[ColumnValue]]]
    k_required: NotRequired[float | None]
    sensitive: NotRequired[list[str]]
    person_column: NotRequired[str | None]
    require: NotRequired[CompositionDemands | None]


class CompositionResult(TypedDict):
    method: Literal['composition']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    records: int
    release_count: int
    k_required: float
    composed_k: float
    unplaced: int
    new: int
    left: int
    group_count: int
    overlay: int | None
    overlay_below: float | None
    candidates: int | None
    candidates_below: float | None
    expected: float | None
    expected_below: float | None
    changed: int | None
    sensitive: list[ComposedColumn]
    meaning: dict[str, str]


class CompositionSpec(TypedDict):
    method: Literal['composition']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_ids: list[str]
    dataset_ids: list[str]
    dataset_id: str | None
    join_columns: JoiningColumns
    ordinal: dict[str, list[ColumnValue]]
    k_required: float | None
    sensitive: list[str]
    person_column: str | None
    require: CompositionDemandsSpec | None


class ComputedStatisticOfNumber(TypedDict):
    kind: Literal[
        'mean',
        'variance',
        'standard_deviation',
        'covariance',
        'correlation',
        'prediction',
        'share',
        'crosstab',
        'domain_mean',
        'quantile',
    ]
    of: list[str]
    values: list[ValueNameSpec] | None
    interval: NotRequired[list[IntervalEnd] | None]
    p: float | None
    at: NotRequired[list[ValueNameSpec] | None]
    called: NotRequired[str | None]
    terms: list[RegressionTerm] | None
    labels: QuantileLabels | None
    sharp: bool
    gap: float | None
    value_known: bool
    reason: str | None
    base: StatisticBase | None
    n: int | None
    ddof: int | None
    estimate: float | None
    first_order: ValueRange | None
    guaranteed: ValueRange | None
    attained: ValueRange | None
    domain_may_be_empty: bool | None


class ComputedStatisticOfRegression(TypedDict):
    kind: Literal['regression']
    of: list[str]
    values: list[ValueNameSpec] | None
    interval: NotRequired[list[IntervalEnd] | None]
    p: float | None
    at: NotRequired[list[ValueNameSpec] | None]
    called: NotRequired[str | None]
    terms: list[RegressionTerm] | None
    labels: QuantileLabels | None
    sharp: bool
    gap: float | None
    value_known: bool
    reason: str | None
    base: StatisticBase | None
    n: int | None
    ddof: int | None
    estimate: list[float | None] | None
    first_order: list[list[float] | None] | None
    guaranteed: list[list[float] | None] | None
    attained: list[list[float] | None] | None
    domain_may_be_empty: bool | None


class CondensationRequest(TypedDict):
    method: Literal['condensation']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: str
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    quasi_identifiers: list[str]
    k: int
    keep: NotRequired[list[str]]
    missing_policy: NotRequired[MissingPolicy]


class CondensationResult(TypedDict):
    valid: bool
    findings: list[Finding]
    method: Literal['condensation']
    records: int
    released: int
    suppressed: SuppressedRecords
    group_count: int
    smallest_group: int
    largest_group: int


class CondensationSpec(TypedDict):
    method: Literal['condensation']
    seed: Literal['given'] | None
    tags: dict[str, str]
    dataset_id: str
    formats: list[ReleaseFormatSpec]
    delimiter: str
    publish: Literal['auto', 'draft'] | str
    gate: list[GateDemandSpec]
    accept_findings: list[Literal['composition']]
    quasi_identifiers: list[str]
    k: int
    keep: list[str]
    missing_policy: Literal['refuse', 'drop'] | str


class Dataset(TypedDict):
    id: str
    name: str
    state: DatasetState
    rows: int | None
    bytes: int
    sha256: str
    created_at: str
    expires_at: str | None
    tags: dict[str, str]
    options: ReadOptions | None
    columns: list[DatasetColumn] | None
    warnings: list[JobWarning]
    error: Problem | None
    version_of_dataset_id: str | None
    family_id: str | None


class DatasetList(TypedDict):
    items: list[Dataset]
    next_cursor: str | None


class DerivedColumn(TypedDict):
    columns: list[str]
    cases: NotRequired[list[RecodeCase]]
    otherwise: NotRequired[RecodedValue]


class DerivedColumnSpec(TypedDict):
    columns: list[str]
    cases: list[RecodeCaseSpec]
    otherwise: RecodedValue


class DetectedFile(TypedDict):
    id: str
    records: int
    in_range: int
    regions: list[list[CellValue]]
    masked_regions: list[int]
    classifiers: list[ClassifierReport]


class DeterminationResult(TypedDict):
    method: Literal['determination']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    releases: list[DeterminedRelease]
    meaning: dict[str, str]


class Family(TypedDict):
    id: str
    confirmed: bool
    apart: bool
    dataset_ids: list[str]
    datasets: list[FamilyDataset]
    published: list[FamilyPublication]
    questions: list[FamilyQuestion]


class FamilyList(TypedDict):
    items: list[Family]
    next_cursor: str | None


class FrontierRequest(TypedDict):
    method: Literal['frontier']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: str
    quasi_identifiers: list[str]
    nominal: NotRequired[dict[str, NominalColumn]]
    ordinal: NotRequired[dict[str, list[ColumnValue]]]
    person_column: NotRequired[str | None]
    frequency_column: NotRequired[str | None]
    frequencies_are_exact: NotRequired[bool]
    statistics: NotRequired[list[Statistic] | None]
    unlisted_column_weight: NotRequired[float]
    ddof: NotRequired[int]
    l: NotRequired[int | None]
    t: NotRequired[float | None]
    t_distance: NotRequired[dict[str, DistributionDistance]]
    alpha: NotRequired[float | None]
    min_separation: NotRequired[dict[str, float]]
    sensitive: NotRequired[list[str]]
    withheld: NotRequired[list[str]]
    domains: NotRequired[dict[str, BoxDomain]]
    bounds: NotRequired[BoxBounds]
    value_step: NotRequired[dict[str, float]]
    min_records_at_bound: NotRequired[int | None]
    min_width: NotRequired[dict[str, float]]
    spikes: NotRequired[dict[str, ColumnValue]]
    least_widths: NotRequired[LeastWidths]
    box_means: NotRequired[BoxMeans]
    mean_interval_in_boxes: NotRequired[float]
    p_percent: NotRequired[float]
    rare_records: NotRequired[RareRecords]
    max_suppressed: NotRequired[float]
    objective: NotRequired[SuppressionObjective]
    confidence: NotRequired[float]
    partition: NotRequired[PartitionMethod]
    keep: NotRequired[list[str]]
    k_counts_kept: NotRequired[bool]
    max_suppressed_classes: NotRequired[float]
    survey_weight_column: NotRequired[str | None]
    released_weights: NotRequired[ReleasedWeights]
    missing_policy: NotRequired[BoxesMissingPolicy]
    k: NotRequired[list[int]]
    records: NotRequired[MeasuredRows | None]
    compare_means: NotRequired[bool]


class FrontierSpec(TypedDict):
    method: Literal['frontier']
    seed: Literal['given'] | None
    tags: dict[str, str]
    dataset_id: str
    quasi_identifiers: list[str]
    nominal: dict[str, NominalColumnSpec]
    ordinal: dict[str, list[ColumnValue]]
    person_column: str | None
    frequency_column: str | None
    frequencies_are_exact: bool
    statistics: list[StatisticSpec] | None
    unlisted_column_weight: float
    ddof: int
    l: int | None
    t: float | None
    t_distance: dict[str, DistributionDistanceSpec]
    alpha: float | None
    min_separation: dict[str, float]
    sensitive: list[str]
    withheld: list[str]
    domains: dict[str, BoxDomain]
    bounds: Literal['cells', 'grid', 'tight'] | str
    value_step: dict[str, float]
    min_records_at_bound: int | None
    min_width: dict[str, float]
    spikes: dict[str, ColumnValue]
    least_widths: Literal['auto', 'none'] | str
    box_means: Literal['none', 'rounded', 'exact'] | str
    mean_interval_in_boxes: float
    p_percent: float
    rare_records: Literal['keep', 'mark', 'suppress', 'weigh'] | str
    max_suppressed: float
    objective: Literal['bias_aware', 'paper'] | str
    confidence: float
    partition: Literal['optimal', 'fast', 'mondrian'] | str
    keep: list[str]
    k_counts_kept: bool
    max_suppressed_classes: float
    survey_weight_column: str | None
    released_weights: Literal['box', 'row'] | str
    missing_policy: Literal['refuse', 'drop', 'pattern'] | str
    k: list[int]
    records: MeasuredRows | None
    compare_means: bool


class FrontierStatistic(TypedDict):
    kind: StatisticKindSpec
    of: list[str]
    values: list[ValueNameSpec] | None
    interval: NotRequired[list[IntervalEnd] | None]
    p: float | None
    at: NotRequired[list[ValueNameSpec] | None]
    called: NotRequired[str | None]
    terms: list[RegressionTerm] | None
    width: float | None
    width_with_means: float | None
    base: StatisticBase | None
    n: int | None


class GroupProfileResult(TypedDict):
    method: Literal['group_profile']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    min_membership: float
    rule_count: int
    inputs: list[ProfiledFile]


class GroupProfileSummary(TypedDict):
    method: Literal['group_profile']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    min_membership: float
    rule_count: int
    inputs: NotRequired[list[ProfiledFile]]


class GroupResult(TypedDict):
    method: Literal['group']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    record_counts: GroupRecordCounts
    rules: list[FuzzyRule]
    common: list[str]
    unreached_terms: list[UnreachedTerm]
    likeness: GroupLikeness | None
    rules_over_thresholds: int
    evaluation_count: int
    search: Literal['evolution', 'exhaustive'] | str
    denominator_floor: float
    region_columns: list[str]
    regions: list[list[CellValue]]
    region_sizes: list[int]
    signal_kind: SignalKindSpec
    signal: list[float] | None
    auxiliary_signal: list[float]
    crisp_auxiliary_signal: list[float]
    outliers: list[int] | None
    auxiliary_outliers: list[int]
    degenerate: bool
    adequacy: SignalAdequacy | None
    split: RegionSplit | None


class GroupSummary(TypedDict):
    method: Literal['group']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    record_counts: GroupRecordCounts
    rules: NotRequired[list[FuzzyRule]]
    common: NotRequired[list[str]]
    unreached_terms: NotRequired[list[UnreachedTerm]]
    likeness: GroupLikeness | None
    rules_over_thresholds: int
    evaluation_count: int
    search: Literal['evolution', 'exhaustive'] | str
    denominator_floor: float
    region_columns: NotRequired[list[str]]
    regions: NotRequired[list[list[CellValue]]]
    region_sizes: NotRequired[list[int]]
    signal_kind: SignalKindSpec
    signal: NotRequired[list[float] | None]
    auxiliary_signal: NotRequired[list[float]]
    crisp_auxiliary_signal: NotRequired[list[float]]
    outliers: NotRequired[list[int] | None]
    auxiliary_outliers: NotRequired[list[int]]
    degenerate: bool
    adequacy: SignalAdequacy | None
    split: RegionSplit | None


class InfluencedRelease(TypedDict):
    release_id: str
    runs: int
    failed: int
    numbers: list[InfluencedStatistic]


class JobReportJob(TypedDict):
    id: str
    kind: Literal['report']
    method: Literal['job_report']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: JobReportSpec | None
    result: JobReportSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class KeySet(TypedDict):
    keys: list[PublicKey]


class LinkageJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['linkage']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: LinkageSpec | None
    result: LinkageResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class MemeticSearch(TypedDict):
    method: Literal['memetic']
    population: NotRequired[int]
    pairs: NotRequired[int]
    tournament: NotRequired[int]
    generations: NotRequired[int]
    crossover: NotRequired[float]
    mutation: NotRequired[MutationProbability]
    local_search: NotRequired[float]
    runs: NotRequired[int]
    paper: NotRequired[bool]


class MemeticSearchSpec(TypedDict):
    method: Literal['memetic']
    population: int
    pairs: int
    tournament: int
    generations: int
    crossover: float
    mutation: MutationProbability
    local_search: float
    runs: int
    paper: bool


class OutlierOptions(TypedDict):
    test: NotRequired[Literal['thompson_tau', 'grubbs']]
    significance_level: NotRequired[float]
    robust: NotRequired[bool]
    ignore: NotRequired[list[Region]]


class PublicationSpec(TypedDict):
    method: Literal['publication']
    seed: Literal['given'] | None
    tags: dict[str, str]
    dataset_id: str
    release_id: str
    accept_findings: list[str]
    readers: ReleaseReaders | None


class PublishRequest(TypedDict):
    accept_findings: NotRequired[list[str]]
    readers: NotRequired[ReleaseReaders | None]


Recoding: TypeAlias = RecodedValues | DerivedColumn


RecodingSpec: TypeAlias = RecodedValues | DerivedColumnSpec


class Release(TypedDict):
    id: str
    owner: str
    state: ReleaseState
    name: str
    job_id: str
    method: Literal['boxes', 'uncertain', 'condensation', 'swaps'] | str
    created_at: str
    published_at: str | None
    expires_at: str | None
    rows: int
    columns: list[ReleaseColumn]
    files: dict[ReleaseFormatSpec, ReleasedFile]
    flags: list[
        Literal[
            'reproducible',
            'kept-columns-not-counted',
            'rare-records-suppressed',
            'tight-bounds',
            'grid-bounds',
            'codebook-from-data',
            'outer-bounds-from-data',
            'types-from-data',
            'means-inside-boxes',
            'survey-weights',
            'weighed',
            'scales-per-record',
            'zero-scale',
            'repeated-release',
            'composition-accepted',
            'protection-failed',
            'declared-data',
            'new-version',
            'groups-of-one',
            'regions-swapped',
            'records-not-anonymous',
        ]
        | str
    ]
    tags: dict[str, str]
    warnings: list[JobWarning]
    base_release_id: str | None
    previous_release_id: str | None
    series_id: str
    readers: ReleaseReaders | None
    findings: list[Finding] | None
    family_id: str | None


class ReleaseChanges(TypedDict):
    name: NotRequired[str]
    tags: NotRequired[dict[str, str]]
    readers: NotRequired[ReleaseReaders]


class ReleaseList(TypedDict):
    items: list[Release]
    next_cursor: str | None


RestrictedStatistic: TypeAlias = (
    RestrictedStatisticOfNumber | RestrictedStatisticOfRegression
)


class RulesModel(TypedDict):
    variables: list[FuzzyVariable]
    rules: list[RulesModelRule]
    min_membership: NotRequired[float]
    recode: NotRequired[dict[str, Recoding]]


class RulesModelSpec(TypedDict):
    variables: list[FuzzyVariableSpec]
    rules: list[RulesModelRuleSpec]
    min_membership: float
    recode: dict[str, RecodingSpec]


class SwapDetectionRequest(TypedDict):
    method: Literal['swap_detection']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    dataset_ids: NotRequired[list[str]]
    region_columns: NotRequired[list[str]]
    masked_regions: NotRequired[list[Region] | None]
    outliers: NotRequired[OutlierOptions]
    model_job_id: str
    auxiliary_dataset_id: NotRequired[str | None]
    drop: NotRequired[list[str]]
    sample: NotRequired[int]


class SwapDetectionResult(TypedDict):
    method: Literal['swap_detection']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    auxiliary_records: int
    inputs: list[DetectedFile]


class SwapDetectionSummary(TypedDict):
    method: Literal['swap_detection']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    auxiliary_records: int
    inputs: NotRequired[list[DetectedFile]]


SwapMask: TypeAlias = Literal['outliers'] | SwapMaskList


SwapMaskSpec: TypeAlias = Literal['outliers'] | SwapMaskSpecList


SwapSearch: TypeAlias = MemeticSearch | AssignmentSearch


SwapSearchSpec: TypeAlias = MemeticSearchSpec | AssignmentSearchSpec


class SwapsRequest(TypedDict):
    method: Literal['swaps']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: str
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    region_columns: list[str]
    model_job_id: NotRequired[str | None]
    rules_model: NotRequired[RulesModel | None]
    more_model_job_ids: NotRequired[list[str]]
    auxiliary_dataset_id: NotRequired[str | None]
    learn_again: NotRequired[bool]
    mask: NotRequired[SwapMask]
    protected_alphas: NotRequired[list[float]]
    decoys: NotRequired[float]
    signal: NotRequired[SignalKind | None]
    sources: NotRequired[list[Region] | None]
    targets: NotRequired[list[Region] | None]
    ceilings: NotRequired[list[RegionCeiling]]
    drop: NotRequired[list[str]]
    metric: NotRequired[RecordDistance | None]
    search: NotRequired[SwapSearch]
    outliers: NotRequired[OutlierOptions]


class SwapsSpec(TypedDict):
    method: Literal['swaps']
    seed: Literal['given'] | None
    tags: dict[str, str]
    dataset_id: str
    formats: list[ReleaseFormatSpec]
    delimiter: str
    publish: Literal['auto', 'draft'] | str
    gate: list[GateDemandSpec]
    accept_findings: list[Literal['composition']]
    region_columns: list[str]
    model_job_id: str | None
    rules_model: RulesModelSpec | None
    more_model_job_ids: list[str]
    auxiliary_dataset_id: str | None
    learn_again: bool
    mask: SwapMaskSpec
    protected_alphas: list[float]
    decoys: float
    signal: SignalKindSpec | None
    sources: list[RegionSpec] | None
    targets: list[RegionSpec] | None
    ceilings: list[RegionCeilingSpec]
    drop: list[str]
    metric: RecordDistanceSpec | None
    search: SwapSearchSpec
    outliers: OutlierOptionsSpec


class TableJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['table']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: TableSpec | None
    result: TableResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class UncertainJob(TypedDict):
    id: str
    kind: Literal['anonymization']
    method: Literal['uncertain']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: UncertainSpec | None
    result: UncertainResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class SwapsOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    dataset_id: NotRequired[str]
    formats: NotRequired[list[ReleaseFormat]]
    delimiter: NotRequired[str]
    publish: NotRequired[PublicationMode]
    gate: NotRequired[list[GateDemand]]
    accept_findings: NotRequired[list[Literal['composition']]]
    region_columns: list[str]
    model_job_id: NotRequired[str | None]
    rules_model: NotRequired[RulesModel | None]
    more_model_job_ids: NotRequired[list[str]]
    auxiliary_dataset_id: NotRequired[str | None]
    learn_again: NotRequired[bool]
    mask: NotRequired[SwapMask]
    protected_alphas: NotRequired[list[float]]
    decoys: NotRequired[float]
    signal: NotRequired[SignalKind | None]
    sources: NotRequired[list[Region] | None]
    targets: NotRequired[list[Region] | None]
    ceilings: NotRequired[list[RegionCeiling]]
    drop: NotRequired[list[str]]
    metric: NotRequired[RecordDistance | None]
    search: NotRequired[SwapSearch]
    outliers: NotRequired[OutlierOptions]


class GroupProfileOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    dataset_ids: NotRequired[list[str]]
    region_columns: NotRequired[list[str]]
    masked_regions: NotRequired[list[Region] | None]
    outliers: NotRequired[OutlierOptions]
    model_job_id: NotRequired[str | None]
    rules_model: NotRequired[RulesModel | None]
    alphas: NotRequired[list[float]]


class SwapDetectionOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    dataset_ids: NotRequired[list[str]]
    region_columns: NotRequired[list[str]]
    masked_regions: NotRequired[list[Region] | None]
    outliers: NotRequired[OutlierOptions]
    model_job_id: NotRequired[str]
    auxiliary_dataset_id: NotRequired[str | None]
    drop: NotRequired[list[str]]
    sample: NotRequired[int]


AnonymizationRequest: TypeAlias = (
    BoxesRequest | UncertainRequest | CondensationRequest | SwapsRequest
)


class AttackAgain(TypedDict):
    old_rules: AttackAfterSwaps
    new_rules: AttackAfterSwaps | None
    new_rules_source: str
    profile: list[SignalCheck]
    new_profile: list[SignalCheck]
    classifiers: list[ClassifierReport]


BoxStatistic: TypeAlias = BoxStatisticOfNumber | BoxStatisticOfRegression


class BoxesResult(TypedDict):
    valid: bool
    findings: list[Finding]
    method: Literal['boxes']
    records: int
    released: int
    suppressed: SuppressedRecords
    suppressed_cells: int
    pending: PendingChanges | None
    box_count: int
    smallest_box: int
    largest_box: int
    k_with_kept: int
    uncertainty: Uncertainty | None
    weight_cutoff: float | None
    mean_width: dict[str, float]
    value_disclosure: dict[str, ValueDisclosure]
    least_widths: dict[str, LeastWidth]
    guessed: dict[str, GuessedValues] | None
    ncp: dict[str, float]
    share_certain: dict[str, float]
    share_nearly_certain: dict[str, float]
    largest_share: dict[str, float]
    share_above_60_percent: dict[str, float]
    t_closeness: dict[str, float]
    statistics: list[RestrictedStatistic]


class BoxesStatistics(TypedDict):
    method: Literal['boxes']
    statistics: list[BoxStatistic]


ColumnRestriction: TypeAlias = ColumnRestrictionList | ValueSet


ColumnRestrictionSpec: TypeAlias = ColumnRestrictionSpecList | ValueSetSpec


class CompositionJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['composition']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: CompositionSpec | None
    result: CompositionResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


ComputedStatistic: TypeAlias = ComputedStatisticOfNumber | ComputedStatisticOfRegression


class CondensationJob(TypedDict):
    id: str
    kind: Literal['anonymization']
    method: Literal['condensation']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: CondensationSpec | None
    result: CondensationResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class CountRequest(TypedDict):
    queries: list[dict[str, ColumnRestriction]]


class CountSpec(TypedDict):
    method: Literal['count']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_id: str
    queries: list[dict[str, ColumnRestrictionSpec]]


class DeterminationJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['determination']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: DeterminationSpec | None
    result: DeterminationResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class FrontierPoint(TypedDict):
    k: int
    box_count: int | None
    released: int | None
    ncp: float | None
    value_disclosure: dict[str, ValueDisclosure] | None
    guessed: dict[str, GuessedValues] | None
    with_means: FrontierMeans | None
    statistics: list[FrontierStatistic]
    reason: str | None


class FrontierResult(TypedDict):
    method: Literal['frontier']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    points: list[FrontierPoint]
    records: FrontierRecords | None
    meaning: dict[str, str]


class FrontierSummary(TypedDict):
    method: Literal['frontier']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    points: list[FrontierPoint]
    records: FrontierRecordCounts | None
    meaning: dict[str, str]


class GroupProfileRequest(TypedDict):
    method: Literal['group_profile']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    release_ids: NotRequired[list[str]]
    dataset_ids: NotRequired[list[str]]
    region_columns: NotRequired[list[str]]
    masked_regions: NotRequired[list[Region] | None]
    outliers: NotRequired[OutlierOptions]
    model_job_id: NotRequired[str | None]
    rules_model: NotRequired[RulesModel | None]
    alphas: NotRequired[list[float]]


class GroupProfileSpec(TypedDict):
    method: Literal['group_profile']
    seed: Literal['given'] | None
    tags: dict[str, str]
    release_ids: list[str]
    dataset_ids: list[str]
    region_columns: list[str]
    masked_regions: list[RegionSpec] | None
    outliers: OutlierOptionsSpec
    model_job_id: str | None
    rules_model: RulesModelSpec | None
    alphas: list[float]


class InfluenceResult(TypedDict):
    method: Literal['influence']
    passed: bool | None
    demands: dict[str, MeasuredDemand]
    findings: list[Finding]
    verdict: str
    releases: list[InfluencedRelease]
    meaning: dict[str, str]


class PublicationJob(TypedDict):
    id: str
    kind: Literal['publication']
    method: Literal['publication']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: PublicationSpec | None
    result: PublicationResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class Recode(TypedDict):
    auxiliary: NotRequired[dict[str, Recoding]]
    target: NotRequired[dict[str, Recoding]]


class RecodeSpec(TypedDict):
    auxiliary: dict[str, RecodingSpec]
    target: dict[str, RecodingSpec]


ReleaseStatistics: TypeAlias = (
    BoxesStatistics | UncertainStatistics | CondensationStatistics | SwapsStatistics
)


class StatisticsResult(TypedDict):
    method: Literal['statistics']
    statistics: list[ComputedStatistic]
    value_disclosure: dict[str, ValueDisclosure]


class StatisticsSummary(TypedDict):
    method: Literal['statistics']
    statistics: NotRequired[list[ComputedStatistic]]
    value_disclosure: NotRequired[dict[str, ValueDisclosure]]


class SwapDetectionJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['swap_detection']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: SwapDetectionSpec | None
    result: SwapDetectionSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class SwapsResult(TypedDict):
    valid: bool
    findings: list[Finding]
    method: Literal['swaps']
    records: int
    in_range: int
    excluded: ExcludedRecords
    members: int
    swap_count: int
    distortion: float
    assignment_distortion: float
    members_distortion: float
    distortion_ratio: float | None
    decoys: int
    decoy_distortion: float
    protected_alphas: list[float]
    fitness: float | None
    more_groups: list[MaskedGroup]
    signal_kind: SignalKindSpec
    utility: RegionalUtility
    regions: list[list[CellValue]]
    region_sizes: list[int]
    masked_regions: list[int]
    bounds: list[list[int | None]]
    signal_before: list[int]
    signal_after: list[int]
    outliers_before: list[int]
    outliers_after: list[int]
    runs: list[SwapRun]
    fitness_by_generation: list[FitnessByGeneration]
    attack_again: AttackAgain
    telltale_columns: dict[str, int]
    swap_list: list[list[int]]
    swap_list_complete: bool


class SwapsSummary(TypedDict):
    valid: bool
    findings: list[Finding]
    method: Literal['swaps']
    records: int
    in_range: int
    excluded: ExcludedRecords
    members: int
    swap_count: int
    distortion: float
    assignment_distortion: float
    members_distortion: float
    distortion_ratio: float | None
    decoys: int
    decoy_distortion: float
    protected_alphas: list[float]
    fitness: float | None
    more_groups: list[MaskedGroup]
    signal_kind: SignalKindSpec
    utility: RegionalUtility
    regions: list[list[CellValue]]
    region_sizes: list[int]
    masked_regions: list[int]
    bounds: list[list[int | None]]
    signal_before: list[int]
    signal_after: list[int]
    outliers_before: list[int]
    outliers_after: list[int]
    runs: list[SwapRun]
    fitness_by_generation: NotRequired[list[FitnessByGeneration]]
    attack_again: AttackAgain
    telltale_columns: dict[str, int]
    swap_list: NotRequired[list[list[int]]]
    swap_list_complete: NotRequired[bool]


class GroupOptions(TypedDict):
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    auxiliary_dataset_id: NotRequired[str]
    target_dataset_id: NotRequired[str | None]
    hidden_group: HiddenGroup
    region_columns: list[str]
    variables: list[FuzzyVariable]
    recode: NotRequired[Recode]
    min_membership: NotRequired[float]
    min_relative_confidence: NotRequired[float]
    min_support: NotRequired[float]
    search: NotRequired[GroupSearch]
    outliers: NotRequired[OutlierOptions]
    signal: NotRequired[SignalKind]
    split_column: NotRequired[str | None]
    min_split_share: NotRequired[float]


class BoxesJob(TypedDict):
    id: str
    kind: Literal['anonymization']
    method: Literal['boxes']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: BoxesSpec | None
    result: BoxesResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class CountJob(TypedDict):
    id: str
    kind: Literal['query']
    method: Literal['count']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: CountSpec | None
    result: CountSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class FrontierJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['frontier']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: FrontierSpec | None
    result: FrontierSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class GroupProfileJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['group_profile']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: GroupProfileSpec | None
    result: GroupProfileSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class GroupRequest(TypedDict):
    method: Literal['group']
    seed: NotRequired[int | None]
    tags: NotRequired[dict[str, str]]
    auxiliary_dataset_id: str
    target_dataset_id: NotRequired[str | None]
    hidden_group: HiddenGroup
    region_columns: list[str]
    variables: list[FuzzyVariable]
    recode: NotRequired[Recode]
    min_membership: NotRequired[float]
    min_relative_confidence: NotRequired[float]
    min_support: NotRequired[float]
    search: NotRequired[GroupSearch]
    outliers: NotRequired[OutlierOptions]
    signal: NotRequired[SignalKind]
    split_column: NotRequired[str | None]
    min_split_share: NotRequired[float]


class GroupSpec(TypedDict):
    method: Literal['group']
    seed: Literal['given'] | None
    tags: dict[str, str]
    auxiliary_dataset_id: str
    target_dataset_id: str | None
    hidden_group: HiddenGroupSpec
    region_columns: list[str]
    variables: list[FuzzyVariableSpec]
    recode: RecodeSpec
    min_membership: float
    min_relative_confidence: float
    min_support: float
    search: GroupSearchSpec
    outliers: OutlierOptionsSpec
    signal: Literal['quantity', 'concentration'] | str
    split_column: str | None
    min_split_share: float


class InfluenceJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['influence']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: InfluenceSpec | None
    result: InfluenceResult | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


JobResult: TypeAlias = (
    BoxesResult
    | UncertainResult
    | CondensationResult
    | SwapsResult
    | GroupResult
    | GroupProfileResult
    | SwapDetectionResult
    | LinkageResult
    | TableResult
    | CompositionResult
    | DeterminationResult
    | InfluenceResult
    | FrontierResult
    | PublicationResult
    | CountResult
    | ClassifyResult
    | StatisticsResult
    | ReleaseReportResult
    | JobReportResult
)


class StatisticsJob(TypedDict):
    id: str
    kind: Literal['query']
    method: Literal['statistics']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: StatisticsSpec | None
    result: StatisticsSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


class SwapsJob(TypedDict):
    id: str
    kind: Literal['anonymization']
    method: Literal['swaps']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: SwapsSpec | None
    result: SwapsSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


AuditRequest: TypeAlias = (
    GroupRequest
    | GroupProfileRequest
    | SwapDetectionRequest
    | LinkageRequest
    | TableRequest
    | CompositionRequest
    | DeterminationRequest
    | InfluenceRequest
    | FrontierRequest
)


class GroupJob(TypedDict):
    id: str
    kind: Literal['audit']
    method: Literal['group']
    state: JobState
    tags: dict[str, str]
    progress: JobProgress
    attempts: int
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: GroupSpec | None
    result: GroupSummary | None
    warnings: list[JobWarning]
    release_id: str | None
    findings: list[Finding]
    error: Problem | None
    estimate: JobEstimate | None


Job: TypeAlias = (
    BoxesJob
    | UncertainJob
    | CondensationJob
    | SwapsJob
    | GroupJob
    | GroupProfileJob
    | SwapDetectionJob
    | LinkageJob
    | TableJob
    | CompositionJob
    | DeterminationJob
    | InfluenceJob
    | FrontierJob
    | PublicationJob
    | CountJob
    | ClassifyJob
    | StatisticsJob
    | ReleaseReportJob
    | JobReportJob
)


class JobList(TypedDict):
    items: list[Job]
    next_cursor: str | None