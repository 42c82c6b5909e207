"""Makes the pictures of README.md and docs/explanation/boxes.md: `PYTHONPATH=. python docs/pictures_readme.py`.

The hero's ranges are those of benchmarks/equal_risk.py, under the same least widths. Those of README's request are
measured here, on the census extract of `make demo` by the algorithms themselves, and written to
benchmarks/results/readme.json, from which README.md quotes them. Rows of both pictures are made up. With the extras
`demo` and `worker`.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from plots import ATTAINED, BLUE, FAINT, GREY, INK, OTHER, spoken

from app.demo.sources import census
from app.methods.boxes.spec import BoxesSpec
from benchmarks.columns import demanded
from benchmarks.recorded import record, recorded
from surebox_core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.partition import Method
from workers.algorithms.boxes.sides import NumericColumn
from workers.algorithms.boxes.state import BoxesRequest

PICTURES = Path(__file__).parent / "pictures"
COLUMNS = ("age", "educ", "hours", "faminc")
WHOLE = ("age", "educ", "hours")
MEANS = (Statistic("mean", (3,)), Statistic("mean", (2,)))
K = 5
UNLISTED = float(BoxesSpec.model_fields["unlisted_column_weight"].default)
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
#: Units of an axis from which on its marks are ten apart.
_MANY = 30
Range = tuple[float, float]


def ranges(x: np.ndarray, partition: Method) -> tuple[list[Range], int]:
    """Guaranteed ranges of the two means, and how many boxes there are."""
    plain = tuple(NumericColumn(step=1.0 if name in WHOLE else None) for name in COLUMNS)
    request = BoxesRequest(
        K, MEANS, partition=partition, columns=demanded(x, plain, K), unlisted_column_weight=UNLISTED
    )
    state = anonymization.init(x, request)
    rng = np.random.default_rng(11)  # a picture's cuts, the same every time; a release's are not
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    outcome = anonymization.result(state)
    published = [one.published[0].guaranteed for one in outcome.certificates]
    return [(one.lower, one.upper) for one in published if one is not None], len(outcome.boxes.counts)


def text(x: float, y: float, words: str, **style: object) -> str:
    """One line of text; underscores in names of attributes are hyphens."""
    looks = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:g}" y="{y:g}"{looks}>{words}</text>'


def table(x: float, y: float, widths: list[int], head: list[str], rows: list[list[str]]) -> str:
    """A small table: its head, and rows in a font of equal widths."""
    height, whole = 34 + 28 * len(rows), sum(widths)
    parts = [f'<rect x="{x:g}" y="{y:g}" width="{whole}" height="{height}" rx="4" fill="none" stroke="{FAINT}"/>']
    parts.append(f'<path d="M{x:g} {y + 30:g}h{whole}" stroke="{FAINT}"/>')
    for line, cells in enumerate([head, *rows]):
        at = x + 12
        for width, cell in zip(widths, cells, strict=True):
            style = {"fill": GREY} if not line else {"font_family": "Menlo, Consolas, 'DejaVu Sans Mono', monospace"}
            parts.append(text(at, y + 20 + 28 * line + 4 * (line > 0), cell, **style))
            at += width
    return "\n".join(parts)


def arrow(x: float, y: float) -> str:
    """To the right."""
    return f'<path d="M{x:g} {y:g}h28m-7 -6l7 6l-7 6" stroke="{INK}" fill="none" stroke-width="1.6"/>'


def svg(path: Path, size: tuple[int, int], title: str, description: str, parts: list[str]) -> None:
    """Write a picture."""
    width, height = size
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d" '
        f'font-family="{FONT}" font-size="13" fill="{INK}">\n{spoken(title, description)}\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
    )
    path.write_text(head + "\n".join(parts) + "\n</svg>\n", encoding="utf-8")


def hero(ours: Range, theirs: Range, truth: float, records: int) -> None:
    """Records, the same records as boxes, and the range of a mean next to Mondrian's."""
    parts = [
        text(20, 28, "1  Your records", font_weight="bold", font_size=15),
        text(250, 28, "2  Published", font_weight="bold", font_size=15),
        text(572, 28, "3  What readers can rely on", font_weight="bold", font_size=15),
        table(
            20,
            44,
            [58, 66, 68],
            ["age", "hours", "income"],
            [["34", "20", "41.2"], ["31", "24", "38.9"], ["36", "22", "44.0"]],
        ),
        table(250, 44, [76, 76, 76, 48], ["age", "hours", "income", "box"], [["30-37", "19-25", "38-46", "17"]] * 3),
        arrow(217, 112),
        arrow(533, 112),
        text(20, 190, "Only you see them.", font_size=12, fill=GREY),
        text(250, 190, f"At least k = {K} records share each box, so", font_size=12, fill=GREY),
        text(250, 206, "these columns single out no record.", font_size=12, fill=GREY),
    ]
    low, high = np.floor(min(theirs)), np.ceil(max(theirs))
    scale = 280 / (high - low)

    def at(value: float) -> float:
        return float(572 + (value - low) * scale)

    parts.append(text(572, 62, f"Mean of hours, {records:,} people, nobody's value known", fill=GREY))
    for y, name, ends, colour in ((88, "Surebox", ours, BLUE), (134, "Mondrian", theirs, OTHER)):
        parts.append(
            f'<rect x="{at(ends[0]):.1f}" y="{y}" width="{(ends[1] - ends[0]) * scale:.1f}" height="18" '
            f'fill="{colour}"/>'
        )
        parts.append(text(572, y - 5, f"{name}: {ends[0]:.2f} to {ends[1]:.2f}", font_size=12))
    x = at(truth)
    parts.append(f'<path d="M{x:.1f} 82V158" stroke="{ATTAINED}" stroke-width="1.2" stroke-dasharray="3 2"/>')
    parts.append(f'<path d="M572 164H852" stroke="{GREY}"/>')
    for tick in np.arange(low, high + 1, 2 if high - low < _MANY else 10):
        parts.append(f'<path d="M{at(tick):.1f} 164v4" stroke="{GREY}"/>')
        parts.append(text(at(tick), 181, f"{tick:g}", font_size=11, text_anchor="middle", fill=GREY))
    parts += [
        text(572, 202, "Both with the same k = 5 and the same least widths.", font_size=12, fill=GREY),
        text(572, 218, f"Dashed: true value {truth:.2f}, not published.", font_size=12, fill=GREY),
        text(20, 244, "Rows are made up. Ranges: census extract of make demo.", font_size=11, fill=GREY),
    ]
    title = "Records become boxes that at least k records share, and statistics get guaranteed ranges"
    about = (
        "Left: three records. Middle: the same records as published, each column an interval shared by at least five "
        f"records. Right: the guaranteed range of the mean of hours, {ours[0]:.2f} to {ours[1]:.2f}, compared with "
        f"{theirs[0]:.2f} to {theirs[1]:.2f} with Mondrian's partition; both contain the true value."
    )
    svg(PICTURES / "hero.svg", (872, 256), title, about, parts)


