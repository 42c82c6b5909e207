"""Without `await`: written by `make sdk`, never edited."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack
from urllib.parse import quote

from surebox_client import plans, rows
from surebox_client._generated.methods import Methods
from surebox_client.handles import D, Handle, specification
from surebox_client.progress import Progress
from surebox_client.steps import Send, Session
from surebox_client.uploads import Upload, query

if TYPE_CHECKING:
    from surebox_client._generated import types
    from surebox_verify.report import Report


Place: TypeAlias = str | os.PathLike[str]


class Resource(Handle[D]):
    """Something that the service has, and where."""

    _folder = ""

    def __init__(self, client: "Surebox", data: D) -> None:
        super().__init__(data)
        self._client, self._session = client, client.session

    @property
    def _path(self) -> str:
        return f"/v1/{self._folder}/{self.id}"

    def refresh(self) -> Self:
        """Read it anew."""
        self.data = self._client.get(self._path)
        return self

    def delete(self) -> None:
        """Delete it: the rows of a dataset, the record of a job, a release that is not published; no other with it."""
        self._client.run(self._session.call(Send("DELETE", self._path)))


class Dataset(Resource["types.Dataset"]):
    """An uploaded file or frame; `ordinal` has the order of its ordered categories."""

    _folder = "datasets"

    def __init__(self, client: "Surebox", data: "types.Dataset", ordinal: Mapping[str, list[Any]] = {}) -> None:
        super().__init__(client, data)
        self.ordinal = dict(ordinal)


class Job(Resource["types.Job"]):
    """A job."""

    _folder = "jobs"

    @property
    def result(self) -> Any:
        """What came of it, once it has succeeded: the result of its method, without the longest lists."""
        return self.data["result"]

    @property
    def findings(self) -> "list[types.Finding]":
        """What the gate of its release found."""
        return self.data["findings"]

    def wait(self, timeout: float | None = None, progress: bool | None = None) -> Self:  # noqa: ASYNC109
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
        self.data = self._client.run(plans.wait(self._session, self.data, timeout, Progress(progress)))
        return self

    def events(self) -> "Iterator[types.Job]":
        """The job each time that its state or progress changes, until it has ended."""
        for each in self._client.iterate(plans.follow(self._session, self.data)):
            self.data = each
            yield each

    def cancel(self) -> Self:
        """Ask that it stop."""
        self.data = self._client.post(f"{self._path}/cancel")
        return self

    @property
    def release(self) -> "Release":
        """The release that it made.

        Raises
        ------
        surebox_client.SureboxError
            It made none, or has not ended.
        """
        return self._client.release(plans.release_of(self.data))


class Release(Resource["types.Release"]):
    """A release."""

    _folder = "releases"

    def download(self, path: Place, format: "types.ReleaseFormatSpec | None" = None) -> Path:  # noqa: A002
        """Download a file of it, in the format that is named or that the path's ending names; checked by SHA-256."""
        form = plans.chosen_format(self.data, Path(path).name, format)
        return self._client.run(plans.download(self._session, self.data, form, Path(path), Progress()))

    def bundle(self, path: Place) -> Path:
        """Download the archive of all that there is of it: files, certificate, provenance, report."""
        return self._client.run(plans.bundle(self._session, self.id, Path(path)))

    def _bytes(self) -> tuple[bytes, str]:
        from tempfile import TemporaryDirectory

        best = (form for form in ("parquet", "csv", "csv.gz", "ndjson") if form in self.data["files"])
        form = plans.chosen_format(self.data, "", next(best, None))
        with TemporaryDirectory() as folder:
            return (self.download(Path(folder) / "release", form)).read_bytes(), form

    def to_polars(self) -> Any:
        """Its rows as a polars data frame."""
        return rows.polars_of(*self._bytes(), plans.types_of(self.data))

    def to_pandas(self) -> Any:
        """Its rows as a pandas data frame."""
        return rows.pandas_of(*self._bytes(), plans.types_of(self.data))

    def statistics(self, statistics: "Sequence[str | types.Statistic]", ddof: int | None = None) -> Any:
        """Statistics of it as the service computes them, such as ``mean(age)``."""
        question = {"statistics": [*statistics], "ddof": ddof}
        return self._client.run(plans.answered(self._session, f"{self._path}/statistics", question))

    def estimates(self, statistics: "Sequence[str] | None" = None, ddof: int = 0) -> Any:
        """Certain ranges of statistics, computed here from its files alone, as a frame with a row for each number.

        Parameters
        ----------
        statistics : such as ``mean(wage)``, ``share(job)``, ``crosstab(job, sex)``, ``quantile(wage, 0.5)``,
            ``regression(wage, age)``; None: the mean and the median, or the shares and counts, of each column.
        ddof : 1 for the sample form of variances, standard deviations and covariances.
        """
        from surebox_client.estimates import estimates

        certificate = self._client.run(plans.raw(self._session, f"{self._path}/certificate"))
        return estimates(*self._bytes(), certificate, statistics, ddof)

    def verify(self) -> "Report":
        """Verify it here, against its certificate and the keys of the service; `exit_code` 0: nothing is wrong."""
        from tempfile import TemporaryDirectory

        from surebox_client.estimates import verified

        keys = self._client.run(plans.raw(self._session, "/.well-known/jwks.json"))
        with TemporaryDirectory() as folder:
            return verified(self.bundle(Path(folder) / "bundle.zip"), keys)

    def publish(self, accept_findings: Sequence[str] = (), readers: "types.ReleaseReaders | None" = None) -> Self:
        """Publish it; `accept_findings` names the audits whose findings you accept."""
        given = {"accept_findings": [*accept_findings], "readers": readers}
        self.data = self._client.run(plans.change(self._session, f"{self._path}/publish", given))
        return self

    def withdraw(self, reason: str | None = None) -> Self:
        """Withdraw it."""
        self.data = self._client.run(plans.change(self._session, f"{self._path}/withdraw", {"reason": reason}))
        return self


