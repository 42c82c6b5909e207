"""Makes the pictures of docs/boxes.md: `python docs/pictures_boxes.py` (with the `worker` extra). Made-up data.

The curve of growth is benchmarks/growth.py's.
"""

from pathlib import Path

import numpy as np
from svg import BLUE, FAINT, GREEN, GREY, INK, RED, Picture, Scale

from surebox_verify.core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.state import BoxesRequest, Outcome

PICTURES = Path(__file__).parent / "pictures"
DOMAINS = ((-3.5, 3.5), (-3.5, 3.5))
K = 5


def records(rows: int = 500) -> np.ndarray:
    """Two correlated columns with a few far records."""
    rng = np.random.default_rng(7)
    u, v = rng.normal(size=(2, rows))
    return np.asarray(np.clip(np.column_stack([u, 0.75 * u + 0.55 * v]), -3.3, 3.3))


def boxed(x: np.ndarray, statistics: tuple[Statistic, ...], **options: object) -> Outcome:
    """The boxes of a request, from start to end."""
    state = anonymization.init(x, BoxesRequest(K, statistics, domains=DOMAINS, **options))  # type: ignore[arg-type]
    rng = np.random.default_rng(3)  # a picture's cuts, the same every time; a release's are not
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state)


MEANS = (Statistic("mean", (0,)), Statistic("mean", (1,)))
CORRELATION = (Statistic("correlation", (0, 1)),)


def square(left: float, top: float, size: float) -> tuple[Scale, Scale]:
    """Scales of a square map of the domain."""
    return Scale(*DOMAINS[0], left, left + size), Scale(*DOMAINS[1], top + size, top)


def draw_boxes(picture: Picture, scales: tuple[Scale, Scale], outcome: Outcome, fill: list[str] | None = None) -> None:
    """Outlines, filled where told."""
    x, y = scales
    for b, (low, high) in enumerate(zip(outcome.boxes.lower, outcome.boxes.upper, strict=True)):
        picture.rectangle(
            x(low[0]), y(high[1]), x(high[0]) - x(low[0]), y(low[1]) - y(high[1]),
            fill=fill[b] if fill else "none", stroke=INK, stroke_width=0.6,
        )  # fmt: skip


def statistics() -> None:
    """The same records in boxes for two means and in boxes for one correlation."""
    data = np.random.default_rng(5).uniform(-3.4, 3.4, (600, 2))
    picture = Picture(800, 440, "The same records in boxes for two means, and in boxes for one correlation")
    for left, title, asked in ((20, "boxes for two means", MEANS), (420, "boxes for one correlation", CORRELATION)):
        scales = square(left, 50, 360)
        outcome = boxed(data, asked)
        for one in data:
            picture.circle(scales[0](one[0]), scales[1](one[1]), 1.2, fill=BLUE)
        draw_boxes(picture, scales, outcome)
        picture.text(left, 24, title, size=15)
        x, y, rho = (certain(data, asked, one) for one in (*MEANS, *CORRELATION))
        told = f"certain to: means ±{x:.2f} and ±{y:.2f}, correlation ±{rho:.2f}"
        picture.text(left, 42, told, size=12, fill=GREY)
        picture.text(left + 180, 430, "x", anchor="middle")
        picture.text(left - 8, 230, "y", anchor="middle")
    picture.write(PICTURES / "boxes-statistics.svg")


def certain(data: np.ndarray, shaped_by: tuple[Statistic, ...], asked: Statistic) -> float:
    """Half the certain range of a statistic, in boxes made for others: one of weight 0 shapes nothing."""
    statistics = (*shaped_by, Statistic(asked.kind, asked.of, 0.0))
    found = boxed(data, statistics).certificates[-1].published[0].guaranteed
    return found.width / 2 if found else float("nan")