def before_after() -> None:
    """One record before and after, for each type of column."""
    rows = [
        ["number", "39.5", "36 to 42", "interval"],
        ["whole number, day", "23", "19 to 25", "both ends included"],
        ["ordinal", "Bachelors", "Some-college to Masters", "first and last class"],
        ["nominal", "Sales", "{Sales, Tech-support}", "set of values"],
        ["hierarchy", "Paris", "France", "a class of the hierarchy"],
        ["missing value", "(none)", "(none)", "missing too (pattern)"],
        ["kept column", "&lt;=50K", "&lt;=50K", "unchanged, outside k"],
    ]
    head = ["column", "your record", "its row in the release", ""]
    parts = [table(10, 10, [150, 130, 240, 210], head, rows)]
    title = "One record and its row in a release of boxes, by type of column"
    about = "; ".join(f"{name}: {before} becomes {after}, {what}" for name, before, after, what in rows)
    about = about.replace("&lt;", "<")
    svg(PICTURES / "before-after.svg", (770, 252), title, about, parts)


def main() -> None:
    """Measure, record, and draw."""
    with tempfile.TemporaryDirectory() as folder:
        frame = pl.read_csv(census(Path(folder)).path)
    x = np.asfortranarray(frame.select(COLUMNS).cast(pl.Float64).drop_nulls().to_numpy())
    (income, hours), boxes = ranges(x, "optimal")
    (income_mondrian, hours_mondrian), _ = ranges(x, "mondrian")
    figures: dict[str, Any] = {
        "records": len(x),
        "boxes": boxes,
        "hours": hours,
        "hours_mondrian": hours_mondrian,
        "hours_true": float(x[:, 2].mean()),
        "income": income,
        "income_mondrian": income_mondrian,
        "income_true": float(x[:, 3].mean()),
    }
    record("readme", "PYTHONPATH=. python docs/pictures_readme.py", figures)
    ours, theirs = (recorded("equal_risk", f".hours.{tool}") for tool in ("Surebox", "Mondrian"))
    hero(tuple(ours), tuple(theirs), figures["hours_true"], len(x))
    before_after()


if __name__ == "__main__":
    main()
