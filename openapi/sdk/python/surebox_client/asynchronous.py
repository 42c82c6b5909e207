"""The client, awaited; `blocking.py` is the same without `await`, written by `make sdk`."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack
from urllib.parse import quote

from surebox_client import plans
from surebox_client.handles import Handle, inputs, named, with_orders
from surebox_client.progress import Progress
from surebox_client.steps import Session
from surebox_client.uploads import Upload, query

if TYPE_CHECKING:
    from surebox_client._generated import types
    from surebox_verify.report import Report


class AsyncDataset(Handle["types.Dataset"]):
    """An uploaded file or frame."""

    def __init__(
        self, client: "AsyncSurebox", data: "types.Dataset", ordinal: Mapping[str, list[Any]] | None = None
    ) -> None:
        super().__init__(data)
        self._client = client
        self.ordinal: dict[str, list[Any]] = dict(ordinal or {})

    async def refresh(self) -> Self:
        """Read it anew."""
        self.data = await self._client.get(f"/v1/datasets/{self.id}")
        return self

    async def delete(self) -> None:
        """Delete its rows; what was released of them stays."""
        await self._client.run(plans.delete(self._client.session, f"/v1/datasets/{self.id}"))


class AsyncJob(Handle["types.Job"]):
    """A job."""

    def __init__(self, client: "AsyncSurebox", data: "types.Job") -> None:
        super().__init__(data)
        self._client = client

    @property
    def result(self) -> Any:
        """What came of it, once it has succeeded: the result of its method, without the longest lists."""
        return self.data["result"]

    @property
    def findings(self) -> "list[types.Finding]":
        """What the gate of its release found."""
        return self.data["findings"]

    async def wait(self, timeout: float | None = None, progress: bool | None = None) -> Self:  # noqa: ASYNC109
        """Wait until it has succeeded.

        Parameters
        ----------
        timeout : seconds; None waits for as long as it takes.
        progress : whether a bar is shown; None: on a terminal.

        Raises
        ------
        surebox_client.errors.JobFailed, JobCancelled, WaitTimedOut
            As the names say; the job goes on where only the wait has ended.
        """
        self.data = await self._client.run(plans.wait(self._client.session, self.data, timeout, Progress(progress)))
        return self

    async def events(self) -> "AsyncIterator[types.Job]":
        """The job each time that its state or progress changes, until it has ended."""
        async for each in self._client.iterate(plans.follow(self._client.session, self.data)):
            self.data = each
            yield each

    async def cancel(self) -> Self:
        """Ask that it stop."""
        self.data = await self._client.post(f"/v1/jobs/{self.id}/cancel")
        return self

    async def refresh(self) -> Self:
        """Read it anew."""
        self.data = await self._client.get(f"/v1/jobs/{self.id}")
        return self

    async def delete(self) -> None:
        """Delete it; its release stays."""
        await self._client.run(plans.delete(self._client.session, f"/v1/jobs/{self.id}"))

    @property
    async def release(self) -> "AsyncRelease":
        """The release that it made.

        Raises
        ------
        surebox_client.SureboxError
            It made none, or has not ended.
        """
        return await self._client.release(plans.release_of(self.data))


class AsyncRelease(Handle["types.Release"]):
    """A release."""

    def __init__(self, client: "AsyncSurebox", data: "types.Release") -> None:
        super().__init__(data)
        self._client = client

    async def refresh(self) -> Self:
        """Read it anew."""
        self.data = await self._client.get(f"/v1/releases/{self.id}")
        return self

    async def download(self, path: str | os.PathLike[str], format: "types.ReleaseFormat | None" = None) -> Path:  # noqa: A002
        """Download a file of it, in the format that is named or that the path's ending names; checked by SHA-256."""
        target, session = Path(path), self._client.session
        form = plans.chosen_format(self.data, target, format)
        plan = plans.download(session, self.data, form, target, Progress())
        return await self._client.run(plan)

    async def bundle(self, path: str | os.PathLike[str]) -> Path:
        """Download the archive of all that there is of it: files, certificate, provenance, report."""
        return await self._client.run(plans.bundle(self._client.session, self.id, Path(path)))

    async def _bytes(self) -> tuple[bytes, str]:
        from tempfile import TemporaryDirectory

        form = "parquet" if "parquet" in self.data["files"] else plans.chosen_format(self.data, None, None)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "release"
            await self._client.run(plans.download(self._client.session, self.data, form, path, Progress()))
            return path.read_bytes(), form

    async def to_polars(self) -> Any:
        """Its rows as a polars data frame."""
        from surebox_client.frames import polars_of

        return polars_of(*await self._bytes())

    async def to_pandas(self) -> Any:
        """Its rows as a pandas data frame."""
        from surebox_client.frames import pandas_of

        return pandas_of(*await self._bytes())

    async def statistics(self, statistics: "Sequence[str | types.Statistic]", ddof: int | None = None) -> Any:
        """Statistics of it as the service computes them, such as ``mean(age)``."""
        job = {"statistics": [*statistics], **({} if ddof is None else {"ddof": ddof})}
        return await self._client.run(plans.answered(self._client.session, f"/v1/releases/{self.id}/statistics", job))

    async def estimates(self, statistics: "Sequence[str] | None" = None, ddof: int = 0) -> Any:
        """Certain ranges of statistics, computed here from its files alone, as a frame with a row for each number.

        Parameters
        ----------
        statistics : such as ``mean(wage)``, ``share(job)``, ``crosstab(job, sex)``, ``quantile(wage, 0.5)``,
            ``regression(wage, age)``; None: the mean and the median, or the shares and counts, of each column.
        ddof : 1 for the sample form of variances, standard deviations and covariances.
        """
        from surebox_client.estimates import estimates

        certificate = await self._client.run(plans.raw(self._client.session, f"/v1/releases/{self.id}/certificate"))
        return estimates(*await self._bytes(), certificate, statistics, ddof)

    async def verify(self) -> "Report":
        """Verify it here, against its certificate and the keys of the service; `exit_code` 0: nothing is wrong."""
        from tempfile import TemporaryDirectory

        from surebox_client.estimates import verified

        keys = await self._client.run(plans.raw(self._client.session, "/.well-known/jwks.json"))
        with TemporaryDirectory() as folder:
            return verified(await self.bundle(Path(folder) / "bundle.zip"), keys)

    async def publish(self, accept_findings: Sequence[str] = (), readers: "types.ReleaseReaders | None" = None) -> Self:
        """Publish it; `accept_findings` names the audits whose findings you accept."""
        said = {"accept_findings": [*accept_findings], **({} if readers is None else {"readers": readers})}
        self.data = await self._client.run(plans.change(self._client.session, self.id, "publish", said))
        return self

    async def withdraw(self, reason: str | None = None) -> Self:
        """Withdraw it."""
        said = {} if reason is None else {"reason": reason}
        self.data = await self._client.run(plans.change(self._client.session, self.id, "withdraw", said))
        return self


