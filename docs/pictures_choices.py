"""Makes pictures of how-to/which-method.md and explanation/attacks.md: `python docs/pictures_choices.py [adult.data]`.

The cost of each k, and the candidates that an attacker is left with, of boxes on three columns of Adult (looked for in
../shared/data), cut by the algorithms themselves: nothing is published. With the `worker` extra.
"""

import gzip
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from plots import BLUE, INK, ORANGE, RED, picture

from surebox_core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.sides import NumericColumn
from workers.algorithms.boxes.state import BoxesOutcome, BoxesRequest

PICTURES = Path(__file__).parent / "pictures"
ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult" / "adult.data.gz"
COLUMNS = {"age": (15.0, 95.0), "years of education": (1.0, 16.0), "hours a week": (0.0, 100.0)}
AT = (0, 4, 12)
MEANS = tuple(Statistic("mean", (column,)) for column in range(3))
OTHERS = (Statistic("mean", (0,)), Statistic("correlation", (1, 2)))
KS = (2, 3, 5, 10, 20, 50, 100)


def boxed(x: np.ndarray, k: int, statistics: tuple[Statistic, ...], seed: int) -> BoxesOutcome:
    """Boxes of whole numbers, from start to end."""
    whole = (NumericColumn(step=1.0),) * 3
    request = BoxesRequest(k, statistics, domains=tuple(COLUMNS.values()), columns=whole)
    state = anonymization.init(x, request)
    rng = np.random.default_rng(seed)  # a picture's cuts, the same every time; a release's are not
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state)


def draw_costs(axes: list[Axes], outcomes: list[BoxesOutcome]) -> None:
    """Width of guaranteed ranges and share of cells with one value against k."""
    for index, (name, colour, mark) in enumerate(zip(COLUMNS, (BLUE, ORANGE, INK), "osD", strict=True)):
        low, high = COLUMNS[name]
        widths, single = [], []
        for one in outcomes:
            published = one.certificates[index].published[0].guaranteed
            widths.append(100.0 * published.width / (high - low) if published else float("nan"))
            alone = one.boxes.lower[:, index] == one.boxes.upper[:, index]
            single.append(100.0 * one.boxes.counts[alone].sum() / one.boxes.counts.sum())
        for one_axes, values in zip(axes, (widths, single), strict=True):
            one_axes.plot(KS, values, marker=mark, color=colour, markersize=5, label=name)
    axes[0].set(title="Width of the guaranteed range of the mean", ylabel="% of the column's domain")
    axes[1].set(title="Cells that leave one value", ylabel="% of the records", xlabel="k")
    for one_axes in axes:
        one_axes.set_xscale("log")
        one_axes.set_xticks(KS, [str(k) for k in KS])
        one_axes.minorticks_off()
        one_axes.set_ylim(bottom=0.0)
        one_axes.grid(visible=True, axis="y")
    axes[0].legend(fontsize=8)


def sizes(*keys: np.ndarray) -> np.ndarray:
    """How many records share each record's keys."""
    _, inverse, counts = np.unique(np.column_stack(keys), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse.ravel()])


def draw_candidates(axes: Axes, views: dict[str, np.ndarray]) -> None:
    """People by the number of records that could be theirs, one bar a view."""
    ends = (0, 1, 4, 9, 10**9)
    names = list(views)[::-1]
    done = np.zeros(len(names))
    labels = ("1: singled out", "2 to 4", "5 to 9", "10 or more")
    for (low, high), words, colour in zip(pairwise(ends), labels, (RED, ORANGE, "#bfe3f7", BLUE), strict=True):
        shares = np.array([100.0 * np.mean((views[name] > low) & (views[name] <= high)) for name in names])
        axes.barh(names, shares, left=done, color=colour, label=words, height=0.6, edgecolor=INK, linewidth=0.4)
        for place, (start, share) in enumerate(zip(done, shares, strict=True)):
            if share >= 4.0:
                ink = "white" if colour in (BLUE, RED) else INK
                axes.text(start + share / 2, place, f"{share:.0f} %", ha="center", va="center", fontsize=8, color=ink)
        done += shares
    axes.set(xlabel="% of the people", xlim=(0, 100))
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.28), ncols=4, fontsize=8)


def main(path: Path) -> None:
    """Cut, and draw."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    frame = pl.read_csv(data, has_header=False)
    columns = [frame[frame.columns[at]].cast(pl.String).str.strip_chars().cast(pl.Float64) for at in AT]
    x = np.asfortranarray(np.column_stack(columns))
    x = x[~np.isnan(x).any(axis=1)]  # the last line of the file is empty
    outcomes = [boxed(x, k, MEANS, 3) for k in KS]
    one, two = outcomes[KS.index(5)].boxes.box, boxed(x, 5, OTHERS, 4).boxes.box
    views = {"original": sizes(x), "one release, k = 5": sizes(one), "two such releases,\noverlaid": sizes(one, two)}
    title = "The cost of k: guaranteed ranges get wider, and fewer cells leave a single value"
    about = "UCI Adult, boxes on age, years of education and hours, k from 2 to 100 on a logarithmic axis."
    with picture(PICTURES / "k-costs.svg", title, size=(6.6, 5.2), description=about, grid=(2, 1)) as both:
        draw_costs(list(both), outcomes)
    title = "People by the number of records that could be theirs"
    about = "; ".join(
        f"{' '.join(name.split())}: {100 * np.mean(view == 1):.1f} % of the people singled out, "
        f"{100 * np.mean(view < 5):.1f} % with fewer than five candidates"
        for name, view in views.items()
    )
    with picture(PICTURES / "candidates.svg", title, size=(7.6, 2.3), description=about) as axes:
        draw_candidates(axes, views)
    print(about)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ADULT)
