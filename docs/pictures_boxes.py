"""Makes the pictures of docs/boxes.md: `python docs/pictures_boxes.py` (with the `worker` extra). Made-up data.

The curve of growth is benchmarks/growth.py's.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from plots import BLUE, FAINT, GREEN, INK, RED, picture

from surebox_core.statistics import Statistic
from surebox_verify.estimates import Estimate
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.state import BoxesOutcome, BoxesRequest

PICTURES = Path(__file__).parent / "pictures"
DOMAINS = ((-3.5, 3.5), (-3.5, 3.5))
K = 5


def records(rows: int = 500) -> np.ndarray:
    """Two correlated columns with a few far records."""
    rng = np.random.default_rng(7)
    u, v = rng.normal(size=(2, rows))
    return np.asarray(np.clip(np.column_stack([u, 0.75 * u + 0.55 * v]), -3.3, 3.3))


def boxed(x: np.ndarray, statistics: tuple[Statistic, ...], **options: object) -> BoxesOutcome:
    """The boxes of a request, from start to end."""
    state = anonymization.init(x, BoxesRequest(K, statistics, domains=DOMAINS, **options))  # type: ignore[arg-type]
    rng = np.random.default_rng(3)  # a picture's cuts, the same every time; a release's are not
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state)


MEANS = (Statistic("mean", (0,)), Statistic("mean", (1,)))
CORRELATION = (Statistic("correlation", (0, 1)),)


def draw_boxes(axes: Axes, outcome: BoxesOutcome, fill: list[str] | None = None) -> None:
    """Outlines, filled where `fill` has colours, on a square map of the domain."""
    for b, (low, high) in enumerate(zip(outcome.boxes.lower, outcome.boxes.upper, strict=True)):
        style = {"facecolor": fill[b] if fill else "none", "edgecolor": INK, "linewidth": 0.5}
        axes.add_patch(Rectangle(tuple(low), *(high - low), **style))
    axes.set(xlim=DOMAINS[0], ylim=DOMAINS[1], xlabel="x", ylabel="y", aspect="equal")


def shapes() -> None:
    """The same records in boxes for two means and in boxes for one correlation."""
    data = np.random.default_rng(5).uniform(-3.4, 3.4, (600, 2))
    title = "The same records in boxes for two means, and in boxes for one correlation"
    with picture(PICTURES / "boxes-statistics.svg", title, size=(8.2, 4.7), grid=(1, 2)) as both:
        for axes, words, shaped_by in (
            (both[0], "boxes for two means", MEANS),
            (both[1], "boxes for one correlation", CORRELATION),
        ):
            axes.plot(*data.T, ".", color=BLUE, markersize=2.5)
            draw_boxes(axes, boxed(data, shaped_by))
            x, y, rho = (certain(data, shaped_by, one) for one in (*MEANS, *CORRELATION))
            axes.set_title(f"{words}\ncertain to: means ±{x:.2f} and ±{y:.2f}, correlation ±{rho:.2f}")


def certain(data: np.ndarray, shaped_by: tuple[Statistic, ...], statistic: Statistic) -> float:
    """Half the certain range of a statistic, in boxes made for others: one of weight 0 shapes nothing."""
    statistics = (*shaped_by, Statistic(statistic.kind, statistic.of, 0.0))
    interval = boxed(data, statistics).certificates[-1].published[0].guaranteed
    return interval.width / 2 if interval else float("nan")


def weights() -> None:
    """What a box adds to the uncertainty decides its weight; suppression is all or nothing."""
    data = records()
    weighed, crisp = boxed(data, CORRELATION, rare_records="weigh"), boxed(data, CORRELATION, rare_records="suppress")
    every = boxed(data, CORRELATION)
    per_record = weighed.chosen.weights
    if per_record is None:
        raise TypeError("a weighed outcome has weights")
    share = [int(one.boxes.counts.sum()) for one in (crisp, weighed)]
    pale = ["#f6d5d3"] * len(every.boxes.counts)
    with picture(
        PICTURES / "boxes-weights.svg", "Boxes weighed and boxes suppressed", size=(8.2, 4.7), grid=(1, 2)
    ) as both:
        for axes, kept, fill in (
            (both[0], crisp, [BLUE] * len(crisp.boxes.counts)),
            (both[1], weighed, [shade(w / per_record.max()) for w in per_record]),
        ):
            draw_boxes(axes, every, pale)
            draw_boxes(axes, kept, fill)
        caption = f"{share[0]} of {len(data)} records; in: blue, out: pale red"
        both[0].set_title(f"suppress: a box is in or out\n{caption}")
        caption = f"{share[1]} of {len(data)} records; the darker, the more it counts"
        both[1].set_title(f"weigh: less where a box adds more\n{caption}")


def shade(share: float) -> str:
    """From white to blue."""
    return "#" + "".join(f"{round(255 + (end - 255) * share):02x}" for end in (0x2F, 0x6F, 0xB5))


def certainty() -> None:
    """Estimate, linear, reached and guaranteed range, and the true value, of several statistics."""
    data = records()
    statistics = (
        *MEANS,
        Statistic("variance", (0,)),
        Statistic("covariance", (0, 1)),
        Statistic("correlation", (0, 1)),
        Statistic("regression", (1, 0)),
    )
    outcome = boxed(data, statistics)
    names = ["mean of x", "mean of y", "variance of x", "covariance", "correlation", "slope of y on x"]
    title = "What is said of a statistic, and what is certain"
    with picture(PICTURES / "boxes-ranges.svg", title, size=(8.2, 3.6)) as axes:
        for row, one in enumerate(outcome.certificates):
            draw_ranges(axes, len(names) - 1 - row, one.published[-1], one.true_value[-1], labelled=row == 0)
        axes.set_yticks(range(len(names))[::-1], names)
        axes.set_xlabel("value; x and y have a standard deviation of about 1")
        axes.grid(visible=True, axis="x")
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, 1.16), ncols=5, fontsize=8.5)


def draw_ranges(axes: Axes, place: int, estimate: Estimate, true: float | None, *, labelled: bool) -> None:
    """One row of `certainty`."""
    outer, inner, linear = estimate.guaranteed, estimate.inner, estimate.linear
    if outer is None or inner is None or linear is None or estimate.estimate is None or true is None:
        raise TypeError("every range of these data is there")

    def label(words: str) -> str | None:
        return words if labelled else None

    for interval, width, colour, words in (
        (outer, 14, FAINT, "guaranteed"),
        (inner, 7, BLUE, "reached by some data in the boxes"),
        (linear, 2, GREEN, "linear"),
    ):
        height = place - 0.32 if words == "linear" else place
        ends = [interval.lower, interval.upper]
        axes.plot(ends, [height] * 2, color=colour, linewidth=width, solid_capstyle="butt", label=label(words))
    axes.plot([estimate.estimate], [place], "o", color="white", markeredgecolor=INK, label=label("estimate"))
    words = "true value (not in the release)"
    axes.plot([true] * 2, [place - 0.38, place + 0.38], color=RED, linewidth=2, label=label(words))


if __name__ == "__main__":
    shapes()
    weights()
    certainty()
