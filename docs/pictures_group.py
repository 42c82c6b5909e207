"""Makes the pictures of docs/how-to/group-anonymity.md: `python docs/pictures_group.py` (with the `dev` extras).

Starts the service on a folder of its own, tells the whole story over HTTP as any client would, and draws its answers.
With a folder of American Community Survey person files (`p_<state>.parquet`, default ../shared/data/acs2024) rules are
learned on every other state and North Carolina is attacked; without one, a made-up country stands in for both.
"""

import argparse
import io
import json
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import polars as pl
from matplotlib.patches import Patch
from plots import BLUE, GREEN, GUARANTEED, INK, ORANGE, RED, picture

from app.demo.run import running

PICTURES = Path(__file__).parent / "pictures"
COLOURS = (BLUE, RED, GREEN, ORANGE, INK)
ACS = Path(__file__).parents[2] / "shared" / "data" / "acs2024"
TARGET_STATE = "37"
#: Areas that a picture shows, and what readers call a column of the survey.
SHOWN = 15
SPOKEN = {"AGEP": "age in years"}
#: Columns of the survey that say outright who serves, or lead there.
GIVEAWAYS = ("MIL", "ESR", "OCCP", "INDP", "COW", "SERIALNO", "HICOV", "PRIVCOV", "PUBCOV")


@dataclass(frozen=True)
class Story:
    """What is attacked: files, what names the group, what divides the file, and the words of the pictures."""

    auxiliary: pl.DataFrame
    target: pl.DataFrame
    hidden_group: dict[str, Any]
    region_column: str
    variables: list[dict[str, Any]]
    drop: list[str]
    title: str


def survey(folder: Path) -> Story:
    """North Carolina, attacked with what the other states teach."""
    variables = json.loads((folder / "military-variables.json").read_text())
    columns = ["STATE", "PUMA", "MIL", *(variable["column"] for variable in variables)]
    paths = sorted(folder.glob("p_*.parquet"))
    others = [pl.read_parquet(path, columns=columns) for path in paths if path.stem != f"p_{TARGET_STATE}"]
    return Story(
        auxiliary=pl.concat(others),
        target=pl.read_parquet(folder / f"p_{TARGET_STATE}.parquet"),
        hidden_group={"column": "MIL", "values": [1]},
        region_column="PUMA",
        variables=variables,
        drop=list(GIVEAWAYS),
        title="American Community Survey 2024, North Carolina by area",
    )


def country() -> Story:
    """A made-up country: soldiers are young, work long hours and walk to work; bases are regions with many of them."""

    def people(seed: int, regions: int, bases: dict[int, int]) -> pl.DataFrame:
        rng = random.Random(seed)  # noqa: S311 - made up, and the same for everyone
        rows = []
        for region in range(regions):
            soldiers = bases.get(region, rng.randint(0, 2))
            for person in range(300):
                soldier = person < soldiers
                age = rng.randint(18, 24) if soldier else rng.randint(16, 66)
                hours = rng.randint(50, 70) if soldier else rng.randint(10, 60)
                way = 3 if soldier or rng.random() < 0.1 else rng.choice((1, 1, 2))
                rows.append((f"R{region:02}", age, hours, way, "army" if soldier else "other"))
        rng.shuffle(rows)
        return pl.DataFrame(rows, schema=["region", "age", "hours", "way", "job"], orient="row")

    young = {"name": "young", "shape": "pi", "points": [10, 18, 24, 30]}
    middle = {"name": "middle aged", "shape": "gaussian", "sigma": 5, "centre": 36}
    old = {"name": "old", "shape": "s", "points": [40, 52]}
    usual = {"name": "usual", "shape": "triangle", "points": [30, 40, 50]}
    long = {"name": "long", "shape": "trapezoid", "points": [40, 50, 80, 80]}
    ways = [
        {"name": "rides", "shape": "range", "points": [1, 2]},
        {"name": "walks", "shape": "range", "points": [3, 3]},
    ]
    return Story(
        auxiliary=people(1, 40, {5: 90, 21: 60}),
        target=people(2, 60, {12: 70, 37: 45}),
        hidden_group={"column": "job", "values": ["army"]},
        region_column="region",
        variables=[
            {"column": "age", "range": [18, 60], "terms": [young, middle, old]},
            {"column": "hours", "range": [1, 80], "terms": [usual, long]},
            {"column": "way", "range": [1, 3], "terms": ways},
        ],
        drop=["job"],
        title="a made-up country, by region",
    )


