"""A certificate's members are checked, or named as not checked: nothing that is signed is passed over."""

import copy
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from surebox_verify.certificate import read_certificate
from surebox_verify.certify import certify
from surebox_verify.claims import _KINDS
from surebox_verify.envelope import UnreadableError, read_envelope
from surebox_verify.keys import read_keys
from surebox_verify.members import _TYPES
from surebox_verify.report import Report
from surebox_verify.verification import verify
from tests.verify.made import Issuer, means, parquet, rows, signed_statistics, statement
from tests.verify.schema import SCHEMA, faults, place_of

NAME = "release.parquet"
ISSUER = Issuer.new()
FRAME = rows()
DATA = parquet(FRAME)
STATISTICS = means(FRAME)
TRUE = statement({NAME: DATA}, STATISTICS)
ROUGH = [one | {"guaranteed": [0.0, 1.0]} for one in STATISTICS]  # which no data within the boxes have
POLICY = {"name": "wages", "version": 3}


def changed(change: dict[str, Any], *at: str, body: dict[str, Any] = TRUE) -> dict[str, Any]:
    """The statement with more members at a place."""
    made = copy.deepcopy(body)
    holder: Any = made
    for name in at:
        holder = holder[int(name)] if name.isdigit() else holder[name]
    holder |= change
    return signed_statistics(made)


def extended(**extensions: Any) -> dict[str, Any]:
    return changed({"extensions": extensions}, "predicate")


def report(body: dict[str, Any]) -> Report:
    return verify({NAME: DATA}, ISSUER.sign(body), read_keys(ISSUER.key_set()))


def test_the_published_schema_is_one_and_describes_all_that_it_names() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert list(faults(TRUE)) == []

    def undescribed(schema: Any, at: str) -> list[str]:
        if not isinstance(schema, dict) or "$ref" in schema:
            return []
        own = [] if "description" in schema or "const" in schema else [at]
        return own + [path for name, each in schema.get("properties", {}).items() for path in undescribed(each, name)]

    parameters = place_of("predicate.parameters")["properties"]
    assert [name for name, each in parameters.items() if undescribed(each, name)] == []


def test_types_that_are_read_are_those_that_the_file_is_compared_with() -> None:
    column = place_of("predicate.release.columns[]")["properties"]["type"]
    assert set(_KINDS) == _TYPES == set(column["anyOf"][0]["enum"])


@pytest.mark.parametrize("name", ["policy", "labels", "measured", "a_later_one", "strange name\x1b[2J"])
def test_an_extension_is_named_and_changes_nothing(name: str) -> None:
    body = extended(**{name: {"critical": False} | (POLICY if name == "policy" else {})})
    assert list(faults(body)) == []
    made = report(body)
    assert (made.exit_code, len(made.not_checked)) == (0, 1)
    assert name.isprintable() == (made.not_checked[0] == f"extensions.{name}")
    assert made.not_checked[0].isprintable()
    assert [str(one.finding) for one in made.statistics] == ["verified"] * 2


@pytest.mark.parametrize("name", ["policy", "a_later_one"])
def test_of_a_critical_extension_no_content_is_read_and_no_range_is_computed(name: str) -> None:
    """A range that is wrong as this version reads the file may be right: neither is said."""
    body = changed({"extensions": {name: {"critical": True}}}, "predicate", body=statement({NAME: DATA}, ROUGH))
    made = report(body)
    assert (made.exit_code, made.problems, made.statistics, made.not_checked) == (2, [], [], [])
    assert made.files == {NAME: True}
    (reason,) = made.unchecked
    assert f"`{name}` changes what the file means" in reason
    with pytest.raises(UnreadableError, match=f"`{name}` changes"):
        certify(FRAME, ["mean(age)"], certificate=ISSUER.sign(body))


@pytest.mark.parametrize("name", ["cohorts", "retractions"])
@pytest.mark.parametrize("mark", [{}, {"critical": False}])
def test_an_extension_that_changes_numbers_is_critical_whatever_is_marked(name: str, mark: dict[str, Any]) -> None:
    body = extended(**{name: mark})
    assert list(faults(body)) != []
    assert report(body).exit_code == 2
    assert list(faults(extended(**{name: {"critical": True}}))) == []


