"""Uploaded rows: sent for a command, and deleted once it has its answer."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from surebox_client import errors
from surebox_client.commands.exits import UsageError
from surebox_client.commands.options import reading
from surebox_client.commands.output import say
from surebox_client.commands.parsing import pair
from surebox_client.commands.refusals import warned
from surebox_client.commands.where import progress

if TYPE_CHECKING:
    from surebox_client import Dataset, Release, Surebox

#: Tag of datasets that go once their job has ended: `surebox wait` deletes these, and no other.
PASSING: Final = {"surebox": "delete after the job"}
_LATEST: Final = "latest:"
#: Endings that say what a file is; with another one (adult.data) it is CSV, unless --read format= says otherwise.
_KNOWN: Final = (".csv", ".tsv", ".ndjson", ".jsonl", ".parquet", ".gz")


@contextmanager
def uploaded(service: "Surebox", given: argparse.Namespace, **query: Any) -> "Iterator[Dataset]":
    """Upload the file of a command; at the end its rows are deleted, unless they are to be kept or a job needs them."""
    path = Path(given.file)
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    query = {name: value for name, value in query.items() if value is not None} | reading(given)
    if path.suffix.lower() not in _KNOWN:
        query.setdefault("format", "csv")
    dataset = service.upload(
        path,
        name=path.name,
        tags=None if given.keep_data else PASSING,
        progress=False if given.quiet else None,
        **query,
    )
    try:
        warned(_unanswered(given, dataset.data), progress(given))
        yield dataset
    finally:
        if not given.keep_data and not getattr(given, "no_wait", False):
            forget(service, dataset.id)


def _unanswered(given: argparse.Namespace, profile: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the warnings of an upload without those about orders that the command states or does not need."""
    ordered = {name for name, _ in getattr(given, "ordinal", None) or ()}
    used = getattr(given, "quasi_identifiers", None) or [column["name"] for column in profile["columns"]]
    wanted = {f"/columns/{j}" for j, column in enumerate(profile["columns"]) if column["name"] in {*used} - ordered}
    return [one for one in profile["warnings"] if one["code"] != "ordered_words" or one["pointer"] in wanted]


def forget(service: "Surebox", dataset_id: str) -> None:
    """Delete uploaded rows; what a job still needs stays until `surebox wait`."""
    try:
        service.dataset(dataset_id).delete()
    except (errors.NotFoundError, errors.ConflictError):
        return  # another command with the same key was first, or the job goes on
    except errors.SureboxError as error:
        say(f"The uploaded rows ({dataset_id}) could not be deleted, delete them: {error}")


def forget_inputs(service: "Surebox", job: dict[str, Any]) -> None:
    """Delete the rows that a command has uploaded for a job that has ended."""
    dataset_id = (job.get("spec") or {}).get("dataset_id")
    if dataset_id is None:
        return
    try:
        dataset = service.dataset(dataset_id)
    except errors.NotFoundError:
        return
    if PASSING.items() <= dataset.data["tags"].items():
        forget(service, dataset_id)


def earlier_dataset(service: "Surebox", given: argparse.Namespace) -> str | None:
    """The dataset that the file is a new version of: one that was named, or that of a release, or of the latest one."""
    text: str | None = given.earlier
    if text is None or text.startswith("ds_"):
        return text
    if not text.startswith(_LATEST):
        return made_from(service, service.release(text))
    name, value = pair(text.removeprefix(_LATEST))
    for release in service.releases(tag=f"{name}:{value}", method="boxes"):
        if release.state != "draft" and release.data["base_release_id"] is None:
            return made_from(service, release)
    progress(given)(f"No release has the tag {name}={value} yet: this is the first one")
    return None


def made_from(service: "Surebox", release: "Release") -> str:
    """The dataset that a release was made from; it may be deleted by now."""
    spec: dict[str, Any] = dict(service.job(release.data["job_id"]).data["spec"] or {})
    dataset_id = spec.get("dataset_id")
    if not isinstance(dataset_id, str):
        raise UsageError(f"{release.id} was not made from a file: name the first release of its series.")
    return dataset_id
