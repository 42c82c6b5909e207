"""`boxes` over HTTP at the edges: one value, numbers of any size, what only the records or the profile can refuse."""

import httpx
import numpy as np
import pytest

from app.contracts.problems import EXAMPLE
from tests.methods.asking import anonymization, released, succeed, upload


def test_a_statistic_that_the_records_leave_undefined_has_no_value(client: httpx.Client) -> None:
    """Whether predictors are collinear may hang on one record: no refusal says it."""
    dataset = upload(client, "x,y,z\n" + "".join(f"{i},{2 * i},{i * i}\n" for i in range(40)))
    spec = anonymization("boxes", dataset["id"], ["x", "y", "z"], k=5, partition="fast")
    job = succeed(client, spec | {"statistics": [{"kind": "regression", "of": ["z", "x", "y"]}]})
    (regression,) = job["result"]["statistics"]
    assert regression["true_value"] == [None, None, None]
    assert "range_says_nothing" in [one["code"] for one in job["warnings"]]


def test_one_value_everywhere_is_one_box_without_being_asked_for_statistics(client: httpx.Client) -> None:
    dataset = upload(client, "x,y\n" + "1,2\n" * 9)
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x", "y"], "k": 3}
    result = succeed(client, spec)["result"]
    assert (result["box_count"], result["smallest_box"]) == (1, 9)
    means, variances, correlation = result["statistics"][:2], result["statistics"][2:4], result["statistics"][4]
    for statistic, value in zip(means + variances, (1.0, 2.0, 0.0, 0.0), strict=True):
        assert statistic["guaranteed"] == pytest.approx([value, value], rel=1e-12)
        assert statistic["true_value"] == value
    assert correlation["true_value"] is None


@pytest.mark.parametrize("rare", ["keep", "suppress", "weigh"])
def test_numbers_of_any_size_that_is_accepted_can_be_computed_with(client: httpx.Client, rare: str) -> None:
    values = np.random.default_rng(4).normal(size=(60, 2)) * [1e68, 0.1]
    body = "x,y\n" + "".join(f"{float(x)!r},{float(y)!r}\n" for x, y in values)
    dataset = upload(client, body)
    spec = anonymization("boxes", dataset["id"], ["x", "y"], k=3, rare_records=rare)
    for change in (
        {},
        {"domains": {"x": [-1e70, 1e70], "y": [-1e70, 1e70]}},
        {"confidence": 0.9999999999999999},
        {"statistics": [{"kind": "variance", "of": ["x"], "weight": 1e70}]},
        {"statistics": [{"kind": "mean", "of": ["y"], "weight": 1e-70}]},
    ):
        succeed(client, spec | change)


def test_numbers_that_are_too_large_are_refused_where_they_stand(client: httpx.Client) -> None:
    dataset = upload(client, "x,y\n1,2e70\n2,3\n")
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x"], "k": 1}
    for change, pointer in (
        ({"quasi_identifiers": ["x", "y"]}, "/quasi_identifiers/1"),
        ({"domains": {"x": [0, 1e71]}}, "/domains/x/1"),
        ({"statistics": [{"kind": "mean", "of": ["x"], "weight": 1e71}]}, "/statistics/0/weight"),
        ({"statistics": [{"kind": "mean", "of": ["x"], "weight": 1e-71}]}, "/statistics/0/weight"),
    ):
        answer = client.post("/v1/anonymizations", json=spec | change)
        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_column_named_weight_can_be_kept_where_boxes_have_none(client: httpx.Client) -> None:
    dataset = upload(client, "x,weight\n" + "".join(f"{i},{i % 3}\n" for i in range(40)))
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x"], "k": 4, "keep": ["weight"]}
    assert sorted(released(client, succeed(client, spec))["weight"]) == sorted(i % 3 for i in range(40))
    answer = client.post("/v1/anonymizations", json=spec | {"rare_records": "weigh"})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert answer.json()["errors"][0]["pointer"] == "/keep/0"


def test_infinities_are_refused(client: httpx.Client) -> None:
    dataset = upload(client, "x\n1\ninf\n2\n3\n")
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x"], "k": 1, "partition": "fast"}
    answer = client.post("/v1/anonymizations", json=spec)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert "1 infinite" in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize("step", [5e-324, 1e-310, 1e-200, 1e-160, 1e-130, 1e-70])
@pytest.mark.parametrize("change", [{}, {"bounds": "tight", "rare_records": "weigh"}], ids=["cells", "tight, weighed"])
def test_differences_whose_squares_vanish_are_no_error(
    client: httpx.Client, step: float, change: dict[str, str]
) -> None:
    draw = np.random.default_rng(5)
    body = "x,y\n" + "".join(f"{i * step!r},{float(draw.normal())!r}\n" for i in range(40))
    spec = anonymization("boxes", upload(client, body)["id"], ["x", "y"], k=4) | change
    kinds = ("standard_deviation", "variance", "mean")
    statistics = [{"kind": kind, "of": ["x"]} for kind in kinds]
    statistics += [
        {"kind": kind, "of": of} for kind in ("correlation", "covariance", "regression") for of in (["y", "x"],)
    ]
    job = succeed(client, spec | {"statistics": statistics, "accept_findings": ["composition"]})
    rows = released(client, job)
    assert rows["x_lo"].min() >= 0.0
    assert rows["x_hi"].max() <= 45 * step
    low, high = job["result"]["statistics"][2]["guaranteed"]
    assert low <= 19.5 * step <= high or change


@pytest.mark.parametrize("rare", ["keep", "suppress", "weigh"])
def test_days_of_all_years_have_bounds_that_are_days(client: httpx.Client, rare: str) -> None:
    """Rounded outward to two digits of their range the outermost would lie in the years -221 and 10183."""
    body = "day,y\n0001-01-01,0\n9999-12-31,1\n"
    body += "".join(f"{year:04}-06-15,{year % 7}\n" for year in range(100, 9900, 250))
    spec = {"method": "boxes", "dataset_id": upload(client, body)["id"], "quasi_identifiers": ["day", "y"], "k": 4}
    days = released(client, succeed(client, spec | {"rare_records": rare}))
    assert (str(days["day_lo"].min()), str(days["day_hi"].max())) == ("0001-01-01", "9999-12-31") or rare != "keep"
    assert days["day_lo"].min().year >= 1


def test_zero_has_no_sign(client: httpx.Client) -> None:
    dataset = upload(client, "x,y\n" + "".join(f"{'-0.0' if i % 2 else '0.0'},{i}\n" for i in range(12)))
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x", "y"], "k": 3, "bounds": "tight"}
    assert not np.signbit(released(client, succeed(client, spec))["x_lo"].to_numpy()).any()


def test_the_problem_that_the_reference_shows_is_a_true_one(client: httpx.Client) -> None:
    people = upload(client, "age,hours\n" + "".join(f"{row % 60},{row % 40}\n" for row in range(400)))
    answer = client.post("/v1/anonymizations", json=anonymization("boxes", people["id"], ["age", "hour"], k=5))
    assert answer.json() == EXAMPLE
