"""What `surebox-verify` finds: everything that was changed, named; and no fault where there is none."""

import base64
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from surebox_verify.envelope import UnreadableError
from surebox_verify.keys import read_keys
from surebox_verify.questions import name_of
from surebox_verify.released.boxes import weight_of
from surebox_verify.report import Finding, Report
from surebox_verify.verification import verify
from tests.verify.made import BOUNDS, Issuer, means, parquet, rows

ISSUER = Issuer.new()
FRAME = rows()
FILE = parquet(FRAME)
FILES = {"release.parquet": FILE}
STATISTICS = means(FRAME)
ENVELOPE = ISSUER.certify(FILES, STATISTICS)
KEYS = read_keys(ISSUER.key_set())


def verified(
    files: dict[str, bytes] = FILES, envelope: bytes = ENVELOPE, issuer: Issuer = ISSUER, **options: Any
) -> Report:
    return verify(files, envelope, read_keys(issuer.key_set(also=options.pop("also", None))), **options)


def with_statistic(**change: Any) -> bytes:
    """A certificate, rightly signed, whose first statistic says something else."""
    return ISSUER.certify(FILES, [STATISTICS[0] | change, STATISTICS[1]])


def test_what_was_not_changed_holds() -> None:
    report = verified()
    assert (report.exit_code, report.signature, report.revocation) == (0, "valid", "unknown")
    assert report.files == {"release.parquet": True}
    assert [each.finding for each in report.statistics] == [Finding.VERIFIED] * 2


@pytest.mark.parametrize("spelling", ["+AA=", "AB==", " AA=="])
def test_bytes_have_one_spelling(spelling: str) -> None:
    changed = json.loads(ENVELOPE)
    changed["signatures"][0]["sig"] += spelling
    with pytest.raises(UnreadableError, match="base64"):
        verified(envelope=json.dumps(changed).encode())


def test_numbers_beyond_2_to_53_are_read_as_they_were_signed() -> None:
    large = [STATISTICS[0] | {"guaranteed": [0.0, 3.5e16], "attained": None}, STATISTICS[1] | {"weight": 1e300}]
    report = verified(envelope=ISSUER.certify(FILES, large))
    assert not report.problems


def test_a_name_that_stands_twice_is_refused() -> None:
    twice = ENVELOPE[:-1] + b',"payload":"AAAA"}'
    with pytest.raises(UnreadableError):
        verified(envelope=twice)


def test_a_bound_moved_by_one_unit_in_the_last_place_is_another_file() -> None:
    moved = FRAME.with_columns(pl.col("age_hi").map_batches(lambda s: pl.Series(np.nextafter(s.to_numpy(), np.inf))))
    report = verified({"release.parquet": parquet(moved)})
    assert report.exit_code == 1
    assert any("release.parquet: not as certified" in each for each in report.problems)


def test_bounds_of_any_size_are_another_file_and_no_fault_of_the_reader() -> None:
    for value in (1e308, -1e308, 1e-308, float("inf"), float("nan")):
        huge = FRAME.with_columns(age_hi=pl.lit(value))
        report = verified({"release.parquet": parquet(huge)})
        assert report.exit_code == 1
        assert "release.parquet: not as certified" in report.problems


def test_a_row_duplicated_is_another_file_and_other_ranges() -> None:
    again = pl.concat([FRAME, *[FRAME.head(1)] * 5])
    report = verified({"release.parquet": parquet(again)})
    assert any("not as certified" in each for each in report.problems)
    assert any("follows from the data file" in each for each in report.problems)


def test_a_file_of_another_release_is_found() -> None:
    other = parquet(rows(seed=8))
    assert verified({"release.parquet": other}).exit_code == 1
    assert verified({"another-name.parquet": FILE}).exit_code == 0


def test_an_envelope_for_another_file_is_found() -> None:
    other = rows(seed=8)
    report = verified(envelope=ISSUER.certify({"release.parquet": parquet(other)}, means(other)))
    assert (report.signature, report.files) == ("valid", {"release.parquet": False})


