"""A report as one HTML page that asks nothing of the network: sections of sentences, tables and pictures.

The page's policy forbids scripts, and everything from elsewhere; its only style is named by its hash, its pictures
are in it. It can be saved, mailed and printed.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from jinja2 import Template

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
    """A picture; what it shows is in the table of the same section too.

    Attributes
    ----------
    title
        What it is, in a few words.
    description
        A description of the picture, for those who cannot see it.
    svg
        The picture, as a document of its own.
    """

    title: str
    description: str
    svg: bytes


@dataclass(frozen=True, slots=True)
class Section:
    """One heading and its content."""

    title: str
    sentences: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is under the heading."""
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


@dataclass(frozen=True, slots=True)
class Page:
    """One report.

    Attributes
    ----------
    title
        Of the page.
    lead
        One sentence on what it is.
    mark
        Who may read it.
    sections
        In their order; empty ones are left out.
    foot
        What made it.
    """

    title: str
    lead: str
    mark: str
    sections: Sequence[Section]
    foot: str


def rendered(page: Page) -> str:
    """The page as HTML. Whatever a name or a value contains is escaped."""
    return _template().render(
        title=page.title,
        lead=page.lead,
        mark=page.mark,
        sections=[section for section in page.sections if not section.empty],
        foot=page.foot,
        style=_style(),
        policy=policy(),
    )


@cache
def policy() -> str:
    """The Content-Security-Policy that the page lives under."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _source(figure: Figure) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg).decode()


@cache
def _style() -> str:
    return files("workers.methods.report").joinpath("page.css").read_text(encoding="utf-8")


@cache
def _template() -> "Template":
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=False)
    environment.filters["shown"] = read_as
    environment.filters["source"] = _source
    return environment.from_string(files("workers.methods.report").joinpath("page.html").read_text(encoding="utf-8"))
