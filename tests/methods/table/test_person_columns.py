"""Columns that say whose row it is are asked about, and never proposed; those of places are not asked about."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.methods.table.whose_rows import is_called_person
from tests.drawing import seeds
from tests.methods.asking import succeed, upload
from tests.methods.in_process import Bench
from tests.whole_service import SHARED


def visits(draw: np.random.Generator, name: str, *, number: bool, constant: bool) -> pl.DataFrame:
    """Rows of persons: some have a number of the visit, some what is so of the person, all what was measured."""
    persons = int(draw.integers(60, 150))
    of = np.repeat(np.arange(persons), draw.integers(3, 12, persons))
    codes = draw.permutation(10 * persons)[:persons]
    columns: dict[str, object] = {name: [f"P{codes[one]:05d}" for one in of]}
    if number:
        columns["visit"] = np.concatenate([np.arange(np.count_nonzero(of == one)) for one in range(persons)])
    if constant:
        columns |= {"sex": draw.choice(["m", "f"], persons)[of], "born": draw.integers(1930, 2010, persons)[of]}
    columns |= {"systolic": draw.integers(90, 180, len(of)), "drug": draw.choice([*"abcde"], len(of))}
    return pl.DataFrame(columns)[draw.permutation(len(of))]


def pupils(draw: np.random.Generator, name: str) -> pl.DataFrame:
    """Rows of persons of places, which are in districts of regions; all else is so of the person."""
    places = int(draw.integers(40, 80))
    of = np.repeat(np.arange(places), draw.integers(20, 60, places))
    rows, district = len(of), draw.integers(0, 12, places)
    return pl.DataFrame({
        name: [f"S{one:03d}" for one in of], "district": [f"D{one}" for one in district[of]],
        "region": [f"R{one // 3}" for one in district[of]], "sex": draw.choice(["m", "f"], rows),
        "born": draw.integers(1990, 2010, rows), "score": draw.integers(0, 100, rows),
    })  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def proposal(bench: Bench, frame: pl.DataFrame) -> dict[str, Any]:
    made: dict[str, Any] = bench.run({"method": "table", "dataset_id": bench.upload("t", frame)}).result["proposal"]
    return made


@pytest.mark.parametrize("seed", seeds(4))
def test_the_column_of_persons_is_asked_about_and_not_proposed(bench: Bench, seed: int) -> None:
    draw = np.random.default_rng(seed)
    for name, number, constant in (
        ("patient_id", True, False), ("patient_id", False, True), ("who", True, True), ("x7", False, True),
        ("member", False, False),
    ):  # fmt: skip
        made = proposal(bench, visits(draw, name, number=number, constant=constant))
        (column,) = made["person_columns"]
        assert column["column"] == name
        assert set(column["constant_columns"]) == ({"sex", "born"} if constant else set())
        assert column["numbering_columns"] == (["visit"] if number else [])
        assert name not in made["quasi_identifiers"]
        assert name not in made["direct_identifiers"]
        assert "person_column" in column["detail"]


@pytest.mark.parametrize("seed", seeds(10))
def test_numbers_of_persons_that_are_written_with_decimals_are_asked_about(bench: Bench, seed: int) -> None:
    """As a household and its member are (`1012.01`); a measurement that a person keeps is none."""
    draw = np.random.default_rng([7, seed])
    made = visits(draw, "patient_id", number=bool(seed % 2), constant=True)
    code = pl.col("patient_id").str.slice(1).cast(pl.Float64) + draw.choice([0.01, 0.5])
    frame = made.with_columns(
        patient_id=pl.when(pl.Series(draw.random(len(made)) < 0.05)).then(None).otherwise(code), height=code.rank() / 7
    )
    seen = proposal(bench, frame)
    assert [one["column"] for one in seen["person_columns"]] == ["patient_id"]
    assert "patient_id" not in seen["quasi_identifiers"]
    spec = {"method": "table", "dataset_id": bench.upload("a", frame), "quasi_identifiers": ["sex", "born"]}
    assert len(questions(bench.run(spec).result)) == 1


@pytest.mark.parametrize("name", ["HHID", "PERSONID", "patientid", "caseid", "USUBJID", "hh_id", "ANNEE_IND_HHID"])
def test_names_without_a_boundary_between_words_are_read(bench: Bench, name: str) -> None:
    """Numbers of a household and its member, `1012.01`, that nothing but their name tells from measurements."""
    draw = np.random.default_rng(len(name))
    made = visits(draw, name, number=False, constant=False)
    frame = made.with_columns(
        pl.col(name).str.slice(1).cast(pl.Float64) + 0.01, height=pl.Series(draw.permutation(len(made)) // 4 / 7)
    )
    seen = proposal(bench, frame)
    assert [one["column"] for one in seen["person_columns"]] == [name]
    assert name not in seen["quasi_identifiers"]


@pytest.mark.parametrize(
    "name", ["UTILITYID", "hhcivil", "HHINCOME", "casemix", "humid", "avoid", "patno_of_school", "family", "schoolid"]
)
def test_other_names_are_not_read_as_persons(bench: Bench, name: str) -> None:
    draw = np.random.default_rng(len(name))
    made = visits(draw, name, number=False, constant=False)
    frame = made.with_columns(pl.col(name).str.slice(1).cast(pl.Float64) + 0.01)
    assert proposal(bench, frame)["person_columns"] == []


def test_no_column_of_real_tables_is_read_as_persons_by_its_name() -> None:
    """But for the households of one."""
    there = {name: columns for name, columns in real_columns().items() if columns}
    assert len(there) > 50
    called = {(name, one) for name, columns in there.items() for one in columns if is_called_person(one)}
    assert called <= {("dataset_diabetes.zip", "patient_nbr")}


def real_columns() -> dict[str, list[str]]:
    """Names of the columns of each real table."""
    if not SHARED.exists():
        pytest.skip(f"{SHARED} is not there")
    made = {one.name: pl.read_parquet_schema(one) for one in SHARED.glob("*/*.parquet")}
    files = {one.name: one.read_bytes() for one in SHARED.glob("*/*.csv")}
    files |= {one.name: gzip.decompress(one.read_bytes()) for one in SHARED.glob("*/*.csv.gz")}
    with zipfile.ZipFile(SHARED / "diabetes130" / "dataset_diabetes.zip") as archive:
        files["dataset_diabetes.zip"] = archive.read("dataset_diabetes/diabetic_data.csv")
    heads = {name: body.splitlines()[0].decode() for name, body in files.items()}
    return {name: list(schema) for name, schema in made.items()} | {
        name: [one.strip('"') for one in head.split(",")] for name, head in heads.items()
    }


@pytest.mark.parametrize("seed", seeds(4))
def test_places_are_not_asked_about(bench: Bench, seed: int) -> None:
    draw = np.random.default_rng(seed)
    for name in ("school", "town", "doctor_id", "tract", "x7"):
        assert proposal(bench, pupils(draw, name))["person_columns"] == []


@pytest.mark.parametrize("seed", seeds(4))
def test_an_audit_of_named_columns_asks_whose_rows_they_are(bench: Bench, seed: int) -> None:
    """Twelve rows of one person count as k = 12: the audit says which column it has counted without."""
    draw = np.random.default_rng(seed)
    frame = visits(draw, "who", number=True, constant=True)
    spec = {"method": "table", "dataset_id": bench.upload("t", frame), "quasi_identifiers": ["sex", "born"]}
    for missing in ({}, {"missing_matches": "drop_records"}):
        (finding,) = questions(bench.run(spec | missing).result)
        assert "'who' has" in finding
        assert "name it as `person_column`" in finding
    assert not questions(bench.run(spec | {"person_column": "who"}).result)
    (named,) = questions(bench.run(spec | {"quasi_identifiers": ["who"], "sensitive": ["born"]}).result)
    assert named == finding
    places = {"dataset_id": bench.upload("p", pupils(draw, "school")), "quasi_identifiers": ["sex", "born", "school"]}
    assert not questions(bench.run(spec | places).result)


def questions(result: dict[str, Any]) -> list[str]:
    return [one["detail"] for one in result["findings"] if "person_column" in one["detail"]]


def test_spellings_of_persons_are_told(bench: Bench) -> None:
    draw = np.random.default_rng(5)
    frame = visits(draw, "who", number=True, constant=True)
    some = frame.with_columns(
        pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("who").str.to_lowercase()).otherwise("who").alias("who")
    )
    (column,) = proposal(bench, some)["person_columns"]
    assert "in spelling alone" in column["detail"]


@pytest.mark.parametrize("seed", seeds(2))
def test_spellings_of_one_person_raise_a_question_over_http(client: httpx.Client, seed: int) -> None:
    """`ann`, `Ann` and `ann ` may be one person: the upload counts them, and its profile asks."""
    draw = np.random.default_rng([12, seed])
    names = [f"{name}{at}{blank}" for at in range(40) for name, blank in (("ann", ""), ("Ann", ""), ("ann", " "))]
    lines = [f'"{name}",{number},{draw.integers(90, 180)}' for name in names for number in range(5)]
    dataset = upload(client, "\n".join(["patient,visit,systolic", *draw.permutation(lines)]) + "\n")
    assert {one["name"]: one["other_spellings"] for one in dataset["columns"]}["patient"] == 80
    result = succeed(client, {"method": "table", "dataset_id": dataset["id"]}, kind="audits")["result"]
    (column,) = result["proposal"]["person_columns"]
    assert column["column"] == "patient"
    assert "80 of its values differ from another in spelling alone" in column["detail"]
