"""What specifications state about a microfile: values, recoding, linguistic variables, the group, outliers, models."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    model_validator,
)
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import ColumnName, Finite, check_different
from app.contracts.datasets import ColumnType
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec

#: A point of a membership function; beyond this size differences of points would overflow.
Point = Annotated[float, Field(strict=True, ge=-1e150, le=1e150, allow_inf_nan=False)]
#: A text as long as a field of an upload may be.
Text = Annotated[StrictStr, Field(max_length=1_000_000)]
CellValue = TypeAliasType(
    "CellValue",
    Annotated[
        Text | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)] | StrictBool,
        Field(description='A cell. It compares as the column\'s type: `1` and `"1"` are the same integer.'),
    ],
)
RecodedValue = TypeAliasType(
    "RecodedValue",
    Annotated[
        Text | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)] | None,
        Field(description="What a cell becomes: a value, or null for missing."),
    ],
)

MOST_TERMS: Final = 100
MOST_VARIABLES: Final = 100
MOST_VALUES: Final = 100_000


def _listed(given: Any) -> Any:
    """A single value represents the list of it."""
    return [given] if isinstance(given, str | int | float) else given


_REGION: Final = "One region: a cell for each of `region_columns`."
Region = TypeAliasType(
    "Region",
    Annotated[
        tuple[CellValue, ...],
        Field(min_length=1, description=_REGION),
        BeforeValidator(
            _listed,
            json_schema_input_type=Annotated[
                Annotated[tuple[CellValue, ...], Field(min_length=1)] | CellValue, Field(description=_REGION)
            ],
        ),
    ],
)


class GaussianTerm(Contract):
    """A term whose grade falls off like a bell."""

    name: str = Field(min_length=1, max_length=200, description="Name of the term in rules, such as `young`.")
    shape: Literal["gaussian"] = Field(description="Shape of a bell curve.")
    sigma: float = Field(
        strict=True, gt=0, le=1e150, allow_inf_nan=False, description="Standard deviation of the bell curve."
    )
    centre: Point = Field(description="Where the grade is 1.")


#: shape -> how many points it has
POINTS: Final[Mapping[str, int]] = {"trapezoid": 4, "triangle": 3, "pi": 4, "s": 2, "z": 2, "range": 2}


class PointsTerm(Contract):
    """A term between points in rising order; where two coincide its shoulder is vertical and the end belongs to it."""

    name: str = Field(min_length=1, max_length=200, description="Name of the term in rules, such as `young`.")
    shape: Literal["trapezoid", "triangle", "pi", "s", "z", "range"] = Field(
        description="How the grade runs between the points; `s` rises, `z` falls, `range` is 1 or 0."
    )
    points: tuple[Point, ...] = Field(
        description="trapezoid and pi: 4, triangle: 3, s, z and range (closed): 2; in rising order."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        wanted = POINTS[self.shape]
        if len(self.points) != wanted:
            msg = f"the term {self.name!r} needs {wanted} points for the shape {self.shape}, {len(self.points)} given"
            raise MisplacedError(msg, "points")
        if any(left > right for left, right in zip(self.points, self.points[1:], strict=False)):
            msg = f"the points of the term {self.name!r} are out of order: each must be at least the one before it"
            raise MisplacedError(msg, "points")
        return self


FuzzyTerm = TypeAliasType(
    "FuzzyTerm",
    Annotated[GaussianTerm | PointsTerm, Field(discriminator="shape", description="A term of a variable.")],
)


class FuzzyVariable(Contract):
    """A linguistic variable: accepted values of a column, and the terms that rules may use."""

    column: ColumnName = Field(description="The column that it looks at.")
    range: tuple[Finite, Finite] = Field(description="Accepted values, both ends included; other records are left out.")
    terms: tuple[FuzzyTerm, ...] = Field(
        default=(), max_length=MOST_TERMS, description="Without terms it only filters."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        lo, hi = self.range
        if lo > hi:
            msg = f"the range of {self.column!r} must be [lo, hi] with lo not above hi"
            raise MisplacedError(msg, "range")
        names = [term.name for term in self.terms]
        if len(set(names)) != len(names):
            msg = f"two terms of {self.column!r} have the same name"
            raise MisplacedError(msg, "terms")
        return self


def check_variables(variables: tuple[FuzzyVariable, ...]) -> None:
    """Raise ValueError when a column occurs twice, or no variable has terms."""
    check_different(field="variables", names=tuple(one.column for one in variables), inner="column")
    if not any(variable.terms for variable in variables):
        msg = "no variable has terms: there is nothing that a rule could state"
        raise MisplacedError(msg, "variables")


class GroupCondition(Contract):
    """What makes a record one of the group's: one of these values in this column; a missing value does not."""

    column: ColumnName = Field(description="A column that names the group.")
    values: tuple[CellValue, ...] = Field(
        min_length=1, max_length=MOST_VALUES, description="The group's values; they compare as the column's type."
    )