class AsyncSurebox:
    """A client of one service.

    Parameters
    ----------
    url : its address; by default that of SUREBOX_URL.
    key : an API key; by default that of SUREBOX_API_KEY.
    ca_file : certificates in PEM that sign the service's, where the system does not know them.
    timeout : seconds that one answer may take.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        from surebox_client.http import AsyncDriver, settings

        self._driver = AsyncDriver(settings(url, key, ca_file, timeout))
        self.url = self._driver.url
        self.session = Session()
        self.run, self.iterate = self._driver.run, self._driver.iterate

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._driver.close()

    async def get(self, path: str, **params: Any) -> Any:
        """The JSON of any address, such as ``/v1/families``."""
        return await self.run(self.session.get(path, **params))

    async def post(self, path: str, body: Any = None) -> Any:
        """The JSON that any address answers to a body."""
        return await self.run(plans.post(self.session, path, body))

    async def upload(
        self,
        source: Any,
        *,
        name: str | None = None,
        tags: Mapping[str, str] | None = None,
        types: "Mapping[str, types.ColumnType] | None" = None,
        index: str | None = None,
        progress: bool | None = None,
        idempotency_key: str | None = None,
        **reading: "Unpack[types.UploadOptions]",
    ) -> AsyncDataset:
        """Upload a file, or a frame of polars, pandas or pyarrow.

        Parameters
        ----------
        source : a path, a file that is open for reading bytes, or a frame. Ordered categories of a frame are the
            `ordinal` of the jobs that work on the dataset.
        name : what you call it; by default the file's name.
        tags, types : the dataset's tags; the types of columns that are not to be inferred.
        index : the name under which an index of pandas becomes a column.
        progress : whether a bar is shown; None: on a terminal.
        idempotency_key : the same key and file make one dataset, for 24 hours.
        reading : how a text is read, such as ``missing_values=["?"]``.

        Raises
        ------
        surebox_client.errors.UploadError
            It cannot be sent as it is.
        surebox_client.errors.ProblemError
            The service refuses it.
        """
        sent = Upload(source, Progress(progress), index)
        params = query(name or sent.name, tags or {}, types or {}, reading)
        data = await self.run(plans.upload(self.session, sent.body, params, idempotency_key))
        return AsyncDataset(self, data, sent.orders)

    async def dataset(self, id: str) -> AsyncDataset:  # noqa: A002
        """A dataset by its id."""
        return AsyncDataset(self, await self.get(f"/v1/datasets/{quote(id)}"))

    async def job(self, id: str) -> AsyncJob:  # noqa: A002
        """A job by its id."""
        return AsyncJob(self, await self.get(f"/v1/jobs/{quote(id)}"))

    async def release(self, id: str) -> AsyncRelease:  # noqa: A002
        """A release by its id."""
        return AsyncRelease(self, await self.get(f"/v1/releases/{quote(id)}"))

    async def latest(self, series_id: str | None = None, tags: Mapping[str, str] | None = None) -> AsyncRelease:
        """The release of a series, or of what has all these tags, that was published last."""
        tag = [f"{one}:{two}" for one, two in (tags or {}).items()]
        return AsyncRelease(self, await self.run(plans.latest(self.session, {"series_id": series_id, "tag": tag})))

    async def datasets(self, **filters: Any) -> AsyncIterator[AsyncDataset]:
        """Your datasets, newest first, such as ``state="ready"``."""
        async for each in self.iterate(self.session.pages("/v1/datasets", filters)):
            yield AsyncDataset(self, each)

    async def jobs(self, **filters: Any) -> AsyncIterator[AsyncJob]:
        """Your jobs, newest first, such as ``method="boxes"``."""
        async for each in self.iterate(self.session.pages("/v1/jobs", filters)):
            yield AsyncJob(self, each)

    async def releases(self, **filters: Any) -> AsyncIterator[AsyncRelease]:
        """Your releases and those that you may read, newest first, such as ``state="published"``."""
        async for each in self.iterate(self.session.pages("/v1/releases", filters)):
            yield AsyncRelease(self, each)

    async def anonymize(
        self, spec: "types.AnonymizationRequest | Mapping[str, Any]", *, idempotency_key: str | None = None
    ) -> AsyncJob:
        """Anonymize a dataset by a whole specification."""
        return AsyncJob(self, await self.run(plans.submit(self.session, "/v1/anonymizations", spec, idempotency_key)))

    async def audit(
        self, spec: "types.AuditRequest | Mapping[str, Any]", *, idempotency_key: str | None = None
    ) -> AsyncJob:
        """Audit datasets or releases by a whole specification."""
        return AsyncJob(self, await self.run(plans.submit(self.session, "/v1/audits", spec, idempotency_key)))

    async def _method(self, spec: Mapping[str, Any], method: str, about: Any, options: Mapping[str, Any]) -> AsyncJob:
        whole = {**spec, **with_orders(getattr(about, "ordinal", {}), options), "method": method}
        releasing = method in ("boxes", "uncertain", "condensation", "swaps")
        return await (self.anonymize(whole) if releasing else self.audit(whole))

    async def boxes(self, dataset: AsyncDataset | str, /, **options: "Unpack[types.BoxesOptions]") -> AsyncJob:
        """k-anonymity, l-diversity and t-closeness by boxes that keep chosen statistics narrow."""
        return await self._method(inputs(dataset, one=True), "boxes", dataset, options)

    async def uncertain(self, dataset: AsyncDataset | str, /, **options: "Unpack[types.UncertainOptions]") -> AsyncJob:
        """Uncertain k-anonymity: noise just large enough that k records fit, published with its size."""
        return await self._method(inputs(dataset, one=True), "uncertain", dataset, options)

    async def condensation(
        self, dataset: AsyncDataset | str, /, **options: "Unpack[types.CondensationOptions]"
    ) -> AsyncJob:
        """Condensation: pseudo-records drawn with the mean and covariance of groups."""
        return await self._method(inputs(dataset, one=True), "condensation", dataset, options)

    async def swaps(self, dataset: AsyncDataset | str, /, **options: "Unpack[types.SwapsOptions]") -> AsyncJob:
        """Masks a group's outlier regions by the fewest, least noticeable exchanges of regions between records."""
        return await self._method(inputs(dataset, one=True), "swaps", dataset, options)

    async def frontier(self, dataset: AsyncDataset | str, /, **options: "Unpack[types.FrontierOptions]") -> AsyncJob:
        """What each k costs: boxes again and again, nothing published."""
        return await self._method(inputs(dataset, one=True), "frontier", dataset, options)

    async def table(
        self, about: AsyncDataset | AsyncRelease | str, /, **options: "Unpack[types.TableOptions]"
    ) -> AsyncJob:
        """The measures of the field on a dataset or a release."""
        return await self._method(inputs(about, one=True), "table", about, options)

    async def linkage(self, release: AsyncRelease | str, /, **options: "Unpack[types.LinkageOptions]") -> AsyncJob:
        """The linkage attack on a release; several of one original as `release_ids` by `audit`."""
        return await self._method(inputs(release, one=True), "linkage", release, options)

    async def composition(
        self, *about: AsyncRelease | AsyncDataset | str, **options: "Unpack[types.CompositionOptions]"
    ) -> AsyncJob:
        """What several releases of the same data reveal together."""
        return await self._method(inputs(*about), "composition", None, options)

    async def determination(
        self, *releases: AsyncRelease | str, **options: "Unpack[types.DeterminationOptions]"
    ) -> AsyncJob:
        """Which values a release gives away although it names no person."""
        return await self._method(inputs(*releases), "determination", None, options)

    async def influence(self, *releases: AsyncRelease | str, **options: "Unpack[types.InfluenceOptions]") -> AsyncJob:
        """What single records decide of a release: the job again without each of them, and with it moved."""
        return await self._method(inputs(*releases), "influence", None, options)

    async def group(
        self,
        auxiliary: AsyncDataset | str,
        target: AsyncDataset | str | None = None,
        /,
        **options: "Unpack[types.GroupOptions]",
    ) -> AsyncJob:
        """The attack on a group's anonymity: learn rules from one microfile, find outlier regions in another."""
        named_ids = {"auxiliary_dataset_id": named(auxiliary)}
        named_ids |= {} if target is None else {"target_dataset_id": named(target)}
        return await self._method(named_ids, "group", None, options)

    async def group_profile(
        self, *about: AsyncRelease | AsyncDataset | str, **options: "Unpack[types.GroupProfileOptions]"
    ) -> AsyncJob:
        """What the rules see of regions below, at and above their alpha."""
        return await self._method(inputs(*about), "group_profile", None, options)

    async def swap_detection(
        self, *about: AsyncRelease | AsyncDataset | str, **options: "Unpack[types.SwapDetectionOptions]"
    ) -> AsyncJob:
        """What classifiers trained on the auxiliary data see of regions."""
        return await self._method(inputs(*about), "swap_detection", None, options)
