"""All settings of the service, read from the environment once.

Every variable is named as the field, upper case, with the prefix ``SUREBOX_``; the three addresses are also read
under their customary names ``DATABASE_URL``, ``REDIS_URL`` and ``STORAGE_URL``. This module is the only reader of the
environment; everything else is handed a :class:`Settings`.
"""

import os
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError


class Settings(BaseSettings):
    """Frozen settings of one process."""

    model_config = SettingsConfigDict(env_prefix="SUREBOX_", frozen=True, extra="ignore", populate_by_name=True)

    # Addresses
    database_url: str = Field(
        default="postgresql://surebox@localhost/surebox",
        validation_alias=AliasChoices("DATABASE_URL", "SUREBOX_DATABASE_URL"),
        description="Postgres, as a libpq URL; with TLS `?sslmode=verify-full&sslrootcert=<file>`.",
    )
    redis_url: str = Field(
        default="redis://localhost:6379/0",
        validation_alias=AliasChoices("REDIS_URL", "SUREBOX_REDIS_URL"),
        description="Redis-protocol broker; with TLS `rediss://…?ssl_ca_certs=<file>`. Its content may be lost.",
    )
    storage_url: str = Field(
        default="file:.surebox/storage",
        validation_alias=AliasChoices("STORAGE_URL", "SUREBOX_STORAGE_URL"),
        description="Storage of files: file:<folder> or s3://<bucket>/<prefix>.",
    )
    storage_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key that seals stored files (AES-256-GCM); without it files are stored as they are.",
    )
    previous_storage_key: SecretStr = Field(
        default=SecretStr(""),
        description="The other key while SUREBOX_STORAGE_KEY is being changed: files sealed under it stay readable.",
    )
    storage_sealed_only: bool = Field(
        default=False, description="Refuse stored files that are not sealed; once `surebox storage seal` has run."
    )
    s3_endpoint: str | None = Field(default=None, description="Endpoint of an S3 service other than AWS.")
    s3_allow_http: bool = Field(default=False, description="Allow an S3 endpoint without TLS.")
    s3_ca_file: Path | None = Field(
        default=None, description="Certificates in PEM that sign that of the S3 service, in addition to the system's."
    )
    server_secret: SecretStr = Field(
        default=SecretStr(""),
        description="API keys are stored as HMACs under it, secrets of data are sealed by it.",
    )
    previous_server_secret: SecretStr = Field(
        default=SecretStr(""),
        description="The former secret while SUREBOX_SERVER_SECRET is being changed: workers seal again.",
    )
    s3_access_key_id: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("AWS_ACCESS_KEY_ID", "SUREBOX_S3_ACCESS_KEY_ID"),
        description="Credentials of S3, where the client does not find them by itself.",
    )
    s3_secret_access_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("AWS_SECRET_ACCESS_KEY", "SUREBOX_S3_SECRET_ACCESS_KEY"),
        description="Secret key of S3, where the client does not find it by itself.",
    )
    signing_key_file: Path | None = Field(
        default=None, description="Private keys that sign certificates, in PEM (Ed25519, PKCS 8), newest first."
    )
    signing_key: SecretStr = Field(
        default=SecretStr(""), description="The signing keys themselves, as a secret of the environment."
    )
    signing_key_service: str | None = Field(
        default=None, description="`module:function` that returns keys held elsewhere (app.certificates.signing)."
    )
    timestamp_url: str | None = Field(
        default=None,
        pattern=r"^(https?://[^\s@]+)?$",
        description="Authority that certificates get their timestamps from (RFC 3161 over HTTP).",
    )
    timestamp_timeout_seconds: float = Field(
        default=10.0, gt=0, description="Time for the authority's whole answer; later it is tried again every minute."
    )
    timestamp_certificate_file: Path | None = Field(
        default=None, description="The authority's root and intermediate certificates in PEM, to check answers with."
    )
    staging_dir: Path | None = Field(
        default=None, description="Folder for scratch files of a worker (default: the system's temporary folder)."
    )

    # Limits on accepted requests
    max_upload_bytes: int = Field(default=5_000_000_000, gt=0, description="Decoded bytes of one upload.")
    max_json_bytes: int = Field(default=16_000_000, gt=0, description="Bytes of a JSON body.")
    max_head_bytes: int = Field(
        default=65_536,
        ge=8_192,
        description="Bytes of a request's address and headers, of its trailers, of a chunk's extensions.",
    )
    head_timeout_seconds: float = Field(default=10.0, gt=0, description="A request's head arrives within this time.")
    body_timeout_seconds: float = Field(
        default=60.0, gt=0, description="A body of which nothing arrives for longer ends its connection."
    )
    idle_timeout_seconds: float = Field(
        default=15.0, gt=0, description="A connection without a request is closed then; longer than your proxy's."
    )
    max_gzip_ratio: float = Field(default=200.0, gt=1, description="Decoded over encoded bytes of a gzip upload.")
    max_columns: int = Field(default=2_000, gt=0, description="Columns of a dataset.")
    max_field_bytes: int = Field(default=1_000_000, gt=0, description="Bytes of one field of a text upload.")
    upload_wait_seconds: float = Field(default=300.0, gt=0, description="An upload read for longer answers 202.")
    max_unfinished_jobs: int = Field(default=1_000, gt=0, description="Queued and running jobs per owner.")
    requests_per_minute: int = Field(default=6_000, gt=0, description="Requests per owner, state reads not counted.")
    public_requests_per_minute: int = Field(
        default=120, gt=0, description="Requests without a key, per address; only of public releases."
    )
    max_streams: int = Field(default=50, gt=0, description="Open event streams per owner and API process.")
    max_waiters: int = Field(default=1_000, gt=0, description="Waiting requests per API process.")

    # Jobs
    heartbeat_seconds: float = Field(default=2.0, gt=0, description="Between two heartbeats of a running job.")
    heartbeat_timeout_seconds: float = Field(default=20.0, gt=0, description="A job silent for longer is queued again.")
    cancel_poll_seconds: float = Field(default=0.5, gt=0, description="Between two looks for a cancel request.")
    job_time_limit_seconds: float = Field(default=6 * 3600.0, gt=0, description="Hard limit of one attempt of a job.")
    max_attempts: int = Field(default=3, gt=0, description="Attempts of a job before it fails.")
    storage_patience_seconds: float = Field(
        default=3600.0, ge=0, description="So long a job waits in all for storage that is full or cannot be used."
    )
    split_seconds: float = Field(
        default=30.0, ge=0, description="Estimated work above which independent parts of a job go to all workers."
    )
    long_question_seconds: float = Field(
        default=5.0,
        gt=0,
        description="Questions that are expected to take more CPU seconds are answered by the processes of the batch "
        "queue, in turn with jobs.",
    )
    long_job_seconds: float = Field(
        default=30.0,
        ge=0,
        description="Jobs that are expected to take more CPU seconds leave one process of their queue to shorter ones, "
        "where it has several (`inf`: they do not).",
    )
    checkpoint_seconds: float = Field(default=10.0, gt=0, description="Least time between two checkpoints.")
    requeue_after_seconds: float = Field(default=15.0, gt=0, description="A row queued for longer is enqueued again.")
    housekeeping_seconds: float = Field(default=2.0, gt=0, description="Between two rounds of housekeeping.")
    staging_hours: float = Field(default=24.0, gt=0, description="Age at which abandoned uploads are removed.")
    orphan_hours: float = Field(default=1.0, gt=0, description="Stored objects no row points to go to the trash then.")
    orphan_share: float = Field(
        default=0.03, gt=0, le=1, description="If a larger share of the stored objects has no row, all are left alone."
    )
    trash_days: float = Field(default=7.0, ge=0, description="How long the trash keeps objects no row points to.")
    scrub_share: float = Field(
        default=0.03,
        ge=0,
        description="Share of the stored bytes that is read and compared a day (0: none, 24: hourly).",
    )
    idempotency_hours: float = Field(default=24.0, gt=0, description="How long an Idempotency-Key is remembered.")
    idempotency_lease_seconds: float = Field(default=60.0, gt=0, description="Lease of a request in flight.")
    job_days: float | None = Field(
        default=None, gt=0, description="How long jobs are kept once they have ended (default: until deleted)."
    )
    job_event_days: float = Field(
        default=90.0, gt=0, description="How long the events of an ended job are kept; its last one stays with it."
    )
    draft_days: float = Field(
        default=30.0,
        gt=0,
        le=36_500,
        description="How long drafts are kept which no one has requested to be published; each states its time.",
    )
    tombstone_days: float = Field(
        default=365.0,
        ge=1,
        description="How long tombstones are kept of deleted datasets, jobs and drafts that nothing refers to.",
    )
    log_days: float = Field(
        default=730.0, gt=0, description="How long the audit log keeps entries that are not chained, refusals aside."
    )
    refusal_days: float = Field(default=30.0, gt=0, description="How long the audit log keeps refusals (401, 403).")
    result_hours: float | None = Field(
        default=None, gt=0, description="How long finished jobs keep restricted results (default: until deleted)."
    )
    worker_memory_bytes: int | None = Field(
        default=None,
        ge=2_000_000_000,
        description="Memory of each job of a worker (RLIMIT_DATA; default: three quarters of the machine, shared among "
        "the jobs it runs at a time). Libraries take 1.6 GB of it; jobs that need more than the rest are refused.",
    )
    max_job_cpu_seconds: float = Field(
        default=3600.0, gt=0, description="Jobs that are expected to take more are refused."
    )
    max_job_release_bytes: float = Field(
        default=50_000_000_000.0, gt=0, description="Jobs whose releases are expected to have larger files are refused."
    )
    max_owner_rows: int = Field(default=10_000_000_000, ge=0, description="Rows of all datasets that an owner keeps.")
    max_owner_bytes: int = Field(
        default=1_000_000_000_000,
        ge=0,
        description="Bytes of uploads, of files of releases and of results that an owner keeps.",
    )
    max_owner_datasets: int = Field(default=10_000, ge=0, description="Datasets that an owner keeps.")
    max_owner_releases: int = Field(default=10_000, ge=0, description="Releases that an owner keeps.")
    max_owner_jobs: int = Field(default=1_000_000, ge=0, description="Jobs that an owner keeps.")
    max_owner_cpu_seconds: float = Field(
        default=86_400.0, gt=0, description="CPU seconds that an owner's jobs of 24 hours may be expected to take."
    )
    release_cache_bytes: int = Field(
        default=256_000_000,
        ge=0,
        description="Memory of each worker process for the releases it was last queried about.",
    )
    inline_artifact_bytes: int = Field(
        default=32_000_000, ge=0, description="Size above which results are kept in storage."
    )

    # Publishing
    four_eyes: bool = Field(
        default=False,
        description=(
            "Four-eyes mode: a release must be published with a different key than the one that created it. Automatic "
            "publication is off."
        ),
    )
    kept_rare_share: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Largest share of rows with kept values that fewer than k rows of the data share; above, a draft.",
    )
    kept_determined_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Largest share of rows whose box has one value of a kept column; above, a draft.",
    )
    public_releases: bool = Field(default=False, description="Releases for `public` are readable without a key.")
    public_url: str | None = Field(
        default=None, description="Where the service is reached from outside: certificates name it as their issuer's."
    )

    # The process
    idle_minutes: float | None = Field(
        default=None,
        gt=0,
        description="`surebox serve` on a data folder ends once no command has used it for so long, and no job runs.",
    )
    celery_events: bool = Field(
        default=False,
        description="Send Celery's task events, for `celery events` and Flower: ids of jobs and names of methods.",
    )
    portable_kernels: bool = Field(
        default=False,
        description="Compile the algorithms for x86-64-v3, not for this processor alone: images are run on others.",
    )
    warm_kernels: bool = Field(
        default=True,
        description="A fresh worker loads and compiles its methods before jobs need them; if false, jobs do.",
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")
    log_file: Path | None = Field(
        default=None,
        description="Log to this file instead of standard error; created again when it was renamed, so that it can be "
        "rotated without losing a line.",
    )
    log_file_days: float = Field(
        default=30.0, gt=0, description="How long `surebox serve` on one machine keeps renamed log files."
    )
    log_files_bytes: int = Field(
        default=5_000_000_000, gt=0, description="Size of the log files it keeps: the oldest go first."
    )
    log_json: bool = Field(default=True, description="One JSON object per log line; false for reading by eye.")
    operations_listen: str | None = Field(
        default=None,
        pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\s:\[\]]+):\d{1,5}$",
        description="`host:port` of the API's `/metrics` and `/readyz`: they are then 404 at its own port.",
    )
    database_timeout_seconds: float = Field(
        default=4.0, gt=0, description="Time in which Postgres answers the API; later is 503."
    )
    database_pool_size: int = Field(default=10, gt=0, description="Connections one process keeps open to Postgres.")
    servers_on_path: bool = Field(
        default=False,
        description="`surebox serve` on one machine starts the Postgres and the Valkey (or Redis) that are on PATH, "
        "rather than those of its packages.",
    )
    api_threads: int = Field(default=40, gt=0, description="Threads of one API process for blocking work.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - there is none
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - ours names each file
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then variables, then files that variables name."""
        return init_settings, env_settings, SecretFiles(settings_cls)

    @property
    def operations_address(self) -> tuple[str, int] | None:
        """Host and port of `operations_listen`."""
        if self.operations_listen is None:
            return None
        host, _, port = self.operations_listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def visibility_timeout(self) -> timedelta:
        """Above the hard limit: a task that outlives it would be started a second time while the first runs."""
        return timedelta(seconds=self.task_limit_seconds + 600)

    @property
    def task_limit_seconds(self) -> float:
        """Seconds that a task may take: the limit of a job, and the wait of its result for a database that is away."""
        return self.job_time_limit_seconds + RESULT_PATIENCE_SECONDS


#: How long a computed result waits for a database that is away; its job's time limit does not count it.
RESULT_PATIENCE_SECONDS = 3600.0
#: Settings that are secrets or contain one: each may be in a file, which its variable with `_FILE` behind it names.
SECRETS = (
    "database_url", "redis_url", "server_secret", "previous_server_secret", "s3_access_key_id", "s3_secret_access_key",
    "storage_key", "previous_storage_key",
)  # fmt: skip


class SecretFiles(PydanticBaseSettingsSource):
    """Reads `<VARIABLE>_FILE`: a secret of the environment can be read by every process of the same user."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The content of the file, without the newline at its end."""
        if field_name in SECRETS:
            for variable in variables_of(field, field_name):
                path = os.environ.get(f"{variable}_FILE")
                if path:
                    return _content(f"{variable}_FILE", path), _key(field, field_name), False
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """All that there are."""
        read = (self.get_field_value(field, name) for name, field in self.settings_cls.model_fields.items())
        return {name: value for value, name, _ in read if value is not None}


def variables_of(field: FieldInfo, name: str) -> list[str]:
    """The variables that a field is read from."""
    alias = field.validation_alias
    return [str(each) for each in alias.choices] if isinstance(alias, AliasChoices) else [f"SUREBOX_{name.upper()}"]


def _key(field: FieldInfo, name: str) -> str:
    return variables_of(field, name)[0] if isinstance(field.validation_alias, AliasChoices) else name


def _content(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(f"the file that {variable} names cannot be read: {reason}") from None


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The settings of this process."""
    return Settings()
