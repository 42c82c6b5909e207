"""What readers do with a release elsewhere: upload it again in each format, and compute its statistics offline."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from surebox_verify.cli import certify
from tests.methods.asking import succeed, upload

TYPES = {
    "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "ndjson": "application/x-ndjson",
}  # fmt: skip
GRADES = ["low", "middle", "high"]
#: Statistics of each release, as a person writes them and as the service takes them.
STATISTICS: dict[str, dict[str, Any]] = {
    "mean(age)": {"kind": "mean", "of": ["age"]},
    "variance(age)": {"kind": "variance", "of": ["age"]},
    "quantile(age, 0.5)": {"kind": "quantile", "of": ["age"], "p": 0.5},
    "share(town=a)": {"kind": "share", "of": ["town"], "values": ["a"]},
    "domain_mean(age, town)": {"kind": "domain_mean", "of": ["age", "town"]},
    "correlation(age, wage)": {"kind": "correlation", "of": ["age", "wage"]},
    "domain_mean(wage, kin)": {"kind": "domain_mean", "of": ["wage", "kin"]},
}
RELEASES: dict[str, dict[str, Any]] = {
    "as it comes": {"least_widths": "none"},
    "tight bounds": {"bounds": "tight"},
    "an order and days": {"ordinal": {"grade": GRADES}, "quasi_identifiers": ["age", "wage", "town", "grade", "born"]},
    "means in the boxes": {"box_means": "exact"},
}


def people(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, 240)
    born = [dt.date(2025, 1, 1) - dt.timedelta(days=int(each) * 365) for each in age]
    town = rng.choice(["a", "b", "c d"], 240).astype(object)
    town[::17] = None
    return pl.DataFrame({
        "age": age, "wage": np.round(rng.gamma(3.0, 900.0, 240), 2), "town": town.tolist(),
        "grade": rng.choice(GRADES, 240), "born": born, "kin": rng.choice(["01", "02"], 240),
    })  # fmt: skip


def released(client: httpx.Client, name: str) -> str:
    """A published release of a table of its own."""
    table = people(list(RELEASES).index(name)).write_csv()
    dataset_id = upload(client, table, type="kin:string", new_family=True)["id"]
    spec = {
        "method": "boxes", "dataset_id": dataset_id, "k": 5, "quasi_identifiers": ["age", "wage", "town"],
        "keep": ["kin"],
        "nominal": {"town": {"missing_is_value": True}}, "statistics": [{"kind": "mean", "of": ["age"]}],
    }  # fmt: skip
    return str(succeed(client, spec | RELEASES[name])["release_id"])


def lay(client: httpx.Client, release_id: str, name: str, folder: Path) -> Path:
    """A file of a release."""
    answer = client.get(f"/v1/releases/{release_id}/data", params={"format": name})
    path = folder / f"release.{name}"
    path.write_bytes(answer.raise_for_status().content)
    return path


def offline(path: Path, capsys: pytest.CaptureFixture[str], *more: str, but: str = "") -> list[dict[str, Any]]:
    """What the command says of a file, of all statistics but one."""
    options = [word for statistic in STATISTICS if statistic != but for word in ("--statistic", statistic)]
    with pytest.raises(SystemExit) as ended:
        certify([str(path), "--json", *options, *more])
    out = capsys.readouterr()
    assert ended.value.code == 0, out.err
    statistics: list[dict[str, Any]] = json.loads(out.out)["statistics"]
    return statistics


@pytest.mark.parametrize("name", RELEASES)
def test_statistics_are_the_same_offline_in_every_format(
    client: httpx.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    release_id = released(client, name)
    answer = client.post(f"/v1/releases/{release_id}/statistics", json={"statistics": list(STATISTICS.values())})
    served = answer.raise_for_status().json()["statistics"]
    assert all(each["guaranteed"] is not None for each in served)
    certificate = tmp_path / "certificate.json"
    certificate.write_bytes(client.get(f"/v1/releases/{release_id}/certificate").raise_for_status().content)
    for form in TYPES:
        path = lay(client, release_id, form, tmp_path)
        assert offline(path, capsys, "--certificate", str(certificate)) == served, form
        if name == "as it comes":
            alone = offline(path, capsys, but="domain_mean(wage, kin)")  # CSV does not say that 01 is a text
            of_these = [each for each in served if each["of"] != ["wage", "kin"]]
            assert [each["estimate"] for each in alone] == [each["estimate"] for each in of_these]
            for mine, theirs in zip(alone, of_these, strict=True):
                assert mine["guaranteed"][0] <= theirs["guaranteed"][0] <= theirs["guaranteed"][1]
                assert theirs["guaranteed"][1] <= mine["guaranteed"][1]


def test_a_certificate_of_another_file_is_refused(
    client: httpx.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release_id = released(client, "as it comes")
    path = lay(client, release_id, "csv", tmp_path)
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    envelope = path.with_name("release.csv.dsse.json")
    envelope.write_bytes(client.get(f"/v1/releases/{release_id}/certificate").content)
    with pytest.raises(SystemExit) as ended:
        certify([str(path), "--statistic", "mean(age)"])
    assert ended.value.code == 2
    assert "is the certificate of other files" in capsys.readouterr().err


def test_a_release_is_uploaded_again_in_each_format_as_the_same_table(client: httpx.Client, tmp_path: Path) -> None:
    release_id = released(client, "an order and days")
    tables, audits = [], []
    for form, kind in TYPES.items():
        body = lay(client, release_id, form, tmp_path).read_bytes()
        query = {"name": form, "type": "kin:string"}
        answer = client.post("/v1/datasets", params=query, content=body, headers={"Content-Type": kind})
        assert answer.status_code == httpx.codes.CREATED, answer.text
        columns = answer.json()["columns"]
        tables.append([{name: one[name] for name in one if name != "type_from"} for one in columns])
        spec = {"method": "table", "dataset_id": answer.json()["id"], "quasi_identifiers": ["age", "town", "grade"]}
        audits.append(succeed(client, spec, kind="audits")["result"])
    assert tables[0] == tables[1] == tables[2]
    assert audits[0] == audits[1] == audits[2]
    named = {"method": "table", "release_id": release_id, "quasi_identifiers": ["age", "town", "grade"]}
    of_release = succeed(client, named, kind="audits")["result"]
    assert audits[0]["k"] >= 5
    assert audits[0]["classes"] == of_release["classes"]
    orderless = {"ncp": None, "not_measured": ["grade"]}  # the file does not say that low is below middle
    assert audits[0]["utility"] == of_release["utility"] | orderless
    assert 0.0 < of_release["utility"]["ncp"] < 1.0
