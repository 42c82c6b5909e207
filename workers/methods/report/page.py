"""A report as one HTML page that asks nothing of the network.

The page's policy forbids scripts, and everything from elsewhere; its only style is named by its hash, its pictures
stand in it. It can be saved, mailed and printed.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from workers.methods.report.sections import Figure, Section, read_as

if TYPE_CHECKING:
    from jinja2 import Template


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
    """The page as HTML. Whatever a name or a value holds is escaped."""
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
