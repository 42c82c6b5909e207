"""The Python client against the whole service: from a file or a frame to a release that is verified."""

import asyncio
import hashlib
import io
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from surebox_client import AsyncSurebox, Job, JobCancelled, JobFailed, Release, Surebox, errors
from tests.service import Service

ROWS = 400
EDUCATION = ["school", "college", "doctorate"]


def people(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, ROWS),
            "wage": rng.normal(3_000, 600, ROWS).round(1),
            "education": pl.Series(rng.choice(EDUCATION, ROWS), dtype=pl.Enum(EDUCATION)),
            "children": pl.Series([None if i % 9 == 0 else int(i % 4) for i in range(ROWS)], dtype=pl.Int64),
        }
    )


@pytest.fixture(scope="module")
def sb(service: Service) -> Iterator[Surebox]:
    """A client of an owner of its own."""
    with Surebox(service.address, key=service.new_key("sdk")) as client:
        yield client


@pytest.fixture(scope="module")
def job(sb: Surebox) -> Job:
    dataset = sb.upload(people(1), name="people", tags={"year": "2026"})
    assert dataset.ordinal == {"education": EDUCATION}
    assert [column["type"] for column in dataset["columns"]] == ["integer", "number", "string", "integer"]
    options = {
        "quasi_identifiers": ["age", "wage", "education"],
        "k": 5,
        "formats": ["csv", "parquet"],
        "publish": "auto",
    }
    return sb.boxes(
        dataset, statistics=["share(education)", "regression(wage, age)"], tags={"year": "2026"}, **options
    ).wait()


@pytest.fixture(scope="module")
def release(job: Job) -> Release:
    return job.release


def test_a_frame_becomes_a_release_whose_categories_keep_their_order(job: Job, release: Release) -> None:
    assert job.state == "succeeded"
    assert job.data["spec"]["ordinal"] == {"education": EDUCATION}  # type: ignore[index]
    assert release.state == "published"
    assert [each["kind"] for each in job.result["statistics"]][:1] == ["share"]


def test_a_release_is_downloaded_and_read(sb: Surebox, release: Release, tmp_path: Path) -> None:
    path = release.download(tmp_path / "release.parquet")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == release["files"]["parquet"]["sha256"]
    assert [each.name for each in tmp_path.iterdir()] == ["release.parquet"]
    table = release.to_polars()
    assert table.equals(pl.read_parquet(path))
    as_pandas = release.to_pandas()
    assert list(as_pandas.columns) == table.columns
    assert as_pandas["age_lo"].dtype == pd.Int64Dtype()
    assert as_pandas["age_lo"].tolist() == table["age_lo"].to_list()


def test_a_release_is_verified_here(release: Release) -> None:
    report = release.verify()
    assert (report.exit_code, report.problems) == (0, [])
    assert report.release == release.id


def test_estimates_hold_the_released_records(release: Release) -> None:
    truth = people(1)
    wanted = [
        "mean(wage)",
        "quantile(wage, 0.5)",
        "share(education)",
        "count(education=school)",
        "regression(wage, age)",
    ]
    frame = release.estimates(wanted)
    assert (frame["lower"] <= frame["estimate"]).all()
    assert (frame["estimate"] <= frame["upper"]).all()

    def within(statistic: str, value: float, about: str | None = None) -> None:
        rows = frame.filter(pl.col("statistic") == statistic)
        row = (rows if about is None else rows.filter(pl.col("about") == about)).row(0, named=True)
        assert row["lower"] - 1e-9 <= value <= row["upper"] + 1e-9, row

    within("mean(wage)", float(np.mean(truth["wage"].to_numpy())))
    for value in EDUCATION:
        within("share(education)", truth["education"].cast(pl.String).eq(value).mean(), value)  # type: ignore[arg-type]
    school = int(truth["education"].cast(pl.String).eq("school").sum())
    within("count(education=school)", school)
    slope, intercept = np.polyfit(truth["age"].to_numpy(), truth["wage"].to_numpy(), 1)
    within("regression(wage, age)", float(slope), "age")
    within("regression(wage, age)", float(intercept), "intercept")
    all_of_it = release.estimates()
    assert set(all_of_it["kind"]) == {"mean", "quantile", "share", "count"}


def test_the_service_answers_statistics_in_words(release: Release) -> None:
    (mean,) = release.statistics(["mean(age)"])["statistics"]
    assert mean["guaranteed"][0] <= np.mean(people(1)["age"].to_numpy()) <= mean["guaranteed"][1]


def test_lists_go_on_over_pages(sb: Surebox, release: Release) -> None:
    assert [each.id for each in sb.releases(method="boxes", limit=1)] == [release.id]
    for _ in range(3):
        sb.upload(io.BytesIO(b"a,b\n1,2\n3,4\n"), format="csv", name="small", new_family=True)
    assert len([*sb.datasets(limit=1)]) == 4
    assert sb.latest(tags={"year": "2026"}).id == release.id


