"""A name means one thing to all who read it: job, statistics, counts, certificates and readers of the files alone."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import InfeasibleError, InvalidError
from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import name_of, question
from tests.attacks.certified import FORMATS
from tests.attacks.hostile import Hostile, Released, each_name
from tests.drawing import seeds
from tests.methods.in_process import Bench, Done


def made(draw: np.random.Generator, folder: Path) -> tuple[Bench, Hostile, Done]:
    """A release of a random table; one of the first tables that can be released."""
    for turn in range(20):
        hostile = Hostile.drawn(draw)
        folder.joinpath(str(turn)).mkdir()
        bench = Bench(folder / str(turn), seed=turn)
        bench.dataset("t", hostile.frame)
        if bench.accepted(hostile.spec)[1]:
            continue
        with contextlib.suppress(InvalidError, InfeasibleError):
            done = bench.run(hostile.spec)
            bench.keep("r", done)
            return bench, hostile, done
    raise AssertionError("no table of twenty can be released")


def contains(guaranteed: Any, truth: float | None) -> bool:
    return guaranteed is None or truth is None or guaranteed[0] - 1e-9 <= truth <= guaranteed[1] + 1e-9


@pytest.mark.parametrize("seed", seeds(8, 500))
def test_an_honest_release_is_verified_and_every_name_means_one_thing(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    bench, hostile, done = made(draw, tmp_path)
    released = Released(done)
    report = released.report()
    assert (list(report.problems), list(report.unchecked), report.exit_code) == ([], [], 0), hostile.spec
    for data in released.files.items():
        assert not released.report(dict([data])).problems, data[0]
    shown = {name: released.shown(name) for name in hostile.columns}
    whole = done.rows().height == hostile.about().height and not done.whole["suppressed_cells"]
    whole = whole and hostile.spec["rare_records"] != "weigh"
    if whole:
        for one in done.whole["statistics"]:
            if one["kind"] in ("share", "crosstab", "domain_mean"):
                truth = hostile.truth(one, shown)
                assert contains(one["guaranteed"], truth), (one, truth, hostile.spec)
                assert one["true_value"] is None or truth is None or one["true_value"] == pytest.approx(truth), one
    ask, envelope = each_name(hostile.columns), released.envelope(released.files)
    for _ in range(6):
        about = ask(draw)
        try:
            answer = bench.run({"method": "statistics", "release_id": "r", "statistics": [about]})
        except InvalidError:  # a value that the codebook does not have
            with pytest.raises(UnreadableError):
                certify(released.rows, [question(about)], certificate=envelope)
            continue
        (said,) = answer.whole["statistics"]
        (offline,) = certify(released.rows, [question(about)], certificate=envelope)
        assert offline["guaranteed"] == (None if said["guaranteed"] is None else list(said["guaranteed"])), about
        query = {about["of"][-1]: {"values": about["values"]}}
        (count,) = bench.run({"method": "count", "release_id": "r", "queries": [query]}).whole["counts"]
        if not whole:
            continue
        assert contains(said["guaranteed"], hostile.truth(about, shown)), (said, hostile.spec)
        inside = hostile.records(about["of"][-1], about["values"], shown)
        assert contains(count["guaranteed"], inside), (count, inside, about, hostile.spec)
        if "survey_weight_column" in hostile.spec:
            continue
        with contextlib.suppress(UnreadableError):  # a class that the file does not have
            (alone,) = certify(released.rows, [question(about)], weight=False)
            assert contains(alone["guaranteed"], hostile.truth(about, shown)), (alone, hostile.spec)


@pytest.mark.parametrize("seed", seeds(4, 100))
def test_what_is_made_from_a_release_means_the_same(seed: int, tmp_path: Path) -> None:
    """Later releases of a series, the audits that run a job again, and the ranges of both."""
    draw = np.random.default_rng([seed, 2])
    bench, hostile, done = made(draw, tmp_path)
    spec = {name: done.spec.model_dump(mode="json")[name] for name in ("quasi_identifiers", "statistics")}
    again = {"method": "influence", "release_ids": ["r"], "dataset_id": "t", "records": 1}
    measured = {one["published_figure"] for one in bench.run(again).whole["releases"][0]["numbers"]}
    estimates = {each.removesuffix(" estimate") for each in measured if each.endswith(" estimate")}
    assert estimates, "the audit cuts elsewhere, so a cell may have an estimate in the one and none in the other"
    assert estimates <= {name_of(one) for one in done.whole["statistics"]}
    if hostile.more:
        return
    hostile.spec["k"] = [done.spec.model_dump()["k"]]
    kept = ("dataset_id", "quasi_identifiers", "nominal", "missing_policy", "bounds", "k", "max_suppressed_classes")
    frontier = {"method": "frontier", **spec, **{name: hostile.spec[name] for name in kept}}
    (point,) = bench.run(frontier).whole["points"]
    assert [one["values"] for one in point["statistics"]] == [one["values"] for one in done.whole["statistics"]]
    if not hostile.is_plain:
        return
    later = {"method": "boxes", "base_release_id": "r", "k": hostile.spec["k"][0] + 1, "formats": FORMATS, **spec}
    with contextlib.suppress(InfeasibleError):  # boxes that lack the same values have too few records together
        made_from = bench.run(later)
        released = Released(made_from)
        assert released.merged_as == done.release.parameters["merged_as"]
        assert list(released.report().problems) == [], hostile.spec
        shown = {name: released.shown(name) for name in hostile.columns}
        for one in made_from.whole["statistics"]:
            if (
                one["kind"] in ("share", "crosstab", "domain_mean")
                and made_from.rows().height == hostile.about().height
            ):
                assert contains(one["guaranteed"], hostile.truth(one, shown)), (one, hostile.spec)


@pytest.mark.parametrize("seed", seeds(12, 200))
def test_each_file_alone_knows_an_empty_text_from_a_missing_value(seed: int, tmp_path: Path) -> None:
    """Cuts may go between kept classes: boxes of one place differ by an empty text, a missing value, or `NA`."""
    draw = np.random.default_rng([seed, 4])
    bench, rows = Bench(tmp_path, seed=seed), int(draw.integers(60, 160))
    kept = [None if each is None else str(each) for each in draw.choice(np.array(["", None, "NA", "null", "1"]), rows)]
    bench.dataset("t", pl.DataFrame({"age": draw.integers(18, 26, rows), "kept": kept}))
    spec = {"method": "boxes", "dataset_id": "t", "quasi_identifiers": ["age"], "k": 2, "formats": FORMATS}
    spec |= {"bounds": "tight", "keep": ["kept"], "k_counts_kept": True, "max_suppressed": 0.3}
    released = Released(bench.run(spec))
    for data in released.files.items():
        assert not released.report(dict([data])).problems, data[0]


@pytest.mark.parametrize("seed", seeds(8, 200))
@pytest.mark.parametrize("rare", [0, 6])
def test_a_certificate_that_says_nobody_has_a_merged_value_is_not_taken_at_its_word(
    seed: int, rare: int, tmp_path: Path
) -> None:
    """Whoever signs may know. It follows from a file that shows all values, and not from one that merges some."""
    draw = np.random.default_rng([seed, 3])
    jobs = draw.choice(["clerk", "nurse", "pilot"], 60).tolist() + [f"rare {n}" for n in range(rare) for _ in "ab"]
    bench = Bench(tmp_path, seed=seed)
    bench.dataset("t", pl.DataFrame({"age": draw.integers(18, 80, len(jobs)), "job": jobs}))
    share = {"kind": "share", "of": ["job"], "values": ["clerk"]}
    spec = {"method": "boxes", "dataset_id": "t", "quasi_identifiers": ["age", "job"], "k": 4, "formats": FORMATS}
    released = Released(bench.run({**spec, "statistics": [share], "max_suppressed_classes": 0.0}))
    assert released.report().exit_code == 0
    made = released.body["predicate"]
    named = str(draw.choice([f"rare {seed % 6}", "nobody's"]))
    values = [named if draw.random() < 0.5 else {"value": named}]
    (honest,) = made["statistics"]
    nothing = {"guaranteed": [0.0, 0.0], "attained": [0.0, 0.0], "first_order": None, "estimate": 0.0}
    made["statistics"] = [honest, {**honest, **nothing, "values": values, "value_known": True, "gap": 0.0}]
    parameters = made["parameters"]
    parameters["statistics"] = [*parameters["statistics"], {**parameters["statistics"][0], "values": values}]
    report = released.report()
    assert (list(report.problems), report.exit_code) == ([], 0), "it is as the file has it, as far as that goes"
    assert any(f"that {named!r} of 'job' is not among" in each for each in report.beyond_the_file) == (rare > 0)


@pytest.mark.parametrize("seed", seeds(8, 500))
def test_a_changed_cell_that_is_signed_again_is_refuted_or_named(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng([seed, 1])
    _, hostile, done = made(draw, tmp_path)
    released = Released(done)
    column, files = released.changed(draw, tmp_path / "changed")
    for name, data in files.items():
        if name != "release.parquet":
            report = released.report(released.files | {name: data})
            assert report.exit_code == 1, (column, name, hostile.spec)
            assert any(name in each for each in report.problems)
    report = released.report(files)
    if column not in hostile.spec["keep"]:
        assert report.exit_code == 1, (column, hostile.spec)
    elif report.exit_code == 0:
        assert any("'kept'" in each and "stand as they are" in each for each in report.beyond_the_file)


def test_the_changes_are_of_all_columns(tmp_path: Path) -> None:
    """The property above is about bounds, sets, boxes, classes and kept values alike."""
    draw, columns = np.random.default_rng(0), set()
    _, _, done = made(draw, tmp_path)
    released = Released(done)
    for turn in range(40):
        column, files = released.changed(draw, tmp_path / f"changed {turn}")
        columns.add(column)
        assert not pl.read_parquet(files["release.parquet"]).equals(released.rows)
    assert columns == set(released.rows.columns)