@pytest.mark.parametrize("extensions", [[], None, "none", {"policy": 3}, {"policy": {"critical": "true"}}])
def test_extensions_that_one_reader_may_take_as_critical_and_another_not_are_refused(extensions: Any) -> None:
    body = changed({"extensions": extensions}, "predicate")
    assert list(faults(body, room=True)) != []
    with pytest.raises(UnreadableError, match="`extensions` are no objects by name"):
        report(body)


PLACES = [
    (), ("predicate",), ("predicate", "release"), ("predicate", "release", "columns", "0"), ("predicate", "parameters"),
    ("predicate", "statistics", "0"), ("predicate", "chain"), ("subject", "0"),
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_a_member_that_no_version_has_is_named_wherever_it_stands(place: tuple[str, ...]) -> None:
    body = changed({"certain": "yes"}, *place)
    assert list(faults(body, room=True)) == []
    assert len(list(faults(body))) == 1
    made = report(body)
    path = "".join("[]" if name.isdigit() else f".{name}" for name in (*place, "certain")).lstrip(".")
    assert (made.exit_code, made.problems) == (2, [])
    assert made.unchecked == [f"certificate: this version does not know the member `{path}`"]


FULL = changed(
    {
        "ordinal": {"school": ["low", "high"]},
        "nominal": {
            "job": {
                "values": ["a", 1, None],
                "hierarchy": {"rows": [["a", "*"]], "levels": ["job", "all"], "csv": None},
                "missing_is_value": False,
            }
        },
        "merged_as": {"job": "other"},
        "statistics": [{"kind": "share", "of": ["job"], "values": ["a"], "interval": None, "weight": 1.0}],
        "domains": {"age": [0, 120], "born": ["1900-01-01", "2020-01-01"]},
        "value_step": {"age": 1.0}, "min_width": {"age": 5}, "spikes": {"age": 0},
        "t_distance": {"pay": "ordered"}, "min_separation": {"pay": 10.0},
        "largest_share": {"pay": 0.5}, "share_above_60_percent": {"pay": 0.0},
        "value_disclosure": {"age": {"exact": 0.1, "within": None, "tolerance": 1.0, "estimable": None}},
        "weighed_by": {
            "mean": [1.0], "deviation": [2.0], "correlation": [[1.0]], "uncertainty_of_one_record": 0.1,
            "prices": [[1.0], []],
        },
        "min_scale": {"age": 1.0}, "scaling_units": {"age": 2.0}, "sensitive": ["pay"], "k": 5,
    },
    "predicate", "parameters",
    body=changed(
        {"issuer": {"service": "surebox", "version": "0.1.0", "url": "https://x"}, "about": "all", "issued": "now"},
        "predicate",
        body=statement({NAME: DATA}, [
            {
                "kind": "quantile", "of": ["school"], "values": None, "interval": None, "p": 0.5, "at": None,
                "estimate": [1.0], "first_order": None, "guaranteed": [[1.0, 2.0], [1, 2], None],
                "attained": [1.0, "9007199254740993"], "sharp": True, "n": 3, "base": "all",
                "labels": {"estimate": "low", "guaranteed": ["low", "high"], "attained": None},
                "terms": [{"column": None, "value": None}, {"column": "job", "value": "a"}],
                "core": {"guaranteed": [1.0, 2.0], "n": 2, "labels": None},
            }
        ]),
    ),
)  # fmt: skip
OTHER_VALUES: list[Any] = [
    "x", 3, 1.5, True, None, [], ["x"], [1.0, 2.0, 3.0], [[1.0]], [None, {}], {}, {"certain": "yes"},
    {"critical": True}, [{"certain": "yes"}],
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, but those whose texts the schema gives a form."""
    if at and not {"digest", "subject", "issued_at", "previous"} & set(at):
        yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, below in inside:
        yield from places(below, (*at, name))


@pytest.mark.parametrize("place", list(places(FULL)), ids=lambda at: ".".join(map(str, at)))
def test_a_value_that_the_schema_does_not_allow_is_named_and_no_other(place: tuple[Any, ...]) -> None:
    """By a library of others: nothing that is signed is passed over, wherever it stands."""
    assert list(faults(FULL)) == []
    for value in OTHER_VALUES:
        body = copy.deepcopy(FULL)
        holder: Any = body
        for name in place[:-1]:
            holder = holder[name]
        holder[place[-1]] = value
        wrong = [one for one in faults(body) if "is a required property" not in one]
        try:
            members = read_certificate(read_envelope(ISSUER.sign(body))).members
        except UnreadableError:
            assert list(faults(body)) != [], (place, value)
            continue
        assert bool(wrong) == bool(members.unknown), (value, wrong, members)


@pytest.mark.parametrize(
    ("change", "place", "path"),
    [
        ({"about": {"certain": "yes"}}, (), "about"),
        ({"issuer": "x"}, (), "issuer"),
        ({"nominal": {"job": {"certain": "yes"}}}, ("parameters",), "parameters.nominal.*.certain"),
        ({"t_distance": {"age": {"certain": "yes"}}}, ("parameters",), "parameters.t_distance.*"),
        ({"first_order": {"certain": "yes"}}, ("statistics", "0"), "statistics[].first_order"),
    ],
)
def test_a_value_of_another_type_makes_the_report_one_of_not_all(
    change: dict[str, Any], place: tuple[str, ...], path: str
) -> None:
    made = report(changed(change, "predicate", *place))
    assert made.exit_code == 2
    assert [one for one in made.unchecked if f"`predicate.{path}`" in one and "this version does not know" in one]


@pytest.mark.parametrize(
    ("member", "place"),
    [
        ({"guaranteed_all": [1.0, 2.0]}, ("predicate", "statistics", "0")),
        ({"below_k_at_most": 0.1}, ("predicate", "parameters")),
        ({"share_below_k": 0.05}, ("predicate", "parameters")),
    ],
)
def test_a_member_whose_place_is_reserved_is_named_as_not_checked(
    member: dict[str, Any], place: tuple[str, ...]
) -> None:
    body = changed(member, *place)
    assert list(faults(body)) == []
    made = report(body)
    assert (made.exit_code, len(made.not_checked)) == (0, 1)
    assert made.not_checked[0].endswith(next(iter(member)))
    assert report(changed(dict.fromkeys(member), *place)).not_checked == [], "null states nothing"


def test_a_column_of_a_type_that_came_later_is_not_read() -> None:
    body = changed({"type": "datetime"}, "predicate", "release", "columns", "0", body=statement({NAME: DATA}, ROUGH))
    assert list(faults(body)) == []
    made = report(body)
    assert (made.exit_code, made.problems, made.statistics) == (2, [], [])
    assert "the type `datetime`" in made.unchecked[0]


def test_a_part_or_another_kind_of_file_is_no_release_that_is_contradicted() -> None:
    """It has other rows than the certificate states of the whole, and may be in a format of its own."""
    files = {NAME: DATA, "release.part-00001.parquet": parquet(FRAME[:9]), "boxes.parquet": b"PAR1"}
    body = statement(files, STATISTICS)
    body["predicate"]["release"] |= {"rows": len(FRAME)}
    keys = read_keys(ISSUER.key_set())
    for name in ("release.part-00001.parquet", "boxes.parquet"):
        for called in (name, NAME if name.startswith("boxes") else "mine.parquet"):
            made = verify({called: files[name]}, ISSUER.sign(body), keys)
            wrong = [f"{NAME}: not as certified"] if called == NAME else []
            assert (made.exit_code, made.problems) == (1 if wrong else 2, wrong)
            assert f"{called}: certified as a kind of file that this version does not read" in made.unchecked


def zipped(folder: Path, body: dict[str, Any], **entries: bytes) -> Path:
    return zipped_by(zipfile.ZIP_DEFLATED, folder, body, entries)


def zipped_by(method: int, folder: Path, body: dict[str, Any], entries: dict[str, bytes]) -> Path:
    path = folder / "bundle.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("certificate.dsse.json", ISSUER.sign(body))
        archive.writestr(NAME, DATA)
        for name, raw in entries.items():
            archive.writestr(name, raw)
    return path


def command(bundle: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    keys = bundle.with_name("jwks.json")
    keys.write_bytes(ISSUER.key_set())
    program = Path(sys.executable).with_name("surebox-verify")
    return subprocess.run([program, bundle, "--keys", keys, *more], capture_output=True, text=True)


def test_entries_are_covered_or_named_as_not_covered_and_a_covered_one_that_was_changed_is_refuted(
    tmp_path: Path,
) -> None:
    covered = {"boxes.parquet": b"P" * 3_000_000, "codebook.json": b"{}"}
    body = changed({}, body=statement({NAME: DATA, **covered}, STATISTICS))
    assert list(faults(body)) == []
    bundle = zipped(tmp_path, body, **covered, **{"readme.txt": b"Mean age: 12", "report.html": b"<p>"})
    done = command(bundle)
    assert done.returncode == 0, done.stdout
    for name in covered:
        assert f"file        {name}: as certified\n" in done.stdout
        assert f"not checked {name}:" in done.stdout
    for name in ("readme.txt", "report.html"):
        assert f"not covered {name}:" in done.stdout
    verdict = done.stdout.splitlines()[-1]
    assert verdict.endswith(
        "Not checked: boxes.parquet, codebook.json. Not covered by the certificate: readme.txt, report.html."
    )
    done = command(zipped(tmp_path, body, **covered | {"boxes.parquet": b"P" * 2_999_999 + b"Q"}))
    assert (done.returncode, "! boxes.parquet: not as certified" in done.stdout) == (1, True)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_content_of_an_entry_that_is_not_covered_is_not_read(tmp_path: Path, method: int) -> None:
    """It is damaged, and no one sees it but where it ends; where the certificate names it, it is no bundle."""
    raw, is_seen = bytes(range(256)) * 16, method == zipfile.ZIP_DEFLATED
    for body, code in ((changed({}), 2 if is_seen else 0), (statement({NAME: DATA, "notes.bin": raw}, STATISTICS), 2)):
        bundle = zipped_by(method, tmp_path, body, {"notes.bin": raw})
        packed = bytearray(bundle.read_bytes())
        packed[packed.index(b"notes.bin") + len(b"notes.bin") + 8] ^= 0xFF
        bundle.write_bytes(packed)
        done = command(bundle)
        assert (done.returncode, "not covered notes.bin:" in done.stdout) == (code, code == 0), done.stderr
        assert code == 0 or done.stdout == ""


@pytest.mark.parametrize(
    "name",
    [
        "a/readme.txt",
        "../readme.txt",
        "/readme.txt",
        "a\\readme.txt",
        "Readme.txt",
        "RELEASE.CSV",
        "releas~1.csv",
        "release.csv.",
        "release.csv ",
        "release.csv::$data",
        ".hidden",
        "-rf",
        "release\u200b.csv",
        "relea\u017fe.csv",
        "release.csv\x00",
        "con\n",
        "a" * 101,
    ],
)
def test_a_name_that_may_be_unpacked_as_another_one_is_no_entry(tmp_path: Path, name: str) -> None:
    done = command(zipped(tmp_path, changed({}), **{name: b"x"}))
    plain = name == "release.csv\x00"  # zipfile ends a name there
    assert done.returncode == (1 if plain else 2), done.stdout
    assert plain or "which no bundle has" in done.stderr


def test_a_link_under_a_new_name_is_no_entry(tmp_path: Path) -> None:
    bundle = zipped(tmp_path, changed({}))
    link = zipfile.ZipInfo("readme.txt")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(bundle, "a") as archive:
        archive.writestr(link, "release.parquet")
    done = command(bundle)
    assert (done.returncode, "that is no plain file" in done.stderr) == (2, True)


def test_the_command_prints_the_schema_and_what_it_did_not_check(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("surebox-verify")
    done = subprocess.run([program, "--schema"], capture_output=True, text=True)
    assert (done.returncode, json.loads(done.stdout)) == (0, SCHEMA)
    done = command(zipped(tmp_path, extended(policy=POLICY)), "--json")
    assert (done.returncode, json.loads(done.stdout)["not_checked"]) == (0, ["extensions.policy"])
    refused = command(zipped(tmp_path, extended(cohorts={"critical": True})))
    assert refused.returncode == 2
    assert refused.stdout.splitlines()[-1] == "Not all could be checked."


def test_an_unknown_predicate_is_not_read() -> None:
    body = TRUE | {"predicateType": "urn:surebox:certificate:4"}
    with pytest.raises(UnreadableError, match="no certificate of a release that this version can read"):
        report(body)
