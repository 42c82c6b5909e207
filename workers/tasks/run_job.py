"""The one task: run the job of this id, if it is still queued."""

from celery import shared_task

from app.queue import RUN_JOB
from workers.engine.attempt import run
from workers.engine.resources import resources


@shared_task(name=RUN_JOB)
def run_job(*, job_id: str) -> None:
    """Idempotent: the claim in Postgres is the only right to run."""
    run(job_id=job_id, resources=resources())
