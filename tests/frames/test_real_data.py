"""Published microdata files are read with the right types."""

import gzip
import zipfile
from pathlib import Path

import pytest

from tests.frames.reading import read, types

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of published microdata is not beside the project")

ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip
ADULT_INTEGERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}


@pytest.mark.parametrize(
    ("name", "options", "rows", "missing"),
    [
        ("adult.data.gz", {}, 32_561, 1_836),
        ("adult.test.gz", {"comment": "|"}, 16_281, 963),
        ("adult.test.gz", {"skip_rows": 1}, 16_281, 963),
    ],
)
def test_adult(tmp_path: Path, name: str, options: dict[str, object], rows: int, missing: int) -> None:
    data = gzip.decompress((DATA / "adult" / name).read_bytes())
    profile, _ = read(tmp_path, data, format="csv", header=False, column=ADULT, missing_values=["?"], **options)
    assert profile.rows == rows
    assert {column for column, kind in types(profile).items() if kind == "integer"} == ADULT_INTEGERS
    assert set(types(profile).values()) == {"integer", "string"}
    assert profile.columns[1].missing == missing


def test_housing(tmp_path: Path) -> None:
    profile, _ = read(tmp_path, gzip.decompress((DATA / "housing" / "housing.csv.gz").read_bytes()), format="csv")
    assert profile.rows == 20_640
    whole = ["integer"] * 5 + ["number", "integer"]  # counts, years and prices, written as 880.0
    assert list(types(profile).values()) == ["number"] * 2 + whole + ["string"]
    assert {c.name: c.missing for c in profile.columns if c.missing} == {"total_bedrooms": 207}


def test_diabetes(tmp_path: Path) -> None:
    with zipfile.ZipFile(DATA / "diabetes130" / "dataset_diabetes.zip") as archive:
        data = archive.read("dataset_diabetes/diabetic_data.csv")
    profile, _ = read(tmp_path, data, format="csv", missing_values=["?"])
    assert (profile.rows, len(profile.columns)) == (101_766, 50)
    kinds = types(profile)
    assert sum(kind == "integer" for kind in kinds.values()) == 13
    assert (kinds["diag_1"], kinds["age"], kinds["encounter_id"]) == ("string", "string", "integer")
    assert next(c.missing for c in profile.columns if c.name == "weight") == 98_569


@pytest.mark.parametrize(
    ("name", "rows", "columns"), [("acs2024/p_56", None, 38), ("tax/sample_file_0910", 123_508, 51)]
)
def test_parquet_extracts(tmp_path: Path, name: str, rows: int | None, columns: int) -> None:
    profile, _ = read(tmp_path, (DATA / f"{name}.parquet").read_bytes(), format="parquet")
    assert rows is None or profile.rows == rows
    kinds = types(profile)
    assert len(kinds) == columns
    assert {name for name, kind in kinds.items() if kind != "integer"} == (
        {"SERIALNO", "STATE", "PUMA"} if "acs" in name else set()
    )


@pytest.mark.parametrize("name", ["CASCrefmicrodata", "Tarragona", "EIA", "testdata", "francdat"])
def test_reference_files_of_disclosure_control(tmp_path: Path, name: str) -> None:
    profile, _ = read(tmp_path, (DATA / "sdc" / f"{name}.csv").read_bytes(), format="csv")
    assert set(types(profile).values()) <= {"integer", "number", "string"}
    assert not any(column.missing for column in profile.columns)
