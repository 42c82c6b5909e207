"""What keys without `jobs:read` learn of data by being refused, by asking about drafts, and what they may publish."""

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.jobs.refusals import WITHHELD
from tests.methods.asking import anonymization, run, succeed, upload
from tests.service import Service

OWNER = "lesser keys"
LARGEST, ROWS = 73_914, 613


def persons() -> pl.DataFrame:
    draw = np.random.default_rng(164)
    wage = np.append(draw.integers(100, 60_000, ROWS - 1), LARGEST)
    return pl.DataFrame({
        "age": draw.integers(18, 90, ROWS), "wage": wage, "town": draw.choice([f"town {n}" for n in range(23)], ROWS),
        "gap": [None if one < 0.1 else one for one in draw.uniform(size=ROWS)],
        "born": pl.Series([f"{1930 + n % 60}-03-{1 + n % 28:02d}" for n in range(ROWS)]),
    })  # fmt: skip


@pytest.fixture(scope="module")
def keeper(service: Service) -> Any:
    with service.client(owner=OWNER) as client:
        yield client


@pytest.fixture(scope="module")
def lesser(service: Service) -> Any:
    with service.client(owner=OWNER, scopes=("jobs:write",)) as client:
        yield client


@pytest.fixture(scope="module")
def dataset_id(keeper: httpx.Client) -> str:
    return str(upload(keeper, persons().write_csv())["id"])


def boxes(dataset_id: str, **more: Any) -> dict[str, Any]:
    return anonymization("boxes", dataset_id, ["age", "wage"], k=5, publish="draft") | more


