"""A few shapes as SVG text, for the pictures of the guides: no dependency, the same bytes for the same numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import floor, log10
from pathlib import Path

INK, FAINT, PAPER = "#24292f", "#d0d7de", "#ffffff"
BLUE, RED, GREEN, GREY = "#2f6fb5", "#c8372d", "#2f855a", "#8b949e"
FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass
class Picture:
    """Shapes on a white sheet, in pixels from its upper left corner."""

    width: int
    height: int
    title: str
    shapes: list[str] = field(default_factory=list)

    def rectangle(self, x: float, y: float, width: float, height: float, **style: object) -> None:
        """A rectangle by its upper left corner."""
        self.shapes.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}'{attributes(style)}/>"
        )

    def line(self, points: Sequence[tuple[float, float]], **style: object) -> None:
        """A line through points."""
        through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(f"<polyline points='{through}'{attributes({'fill': 'none', 'stroke': INK} | style)}/>")

    def circle(self, x: float, y: float, radius: float, **style: object) -> None:
        """A circle."""
        self.shapes.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}'{attributes(style)}/>")

    def text(self, x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", **style: object) -> None:
        """One line of text; `anchor` is start, middle or end."""
        style = {"fill": INK} | style
        self.shapes.append(
            f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}'{attributes(style)}>"
            f"{escape(words, quote=False)}</text>"
        )

    def write(self, path: Path) -> None:
        """Write the picture."""
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{self.width}' height='{self.height}' "
        head += f"viewBox='0 0 {self.width} {self.height}' role='img' {FONT}>\n<title>{escape(self.title)}</title>"
        sheet = f"<rect width='{self.width}' height='{self.height}' fill='{PAPER}'/>"
        path.write_text("\n".join([head, sheet, *self.shapes, "</svg>"]) + "\n", encoding="utf-8")


def attributes(style: dict[str, object]) -> str:
    """Presentation attributes; underscores are hyphens."""
    return "".join(f" {name.replace('_', '-')}='{escape(str(value))}'" for name, value in style.items())


@dataclass(frozen=True)
class Scale:
    """From numbers to pixels, linearly."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a number stands."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers inside the scale, at most so many."""
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        power = 10.0 ** floor(log10(span))
        step = next(power * factor for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10) if span / (power * factor) < most)
        first = -(-self.low // step) * step
        return [first + step * index for index in range(int((self.high - first) / step + 1e-9) + 1)]


def upright(picture: Picture, scale: Scale, *, left: float, right: float, label: str) -> None:
    """A vertical axis at `left` with faint lines to `right`; `scale` runs from bottom to top."""
    for value in scale.ticks():
        picture.line([(left, scale(value)), (right, scale(value))], stroke=FAINT)
        picture.text(left - 6, scale(value) + 4, f"{value:g}", size=11, anchor="end")
    picture.text(left - 6, scale.end - 10, label, size=11, anchor="start")
