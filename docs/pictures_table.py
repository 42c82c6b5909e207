"""Makes the pictures of docs/tutorials/publish-a-table.md: `PYTHONPATH=. python docs/pictures_table.py [adult.data]`.

Starts the service on a folder of its own and asks it what the guide asks. Drawn are figures of releases, of hundreds of
persons each; without a file Adult is looked for in ../shared/data.
"""

import gzip
import io
import json
import re
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from plots import BLUE, FAINT, GREY, INK, picture, range_row
from rich.console import Console

from app.demo.run import compiling, running
from benchmarks.recorded import record

PICTURES = Path(__file__).parent / "pictures"
GUIDE = Path(__file__).parent / "tutorials" / "publish-a-table.md"
ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult" / "adult.data.gz"
K_DRAWN = 500


class Client:
    """The guide's requests."""

    def __init__(self, address: str, key: str, data: bytes) -> None:
        self._http = httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=300, trust_env=False
        )
        text = GUIDE.read_text(encoding="utf-8")
        names = re.search(r'NAMES="([^"]*)"', text)
        spec = re.search(r"^END$.*|^\{\n.*?^\}$", text, re.MULTILINE | re.DOTALL)
        if names is None or spec is None:
            raise TypeError("the guide has a list of names and a request")
        params = {"name": "adult", "header": "false", "missing_values": "?", "column": names.group(1).split()}
        answer = self._http.post("/v1/datasets", params=params, content=data, headers={"Content-Type": "text/csv"})
        self.dataset = answer.raise_for_status().json()["id"]
        self.spec = json.loads(spec.group(0).replace("$DATASET", self.dataset))

    def run(self, **more: Any) -> dict[str, Any]:
        """The guide's job with other fields; the job with its whole result."""
        answer = self._http.post("/v1/anonymizations", json=self.spec | more, headers={"Prefer": "wait=30"})
        job = self._ended(answer)
        return {**job, "result": self._http.get(f"/v1/jobs/{job['id']}/result").raise_for_status().json()}

    def _ended(self, answer: httpx.Response) -> dict[str, Any]:
        job: dict[str, Any] = answer.raise_for_status().json()
        while job["state"] in ("queued", "running"):
            job = self._http.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"}).json()
        return job

    def rows(self, job: dict[str, Any]) -> pl.DataFrame:
        """The release of a job."""
        answer = self._http.get(f"/v1/releases/{job['release_id']}/data", params={"format": "parquet"})
        return pl.read_parquet(io.BytesIO(answer.raise_for_status().content))


def left(rows: pl.DataFrame, order: list[str]) -> dict[str, list[float]]:
    """By column, the shares of rows whose side leaves 1, 2 to 4, 5 to 9, and more values."""
    place = {value: index for index, value in enumerate(order)}
    sizes = {
        "sex": rows["sex_set"].list.len(),
        "race": rows["race_set"].list.len(),
        "occupation": rows["occupation_set"].list.len(),
        "education": pl.Series(
            place[last] - place[first] + 1 for first, last in rows.select("education_lo", "education_hi").rows()
        ),
        "hours": rows["hours-per-week_hi"] - rows["hours-per-week_lo"] + 1,
        "age": rows["age_hi"] - rows["age_lo"] + 1,
    }
    ends = [0, 1, 4, 9, 10**9]
    return {
        name: [float(((size > low) & (size <= high)).mean() or 0.0) for low, high in pairwise(ends)]
        for name, size in sizes.items()
    }


def draw_left(axes: Axes, shares: dict[str, list[float]]) -> None:
    """Stacked bars."""
    names = list(shares)[::-1]
    done = [0.0] * len(names)
    for number, (words, colour) in enumerate(
        (("1 value", "#00395a"), ("2 to 4", BLUE), ("5 to 9", "#8cc8ee"), ("10 or more", "#e3eaf0"))
    ):
        widths = [100.0 * shares[name][number] for name in names]
        axes.barh(names, widths, left=done, color=colour, label=words, height=0.65, edgecolor=GREY, linewidth=0.4)
        done = [a + b for a, b in zip(done, widths, strict=True)]
    axes.set(title="Values still possible per cell (k = 5)", xlabel="% of the rows", xlim=(0, 100))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, fontsize=8, columnspacing=1.0)


