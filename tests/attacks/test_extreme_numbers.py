"""Ranges and counts of numbers of any size contain the truth, computed in exact fractions, and readers confirm them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import pytest

from tests.attacks.certified import FORMATS, Bundle
from tests.methods.asking import ended, upload

LARGEST = 2**53 - 1


def column(draw: np.random.Generator, rows: int) -> list[str]:
    """Numbers that doubles hardly hold apart, that span a hundred decades, that nearly all tie; as a file has them."""
    kinds = (
        lambda: draw.integers(2**52, 2**53, rows).astype(float),
        lambda: draw.lognormal(0, 40, rows),
        lambda: draw.normal(0, 1, rows) * 1e-300,
        lambda: draw.integers(-30, 30, rows) / 10,
        lambda: 1e15 + draw.normal(0, 1, rows),
        lambda: draw.integers(0, 3, rows).astype(float),
        lambda: draw.standard_cauchy(rows),
        lambda: np.where(draw.random(rows) < 0.9, 0.0, draw.normal(0, 1e6, rows)),
        lambda: draw.choice([0.1, 0.2, 0.30000000000000004, 1 / 3], rows),
    )
    return [repr(float(value)) for value in kinds[int(draw.integers(0, len(kinds)))]()]


def deviations(values: Sequence[Fraction]) -> list[Fraction]:
    mean = sum(values, Fraction(0)) / len(values)
    return [value - mean for value in values]


def squared(value: Fraction) -> Fraction:
    """The square with the sign of the number: a root is compared with its square."""
    return value * abs(value)


def holds(statistic: dict[str, Any], guaranteed: Sequence[float], data: dict[str, list[Fraction]]) -> bool:
    """Whether a range contains the exact value; of what has a root, whether its squares do."""
    low, high = (Fraction(end) for end in guaranteed)
    own, *rest = (data[name] for name in statistic["of"])
    rows, around = len(own), deviations(own)
    variance = sum((each**2 for each in around), Fraction(0)) / rows
    match statistic["kind"]:
        case "mean":
            return low <= sum(own, Fraction(0)) / rows <= high
        case "variance":
            return low <= variance <= high
        case "standard_deviation":
            return squared(low) <= variance <= squared(high)
        case "share":
            return low <= Fraction(inside(own, statistic["interval"]), rows) <= high
    other = deviations(rest[0])
    product = sum((a * b for a, b in zip(around, other, strict=True)), Fraction(0)) / rows
    if statistic["kind"] == "covariance":
        return low <= product <= high
    of_both = variance * sum((each**2 for each in other), Fraction(0)) / rows
    return of_both == 0 or squared(low) <= squared(product) / of_both <= squared(high)


def inside(values: Sequence[Fraction], interval: Sequence[float | None]) -> int:
    low, high = interval
    return sum(
        (low is None or value >= Fraction(low)) and (high is None or value <= Fraction(high)) for value in values
    )


def requested(draw: np.random.Generator, columns: dict[str, list[str]]) -> list[dict[str, Any]]:
    statistics: list[dict[str, Any]] = []
    for at, (name, cells) in enumerate(columns.items()):
        end = float(draw.choice(cells))
        statistics.append(
            {"kind": "share", "of": [name], "interval": [None, end] if draw.random() < 0.5 else [end, None]}
        )
        statistics += [{"kind": kind, "of": [name]} for kind in ("mean", "variance", "standard_deviation")]
        for before in list(columns)[:at]:
            statistics += [{"kind": kind, "of": [name, before]} for kind in ("covariance", "correlation")]
    return statistics


def as_doubles(value: Any) -> Any:
    """JSON whose long integers are doubles again, as RFC 8785 wrote them: the body is signed once more."""
    if isinstance(value, dict):
        return {name: as_doubles(part) for name, part in value.items()}
    if isinstance(value, list):
        return [as_doubles(part) for part in value]
    return float(value) if type(value) is int and abs(value) > LARGEST else value


def publish(client: httpx.Client, draw: np.random.Generator) -> bool:
    """Make a release of a random table and check it; whether there is one."""
    rows, names = int(draw.integers(20, 150)), ["a", "b", "c"][: int(draw.integers(1, 4))]
    columns = {name: column(draw, rows) for name in names}
    data = {name: [Fraction(float(cell)) for cell in cells] for name, cells in columns.items()}
    lines = [",".join(names), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    statistics = requested(draw, columns)
    body = {
        "method": "boxes", "formats": FORMATS, "publish": "auto",
        "quasi_identifiers": names, "k": int(draw.integers(2, 8)),
        "dataset_id": upload(client, "\n".join(lines) + "\n", new_family=True)["id"], "statistics": statistics,
        "partition": str(draw.choice(["optimal", "fast", "mondrian"])), "bounds": str(draw.choice(["cells", "tight"])),
        "rare_records": str(draw.choice(["keep", "keep", "mark", "weigh"])),
    }  # fmt: skip
    answer = client.post("/v1/anonymizations", json=body, headers={"Prefer": "wait=30"})
    if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
        return False
    job = ended(client, answer.raise_for_status().json())
    assert job["state"] == "succeeded" or job["error"]["status"] == httpx.codes.UNPROCESSABLE_ENTITY, job["error"]
    if job["state"] == "failed":
        return False
    bundle = Bundle(client, job["release_id"])
    report = bundle.report(as_doubles(bundle.body))
    assert (list(report.problems), list(report.unchecked)) == ([], []), body
    if body["rare_records"] == "weigh":  # ranges are about weighed records then
        return True
    results = client.get(f"/v1/jobs/{job['id']}/result").json()["statistics"]
    for statistic, result in zip(statistics, results, strict=True):
        assert result["guaranteed"] is None or holds(statistic, result["guaranteed"], data), (body, result)
    queries = [{each["of"][0]: each["interval"]} for each in statistics if each["kind"] == "share"]
    counts = client.post(f"/v1/releases/{job['release_id']}/count", json={"queries": queries}).raise_for_status().json()
    for query, count in zip(queries, counts["counts"], strict=True):
        ((name, interval),) = query.items()
        assert count["guaranteed"][0] <= inside(data[name], interval) <= count["guaranteed"][1], (query, count)
    return True


@pytest.mark.parametrize("seed", range(4))
def test_ranges_of_any_numbers_are_true_and_confirmed(client: httpx.Client, seed: int, scale: int) -> None:
    tried = 5 * scale
    published = [publish(client, np.random.default_rng([seed, turn])) for turn in range(tried)]
    assert sum(published) > tried / 3, "most tables can be released"


@pytest.mark.parametrize("end", [-5.2e43, 1e17, 1_700_000_000_000_000_199, -(10**25), 0.5])
def test_an_interval_is_answered_and_certified_as_it_was_sent(client: httpx.Client, end: float) -> None:
    start = 1_700_000_000_000_000_000
    lines = ["age,at_ns,x", *(f"{20 + row % 20},{start + row * 10},{(row - 20) * 1e42!r}" for row in range(40))]
    data = {"at_ns": [Fraction(start + row * 10) for row in range(40)]}
    data |= {"x": [Fraction((row - 20) * 1e42) for row in range(40)]}
    statistics = [
        {"kind": "share", "of": [name], "interval": interval}
        for name in data
        for interval in ([None, end], [end, None])
    ]
    dataset = upload(client, "\n".join(lines) + "\n", new_family=True, type=["at_ns:integer", "x:number"])
    spec = {"quasi_identifiers": ["age"], "keep": ["at_ns", "x"], "k": 2, "formats": FORMATS, "statistics": statistics}
    body = {
        "method": "boxes",
        "dataset_id": dataset["id"],
        "publish": "auto",
        "accept_findings": ["composition"],
    } | spec
    job = ended(client, client.post("/v1/anonymizations", json=body).raise_for_status().json())
    assert job["state"] == "succeeded", job["error"]
    sent = {"statistics": statistics}
    answer = client.post(f"/v1/releases/{job['release_id']}/statistics", json=sent).raise_for_status()
    assert str(answer.json()["statistics"][0]["interval"]) == str([None, end])
    published = client.get(f"/v1/jobs/{job['id']}/result").raise_for_status()
    for said in (answer, published):
        answered = [one for one in said.json()["statistics"] if one["interval"] is not None]
        for statistic, result in zip(statistics, answered, strict=True):
            assert str(result["interval"]) == str(statistic["interval"])
            low, high = (Fraction(each) for each in result["guaranteed"])
            truth = Fraction(inside(data[statistic["of"][0]], statistic["interval"]), 40)
            assert low <= truth <= high
            assert high - low < Fraction(1, 100), "kept columns are known"
    counts = client.post(
        f"/v1/releases/{job['release_id']}/count",
        json={"queries": [{each["of"][0]: each["interval"]} for each in statistics]},
    ).raise_for_status()
    for statistic, count in zip(statistics, counts.json()["counts"], strict=True):
        truth = inside(data[statistic["of"][0]], statistic["interval"])
        assert count["guaranteed"] == [truth, truth]
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    accepted = {"accept_findings": sorted({one["audit"] for one in release["findings"]})}
    if release["state"] == "draft":
        client.post(f"/v1/releases/{job['release_id']}/publish", json=accepted).raise_for_status()
    bundle = Bundle(client, job["release_id"])
    report = bundle.report(as_doubles(bundle.body))
    assert (list(report.problems), list(report.unchecked)) == ([], [])
