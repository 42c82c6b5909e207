"""Means inside boxes: they are the records' own, ranges are narrower by them, readers compute the same."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.inputs import Given
from app.contracts.quasi_identifiers import telling_boxes
from app.errors import InfeasibleError
from app.methods.boxes.check import check_boxes
from app.methods.boxes.spec import BoxesSpec
from surebox_core.steps import finished
from surebox_verify import cli
from surebox_verify.certify import bounded_columns, certify
from surebox_verify.questions import computing, question
from surebox_verify.released.boxes import has_means, meaning_of, read_boxes
from tests.methods.in_process import Bench, Done
from workers.frames.generalized import Meanings
from workers.frames.ledger import write_ledger
from workers.frames.originals import Originals
from workers.methods.context import InputFile
from workers.methods.released.composed import Earlier, repeated_content
from workers.methods.released.placing import located

NUMBERS = ["wage", "age", "born"]
COLUMNS = [*NUMBERS, "town", "level"]
LEVELS = ["low", "mid", "high"]


def people(n: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    age = rng.integers(18, 80, n)
    wage = (age * rng.lognormal(0.0, 0.4, n)).tolist()
    return pl.DataFrame(
        {
            "wage": [None if gone else one for one, gone in zip(wage, rng.random(n) < 0.1, strict=True)],
            "age": age,
            "born": [dt.date(1950, 1, 1) + dt.timedelta(int(one)) for one in rng.integers(0, 9_000, n)],
            "town": rng.choice(["a", "b"], n),
            "level": rng.choice(LEVELS, n),
            "home": np.arange(n) // 2 + 1,
        }
    )


def spec_for(box_means: str, **more: Any) -> dict[str, Any]:
    kinds = [{"kind": kind, "of": [name]} for kind in ("mean", "variance") for name in NUMBERS]
    pairs = [{"kind": kind, "of": ["wage", "age"]} for kind in ("covariance", "correlation", "regression")]
    return {
        "method": "boxes", "dataset_id": "people", "quasi_identifiers": COLUMNS, "k": 5, "ordinal": {"level": LEVELS},
        "least_widths": "none", "missing_policy": "pattern", "statistics": [*kinds, *pairs], "box_means": box_means,
    } | more  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("means"))
    frame = people()
    bench.dataset("people", frame)
    return bench


def files_of(bench: Bench, outcome: Done) -> Path:
    assert outcome.release is not None
    return next(file.path for name, file in outcome.release.files.items() if name == "parquet")


SPECS = {
    "rounded": spec_for("rounded"),
    "exact": spec_for("exact"),
    "within attained bounds": spec_for("rounded", bounds="tight"),
    "of persons": spec_for("rounded", person_column="home", partition="fast"),
    "exact ones of real numbers, with an order, within attained bounds": spec_for(
        "exact",
        quasi_identifiers=["wage", "level", "town"],
        bounds="tight",
        statistics=[{"kind": "mean", "of": ["wage"]}],
    ),
    "of numbers alone": spec_for("rounded", quasi_identifiers=NUMBERS, ordinal={}, missing_policy="drop"),
}


@pytest.mark.parametrize("name", SPECS)
def test_intervals_hold_the_means_of_the_records_in_the_boxes(bench: Bench, name: str) -> None:
    spec = SPECS[name]
    outcome = bench.run(spec)
    draft, path = outcome.release, files_of(bench, outcome)
    assert draft is not None
    rows = pl.read_parquet(path)
    assert [one["name"] for one in draft.columns] == rows.columns
    assert "level_mean_lo" not in rows.columns, "an order has no mean"
    assert "means-inside-boxes" in draft.flags
    dataset = bench.files[InputFile.DATASET, "people"]
    place = located(Originals(dataset), path, telling_boxes(spec, rows.columns), Meanings(spec["ordinal"])).places
    box = _boxes_of(rows)
    frame = people().with_columns(place=pl.Series(place)).filter(pl.col("place") >= 0)
    published = 0
    for column in (name for name in NUMBERS if name in spec["quasi_identifiers"]):
        values = frame[column].cast(pl.Int32).cast(pl.Float64) if column == "born" else frame[column].cast(pl.Float64)
        true = dict(frame.select("place", own=values).group_by("place").agg(pl.col("own").mean()).iter_rows())
        for at, row in box.items():
            low, high = row[f"{column}_mean_lo"], row[f"{column}_mean_hi"]
            if low is None:
                assert high is None
                continue
            published += 1
            assert low - 1e-9 <= true[at] <= high + 1e-9
            sides = [_number(row[f"{column}_{end}"]) for end in ("lo", "hi")]
            assert sides[0] <= low <= high <= sides[1]
            if spec["box_means"] == "exact" and column == "wage":
                assert high - low < 1e-9 * max(1.0, abs(high))
            elif spec["box_means"] != "exact":
                assert high - low > 0.0, "no rounded mean is a point"
    assert published > 0.5 * len(box)


def _boxes_of(rows: pl.DataFrame) -> dict[int, dict[str, Any]]:
    """One row of each box, by the numbers that locating gives: in the order in which boxes come in the file."""
    sides = [name for name in rows.columns if name.endswith(("_lo", "_hi", "_set")) and "_mean_" not in name]
    seen: dict[str, int] = {}
    boxes: dict[int, dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        key = repr([row[name] for name in sides])
        boxes.setdefault(seen.setdefault(key, len(seen)), row)
    return boxes


def _number(value: Any) -> float:
    return float((value - dt.date(1970, 1, 1)).days) if isinstance(value, dt.date) else float(value)


@pytest.mark.parametrize("name", ["rounded", "exact", "within attained bounds"])
def test_ranges_are_narrower_hold_what_is_true_and_are_the_readers_too(bench: Bench, name: str) -> None:
    outcome, plain = bench.run(SPECS[name]), bench.run(SPECS[name] | {"box_means": "none"})
    draft = outcome.release
    assert draft is not None
    for one, wide in zip(outcome.result["statistics"], plain.result["statistics"], strict=True):
        if one["kind"] == "regression":
            # means do not narrow it; where the ascent settles (ranges.regression_ascent) hangs on rounding
            assert np.array(one["guaranteed"]) == pytest.approx(np.array(wide["guaranteed"]), rel=1e-9)
            continue
        (low, high), (least, most) = one["guaranteed"], wide["guaranteed"]
        assert least <= low <= one["true_value"] <= high <= most
        if name == "exact":
            assert high - low < 0.6 * (most - least), one["kind"]
    parameters, types = dict(draft.parameters), {str(one["name"]): str(one["type"]) for one in draft.columns}
    assert has_means(parameters)
    boxes = read_boxes(
        files_of(bench, outcome), COLUMNS[::-1], orders=parameters["ordinal"], means=has_means(parameters)
    )
    again = finished(
        computing(
            boxes,
            [question(one) for one in draft.statistics],
            meaning_of(parameters | {"quasi_identifiers": COLUMNS[::-1]}, types),
        )
    )
    for one, said in zip(again, draft.statistics, strict=True):
        if one["kind"] != "regression":
            assert one["guaranteed"] == pytest.approx(said["guaranteed"], rel=1e-12)


def test_means_are_published_once(bench: Bench) -> None:
    """The same release again says nothing new; another one of the same data gives records by subtraction."""
    wanted = {"first": {}, "other": {"k": 6}, "exact": {"k": 7, "box_means": "exact"}, "plain": {"box_means": "none"}}
    ledgers: dict[str, Path] = {}
    for name, change in wanted.items():
        spec = SPECS["of numbers alone"] | change
        outcome = bench.run(spec)
        ledgers[name] = bench.folder / f"{name}.ledger"
        write_ledger(files_of(bench, outcome), ledgers[name], method="boxes", spec=spec)
    earlier = [Earlier(f"rel_{name}", "boxes", ledgers[name]) for name in ("first", "plain")]
    rounded, exact = (SPECS["of numbers alone"] | wanted[name] for name in ("other", "exact"))
    assert repeated_content(rounded, ledgers["first"], earlier) is None
    assert repeated_content(rounded | {"box_means": "none"}, ledgers["plain"], earlier) is None
    assert repeated_content(exact, ledgers["exact"], earlier[1:]) is None
    finding = repeated_content(rounded, ledgers["other"], earlier)
    assert finding is not None
    assert (finding.audit, finding.measured, "rel_first" in finding.detail) == ("composition", 1.0, True)
    with pytest.raises(InfeasibleError, match="exact means are not published twice"):
        repeated_content(exact, ledgers["exact"], earlier)
    with pytest.raises(InfeasibleError, match="subtraction"):
        repeated_content(rounded, ledgers["other"], [Earlier("rel_exact", "boxes", ledgers["exact"])])


def test_frames_are_certified_with_their_means_where_that_is_said(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = bench.run(SPECS["of numbers alone"])
    frame = pl.read_parquet(files_of(bench, outcome))
    assert bounded_columns(frame.columns) == NUMBERS
    wide, narrow = (certify(frame, ["mean(wage)"], means=means)[0]["guaranteed"] for means in (False, True))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    with pytest.raises(SystemExit, match="0"):
        cli.certify([str(files_of(bench, outcome)), "--json", "--statistic", "mean(wage)", "--means"])
    assert json.loads(capsys.readouterr().out)["statistics"][0]["guaranteed"] == narrow


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"box_means": "exact", "bounds": "tight"}, "single values"),
        (
            {"box_means": "exact", "bounds": "grid", "domains": {name: [0, 99] for name in ("wage", "age")}},
            "single values",
        ),
        ({"quasi_identifiers": ["town", "level"], "statistics": None}, "no numbers"),
        ({"survey_weight_column": "home"}, "survey_weight_column"),
        ({"rare_records": "weigh"}, "rare_records"),
    ],
)
def test_means_that_would_tell_records_are_refused(bench: Bench, change: dict[str, Any], says: str) -> None:
    spec = BoxesSpec.model_validate(spec_for("rounded") | change)
    errors = check_boxes(spec, Given({"dataset_id": bench.datasets["people"]}, {}, {}))
    assert [error.detail for error in errors if error.pointer == "/box_means" and says in error.detail]


def test_names_of_means_are_the_releases_own(bench: Bench) -> None:
    bench.dataset("named", people().rename({"home": "age_mean_lo", "town": "age_mean"}))
    given = Given({"dataset_id": bench.datasets["named"]}, {}, {})
    mean = [{"kind": "mean", "of": ["age"]}]
    spec = spec_for("rounded", quasi_identifiers=["age"], keep=["age_mean_lo"], ordinal={}, statistics=mean)
    assert [error.pointer for error in check_boxes(BoxesSpec.model_validate(spec), given)] == ["/keep/0"]
    assert not check_boxes(BoxesSpec.model_validate(spec | {"box_means": "none", "missing_policy": "drop"}), given)
