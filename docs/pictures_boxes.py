"""Makes the pictures of docs/explanation/boxes.md: `python docs/pictures_boxes.py`.

Made-up data.

The curve of growth is benchmarks/growth.py's.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from plots import BLUE, GREEN, INK, OTHER, picture, range_row

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
    title = "The same records in boxes for two means, in boxes for one correlation, and in Mondrian's boxes"
    about = "Titles give half the guaranteed range of both means and of the correlation: each is least where it shapes."
    with picture(PICTURES / "boxes-statistics.svg", title, size=(9.6, 4.1), description=about, grid=(1, 3)) as three:
        for axes, words, shaped_by, partition in (
            (three[0], "boxes for two means", MEANS, "optimal"),
            (three[1], "boxes for one correlation", CORRELATION, "optimal"),
            (three[2], "Mondrian's boxes", MEANS, "mondrian"),
        ):
            axes.plot(*data.T, ".", color=BLUE, markersize=2.5)
            draw_boxes(axes, boxed(data, shaped_by, partition=partition))
            x, y, rho = (certain(data, shaped_by, one, partition) for one in (*MEANS, *CORRELATION))
            axes.set_title(f"{words}\nmeans ±{x:.2f}, ±{y:.2f}\ncorrelation ±{rho:.2f}")


def certain(data: np.ndarray, shaped_by: tuple[Statistic, ...], statistic: Statistic, partition: str) -> float:
    """Half the guaranteed range of a statistic, in boxes made for others: one of weight 0 shapes nothing."""
    statistics = (*shaped_by, Statistic(statistic.kind, statistic.of, 0.0))
    interval = boxed(data, statistics, partition=partition).certificates[-1].published[0].guaranteed
    return interval.width / 2 if interval else float("nan")


def weights() -> None:
    """What a box adds to the uncertainty decides its weight; suppression is all or nothing."""
    data = records()
    every = boxed(data, CORRELATION)
    title = "Boxes weighed and boxes suppressed, by the default objective and by the papers'"
    about = "Upper row: `bias_aware`, the default, suppresses few records. Lower row: `paper` suppresses many."
    with picture(PICTURES / "boxes-weights.svg", title, size=(8.2, 8.6), description=about, grid=(2, 2)) as all_four:
        for row, objective in zip(all_four, ("bias_aware", "paper"), strict=True):
            weighed = boxed(data, CORRELATION, rare_records="weigh", objective=objective)
            crisp = boxed(data, CORRELATION, rare_records="suppress", objective=objective)
            draw_weights(row[0], every, crisp, [BLUE] * len(crisp.boxes.counts))
            per_record = weighed.chosen.weights
            if per_record is None:
                raise TypeError("a weighed outcome has weights")
            draw_weights(row[1], every, weighed, [shade(w / per_record.max()) for w in per_record])
            out, kept = (int(one.boxes.counts.sum()) for one in (crisp, weighed))
            row[0].set_title(f"{objective}, suppress:\n{out} of {len(data)} records; suppressed: grey")
            row[1].set_title(f"{objective}, weigh:\n{kept} of {len(data)} records; darker counts more")


def draw_weights(axes: Axes, every: BoxesOutcome, kept: BoxesOutcome, fill: list[str]) -> None:
    """Boxes that are kept over all boxes."""
    draw_boxes(axes, every, [OTHER] * len(every.boxes.counts))
    draw_boxes(axes, kept, fill)


def shade(share: float) -> str:
    """From white to blue."""
    return "#" + "".join(f"{round(255 + (end - 255) * share):02x}" for end in (0x00, 0x72, 0xB2))


def certainty() -> None:
    """Estimate, first-order, attained and guaranteed range, and the true value, of several statistics."""
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
    title = "Guaranteed, attained and first-order range, estimate and true value of six statistics"
    about = (
        "Every true value is within its guaranteed range, and every attained range too. The first-order range of the "
        "correlation exceeds 1, which no correlation does: it is an approximation, not a guarantee."
    )
    with picture(PICTURES / "boxes-ranges.svg", title, size=(8.2, 3.6), description=about) as axes:
        for row, one in enumerate(outcome.certificates):
            draw_ranges(axes, len(names) - 1 - row, one.published[-1], one.true_value[-1], labelled=row == 0)
        axes.set_yticks(range(len(names))[::-1], names)
        axes.set_xlabel("value; x and y have a standard deviation of about 1")
        axes.grid(visible=True, axis="x")
        axes.legend(loc="upper center", bbox_to_anchor=(0.42, 1.22), ncols=3, fontsize=8.5)


def draw_ranges(axes: Axes, place: int, estimate: Estimate, true: float | None, *, labelled: bool) -> None:
    """One row of `certainty`; a first-order range ends where the statistic does."""
    outer, inner, linear = estimate.guaranteed, estimate.inner, estimate.linear
    if outer is None or inner is None or linear is None or estimate.estimate is None or true is None:
        raise TypeError("every range of these data is there")
    ends = (outer.lower, outer.upper), (inner.lower, inner.upper)
    range_row(axes, place, ends[0], attained=ends[1], estimate=estimate.estimate, truth=true, labelled=labelled)
    words = "first-order (not guaranteed)" if labelled else None
    axes.plot([linear.lower, linear.upper], [place - 0.32] * 2, color=GREEN, linewidth=1.5, linestyle="--", label=words)


if __name__ == "__main__":
    shapes()
    weights()
    certainty()