def test_the_same_key_makes_one_job_and_one_dataset(sb: Surebox) -> None:
    frame = people(2).to_arrow()
    one, two = (sb.upload(frame, idempotency_key="sdk-same") for _ in range(2))
    assert one.id == two.id
    spec = {"method": "table", "dataset_id": one.id, "quasi_identifiers": ["age"]}
    assert sb.audit(spec, idempotency_key="sdk-job").id == sb.audit(spec, idempotency_key="sdk-job").id


def test_an_audit_says_what_it_measured(sb: Surebox) -> None:
    frame = people(3).to_pandas()
    frame.index = pd.Index(range(1_000, 1_000 + ROWS))
    with pytest.raises(errors.UploadError, match="index without a name"):
        sb.upload(frame)
    dataset = sb.upload(frame, index="number")
    assert dataset["columns"][0]["name"] == "number"
    assert sb.table(dataset, quasi_identifiers=["number"]).wait(timeout=300).result["method"] == "table"


def test_a_draft_is_published_and_withdrawn(sb: Surebox) -> None:
    dataset = sb.upload(people(4).select("wage"), new_family=True)
    made = sb.boxes(dataset, quasi_identifiers=["wage"], k=50, publish="draft").wait().release
    assert made.state == "draft"
    assert made.publish().state == "published"
    assert made.withdraw("a test").state == "withdrawn"
    dataset.delete()
    with pytest.raises(errors.NotFoundError):
        dataset.refresh()


def test_events_tell_of_a_job_until_its_end(sb: Surebox) -> None:
    dataset = sb.upload(people(5).to_pandas())
    job = sb.boxes(dataset, quasi_identifiers=["age", "wage"], k=5, publish="draft")
    assert [each["state"] for each in job.events()][-1] == "succeeded" == job.state


def test_a_refusal_says_where_and_what_to_do(sb: Surebox) -> None:
    with pytest.raises(errors.InvalidError) as refusal:
        sb.boxes("ds_absent", quasi_identifiers=["age"], k=5)
    assert [each["pointer"] for each in refusal.value.errors] == ["/dataset_id"]
    assert refusal.value.remedy
    assert "What to do: " in str(refusal.value)


def test_who_has_no_key_reads_where_one_is_given(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUREBOX_API_KEY", raising=False)
    with Surebox(service.address) as nobody, pytest.raises(errors.UnauthorizedError) as refusal:
        nobody.dataset("ds_absent").refresh()
    assert "SUREBOX_API_KEY" in str(refusal.value)
    assert "`surebox login`" in str(refusal.value)


def test_a_job_that_fails_or_is_cancelled_raises(sb: Surebox) -> None:
    dataset = sb.upload(people(6))
    with pytest.raises(JobFailed) as failed:
        sb.boxes(dataset, quasi_identifiers=["age"], k=5, min_width={"age": 200.0}).wait()
    assert failed.value.problem.code == failed.value.job["error"]["type"].rpartition("/")[2]  # type: ignore[index]
    busy = sb.boxes(dataset, quasi_identifiers=["age", "wage", "education"], k=3)
    busy.cancel()
    with suppress(JobCancelled):
        busy.wait()
    assert busy.refresh().state in {"cancelled", "succeeded"}, "it may have been quicker"


def test_no_key_is_shown(sb: Surebox, service: Service) -> None:
    with Surebox(service.address, key="sb_wrong_but_secret") as wrong:
        try:
            wrong.get("/v1/owner")
        except errors.UnauthorizedError as error:
            shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
            assert "secret" not in shown
        assert "secret" not in repr(wrong)
        driver = wrong.run.__self__
        assert "secret" not in repr(vars(wrong)) + repr(vars(driver)) + repr(vars(driver._client))


def test_what_is_shown_of_a_release_has_no_cell(release: Release) -> None:
    shown = release._repr_html_() + repr(release)
    assert release.id in shown
    assert "age_lo" in shown
    for value in release.to_polars()["wage_lo"].unique():
        assert str(value) not in shown.replace(release.id, "")


def test_the_same_awaited(service: Service) -> None:
    async def flow() -> tuple[str, int]:
        async with AsyncSurebox(service.address, key=service.new_key("sdk-async")) as sb:
            dataset = await sb.upload(people(7))
            job = await (await sb.boxes(dataset, quasi_identifiers=["age", "wage"], k=10, publish="auto")).wait()
            release = await job.release
            frame = await release.to_polars()
            assert [each.id async for each in sb.releases()] == [release.id]
            return release.state, frame.height

    assert asyncio.run(flow()) == ("published", ROWS)
