"""Every kind of release of boxes is verified from its files: what was published is what follows from them."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.releases import ReleaseFormat
from app.methods.catalogue import public_statistics
from surebox_verify.keys import read_keys
from surebox_verify.report import Finding, Report
from surebox_verify.verification import verify
from tests.methods.asking import anonymization
from tests.methods.in_process import Bench
from tests.verify.made import Issuer, signed_statistics, statement
from workers.methods.context import InputFile
from workers.methods.outcome import ReleaseDraft

GRADES = ["low", "mid", "high"]
SPECS: dict[str, dict[str, Any]] = {
    "numbers": {},
    "sample form": {"ddof": 1},
    "texts": {"quasi_identifiers": ["age", "sex"]},
    "texts, all kinds": {
        "quasi_identifiers": ["age", "sex", "grade"],
        "statistics": [
            {"kind": "crosstab", "of": ["sex", "grade"]},
            {"kind": "domain_mean", "of": ["age", "sex"]},
            {"kind": "share", "of": ["grade"], "values": ["low", "mid"]},
            {"kind": "quantile", "of": ["age"], "p": 0.5},
        ],
    },
    "values that nobody has": {
        "bounds": "tight", "quasi_identifiers": ["age", "grade"], "nominal": {"grade": {"values": [*GRADES, "none"]}},
    },
    "days": {"quasi_identifiers": ["born", "wage"]},
    "an order": {"quasi_identifiers": ["age", "grade"], "ordinal": {"grade": GRADES}},
    "texts, an order's values": {
        "quasi_identifiers": ["age", "sex", "grade"], "ordinal": {"grade": ["none", *GRADES]}, "bounds": "tight",
        "statistics": [
            {"kind": "share", "of": ["grade"]},
            {"kind": "share", "of": ["grade"], "values": ["none", "low"]},
            {"kind": "crosstab", "of": ["sex", "grade"]},
            {"kind": "domain_mean", "of": ["age", "grade"], "values": ["none", "low"]},
        ],
    },
    "patterns": {"quasi_identifiers": ["age", "gap"], "missing_policy": "pattern"},
    "grid": {"bounds": "grid", "domains": {"age": [0, 120], "wage": [0, 2000]}, "value_step": {"wage": 1.0}},
    "a survey": {"survey_weight_column": "weights"},
    "a survey, weights of rows": {"survey_weight_column": "wave", "released_weights": "row"},
    "marked": {"rare_records": "mark"},
    "suppressed": {"rare_records": "suppress"},
    "weighed": {"rare_records": "weigh"},
    "weighed, a column called as ends of weights": {
        "quasi_identifiers": ["age", "weight_mean"], "rare_records": "weigh",
    },
    "weights of rows, a column called so": {
        "quasi_identifiers": ["age", "weight_mean"], "survey_weight_column": "wave", "released_weights": "row",
    },
    "a survey, marked": {"survey_weight_column": "weights", "rare_records": "mark"},
    "a survey, weights of rows, suppressed": {
        "survey_weight_column": "wave", "released_weights": "row", "rare_records": "suppress",
    },
    "patterns, marked": {"quasi_identifiers": ["age", "gap"], "missing_policy": "pattern", "rare_records": "mark"},
    "a survey with patterns, suppressed": {
        "quasi_identifiers": ["age", "gap"], "missing_policy": "pattern", "rare_records": "suppress",
        "survey_weight_column": "weights",
    },
    "texts, marked": {"quasi_identifiers": ["age", "sex", "grade"], "rare_records": "mark"},
    "texts, suppressed": {"quasi_identifiers": ["age", "wage", "grade"], "rare_records": "suppress"},
    "counts": {"frequency_column": "level"},
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench, draw, rows = Bench(tmp_path_factory.mktemp("bench")), np.random.default_rng(1), 200
    days = [dt.date(1960, 1, 1) + dt.timedelta(days=int(day)) for day in draw.integers(0, 20_000, rows)]
    frame = pl.DataFrame({
        "age": draw.integers(18, 80, rows), "wage": draw.lognormal(3, 1, rows), "sex": draw.choice(["f", "m"], rows),
        "grade": draw.choice(GRADES, rows), "born": days, "weights": draw.uniform(0.5, 3, rows),
        "wave": draw.choice([0.7, 1.0, 2.3], rows, p=[0.2, 0.7, 0.1]),
    })  # fmt: skip
    present = pl.Series(draw.random(rows) < 0.85)
    gaps = pl.when(present).then(pl.col("wage")).alias("gap")
    level = pl.Series("level", draw.choice([1, 2, 3], rows))
    bench.dataset(
        "people",
        frame.with_columns(gaps, (pl.col("wage") * 2.0).alias("weight_mean"), level, pl.lit(value=True).alias("alive")),
    )
    return bench


def verified(draft: ReleaseDraft, file_format: str, *, core: float = 0.0, **parameters: Any) -> Report:
    """What a reader finds who has one file, and the certificate that the service would sign.

    Means of the core are certified as standing so much higher than they do, and parameters as they are given.
    """
    files = {f"release.{name}": file.path.read_bytes() for name, file in draft.files.items()}
    body = statement(files, json.loads(json.dumps(public_statistics("boxes", draft.statistics))))
    body["predicate"]["parameters"] = json.loads(json.dumps(dict(draft.parameters))) | parameters
    body["predicate"]["release"]["columns"] = [dict(column) for column in draft.columns]
    for one in body["predicate"]["statistics"] if core else ():
        if one["kind"] == "mean":
            for ends in ("guaranteed", "attained"):
                one["core"][ends] = [end + core for end in one["core"][ends]]
    issuer, name = Issuer.new(), f"release.{file_format}"
    return verify({name: files[name]}, issuer.sign(body), read_keys(issuer.key_set()))


@pytest.mark.parametrize("name", SPECS)
def test_what_is_published_of_any_columns_follows_from_the_file(bench: Bench, name: str) -> None:
    spec = {"method": "boxes", "dataset_id": "people", "quasi_identifiers": ["age", "wage"], "k": 5} | SPECS[name]
    draft = bench.run(spec).release
    assert draft is not None
    report = verified(draft, "parquet")
    assert (report.problems, report.unchecked) == ([], [])
    assert len(report.statistics) >= 4
    assert {one.finding for one in report.statistics} == {Finding.VERIFIED}
    for file_format in ("csv", "ndjson"):
        report = verified(draft, file_format)
        assert report.exit_code == 0
        assert {one.finding for one in report.statistics} == {Finding.VERIFIED}


def test_k_of_counted_persons_is_checked_by_rows_and_their_counts_are_the_owners_word(bench: Bench) -> None:
    spec = {"method": "boxes", "dataset_id": "people", "quasi_identifiers": ["age", "wage"], "k": 5} | SPECS["counts"]
    done = bench.run(spec)
    assert done.release is not None
    persons = int(pl.read_parquet(bench.files[InputFile.DATASET, "people"])["level"].sum())
    assert (done.release.rows, done.result["released"]) == (persons, persons)
    report = verified(done.release, "parquet")
    assert [one for one in report.beyond_the_file if "as many as the counts of 'level'" in one]
    stated = verified(done.release, "parquet", frequencies_are_exact=True)
    assert [one for one in stated.beyond_the_file if "exact by the owner's word" in one]
    wrong = [
        ({"k": 50}, "k: "), ({"frequency_column": "age"}, "a column of the persons too"),
        ({"frequency_column": 7}, "names no column"), ({"person_column": "sex"}, "beside `person_column`"),
        ({"frequency_column": None, "frequencies_are_exact": True}, "no `frequency_column` has counts"),
    ]  # fmt: skip
    for parameters, says in wrong:
        assert any(says in one for one in verified(done.release, "parquet", **parameters).problems), parameters


#: Columns of values in the place of numbers, values that nobody has among them: what each number is of follows too.
LINES: dict[str, dict[str, Any]] = {
    "classes": {"quasi_identifiers": ["age", "grade", "sex"], "statistics": [
        {"kind": "prediction", "of": ["age", "grade", "sex"], "at": ["low", "f"]},
        {"kind": "prediction", "of": ["sex", "grade"], "at": ["high"]},
        {"kind": "regression", "of": ["age", "grade"]},
    ]},
    "ranks and days": {"quasi_identifiers": ["wage", "born", "grade"], "ordinal": {"grade": ["none", *GRADES]},
        "statistics": [
            {"kind": "prediction", "of": ["wage", "born", "grade"], "at": ["1990-01-01", "none"]},
            {"kind": "prediction", "of": ["grade", "wage"], "at": [12.5]},
    ]},
    "a class that nobody has": {
        "quasi_identifiers": ["age", "grade"], "nominal": {"grade": {"values": [*GRADES, "none"]}}, "bounds": "tight",
        "statistics": [{"kind": "mean", "of": ["age"]}, {"kind": "prediction", "of": ["age", "grade"], "at": ["none"]},
                       {"kind": "prediction", "of": ["age", "grade"], "at": ["mid"]}],
    },
    "a first class that nobody has": {
        "quasi_identifiers": ["age", "grade"], "nominal": {"grade": {"values": ["a", *GRADES, "z"]}}, "bounds": "tight",
        "statistics": [{"kind": "mean", "of": ["age"]}, {"kind": "regression", "of": ["age", "grade"]}],
    },
    "numbers as classes, some that nobody has": {
        "quasi_identifiers": ["wage", "level"], "nominal": {"level": {"values": [-1, 1, 2, 3, 7]}}, "bounds": "tight",
        "statistics": [{"kind": "mean", "of": ["wage"]}, {"kind": "regression", "of": ["wage", "level"]}],
    },
    "the same truth for all": {
        "quasi_identifiers": ["age", "alive"], "bounds": "tight",
        "statistics": [{"kind": "mean", "of": ["age"]}, {"kind": "regression", "of": ["age", "alive"]}],
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_lines_through_values_follow_from_the_file(bench: Bench, name: str) -> None:
    spec = {"method": "boxes", "dataset_id": "people", "k": 5} | LINES[name]
    done = bench.run(spec)
    assert done.release is not None
    report = verified(done.release, "parquet")
    assert (report.problems, report.unchecked, report.exit_code) == ([], [], 0)
    claimed = [
        one["guaranteed"] not in (None, [None] * len(one["guaranteed"] or ())) for one in done.result["statistics"]
    ]
    wanted = [Finding.VERIFIED if is_claimed else Finding.NOTHING_CLAIMED for is_claimed in claimed]
    assert [one.finding for one in report.statistics] == wanted
    assert any(claimed)
    for one in done.result["statistics"]:
        if one["kind"] == "prediction" and one["guaranteed"] is not None:
            assert one["guaranteed"][0] <= one["true_value"] <= one["guaranteed"][1]


def test_a_value_that_only_suppressed_records_have_contradicts_nothing(tmp_path: Path) -> None:
    """The codebook comes from the data, so coefficients are of values that no box has: they have neither number."""
    bench, vanished = Bench(tmp_path), 0
    statistics = [{"kind": "regression", "of": ["x", "c"]}, {"kind": "mean", "of": ["y"]}]
    for seed in (0, 5, 7, 16, 21):
        draw = np.random.default_rng(seed)
        rows, k, classes = int(draw.integers(12, 40)), int(draw.integers(2, 5)), int(draw.integers(3, 6))
        frame = pl.DataFrame({
            "x": draw.standard_t(1, rows).round(2), "y": draw.normal(size=rows).round(2),
            "c": draw.choice(list("abcdef")[:classes], rows),
        })  # fmt: skip
        bench.dataset(f"t{seed}", frame)
        spec = anonymization("boxes", f"t{seed}", ["x", "y", "c"], k=k, statistics=statistics)
        done = bench.run(spec | {"rare_records": "suppress", "max_suppressed": 0.4, "least_widths": "none"})
        assert done.release is not None
        held = {value for values in done.rows()["c_set"].to_list() for value in values}
        named = [term["value"] for term in done.result["statistics"][0]["terms"]]
        of = {one["class"] if isinstance(one, dict) else one for one in named}  # rare values are one class
        vanished += not of - {None} <= held or len(of) > len(held)
        report = verified(done.release, "parquet")
        assert (report.problems, [one.reason for one in report.statistics if one.finding is Finding.CONTRADICTED]) == (
            [], [],
        )  # fmt: skip
    assert vanished >= 3


def test_coefficients_without_a_number_hide_no_claim(bench: Bench) -> None:
    """Only where nothing at all is said of a regression its coefficients may be of other values."""
    spec = {"method": "boxes", "dataset_id": "people", "k": 5} | LINES["a first class that nobody has"]
    draft = bench.run(spec).release
    assert draft is not None
    files = {"release.parquet": draft.files[ReleaseFormat.PARQUET].path.read_bytes()}
    body = statement(files, json.loads(json.dumps(public_statistics("boxes", draft.statistics))))
    body["predicate"]["parameters"] = json.loads(json.dumps(dict(draft.parameters)))
    body["predicate"]["release"]["columns"] = [dict(column) for column in draft.columns]
    (one,) = (each for each in body["predicate"]["statistics"] if each["kind"] == "regression")
    nothing = [None] * len(one["terms"])
    for name in ("estimate", "first_order", "guaranteed", "attained"):
        one[name] = nothing
    one |= {"sharp": False, "gap": None, "value_known": False, "reason": "no bound could be proven"}
    one["terms"] = [term | {"value": term["value"] and f"{term['value']}x"} for term in one["terms"]]
    issuer = Issuer.new()

    def finding() -> Finding:
        report = verify(files, issuer.sign(signed_statistics(body)), read_keys(issuer.key_set()))
        return report.statistics[-1].finding

    assert finding() is Finding.NOTHING_CLAIMED
    for change in (
        {"estimate": [1.0, *nothing[1:]]},
        {"guaranteed": [[0.0, 9.0], *nothing[1:]]},
        {"value_known": True},
    ):
        kept = dict(one)
        one |= change
        assert finding() is Finding.CONTRADICTED
        one.update(kept)


@pytest.mark.parametrize(("bounds", "step"), [("cells", 0), ("tight", 0), ("cells", 1), ("tight", 1)])
def test_a_narrower_prediction_is_contradicted_where_columns_have_no_step(
    tmp_path: Path, bounds: str, step: int
) -> None:
    """Of whole numbers it is not known what is reached: nothing contradicts a range that is too narrow."""
    bench, draw = Bench(tmp_path), np.random.default_rng(3)
    x, y = 100.0 * draw.normal(size=(2, 400))
    frame = pl.DataFrame({"x": x, "y": y, "z": 2 * x + y + 10.0 * draw.normal(size=400)})
    bench.dataset("lines", frame.select(pl.all().round().cast(pl.Int64)) if step else frame)
    lines = [{"kind": "prediction", "of": ["z", "x", "y"], "at": [20.0, 10.0]}]
    spec = anonymization("boxes", "lines", ["x", "y", "z"], k=2, bounds=bounds, statistics=lines)
    draft = bench.run(spec).release
    assert draft is not None
    files = {"release.parquet": draft.files[ReleaseFormat.PARQUET].path.read_bytes()}
    body = statement(files, json.loads(json.dumps(public_statistics("boxes", draft.statistics))))
    body["predicate"]["parameters"] = json.loads(json.dumps(dict(draft.parameters)))
    body["predicate"]["release"]["columns"] = [dict(column) for column in draft.columns]
    (one,) = body["predicate"]["statistics"]
    low, high = one["guaranteed"]
    one["guaranteed"] = [low + 0.4 * (high - low), high - 0.4 * (high - low)]
    one |= {"gap": None, "sharp": False, "attained": None}
    issuer = Issuer.new()
    report = verify(files, issuer.sign(signed_statistics(body)), read_keys(issuer.key_set()))
    assert [one.finding for one in report.statistics] == [Finding.CONSISTENT if step else Finding.CONTRADICTED]
    assert report.exit_code == (3 if step else 1)


def test_a_prediction_at_another_value_is_contradicted_and_a_narrower_one_not_verified(bench: Bench) -> None:
    spec = {"method": "boxes", "dataset_id": "people", "k": 5} | LINES["classes"]
    draft = bench.run(spec).release
    assert draft is not None
    files = {"release.parquet": draft.files[ReleaseFormat.PARQUET].path.read_bytes()}

    def finding(change: dict[str, Any]) -> Finding:
        body = statement(files, json.loads(json.dumps(public_statistics("boxes", draft.statistics))))
        body["predicate"]["parameters"] = json.loads(json.dumps(dict(draft.parameters)))
        body["predicate"]["release"]["columns"] = [dict(column) for column in draft.columns]
        (one,) = (each for each in body["predicate"]["statistics"] if each["at"] == ["low", "f"])
        low, high = one["guaranteed"]
        one |= change.get("said", {})
        if "ends" in change:
            a, b = change["ends"]
            one["guaranteed"] = [low + a * (high - low), high - b * (high - low)]
        issuer = Issuer.new()
        report = verify(files, issuer.sign(signed_statistics(body)), read_keys(issuer.key_set()))
        (finding,) = (each.finding for each in report.statistics if "grade=" in each.name and "sex=" in each.name)
        return finding

    assert finding({}) is Finding.VERIFIED
    assert finding({"said": {"at": ["high", "m"]}}) is Finding.CONTRADICTED
    assert finding({"ends": (0.4, 0.4)}) is Finding.CONSISTENT
    assert finding({"ends": (-0.1, -0.1), "said": {"gap": None, "sharp": False, "attained": None}}) is Finding.VERIFIED


@pytest.mark.parametrize("name", ["marked", "a survey, marked", "patterns, marked", "texts, marked"])
def test_ranges_about_the_core_follow_from_the_marked_rows(bench: Bench, name: str) -> None:
    spec = {"method": "boxes", "dataset_id": "people", "quasi_identifiers": ["age", "wage"], "k": 5}
    draft = bench.run(spec | {"max_suppressed": 0.2} | SPECS[name]).release
    assert draft is not None
    whole = bool(pl.read_parquet(draft.files[ReleaseFormat.PARQUET].path)["core"].all())
    assert not (whole and name == "marked"), "else nothing is seen of the core"
    for file_format in ("parquet", "csv", "ndjson"):
        statistics = verified(draft, file_format).statistics
        about_all, of_core = statistics[: len(statistics) // 2], statistics[len(statistics) // 2 :]
        assert [one.name for one in of_core] == [f"{one.name}, core" for one in about_all]
        assert {one.finding for one in of_core} <= {Finding.VERIFIED, Finding.NOTHING_CLAIMED}
        assert ([one.published for one in of_core] == [one.published for one in about_all]) == whole
        report = verified(draft, file_format, core=0.01)
        refuted = [one.name for one in report.statistics if one.finding is Finding.CONTRADICTED]
        assert refuted == [f"{one.name}, core" for one in about_all if one.kind == "mean"]
