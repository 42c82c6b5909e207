"""Pictures of the guides, drawn by matplotlib: one style, and the same bytes for the same numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, FAINT = "#24292f", "#d0d7de"
BLUE, RED, GREEN, GREY, ORANGE = "#2f6fb5", "#c8372d", "#2f855a", "#6e7781", "#b35900"
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
def picture(path: Path, title: str, *, size: tuple[float, float], grid: tuple[int, int] = (1, 1)) -> Iterator[Any]:
    """Axes to draw on, one or an array of them; the file is written at the end.

    Parameters
    ----------
    path
        Where the SVG goes.
    title
        What it shows, for who cannot see it.
    size
        Width and height in inches.
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
    named = text[start:end].replace("<svg ", '<svg role="img" ', 1) + f">\n <title>{escape(title)}</title>"
    lines = (text[:start] + named + text[end + 1 :]).splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def faint_grid(axes: Axes, axis: str = "y") -> None:
    """Faint lines behind what is drawn."""
    axes.grid(visible=True, axis=axis)  # type: ignore[arg-type]