def draw_boxes(both: list[Axes], rows: pl.DataFrame) -> None:
    """Boxes of a release in two numbers, those of women and those of men apart; boxes of both are in both."""
    boxes = rows.group_by("box", maintain_order=True).agg(pl.all().first(), pl.len().alias("persons")).sort("box")
    sexes = (("Female", "women", "#f3c9a8"), ("Male", "men", "#a9d6f2"))
    for axes, (sex, people, colour) in zip(both, sexes, strict=True):
        for box in boxes.filter(pl.col("sex_set").list.contains(sex)).iter_rows(named=True):
            low = (box["age_lo"] - 0.5, box["hours-per-week_lo"] - 0.5)
            size = (box["age_hi"] - box["age_lo"] + 1, box["hours-per-week_hi"] - box["hours-per-week_lo"] + 1)
            fill = colour if len(box["sex_set"]) == 1 else FAINT
            axes.add_patch(Rectangle(low, *size, facecolor=fill, edgecolor=INK, linewidth=0.5))
        axes.set(title=f"Boxes that contain {people}", xlabel="age", xlim=(15, 95), ylim=(0, 100))
    both[0].set_ylabel("hours a week")


def hours(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Mean hours by occupation, of those with a certain range."""
    statistics = [one for one in job["result"]["statistics"] if one["kind"] == "domain_mean"]
    return {str(one["values"][0] or "(missing)"): one for one in statistics}


def draw_hours(axes: Axes, ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> None:
    """An interval an occupation."""
    shown = {name: one for name, one in ours.items() if one["estimate"] is not None}
    names = sorted(shown, key=lambda name: shown[name]["estimate"])
    for row, name in enumerate(names):
        one = ours[name]
        range_row(
            axes,
            row,
            one["guaranteed"],
            other=theirs[name]["guaranteed"],
            estimate=one["estimate"],
            truth=one["true_value"],
            labelled=row == 0,
        )
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="mean hours a week", xlim=(0, 80))
    axes.grid(visible=True, axis="x")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.12), ncols=4, fontsize=8)


def main(path: Path) -> None:
    """Ask, and draw."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    console = Console()
    with (
        tempfile.TemporaryDirectory() as folder,
        compiling() as compilation,
        running(Path(folder), console, compilation, jobs=1) as (address, key),
    ):
        compilation.wait(console)
        client = Client(address, key, data)
        ours = client.run()
        theirs = client.run(partition="mondrian", accept_findings=["composition"])
        means = [{"kind": "mean", "of": [name]} for name in ("age", "hours-per-week")]
        coarse = client.run(
            quasi_identifiers=["age", "hours-per-week", "sex"],
            ordinal={},
            nominal={},
            k=K_DRAWN,
            statistics=[*means, {"kind": "share", "of": ["sex"]}],
            accept_findings=["composition"],
        )
        fine, drawn = client.rows(ours), client.rows(coarse)
    words = "How many values the boxes leave by column, and boxes of 500 persons by age, hours and sex"
    about = (
        f"Left: shares of cells that leave 1, 2 to 4, 5 to 9 or more values, k = 5. Middle and right: boxes of "
        f"{K_DRAWN} persons or more that contain women, and those that contain men; grey boxes contain both."
    )
    with picture(PICTURES / "table-boxes.svg", words, size=(9.6, 3.9), description=about, grid=(1, 3)) as all_three:
        draw_left(all_three[0], left(fine, client.spec["ordinal"]["education"]))
        draw_boxes(list(all_three[1:]), drawn)
    words = "Mean hours a week by occupation: guaranteed ranges, estimates and true values"
    about = "One row an occupation. Surebox's ranges and Mondrian's, with the same least widths and k = 5."
    with picture(PICTURES / "table-hours.svg", words, size=(8.6, 4.6), description=about) as axes:
        draw_hours(axes, hours(ours), hours(theirs))
    record("table", "PYTHONPATH=. python docs/pictures_table.py adult.data", compared(hours(ours), hours(theirs)))


def compared(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """How many times as wide Mondrian's ranges are, of the occupations of which either says anything."""

    def width(one: dict[str, Any]) -> float:
        low, high = one["guaranteed"]
        return float(high - low)

    whole = 100.0
    times = sorted(width(theirs[name]) / width(one) for name, one in ours.items() if width(one) < whole)
    halves = sorted(width(one) / 2 for one in ours.values())
    return {
        "occupations": len(ours),
        "narrower": len(times),
        "least_times": times[0],
        "most_times": times[-1],
        "within_seven_hours": sum(half <= 7.0 for half in halves),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ADULT)
