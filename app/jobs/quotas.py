"""What an owner may keep: looked at in the transaction that accepts more, one of an owner at a time."""

from datetime import timedelta
from typing import Final

from app.contracts.jobs import JobKind, JobSpec
from app.contracts.log import LogAction
from app.contracts.owners import LimitedResource, Usage, quota, refuse_above
from app.db.repositories import audit, jobs, quotas
from app.db.session import Connection, Database
from app.settings import Settings

#: CPU is counted over so long.
DAY: Final = timedelta(hours=24)


def read_usage(*, database: Database, owner: str, settings: Settings) -> Usage:
    """What the owner has, next to what it may have."""
    with database.read() as connection:
        limits = quotas.limits(connection, owner=owner, settings=settings)
        used = _used(connection, owner=owner)
    return Usage(
        owner=owner, quotas=tuple(quota(each, used=used[each], limit=limits[each]) for each in LimitedResource)
    )


def change_limit(*, database: Database, owner: str, resource: LimitedResource, maximum: float | None) -> None:
    """Let an owner have more or less than all owners, or (None) the same; what it has already stays."""
    with database.unit_of_work() as unit:
        quotas.override(unit.connection, owner=owner, resource=resource.value, maximum=maximum)
        audit.record(
            unit.connection, owner=owner, action=LogAction.QUOTA_CHANGED, subject=owner, key_id=None,
            facts={"resource": resource.value, "limit": maximum},
        )  # fmt: skip


def admit_upload(connection: Connection, *, owner: str, size: int, keeper: bool, settings: Settings) -> None:
    """Refuse an upload of so many bytes that the owner may not keep; how many rows it has is known once it is read.

    Submissions of the owner are locked, so that two at once do not pass together (`jobs.lock_submissions`).

    Raises
    ------
    QuotaExceededError
        There would be too many datasets, bytes or rows.
    """
    limits = quotas.limits(connection, owner=owner, settings=settings)
    there = quotas.datasets(connection, owner=owner)
    of = {"keeper": keeper}
    refuse_above(LimitedResource.DATASETS, used=there.count, limit=limits[LimitedResource.DATASETS], requested=1, **of)
    refuse_above(LimitedResource.ROWS, used=there.rows, limit=limits[LimitedResource.ROWS], requested=None, **of)
    kept = there.bytes + quotas.releases(connection, owner=owner).bytes + quotas.jobs(connection, owner=owner).bytes
    refuse_above(LimitedResource.BYTES, used=kept, limit=limits[LimitedResource.BYTES], requested=size, **of)


def admit_job(
    connection: Connection,
    spec: JobSpec,
    *,
    written: float,
    owner: str,
    keeper: bool,
    limits: dict[LimitedResource, float],
) -> None:
    """Refuse a job whose result or release the owner may not keep. The caller holds the lock of its submissions.

    `written` are the bytes that its release is expected to have. An accepted job ends as it would: what it makes may
    exceed the limit all the same, and the next one is refused.

    Raises
    ------
    QuotaExceededError
        There would be too many jobs, releases or bytes.
    """
    of = {"keeper": keeper}
    there = quotas.jobs(connection, owner=owner)
    refuse_above(LimitedResource.JOBS, used=there.count, limit=limits[LimitedResource.JOBS], requested=1, **of)
    made = quotas.releases(connection, owner=owner)
    if spec.kind == JobKind.ANONYMIZATION:
        used = made.count + quotas.count_making(connection, owner=owner)
        refuse_above(LimitedResource.RELEASES, used=used, limit=limits[LimitedResource.RELEASES], requested=1, **of)
    kept = there.bytes + made.bytes + quotas.datasets(connection, owner=owner).bytes
    refuse_above(LimitedResource.BYTES, used=kept, limit=limits[LimitedResource.BYTES], requested=written or None, **of)


def _used(connection: Connection, *, owner: str) -> dict[LimitedResource, float]:
    uploaded, made = quotas.datasets(connection, owner=owner), quotas.releases(connection, owner=owner)
    submitted = quotas.jobs(connection, owner=owner)
    return {
        LimitedResource.ROWS: uploaded.rows,
        LimitedResource.BYTES: uploaded.bytes + made.bytes + submitted.bytes,
        LimitedResource.DATASETS: uploaded.count,
        LimitedResource.RELEASES: made.count + quotas.count_making(connection, owner=owner),
        LimitedResource.JOBS: submitted.count,
        LimitedResource.CPU_SECONDS: jobs.estimated_since(connection, owner=owner, within=DAY),
    }