def _number(given: Any) -> str:
    return "several" if isinstance(given, list | tuple) else "one"


HiddenGroup = TypeAliasType(
    "HiddenGroup",
    Annotated[
        Annotated[GroupCondition, Tag("one")]
        | Annotated[tuple[GroupCondition, ...], Field(min_length=1, max_length=MOST_VARIABLES), Tag("several")],
        Discriminator(_number),
        Field(description="One condition, or several that must all be met."),
    ],
)


class RecodeCase(Contract):
    """One case of a derived column: where every named column has one of its values, this is what the record gets."""

    when: dict[ColumnName, tuple[CellValue, ...]] = Field(min_length=1, description="By column, the values that fit.")
    to: RecodedValue = Field(description="What the record gets; null: missing.")


class DerivedColumn(Contract):
    """A column made from others: the first case that fits decides; one column without cases is taken as it is."""

    columns: tuple[ColumnName, ...] = Field(min_length=1, max_length=20, description="Columns that it is made from.")
    cases: tuple[RecodeCase, ...] = Field(
        default=(), max_length=10_000, description="Cases, tried in this order; the first that applies decides."
    )
    otherwise: RecodedValue = Field(default=None, description="Where no case fits; null: missing.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="columns", names=self.columns)
        if not self.cases and (len(self.columns) > 1 or self.otherwise is not None):
            msg = "several columns become one by `cases`; none is given"
            raise MisplacedError(msg, "cases")
        for index, case in enumerate(self.cases):
            if unknown := set(case.when) - set(self.columns):
                msg = f"a case asks for {min(unknown)!r}, which is not one of `columns`"
                raise MisplacedError(msg, "cases", index, "when", min(unknown))
        return self


RecodedValues = TypeAliasType(
    "RecodedValues",
    Annotated[
        dict[Text, RecodedValue],
        Field(max_length=MOST_VALUES, description="What each value becomes; others stay as they are."),
    ],
)


def _kind(given: Any) -> str:
    is_derived = isinstance(given, DerivedColumn) or (
        isinstance(given, dict) and isinstance(given.get("columns"), list)
    )
    return "derived" if is_derived else "values"


Recoding = TypeAliasType(
    "Recoding",
    Annotated[
        Annotated[RecodedValues, Tag("values")] | Annotated[DerivedColumn, Tag("derived")],
        Discriminator(_kind),
        Field(description="How one column is harmonised: value by value, or derived from columns."),
    ],
)
Recodings = dict[ColumnName, Recoding]


class Recode(Contract):
    """Harmonisation of both datasets: what each column's values become, before anything else is looked at."""

    auxiliary: Recodings = Field(default_factory=dict, description="Of the auxiliary dataset, by column.")
    target: Recodings = Field(default_factory=dict, description="Of the target dataset, by column.")


class OutlierOptions(Contract):
    """How outliers of a signal are found: one after the other, by the modified Thompson tau or by Grubbs' test."""

    test: Literal["thompson_tau", "grubbs"] = Field(
        default="thompson_tau",
        description="Test that decides: the modified Thompson tau, which the paper takes, or Grubbs' test, the other "
        "of its standard. That allows for the number of regions, and points at fewer.",
    )

    significance_level: float = Field(
        default=0.01, strict=True, gt=0, lt=1, description="Level of the test for outliers."
    )
    robust: bool = Field(
        default=True, strict=True, description="Median and interquartile range instead of mean and deviation."
    )
    ignore: tuple[Region, ...] = Field(
        default=(), max_length=MOST_VALUES, description="Regions that an expert does not count as outliers."
    )


class ExcludedRecords(Contract):
    """Records that were left out of a dataset, by reason; one record may have several."""

    records: int = Field(description="Number of records that were excluded in all.")
    missing: dict[str, int] = Field(default_factory=dict, description="By column: no value there.")
    out_of_range: dict[str, int] = Field(default_factory=dict, description="By column: outside the accepted range.")


def recoded_type(recoding: dict[str, Any] | DerivedColumn, types: Mapping[str, ColumnType], name: str) -> ColumnType:
    """The type of a recoded column; its own columns exist.

    Numbers where everything it can become is a number (a text that reads as a number counts as that number, any other
    text as missing), else texts.
    """
    if isinstance(recoding, DerivedColumn) and not recoding.cases:
        return types[recoding.columns[0]]
    if isinstance(recoding, DerivedColumn):
        made = [*(case.to for case in recoding.cases), recoding.otherwise]
    else:
        made = list(recoding.values())
    numbers = [one for one in made if one is not None]
    if not all(isinstance(one, int | float) for one in numbers):
        return ColumnType.STRING
    is_integer = all(isinstance(one, int) for one in numbers)
    if isinstance(recoding, DerivedColumn):
        return ColumnType.INTEGER if is_integer else ColumnType.NUMBER
    own = types[name]
    if not numbers:  # nothing but values that become missing
        return own
    if own is ColumnType.INTEGER:
        return ColumnType.INTEGER if is_integer else ColumnType.NUMBER
    return ColumnType.STRING if own in {ColumnType.BOOLEAN, ColumnType.DATE} else ColumnType.NUMBER


class RulesModelRule(Contract):
    """A rule: terms by place among the variables that have terms, 0 = any."""

    terms: tuple[Annotated[int, Field(strict=True, ge=0)], ...] = Field(
        min_length=1, max_length=MOST_VARIABLES, description="Places among the terms of each variable, from 1; 0 = any."
    )


class RulesModel(Contract):
    """A fuzzy model of the group that was learned elsewhere."""

    variables: tuple[FuzzyVariable, ...] = Field(
        min_length=1, max_length=MOST_VARIABLES, description="What the rules speak of, and which records count."
    )
    rules: tuple[RulesModelRule, ...] = Field(
        min_length=1, max_length=MOST_VALUES, description="Who fits one of them is taken for the group's."
    )
    min_membership: float = Field(
        default=0.5, strict=True, gt=0, le=1, description="Least grade of membership that counts."
    )
    recode: Recodings = Field(default_factory=dict, description="Harmonisation of the dataset, as in `group`.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_variables(self.variables)
        sizes = [len(variable.terms) for variable in self.variables if variable.terms]
        for index, rule in enumerate(self.rules):
            if len(rule.terms) != len(sizes):
                msg = f"rule {index} has {len(rule.terms)} terms; {len(sizes)} variables have terms"
                raise MisplacedError(msg, "rules", index, "terms")
            if not any(rule.terms):
                msg = f"rule {index} reveals nothing: every record would belong to the group"
                raise MisplacedError(msg, "rules", index, "terms")
            if any(term > most for term, most in zip(rule.terms, sizes, strict=True)):
                msg = f"rule {index} names a term that its variable does not have"
                raise MisplacedError(msg, "rules", index, "terms")
        return self


MOST_FILES = 20


class FilesSpec(JobSpec):
    """Releases and datasets that a model of the group is held against."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    version: ClassVar[int] = 2  # 2: `outliers.test`, small `significance_level`

    release_ids: tuple[ReleaseId, ...] = Field(
        default=(), max_length=MOST_FILES, description="Ids of the releases to attack."
    )
    dataset_ids: tuple[DatasetId, ...] = Field(
        default=(), max_length=MOST_FILES, description="Ids of the datasets to attack."
    )
    region_columns: tuple[ColumnName, ...] = Field(
        default=(), max_length=20, description="Columns that divide each file; default: those of the `group` job."
    )
    masked_regions: tuple[Region, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_VALUES,
        description="Regions that must not stand out; default: none in particular, `passed` is null.",
    )
    outliers: OutlierOptions = Field(default_factory=OutlierOptions, description="What stands out of a signal.")

    @model_validator(mode="after")
    def _files(self) -> Self:
        check_different(field="release_ids", names=self.release_ids)
        check_different(field="dataset_ids", names=self.dataset_ids)
        check_different(field="region_columns", names=self.region_columns)
        if not self.release_ids and not self.dataset_ids:
            raise MisplacedError("there is nothing to look at", "release_ids")
        return self
