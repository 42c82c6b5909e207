"""Python client of Surebox: from a file or a data frame to a certified release."""

from surebox_client import errors
from surebox_client._generated.statistics import parse_statistic
from surebox_client.asynchronous import AsyncDataset, AsyncJob, AsyncRelease, AsyncSurebox
from surebox_client.blocking import Dataset, Job, Release, Surebox
from surebox_client.errors import JobCancelled, JobFailed, ProblemError, SureboxError, WaitTimedOut
from surebox_client.local import local
from surebox_client.steps import VERSION

__version__ = VERSION
__all__ = [
    "AsyncDataset", "AsyncJob", "AsyncRelease", "AsyncSurebox", "Dataset", "Job", "JobCancelled", "JobFailed",
    "ProblemError", "Release", "Surebox", "SureboxError", "WaitTimedOut", "errors", "local", "parse_statistic",
]  # fmt: skip
