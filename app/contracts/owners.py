"""What an owner decides for all of its keys, what it uses, and what it may use at most."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from app.contracts.base import Contract, Instant, may_lack
from app.errors import QuotaExceededError


class ApiKey(Contract):
    """The key of a request, without the key itself."""

    id: str = Field(description="Id of the key, which the log and `surebox keys` name.")
    name: str = Field(description="Purpose of the key, as its maker wrote it.")
    scopes: tuple[str, ...] = Field(description="Scopes of the key, which allow what it may do; more may come.")
    expires_at: Instant | None = Field(description="When the key stops working; null: never.")
    renewable_until: Instant | None = Field(
        description="When the last renewal of the key ends at the latest; null: its holder cannot renew it."
    )


class RenewedKey(ApiKey):
    """The key that replaces the one of the request."""

    key: str = Field(description="The key itself (`sb_…`). It is shown this once.")
    former_key_id: str = Field(description="Id of the key that it replaces.")
    former_ends_at: Instant = Field(description="When the key that it replaces stops working, an hour at most.")


class OwnerSettings(Contract):
    """Settings of an owner, and the key that reads them."""

    owner: str = Field(description="Whose settings they are: the owner of the key.")
    jobs_may_publish: bool = Field(
        description="True if every job with `publish: auto` may publish its release, whichever key created it. False, "
        "the default: only jobs of keys with `releases:publish` may, all others leave drafts."
    )
    key: ApiKey = Field(description="The key of this request.")


class OwnerChanges(Contract):
    """Changes of the settings of an owner."""

    jobs_may_publish: bool | None = Field(
        default=None,
        strict=True,
        description="True if every job with `publish: auto` may publish its release, whichever key created it. Null: "
        "unchanged.",
    )


class LimitedResource(StrEnum):
    """Resources that are limited for each owner.

    `rows`, `bytes`, `datasets`, `releases` and `jobs` that are kept; `cpu_seconds` of the jobs of 24 hours.
    """

    ROWS = "rows"
    BYTES = "bytes"
    DATASETS = "datasets"
    RELEASES = "releases"
    JOBS = "jobs"
    CPU_SECONDS = "cpu_seconds"


#: What each counts, and what frees some of it.
COUNTED: Final[Mapping[LimitedResource, tuple[str, str]]] = {
    LimitedResource.ROWS: ("rows of datasets", "Deleting datasets frees them."),
    LimitedResource.BYTES: (
        "bytes of uploads, of files of releases and of results of jobs",
        "Deleting datasets, releases or jobs frees them.",
    ),
    LimitedResource.DATASETS: ("datasets", "Deleting datasets frees them."),
    LimitedResource.RELEASES: (
        "releases, with those that unfinished anonymizations will make",
        "Deleting releases, or cancelling unfinished anonymizations, frees them.",
    ),
    LimitedResource.JOBS: ("jobs", "Deleting jobs frees them; their releases remain."),
    LimitedResource.CPU_SECONDS: (
        "seconds of CPU that the jobs of the last 24 hours were expected to take",
        "Time frees them; a job that is cancelled or fails does not count.",
    ),
}


class Quota(Contract):
    """One limit of an owner and how much of it is used."""

    model_config = Contract.model_config | {"json_schema_extra": may_lack("requested")}

    resource: LimitedResource = Field(description="Resource that the quota limits.")
    used: float | None = Field(description="How much there is; null for keys without `jobs:read`.")
    limit: float = Field(description="How much there may be.")
    requested: float | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="In a refusal: how much more was requested, where that was known.",
    )
    counts: str = Field(description="Unit and scope of the count.")
    freed_by: str = Field(description="Way to free some of it.")


class Usage(Contract):
    """Resources that an owner uses."""

    owner: str = Field(description="Whose usage it is: the owner of the key.")
    quotas: tuple[Quota, ...] = Field(description="Quotas, one for each resource.")


def quota(resource: LimitedResource, *, used: float | None, limit: float, requested: float | None = None) -> Quota:
    """A limit and how much of it is used, in words as well."""
    counts, freed_by = COUNTED[resource]
    return Quota(resource=resource, used=used, limit=limit, requested=requested, counts=counts, freed_by=freed_by)


def limit_met(
    resource: LimitedResource, *, used: float, limit: float, requested: float | None, keeper: bool
) -> dict[str, Any]:
    """The limit that was met, as a problem states it; how much is used is for keepers."""
    shown = quota(resource, used=used if keeper else None, limit=limit, requested=requested if keeper else None)
    return shown.model_dump(mode="json")


def refuse_above(
    resource: LimitedResource, *, used: float, limit: float, requested: float | None, keeper: bool
) -> None:
    """Refuse what would be kept beyond the limit.

    Parameters
    ----------
    resource, used, limit
        Of what, how much there is, and how much there may be.
    requested
        How much more is requested; None: something, but how much is not known yet.
    keeper
        Whether the refusal may state how much there is.

    Raises
    ------
    QuotaExceededError
        It would be more than there may be.
    """
    fits = used < limit if requested is None else used + requested <= limit
    if fits:
        return
    counts, freed_by = COUNTED[resource]
    more = "this needs more" if requested is None else f"this needs {requested:,.0f} more"
    there = f"has {used:,.0f} {counts} of at most {limit:,.0f}, and {more}"
    unsaid = f"may have at most {limit:,.0f} {counts}, and with this it would be more"
    raise QuotaExceededError(
        f"the owner of this key {there if keeper else unsaid}. {freed_by} The operator can allow more",
        quota=limit_met(resource, used=used, limit=limit, requested=requested, keeper=keeper),
    )
