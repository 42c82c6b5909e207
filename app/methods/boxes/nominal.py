"""Nominal columns of boxes: the values that they may have, and the classes that these are of."""

import csv
from typing import Annotated, Any, Final, Self

from pydantic import Field, field_validator, model_validator

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import MOST_VALUES, Text, Values, check_values, text_of

#: Levels of a hierarchy.
_MOST_LEVELS: Final = 20


class Hierarchy(Contract):
    """Ever wider classes of a column's values, as a tree."""

    levels: Annotated[tuple[Text, ...], Field(max_length=_MOST_LEVELS)] = Field(
        default=(), description="Names of the levels, the values themselves first; omitted: 0, 1, …"
    )
    rows: Annotated[tuple[tuple[Text, ...], ...], Field(max_length=MOST_VALUES)] = Field(
        default=(),
        validate_default=True,
        description="A row a value: the value, its class, the class of that, …, and everything.",
    )
    csv: Annotated[str, Field(max_length=10_000_000)] | None = Field(
        default=None, description="The rows as ARX writes them: a line a value, `;` between; shown as `rows`."
    )

    @model_validator(mode="before")
    @classmethod
    def _read_csv(cls, given: Any) -> Any:
        """Read ARX's form into rows."""
        if not isinstance(given, dict) or not isinstance(given.get("csv"), str):
            return given
        if given.get("rows"):
            msg = "give `rows` or `csv`, not both"
            raise MisplacedError(msg, "csv")
        text: str = given["csv"].lstrip("\ufeff")
        try:
            rows = [row for row in csv.reader(text.splitlines(), delimiter=";") if row]
        except csv.Error:
            msg = "a line cannot be read: a line a value, `;` between, texts short"
            raise MisplacedError(msg, "csv") from None
        return {name: value for name, value in given.items() if name != "csv"} | {"rows": rows}

    @field_validator("rows")
    @classmethod
    def _is_a_tree(cls, rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        height = len(rows[0]) if rows else 0
        if not 2 <= height <= _MOST_LEVELS or any(len(row) != height for row in rows):
            msg = f"every row has as many entries, 2 to {_MOST_LEVELS}: the value, its classes, and everything"
            raise ValueError(msg)
        parents: dict[tuple[int, str], str] = {}
        for index, row in enumerate(rows):
            for level in range(height - 1):
                if parents.setdefault((level, row[level]), row[level + 1]) != row[level + 1]:
                    msg = f"row {index}: what is at level {level} has another class in an earlier row"
                    raise ValueError(msg)
        if len({row[0] for row in rows}) < len(rows):
            msg = "a value occurs twice"
            raise ValueError(msg)
        if len({row[-1] for row in rows}) > 1:
            msg = "the last entry is one for all rows: everything, such as `*`"
            raise ValueError(msg)
        return rows

    @model_validator(mode="after")
    def _a_name_a_level(self) -> Self:
        if self.levels and len(self.levels) != len(self.rows[0]):
            msg = f"{len(self.rows[0])} levels, {len(self.levels)} names"
            raise MisplacedError(msg, "levels")
        return self


class NominalColumn(Contract):
    """A column of values without an order, published as the set of values that a box has."""

    values: Values | None = Field(
        default=None,
        description="All values that there may be (the codebook), with null where missing is one; omitted: those of "
        "the hierarchy, else those that k records of the data have, rarer ones together as `other` (`merged_as`).",
    )
    hierarchy: Hierarchy | None = Field(default=None, description="Cuts go between the children of one class only.")
    missing_is_value: bool = Field(
        default=False, strict=True, description="Missing is a value like any other, null in sets."
    )

    @property
    def has_missing(self) -> bool:
        """Whether missing is one of its values, by the flag or by the list."""
        return self.missing_is_value or None in (self.values or ())

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_values("values", self.values or ())
        if self.hierarchy is not None and self.values is not None:
            leaves = {row[0] for row in self.hierarchy.rows}
            for index, value in enumerate(self.values):
                if value is not None and text_of(value) not in leaves:
                    msg = "a value that the hierarchy does not have"
                    raise MisplacedError(msg, "values", index)
        return self