@pytest.mark.parametrize(
    ("inward", "finding"),
    [(-1.0, Finding.VERIFIED), (0.0, Finding.VERIFIED), (1e-9, Finding.CONTRADICTED)],
    ids=["widened", "as computed", "narrowed"],
)
def test_a_range_is_held_against_the_data(inward: float, finding: Finding) -> None:
    low, high = STATISTICS[0]["guaranteed"]
    width = high - low
    guaranteed = [low + inward * width, high - inward * width]
    report = verified(envelope=with_statistic(guaranteed=guaranteed, attained=[low, high]))
    assert report.signature == "valid"
    assert report.statistics[0].finding == finding
    report = verified(
        envelope=with_statistic(guaranteed=guaranteed, attained=guaranteed if inward > 0 else [low, high])
    )
    assert report.statistics[0].finding == finding


def test_a_range_beside_the_data_is_contradicted() -> None:
    low, high = STATISTICS[0]["guaranteed"]
    shifted = [low + 100, high + 100]
    report = verified(envelope=with_statistic(guaranteed=shifted, attained=shifted))
    assert report.statistics[0].finding is Finding.CONTRADICTED
    assert report.exit_code == 1
    assert "mean(age)" in report.problems[0]


def test_four_units_in_the_last_place_are_rounding_and_more_are_not() -> None:
    low, high = verified().statistics[0].recomputed
    inside = [low + 3 * np.spacing(low), high - 3 * np.spacing(high)]
    beyond = [low + 40 * np.spacing(low), high - 40 * np.spacing(high)]
    assert verified(envelope=with_statistic(guaranteed=inside, attained=None)).statistics[0].finding is Finding.VERIFIED
    contradicted = verified(envelope=with_statistic(guaranteed=beyond, attained=None))
    assert contradicted.statistics[0].finding is Finding.CONTRADICTED


def certified(frame: pl.DataFrame, statistics: list[dict[str, Any]] | None = None, **parameters: Any) -> Report:
    """What is found of a file and a certificate of all of its columns, with these parameters beside the usual ones."""
    files, columns = {"release.parquet": parquet(frame)}, [{"name": name, "type": "number"} for name in frame.columns]
    columns[0]["type"] = "integer"
    said = {"method": "boxes", "quasi_identifiers": ["age", "hours"], "rare_records": "keep"} | parameters
    release = {"id": "rel_made", "columns": columns, "rows": len(frame)}
    return verified(files, ISSUER.certify(files, statistics or [], parameters=said, release=release))


def test_k_is_held_against_the_file_wherever_it_stands() -> None:
    """Beside the parameters alone."""
    report = verified(envelope=ISSUER.certify(FILES, STATISTICS, k=500))
    assert report.exit_code == 1
    assert any(each.startswith("k: 500 published") for each in report.problems)


def test_a_release_of_boxes_has_boxes() -> None:
    assert certified(FRAME).exit_code == 0
    without = certified(FRAME.drop("box").select(pl.lit(1).alias("row"), *BOUNDS))
    assert without.exit_code == 1
    assert any("'box'" in each for each in without.problems)


def test_boxes_that_cannot_be_read_are_not_checked_although_nothing_is_computed_of_them() -> None:
    weighed = FRAME.with_columns(weight_mean_lo=pl.lit(-1.0), weight_mean_hi=pl.lit(0.0))
    report = certified(weighed, survey_weight_column="design", released_weights="box")
    assert (report.exit_code, len(report.unchecked)) == (2, 1)
    assert "weights" in report.unchecked[0]


def test_what_is_said_to_be_reached_is_held_against_the_data_without_a_range_as_well() -> None:
    report = verified(envelope=with_statistic(guaranteed=None, attained=[-1e9, 1e9]))
    assert (report.exit_code, report.statistics[0].finding) == (3, Finding.CONSISTENT)
    within = with_statistic(guaranteed=None, attained=STATISTICS[0]["attained"])
    assert verified(envelope=within).statistics[0].finding is Finding.NOTHING_CLAIMED


def test_a_range_of_the_first_coefficient_alone_is_a_claim() -> None:
    one = {"kind": "regression", "of": ["age", "hours"], "weight": 1.0, "ddof": None, "first_order": [None, None]}
    assert certified(FRAME, [one | {"guaranteed": [[0.0, 0.0]], "attained": None}]).exit_code in {1, 3}