class Service:
    """The few requests of the story."""

    def __init__(self, address: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=address, headers=headers, timeout=600, trust_env=False)

    def upload(self, frame: pl.DataFrame) -> str:
        """Upload a table."""
        body = io.BytesIO()
        frame.write_parquet(body)
        headers = {"Content-Type": "application/vnd.apache.parquet"}
        answer = self._http.post("/v1/datasets", params={"name": "people"}, content=body.getvalue(), headers=headers)
        dataset: str = answer.raise_for_status().json()["id"]
        return dataset

    def run(self, kind: str, spec: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Run a job to its end: its id and its whole result."""
        job = self._http.post(f"/v1/{kind}", json=spec).raise_for_status().json()
        while job["state"] in {"queued", "running"}:
            time.sleep(0.2)
            job = self._http.get(f"/v1/jobs/{job['id']}").raise_for_status().json()
        if job["state"] != "succeeded":
            raise SystemExit(json.dumps(job["error"], indent=1))
        result: dict[str, Any] = self._http.get(f"/v1/jobs/{job['id']}/result").raise_for_status().json()
        return job["id"], result


def draw_terms(variable: dict[str, Any], path: Path) -> None:
    """The terms of one variable: how far each value belongs to each."""
    low, high = variable["range"]
    values = [low + (high - low) * step / 300 for step in range(301)]
    about = f"Membership, from 0 to 1, of {', '.join(term['name'] for term in variable['terms'])}, one line each."
    with picture(
        path, f"Terms of {SPOKEN.get(variable['column'], variable['column'])}", size=(7.5, 2.9), description=about
    ) as axes:
        for place, term in enumerate(variable["terms"]):
            style = {"color": COLOURS[place % 5], "linestyle": ("-", "--", "-.", ":")[place % 4]}
            axes.plot(values, [grade(term, value) for value in values], linewidth=2, label=term["name"], **style)
        axes.set(
            xlabel=SPOKEN.get(variable["column"], variable["column"]),
            ylabel="membership",
            xlim=(low, high),
            ylim=(0, 1.05),
        )
        axes.grid(visible=True, axis="y")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)


def grade(term: dict[str, Any], x: float) -> float:
    """A membership function (bell, or a hill with straight or curved slopes)."""
    if term["shape"] == "gaussian":
        return float(2.718281828459045 ** (-(((x - term["centre"]) / term["sigma"]) ** 2) / 2))
    points = term["points"]
    if term["shape"] == "range":
        return float(points[0] <= x <= points[1])
    if term["shape"] in {"s", "z"}:
        points = [*points, x, x] if term["shape"] == "s" else [x, x, *points]
    a, b, c, d = (points[0], points[1], points[-2], points[-1]) if len(points) > 3 else (*points[:2], *points[1:])
    t = min((x - a) / (b - a) if x < b else 1.0, (d - x) / (d - c) if x > c else 1.0)
    t = min(max(t, 0.0), 1.0)
    curved = term["shape"] in {"pi", "s", "z"}
    return (2 * t * t if t <= 0.5 else 1 - 2 * (1 - t) ** 2) if curved else t


def draw_signals(
    title: str,
    places: list[str],
    left: tuple[str, list[float]],
    right: tuple[str, list[float]],
    marked: tuple[str, list[int]],
    path: Path,
    *,
    comparable: bool = False,
) -> None:
    """Two signals of the same places next to each other, `comparable` on axes of one length; marked ones are darker."""
    highest = sorted(range(len(places)), key=lambda place: -left[1][place])[:SHOWN]
    order = [*highest, *(place for place in marked[1] if place not in highest)]
    about = (
        f"Left: {left[0]}. Right: {right[0]}. The {len(order)} of {len(places)} areas with the highest left bars, the "
        f"highest first. Dark bars with a star: {marked[0]}."
    )
    with picture(path, title, size=(8.2, 4.4), description=about, grid=(1, 2)) as both:
        for axes, (words, values) in zip(both, (left, right), strict=True):
            for row, place in enumerate(order):
                axes.barh(row, values[place], color=RED if place in marked[1] else GUARANTEED, height=0.7)
            axes.set(ylim=(len(order) - 0.4, -0.6))
            axes.set_title(words, fontsize=9)
            axes.grid(visible=True, axis="x")
            if comparable:
                axes.set_xlim(0, 1.05 * max(*left[1], *right[1]))
        names = [f"{places[place]} *" if place in marked[1] else places[place] for place in order]
        both[0].set_yticks(range(len(order)), names, fontsize=8)
        both[1].set_yticks(range(len(order)), [""] * len(order))
        both[0].set_ylabel("area")
        rows = [(RED, f"* {marked[0]}"), (GUARANTEED, "other areas")]
        both[1].legend(
            handles=[Patch(color=colour, label=words) for colour, words in rows], fontsize=8, loc="lower right"
        )
        both[0].figure.suptitle(title, fontsize=10, x=0.01, ha="left")


def tell(story: Story, service: Service) -> None:
    """Learn, attack, mask, attack again; write the pictures and print what the page quotes."""
    auxiliary, target = service.upload(story.auxiliary), service.upload(story.target)
    spec = {
        "method": "group", "auxiliary_dataset_id": auxiliary, "target_dataset_id": target,
        "hidden_group": story.hidden_group, "region_columns": [story.region_column], "variables": story.variables,
    }  # fmt: skip
    model, attack = service.run("audits", spec)
    draw_terms(story.variables[0], PICTURES / "group-terms.svg")
    places = [", ".join(map(str, value)) for value in attack["regions"]]
    true, seen = attack["signal"], attack["auxiliary_signal"]
    highest = sorted(range(len(seen)), key=lambda place: -seen[place])[:2]
    draw_signals(
        story.title,
        places,
        ("people of the hidden group (not published)", true),
        ("sum of memberships by the rules", seen),
        ("highest two by the rules", highest),
        PICTURES / "group-attack.svg",
    )
    masked = [{"region": attack["regions"][place], "at_most": 2, "zero_at": 12} for place in highest]
    swaps_spec = {
        "method": "swaps", "dataset_id": target, "region_columns": [story.region_column], "model_job_id": model,
        "mask": masked, "drop": story.drop, "protected_alphas": [0.5], "decoys": 0.0,
    }  # fmt: skip
    _, result = service.run("anonymizations", swaps_spec)
    swaps = result["swap_count"]
    draw_signals(
        f"{story.title}: {swaps} swaps",
        places,
        ("members by the rules, before", result["signal_before"]),
        ("members by the rules, after", result["signal_after"]),
        ("masked", result["masked_regions"]),
        PICTURES / "group-swaps.svg",
        comparable=True,
    )
    figures = ("record_counts", "rules_over_thresholds", "evaluation_count", "common", "adequacy")
    quoted = {name: attack[name] for name in figures}
    quoted |= {"rules": [rule["text"] for rule in attack["rules"][:4]], "most_general": len(attack["rules"])}
    quoted |= {name: result[name] for name in ("swap_count", "distortion", "assignment_distortion", "valid", "fitness")}
    quoted |= {"two_highest": [attack["regions"][place] for place in highest]}
    again = result["attack_again"]
    quoted |= {"found_again": [again["old_rules"]["detected"], again["new_rules"]["detected"]]}
    print(json.dumps(quoted, indent=1))


def main() -> None:
    """Parse the arguments, start the service, tell the story."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acs", type=Path, default=ACS, help="folder of survey files; a made-up country without it")
    folder = parser.parse_args().acs
    story = survey(folder) if (folder / f"p_{TARGET_STATE}.parquet").exists() else country()
    with tempfile.TemporaryDirectory(prefix="surebox-pictures-") as data, running(Path(data), jobs=1) as (address, key):
        tell(story, Service(address, key))


if __name__ == "__main__":
    main()
