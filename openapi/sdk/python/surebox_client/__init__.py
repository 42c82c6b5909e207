"""Python client of Surebox: from a file or a data frame to a certified release.

Interface (what is written so far is here; the rest follows with these names):

Surebox(url=None, *, key=None, ca_file=None, timeout=60.0)     # SUREBOX_URL, SUREBOX_API_KEY; context manager, .close()
  .upload(source, *, name=None, tags=None, types=None, idempotency_key=None, progress=None, **reading) -> Dataset
  .boxes(dataset, **options) -> Job; .uncertain .condensation .swaps .frontier (dataset); .table (dataset or release);
  .linkage (release); .composition .determination .influence (releases); .group .group_profile .swap_detection
  .anonymize(spec, *, idempotency_key=None) -> Job; .audit(spec, *, idempotency_key=None) -> Job
  .dataset(id) .job(id) .release(id); .datasets(**filters) .jobs(**filters) .releases(**filters) iterate over pages
  .latest(series_id=None, tags=None) -> Release
  .get(path, **params) -> parsed JSON of any other address
Dataset: .id .data (types.Dataset, a dict) .ordinal; .delete(); .refresh()
Job: .id .state .data (types.Job, a dict); .wait(timeout=None, progress=None) -> Job, raises JobFailed, JobCancelled,
  WaitTimedOut (all JobError with .job); .cancel() .events() .refresh() .delete(); .release (property, fetches)
Release: .id .state .data (types.Release, a dict); .download(path, format=None) -> Path; .bundle(path) -> Path;
  .to_polars() .to_pandas() .verify() -> surebox_verify Report; .estimates(statistics=None) -> frame;
  .publish(accept_findings=(), readers=None) -> Release; .withdraw(reason=None) -> Release; .refresh()
AsyncSurebox: the same with await.
local(folder=".surebox", *, idle_minutes=None, say=None): context manager of a Surebox: joins the service of the folder
  or starts one; with idle_minutes it stays and ends by itself, else it ends with the block.
parse_statistic("mean(age)") -> {"kind": "mean", "of": ["age"]}
Errors: SureboxError > ConnectionFailedError, UploadError, DamagedDownloadError, JobError > JobFailed (.problem),
  JobCancelled, WaitTimedOut; ProblemError (.code .status .detail .errors .remedy .retry_after) > one class a type.
"""

from surebox_client import errors

__all__ = ["errors"]
__version__ = "0.1.0"