def test_a_column_called_as_the_ends_of_weights_is_no_weight() -> None:
    columns = {"weight_mean_lo": "number", "weight_mean_hi": "number", "weight": "number"}
    own = {"rare_records": "keep", "quasi_identifiers": ["weight_mean"]}
    assert weight_of(own | {"rare_records": "weigh"}, columns) == "weight"
    assert weight_of(own | {"survey_weight_column": "design", "released_weights": "row"}, columns) == "weight"
    assert weight_of(own, columns) is None
    survey = {"survey_weight_column": "design", "released_weights": "box"}
    of_boxes = {"rare_records": "keep", "quasi_identifiers": ["age"]} | survey
    assert weight_of(of_boxes, columns) == ("weight_mean_lo", "weight_mean_hi")


def test_a_statistic_changed_after_signing_is_a_wrong_signature() -> None:
    changed = json.loads(ENVELOPE)
    body = json.loads(base64.b64decode(changed["payload"]))
    body["predicate"]["statistics"][0]["guaranteed"][1] += 1.0
    changed["payload"] = base64.b64encode(json.dumps(body).encode()).decode()
    report = verified(envelope=json.dumps(changed).encode())
    assert report.signature == "invalid"
    assert any("statistics: not those whose digest was certified" in each for each in report.problems)


@pytest.mark.parametrize(
    ("also", "status"),
    [
        ({"exp": 1_780_000_100}, "expired key"),
        ({"iat": 1_790_000_000}, "key not valid yet"),
        ({"revoked": {"revoked_at": 1_790_000_000, "reason": "lost"}}, "revoked key"),
    ],
)
def test_a_key_that_must_not_have_signed_is_named(also: dict[str, Any], status: str) -> None:
    report = verified(also={0: also})
    assert (report.signature, report.exit_code) == (status, 1)


def test_an_unknown_key_is_named() -> None:
    report = verify(FILES, ENVELOPE, read_keys(Issuer.new().key_set()))
    assert (report.signature, report.exit_code) == ("unknown key", 1)


def test_during_a_rotation_one_known_key_is_enough_and_a_wrong_signature_is_not() -> None:
    both = Issuer.new(2)
    envelope = both.certify(FILES, STATISTICS)
    old = json.loads(both.key_set())
    old["keys"] = old["keys"][1:]
    report = verify(FILES, envelope, read_keys(json.dumps(old).encode()))
    assert [each.status for each in report.signed_by] == ["unknown key", "valid"]
    assert report.exit_code == 0
    changed = json.loads(envelope)
    changed["signatures"][0]["sig"] = changed["signatures"][1]["sig"]
    assert verified(envelope=json.dumps(changed).encode(), issuer=both).signature == "invalid"
    assert verified(envelope=envelope, issuer=both, also={1: {"revoked": {}}}).exit_code == 0


def test_a_key_whose_id_is_not_its_thumbprint_is_refused() -> None:
    changed = json.loads(ISSUER.key_set())
    changed["keys"][0]["kid"] = "mine"
    with pytest.raises(UnreadableError, match="thumbprint"):
        read_keys(json.dumps(changed).encode())


def test_revocations_name_certificates_and_must_be_signed() -> None:
    other = ISSUER.certify({"release.parquet": b"x"}, STATISTICS)
    assert verified(revocations=ISSUER.revoke(other)).revocation == "not revoked by 2026-06-01 00:00 UTC"
    report = verified(revocations=ISSUER.revoke(other, ENVELOPE))
    since = "since 2026-06-01T00:00:00Z, by the list of 2026-06-01 00:00 UTC"
    assert (report.revocation, report.exit_code) == (since, 1)
    report = verified(revocations=Issuer.new().revoke(ENVELOPE))
    assert (report.revocation, report.exit_code) == ("unknown", 2)


def test_a_list_of_revocations_names_keys_that_an_older_key_set_still_trusts() -> None:
    both = Issuer.new(2)
    lost, kept = (Issuer([key]) for key in both.keys)
    envelope, listed = lost.certify(FILES, STATISTICS), kept.revoke(keys=lost.ids)
    assert verified(envelope=envelope, issuer=both, revocations=kept.revoke()).exit_code == 0
    report = verified(envelope=envelope, issuer=both, revocations=listed)
    assert (report.signature, report.exit_code) == ("revoked key", 1)
    report = verified(envelope=kept.certify(FILES, STATISTICS), issuer=both, revocations=listed)
    assert (report.signature, report.revocation, report.exit_code) == (
        "valid", "not revoked by 2026-06-01 00:00 UTC", 0,
    )  # fmt: skip
    report = verified(envelope=envelope, issuer=both, revocations=lost.revoke(keys=lost.ids))
    assert (report.revocation, report.unchecked) == ("unknown", ["revocations: revoked key"])


