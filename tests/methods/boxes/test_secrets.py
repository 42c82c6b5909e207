"""What repeating a specification tells: nothing. The adversary asks again and again, uploads again, and compares."""

import itertools
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import released, succeed, upload
from tests.service import Service

COLUMNS = ["income", "age", "hours"]


def people(rows: int = 1500) -> pl.DataFrame:
    """Incomes with a tail, whole numbers with ties, values on both sides of zero, rows that occur twice."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "income": np.round(rng.lognormal(10, 1, rows) - 9000, 2),
            "age": rng.integers(17, 90, rows),
            "hours": rng.integers(0, 8, rows) * 5.0,
            "sex": rng.choice(["f", "m"], rows),
        }
    )
    return pl.concat([frame, frame.head(40)])


def put(client: httpx.Client, frame: pl.DataFrame) -> str:
    """Upload without integers: bounds of whole numbers are whole, and so the next value as often as not."""
    return str(upload(client, frame.write_csv(), type=["age:number", "hours:number"])["id"])


def make(client: httpx.Client, dataset_id: str, **change: Any) -> pl.DataFrame:
    spec = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": COLUMNS, "k": 5, "partition": "fast"}
    return released(client, succeed(client, spec | change))


def boxes(rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    """All boxes with their numbers, counts and kept values, whatever the order of rows and columns."""
    names = sorted(rows.columns)
    return sorted(rows.select(names).group_by(names).len().rows())


def cuts(rows: pl.DataFrame, column: str) -> np.ndarray:
    """The bounds that are cuts, not the outer ones."""
    bounds = np.concatenate([rows[f"{column}_lo"], rows[f"{column}_hi"]])
    return np.setdiff1d(bounds, [bounds.min(), bounds.max()])


@pytest.fixture(scope="module")
def original() -> pl.DataFrame:
    return people()


@pytest.fixture(scope="module")
def dataset_id(client: httpx.Client, original: pl.DataFrame) -> str:
    return put(client, original)


def test_sixteen_releases_of_one_specification_bring_no_bound_nearer_to_a_value(
    client: httpx.Client, dataset_id: str, original: pl.DataFrame
) -> None:
    releases = [make(client, dataset_id) for _ in range(16)]
    assert all(boxes(each) == boxes(releases[0]) for each in releases)
    assert len({tuple(each["box"]) for each in releases}) == 16, "the order of rows is drawn each time"
    highest = original["income"].sort().unique().to_numpy()
    bounds = np.concatenate([cuts(each, "income") for each in releases])
    below = highest[np.searchsorted(highest, bounds) - 1]
    once = cuts(releases[0], "income")
    assert np.min(bounds - below) == np.min(once - highest[np.searchsorted(highest, once) - 1])


def test_sixteen_specifications_have_one_cut_between_two_neighbouring_values(
    client: httpx.Client, dataset_id: str, original: pl.DataFrame
) -> None:
    specs = itertools.product(
        ["fast", "mondrian"],
        [5, 6],
        [COLUMNS, ["income", "age"]],
        [None, [{"kind": "mean", "of": ["income"]}]],
    )
    releases = [
        make(client, dataset_id, partition=partition, k=k, quasi_identifiers=columns, statistics=statistics)
        for partition, k, columns, statistics in specs
    ]
    assert len(releases) == 16
    for column in COLUMNS:
        values = original[column].cast(float).unique().sort().to_numpy()
        each = [cuts(rows, column) for rows in releases if f"{column}_lo" in rows.columns]
        bounds = np.unique(np.concatenate(each))
        assert not np.isin(bounds, values).any(), "nobody's value"
        between = np.searchsorted(values, bounds)
        assert len(np.unique(between)) == len(between), f"one cut between two neighbours in {column}"
        assert sum(map(len, each)) > 1.5 * len(bounds), "specifications share their cuts"


@pytest.mark.parametrize(
    "change",
    [
        {"partition": "optimal"},
        {"partition": "fast"},
        {"partition": "mondrian"},
        {"partition": "optimal", "keep": ["sex"], "k_counts_kept": True, "k": 3},
        {"partition": "fast", "rare_records": "weigh"},
        {"partition": "optimal", "rare_records": "suppress", "domains": {"age": [0, 120]}},
        {"bounds": "tight", "l": 2, "sensitive": ["sex"]},
    ],
    ids=lambda change: "-".join(map(str, change.values()))[:40],
)
def test_the_same_values_in_another_order_have_the_same_boxes_bit_for_bit(
    client: httpx.Client, dataset_id: str, original: pl.DataFrame, change: dict[str, Any]
) -> None:
    shuffled = original.sample(fraction=1.0, shuffle=True, seed=3).select("sex", "hours", "income", "age")
    again = put(client, shuffled.with_columns(pl.col("age").cast(float)))
    one = make(client, dataset_id, **change)
    two = make(client, again, quasi_identifiers=["hours", "age", "income"], **change)
    assert boxes(one) == boxes(two)


def test_one_row_more_has_other_cuts_everywhere(client: httpx.Client, dataset_id: str, original: pl.DataFrame) -> None:
    longer = put(client, pl.concat([original, original.tail(1)]))
    one, two = make(client, dataset_id), make(client, longer)
    for column in COLUMNS:
        assert not np.isin(cuts(one, column), cuts(two, column)).any()


def test_another_owner_of_the_same_data_has_other_cuts(
    service: Service, client: httpx.Client, dataset_id: str, original: pl.DataFrame
) -> None:
    with service.client(owner="another") as other:
        theirs = make(other, put(other, original))
    ours = make(client, dataset_id)
    for column in COLUMNS:
        assert not np.isin(cuts(ours, column), cuts(theirs, column)).any()


def test_a_seed_repeats_boxes_and_rows_and_has_cuts_of_its_own(client: httpx.Client, dataset_id: str) -> None:
    one, two = (make(client, dataset_id, seed=7) for _ in range(2))
    assert one.equals(two)
    assert not np.isin(cuts(one, "income"), cuts(make(client, dataset_id), "income")).any()
    assert not np.isin(cuts(one, "income"), cuts(make(client, dataset_id, seed=8), "income")).any()


def test_missing_values_count_among_what_a_column_is(client: httpx.Client) -> None:
    rows = [f"{i * i % 97},{i}\n" for i in range(60)]
    one, two = (upload(client, "x,y\n" + "".join(rows) + more, type="x:number")["id"] for more in ("", ",70\n"))
    spec: dict[str, Any] = {"quasi_identifiers": ["x"], "missing_policy": "drop"}
    releases = [released(client, succeed(client, _drop(each, spec))) for each in (one, two)]
    assert not np.isin(cuts(releases[0], "x"), cuts(releases[1], "x")).any()


def _drop(dataset_id: Any, change: dict[str, Any]) -> dict[str, Any]:
    return {"method": "boxes", "dataset_id": dataset_id, "k": 5, "partition": "fast"} | change