class Surebox(Methods[Job]):
    """A client of one service.

    Parameters
    ----------
    url : its address; by default that of SUREBOX_URL.
    key : an API key; by default that of SUREBOX_API_KEY.
    ca_file : certificates in PEM that sign the service's, where the system does not know them.
    timeout : seconds that one answer may take.
    """

    def __init__(
        self, url: str | None = None, *, key: str | None = None, ca_file: Place | None = None, timeout: float = 60.0
    ) -> None:
        from surebox_client.blocking_driver import Driver
        from surebox_client.http import settings

        driver = Driver(settings(url, key, ca_file, timeout))
        self.url, self.session = driver.url, Session()
        self.run, self.iterate, self.close = driver.run, driver.iterate, driver.close
        self._use_key = driver.use_key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of any address, such as ``/v1/families``."""
        return self.run(self.session.get(path, **params))

    def post(self, path: str, body: Any = None) -> Any:
        """The JSON that any address answers to a body."""
        return self.run(plans.post(self.session, path, body))

    def renew_key(self) -> "types.RenewedKey":
        """Exchange the key for a new one, which this client sends from now on; the old one ends within an hour.

        The new key itself (``["key"]``) is shown this once: keep it. Another renewal by the old key takes the new one
        back until it was used.

        Raises
        ------
        surebox_client.errors.ForbiddenError
            The key was made without renewals, or what it was renewed to is in use.
        """
        renewed: types.RenewedKey = self.post("/v1/owner/key/renew")
        self._use_key(renewed["key"])
        return renewed

    def answer(self, family_id: str, other_family_id: str, people: "types.People") -> "types.Family":
        """State whether the data of two families are of the ``same`` or of ``other`` people.

        A family's ``questions`` are those that can be answered; the key needs ``releases:publish``.
        """
        body = {"other_family_id": other_family_id, "people": people}
        answered: types.Family = self.post(f"/v1/families/{quote(family_id, safe='')}/answer", body)
        return answered

    def upload(
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
    ) -> Dataset:
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
        data = self.run(plans.upload(self.session, sent.body, params, idempotency_key))
        return Dataset(self, data, sent.orders)

    def dataset(self, id: str) -> Dataset:  # noqa: A002
        """A dataset by its id."""
        return Dataset(self, self.get(f"/v1/datasets/{quote(id)}"))

    def job(self, id: str) -> Job:  # noqa: A002
        """A job by its id."""
        return Job(self, self.get(f"/v1/jobs/{quote(id)}"))

    def release(self, id: str) -> Release:  # noqa: A002
        """A release by its id."""
        return Release(self, self.get(f"/v1/releases/{quote(id)}"))

    def latest(self, series_id: str | None = None, tags: Mapping[str, str] | None = None) -> Release:
        """The release of a series, or of what has all these tags, that was published last."""
        tag = [f"{one}:{two}" for one, two in (tags or {}).items()]
        return Release(self, self.run(plans.latest(self.session, {"series_id": series_id, "tag": tag})))

    def datasets(self, **filters: Any) -> Iterator[Dataset]:
        """Your datasets, newest first, such as ``state="ready"``."""
        for each in self.iterate(self.session.pages("/v1/datasets", filters)):
            yield Dataset(self, each)

    def jobs(self, **filters: Any) -> Iterator[Job]:
        """Your jobs, newest first, such as ``method="boxes"``."""
        for each in self.iterate(self.session.pages("/v1/jobs", filters)):
            yield Job(self, each)

    def releases(self, **filters: Any) -> Iterator[Release]:
        """Your releases and those that you may read, newest first, such as ``state="published"``."""
        for each in self.iterate(self.session.pages("/v1/releases", filters)):
            yield Release(self, each)

    def anonymize(
        self, spec: "types.AnonymizationRequest | Mapping[str, Any]", *, idempotency_key: str | None = None
    ) -> Job:
        """Anonymize a dataset by a whole specification."""
        return Job(self, self.run(plans.post(self.session, "/v1/anonymizations", spec, idempotency_key)))

    def audit(
        self, spec: "types.AuditRequest | Mapping[str, Any]", *, idempotency_key: str | None = None
    ) -> Job:
        """Audit datasets or releases by a whole specification."""
        return Job(self, self.run(plans.post(self.session, "/v1/audits", spec, idempotency_key)))

    def _job(self, path: str, method: str, about: Mapping[str, Any], options: Mapping[str, Any]) -> Job:
        return Job(self, self.run(plans.post(self.session, path, specification(method, about, options))))
