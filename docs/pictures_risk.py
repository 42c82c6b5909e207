"""Makes docs/pictures/equal-risk.svg of what was measured last: `PYTHONPATH=. python docs/pictures_risk.py`."""

from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from plots import BLUE, GREY, INK, OTHER, faint_grid, picture

from benchmarks.recorded import recorded

PICTURES = Path(__file__).parent / "pictures"
TITLE: Final = "What is revealed of one person, to whom, and at what price"
#: Shares on an axis of powers: what is less is drawn here.
LEAST: Final = 1e-3


def bars(axes: Axes, tools: list[str], values: list[list[float]], *, hollow: list[bool] | None = None) -> None:
    """A bar a tool up to the mean over the tables, and a dot a table; hollow where nothing is promised."""
    for place, (tool, each) in enumerate(zip(tools, values, strict=True)):
        colour = BLUE if tool.startswith("Surebox") else OTHER
        empty = hollow is not None and hollow[place]
        looks: dict[str, Any] = {"facecolor": "none" if empty else colour, "edgecolor": GREY if empty else colour}
        axes.barh(place, sum(each) / len(each), height=0.62, **looks)
        axes.plot(each, [place] * len(each), "o", color=INK, markersize=2.6, linestyle="none")
    axes.set_yticks(range(len(tools)), tools)
    faint_grid(axes, "x")


def main() -> None:
    """Draw."""
    tables: dict[str, dict[str, dict[str, Any]]] = recorded("equal_risk", ".tables")
    tools = list(next(iter(tables.values())))[::-1]

    def of(figure: str, times: float = 1.0) -> list[list[float]]:
        return [[times * one[tool][figure] for one in tables.values()] for tool in tools]

    hollow = [not next(iter(tables.values()))[tool]["promises"] for tool in tools]
    about = (
        f"By tool, over {len(tables)} tables, a dot each. Left: the share of people whose value everybody knows to "
        "within a tenth of the column's scale, in the column where it is largest. Middle: the share whose value a best "
        "guess hits, beyond chance. Right: what is left uncertain of a mean; hollow where the tool promises nothing."
    )
    with picture(PICTURES / "equal-risk.svg", TITLE, size=(10.4, 3.9), description=about, grid=(1, 3)) as three:
        bars(three[0], tools, of("certain", 100.0))
        three[0].set(title="Everybody knows the value", xlabel="% of the people", xlim=(0, 100))
        bars(three[1], tools, of("guessed", 100.0))
        three[1].set(title="A best guess hits, beyond chance", xlabel="% of the people", xlim=(0, 100))
        bars(three[2], tools, [[max(each, LEAST) for each in those] for those in of("mean")], hollow=hollow)
        three[2].set(title="Price: range of a mean", xlabel="deviations; hollow: error, nothing promised", xscale="log")
        for axes in three[1:]:
            axes.set_yticklabels([])


if __name__ == "__main__":
    main()