def test_a_list_older_than_the_certificate_says_nothing_of_it_and_its_date_is_shown() -> None:
    later = ISSUER.certify(FILES, STATISTICS, issued_at="2026-06-01T00:00:01Z")
    report = verified(envelope=later, revocations=ISSUER.revoke())
    assert report.revocation == "unknown, the list of 2026-06-01 00:00 UTC is older than the certificate"
    assert report.exit_code == 0
    report = verified(envelope=later, revocations=ISSUER.revoke(later))  # wherever it is listed, it is revoked
    assert (report.revocation.split(",")[0], report.exit_code) == ("since 2026-06-01T00:00:00Z", 1)


def test_without_a_data_file_nothing_is_said_to_hold(tmp_path: Path) -> None:
    report = verified({})
    assert (report.exit_code, len(report.unchecked)) == (2, 1)
    statistics = json.dumps({"statistics": STATISTICS}).encode()
    assert verified({"statistics.json": statistics}).exit_code != 0


def test_what_was_signed_as_something_else_is_no_certificate() -> None:
    with pytest.raises(UnreadableError):
        verified(envelope=ISSUER.revoke())
    report = verified(revocations=ENVELOPE)
    assert (report.revocation, report.exit_code) == ("unknown", 2)


@pytest.mark.parametrize("file_format", ["csv", "ndjson"])
def test_other_formats_are_read_back(file_format: str) -> None:
    text = FRAME.write_csv() if file_format == "csv" else FRAME.write_ndjson()
    files = {f"release.{file_format}": text.encode()}
    report = verified(files, ISSUER.certify(files, STATISTICS))
    assert (report.exit_code, [each.finding for each in report.statistics]) == (0, [Finding.VERIFIED] * 2)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "surebox_verify", "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_command_says_it_by_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "release.parquet").write_bytes(FILE)
    (tmp_path / "release.parquet.dsse.json").write_bytes(ENVELOPE)
    (tmp_path / "jwks.json").write_bytes(ISSUER.key_set())
    done = run(tmp_path / "release.parquet", "--keys", tmp_path / "jwks.json", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "holds")
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as bundle:
        bundle.writestr("release.parquet", FILE + b" ")
        bundle.writestr("certificate.dsse.json", ENVELOPE)
    done = run(tmp_path / "bundle.zip", "--keys", tmp_path / "jwks.json")
    assert done.returncode == 1
    assert "NOT as certified" in done.stdout
    (tmp_path / "release.parquet").write_bytes(parquet(FRAME.with_columns(age_hi=pl.lit(float("inf")))))
    done = run(tmp_path / "release.parquet", "--keys", tmp_path / "jwks.json", "--json")
    report = json.loads(done.stdout, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert (done.returncode, report["verdict"], "Warning" in done.stderr) == (1, "refuted", False)
    done = run(tmp_path / "missing.parquet", "--keys", tmp_path / "jwks.json")
    assert (done.returncode, done.stdout) == (2, "")
    done = run(tmp_path / "missing.parquet", "--keys", tmp_path / "jwks.json", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (2, "unchecked")
    assert json.loads(done.stdout)["unchecked"] == [done.stderr.strip()]
    done = run(tmp_path / "release.parquet", "--keys", tmp_path, "--json")
    assert (done.returncode, "Is a directory" in json.loads(done.stdout)["unchecked"][0]) == (2, True)


@pytest.mark.parametrize(
    ("published", "name"),
    [
        ({"kind": "mean", "of": ["age"]}, "mean(age)"),
        ({"kind": "share", "of": ["sex"], "values": ["Female"]}, "share(sex=Female)"),
        ({"kind": "domain_mean", "of": ["age", "sex"], "values": ["a", "b"]}, "domain_mean(age, sex=a|b)"),
        ({"kind": "quantile", "of": ["age"], "p": 0.5}, "quantile(age, 0.5)"),
        ({"kind": "crosstab", "of": ["sex", "edu"], "values": ["f", "low"]}, "crosstab(sex=f, edu=low)"),
        ({"kind": "crosstab", "of": ["sex", "edu"], "values": None}, "crosstab(sex, edu)"),
    ],
)
def test_a_statistic_is_named_as_a_person_writes_it(published: dict[str, Any], name: str) -> None:
    assert name_of(published) == name
