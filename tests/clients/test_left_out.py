"""The command line reports how many records are in no release, and why."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from surebox_client.commands.finish import left_out
from tests.clients.commands import CommandLine
from tests.drawing import seeds


@pytest.mark.parametrize("policy", ["drop", "pattern"])
@pytest.mark.parametrize("seed", seeds(3))
def test_records_that_are_not_released_are_counted_by_reason(
    surebox: CommandLine, folder: Path, policy: str, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    lacking = int(draw.integers(20, 90)) if policy == "drop" else 3
    cells = ["" if row < lacking else str(draw.integers(0, 10**6)) for row in range(300)]
    lines = [f"{draw.integers(18, 80)},{cell}" for cell in cells]
    (folder / f"wages{seed}.csv").write_text("age,wage\n" + "\n".join(lines) + "\n")
    out = f"wages{seed}.{policy}.parquet"
    done = surebox(
        "anonymize",
        f"wages{seed}.csv",
        "--quasi-identifiers",
        "age,wage",
        "--k",
        "5",
        "--missing-policy",
        policy,
        "--publish",
        "--out",
        out,
    )
    released = pl.read_parquet(folder / out).height
    assert 300 - released >= lacking
    why = "lack a value" if policy == "drop" else "have values that too few share"
    missing = 300 - released
    assert f"{released} of 300 records are in the release; {missing} are not: {missing} {why}." in done.err


def test_nothing_is_said_where_all_records_are_released_or_the_key_may_not_know() -> None:
    assert left_out({}) == []
    assert left_out({"records": 5, "released": 5, "suppressed": {"missing": 0}}) == []
