"""Means within values that perhaps no record has: what whoever verifies a release is told of them."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.methods.catalogue import public_statistics
from surebox_verify import cli
from surebox_verify.keys import read_keys
from surebox_verify.report import Finding, Report
from surebox_verify.verification import verify
from tests.methods.in_process import Bench
from tests.verify.made import Issuer, statement
from workers.methods.outcome import ReleaseDraft

GRADES = ["low", "mid", "high", "none"]  # nobody has the last one
ISSUER = Issuer.new()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench, draw, rows = Bench(tmp_path_factory.mktemp("bench")), np.random.default_rng(1), 60
    grade = draw.choice(GRADES[:3], rows, p=[0.7, 0.25, 0.05])
    bench.dataset("people", pl.DataFrame({"age": draw.integers(18, 80, rows), "grade": grade}))
    return bench


@pytest.fixture(scope="module", params=["tight", "cells"])
def draft(request: pytest.FixtureRequest, bench: Bench) -> ReleaseDraft:
    done = bench.run({
        "method": "boxes", "dataset_id": "people", "quasi_identifiers": ["age", "grade"], "k": 7,
        "bounds": request.param, "nominal": {"grade": {"values": GRADES}},
        "statistics": [{"kind": "mean", "of": ["age"]}, {"kind": "domain_mean", "of": ["age", "grade"]}],
    })  # fmt: skip
    assert done.release is not None
    return done.release


def sets(draft: ReleaseDraft) -> list[set[str]]:
    return [set(each) for each in pl.read_parquet(draft.files["parquet"].path)["grade_set"].to_list()]


def certified(draft: ReleaseDraft, statistics: list[dict[str, Any]], name: str = "parquet") -> tuple[bytes, bytes]:
    """A file, and the certificate that the service would sign of such statistics."""
    files = {f"release.{name}": file.path.read_bytes() for name, file in draft.files.items()}
    body = statement(files, json.loads(json.dumps(statistics)))
    body["predicate"]["parameters"] = json.loads(json.dumps(dict(draft.parameters)))
    body["predicate"]["release"]["columns"] = [dict(column) for column in draft.columns]
    return files[f"release.{name}"], ISSUER.sign(body)


def verified(draft: ReleaseDraft, statistics: list[dict[str, Any]], name: str = "parquet") -> Report:
    data, envelope = certified(draft, statistics, name)
    return verify({f"release.{name}": data}, envelope, read_keys(ISSUER.key_set()))


def published(draft: ReleaseDraft) -> list[dict[str, Any]]:
    return public_statistics("boxes", draft.statistics)


def test_what_is_published_of_a_domain_is_what_its_boxes_say(draft: ReleaseDraft) -> None:
    """By the sets of the file: a record has a value for certain where its set has no other, or where all occur."""
    tight = draft.parameters["bounds"] == "tight"
    for one in published(draft):
        if one["kind"] == "mean":
            assert one["domain_may_be_empty"] is None
            continue
        (value,) = one["values"]
        somewhere = [each for each in sets(draft) if value in each]
        certain = bool(somewhere) if tight else any(each == {value} for each in somewhere)
        assert one["domain_may_be_empty"] is not certain
        assert (one["guaranteed"] is None) is (not somewhere)


def test_a_value_that_no_box_can_hold_is_found_certainly_empty(draft: ReleaseDraft) -> None:
    report = verified(draft, published(draft))
    assert report.exit_code == 0
    for one, said in zip(report.statistics, published(draft), strict=True):
        empty = said["kind"] == "domain_mean" and not any(said["values"][0] in each for each in sets(draft))
        assert one.finding is (Finding.EMPTY if empty else Finding.VERIFIED)
        assert one.domain_may_be_empty is said["domain_may_be_empty"]
    flags = [one.domain_may_be_empty for one in report.statistics]
    assert flags.count(None) == 1
    assert flags.count(True) > 0


def test_certificates_from_before_are_verified_as_they_were(draft: ReleaseDraft) -> None:
    before = [{name: each[name] for name in each if name != "domain_may_be_empty"} for each in published(draft)]
    report, now = verified(draft, before), verified(draft, published(draft))
    assert (report.exit_code, report.statistics) == (0, now.statistics)


def test_a_domain_of_which_too_much_is_said_is_contradicted(draft: ReleaseDraft) -> None:
    for place, said in enumerate(published(draft)):
        if said["domain_may_be_empty"]:
            changed = published(draft)
            changed[place] = said | {"domain_may_be_empty": False}
            report = verified(draft, changed)
            assert report.exit_code == 1
            assert report.statistics[place].finding is Finding.CONTRADICTED
            assert "of some record for certain published" in report.problems[0]


def test_a_domain_said_to_be_empty_that_is_not_is_contradicted(draft: ReleaseDraft) -> None:
    ranges = [each["guaranteed"] if each["kind"] == "domain_mean" else None for each in published(draft)]
    place = next(i for i, each in enumerate(ranges) if each is not None)
    changed = published(draft)
    changed[place] |= {"domain_may_be_empty": True, "guaranteed": None, "attained": None}
    report = verified(draft, changed)
    assert report.statistics[place].finding is Finding.CONTRADICTED
    assert report.problems[0].startswith(f"{report.statistics[place].name}: no record with the values published, [")


def test_what_claims_little_is_judged_alike_from_any_file(draft: ReleaseDraft) -> None:
    """From before, a mean without records said nothing."""
    (one,) = [each for each in published(draft) if each["values"] == ["none"]]
    silent = {name: one[name] for name in one if name != "domain_may_be_empty"} | {"guaranteed": None, "attained": None}
    for claimed in (silent, silent | {"domain_may_be_empty": True}):
        by_csv, by_parquet = (verified(draft, [claimed], name) for name in ("csv", "parquet"))
        assert (by_csv.exit_code, by_csv.statistics) == (by_parquet.exit_code, by_parquet.statistics)


def test_the_command_says_what_a_mean_is_about(
    draft: ReleaseDraft, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, envelope = certified(draft, published(draft))
    (tmp_path / "release.parquet").write_bytes(data)
    (tmp_path / "release.parquet.dsse.json").write_bytes(envelope)
    (tmp_path / "jwks.json").write_bytes(ISSUER.key_set())
    with pytest.raises(SystemExit) as ended:
        cli.verify([str(tmp_path / "release.parquet"), "--keys", str(tmp_path / "jwks.json")])
    assert ended.value.code == 0
    shown = [line.split("grade=")[1] for line in capsys.readouterr().out.splitlines() if "grade=" in line]
    lines = {re.sub(r"  \[[^]]*\]| of \d+ records", "", line) for line in shown}
    expected = set()
    for one in published(draft):
        if one["kind"] == "domain_mean":
            about = ": the mean if there is one, for there may be no record with it"
            about = ": no box can contain a record with it" if one["guaranteed"] is None else about
            expected.add(f"{one['values'][0]}){about if one['domain_may_be_empty'] else ''}")
    assert lines == expected
