"""Every table, for migrations and for tests that walk them."""

from app.db.models.api_key import api_key
from app.db.models.audit_entry import audit_entry
from app.db.models.certificate import certificate
from app.db.models.dataset import dataset
from app.db.models.family import family
from app.db.models.family_column import family_column
from app.db.models.family_person import family_person
from app.db.models.family_sketch import family_sketch
from app.db.models.idempotency import idempotency
from app.db.models.installation import installation
from app.db.models.job import job
from app.db.models.job_attempt import job_attempt
from app.db.models.job_checkpoint import job_checkpoint
from app.db.models.job_event import job_event
from app.db.models.job_input import job_input
from app.db.models.job_progress import job_progress
from app.db.models.job_result import job_result
from app.db.models.ledger_file import ledger_file
from app.db.models.log_entry import log_entry
from app.db.models.metadata import metadata
from app.db.models.owner_quota import owner_quota
from app.db.models.owner_setting import owner_setting
from app.db.models.provenance import provenance
from app.db.models.publication import publication
from app.db.models.publication_entry import publication_entry
from app.db.models.queue_turn import queue_turn
from app.db.models.release import release
from app.db.models.release_file import release_file
from app.db.models.release_link import release_link
from app.db.models.secret import secret
from app.db.models.signing_key import signing_key
from app.db.models.worker import worker

__all__ = [
    "api_key",
    "audit_entry",
    "certificate",
    "dataset",
    "family",
    "family_column",
    "family_person",
    "family_sketch",
    "idempotency",
    "installation",
    "job",
    "job_attempt",
    "job_checkpoint",
    "job_event",
    "job_input",
    "job_progress",
    "job_result",
    "ledger_file",
    "log_entry",
    "metadata",
    "owner_quota",
    "owner_setting",
    "provenance",
    "publication",
    "publication_entry",
    "queue_turn",
    "release",
    "release_file",
    "release_link",
    "secret",
    "signing_key",
    "worker",
]
