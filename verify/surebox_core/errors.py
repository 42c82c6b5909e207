"""What computing with columns and statistics refuses, with the facts a caller needs to name the offending field."""

from collections.abc import Callable


class UndefinedStatisticError(ValueError):
    """A statistic that these records, or its own wording, leave undefined; `index` is its place in the list.

    Where columns are to blame they are in `culprits`, and `reason` states what they are.
    """

    def __init__(
        self, index: int, kind: str, columns: tuple[int, ...], reason: str, culprits: tuple[int, ...] = ()
    ) -> None:
        self.index = index
        self.kind = kind
        self.columns = columns
        self.reason = reason
        self.culprits = culprits
        super().__init__(f"statistic {index} ({kind} of columns {list(columns)}) is undefined: {self.in_words(str)}")

    def in_words(self, name: Callable[[int], str]) -> str:
        """The reason in words, its columns by the names that a caller has for them."""
        if not self.culprits:
            return self.reason
        names = ", ".join(name(column) for column in self.culprits)
        return f"column {names} is {self.reason}" if len(self.culprits) == 1 else f"columns {names} are {self.reason}"


class InvalidColumnError(ValueError):
    """A column with values that no method can take; `column` is its place among the columns."""

    def __init__(self, column: int, reason: str) -> None:
        super().__init__(f"column {column}: {reason}")
        self.column = column
        self.reason = reason
