"""What the algorithms refuse, each with the facts a caller needs to name the offending field."""

from surebox_core.errors import InvalidColumnError


class InfeasibleKError(ValueError):
    """More records per box are demanded than there are records."""

    def __init__(self, required: int, largest: int) -> None:
        super().__init__(f"k = {required} required, {largest} records: the largest k is {largest}")
        self.required = required
        self.largest = largest


class OutsideDomainError(InvalidColumnError):
    """A column with values outside its declared domain; `count` states how many."""

    def __init__(self, column: int, count: int) -> None:
        super().__init__(column, f"{count} values are outside the declared domain")
        self.count = count


class InfeasibleDiversityError(ValueError):
    """More values per box are demanded than a column has.

    `column` counts the sensitive ones, then those of `min_separation`.
    """

    def __init__(self, column: int, required: int, largest: int) -> None:
        super().__init__(f"l = {required} requested, column {column} of those counted has {largest} values")
        self.column = column
        self.required = required
        self.largest = largest


class SuppressionError(ValueError):
    """More records than allowed are in classes, or patterns of missing values, too rare for any box."""

    def __init__(self, records: int, of: int, allowed: float) -> None:
        super().__init__(f"{records} of {of} records would be left out, at most a share of {allowed:g} may be")
        self.records = records
        self.of = of
        self.allowed = allowed


class InfeasibleAlphaError(ValueError):
    """Even all records together have a value in too large a share; `column` counts the sensitive ones."""

    def __init__(self, column: int, required: float, least: float) -> None:
        super().__init__(f"alpha = {required:g} requested, a value of sensitive column {column} has share {least:g}")
        self.column = column
        self.required = required
        self.least = least
