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


SPECS: dict[str, dict[str, Any]] = {
    "an order of texts": {"quasi_identifiers": ["level", "^a$"], "ordinal": {"level": LEVELS}},
    "missing as it is": {"quasi_identifiers": NAMES, "missing_policy": "pattern"},
    "missing as a value": {"quasi_identifiers": NAMES, "nominal": {"rows": {"missing_is_value": True}}},
    "rare values as others": {"quasi_identifiers": NAMES, "missing_policy": "drop", "k_counts_kept": True},
    "rare values beside a value called other": {
        "dataset_id": "others",
        "quasi_identifiers": NAMES,
        "missing_policy": "pattern",
        "max_suppressed_classes": 0.0,
    },
    "truths and days": {"quasi_identifiers": ["flag", "day"], "statistics": [{"kind": "mean", "of": ["day"]}]},
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("ledgers"))
    bench.dataset("people", table())
    words = pl.Series("rows", [f"rare{row}" if row < 9 else "other" if row % 3 else "a" for row in range(400)])
    bench.dataset("others", table().with_columns(words))
    return bench


@pytest.mark.parametrize("release_id", SPECS)
def test_a_release_alone_is_the_records_that_it_was_made_of(bench: Bench, release_id: str) -> None:
    spec = {"method": "boxes", "dataset_id": "people", "k": K, "keep": ["income"], **SPECS[release_id]}
    bench.release(release_id, spec)
    dataset = bench.files[InputFile.DATASET, str(spec["dataset_id"])]
    released = bench.files[InputFile.RELEASE, release_id]
    own = bench.folder / f"{release_id}.ledger"
    merged_as = bench.releases[release_id].merged_as
    assert ("other values" in (merged_as or {}).values()) == (spec["dataset_id"] == "others")
    write_ledger(released, own, method="boxes", spec=spec, merged_as=merged_as)
    rows = pl.read_parquet(released)
    assert read_ledger(own).rows.sum() == len(rows)
    sides = [name for name in rows.columns if name.endswith(("_lo", "_hi", "_set", "income"))]
    assert len(read_ledger(own).rows) == len({tuple(map(str, row)) for row in rows.select(sides).iter_rows()})
    rng = np.random.default_rng(0)
    alone = composed_with(dataset, spec, own, [], rng=rng)
    smallest = rows["box"].value_counts()["count"].min()
    assert (alone.composed_k, alone.overlay, alone.changed) == (smallest, smallest, None)
    twice = composed_with(dataset, spec, own, [Earlier("rel_1", "boxes", own)], rng=rng)
    once_more = (twice.composed_k, twice.changed, twice.exact)
    assert once_more == (alone.composed_k, None, True), "the same release again says nothing new"
    audit = bench.run({"method": "composition", "release_ids": [release_id], "k_required": K}).result
    assert (audit["overlay"], audit["changed"]) == (alone.overlay, None)
