"""Pictures of a report as SVG, drawn by matplotlib: the same numbers give the same bytes.

Shape and place carry the information; colour only helps. Text stays text. Each picture has a title and a description
inside, and its numbers are in a table next to it.
"""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from workers.methods.report.page import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches; a page of A4 has 6.9 between its margins, one of Letter 7.1.
WIDTH: Final = 6.8
_ROW: Final = 0.26
_HEAD: Final = 0.75
_STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "surebox",
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Arial", "DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.axisbelow": True,
    "path.simplify": False,
}
#: Those of the documents (docs/plots.py): Okabe and Ito's light blue, and a darker blue.
_CERTAIN, _REACHED, _INK = "#56b4e9", "#00507d", "#111111"


@dataclass(frozen=True, slots=True)
class Interval:
    """One row of `intervals`: a certain range, what of it is reached, the estimate, and the true value where shown."""

    name: str
    certain: tuple[float, float]
    reached: tuple[float, float] | None = None
    estimate: float | None = None
    truth: float | None = None


def intervals(rows: Sequence[Interval], *, title: str, description: str, axis: str) -> Figure:
    """Ranges one below the other: certain as a thick bar, reached as a thin one in it, the estimate as a tick.

    Parameters
    ----------
    rows
        From top to bottom, on one common axis.
    title, description
        In words what it shows.
    axis
        What the axis counts.
    """
    with _drawing(_HEAD + _ROW * len(rows)) as (axes, finish):
        places = np.arange(len(rows))[::-1]
        for place, row in zip(places, rows, strict=True):
            axes.plot(row.certain, [place, place], color=_CERTAIN, linewidth=7, solid_capstyle="butt")
            axes.plot(row.certain, [place, place], "|", color=_INK, markersize=9, markeredgewidth=1)
            if row.reached is not None:
                axes.plot(row.reached, [place, place], color=_REACHED, linewidth=2.5, solid_capstyle="butt")
            if row.estimate is not None:
                axes.plot([row.estimate], [place], "D", color="white", markeredgecolor=_INK, markersize=4.5)
            if row.truth is not None:
                axes.plot([row.truth], [place], "x", color=_INK, markersize=7, markeredgewidth=1.6)
        axes.set_yticks(places, [row.name for row in rows])
        axes.set_ylim(-0.7, len(rows) - 0.3)
        axes.set_xlabel(axis)
        axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
        return finish(title, description)


def histogram(values: NDArray[np.integer], *, title: str, description: str, axis: str) -> Figure:
    """How often each size occurs, in at most 24 equal bins of whole numbers."""
    low, high = int(values.min()), int(values.max())
    step = max(1, -(-(high - low + 1) // 24))
    edges = np.arange(low, high + step + 1, step) - 0.5
    counts, _ = np.histogram(values, edges)
    with _drawing(2.1) as (axes, finish):
        axes.bar(edges[:-1] + step / 2, counts, width=step * 0.9, color=_CERTAIN, edgecolor=_INK, linewidth=0.6)
        axes.set_xlabel(axis)
        axes.set_ylabel("boxes")
        axes.locator_params(axis="x", integer=True)
        return finish(title, description)


def bars(names: Sequence[str], values: Sequence[float], *, title: str, description: str, axis: str) -> Figure:
    """One bar a name, from top to bottom."""
    with _drawing(_HEAD + _ROW * len(names)) as (axes, finish):
        places = np.arange(len(names))[::-1]
        axes.barh(places, list(values), height=0.6, color=_CERTAIN, edgecolor=_INK, linewidth=0.6)
        axes.set_yticks(places, list(names))
        axes.set_xlabel(axis)
        axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
        return finish(title, description)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of `curves`: its name, and a value at each place."""

    name: str
    values: Sequence[float]


def curves(at: Sequence[int], rows: Sequence[Curve], *, title: str, description: str, axes: tuple[str, str]) -> Figure:
    """Lines over whole numbers on a logarithmic axis, each with marks of its own.

    Parameters
    ----------
    at
        The places, ascending.
    rows
        The lines.
    title, description
        In words what it shows.
    axes
        What the two axes count.
    """
    with _drawing(2.9) as (drawn, finish):
        for row, (mark, dash) in zip(rows, cycle(zip("os^Dvx+*", cycle(("-", "--", ":")), strict=False)), strict=False):
            drawn.plot(
                list(at), list(row.values), dash, marker=mark, color=_INK, markersize=5, linewidth=1.1, label=row.name
            )
        drawn.set_xscale("log")
        drawn.set_xticks(list(at), [str(one) for one in at])
        drawn.minorticks_off()
        drawn.set_ylim(bottom=0.0)
        drawn.set_xlabel(axes[0])
        drawn.set_ylabel(axes[1])
        drawn.grid(visible=True, color="#dddddd", linewidth=0.6)
        drawn.legend(frameon=False, fontsize=8)
        return finish(title, description)


def before_and_after(
    names: Sequence[str], before: Sequence[float], after: Sequence[float], *, title: str, description: str, axis: str
) -> Figure:
    """Two marks a name, hollow before and solid after, and the way between them."""
    with _drawing(_HEAD + _ROW * len(names)) as (axes, finish):
        places = np.arange(len(names))[::-1]
        axes.hlines(places, before, after, color="#888888", linewidth=1)
        axes.plot(list(before), places, "o", color="white", markeredgecolor=_INK, markersize=6, label="before")
        axes.plot(list(after), places, "s", color=_REACHED, markeredgecolor=_INK, markersize=5, label="after")
        axes.set_yticks(places, list(names))
        axes.set_ylim(-0.7, len(names) - 0.3)
        axes.set_xlabel(axis)
        axes.legend(frameon=False, loc="lower right", fontsize=8)
        axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)
        return finish(title, description)


class _drawing:  # noqa: N801 - a context manager, used like a function
    """An empty picture of a height in inches; gives its axes, and what turns it into a figure."""

    def __init__(self, height: float) -> None:
        from matplotlib import rc_context
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure as Drawn

        self._context = rc_context(_STYLE)
        self._context.__enter__()
        self._figure = Drawn(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(self._figure)

    def __enter__(self) -> "tuple[Axes, Callable[[str, str], Figure]]":
        return self._figure.add_subplot(), self._finish

    def __exit__(self, *raised: object) -> None:
        self._context.__exit__(None, None, None)

    def _finish(self, title: str, description: str) -> Figure:
        target = io.BytesIO()
        self._figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
        text = target.getvalue().decode()
        head = f'<title id="t">{escape(title)}</title><desc id="d">{escape(description)}</desc>'
        spoken = re.sub(r"<svg ([^>]*)>", rf'<svg role="img" aria-labelledby="t d" \1>{_literal(head)}', text, count=1)
        return Figure(title, description, spoken.encode())


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\")
