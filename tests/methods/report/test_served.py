"""Reports over HTTP: of every method's release, of jobs and audits, for whom they are there, and until when."""

import base64
import hashlib
import re
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.asking import anonymization, ended, succeed, upload
from tests.methods.bases import VARIABLES, microfile
from tests.methods.questions import people

#: Values that stand in no rounded number and no other text: whoever finds one in a public page has found a cell.
MARKED = 123.4567


@pytest.fixture(scope="module")
def dataset_id(client: httpx.Client) -> str:
    frame = people(seed=31)
    frame[0, "hours"] = MARKED
    return str(upload(client, frame.write_csv())["id"])


def page(client: httpx.Client, path: str, **headers: str) -> httpx.Response:
    answer = client.get(f"/v1/{path}/report", headers=headers)
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!doctype html>")
    return answer


@pytest.mark.parametrize("method", ["boxes", "uncertain", "condensation"])
def test_a_release_has_a_public_page_and_its_job_a_restricted_one(
    client: httpx.Client, dataset_id: str, method: str
) -> None:
    spec = {
        "method": method,
        "dataset_id": dataset_id,
        "quasi_identifiers": ["age", "hours"],
        "k": 5,
        "accept_findings": ["composition"],
    }
    job = succeed(client, spec)
    public, own = page(client, f"releases/{job['release_id']}"), page(client, f"jobs/{job['id']}")
    assert "Public report" in public.text
    assert "Restricted report" in own.text
    assert str(MARKED) not in public.text
    for title in ("Sizes of boxes", "How columns were cut", "What readers can still compute"):
        assert (title in own.text, title in public.text) == (method == "boxes", method == "boxes")
    for title in ("Timings", "Seconds from begin to end"):  # how long it took grows with what is withheld
        assert title in own.text
        assert title not in public.text
    for statistic in job["result"].get("statistics", []):
        if isinstance(statistic.get("true_value"), float) and statistic["kind"] == "mean":
            shown = f"{statistic['true_value']:,.6g}"
            assert shown in own.text
            assert shown not in public.text