def least_accepted(low: int, high: int, accepted: Callable[[int], bool]) -> int:
    """Halving: the least number that is accepted."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accepted(middle) else (middle, high)
    return high


def test_halving_a_domain_ends_at_two_digits_of_the_columns_range(
    lesser: httpx.Client, keeper: httpx.Client, dataset_id: str, figures: Callable[..., None]
) -> None:
    """The refusals are of the request alone: whether a job would be accepted is asked and then cancelled at once."""

    def accepted(client: httpx.Client, end: int) -> bool:
        answer = client.post("/v1/anonymizations", json=boxes(dataset_id, domains={"wage": [0, end]}))
        if answer.status_code == 202:
            client.post(f"/v1/jobs/{answer.json()['id']}/cancel")
        return answer.status_code == 202

    least = least_accepted(0, 1 << 23, lambda end: accepted(lesser, end))
    figures(least=least, largest=LARGEST)
    assert least % 1_000 == 0
    assert LARGEST < least <= LARGEST + 2_000
    refused = run(keeper, boxes(dataset_id, domains={"wage": [0, LARGEST - 1]}))
    assert refused["error"]["errors"][0]["detail"].startswith(f"1 record has more than {LARGEST - 1} in 'wage'")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"k": 620}, "/k"),
        ({"k": 610}, "/k"),
        ({"domains": {"wage": [0, 50_000]}}, "/domains/wage"),
        (
            {
                "quasi_identifiers": ["age", "wage", "gap"],
                "missing_policy": "drop",
                "domains": {"wage": [0, LARGEST]},
            },
            "/domains/wage",
        ),
        ({"quasi_identifiers": ["age", "gap"]}, "/quasi_identifiers/1"),
        ({"quasi_identifiers": ["age", "town"], "nominal": {"town": {"values": ["town 1"]}}}, "/nominal/town"),
        ({"quasi_identifiers": ["age"], "sensitive": ["town"], "l": 24}, "/l"),
        ({"quasi_identifiers": ["age"], "sensitive": ["town"], "l": 22}, "/l"),
        ({"method": "uncertain", "scales": "shared", "cell_size": 610}, "/cell_size"),
        ({"quasi_identifiers": ["age", "born"], "domains": {"born": ["1929-01-01", "1989-04-17"]}}, "/domains/born"),
    ],
    ids=[
        "more than there are",
        "nearly all",
        "a domain",
        "a domain of records that are left out or not",
        "missing values",
        "values",
        "distinct values",
        "nearly as many values",
        "a cell of nearly all",
        "days",
    ],
)
def test_a_refusal_says_where_and_nothing_of_the_data(
    lesser: httpx.Client, dataset_id: str, change: dict[str, Any], place: str
) -> None:
    answer = lesser.post("/v1/anonymizations", json=boxes(dataset_id) | change)
    assert (answer.status_code, [one["pointer"] for one in answer.json()["errors"]]) == (422, [place])
    details = {one["detail"] for one in answer.json()["errors"]}
    assert all(one == WITHHELD or "whole years" in one for one in details)


@pytest.mark.parametrize("demanded", [12_345.0, 58_999.0, 71_300.0, 9_999_999.0], ids=["met", "just", "not", "far"])
@pytest.mark.parametrize("method", ["separation", "width", "closeness", "alpha", "share"])
def test_halving_what_only_computing_refuses_ends_at_two_digits(
    lesser: httpx.Client, keeper: httpx.Client, dataset_id: str, method: str, demanded: float
) -> None:
    """Whether wages of a box can be so far apart; so exact a question is refused of all data, met or not."""
    share = 0.1 + demanded / 2e7
    demands: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "separation": (
            "/min_separation/wage",
            {"min_separation": {"wage": demanded}, "l": 2},
            {"min_separation": {"wage": 12_000.0}},
        ),
        "width": ("/min_width/wage", {"min_width": {"wage": demanded}}, {"min_width": {"wage": 12_000.0}}),
        "closeness": ("/t", {"t": share, "sensitive": ["wage"]}, {"t": 0.34}),
        "alpha": ("/alpha", {"alpha": share, "sensitive": ["town"]}, {"alpha": 0.34}),
        "share": ("/max_suppressed", {"max_suppressed": share, "rare_records": "suppress"}, {"max_suppressed": 0.13}),
    }  # fmt: skip
    place, exact, coarse = demands[method]
    spec = boxes(dataset_id, quasi_identifiers=["age", "wage"] if method == "width" else ["age"])
    refused = lesser.post("/v1/anonymizations", json=spec | exact)
    assert (refused.status_code, [one["pointer"] for one in refused.json()["errors"]]) == (422, [place])
    assert "the scope jobs:read" in refused.json()["errors"][0]["detail"]
    for client, wanted in ((lesser, exact | coarse), (keeper, exact)):
        answer = client.post("/v1/anonymizations", json=spec | wanted)
        assert answer.status_code == 202, answer.text
        keeper.post(f"/v1/jobs/{answer.json()['id']}/cancel")


def test_what_the_request_alone_makes_wrong_is_said_to_everybody(
    lesser: httpx.Client, keeper: httpx.Client, dataset_id: str
) -> None:
    wrong = boxes(dataset_id, quasi_identifiers=["age", "nothing"], domains={"town": [0, 1]})
    answers = [client.post("/v1/anonymizations", json=wrong) for client in (lesser, keeper)]
    assert [one.status_code for one in answers] == [422, 422]
    assert answers[0].json()["errors"] == answers[1].json()["errors"]


def test_a_job_that_fails_says_no_figure(lesser: httpx.Client, keeper: httpx.Client, dataset_id: str) -> None:
    """Only computing tells that the rarest class of a kept column has too few records."""
    spec = boxes(dataset_id, keep=["town"], k_counts_kept=True, max_suppressed_classes=0.0, k=40)
    job = lesser.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=30"}).json()
    whole = keeper.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"}).json()
    assert whole["state"] == "failed"
    assert any(character.isdigit() for character in whole["error"]["detail"]), whole["error"]
    shown = lesser.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=30"}).json()
    while shown["state"] in {"queued", "running"}:
        shown = lesser.post(f"/v1/jobs/{shown['id']}/cancel").json()
    assert shown["error"] is None or shown["error"]["detail"] == WITHHELD
    cancelled = lesser.post(f"/v1/jobs/{job['id']}/cancel").json()
    assert (cancelled["state"], cancelled["error"]["detail"]) == ("failed", WITHHELD)
    assert {one["detail"] for one in cancelled["error"].get("errors", ())} <= {WITHHELD}


def test_jobs_of_lesser_keys_make_drafts_unless_their_owner_lets_jobs_publish(
    service: Service, keeper: httpx.Client, lesser: httpx.Client, dataset_id: str
) -> None:
    def made(client: httpx.Client, **more: Any) -> dict[str, Any]:
        job = client.post("/v1/anonymizations", json=boxes(dataset_id, publish="auto", **more)).json()
        return dict(keeper.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"}).json())

    draft = made(lesser)
    assert keeper.get(f"/v1/releases/{draft['release_id']}").json()["state"] == "draft"
    assert [(one["audit"], one["severity"]) for one in draft["findings"]] == [("publication", "low")]
    assert "releases:publish" in draft["findings"][0]["detail"]
    with service.client(owner=OWNER, scopes=("releases:publish",)) as publisher:
        assert publisher.post(f"/v1/releases/{draft['release_id']}/publish").status_code == 200
    assert lesser.patch("/v1/owner", json={"jobs_may_publish": True}).status_code == 403
    mine = keeper.get("/v1/owner").json()
    assert (mine["owner"], mine["jobs_may_publish"]) == (OWNER, False)
    assert keeper.patch("/v1/owner", json={"jobs_may_publish": True}).json()["jobs_may_publish"]
    again = made(lesser)  # the same specification on the same rows tells nothing new
    assert (again["findings"], keeper.get(f"/v1/releases/{again['release_id']}").json()["state"]) == ([], "published")
    keeper.patch("/v1/owner", json={"jobs_may_publish": False})
    (first, second) = [one for one in keeper.get("/v1/log").json()["items"] if one["action"] == "configured"]
    assert [first["facts"], second["facts"]] == [{"jobs_may_publish": False}, {"jobs_may_publish": True}]


def test_findings_are_named_to_a_publisher_and_told_to_a_keeper(
    service: Service, keeper: httpx.Client, dataset_id: str
) -> None:
    job = succeed(keeper, boxes(dataset_id, gate=[{"method": "table", "require": {"k": 500}}]))
    with service.client(owner=OWNER, scopes=("releases:publish",)) as publisher:
        answers = [client.post(f"/v1/releases/{job['release_id']}/publish") for client in (publisher, keeper)]
    assert [one.status_code for one in answers] == [409, 409]
    said, detail = (one.json()["detail"] for one in answers)
    assert said.startswith("Unresolved findings block publication: table. ")
    assert not any(character.isdigit() for character in said)
    assert detail.startswith("Unresolved findings block publication. `table`: ")
    assert "500" in detail


def test_an_answer_about_a_draft_is_for_keepers_when_it_is_read(
    service: Service, keeper: httpx.Client, dataset_id: str
) -> None:
    job = succeed(keeper, boxes(dataset_id, quasi_identifiers=["age"], k=7))
    address = f"/v1/releases/{job['release_id']}"
    question = {"queries": [{"age": [30, 40]}]}
    job_id = keeper.post(f"{address}/count", json=question, headers={"Prefer": "respond-async"}).json()["id"]
    keeper.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=30"})

    def read(client: httpx.Client) -> list[int]:
        return [client.get(f"/v1/jobs/{job_id}{part}").status_code for part in ("", "/result")]

    with service.client(owner=OWNER, scopes=("releases:read",)) as reader:
        assert read(keeper) == [200, 200]
        assert read(reader) == [404, 404], "it is a draft"
        published = keeper.post(f"{address}/publish", json={"accept_findings": ["composition"]})
        if published.status_code == 202:
            keeper.get(f"/v1/jobs/{published.json()['id']}", headers={"Prefer": "wait=30"})
        assert keeper.get(address).json()["state"] == "published"
        assert read(reader) == [200, 200]
        events = reader.get(f"/v1/jobs/{job_id}/events").text
        assert '"result":null' in events.replace(" ", "")
        assert keeper.post(f"{address}/withdraw", json={"reason": "a test"}).status_code == 200
        assert read(reader) == [404, 404], "it was withdrawn"
        assert read(keeper) == [200, 200]
