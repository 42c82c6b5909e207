"""Pictures of the guides, drawn by matplotlib: one style, and the same bytes for the same numbers.

Colours are Okabe and Ito's, chosen so that their lightness differs too: pictures can be read in grey and by readers who
do not see red or green. Shape and place carry what is shown; colour helps. One legend for all pictures and reports:

guaranteed range : thick bar, `GUARANTEED`; of another partition, to compare with: thick bar, `OTHER`
attained range : thin bar within it, `ATTAINED`
estimate : white diamond
true value : cross, which no release has
"""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, FAINT, GREY = "#24292f", "#d0d7de", "#6e7781"
#: Lightness (CIE L*) 46, 53, 58 and 72.
BLUE, RED, GREEN, ORANGE = "#0072b2", "#d55e00", "#009e73", "#e69f00"
#: A light blue (L* 70) and a light grey (L* 86).
GUARANTEED, OTHER, ATTAINED = "#56b4e9", "#d5dae0", "#00507d"
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "surebox",
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.facecolor": "white",
}


@contextmanager
def picture(
    path: Path, title: str, *, size: tuple[float, float], description: str = "", grid: tuple[int, int] = (1, 1)
) -> Iterator[Any]:
    """Axes to draw on, one or an array of them; the file is written at the end.

    Parameters
    ----------
    path
        Where the SVG goes.
    title
        Its subject, in one line.
    size
        Width and height in inches.
    description
        What a reader who cannot see it must know: what is drawn, and what follows from it.
    grid
        Rows and columns of axes.
    """
    with rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        yield figure.subplots(*grid)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    text = path.read_text(encoding="utf-8")
    start = text.index("<svg ")
    end = text.index(">", start)
    head = spoken(title, description)
    named = text[start:end].replace("<svg ", '<svg role="img" aria-labelledby="t d" ', 1) + f">\n{head}"
    lines = (text[:start] + named + text[end + 1 :]).splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def spoken(title: str, description: str) -> str:
    """Title and description, for readers who hear a picture."""
    return f' <title id="t">{escape(title)}</title>\n <desc id="d">{escape(description or title)}</desc>'


def faint_grid(axes: Axes, axis: str = "y") -> None:
    """Faint lines behind what is drawn."""
    axes.grid(visible=True, axis=axis)  # type: ignore[arg-type]


def range_row(
    axes: Axes,
    place: float,
    guaranteed: tuple[float, float],
    *,
    other: tuple[float, float] | None = None,
    attained: tuple[float, float] | None = None,
    estimate: float | None = None,
    truth: float | None = None,
    labelled: bool = False,
) -> None:
    """One statistic in the legend of all pictures; `other` is the guaranteed range that it is compared with."""
    bars = [
        (other, 13, OTHER, "guaranteed with Mondrian's partition"),
        (guaranteed, 7, GUARANTEED, "guaranteed"),
        (attained, 2.5, ATTAINED, "attained by some data in the boxes"),
    ]
    for ends, width, colour, words in bars:
        if ends is not None:
            style = {"color": colour, "linewidth": width, "solid_capstyle": "butt"}
            axes.plot(list(ends), [place] * 2, label=words if labelled else None, **style)
    marks = [
        (estimate, "D", {"color": "white", "markeredgecolor": INK, "markersize": 4.5}, "estimate"),
        (truth, "x", {"color": INK, "markersize": 6.5, "markeredgewidth": 1.6}, "true value (not in the release)"),
    ]
    for value, mark, looks, words in marks:
        if value is not None:
            axes.plot([value], [place], mark, label=words if labelled else None, linestyle="none", **looks)
