"""One whole service for the tests of methods and of attacks, as a person starts it."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import polars as pl
import pytest

from tests.methods.asking import upload
from tests.servers import short_folder
from tests.service import Service, serving

SHARED = Path(__file__).parents[2] / "shared" / "data"
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """A service that was started for these tests."""
    settings = {
        "SUREBOX_REQUESTS_PER_MINUTE": "100000", "SUREBOX_PUBLIC_REQUESTS_PER_MINUTE": "100000",
        "SUREBOX_PUBLIC_RELEASES": "true",
    }  # fmt: skip
    with short_folder() as folder, serving(folder / "data", **settings) as service:
        yield service


@pytest.fixture(scope="module")
def client(service: Service, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client of it, with a key of an owner that the module has to itself.

    What an owner published of overlapping data is composed: one module must not spoil another's releases.
    """
    with service.client(owner=request.module.__name__) as client:
        yield client


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real microdata beside the project."""
    if not SHARED.is_dir():
        pytest.skip("the folder of real microdata (../shared/data) is not on this machine")
    return SHARED


@pytest.fixture(scope="module")
def adult(client: httpx.Client, real_data: Path) -> tuple[str, pl.DataFrame]:
    """Adult, uploaded, and as polars reads it."""
    raw = gzip.decompress((real_data / "adult" / "adult.data.gz").read_bytes())
    dataset = upload(client, raw, header="false", column=ADULT, missing_values="?")
    assert dataset["rows"] == 32_561
    text = raw.decode().replace(", ", ",").strip()
    return dataset["id"], pl.read_csv(io.StringIO(text), has_header=False, new_columns=ADULT, null_values="?")
