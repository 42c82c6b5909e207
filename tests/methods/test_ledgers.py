"""What a ledger keeps of a release places its own records: each where it is, whatever its columns are."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.in_process import Bench
from workers.frames.ledger import read_ledger, write_ledger
from workers.methods.context import InputFile
from workers.methods.released.composed import Earlier, composed_with

K = 5
LEVELS = ["low", "mid", "high", "top"]  # not their alphabetical order
NAMES = ["^a$", "b.c", "rows"]  # names that mean something to those who read columns by pattern or path


def table(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    race = rng.choice(["a", "b", "rare"], n, p=[0.6, 0.39, 0.01])
    day = rng.integers(0, 900, n)
    return pl.DataFrame(
        {
            "^a$": rng.integers(0, 50, n),
            "b.c": rng.normal(size=n),
            "rows": [None if gone else str(one) for one, gone in zip(race, rng.random(n) < 0.2, strict=True)],
            "level": rng.choice(LEVELS, n),
            "flag": rng.random(n) < 0.5,
            "day": [dt.date(2020, 1, 1) + dt.timedelta(int(one)) for one in day],
            "income": rng.choice(["less", "more"], n),
        }
    )


ASKED: dict[str, dict[str, Any]] = {
    "an order of texts": {"columns": ["level", "^a$"], "ordinal": {"level": LEVELS}},
    "missing as it is": {"columns": NAMES, "missing": "pattern"},
    "missing as a value": {"columns": NAMES, "nominal": {"rows": {"missing_is_value": True}}},
    "rare values as others": {"columns": NAMES, "missing": "drop", "count_keep": True},
    "truths and days": {"columns": ["flag", "day"], "statistics": [{"kind": "mean", "of": ["day"]}]},
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("ledgers"))
    bench.dataset("people", table())
    return bench


@pytest.mark.parametrize("asked", ASKED)
def test_a_release_alone_is_the_records_that_it_was_made_of(bench: Bench, asked: str) -> None:
    spec = {"method": "boxes", "dataset_id": "people", "k": K, "keep": ["income"], **ASKED[asked]}
    bench.release(asked, spec)
    dataset, released = bench.files[InputFile.DATASET, "people"], bench.files[InputFile.RELEASE, asked]
    own = bench.folder / f"{asked}.ledger"
    write_ledger(released, own, method="boxes", spec=spec)
    rows = pl.read_parquet(released)
    assert read_ledger(own).rows.sum() == len(rows)
    sides = [name for name in rows.columns if name.endswith(("_lo", "_hi", "_set", "income"))]
    assert len(read_ledger(own).rows) == len({tuple(map(str, row)) for row in rows.select(sides).iter_rows()})
    rng = np.random.default_rng(0)
    alone = composed_with(dataset, spec, own, [], rng=rng)
    assert (alone.k, alone.overlay, alone.changed) == (rows["box"].value_counts()["count"].min(),) * 2 + (None,)
    twice = composed_with(dataset, spec, own, [Earlier("rel_1", "boxes", own)], rng=rng)
    assert (twice.k, twice.changed, twice.exact) == (alone.k, None, True), "the same once more tells nothing"
    audit = bench.run({"method": "composition", "release_ids": [asked], "k": K}).result
    assert (audit["overlay"], audit["changed"]) == (alone.overlay, None)
