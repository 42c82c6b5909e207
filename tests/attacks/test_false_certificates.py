"""A service that signs what is not so: every false claim of a certificate is caught by whoever has the file.

Releases of several kinds are published over HTTP. Then each claim of their certificates is changed, one at a time, and
the certificate is signed again with a key that the reader trusts, so that no signature and no digest gives it away.
"""

import copy
import hashlib
import io
import json
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from app.contracts.releases import ending_of
from surebox_verify.cli import verify as command
from surebox_verify.envelope import UnreadableError
from surebox_verify.verification import verify
from tests.attacks.certified import FORMATS, ISSUER, KEYS, KINDS, NUMBER, Bundle


def moved(pair: list[float], by: float) -> list[float]:
    return [pair[0] + by, pair[1] + by]


def false_of_one(one: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One statistic, or what is said of its core, with one claim changed; each is false."""
    parts = one["guaranteed"] if one.get("kind") == "regression" else None
    pair = one["guaranteed"] if parts is None else parts[-1]
    if pair is None:
        return
    whole = (lambda value: value) if parts is None else (lambda value: [*parts[:-1], value])
    low, high = pair
    width, size = high - low, max(abs(low), abs(high), 1e-3)
    yield "range moved", one | {"guaranteed": whole(moved(pair, 0.01 * size + 1.5 * width))}
    if width > 1e-9 * size:
        point = [0.5 * (low + high)] * 2
        yield "range a point", one | {
            "guaranteed": whole(point), "attained": whole(point) if one["attained"] else None,
            "gap": 0.0 if one["attained"] else None, "sharp": bool(one["attained"]),
        }  # fmt: skip
        for end in (0, 1):
            nearer = [low + 1e-5 * width * (1 - end), high - 1e-5 * width * end]
            yield f"end {end} nearer", one | {"guaranteed": whole(nearer)}
        halved = [low + 0.25 * width, high - 0.25 * width]
        yield "range halved, and all that is said beside it", one | {
            "guaranteed": whole(halved), "attained": whole(halved), "gap": 0.0, "sharp": True,
        }  # fmt: skip
    if one["estimate"] is not None and parts is None:
        for by in (1e-4 * size, -1e-4 * size, 3.0 * size):
            yield "estimate moved", one | {"estimate": one["estimate"] + by}
    if one["first_order"] is not None and parts is None:
        yield "first-order range moved", one | {"first_order": moved(one["first_order"], 1e-4 * size)}
    yield "value_known turned", one | {"value_known": not one["value_known"]}
    if one["estimate"] is not None and parts is None:
        yield "a reason for nothing", one | {"reason": "it is constant"}
    yield "sharp turned", one | {"sharp": not one["sharp"]}
    if one["gap"] is not None:
        yield "gap moved", one | {"gap": one["gap"] + 0.01}
    if one.get("domain_may_be_empty") is not None:
        yield "empty turned", one | {"domain_may_be_empty": not one["domain_may_be_empty"]}


def false_statistics(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    statistics = body["predicate"]["statistics"]
    for one in statistics:
        changed = list(false_of_one(one))
        if one.get("core") is not None:
            core = false_of_one({"kind": one["kind"]} | one["core"])
            changed += [(f"core: {name}", one | {"core": each}) for name, each in core]
        for name, each in changed:
            other = copy.deepcopy(body)
            other["predicate"]["statistics"] = [each]
            yield f"{one['kind']}({one['of']}): {name}", other


Change = Callable[[dict[str, Any], pl.DataFrame], None]


def set_k(k: int) -> Change:
    def change(predicate: dict[str, Any], frame: pl.DataFrame) -> None:
        predicate["k"] = predicate["parameters"]["k"] = k or int(frame["box"].value_counts()["count"].min()) + 1  # type: ignore[arg-type]

    return change


def said(**parameters: Any) -> Change:
    return lambda predicate, _: predicate["parameters"].update(parameters)


def released(**parts: Any) -> Change:
    return lambda predicate, _: predicate["release"].update(parts)


def flag(name: str) -> Change:
    """Raise a flag that was not, or take one away."""

    def change(predicate: dict[str, Any], _: pl.DataFrame) -> None:
        predicate["release"]["flags"] = sorted({*predicate["release"]["flags"]} ^ {name})

    return change


def tight_with_its_flag(predicate: dict[str, Any], _: pl.DataFrame) -> None:
    predicate["parameters"]["bounds"] = "tight"
    predicate["release"]["flags"] = sorted({*predicate["release"]["flags"]} - {"grid-bounds"} | {"tight-bounds"})


def rows(by: int) -> Change:
    return lambda predicate, frame: predicate["release"].update(rows=len(frame) + by)


def column(part: str, value: str) -> Change:
    return lambda predicate, _: predicate["release"]["columns"][1].update({part: value})


def weighed_by(part: str, value: Any) -> Change:
    return lambda predicate, _: predicate["parameters"]["weighed_by"].update({part: value})


def disclosed(figure: str, by: float) -> Change:
    """State another share of what is given away of the values in a column, or another tolerance."""

    def change(predicate: dict[str, Any], _: pl.DataFrame) -> None:
        shown = predicate["parameters"]["value_disclosure"]
        name = next((name for name in sorted(shown) if shown[name][figure] is not None), None)
        if name is not None:
            shown[name][figure] += by

    return change


ANY: dict[str, Change] = {
    "a row more": rows(1), "a row less": rows(-1), "a million rows": released(rows=1_000_000),
    "a column of another name": column("name", "income_lo"), "a column of another type": column("type", "boolean"),
    "no columns": released(columns=[]),
}  # fmt: skip
BOXES: dict[str, Change] = {
    "k 500": set_k(500), "k a little larger": set_k(0), "another k beside the parameters": lambda p, _: p.update(k=2),
    "another column": said(quasi_identifiers=["dose", "days", "income"]),
    "nothing anonymized": said(quasi_identifiers=["dose"]),
    "kept columns that are not there": said(keep=["income"]), "marked": said(rare_records="mark" ),
    "weighed": said(rare_records="weigh"), "a survey of others": said(survey_weight_column="days"),
    "means": said(box_means="exact"), "tight": said(bounds="tight"), "grid": said(bounds="grid"),
    "tight, with its flag": tight_with_its_flag,
    "wide boxes": said(min_width={"dose": 1000.0}), "a narrow domain": said(domains={"dose": [10.0, 20.0]}),
    "nothing given away": said(value_disclosure={}), "less of no column": said(value_disclosure={"dose": None}),
    **{f"{figure} by {by:+}": disclosed(figure, by) for figure in (
        "exact", "within", "estimable", "tolerance",
    ) for by in (-0.001, 0.001)},
    "another value step": said(value_step={"dose": 7.7}, bounds="cells"), "sample forms": said(ddof=1),
    **{f"flag {name}": flag(name) for name in (
        "tight-bounds", "grid-bounds", "means-inside-boxes", "weighed", "survey-weights", "rare-records-suppressed",
        "kept-columns-not-counted",
    )},
}  # fmt: skip
OF_KIND: dict[str, dict[str, Change]] = {
    "cells": {"a wide domain": said(domains={"dose": [-1000, 4000], "days": [0, 200]})},
    "marked": {"a small core": said(max_suppressed=0.0)},
    "weighed": {
        "nothing that weights follow from": said(weighed_by=None),
        "moments of one column": weighed_by("mean", [1.0]),
        "a deviation below 0": weighed_by("deviation", [-1.0, 1.0]),
        "many digits": weighed_by("deviation", [1.234, 1.0]),
        "correlations of no data": weighed_by("correlation", [[1.0, 2.0], [2.0, 1.0]]),
        "prices of nothing": weighed_by("prices", []),
        "dear records": weighed_by("uncertainty_of_one_record", -1.0),
    },
    "patterns": {"nothing missing": said(missing_policy="drop")},
    "sensitive": {
        "l 9": said(l=9),
        "alpha 0.01": said(alpha=0.01),
        "t 0": said(t=0.0),
        "withheld": said(withheld=["ward"]),
        "one value is never frequent": said(largest_share={"ward": 0.01}),
        "others are above": said(share_above_60_percent={"ward": 0.987}),
    },
    "kept and counted": {"k 40 of classes": set_k(40)},
}
#: Of methods without boxes.
UNBOXED: dict[str, dict[str, Change]] = {
    "uncertain": {
        "another column": said(quasi_identifiers=["dose", "days", "income"]),
        "a column less": said(quasi_identifiers=["dose"]),
        "kept columns that are not there": said(keep=["income"]), "rotated": said(axes="rotated"),
        "common": said(scales="common"), "the records' own": said(scales="per_record"),
        "suppressed": said(suppress_share=0.3),
        "a great least scale": said(min_scale=1e6), "another k beside the parameters": lambda p, _: p.update(k=2),
        **{f"flag {name}": flag(name) for name in (
            "scales-per-record", "zero-scale", "rare-records-suppressed", "kept-columns-not-counted",
        )},
    },
    "condensation": {
        "another column": said(quasi_identifiers=["dose", "days", "income"]),
        "a column less": said(quasi_identifiers=["dose"]),
        "nothing kept": said(keep=[]), "k of one": set_k(1), "another k": lambda p, _: p.update(k=2),
        "flag groups-of-one": flag("groups-of-one"), "flag kept": flag("kept-columns-not-counted"),
    },
    "swaps": {
        "another region column": said(region_columns=["income"]), "flag swapped": flag("regions-swapped"),
        "flag anonymous": flag("records-not-anonymous"),
    },
}  # fmt: skip
#: What is the same of these kinds, by what it says.
TRUE_OF = {
    "uncertain, common": {"common", "suppressed"},
    "uncertain, rotated": {"rotated", "the records' own", "a great least scale"},
    "a survey": {"a survey of others"}, "tight": {"tight, with its flag"},
    "nominal, tight": {"tight, with its flag"}, "of kept columns, tight": {"tight, with its flag"},
    "of kept columns, a survey": {"a survey of others"},
}  # fmt: skip


def false_claims(kind: str, bundle: Bundle, *, whole: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every changed certificate, with what was changed.

    What is said of the release is changed beside two of its statistics, others each time; beside all if `whole`.
    """
    changes, statistics = dict(ANY), bundle.body["predicate"]["statistics"]
    method = bundle.body["predicate"]["parameters"]["method"]
    if method != "boxes":
        changes |= {name: one for name, one in UNBOXED[method].items() if name not in TRUE_OF.get(kind, set())}
    else:
        yield from false_statistics(bundle.body)
        not_false = TRUE_OF.get(kind, set())
        if all(one["ddof"] is None for one in statistics[:2]):
            not_false = not_false | {"sample forms"}  # of which nothing is published
        changes |= {name: change for name, change in BOXES.items() if name not in not_false}
    frame = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    for number, (name, change) in enumerate((changes | OF_KIND.get(kind, {})).items()):
        other = copy.deepcopy(bundle.body)
        first = 0 if name == "sample forms" else number
        if not whole and len(statistics) > 2:
            other["predicate"]["statistics"] = [statistics[(first + n) % len(statistics)] for n in (0, 1)]
        before = copy.deepcopy(other)
        change(other["predicate"], frame)
        if other != before:
            yield name, other


@pytest.mark.parametrize("kind", KINDS)
def test_every_false_claim_is_caught_and_what_is_true_holds(
    bundles: Callable[[str], Bundle], kind: str, scale: int, figures: Callable[..., None]
) -> None:
    """In `make test` each kind of release meets every other claim, the next kind those between."""
    bundle = bundles(kind)
    whole = bundle.report(bundle.body)
    assert (whole.exit_code, whole.problems, whole.unchecked, whole.doubtful) == (0, [], [], [])
    missed, tried = [], 0
    for number, (name, body) in enumerate(false_claims(kind, bundle, whole=scale > 1), [*KINDS].index(kind)):
        if scale == 1 and number % 2:
            continue
        tried += 1
        if bundle.report(body).exit_code not in {1, 3}:
            missed.append(name)
    figures(claims=tried, missed=len(missed))
    assert missed == []
    assert tried >= len(ANY) // 2


@pytest.mark.parametrize("kind", ["weighed", "nominal", "sensitive", "uncertain", "swaps"])
@pytest.mark.parametrize("file_format", FORMATS[1:])
def test_in_whatever_format_it_is_read_a_claim_is_refuted(
    bundles: Callable[[str], Bundle], kind: str, file_format: str
) -> None:
    bundle = bundles(kind)
    file = f"release.{ending_of(file_format)}"
    files = {file: bundle.entries[file]}
    assert bundle.report(bundle.body, files).exit_code == 0
    claims = [(name, body) for name, body in false_claims(kind, bundle) if "type" not in name]
    for name, body in claims[:: max(1, len(claims) // 6)]:
        assert bundle.report(body, files).exit_code in {1, 3}, name


@pytest.mark.parametrize("kind", ["weighed", "nominal", "sensitive", "patterns", "uncertain, rotated", "swaps"])
def test_every_file_of_a_release_holds_the_rows_that_were_computed_from(
    bundles: Callable[[str], Bundle], kind: str
) -> None:
    """Certified files of which one says something else: digests that fit, and ranges computed from another one."""
    bundle = bundles(kind)
    names = {each: f"release.{ending_of(each)}" for each in FORMATS}
    files = {file: bundle.entries[file] for file in names.values()}
    assert bundle.report(bundle.body, files).exit_code == 0
    for name in ("csv", "csv.excel", "ndjson"):
        lines = files[names[name]].splitlines(keepends=True)
        # the last number that does not begin with 9 or 0: its first digit is no matter of rounding
        row = max(row for row, line in enumerate(lines) if row and re.search(NUMBER, line))
        line, place = lines[row], max(match.end() - 1 for match in re.finditer(NUMBER, lines[row]))
        other = line[:place] + bytes([line[place] + 1]) + line[place + 1 :]
        for changed in ([*lines[:row], other, *lines[row + 1 :]], lines[:-1], [*lines[:-1], lines[-1], lines[-1]]):
            forged = files | {names[name]: b"".join(changed)}
            body = copy.deepcopy(bundle.body)
            for subject in body["subject"]:
                if subject["name"] == names[name]:
                    subject["digest"]["sha256"] = hashlib.sha256(forged[subject["name"]]).hexdigest()
            assert forged != files
            report = bundle.report(body, forged)
            assert report.exit_code == 1, (name, report.unchecked)
            assert [each for each in report.problems if each.startswith(f"{names[name]}: other") or "rows" in each]
    forged = files | {"release.ndjson": files["release.ndjson"][:-20]}
    for subject in (body := copy.deepcopy(bundle.body))["subject"]:
        if subject["name"] == "release.ndjson":
            subject["digest"]["sha256"] = hashlib.sha256(forged["release.ndjson"]).hexdigest()
    assert bundle.report(body, forged).exit_code == 2, "what cannot be read does not hold"


def test_of_persons_it_is_said_that_they_cannot_be_counted(bundles: Callable[[str], Bundle]) -> None:
    report = bundles("persons").report(bundles("persons").body)
    assert any("persons" in each for each in report.beyond_the_file)
    assert not any("persons" in each for each in bundles("cells").report(bundles("cells").body).beyond_the_file)


def test_rows_of_a_box_that_differ_are_caught(bundles: Callable[[str], Bundle]) -> None:
    """A file that was made so, with a digest that fits it."""
    bundle = bundles("cells")
    frame = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    one = frame.with_row_index("row").with_columns(
        pl.when(pl.col("row") == 3).then(pl.col("dose_hi") + 1e-9).otherwise(pl.col("dose_hi")).alias("dose_hi")
    )
    buffer = io.BytesIO()
    one.drop("row").write_parquet(buffer)
    body = copy.deepcopy(bundle.body)
    report = verify({"release.parquet": buffer.getvalue()}, ISSUER.sign(body), KEYS)
    assert any("rows of one box differ" in each for each in report.problems)


def run(path: Path, keys: Path) -> int:
    with pytest.raises(SystemExit) as ended:
        command([str(path), "--keys", str(keys), "--json"])
    return int(ended.value.code or 0)


def link(name: str) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.create_system, made.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return made


def renamed(name: str, field: int) -> zipfile.ZipInfo:
    """An entry that some unpackers give the name of an extra field."""
    made, other = zipfile.ZipInfo(name), b"release.csv"
    content = b"\x01" + (0).to_bytes(4, "little") + other
    made.extra = field.to_bytes(2, "little") + len(content).to_bytes(2, "little") + content
    return made


SMUGGLED: dict[str, zipfile.ZipInfo] = {
    **{name: zipfile.ZipInfo(name) for name in (
        "./release.csv", "Release.csv", "data/release.csv", "/release.csv", "../release.csv", "release.csv/",
        "release\\release.csv", "CERTIFICATE.dsse.json", "release.csv ", "sub/",
    )},
    "a link": link("release.ndjson"), "a second name": renamed("release.ndjson", 0x7075),
}  # fmt: skip


@pytest.mark.parametrize("name", [*SMUGGLED, "release.csv twice"])
def test_an_entry_that_would_unpack_over_a_verified_file_is_refused(
    bundles: Callable[[str], Bundle], client: httpx.Client, tmp_path: Path, name: str
) -> None:
    bundle, keys, path = bundles("cells"), tmp_path / "jwks.json", tmp_path / "bundle.zip"
    keys.write_bytes(client.get("/.well-known/jwks.json").content)
    path.write_bytes(bundle.raw)
    assert run(path, keys) == 0
    entry = SMUGGLED.get(name, zipfile.ZipInfo("release.csv"))
    with zipfile.ZipFile(path, "a") as archive, pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # of a name that is there already
        archive.writestr(entry, b"" if entry.is_dir() else b"box,dose_lo\n1,2\n")
    assert run(path, keys) == 2


@pytest.mark.parametrize("name", ["x.csv", "release.parquet.old", "release.json"])
def test_an_entry_with_a_plain_name_of_its_own_is_named_as_not_covered(
    bundles: Callable[[str], Bundle],
    client: httpx.Client,
    tmp_path: Path,
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, keys = tmp_path / "bundle.zip", tmp_path / "jwks.json"
    keys.write_bytes(client.get("/.well-known/jwks.json").content)
    path.write_bytes(bundles("cells").raw)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"box,dose_lo\n1,2\n")
    assert run(path, keys) == 0
    assert name in json.loads(capsys.readouterr().out)["not_covered"]


def test_a_bundle_without_a_data_file_is_not_checked(
    bundles: Callable[[str], Bundle], client: httpx.Client, tmp_path: Path
) -> None:
    keys, path = tmp_path / "jwks.json", tmp_path / "bundle.zip"
    keys.write_bytes(client.get("/.well-known/jwks.json").content)
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in bundles("cells").entries.items():
            if not name.startswith("release."):
                archive.writestr(name, raw)
    assert run(path, keys) == 2


def test_a_certificate_without_a_release_is_unreadable(bundles: Callable[[str], Bundle]) -> None:
    body = copy.deepcopy(bundles("cells").body)
    body["predicate"]["release"] = None
    with pytest.raises(UnreadableError):
        bundles("cells").report(body)