def style_allowed(answer: httpx.Response) -> bool:
    """Whether the one policy of an answer names the style of its page by its hash."""
    (policy,) = answer.headers.get_list("content-security-policy")  # browsers enforce every one that is sent
    (style,) = re.findall("<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == directives["frame-ancestors"] == "'none'"
    return directives["style-src"] == f"'sha256-{digest}'" and directives["img-src"] == "data:"


def test_a_page_is_sent_under_one_policy_which_allows_its_style_and_pictures(
    client: httpx.Client, dataset_id: str
) -> None:
    spec = anonymization("boxes", dataset_id, ["age", "hours"], k=5, accept_findings=["composition"])
    job = succeed(client, spec)
    assert style_allowed(page(client, f"releases/{job['release_id']}"))
    assert style_allowed(page(client, f"jobs/{job['id']}"))


def test_a_browser_shows_the_style_and_the_pictures_of_a_live_page(
    browser: Any, client: httpx.Client, dataset_id: str
) -> None:
    """At the address that readers open, with the headers that the service sends."""
    spec = anonymization("boxes", dataset_id, ["age", "hours"], k=6, accept_findings=["composition"])
    release_id = succeed(client, spec)["release_id"]
    client.patch(f"/v1/releases/{release_id}", json={"readers": "public"}).raise_for_status()
    page(client, f"releases/{release_id}")  # it is written by now
    shown, complaints = browser.new_page(), []
    shown.on("console", lambda message: complaints.append(message.text))
    answer = shown.goto(f"{client.base_url}/v1/releases/{release_id}/report".replace("//v1", "/v1"))
    assert answer.status == httpx.codes.OK
    assert complaints == []
    assert shown.evaluate("getComputedStyle(document.body).maxWidth") == "736px"  # 46rem
    widths = shown.evaluate("[...document.images].map(image => image.naturalWidth)")
    assert widths
    assert all(width > 0 for width in widths)
    shown.close()


def test_a_page_that_is_known_is_not_sent_again(client: httpx.Client, dataset_id: str) -> None:
    spec = anonymization("condensation", dataset_id, ["age"], k=9, accept_findings=["composition"])
    path = f"releases/{succeed(client, spec)['release_id']}"
    first = page(client, path)
    again = client.get(f"/v1/{path}/report", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == httpx.codes.NOT_MODIFIED
    assert page(client, path).text == first.text


def test_masked_places_and_rules_stand_in_the_jobs_pages_only(client: httpx.Client) -> None:
    frame = microfile(7, regions=12, people=80, bases={3: 30})
    there = upload(client, frame.write_csv())["id"]
    spec: dict[str, Any] = {
        "method": "group", "auxiliary_dataset_id": there, "hidden_group": {"column": "job", "values": ["army"]},
        "region_columns": ["region"], "variables": VARIABLES, "search": {"method": "exhaustive"},
    }  # fmt: skip
    model = succeed(client, spec, kind="audits")
    text = page(client, f"jobs/{model['id']}").text
    assert "Where the group stands out" in text
    assert "the group is likely" in text
    assert "R03" in text
    swapped = succeed(
        client,
        {
            "method": "swaps", "dataset_id": there, "region_columns": ["region"], "model_job_id": model["id"],
            "drop": ["job"], "search": {"method": "assignment"}, "mask": [{"region": ["R03"], "at_most": 20}],
        },
    )  # fmt: skip
    assert "Signals before and after" in page(client, f"jobs/{swapped['id']}").text
    public = page(client, f"releases/{swapped['release_id']}").text
    assert "R03" not in public
    assert "Signals" not in public


def test_what_has_no_report_says_why(client: httpx.Client, dataset_id: str) -> None:
    assert client.get("/v1/releases/rel_none/report").status_code == httpx.codes.NOT_FOUND
    assert client.get("/v1/jobs/job_none/report").status_code == httpx.codes.NOT_FOUND
    # what only computing can tell: no two of these records are alike in a kept column
    spec = anonymization("boxes", dataset_id, ["age"], k=5, keep=["hours"], k_counts_kept=True)
    failed = client.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=30"}).json()
    assert failed["state"] == "failed"
    answer = client.get(f"/v1/jobs/{failed['id']}/report")
    assert answer.status_code == httpx.codes.CONFLICT
    assert "it has no report" in answer.json()["detail"]


def test_a_page_goes_with_its_job(client: httpx.Client, dataset_id: str) -> None:
    spec = anonymization("condensation", dataset_id, ["age"], k=11, accept_findings=["composition"])
    job = succeed(client, spec)
    response = client.get(f"/v1/jobs/{job['id']}/report", headers={"Prefer": "respond-async"})
    assert response.status_code == httpx.codes.ACCEPTED
    location = response.headers["location"]
    assert ended(client, client.get(location).json())["state"] == "succeeded"
    assert re.search("<!doctype html>", client.get(f"{location}/result").json()["html"])
    assert client.delete(f"/v1/jobs/{job['id']}").status_code == httpx.codes.NO_CONTENT
    assert client.get(f"{location}/result").status_code == httpx.codes.NOT_FOUND
    assert client.get(f"/v1/jobs/{job['id']}/report").status_code == httpx.codes.NOT_FOUND


@pytest.mark.parametrize("method", ["boxes", "uncertain", "condensation"])
@pytest.mark.parametrize("seed", seeds(2))
def test_the_owner_reads_how_many_records_are_left_out_and_readers_do_not(
    client: httpx.Client, method: str, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    lacking = int(draw.integers(11, 60))
    frame = people(seed=40 + seed)
    frame = frame.with_columns(
        pl.when(pl.int_range(frame.height) < lacking).then(None).otherwise(pl.col("hours")).alias("hours")
    )
    spec = {
        "method": method,
        "dataset_id": str(upload(client, frame.write_csv())["id"]),
        "quasi_identifiers": ["age", "hours"],
        "k": 5,
        "missing_policy": "drop",
    }
    job = succeed(client, spec)
    stated = (
        f"{frame.height - lacking:,} of {frame.height:,} records are in the release. {lacking} are not: {lacking} lack"
    )
    assert stated in page(client, f"jobs/{job['id']}").text
    if job["findings"]:
        accepted = {"accept_findings": [one["audit"] for one in job["findings"]]}
        client.post(f"/v1/releases/{job['release_id']}/publish", json=accepted).raise_for_status()
    public = page(client, f"releases/{job['release_id']}").text
    assert "Records in the release" not in public
    assert f"of {frame.height:,} records" not in public


@pytest.mark.parametrize("lacking", [False, True])
def test_a_table_of_counts_is_reported_by_its_persons(client: httpx.Client, lacking: bool) -> None:
    frame = people(seed=45).group_by("age", "hours").len("persons").sort("age", "hours")
    if lacking:
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()) >= 20).then("hours"))
    spec = {
        "method": "boxes",
        "dataset_id": str(upload(client, frame.write_csv())["id"]),
        "quasi_identifiers": ["age", "hours"],
        "k": 5,
        "missing_policy": "drop",
        "frequency_column": "persons",
        "frequencies_are_exact": True,
    }
    job, persons, missing = succeed(client, spec), frame["persons"].sum(), frame["persons"][:20].sum()
    stated = (
        f"{persons - missing:,} of {persons:,} persons are in the release. {missing} are not: {missing} lack a value"
    )
    own = page(client, f"jobs/{job['id']}").text
    assert (stated if lacking else f"All {persons:,} persons are in the release.") in own
    assert "Records in the release" not in own
