"""What a page consists of: sections of sentences, tables and pictures. No HTML here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Cell: TypeAlias = str | int | float | bool | None
_FEW: Final = 6


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a caption.

    Attributes
    ----------
    caption
        What the rows are.
    head
        A title per column; the first column names the row.
    rows
        Cells; None is shown as a dash.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture; what it shows stands in the table of the same section too.

    Attributes
    ----------
    title
        What it is, in a few words.
    description
        What is to be seen, for who cannot see it.
    svg
        The picture, as a document of its own.
    """

    title: str
    description: str
    svg: bytes


@dataclass(frozen=True, slots=True)
class Section:
    """One heading and what stands under it."""

    title: str
    sentences: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing stands under the heading."""
        return not (self.sentences or self.points or self.figures or self.tables)


def read_as(cell: Cell) -> str:
    """A cell as it is read: numbers with six digits at most, a dash where there is nothing."""
    if cell is None:
        return "\N{EN DASH}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:,.{_FEW}g}" if abs(cell) < 10**_FEW else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def pairs(caption: str, rows: Sequence[tuple[str, Cell]]) -> Table:
    """A table of names and values; values that are not there are left out."""
    return Table(caption, ("", "Value"), tuple((name, value) for name, value in rows if value is not None))
