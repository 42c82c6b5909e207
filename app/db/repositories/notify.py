"""Telling every process that a job has changed; sent by Postgres when the transaction commits."""

from sqlalchemy import Connection, func, select

#: The channel that API processes listen on; the payload is the job's id.
CHANNEL = "surebox_job"


def notify(connection: Connection, *, job_id: str) -> None:
    """Wake whoever waits for this job, once the transaction is committed."""
    connection.execute(select(func.pg_notify(CHANNEL, job_id)))
