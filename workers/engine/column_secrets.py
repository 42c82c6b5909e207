"""Secrets of the columns that a job works on, opened before its runner begins: the runner sees no database."""

import hmac
from dataclasses import replace

import structlog

from app.db.repositories.claims import Claim
from app.errors import SureboxError
from app.secrets.keep import column_secrets, seal_anew
from app.secrets.seal import service_sealer
from workers.engine.families import family_of
from workers.engine.resources import WorkerResources, resources
from workers.methods.context import JobContext
from workers.methods.protocol import AnyRunner, Keyed

log = structlog.get_logger(__name__)


def with_secrets(runner: AnyRunner, job: JobContext, claimed: Claim, at: WorkerResources) -> JobContext:
    """The job with the secrets that its runner is keyed by; under a given seed they follow from that.

    Raises
    ------
    app.errors.SureboxError
        When a secret cannot be opened.
    """
    if not isinstance(runner, Keyed):
        return job
    from workers.frames.digests import column_digest  # once the worker has been forked (registry.py)

    names = list(runner.keyed_by(job))
    if not names:
        return job
    job.tick(0.0, "read")
    path = job.dataset_path()
    digests = [column_digest(path, name) for name in names]
    made_from = claimed.inputs.dataset
    if job.seed is not None or made_from is None:
        made = [hmac.digest(f"surebox seed {job.seed}".encode(), digest, "sha256") for digest in digests]
    else:
        family_id = family_of(path, dataset_id=made_from.id, owner=claimed.owner, at=at)
        made = column_secrets(
            at.database, service_sealer(at.settings), owner=claimed.owner, family_id=family_id, digests=digests
        )
    return replace(job, secrets=dict(zip(names, made, strict=True)))


def seal_anew_where_asked() -> None:
    """While the service's secret is being changed: seal under the new one what the old one has sealed."""
    here = resources()
    if not here.settings.previous_server_secret.get_secret_value():
        return
    try:
        log.info("secrets.sealed_anew", count=seal_anew(here.database, service_sealer(here.settings)))
    except SureboxError as error:  # they are opened all the same, if one of both secrets is right
        log.warning("secrets.not_sealed_anew", reason=error.detail)