def weights() -> None:
    """What a box adds to the uncertainty decides its weight; dismissal is all or nothing."""
    data = records()
    weighed, crisp = boxed(data, CORRELATION, rare_records="weigh"), boxed(data, CORRELATION, rare_records="dismiss")
    every = boxed(data, CORRELATION)
    per_record = weighed.chosen.weights
    if per_record is None:
        raise TypeError("a weighed outcome has weights")
    picture = Picture(800, 440, "Boxes weighed and boxes dismissed")
    left, right = square(20, 50, 360), square(420, 50, 360)
    draw_boxes(picture, left, every, ["#f6d5d3"] * len(every.boxes.counts))
    draw_boxes(picture, left, crisp, [BLUE] * len(crisp.boxes.counts))
    draw_boxes(picture, right, every, ["#f6d5d3"] * len(every.boxes.counts))
    largest = per_record.max()
    draw_boxes(picture, right, weighed, [shade(w / largest) for w in per_record])
    share = [int(one.boxes.counts.sum()) for one in (crisp, weighed)]
    picture.text(20, 24, "dismiss: a box is in or out", size=15)
    picture.text(20, 42, f"{share[0]} of {len(data)} records; in: blue, out: pale red", fill=GREY)
    picture.text(420, 24, "weigh: less where a box adds more", size=15)
    picture.text(420, 42, f"{share[1]} of {len(data)} records; the darker, the more a record counts", fill=GREY)
    picture.write(PICTURES / "boxes-weights.svg")


def shade(share: float) -> str:
    """From white to blue."""
    return "#" + "".join(f"{round(255 + (end - 255) * share):02x}" for end in (0x2F, 0x6F, 0xB5))


def certainty() -> None:
    """Estimate, linear, reached and guaranteed range, and the true value, of several statistics."""
    data = records()
    asked = (
        *MEANS,
        Statistic("variance", (0,)),
        Statistic("covariance", (0, 1)),
        Statistic("correlation", (0, 1)),
        Statistic("regression", (1, 0)),
    )
    outcome = boxed(data, asked)
    names = ["mean of x", "mean of y", "variance of x", "covariance", "correlation", "slope of y on x"]
    picture = Picture(800, 90 + 52 * len(names), "What is said of a statistic, and what is certain")
    for row, (name, one) in enumerate(zip(names, outcome.certificates, strict=True)):
        told, true = one.published[-1], one.true_value[-1]
        if (
            told.guaranteed is None
            or told.linear is None
            or told.inner is None
            or told.estimate is None
            or true is None
        ):
            raise TypeError("every range of these data is there")
        ends = (told.guaranteed.lower, told.guaranteed.upper, told.linear.lower, told.linear.upper)
        margin = 0.08 * (max(ends) - min(ends))
        x = Scale(min(ends) - margin, max(ends) + margin, 150, 780)
        y = 86.0 + 52 * row
        picture.text(136, y + 4, name, anchor="end")
        for interval, height, colour in ((told.guaranteed, 22.0, FAINT), (told.inner, 12.0, BLUE)):
            picture.rectangle(
                x(interval.lower), y - height / 2, x(interval.upper) - x(interval.lower), height, fill=colour
            )
        picture.line([(x(told.linear.lower), y + 17), (x(told.linear.upper), y + 17)], stroke=GREEN, stroke_width=2)
        picture.circle(x(told.estimate), y, 4, fill="#ffffff", stroke=INK)
        picture.line([(x(true), y - 15), (x(true), y + 15)], stroke=RED, stroke_width=2)
    legend(picture)
    picture.write(PICTURES / "boxes-ranges.svg")


def legend(picture: Picture) -> None:
    """What the marks mean."""
    picture.rectangle(20, 18, 26, 22, fill=FAINT)
    picture.text(52, 33, "guaranteed")
    picture.rectangle(140, 23, 26, 12, fill=BLUE)
    picture.text(172, 33, "reached by some data in the boxes")
    picture.line([(396, 29), (422, 29)], stroke=GREEN, stroke_width=2)
    picture.text(428, 33, "linear")
    picture.circle(500, 29, 4, fill="#ffffff", stroke=INK)
    picture.text(510, 33, "estimate")
    picture.line([(590, 18), (590, 40)], stroke=RED, stroke_width=2)
    picture.text(600, 33, "true value (not in the release)")


if __name__ == "__main__":
    statistics()
    weights()
    certainty()
